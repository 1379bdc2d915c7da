"""What a sceptic would try, all from scikit-learn, with its defaults."""

import numpy as np
import scipy.sparse as sp
from sklearn.covariance import LedoitWolf
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, OneClassSVM

from .run import Method

_NEIGHBOR = 10
MAJORITY = "majority class"


class NeighborDistance(NearestNeighbors):
    """Minus the distance to the k-th nearest training row."""

    def score_samples(self, X):
        """Greater is more normal."""
        k = min(self.n_neighbors, self.n_samples_fit_)
        return -self.kneighbors(X, k)[0][:, -1]


class Mahalanobis(LedoitWolf):
    """Minus the squared Mahalanobis distance, by Ledoit and Wolf's covariance."""

    def fit(self, X, y=None):
        """Fit mean and covariance."""
        if sp.issparse(X):
            raise ValueError("a covariance matrix of sparse rows is not computed.")
        return super().fit(X)

    def score_samples(self, X):
        """Greater is more normal."""
        return -self.mahalanobis(X)


def one_class_methods(seed):
    """Detectors that learn from rows without labels."""
    return [
        Method("isolation forest", IsolationForest(random_state=seed)),
        Method(
            f"distance to the {_NEIGHBOR}th neighbour", NeighborDistance(n_neighbors=_NEIGHBOR)
        ),
        Method("Mahalanobis distance", Mahalanobis()),
        Method("scikit-learn's OneClassSVM, defaults", OneClassSVM()),
    ]


def pu_methods(seed):
    """Classifiers that take unlabelled rows for negatives."""
    forest = RandomForestClassifier(
        min_samples_leaf=5, class_weight="balanced_subsample", random_state=seed
    )
    regression = LogisticRegression(class_weight="balanced", max_iter=1000)
    return [
        Method("logistic regression, unlabelled as negative", regression),
        Method("random forest, unlabelled as negative", forest),
        Method("SVM, unlabelled as negative", SVC(class_weight="balanced")),
    ]


def few_label_methods(seed):
    """Classifiers of the labels alone, and simple ones that use unlabelled rows."""
    training = SelfTrainingClassifier(LogisticRegression(max_iter=1000))
    return [
        Method(MAJORITY, DummyClassifier(strategy="most_frequent"), "labels"),
        Method("logistic regression, labels alone", LogisticRegression(max_iter=1000), "labels"),
        Method("SVM, labels alone", SVC(random_state=seed), "labels"),
        Method("self-training", training),
        Method("label spreading, nearest neighbours", LabelSpreading(kernel="knn")),
    ]


def decision_of(estimator, X):
    """Decisions of a classifier, greater for its second class."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=float)
    return estimator.predict_proba(X)[:, 1]
