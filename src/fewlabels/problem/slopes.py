"""What a penalty's slopes, values and minimisers are, written for arrays of any library.

The only home of these formulas in Python: ``Penalty`` has them with NumPy, and ``ArrayPenalty``
with the library of a device. Compiled code has its own in ``core/src/penalty.hpp``.
"""

import math
from typing import Any

import numpy as np


class PiecewiseLinear:
    """Penalties with the five arrays ``lower``, ``kink``, ``upper`` and both slopes.

    ``xp`` is the namespace of the arrays' library, and ``_number`` makes one of its arrays of a
    number, where it doesn't take plain ones.
    """

    xp: Any = np
    lower: Any
    kink: Any
    upper: Any
    slope_left: Any
    slope_right: Any

    def _number(self, value):
        return value

    def arrays(self):
        """The five arrays in the order of the class."""
        return self.lower, self.kink, self.upper, self.slope_left, self.slope_right

    @property
    def is_free(self):
        """Variables with neither a lower nor an upper bound."""
        return self.xp.isinf(self.lower) & self.xp.isinf(self.upper)

    @property
    def is_kept(self):
        """Variables that every sample needs: free ones, and those fixed, but not at 0."""
        return self.is_free | ((self.lower == self.upper) & (self.lower != 0.0))

    @property
    def width(self):
        """Lengths of the intervals."""
        return self.upper - self.lower

    def step_slopes(self, a):
        """Slopes to the right (+inf at the upper bound) and to the left (-inf at the lower)."""
        where, inf = self.xp.where, self._number(math.inf)
        right = where(a >= self.kink, self.slope_right, self.slope_left)
        left = where(a <= self.kink, self.slope_left, self.slope_right)
        return where(a >= self.upper, inf, right), where(a <= self.lower, -inf, left)

    @property
    def first_slope(self):
        """Slope at the lower end of the interval."""
        return self.xp.where(self.lower >= self.kink, self.slope_right, self.slope_left)

    def slope_at(self, a):
        """Slope of the piece that holds a variable between breakpoints."""
        return self.xp.where(a > self.kink, self.slope_right, self.slope_left)

    def between(self, a):
        """Mask of the variables strictly between two breakpoints."""
        return (a > self.lower) & (a < self.upper) & (a != self.kink)

    def neighbours(self, a):
        """The next breakpoints below and above each variable (itself where it is at an end)."""
        above = self.xp.where(a < self.kink, self.kink, self.upper)
        below = self.xp.where(a > self.kink, self.kink, self.lower)
        return below, above

    def snapped(self, a, near):
        """``a`` with the breakpoints that it reaches to within ``near`` (a number, or one each).

        An end of the interval wins over a kink.
        """
        edges = (self.lower, self.upper)
        for edge in edges if self.kink is self.lower else (self.kink, *edges):
            a = self.xp.where(self.xp.abs(a - edge) <= near, edge, a)
        return a

    def nearest_zero(self):
        """The bounds, where finite, or else the points next to zero."""
        above = self.xp.minimum(self.upper, self._number(0.0))
        return self.xp.where(self.xp.isfinite(self.lower), self.lower, above)

    def absorbs(self, a, amount):
        """Variables between breakpoints that can take ``amount`` without reaching one."""
        below, above = self.neighbours(a)
        room = above - a if amount > 0 else a - below
        return self.between(a) & (room >= abs(amount))

    def value(self, a):
        """phi(a)."""
        xp, kink, zero = self.xp, self.kink, self._number(0.0)
        with np.errstate(invalid="ignore"):  # what lies beyond an infinite kink is not taken
            left, right = self.slope_left * (a - kink), self.slope_right * (a - kink)
            above = self.slope_left * xp.minimum(a, kink) + xp.where(a > kink, right, zero)
            below = self.slope_right * xp.maximum(a, kink) + xp.where(a < kink, left, zero)
        return xp.where(a == 0.0, zero, xp.where(kink >= 0.0, above, below))

    def minimiser(self, linear, curvature):
        """``argmin phi(a) + linear a + curvature a^2 / 2``; ties go to the kink or zero."""
        xp, kink = self.xp, self.kink
        with np.errstate(all="ignore"):
            right = -(linear + self.slope_right) / curvature
            left = -(linear + self.slope_left) / curvature
        at = xp.where(left < kink, left, kink)
        at = xp.where(right > kink, right, at)
        at = xp.where(kink == math.inf, left, xp.where(kink == -math.inf, right, at))
        at = xp.where(xp.isnan(at), xp.zeros_like(at), at)
        return xp.minimum(xp.maximum(at, self.lower), self.upper)
