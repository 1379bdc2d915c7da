"""Simple methods to compare with, made of scikit-learn's estimators, by name."""

import math
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.covariance import LedoitWolf
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, OneClassSVM

from .._typing import AnyArray, FloatArray, IntArray, MatrixLike, RandomStateLike, RowMatrix
from ..rows.grouped_folds import WholeGroups, group_rows, kinds_of_groups, take_groups
from ..rows.neighbors import neighbor_rank
from ..tasks import estimator_class

_NEIGHBOR_RANK = 10
# Settings that a forest is tuned over: rows in a leaf, columns per split.
_FOREST_SETTINGS: tuple[tuple[int, str | float], ...] = (
    (5, "sqrt"),
    (1, "sqrt"),
    (15, "sqrt"),
    (5, 0.5),
)
# Trees of the forests that the settings are chosen by.
_N_TREES_FOR_TUNING = 40
# Settings that label spreading is tuned over: neighbours, and how far labels may change.
_NEIGHBOR_COUNTS = (7, 5, 10, 20)
_CLAMPING_FACTORS = (0.2, 0.8)
# Parts of the labels, each held out once.
_N_FOLDS = 3
MAJORITY = "majority class"


class NeighborDistance(NearestNeighbors):
    """Minus the distance to the k-th nearest training row."""

    def score_samples(self, X: RowMatrix) -> FloatArray:
        """Greater is more normal."""
        k = min(self.n_neighbors, self.n_samples_fit_)
        return -self.kneighbors(X, k)[0][:, -1]


class RootNeighborDistance(NeighborDistance):
    """Minus the distance to the q-th nearest of n training rows, q = sqrt(n) rounded."""

    def fit(self, X: RowMatrix, y: object = None) -> Self:
        """Hold the rows."""
        self.n_neighbors = neighbor_rank(X.shape[0]) if X.shape[0] > 1 else 1
        return super().fit(X)


class TunedForest(RandomForestClassifier):
    """A forest with the size of leaves and the columns per split that do best out of bag."""

    def fit(self, X: RowMatrix, y: IntArray) -> Self:
        """Fit a small forest for each setting, and a whole one with the best, by its area."""
        n_trees, whole, areas = self.n_estimators, self.oob_score, []
        self.set_params(n_estimators=_N_TREES_FOR_TUNING, oob_score=True)
        for leaf, columns in _FOREST_SETTINGS:
            self.set_params(min_samples_leaf=leaf, max_features=columns)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # rows that no tree has left out
                super().fit(X, y)
            votes = np.nan_to_num(self.oob_decision_function_[:, 1], nan=0.5)
            areas.append(roc_auc_score(y, votes))
        leaf, columns = _FOREST_SETTINGS[int(np.argmax(areas))]
        self.set_params(n_estimators=n_trees, oob_score=whole)
        self.set_params(min_samples_leaf=leaf, max_features=columns)
        return super().fit(X, y)


class _FixedGraph:
    """The graph that ``LabelSpreading(kernel="knn")`` makes of rows, found once for many fits."""

    def __init__(self, n_neighbors: int, X: RowMatrix) -> None:
        neighbors = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
        self.graph = neighbors.kneighbors_graph(X, mode="connectivity")

    def __call__(self, X: RowMatrix, Z: RowMatrix) -> sp.csr_array:
        return self.graph


class TunedSpreading(ClassifierMixin, BaseEstimator):
    """Label spreading over the graph of nearest neighbours that does best on labels held out."""

    def __init__(self, random_state: RandomStateLike = None) -> None:
        self.random_state = random_state

    def fit(self, X: RowMatrix, y: IntArray) -> Self:
        """Choose a graph and a share of clamping by cross-validation over the labelled rows."""
        known = np.flatnonzero(y != -1)
        self.classes_, place = np.unique(y[known], return_inverse=True)
        codes = np.full(len(y), -1)
        codes[known] = place
        groups = take_groups(group_rows(X, codes), known)
        of_groups = kinds_of_groups(place, groups)
        fewest = int(np.bincount(of_groups, minlength=len(self.classes_)).min())
        candidates = [
            LabelSpreading(kernel="knn", n_neighbors=min(k, X.shape[0] - 1), alpha=alpha)
            for k, alpha in product(_NEIGHBOR_COUNTS, _CLAMPING_FACTORS)
        ]
        graphs = {c.n_neighbors: _FixedGraph(c.n_neighbors, X) for c in candidates}
        trials = [
            clone(candidate).set_params(kernel=graphs[candidate.n_neighbors])
            for candidate in candidates
        ]
        hits = np.zeros(len(candidates))
        if fewest > 1:
            parts = min(_N_FOLDS, fewest)
            folds = StratifiedKFold(parts, shuffle=True, random_state=self.random_state)
            for _, held in WholeGroups(folds).split(known, y[known], groups):
                hidden = y.copy()
                hidden[known[held]] = -1
                for number, trial in enumerate(trials):
                    predicted = trial.fit(X, hidden).transduction_
                    hits[number] += np.sum(predicted[known[held]] == y[known[held]])
        self.spreading_ = candidates[int(np.argmax(hits))].fit(X, y)
        return self

    def predict(self, X: RowMatrix) -> AnyArray:
        """Return labels of rows."""
        return self.spreading_.predict(X)


class Mahalanobis(LedoitWolf):
    """Minus the squared Mahalanobis distance, by Ledoit and Wolf's covariance."""

    def fit(self, X: RowMatrix, y: object = None) -> Self:
        """Fit mean and covariance."""
        if sp.issparse(X):
            raise ValueError(
                "sparse rows have no covariance matrix here; pass dense rows, or choose another "
                "method."
            )
        return super().fit(X)

    def score_samples(self, X: FloatArray) -> FloatArray:
        """Greater is more normal."""
        return -self.mahalanobis(X)


class ComparedMethod(NamedTuple):
    """A method by its name for people; ``trains_on`` "labels" trains on these rows only.

    ``key`` is its name on the command line, "" where it has none, and ``settings`` are what
    that model has to be given; a ``title`` names both where the key's isn't enough. A
    model takes so many ``fits``, those for its threshold and probabilities included.
    From ``folds_to_lead`` folds on it is delivered if its score is higher; else it has to be
    clearly better. ``is_candidate``: whether it is the user's own.
    """

    name: str
    estimator: BaseEstimator
    trains_on: str = "all"
    key: str = ""
    settings: dict[str, Any] = {}  # noqa: RUF012
    fits: int = 1
    title: str = ""
    folds_to_lead: float = math.inf
    is_candidate: bool = False


class BaselineSpec(NamedTuple):
    """A method, and a function that makes its estimator from a seed.

    ``fits`` is as of a ``ComparedMethod``.
    """

    name: str
    make: Callable[[RandomStateLike], BaseEstimator]
    trains_on: str = "all"
    fits: int = 1


def _make_forest_factory(
    kind: type[RandomForestClassifier], **parameters: Any
) -> Callable[[RandomStateLike], RandomForestClassifier]:
    return lambda seed: kind(class_weight="balanced_subsample", random_state=seed, **parameters)


_AS_NEGATIVE = "unlabelled as negative"
# Fits of a model whose rows are scored as if they were new, in five parts or in ten.
_FITS_WITH_FIVE_FOLDS = 6
_FITS_WITH_TEN_FOLDS = 11
# Methods by their names on the command line: detectors that learn from rows without labels, ...
ONE_CLASS_METHODS = {
    "isolation-forest": BaselineSpec(
        "isolation forest",
        lambda seed: IsolationForest(random_state=seed),
        fits=_FITS_WITH_TEN_FOLDS,
    ),
    "neighbours": BaselineSpec(
        f"distance to the {_NEIGHBOR_RANK}th neighbour",
        lambda seed: NeighborDistance(n_neighbors=_NEIGHBOR_RANK),
    ),
    "root-neighbours": BaselineSpec(
        "distance to the root-n-th neighbour", lambda seed: RootNeighborDistance()
    ),
    "mahalanobis": BaselineSpec(
        "Mahalanobis distance", lambda seed: Mahalanobis(), fits=_FITS_WITH_TEN_FOLDS
    ),
}
# ... classifiers that take unlabelled rows for negatives, ...
POSITIVE_UNLABELLED_METHODS = {
    "pu-logistic": BaselineSpec(
        f"logistic regression, {_AS_NEGATIVE}",
        lambda seed: LogisticRegression(class_weight="balanced", max_iter=1000),
        fits=_FITS_WITH_FIVE_FOLDS,
    ),
    "random-forest": BaselineSpec(
        f"random forest, {_AS_NEGATIVE}",
        _make_forest_factory(RandomForestClassifier, min_samples_leaf=5),
    ),
    "pu-svm": BaselineSpec(
        f"SVM, {_AS_NEGATIVE}",
        lambda seed: SVC(class_weight="balanced"),
        fits=_FITS_WITH_FIVE_FOLDS,
    ),
    "forest": BaselineSpec(f"tuned forest, {_AS_NEGATIVE}", _make_forest_factory(TunedForest)),
}
# ... and classifiers of the labels alone, and simple ones that use unlabelled rows.
SEMI_SUPERVISED_METHODS = {
    "logistic": BaselineSpec(
        "logistic regression, labels only",
        lambda seed: LogisticRegression(max_iter=1000),
        "labels",
        _FITS_WITH_TEN_FOLDS,
    ),
    "svm": BaselineSpec(
        "SVM, labels only", lambda seed: SVC(random_state=seed), "labels", _FITS_WITH_TEN_FOLDS
    ),
    "extra-trees": BaselineSpec(
        "extremely random trees, labels only",
        lambda seed: ExtraTreesClassifier(random_state=seed),
        "labels",
        _FITS_WITH_TEN_FOLDS,
    ),
    "self-training": BaselineSpec(
        "self-training",
        lambda seed: SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
        fits=_FITS_WITH_TEN_FOLDS,
    ),
    "spreading": BaselineSpec(
        "label spreading, nearest neighbours",
        lambda seed: LabelSpreading(kernel="knn"),
        fits=_FITS_WITH_TEN_FOLDS,
    ),
    "tuned-spreading": BaselineSpec(
        "label spreading, best of several graphs",
        lambda seed: TunedSpreading(random_state=seed),
        fits=_FITS_WITH_TEN_FOLDS,
    ),
}


def _make_methods(specs: dict[str, BaselineSpec], seed: RandomStateLike) -> list[ComparedMethod]:
    return [
        ComparedMethod(spec.name, spec.make(seed), spec.trains_on, key, fits=spec.fits)
        for key, spec in specs.items()
    ]


def methods_to_compare(
    model: Any, methods: list[ComparedMethod], **settings: Any
) -> list[ComparedMethod]:
    """Return the methods to compare: the model first, then others than itself.

    A simple method is compared with the task's usual estimator too, which gets the ``settings``.
    """
    model = clone(model)
    if not hasattr(model, "method"):
        model.set_params(verbose=False)
        return [ComparedMethod(type(model).__name__, model), *methods]
    others = [method for method in methods if method.key != model.method]
    usual = model.task.usual
    rival = estimator_class(usual)(**settings)
    usual_method = ComparedMethod(type(rival).__name__, rival, key=usual)
    return [ComparedMethod(model.title, model), usual_method, *others]


def one_class_methods(seed: RandomStateLike) -> list[ComparedMethod]:
    """Return detectors that learn from rows without labels."""
    sklearn_svm = ComparedMethod(
        "scikit-learn's OneClassSVM, defaults",
        OneClassSVM(),
        key="one-class",
        settings={"nu": OneClassSVM().nu, "gamma": "scale"},
    )
    return [*_make_methods(ONE_CLASS_METHODS, seed), sklearn_svm]


def positive_unlabelled_methods(seed: RandomStateLike) -> list[ComparedMethod]:
    """Return classifiers that take unlabelled rows for negatives."""
    return _make_methods(POSITIVE_UNLABELLED_METHODS, seed)


def semi_supervised_methods(seed: RandomStateLike) -> list[ComparedMethod]:
    """Return classifiers of the labels alone, and simple ones that use unlabelled rows."""
    majority = ComparedMethod(MAJORITY, DummyClassifier(strategy="most_frequent"), "labels")
    return [majority, *_make_methods(SEMI_SUPERVISED_METHODS, seed)]


def compute_decision(estimator: BaseEstimator, X: MatrixLike) -> FloatArray:
    """Decisions of a classifier, greater for its second class, or one for each of several."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=float)
    chances = estimator.predict_proba(X)
    return chances[:, 1] if chances.shape[1] == 2 else chances


def compute_normality(estimator: BaseEstimator, X: MatrixLike) -> FloatArray:
    """Return a detector's scores of rows, greater for rows that are more normal."""
    if hasattr(estimator, "score_samples"):
        return np.asarray(estimator.score_samples(X), dtype=float)
    return np.asarray(estimator.decision_function(X), dtype=float)
