"""The one optimisation problem behind every machine, and what certifies a solution.

    minimise_a   1/2 a' Q a  +  sum_i phi_i(a_i)     subject to   sum_i a_i = total     (P)

with ``Q = scale * K + diag(ridge)``, K a kernel matrix and phi_i a convex
piecewise-linear penalty (``Penalty``). With ``g = Q a``:

    up_i   = g_i + slope of phi_i to the right   (+inf at the upper bound)
    down_i = g_i + slope of phi_i to the left    (-inf at the lower bound)

a feasible ``a`` is optimal if and only if ``max_i down_i <= min_i up_i``; the positive
part of the difference is the KKT violation, and every number in between is a
multiplier of the equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..gram import GramOperator
from .penalty import Penalty
from .totals import Extent

# Pair steps square differences of gradients.
_LARGEST = 1e120


@dataclass(frozen=True)
class DualProblem:
    """Problem (P).

    Attributes
    ----------
    gram : GramOperator
        K.
    penalty : Penalty
        phi and the intervals.
    total : float
        Right-hand side of the equality.
    scale : float
        Factor of K in Q, > 0.
    ridge : ndarray of shape (n,)
        Diagonal added to ``scale * K``, >= 0.
    extent : Extent
        How far the variables reach together.
    """

    gram: GramOperator
    penalty: Penalty
    total: float
    scale: float = 1.0
    ridge: np.ndarray | float = 0.0
    extent: Extent = field(init=False)

    def __post_init__(self):
        if len(self.penalty) != self.gram.n:
            raise ValueError(
                f"the penalty has {len(self.penalty)} variables and the Gram operator "
                f"{self.gram.n} rows; they must be equal."
            )
        ridge = np.ascontiguousarray(np.broadcast_to(self.ridge, self.n), dtype=float)
        object.__setattr__(self, "ridge", ridge)
        sizes = self.scale * self.gram.diagonal(), self.penalty.slope_right
        largest = max(float(np.abs(size).max(initial=0.0)) for size in sizes)
        if not largest <= _LARGEST:  # also refuses NaN
            raise ValueError(
                f"kernel values reach {largest:.3g}, beyond what can be squared in double "
                "precision; scale the columns."
            )
        extent = Extent.of(self.penalty)
        object.__setattr__(self, "extent", extent)
        if not extent.allows(self.total):
            raise ValueError(
                f"the problem is infeasible: the variables can sum to [{extent.lowest:g}, "
                f"{extent.highest:g}], but must sum to {self.total:g}."
            )

    @property
    def n(self):
        """Number of variables."""
        return self.gram.n

    def diagonal(self):
        """Diagonal of Q."""
        return self.scale * self.gram.diagonal() + self.ridge

    def block(self, indices):
        """``Q[indices][:, indices]`` in float64."""
        block = self.gram.block(indices)
        if self.scale != 1.0:
            block *= self.scale
        block[np.diag_indices_from(block)] += self.ridge[indices]
        return block

    def gradient(self, a):
        """``Q a`` from the non-zero entries of ``a`` alone."""
        gradient = self.ridge * a
        self.add_product(np.flatnonzero(a), a[a != 0], gradient, ridge=False)
        return gradient

    def add_product(self, indices, change, gradient, *, ridge=True):
        """``gradient += Q[:, indices] @ change`` in place."""
        if len(indices):
            self.gram.apply(indices, self.scale * change, gradient)
            if ridge:
                gradient[indices] += self.ridge[indices] * change

    def survey(self, a, gradient):
        """Sums and extremes at a point, with ``gradient = Q a``."""
        return self.penalty.survey(a, gradient, self.ridge, self.gram.diagonal())

    def objective(self, a, gradient):
        """Value of (P), with ``gradient = Q a``."""
        return self.survey(a, gradient).objective

    def optimality(self, a, gradient):
        """``min up``, ``max down`` and the violation ``max(0, max down - min up)``."""
        totals = self.survey(a, gradient)
        return totals.lowest_up, totals.highest_down, totals.violation

    def multiplier(self, a, gradient):
        """Multiplier of the equality, see ``Totals.multiplier``."""
        return self.survey(a, gradient).multiplier

    def duality_gap(self, a, gradient, multiplier):
        """How far the objective is from optimal at most, by Lagrangian duality.

        For every b, convexity gives ``b'Mb/2 >= b'Ma - a'Ma/2`` with ``M = scale * K``
        (positive semi-definite); relaxing the equality by the multiplier leaves one
        small problem per variable:

            objective(b)  >=  -a'Ma/2 + multiplier * total + sum_i min h_i
            h_i(b) = (Ma - multiplier)_i b + ridge_i b^2/2 + phi_i(b)

        and at b = a the difference is ``sum_i [h_i(a_i) - min h_i]``.

        Infinite bounds are first tightened by what the equality implies, which is finite
        for one free variable among bounded ones. With more, the gap is inf unless they
        are exactly stationary at ``multiplier``.
        """
        implied = self.extent.implied(self.total)
        return self.penalty.gap(a, gradient, self.ridge, multiplier, implied)

    def lower_bound(self, a, gradient, multiplier):
        """A number below the optimal value of (P), see :meth:`duality_gap`."""
        return self.objective(a, gradient) - self.duality_gap(a, gradient, multiplier)

    def implied_interval(self):
        """Intervals whose infinite ends are replaced by what the equality implies."""
        lower, upper = self.penalty.lower, self.penalty.upper
        low, low_free, high, high_free = self.extent.implied(self.total)
        with np.errstate(invalid="ignore"):
            low = np.where(np.isinf(upper), low_free, low + upper)
            high = np.where(np.isinf(lower), high_free, high + lower)
        return np.where(np.isinf(lower), low, lower), np.where(np.isinf(upper), high, upper)

    def stretch(self, indices):
        """How many rows each row of a sample stands for, shape (len(indices),)."""
        free = self.penalty.is_free
        share = (self.n - free.sum()) / max(1, len(indices) - free.sum())
        return np.where(free[indices], 1.0, share)

    def subsample(self, indices):
        """The problem of a sample of rows that stands for all of them.

        A row of the sample stands for ``r`` rows, so its variable is r times as large:
        intervals and kinks are stretched by r and the ridge is divided by r. Free
        variables stand for themselves and must be in the sample.
        """
        stretch = self.stretch(indices)
        p = self.penalty.take(indices)
        penalty = Penalty(
            p.lower * stretch, p.kink * stretch, p.upper * stretch, p.slope_left, p.slope_right
        )
        # Where intervals differ, those of the sample may not reach the total.
        total = float(np.clip(self.total, penalty.lower.sum(), penalty.upper.sum()))
        return DualProblem(
            self.gram.take(indices), penalty, total, self.scale, self.ridge[indices] / stretch
        )

    def feasible_start(self):
        """A feasible point: variables filled one after the other from their bounds."""
        a = self.penalty.nearest_zero()
        a = self.penalty.filled(a, self.total - a.sum())
        # A room filled to the last bit but one by rounding counts as full.
        return self.snapped(a)

    def snapped(self, a, rtol=1e-12):
        """``a`` without rounding, see ``Penalty.cleaned``."""
        return self.penalty.cleaned(a, self.total, self.diagonal(), rtol)

    def is_feasible(self, a, rtol=1e-9):
        """Whether ``a`` satisfies the intervals exactly and the equality to rounding."""
        a = np.asarray(a)
        return bool(
            np.all(a >= self.penalty.lower)
            and np.all(a <= self.penalty.upper)
            and abs(a.sum() - self.total) <= rtol * max(float(np.abs(a).sum()), abs(self.total))
        )
