"""The prior from the ROC curve of positive against unlabelled rows."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.stats import beta
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray, IntArray, RandomStateLike, RowMatrix
from ._scores import CrossFittedPrior, ScorePair
from .best_bin import tail_shares


class Blanchard(CrossFittedPrior[ScorePair]):
    r"""Proportion of novelties, Blanchard, Lee and Scott, JMLR 11 (2010), section 6.

    The unlabelled rows are a mixture of the positive distribution and of another one. The
    largest share that the positive distribution can have is the smallest ratio
    :math:`U(A) / P(A)` over sets A. Over sets "score above c" and with confidence bounds
    in place of the unknown probabilities, the estimate is

    .. math:: \hat\pi = \min_c \frac{\overline{U}(s > c)}{\underline{P}(s > c)},

    the smallest slope of a line from the origin of the ROC curve to a point of it, moved
    by its uncertainty. Bounds are Clopper and Pearson's, each of confidence
    :math:`1 - \delta`.

    Parameters
    ----------
    delta : float, default=0.1
        Level of each bound, in (0, 0.5]; 0.5 takes about the observed shares.
    <scorer>
    <cross_fitting>

    <found strictly inside (0, 1)>

    Notes
    -----
    The paper bounds deviations uniformly over a class of sets by its Vapnik-Chervonenkis
    dimension; with a hundred positives such bounds say nothing, so that each threshold's
    own bound is used here, on scores from models that have not seen the row.

    <clouds 0.2 < class_prior.Blanchard().fit(X, y).prior_ < 0.4>
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CrossFittedPrior._parameter_constraints,
        "delta": [Interval(Real, 0, 0.5, closed="right")],
    }
    _n_bootstrap = 200

    def __init__(
        self,
        *,
        delta: float = 0.1,
        scorer: ClassifierMixin | None = None,
        cv: int = 5,
        max_rows: int | None = 3000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.delta = delta
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
        above_p, above_u = np.rint(share_p * len(p)), np.rint(share_u * len(u))
        low_p = beta.ppf(self.delta, above_p, len(p) - above_p + 1)
        high_u = np.where(
            above_u < len(u),
            beta.ppf(1.0 - self.delta, above_u + 1, np.maximum(len(u) - above_u, 1)),
            1.0,
        )
        return np.min(high_u / low_p)
