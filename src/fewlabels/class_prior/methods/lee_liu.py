"""The prior from weighted logistic regression."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ..._typing import BoolArray, FloatArray, IntArray, RandomStateLike, RowMatrix
from ._base import PriorEstimator, scale_columns
from ._scores import ScorePair
from .best_bin import tail_shares

_STRENGTHS = np.geomspace(1e-4, 10.0, 6)


class LeeLiu(PriorEstimator[ScorePair]):
    r"""Weighted logistic regression, Lee and Liu 2003.

    Unlabelled rows are taken as negative with label noise, and positive rows are weighted
    so that both kinds weigh the same. Regularisation and threshold of the linear classifier
    f maximise :math:`r^2 / \Pr[f = 1]` on held-out rows (r the recall), the paper's
    criterion that needs no negatives: with the precision p it is :math:`p r / \pi`, since

    .. math:: r \pi = \Pr[f = 1, Y = 1] = p \Pr[f = 1].

    The same identity gives the prior :math:`p \Pr[f = 1] / r`, in which the precision is not
    known; the estimate is its largest possible value,

    .. math:: \hat\pi = \Pr[f = 1] / r.

    Parameters
    ----------
    cv : int, default=5
        Folds, >= 2.
    <rows 5000>
    <seed subsamples and folds>

    <found strictly inside (0, 1)>

    Notes
    -----
    The paper (ICML 2003) learns a classifier and reports no prior. An estimate from above, by as
    much as the precision of the best linear classifier falls short of one.

    <clouds 0.2 < class_prior.LeeLiu().fit(X, y).prior_ < 0.4>
    """

    _n_bootstrap = 200

    def __init__(
        self,
        *,
        cv: int = 5,
        max_rows: int | None = 5000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
    ) -> None:
        self.cv = cv
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> ScorePair:
        X = scale_columns(X)
        target = positive.astype(int)
        folds = self._folds(positive, rng)
        best, chosen = -np.inf, (np.empty(0), np.empty(0))
        for strength in _STRENGTHS:
            model = LogisticRegression(C=strength, class_weight="balanced", max_iter=200)
            labelled = np.empty(len(target))
            for train, test in folds.split(target, target):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X[train], target[train])
                labelled[test] = model.predict_proba(X[test])[:, 1]
            scores = labelled[positive], labelled[~positive]
            criterion, _ = _best_threshold(*scores)
            if criterion > best:
                best, chosen = criterion, scores
        return chosen

    def _folds(self, positive: BoolArray, rng: np.random.RandomState) -> StratifiedKFold:
        n_folds = min(self.cv, positive.sum(), (~positive).sum())
        if n_folds < 2:
            raise ValueError(
                f"{positive.sum()} positive and {(~positive).sum()} unlabelled rows are too few "
                "to estimate a prior from; pass at least two of both."
            )
        return StratifiedKFold(n_folds, shuffle=True, random_state=rng.randint(2**31 - 1))

    def _solve(self, state: ScorePair, p: IntArray, u: IntArray) -> float:
        return _best_threshold(state[0][p], state[1][u])[1]


def _best_threshold(scores_p: FloatArray, scores_u: FloatArray) -> tuple[float, float]:
    """Return the largest ``r^2 / Pr[f = 1]``, and ``Pr[f = 1] / r`` where it is reached."""
    recall, predicted = tail_shares(scores_p, scores_u)
    criterion = recall**2 / np.maximum(predicted, 0.5 / len(scores_u))
    best = np.argmax(criterion)
    return criterion[best], predicted[best] / recall[best]
