"""Ours as ``fewlabels fit`` has it, and what a sceptic would try, tuned where it can be."""

from __future__ import annotations

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, OneClassSVM

import fewlabels
from fewlabels.model_selection import LabeledKFold

# C of logistic regression.
PRICES = [0.1, 1.0, 10.0, 100.0]


def is_ours(name):
    """Whether a method is this library's."""
    return name.startswith("fewlabels")


# -- rows of one class: functions of training and test rows, greater is more normal -------------


def tuned_one_class(machine, contaminated):
    """Ours; the model beside its scores, for the verdict."""

    def run(train, test, seed, budget):
        model = fewlabels.tune(machine, train, time_budget=budget, contaminated=contaminated)
        return model.score_samples(test), model

    return run


def _neighbour(train, test, seed, budget):
    found = NearestNeighbors(n_neighbors=min(10, len(train) - 1)).fit(train)
    return -found.kneighbors(test)[0][:, -1], None


def _scored(make):
    def run(train, test, seed, budget):
        return make(seed).fit(train).score_samples(test), None

    return run


def _mahalanobis(train, test, seed, budget):
    return -LedoitWolf().fit(train).mahalanobis(test), None


ONE_CLASS = {
    "isolation forest": _scored(lambda seed: IsolationForest(random_state=seed)),
    "10th neighbour": _neighbour,
    "local outlier factor": _scored(lambda seed: LocalOutlierFactor(novelty=True)),
    "Mahalanobis distance": _mahalanobis,
    "scikit-learn OneClassSVM": _scored(lambda seed: OneClassSVM()),
}


def one_class(contaminated):
    """All methods, for clean or contaminated training rows."""
    from fewlabels import SVDD
    from fewlabels import OneClassSVM as Ours

    return {
        "fewlabels SVDD": tuned_one_class(SVDD(), contaminated),
        "fewlabels OneClassSVM": tuned_one_class(Ours(), contaminated),
        **ONE_CLASS,
    }


# -- positives and a pile: functions of rows and labels, greater is more positive ---------------


def _tuned_pu(make):
    def run(X, y, X_test, seed, budget):
        model = fewlabels.tune(make(seed), X, y, time_budget=budget, random_state=seed)
        return model.decision_function(X_test), model

    return run


def _searched(estimator, grid):
    """Unlabelled rows as negatives; settings by the area of held-out rows."""

    def run(X, y, X_test, seed, budget):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        search = GridSearchCV(estimator(seed), grid, scoring="roc_auc", cv=folds).fit(X, y)
        score = getattr(search, "decision_function", None)
        if score is None or not hasattr(search.best_estimator_, "decision_function"):
            return search.predict_proba(X_test)[:, 1], None
        return score(X_test), None

    return run


PU = {
    "fewlabels PUSVM": _tuned_pu(lambda seed: fewlabels.PUSVM(random_state=seed)),
    "fewlabels PUEnsemble": _tuned_pu(lambda seed: fewlabels.PUEnsemble(random_state=seed)),
    "SVM, pile as negatives, tuned": _searched(
        lambda seed: SVC(class_weight="balanced"), {"C": [0.1, 1.0, 10.0], "gamma": ["scale"]}
    ),
    "logistic regression, pile as negatives, tuned": _searched(
        lambda seed: LogisticRegression(class_weight="balanced", max_iter=2000),
        {"C": [0.001, 0.01, 0.1, 1.0]},
    ),
    "random forest, pile as negatives": _searched(
        lambda seed: RandomForestClassifier(
            min_samples_leaf=5, class_weight="balanced_subsample", random_state=seed
        ),
        {},
    ),
}


# -- a few labels: functions of rows and labels with -1, give classes of the unlabelled ----------


def _tuned_s3vm(X, y, seed, budget):
    machine = fewlabels.S3VM(random_state=seed)
    model = fewlabels.tune(machine, X, y, time_budget=budget, random_state=seed)
    return model.transduction_[y < 0], model


def _folds(y, seed):
    """Folds over the labelled rows; None where a class has one label only."""
    n = min(5, np.bincount(y[y >= 0]).min())
    return n if n > 1 else None


def _labels_alone(estimator, grid):
    def run(X, y, seed, budget):
        known = y >= 0
        n = _folds(y, seed)
        machine = estimator(seed)
        if n:
            folds = StratifiedKFold(n, shuffle=True, random_state=seed)
            machine = GridSearchCV(machine, grid, cv=folds)
        return machine.fit(X[known], y[known]).predict(X[~known]), None

    return run


def _all_rows(estimator, grid):
    """Methods that see the unlabelled rows; settings by held-out labels."""

    def run(X, y, seed, budget):
        n = _folds(y, seed)
        machine = estimator(seed)
        if n:
            folds = LabeledKFold(n, shuffle=True, random_state=seed)
            machine = GridSearchCV(machine, grid, cv=folds, scoring="accuracy")
        return machine.fit(X, y).predict(X[y < 0]), None

    return run


FEW = {
    "fewlabels S3VM": _tuned_s3vm,
    "SVM of the labels, tuned": _labels_alone(
        lambda seed: SVC(), {"C": [1.0, 10.0], "kernel": ["rbf", "linear"]}
    ),
    "logistic regression of the labels, tuned": _labels_alone(
        lambda seed: LogisticRegression(max_iter=2000), {"C": PRICES}
    ),
    "self-training, tuned": _all_rows(
        lambda seed: SelfTrainingClassifier(LogisticRegression(max_iter=2000)),
        {"estimator__C": [0.1, 10.0], "threshold": [0.75, 0.95]},
    ),
    "label spreading, neighbours, tuned": _all_rows(
        lambda seed: LabelSpreading(kernel="knn", max_iter=100), {"n_neighbors": [5, 10, 20]}
    ),
}
