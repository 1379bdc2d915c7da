"""Separable convex piecewise-linear penalties with one kink."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Penalty:
    """``phi_i(a)`` on ``[lower_i, upper_i]``: two slopes that meet at ``kink_i``.

    The constant is chosen so that the piece around zero, extended, passes through
    ``phi_i(0) = 0``; a penalty without a kink is plainly ``slope_right_i a``. A linear
    term of the objective belongs in both slopes. No kink: ``kink = lower`` and equal
    slopes.

    Attributes
    ----------
    lower, upper : ndarray of shape (n,)
        Interval; may be infinite. ``lower <= kink <= upper``.
    kink : ndarray of shape (n,)
        Where the slope changes.
    slope_left, slope_right : ndarray of shape (n,)
        Slopes, ``slope_left <= slope_right``.
    """

    lower: np.ndarray
    kink: np.ndarray
    upper: np.ndarray
    slope_left: np.ndarray
    slope_right: np.ndarray

    @classmethod
    def linear(cls, lower, upper, slope, n):
        """Penalty without kinks; scalars are repeated ``n`` times."""
        lower, upper, slope = (
            np.ascontiguousarray(np.broadcast_to(v, n), dtype=float) for v in (lower, upper, slope)
        )
        return cls(lower, lower, upper, slope, slope)

    @classmethod
    def kinked(cls, lower, kink, upper, slope_left, slope_right, n):
        """Penalty with kinks; scalars are repeated ``n`` times."""
        values = (lower, kink, upper, slope_left, slope_right)
        return cls(*(np.ascontiguousarray(np.broadcast_to(v, n), dtype=float) for v in values))

    @classmethod
    def hinge(cls, side, cost):
        """Duals of the hinge losses ``cost max(0, 1 - side f)``; no loss where ``side`` is 0."""
        end = np.asarray(side * cost, dtype=float)
        lower, upper, slope = np.minimum(end, 0.0), np.maximum(end, 0.0), -side
        return cls(lower, lower, upper, slope, slope)

    def appended(self, other):
        """These variables, and then those of another penalty."""
        pairs = zip(self.arrays(), other.arrays(), strict=True)
        return Penalty(*(np.concatenate(pair) for pair in pairs))

    def __post_init__(self):
        if not (np.all(self.lower <= self.kink) and np.all(self.kink <= self.upper)):
            raise ValueError("a penalty needs lower <= kink <= upper for every variable.")
        inside = self.kink > self.lower
        if not np.all(self.slope_left[inside] <= self.slope_right[inside]):
            raise ValueError("a penalty needs slope_left <= slope_right: it must be convex.")

    def __len__(self):
        return len(self.lower)

    def arrays(self):
        """The five arrays in the order of the class, for compiled code."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def take(self, indices):
        """The penalties of the variables ``indices``."""
        return Penalty(*(array[indices] for array in self.arrays()))

    @property
    def is_free(self):
        """Variables with neither a lower nor an upper bound."""
        return np.isinf(self.lower) & np.isinf(self.upper)

    def value(self, a):
        """``sum_i phi_i(a_i)``; no check that ``a`` lies in the intervals."""
        used = np.flatnonzero(a)  # phi_i(0) = 0
        a, kink = a[used], self.kink[used]
        slope_left, slope_right = self.slope_left[used], self.slope_right[used]
        above = np.maximum(a - kink, 0.0)
        below = np.minimum(a - kink, 0.0)
        with np.errstate(invalid="ignore"):  # an infinite kink is the unused branch
            from_left = slope_left * np.minimum(a, kink) + slope_right * above
            from_right = slope_right * np.maximum(a, kink) + slope_left * below
        return float(np.sum(np.where(kink >= 0, from_left, from_right)))

    def step_slopes(self, a):
        """Slopes to the right and to the left; +-inf where the bound is reached.

        Returns
        -------
        right, left : ndarray of shape (n,)
            ``right`` is +inf at the upper bound, ``left`` is -inf at the lower bound.
        """
        right = np.where(a >= self.kink, self.slope_right, self.slope_left)
        right = np.where(a >= self.upper, np.inf, right)
        left = np.where(a <= self.kink, self.slope_left, self.slope_right)
        left = np.where(a <= self.lower, -np.inf, left)
        return right, left

    def between(self, a):
        """Mask of the variables strictly between two breakpoints."""
        return (a > self.lower) & (a < self.upper) & (a != self.kink)

    def slope_at(self, a):
        """Slope of the piece that holds a variable between breakpoints."""
        return np.where(a > self.kink, self.slope_right, self.slope_left)

    def neighbours(self, a):
        """The next breakpoints below and above each variable (itself where it is at an end)."""
        above = np.where(a < self.kink, self.kink, self.upper)
        below = np.where(a > self.kink, self.kink, self.lower)
        return below, above

    def snapped(self, a, near):
        """``a`` with the breakpoints that it reaches to within ``near`` (a number, or one each).

        An end of the interval wins over a kink.
        """
        for edge in (self.kink, self.lower, self.upper):
            a = np.where(np.abs(a - edge) <= near, edge, a)
        return a

    def rounded(self, a, rtol=1e-12):
        """``a`` within the intervals, on the breakpoints that it nearly reaches.

        Nearly is relative to the interval, or to the largest variable where that is infinite.
        """
        width = self.upper - self.lower
        near = rtol * np.where(np.isfinite(width), width, np.abs(a).max(initial=0.0))
        return np.clip(self.snapped(a, near), self.lower, self.upper)

    def optimality(self, a, gradient):
        """``min up`` and ``max down``: optimal where the second is not above the first."""
        right, left = self.step_slopes(a)
        lowest_up = float(np.min(gradient + right, initial=np.inf))
        highest_down = float(np.max(gradient + left, initial=-np.inf))
        return lowest_up, highest_down

    def multiplier(self, a, gradient):
        """Multiplier of the equality: what ``gradient + slope`` is between breakpoints.

        The mean over variables strictly between breakpoints, else the middle of the interval that
        optimality leaves, else 0.
        """
        between = self.between(a)
        if between.any():
            return float(np.mean((gradient + self.slope_at(a))[between]))
        ends = [v for v in self.optimality(a, gradient) if np.isfinite(v)]
        return float(np.mean(ends)) if ends else 0.0

    def scaled(self, breakpoints, slopes):
        """The penalty with all breakpoints, and all slopes, times a number > 0."""
        return Penalty(
            self.lower * breakpoints, self.kink * breakpoints, self.upper * breakpoints,
            self.slope_left * slopes, self.slope_right * slopes,
        )  # fmt: skip

    def minimiser(self, linear, curvature):
        """``argmin_a  phi_i(a) + linear_i a + curvature_i a^2 / 2`` over the interval.

        With zero curvature and an unbounded descent direction the result is infinite.
        Ties go to the kink, or towards zero where that is infinite.
        """
        right = _stationary(linear + self.slope_right, curvature)
        left = _stationary(linear + self.slope_left, curvature)
        # A piece wins if its unconstrained minimum lies on its side of the kink. An
        # infinite kink leaves one piece.
        at = np.where(right > self.kink, right, np.where(left < self.kink, left, self.kink))
        at = np.where(self.kink == -np.inf, right, np.where(self.kink == np.inf, left, at))
        at = np.where(np.isnan(at), 0.0, at)
        return np.clip(at, self.lower, self.upper)


def _stationary(slope, curvature):
    """Where ``slope a + curvature a^2 / 2`` is smallest; NaN where every point is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -slope / np.broadcast_to(np.asarray(curvature, dtype=float), slope.shape)
