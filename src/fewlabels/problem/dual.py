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

from dataclasses import dataclass

import numpy as np

from ..gram import GramOperator
from .penalty import Penalty

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
    """

    gram: GramOperator
    penalty: Penalty
    total: float
    scale: float = 1.0
    ridge: np.ndarray | float = 0.0

    def __post_init__(self):
        if len(self.penalty) != self.gram.n:
            raise ValueError(
                f"the penalty has {len(self.penalty)} variables and the Gram operator "
                f"{self.gram.n} rows; they must be equal."
            )
        ridge = np.ascontiguousarray(np.broadcast_to(self.ridge, self.n), dtype=float)
        object.__setattr__(self, "ridge", ridge)
        largest = max(
            float(np.abs(self.scale * self.gram.diagonal()).max(initial=0.0)),
            float(np.abs(self.penalty.slope_right).max(initial=0.0)),
        )
        if not largest <= _LARGEST:  # also refuses NaN
            raise ValueError(
                f"kernel values reach {largest:.3g}, beyond what can be squared in double "
                "precision; scale the columns."
            )
        lowest, highest = self.penalty.lower.sum(), self.penalty.upper.sum()
        reachable = (
            lowest - self._rounding(self.penalty.lower)
            <= self.total
            <= highest + self._rounding(self.penalty.upper)
        )
        if not (reachable and np.isfinite(self.total)):
            raise ValueError(
                f"the problem is infeasible: the variables can sum to [{lowest:g}, "
                f"{highest:g}], but must sum to {self.total:g}."
            )

    def _rounding(self, terms, rtol=1e-9):
        """What a sum of ``terms`` may be away from ``total``."""
        size = float(np.abs(terms[np.isfinite(terms)]).sum())
        return rtol * max(size, abs(self.total))

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

    def objective(self, a, gradient):
        """Value of (P), with ``gradient = Q a``."""
        return 0.5 * float(a @ gradient) + self.penalty.value(a)

    def optimality(self, a, gradient):
        """``min up``, ``max down`` and the violation ``max(0, max down - min up)``."""
        lowest_up, highest_down = self.penalty.optimality(a, gradient)
        violation = highest_down - lowest_up
        # NaN in the gradient certifies nothing.
        return lowest_up, highest_down, np.inf if np.isnan(violation) else max(0.0, violation)

    def multiplier(self, a, gradient):
        """Multiplier of the equality, see :meth:`Penalty.multiplier`."""
        return self.penalty.multiplier(a, gradient)

    def lower_bound(self, a, gradient, multiplier):
        """A number below the optimal value of (P), by Lagrangian duality.

        For every b, convexity gives ``b'Mb/2 >= b'Ma - a'Ma/2`` with ``M = scale * K``
        (positive semi-definite); relaxing the equality by the multiplier leaves one
        small problem per variable:

            D = -a'Ma/2 + multiplier * total
                + sum_i min_b [ (Ma - multiplier)_i b + ridge_i b^2/2 + phi_i(b) ]

        Infinite bounds are first tightened by what the equality implies, which is finite
        for one free variable among bounded ones. With more, the bound is -inf unless they
        are exactly stationary at ``multiplier``.
        """
        smooth = gradient - self.ridge * a
        at = self.penalty.minimiser(smooth - multiplier, self.ridge)
        at = np.clip(at, *self._implied_interval())
        if not np.all(np.isfinite(at)):
            return -np.inf
        value = float(np.sum((smooth - multiplier) * at + 0.5 * self.ridge * at**2))
        return value + self.penalty.value(at) + multiplier * self.total - 0.5 * float(a @ smooth)

    def duality_gap(self, a, gradient, multiplier):
        """Objective minus ``lower_bound``: ``a`` is at most this far from optimal."""
        return self.objective(a, gradient) - self.lower_bound(a, gradient, multiplier)

    def _implied_interval(self):
        """Intervals whose infinite ends are replaced by what the equality implies."""
        lower, upper = self.penalty.lower, self.penalty.upper
        smallest = self.total - _sum_of_others(upper)
        largest = self.total - _sum_of_others(lower)
        return (
            np.where(np.isinf(lower), smallest, lower),
            np.where(np.isinf(upper), largest, upper),
        )

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
        lower, upper = self.penalty.lower, self.penalty.upper
        a = np.where(np.isfinite(lower), lower, np.minimum(upper, 0.0))
        missing = self.total - a.sum()
        room = (upper - a) if missing > 0 else (a - lower)
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        with np.errstate(invalid="ignore"):
            step = np.clip(abs(missing) - before, 0.0, room)
        step[np.isnan(step)] = 0.0  # after an infinite room nothing is left to place
        # A room filled to the last bit but one by rounding counts as full.
        return self.snapped(np.clip(a + np.sign(missing) * step, lower, upper))

    def snapped(self, a, rtol=1e-12):
        """``a`` without rounding: on the breakpoints it nearly reaches, with the right sum.

        What the sum lacks, if that is more than its own rounding, goes to the variable
        between breakpoints that changes the gradient least.
        """
        penalty = self.penalty
        near = rtol * float(np.abs(a).max(initial=0.0))
        for edge in (penalty.lower, penalty.kink, penalty.upper):
            a = np.where(np.abs(a - edge) <= near, edge, a)
        missing = self.total - a.sum()
        if abs(missing) > 1e-15 * float(np.abs(a).sum()):
            # Room to the next breakpoint: no variable may cross one.
            if missing > 0:
                edge = np.where(a < penalty.kink, penalty.kink, penalty.upper)
            else:
                edge = np.where(a > penalty.kink, penalty.kink, penalty.lower)
            able = (a > penalty.lower) & (a < penalty.upper) & (a != penalty.kink)
            able &= np.abs(edge - a) >= abs(missing)
            if able.any():
                i = int(np.argmin(np.where(able, self.diagonal(), np.inf)))
                reached = a[i] + missing
                a[i] = min(reached, edge[i]) if missing > 0 else max(reached, edge[i])
        return a

    def is_feasible(self, a, rtol=1e-9):
        """Whether ``a`` satisfies the intervals exactly and the equality to rounding."""
        return bool(
            np.all(a >= self.penalty.lower)
            and np.all(a <= self.penalty.upper)
            and abs(a.sum() - self.total) <= self._rounding(a, rtol)
        )


def _sum_of_others(bounds):
    """For every i the sum of all bounds but the i-th; infinite where one of these is."""
    infinite = np.isinf(bounds)
    if not infinite.any():
        return bounds.sum() - bounds
    if infinite.sum() > 1:
        return np.full(len(bounds), bounds[infinite][0])
    return np.where(infinite, bounds[~infinite].sum(), bounds[infinite][0])
