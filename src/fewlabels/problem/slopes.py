"""What a penalty's slopes, values and minimisers are, written for arrays of any library.

The only home of these formulas in Python: ``Penalty`` calls them with NumPy, and ``ArrayPenalty``
with the library of a device. Compiled code has its own in ``core/src/penalty.hpp``. A penalty has
the five arrays ``lower``, ``kink``, ``upper``, ``slope_left`` and ``slope_right``; ``xp`` is the
library's namespace.
"""

import math

import numpy as np


def step_slopes(xp, penalty, a, inf=math.inf):
    """Slopes to the right (+inf at the upper bound) and to the left (-inf at the lower)."""
    right = xp.where(a >= penalty.kink, penalty.slope_right, penalty.slope_left)
    left = xp.where(a <= penalty.kink, penalty.slope_left, penalty.slope_right)
    return xp.where(a >= penalty.upper, inf, right), xp.where(a <= penalty.lower, -inf, left)


def between(penalty, a):
    """Mask of the variables strictly between two breakpoints."""
    return (a > penalty.lower) & (a < penalty.upper) & (a != penalty.kink)


def neighbours(xp, penalty, a):
    """The next breakpoints below and above each variable (itself where it is at an end)."""
    above = xp.where(a < penalty.kink, penalty.kink, penalty.upper)
    below = xp.where(a > penalty.kink, penalty.kink, penalty.lower)
    return below, above


def value(xp, penalty, a, zero):
    """phi(a); ``zero`` is an array of the library."""
    kink = penalty.kink
    with np.errstate(invalid="ignore"):  # what lies beyond an infinite kink is not taken
        left, right = penalty.slope_left * (a - kink), penalty.slope_right * (a - kink)
        above = penalty.slope_left * xp.minimum(a, kink) + xp.where(a > kink, right, zero)
        below = penalty.slope_right * xp.maximum(a, kink) + xp.where(a < kink, left, zero)
    return xp.where(a == 0.0, zero, xp.where(kink >= 0.0, above, below))


def minimiser(xp, penalty, linear, curvature):
    """``argmin phi(a) + linear a + curvature a^2 / 2``; ties go to the kink or zero."""
    kink = penalty.kink
    with np.errstate(all="ignore"):
        right = -(linear + penalty.slope_right) / curvature
        left = -(linear + penalty.slope_left) / curvature
    at = xp.where(left < kink, left, kink)
    at = xp.where(right > kink, right, at)
    at = xp.where(kink == math.inf, left, xp.where(kink == -math.inf, right, at))
    at = xp.where(xp.isnan(at), xp.zeros_like(at), at)
    return xp.minimum(xp.maximum(at, penalty.lower), penalty.upper)


def is_kept(xp, penalty):
    """Mask of the variables that are free, or fixed but not at 0."""
    free = xp.isinf(penalty.lower) & xp.isinf(penalty.upper)
    return free | ((penalty.lower == penalty.upper) & (penalty.lower != 0.0))


def snapped(xp, penalty, a, near):
    """``a`` with the breakpoints that it reaches to within ``near``; ends win over kinks."""
    ends = penalty.lower, penalty.upper
    for edge in ends if penalty.kink is penalty.lower else (penalty.kink, *ends):
        a = xp.where(xp.abs(a - edge) <= near, edge, a)
    return a


def nearest_zero(xp, penalty, zero):
    """The lower bounds where finite, else the points next to zero; ``zero`` as in ``value``."""
    return xp.where(xp.isfinite(penalty.lower), penalty.lower, xp.minimum(penalty.upper, zero))


def absorbs(xp, penalty, a, amount):
    """Mask of the variables between breakpoints with room for ``amount`` before the next one."""
    below, above = neighbours(xp, penalty, a)
    room = above - a if amount > 0 else a - below
    return between(penalty, a) & (room >= abs(amount))
