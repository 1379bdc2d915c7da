"""Separable convex piecewise-linear penalties with one kink, of a problem or of some rows."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core import penalty as code
from .totals import Extent, Totals

# Shares of equal rows that are this near to a breakpoint, relative to all of them, are on it.
_SHARED = 1e-14

_FIELDS = "lower", "kink", "upper", "slope_left", "slope_right"

# Of breakpoints and slopes.
_LARGEST = 1e40


class PiecewiseLinear:
    """Penalties with the five arrays ``lower``, ``kink``, ``upper`` and both slopes.

    Slopes, values and minimisers are defined here alone: ``Penalty`` has them with NumPy, and
    ``ArrayPenalty`` with the library of a device. Compiled code has its own in
    ``core/src/penalty.hpp``.

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


@dataclass(frozen=True, eq=False)
class Penalty(PiecewiseLinear):
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
        lower, upper, slope = (repeated(v, n) for v in (lower, upper, slope))
        return cls(lower, lower, upper, slope, slope)

    @classmethod
    def kinked(cls, lower, kink, upper, slope_left, slope_right, n):
        """Penalty with kinks; scalars are repeated ``n`` times."""
        values = (lower, kink, upper, slope_left, slope_right)
        return cls(*(repeated(v, n) for v in values))

    @classmethod
    def hinge(cls, side, cost):
        """Duals of the hinge losses ``cost max(0, 1 - side f)``; no loss where ``side`` is 0."""
        end = np.asarray(side * cost, dtype=float)
        lower, upper, slope = np.minimum(end, 0.0), np.maximum(end, 0.0), -side
        return cls(lower, lower, upper, slope, slope)

    def appended(self, other):
        """These variables, and then the variables of another penalty."""
        pairs = zip(self.arrays(), other.arrays(), strict=True)
        return Penalty(*(np.concatenate(pair) for pair in pairs))

    def __post_init__(self):
        if not all(map(_is_plain, self.arrays())):
            for name in _FIELDS:
                object.__setattr__(self, name, _plain(getattr(self, name)))
        lower, kink, upper = self.lower, self.kink, self.upper
        straight = kink is lower
        if not (straight or (lower <= kink).all()) or not (kink <= upper).all():
            raise ValueError("a penalty needs lower <= kink <= upper for every variable.")
        if not (straight or (self.slope_left <= self.slope_right)[kink > lower].all()):
            raise ValueError("a penalty needs slope_left <= slope_right: it must be convex.")

    def __len__(self):
        return len(self.lower)

    @cached_property
    def pieces(self):
        """The arrays as compiled code takes them."""
        return code.Pieces(self.arrays())

    def __getstate__(self):
        return {name: getattr(self, name) for name in _FIELDS}  # without addresses

    def take(self, indices):
        """The penalties of the variables ``indices``."""
        return self._of_sound(array[indices] for array in self.arrays())

    @classmethod
    def joined(cls, parts):
        """The penalties of several groups of variables, one after the other."""
        arrays = zip(*(part.arrays() for part in parts), strict=True)
        return cls._of_sound(np.concatenate(group) for group in arrays)

    @classmethod
    def _of_sound(cls, arrays):
        """Without the checks, for parts of what has been checked."""
        penalty = object.__new__(cls)
        for name, array in zip(_FIELDS, arrays, strict=True):
            object.__setattr__(penalty, name, array)
        return penalty

    def extent(self):
        """``Extent`` of all variables."""
        return Extent.of(self)

    @property
    def is_kinked(self):
        """Variables whose slope changes inside their interval."""
        inside = (self.lower < self.kink) & (self.kink < self.upper)
        return inside & (self.slope_left < self.slope_right)

    @property
    def is_from_above(self):
        """Variables whose penalty is zero at zero by its piece above the kink."""
        return self.is_kinked & (self.kink < 0)

    def merged(self, copies):
        """Penalties of the sums of variables that have the same slopes, as ``copies`` say.

        What the best way of sharing a sum out costs (the infimal convolution).
        """
        lower, upper = (group_sums(copies, end) for end in (self.lower, self.upper))
        kink = lower
        if self.kink is not self.lower:
            kink = np.clip(group_sums(copies, self.kink), lower, upper)
        first = copies.first
        return Penalty(lower, kink, upper, self.slope_left[first], self.slope_right[first])

    def shared_out(self, together, copies):
        """The variables whose sums are ``together``; of each at most one is off a breakpoint."""
        whole, n = self.merged(copies), len(copies.first)
        is_above = together > whole.kink
        base = np.where(is_above, whole.kink, whole.lower)
        ends = (np.where(np.isfinite(end), np.abs(end), 0.0) for end in (whole.lower, whole.upper))
        near = _SHARED * np.maximum(np.abs(together), np.maximum(*ends))
        a, alone = np.empty(len(self)), np.bincount(copies.of, minlength=n) == 1
        code.share_out(
            self.lower, self.kink, self.upper, copies.of, is_above, together - base, near, a
        )
        return np.where(alone[copies.of], together[copies.of], a)

    def fits_into(self, narrower, a):
        """Mask of the variables that lie on the same piece of penalties with the same slopes."""
        is_below = (a < self.kink) & (a <= narrower.kink)
        is_above = (a > self.kink) & (a >= narrower.kink) & (a <= narrower.upper)
        return is_below | is_above

    def rounded(self, a, rtol=1e-12):
        """``a`` within the intervals, on the breakpoints that it nearly reaches.

        Nearly is relative to the interval, or to the largest variable where that is infinite.
        """
        width = self.upper - self.lower
        near = rtol * np.where(np.isfinite(width), width, np.abs(a).max(initial=0.0))
        return np.clip(self.snapped(a, near), self.lower, self.upper)

    def survey(self, a, gradient, size=0.0, rates=None):
        """The ``Totals`` at a point ``a`` with its ``gradient`` Q a.

        ``size`` is the diagonal of the kernel. ``rates``, of shape (2, n), receives the gradient
        plus the slopes to the right and to the left.
        """
        n = len(self.lower)
        rates = np.empty((2, n)) if rates is None else rates
        values = np.empty(code.N_TOTALS)
        state = self._state(a, gradient)
        code.survey(self.pieces, repeated(size, n), *state, rates, values)
        return Totals.of(values)

    def _state(self, *arrays):
        """Numbers of all variables for compiled code, which checks no lengths."""
        if any(array.shape != self.lower.shape for array in arrays):
            shapes = [array.shape for array in arrays]
            raise ValueError(f"arrays of shape {shapes} for {len(self)} variables.")
        return map(_plain, arrays)

    def gap(self, a, gradient, ridge, multiplier, implied):
        """``sum h_i(a_i) - min h_i``, see ``DualProblem.duality_gap``.

        ``implied`` is what the equality says of infinite ends, see ``Extent.implied``.
        """
        ridge = repeated(ridge, len(self.lower))
        numbers = map(float, (multiplier, *implied))
        return float(code.gap(self.pieces, ridge, *self._state(a, gradient), *numbers))

    def settle(self, a, smooth, ridge, multiplier, held):
        """Set variables to their optimum for a fixed multiplier, in place; ``sum a``.

        a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``, unless it is
        held, or that would be infinite.
        """
        return float(code.settle(self.pieces, ridge, float(multiplier), smooth, held, a))

    def cleaned(self, a, total, diagonal, rtol=1e-12):
        """``a`` without rounding: on the breakpoints it nearly reaches, with the right sum.

        What the sum lacks, if that is more than its own rounding, goes to the variable
        between breakpoints that changes the gradient least, by the ``diagonal`` of Q.
        """
        a = self.snapped(a, rtol * float(np.abs(a).max(initial=0.0)))
        missing = total - float(a.sum())
        if missing and abs(missing) > 1e-15 * float(np.abs(a).sum()):
            able = self.absorbs(a, missing)
            if able.any():
                i = int(np.argmin(np.where(able, diagonal, np.inf)))
                below, above = self.neighbours(a)
                a[i] = np.clip(a[i] + missing, below[i], above[i])
        return a

    def multiplier(self, a, gradient):
        """Multiplier of the equality, see ``Totals.multiplier``."""
        return self.survey(a, gradient).multiplier

    def clipped(self, a):
        """``a`` within the intervals."""
        return np.clip(a, self.lower, self.upper)

    def filled(self, a, amount):
        """``a`` moved by ``amount`` in all, one variable after the other, each to its end."""
        ends = self.upper if amount > 0 else self.lower
        reached = np.cumsum(np.abs(ends - a))
        # A room filled to the last bit but one by rounding counts as full.
        n = int(np.searchsorted(reached, abs(amount) * (1.0 + 1e-12), side="right"))
        filled = np.append(ends[:n], a[n:])
        left = abs(amount) - (float(reached[n - 1]) if n else 0.0)
        if n < len(a) and left > 1e-12 * abs(amount):
            filled[n] += math.copysign(left, amount)
        return filled

    def scaled(self, breakpoints, slopes):
        """The penalty with all breakpoints, and all slopes, times a number > 0."""
        lower, left = self.lower * breakpoints, self.slope_left * slopes
        kink = lower if self.kink is self.lower else self.kink * breakpoints
        right = left if self.slope_right is self.slope_left else self.slope_right * slopes
        return self._of_sound((lower, kink, self.upper * breakpoints, left, right))


@dataclass(frozen=True)
class RowPenalties:
    """Penalties of some rows in the units of problem (P).

    ``penalty`` holds intervals, kinks and slopes, ``ridge`` what is added to the kernel's diagonal
    in Q (>= 0). Rows marked ``symmetric`` have the loss ``cost * max(0, 1 - |f|)`` of unlabelled
    rows, convex on either side of f = 0; the penalty (for the sign +1) is mirrored when f changes
    sign.
    """

    penalty: Penalty
    symmetric: np.ndarray
    ridge: np.ndarray

    @classmethod
    def convex(cls, penalty, ridge=0.0):
        """Rows with a convex penalty."""
        check_costs(penalty)
        n = len(penalty)
        ridge = np.ascontiguousarray(np.broadcast_to(ridge, n), dtype=float)
        return cls(penalty, np.zeros(n, bool), ridge)

    @classmethod
    def labelled(cls, y, C):
        """Rows of a support vector machine: hinge loss at the cost ``C``, labels +-1."""
        return cls.semi_supervised(y, C)

    @classmethod
    def unlabelled(cls, C_star, n):
        """``n`` unlabelled rows of a semi-supervised model at the cost ``C_star``."""
        return cls.semi_supervised(np.zeros(n), C_star)

    @classmethod
    def semi_supervised(cls, label, cost):
        """Rows with the hinge loss where ``label`` is +-1, and the symmetric one where it is 0."""
        label = np.asarray(label, dtype=float)
        symmetric = label == 0.0
        side = np.where(symmetric, 1.0, label)
        penalty = Penalty.hinge(side, cost)
        check_costs(penalty)
        return cls(penalty, symmetric, np.zeros(len(label)))

    def __len__(self):
        return len(self.symmetric)

    def take(self, indices):
        """The rows ``indices``."""
        return RowPenalties(
            self.penalty.take(indices), self.symmetric[indices], self.ridge[indices]
        )


def group_sums(copies, values):
    """Sums of values over rows that are equal."""
    totals = np.zeros(len(copies.first))
    code.group_sums(copies.of, _plain(values), totals)
    return totals


def check_costs(penalty, kernel_value=np.inf, reach=np.inf):
    """Refuse what grows with costs and weights where steps could not square it.

    Those are breakpoints (of sizes that sum to no more than ``reach`` where they are finite), and
    slopes next to the largest kernel value (inf: not looked at).
    """
    largest = reach
    if not reach <= _LARGEST:
        largest = max(_largest_finite(penalty.lower), _largest_finite(penalty.upper))
    slope = float(np.abs(penalty.slope_right).max(initial=0.0))
    largest = max(largest, slope / max(1.0, kernel_value))
    if not largest <= _LARGEST:  # also refuses NaN
        raise ValueError(
            f"costs times weights reach {largest:.3g}, which double precision can't resolve; "
            "pass a smaller C or C_star, a larger lam, or smaller sample weights."
        )


def _largest_finite(ends):
    size = float(np.abs(ends).max(initial=0.0))
    return size if size < np.inf else float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))


def _is_plain(array):
    """Whether compiled code takes an array as it is."""
    return type(array) is np.ndarray and array.dtype == np.float64 and array.flags.carray


def _plain(array):
    """The array in the one form that compiled code takes, so that it is compiled once."""
    return array if _is_plain(array) else np.require(array, float, "CW")


def repeated(value, n):
    """``n`` numbers: an array of them as it is, or a number that many times."""
    if isinstance(value, float):
        return np.full(n, value)
    if _is_plain(value) and value.shape == (n,):
        return value
    return np.array(np.broadcast_to(value, n), dtype=float, order="C")
