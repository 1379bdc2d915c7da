"""The prior by embedding of the distributions in a kernel's space (KM1, KM2)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias

import numpy as np
from sklearn.metrics import euclidean_distances

from ..._typing import BoolArray, FloatArray, IntArray, RandomStateLike, RowMatrix
from ...kernels.operators import PrecomputedGram
from ...problem import DualProblem, Penalty
from ...solvers import solve_decomposition
from ._base import PriorEstimator, median_distance, scale_columns

_WIDTHS = np.geomspace(0.1, 10.0, 5)
# The largest lambda looked at; the prior is at most 1 - 1/10. Where the search ends.
_LAST = 10.0
_ACCURACY = 0.01
# Step from 1 that measures the first slope, share of the last slope in KM2's threshold,
# and the share of the distance between the means from which KM1's is no use.
_FIRST_STEP = 0.05
_SHARE = 0.2
_TOO_STEEP = 0.9
# KKT violation of the projection, in units of kernel values (at most 1).
_TOL = 1e-6


# Kernel values, positive rows before unlabelled ones, and the number of positive rows.
KernelState: TypeAlias = tuple[FloatArray, int]


class _KernelMean(PriorEstimator[KernelState]):
    """The distance curve that KM1 and KM2 threshold."""

    _n_bootstrap = 20

    def __init__(
        self,
        *,
        max_rows: int | None = 500,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
    ) -> None:
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state

    def _prepare(
        self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState
    ) -> KernelState:
        X = scale_columns(X)
        X = X[np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])]
        distances = euclidean_distances(X, squared=True)
        difference = np.where(np.arange(X.shape[0]) < positive.sum(), -1.0, 1.0)
        difference[difference < 0] /= positive.sum()
        difference[difference > 0] /= (~positive).sum()
        width = median_distance(distances)
        kernels = (np.exp(-distances / (2.0 * (width * w) ** 2)) for w in _WIDTHS)
        return max(kernels, key=lambda K: float(difference @ K @ difference)), positive.sum()

    def _solve(self, state: KernelState, p: IntArray, u: IntArray) -> float:
        K, n_positive = state
        n = len(K)
        component = np.bincount(p, minlength=n) / len(p)
        mixture = np.bincount(n_positive + u, minlength=n) / len(u)
        drawn = np.flatnonzero(component + mixture)
        curve = _Distance(K[np.ix_(drawn, drawn)], component[drawn], mixture[drawn])
        if curve.distance_of_means <= 1e-9:  # the same rows twice: nothing tells the samples apart
            return 1.0
        return 1.0 - 1.0 / self._find_steep(curve, self._threshold(curve, len(p), len(u)))

    @abstractmethod
    def _threshold(self, curve: _Distance, n_positive: int, n_unlabeled: int) -> float:
        """Return the slope from which the distance counts as growing."""

    def _find_steep(self, curve: _Distance, threshold: float) -> float:
        """Return the smallest lambda at which the distance grows by ``threshold`` or more."""
        low, high = 1.0, _LAST
        # The prior 1 - 1/lambda is halved: lambda itself is far too coarse near one.
        while 1.0 / low - 1.0 / high > _ACCURACY:
            middle = 2.0 / (1.0 / low + 1.0 / high)
            if curve.slope(middle) >= threshold:
                high = middle
            else:
                low = middle
        return 2.0 / (1.0 / low + 1.0 / high)


class _Distance:
    """``d(lambda)``: how far ``lambda F + (1 - lambda) H`` is from the convex hull of the rows.

    F and H are the kernel means of the unlabelled and of the positive rows. The nearest
    point has weights w that solve problem (P):

        minimise_w   1/2 w' K w - c' K w     subject to   sum w = 1,  w >= 0

    with c the coefficients of the embedded point.
    """

    def __init__(self, K: FloatArray, component: FloatArray, mixture: FloatArray) -> None:
        self.K = K
        self.component, self.mixture = component, mixture
        self.gram = PrecomputedGram(K)
        self.projection_weights = mixture.copy()
        difference = mixture - component
        self.difference_products = K @ difference
        self.distance_of_means = float(
            np.sqrt(max(float(difference @ self.difference_products), 0.0))
        )

    def _residual(self, value: float) -> FloatArray:
        point = value * self.mixture + (1.0 - value) * self.component
        penalty = Penalty.linear(0.0, np.inf, -(self.K @ point), len(point))
        problem = DualProblem(self.gram, penalty, total=1.0)
        start = self.projection_weights / self.projection_weights.sum()
        self.projection_weights = solve_decomposition(problem, start=start, tol=_TOL).a
        return point - self.projection_weights

    def distance(self, value: float) -> float:
        residual = self._residual(value)
        return float(np.sqrt(max(float(residual @ self.K @ residual), 0.0)))

    def slope(self, value: float) -> float:
        """Return the derivative of the distance: the residual's direction times ``F - H``."""
        residual = self._residual(value)
        distance = np.sqrt(max(float(residual @ self.K @ residual), 0.0))
        # Below the projection's accuracy the point lies in the hull, where d is flat.
        return (
            float(residual @ self.difference_products / distance)
            if distance > 1e-4 * self.distance_of_means
            else 0.0
        )


class KM1(_KernelMean):
    r"""Kernel mean embedding with the threshold of KM1, Ramaswamy, Scott, Tewari, ICML 2016.

    With F and H the means of the unlabelled and of the positive rows in the kernel's space,
    :math:`d(\lambda)` is the distance of :math:`\lambda F + (1 - \lambda) H` from the convex
    hull of all rows. It is convex, near zero while :math:`\lambda \le 1 / (1 - \pi)` and
    grows beyond; the estimate is :math:`1 - 1/\hat\lambda` for the :math:`\hat\lambda` where
    its slope first reaches a threshold, here :math:`1 / \sqrt{\min(n_P, n_U)}` (KM2's where
    that is nearly the largest slope there is).

    Parameters
    ----------
    max_rows : int or None, default=500
        Positive, and unlabelled, rows used at most. The kernel matrix of the used rows is
        held, and some ten projections onto their convex hull are solved exactly, by this
        library's engine; larger sets are subsampled.
    <seed the subsample>

    <found at most about 0.9>

    Notes
    -----
    RBF kernel; of five widths around the median distance the one that puts F and H
    farthest apart, as in the authors' experiments. Columns are standardised (sparse ones
    scaled by their largest value). The slope is exact (the residual's direction times
    F - H) instead of a difference quotient; the prior is searched to 0.01.

    <clouds 0.1 < class_prior.KM1().fit(X, y).prior_ < 0.5>
    """

    def _threshold(self, curve: _Distance, n_positive: int, n_unlabeled: int) -> float:
        threshold = 1.0 / np.sqrt(min(n_positive, n_unlabeled))
        if threshold > _TOO_STEEP * curve.distance_of_means:
            return _interpolate_slopes(curve)
        return threshold


class KM2(_KernelMean):
    r"""Kernel mean embedding with the threshold of KM2, Ramaswamy, Scott and Tewari 2016.

    As ``KM1``, with the threshold 0.8 times the slope of :math:`d` at 1 plus 0.2 times its
    largest slope, :math:`\|F - H\|` (section 7 of the same paper). Parameters as :class:`KM1`.

    Parameters
    ----------
    <rows 500>
    <seed the subsample>

    <found at most about 0.9>

    <clouds 0.1 < class_prior.KM2().fit(X, y).prior_ < 0.5>
    """

    def _threshold(self, curve: _Distance, n_positive: int, n_unlabeled: int) -> float:
        return _interpolate_slopes(curve)


def _interpolate_slopes(curve: _Distance) -> float:
    first = curve.distance(1.0 + _FIRST_STEP) / _FIRST_STEP  # d(1) = 0
    return (1.0 - _SHARE) * first + _SHARE * curve.distance_of_means
