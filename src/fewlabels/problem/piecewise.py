"""Slopes, values and minimisers of separable convex piecewise-linear functions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .totals import Extent, ImpliedEnds

# What chooses some of the variables.
Indices: TypeAlias = IntArray | BoolArray | slice


class PiecewiseLinear(ABC):
    """Penalties of many variables: the ``ends`` of their pieces, and the ``slopes`` of these.

    Both are tuples of arrays; a penalty with k kinks has k + 2 ends and k + 1 slopes.
    Slopes, values and minimisers are defined here alone: ``Penalty`` has them with NumPy, and
    ``ArrayPenalty`` with the library of a device. Compiled code has its own in
    ``core/src/penalty.hpp``.

    ``xp`` is the namespace of the arrays' library, and ``_number`` makes one of its arrays of a
    number, where it doesn't take plain ones. Types name the arrays of NumPy for either.
    """

    xp: Any = np
    ends: tuple[FloatArray, ...]
    slopes: tuple[FloatArray, ...]

    def _number(self, value: float) -> float | FloatArray:
        return value

    # -- what the two libraries do in their own way ----------------------------------------------

    @property
    @abstractmethod
    def extent(self) -> Extent:
        """``Extent`` of all variables."""

    @abstractmethod
    def take(self, indices: Indices) -> PiecewiseLinear:
        """Return the penalties of the variables ``indices``."""

    @abstractmethod
    def scaled(self, breakpoints: float | FloatArray, slopes: float) -> PiecewiseLinear:
        """Return the penalty with all breakpoints, and all slopes, times a number > 0."""

    @abstractmethod
    def gap(
        self,
        a: FloatArray,
        gradient: FloatArray,
        ridge: FloatArray | float,
        multiplier: float,
        implied: ImpliedEnds,
    ) -> float:
        """``sum h_i(a_i) - min h_i``, see ``DualProblem.duality_gap``."""

    @abstractmethod
    def set_to_minimiser(
        self,
        a: FloatArray,
        smooth: FloatArray,
        ridge: FloatArray,
        multiplier: float,
        held: BoolArray,
    ) -> float:
        """Set variables to their optimum for a fixed multiplier, in place; ``sum a``."""

    @abstractmethod
    def clipped(self, a: FloatArray) -> FloatArray:
        """``a`` within the intervals."""

    @abstractmethod
    def filled(self, a: FloatArray, amount: float) -> FloatArray:
        """``a`` moved by ``amount`` in all, one variable after the other, each to its end."""

    # -- pieces ----------------------------------------------------------------------------------

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return the ends, and then the slopes."""
        return (*self.ends, *self.slopes)

    @property
    def lower(self) -> FloatArray:
        """Lower ends of the intervals."""
        return self.ends[0]

    @property
    def upper(self) -> FloatArray:
        """Upper ends of the intervals."""
        return self.ends[-1]

    @property
    def kinks(self) -> tuple[FloatArray, ...]:
        """tuple of arrays: The ends of pieces inside the intervals, where slopes change."""
        return self.ends[1:-1]

    @property
    def is_free(self) -> BoolArray:
        """Variables with neither a lower nor an upper bound."""
        return self.xp.isinf(self.lower) & self.xp.isinf(self.upper)

    @property
    def is_kept(self) -> BoolArray:
        """Variables that every sample needs: free ones, and those fixed, but not at 0."""
        return self.is_free | ((self.lower == self.upper) & (self.lower != 0.0))

    @property
    def width(self) -> FloatArray:
        """Lengths of the intervals."""
        return self.upper - self.lower

    def step_slopes(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes to the right (+inf at the upper bound) and to the left (-inf at the lower)."""
        where, inf = self.xp.where, self._number(math.inf)
        right = self._slope_of(lambda kink: a >= kink)
        left = self._slope_of(lambda kink: a > kink)
        return where(a >= self.upper, inf, right), where(a <= self.lower, -inf, left)

    def _slope_of(self, is_above: Callable[[FloatArray], BoolArray]) -> FloatArray:
        """Return slopes of the pieces above all kinks for which ``is_above`` is true."""
        slope = self.slopes[0]
        for kink, above in zip(self.kinks, self.slopes[1:], strict=True):
            slope = self.xp.where(is_above(kink), above, slope)
        return slope

    @property
    def first_slope(self) -> FloatArray:
        """Slope at the lower end of the interval."""
        return self._slope_of(lambda kink: self.lower >= kink)

    def slope_at(self, a: FloatArray) -> FloatArray:
        """Slope of the piece that holds a variable between breakpoints."""
        return self._slope_of(lambda kink: a > kink)

    def between(self, a: FloatArray) -> BoolArray:
        """Return the mask of the variables strictly between two breakpoints."""
        between = (a > self.lower) & (a < self.upper)
        for kink in self.kinks:
            between = between & (a != kink)
        return between

    def neighbours(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The next breakpoints below and above each variable (itself where it is at an end)."""
        below, above = self.lower, self.upper
        for kink in self.kinks:
            below = self.xp.where(a > kink, kink, below)
        for kink in reversed(self.kinks):
            above = self.xp.where(a < kink, kink, above)
        return below, above

    def round_to_breakpoints(self, a: FloatArray, near: float | FloatArray) -> FloatArray:
        """``a`` with the breakpoints that it reaches to within ``near`` (a number, or one each).

        An end of the interval wins over kinks.
        """
        for edge in (*self.kinks, self.lower, self.upper):
            a = self.xp.where(self.xp.abs(a - edge) <= near, edge, a)
        return a

    def nearest_zero(self) -> FloatArray:
        """Return the bounds, where finite, or else the points next to zero."""
        above = self.xp.minimum(self.upper, self._number(0.0))
        return self.xp.where(self.xp.isfinite(self.lower), self.lower, above)

    def can_absorb(self, a: FloatArray, amount: float) -> BoolArray:
        """Return variables between breakpoints that can take ``amount`` without reaching one."""
        below, above = self.neighbours(a)
        room = above - a if amount > 0 else a - below
        return self.between(a) & (room >= abs(amount))

    def value(self, a: FloatArray) -> FloatArray:
        """phi(a): the way from zero to a, piece by piece."""
        value, zero = self.xp.zeros_like(a), self._number(0.0)
        with np.errstate(invalid="ignore"):  # what lies beyond an infinite kink is not taken
            for piece, slope in enumerate(self.slopes):
                start, stop = self._within(piece, zero), self._within(piece, a)
                value = value + self.xp.where(start == stop, zero, slope * (stop - start))
        return value

    def _within(self, piece: int, a: FloatArray | float) -> FloatArray | float:
        """Return the nearest points to a variable on a piece, where the outer ones have no end."""
        if piece > 0:
            a = self.xp.maximum(a, self.kinks[piece - 1])
        return self.xp.minimum(a, self.kinks[piece]) if piece < len(self.kinks) else a

    def minimiser(self, linear: FloatArray, curvature: FloatArray) -> FloatArray:
        """``argmin phi(a) + linear a + curvature a^2 / 2``; ties go to a kink or zero."""
        xp, kinks, at = self.xp, self.kinks, None
        with np.errstate(all="ignore"):
            for piece, slope in enumerate(self.slopes):
                here = least = -(linear + slope) / curvature
                if piece < len(kinks):
                    kink = kinks[piece]
                    here = xp.where((least < kink) | (kink == math.inf), here, kink)
                if piece > 0:
                    kink = kinks[piece - 1]
                    here = xp.where((least > kink) | (kink == -math.inf), here, at)
                at = here
        at = xp.where(xp.isnan(at), xp.zeros_like(at), at)
        return xp.minimum(xp.maximum(at, self.lower), self.upper)
