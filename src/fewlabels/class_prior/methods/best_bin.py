"""The prior from the smallest ratio of tail shares (best bin estimation)."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray, FloatArray, IntArray, RandomStateLike, RowMatrix
from ._scores import CrossFittedPrior, ScorePair


class BestBin(CrossFittedPrior[ScorePair]):
    r"""Best bin estimation (BBE), Garg et al., NeurIPS 2021, algorithm 1.

    For a threshold c on the (cross-fitted) score let :math:`q_P(c)`, :math:`q_U(c)` be the
    shares of positive and of unlabelled rows above it. ``q_U / q_P`` is never below the
    prior, and equals it where no negative scores above c. The threshold is the one of the
    smallest upper confidence bound

    .. math:: \frac{q_U(c)}{q_P(c)} + \frac{1 + \gamma}{q_P(c)} \left(
              \sqrt{\frac{\log(4/\delta)}{2 n_U}} + \sqrt{\frac{\log(4/\delta)}{2 n_P}}\right).

    Parameters
    ----------
    delta : float, default=0.1
        Level of the confidence bound, in (0, 1).
    gamma : float, default=0.01
        Slack of the bound, >= 0.
    scorer : classifier or None, default=None
        What ranks rows, fitted on all but one fold at a time. None takes the average of logistic
        regression on Nystroem features of an RBF kernel (sparse rows: on the columns) and
        out-of-bag votes of extremely randomised trees.
    <cross_fitting>

    <found strictly inside (0, 1)>

    Notes
    -----
    An estimate from above: it is the prior only where some region holds positives alone.

    <clouds 0.2 < class_prior.BestBin().fit(X, y).prior_ < 0.4>
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CrossFittedPrior._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }
    _n_bootstrap = 200

    def __init__(
        self,
        *,
        delta: float = 0.1,
        gamma: float = 0.01,
        scorer: ClassifierMixin | None = None,
        cv: int = 5,
        max_rows: int | None = 3000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.delta = delta
        self.gamma = gamma
        super().__init__(
            scorer=scorer,
            cv=cv,
            max_rows=max_rows,
            pos_label=pos_label,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> ScorePair:
        return self._score_pair(X, positive, rng)

    def _solve(self, state: ScorePair, p: IntArray, u: IntArray) -> float:
        share_p, share_u = tail_shares(state[0][p], state[1][u])
        log_term = np.log(4.0 / self.delta) / 2.0
        width = np.sqrt(log_term / len(u)) + np.sqrt(log_term / len(p))
        ratio = share_u / share_p
        best = np.argmin(ratio + (1.0 + self.gamma) * width / share_p)
        return ratio[best]


def tail_shares(scores_p: FloatArray, scores_u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of both at or above every distinct score of a positive row."""
    thresholds = np.unique(scores_p)
    share_p, share_u = (
        1.0 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores)
        for scores in (scores_p, scores_u)
    )
    return share_p, share_u
