"""Scores of positives against unlabelled rows by models that have not seen the row."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import Normalizer

from ..._typing import BoolArray, FloatArray, IntArray, RandomStateLike, RowMatrix
from ..._util.threads import one_blas_thread, resolve_n_jobs
from ...calibration.cross_fitting import Sample, left_out_scores
from ...kernels.growing import VotingForest
from ._base import PriorEstimator, State, scale_columns

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

# The default pair of models. Sizes at which more changes the estimates little.
_TREES = 150
_LEAF = 2
_CENTRES = 200
# Sparse rows with at most so many columns are taken as dense.
_FEW_COLUMNS = 1000
# Half a row among this many: where the normal-like scale of ranks ends.
_EDGE = 1e-3


ScorePair: TypeAlias = tuple[FloatArray, FloatArray]


class CrossFittedPrior(PriorEstimator[State]):
    """Base of the estimators that read the prior from cross-fitted scores."""

    def __init__(
        self,
        *,
        scorer: ClassifierMixin | None = None,
        cv: int = 5,
        max_rows: int | None = 3000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.scorer = scorer
        self.cv = cv
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _scores(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> FloatArray:
        return cross_fitted_scores(
            X, positive, scorer=self.scorer, cv=self.cv, random_state=rng, n_jobs=self.n_jobs
        )

    def _score_pair(
        self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState
    ) -> ScorePair:
        """Return the scores of the positive, and of the unlabelled rows."""
        scores = self._scores(X, positive, rng)
        return scores[positive], scores[~positive]


def cross_fitted_scores(
    X: RowMatrix,
    positive: BoolArray,
    *,
    scorer: ClassifierMixin | None = None,
    cv: int = 5,
    random_state: np.random.RandomState,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return out-of-sample logits of ranks, positive rows before unlabelled ones.

    A row's score comes from models fitted without it, so that a labelled positive and a
    positive hidden among the unlabelled rows have scores of the same distribution, which
    is what estimators of the prior from scores need. Without a ``scorer`` two models that err
    differently are averaged: logistic regression on Nystroem features of an RBF kernel (on rows
    of length one where they are sparse with more than 1000 columns), and out-of-bag votes of
    extremely randomised trees. Positive and unlabelled rows count half each.
    """
    n_positive = int(positive.sum())
    n_unlabelled = len(positive) - n_positive
    if min(n_positive, n_unlabelled) < 2:
        raise ValueError(
            f"{n_positive} positive and {n_unlabelled} unlabelled rows are too few to estimate a "
            "prior from; pass at least two of both, or the prior as a number."
        )
    folds = StratifiedKFold(
        max(2, min(cv, n_positive, n_unlabelled)),
        shuffle=True,
        random_state=random_state.randint(2**31 - 1),
    )
    seed = random_state.randint(2**31 - 1)
    if scorer is not None:
        return logit_ranks(_score_by_folds(scorer, X, positive, folds), positive)
    if not isinstance(X, np.ndarray) and X.shape[1] <= _FEW_COLUMNS:
        X = X.toarray()
    X = scale_columns(X)
    smooth = _make_smooth_model(X, seed)
    with one_blas_thread():
        scores = logit_ranks(_score_by_folds(smooth, X, positive, folds), positive)
    scores += logit_ranks(_score_out_of_bag(X, positive, seed, n_jobs), positive)
    return logit_ranks(scores, positive)


def logit_ranks(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the logit of each score's rank; positive and unlabelled rows weigh half each.

    Equal scores have equal ranks. Monotone, so nothing about the order is lost, and on
    this scale a logistic curve fits the share of positives well.
    """
    weight = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    order = np.argsort(scores, kind="stable")
    rank = np.empty(len(scores))
    rank[order] = np.cumsum(weight[order]) - 0.5 * weight[order]
    _, group = np.unique(scores, return_inverse=True)
    rank = (np.bincount(group, rank * weight) / np.bincount(group, weight))[group]
    rank = np.clip(rank, _EDGE, 1.0 - _EDGE)
    return np.log(rank / (1.0 - rank))


def _make_smooth_model(X: RowMatrix, seed: int) -> Pipeline:
    from sklearn.kernel_approximation import Nystroem  # slow to import
    from sklearn.pipeline import make_pipeline

    if sp.issparse(X):
        return make_pipeline(
            Normalizer(),
            LogisticRegression(C=0.3, class_weight="balanced", max_iter=200),
        )
    varying = max(1, int(np.sum(X.max(axis=0) > X.min(axis=0))))
    return make_pipeline(
        Nystroem(gamma=1.0 / varying, n_components=min(_CENTRES, len(X) // 2), random_state=seed),
        LogisticRegression(class_weight="balanced", max_iter=200),
    )


def _score_by_folds(
    model: ClassifierMixin, X: RowMatrix, positive: BoolArray, folds: StratifiedKFold
) -> FloatArray:
    sample = Sample(X, positive.astype(int))

    def score(train: IntArray, test: IntArray) -> FloatArray:
        with warnings.catch_warnings():
            # A ranking is all that is needed of a logistic regression.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = sample.fit(clone(model), train)
        if hasattr(fitted, "decision_function"):
            return fitted.decision_function(X[test])
        return fitted.predict_proba(X[test])[:, 1]

    splits = list(folds.split(np.zeros(len(positive)), sample.y))
    return left_out_scores(len(positive), splits, score)


def _score_out_of_bag(
    X: RowMatrix, positive: BoolArray, seed: int, n_jobs: int | None
) -> FloatArray:
    forest = VotingForest(
        X,
        positive.astype(int),
        _TREES,
        min_samples_leaf=_LEAF,
        drawn=len(positive),
        seed=seed,
        n_jobs=resolve_n_jobs(n_jobs),
    )
    votes = forest.predict_out_of_bag()[:, 1]
    return np.where(np.isfinite(votes), votes, 0.5)
