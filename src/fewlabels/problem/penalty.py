"""Separable convex piecewise-linear penalties, and the sums that a certificate needs of them.

``Totals`` and ``Extent`` are a few numbers that can be had of variables in several places and put
together. Sums are compensated, and added exactly, so that the number of places does not matter
beyond rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, TypeGuard, TypeVar

import numpy as np

from .._core import functions as core
from .._typing import AnyArray, BoolArray, FloatArray, IntArray, VectorLike
from ..kernels.rows import DuplicateRows

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


# Bounds that the equality implies: low, low_free, high, high_free.
ImpliedEnds: TypeAlias = tuple[float, float, float, float]

# A NamedTuple of numbers, or of such tuples.
T = TypeVar("T", bound=tuple[Any, ...])


def combine_parts(parts: Sequence[T], **how: Callable[[Sequence[Any]], object]) -> T:
    """Named numbers of several parts as numbers of all: added exactly, unless said how."""
    if len(parts) == 1:
        return parts[0]
    kind: Any = type(parts[0])
    columns = zip(kind._fields, zip(*parts, strict=True), strict=True)
    return kind(*(how.get(name, math.fsum)(values) for name, values in columns))


class Totals(NamedTuple):
    """Sums and extremes at a point (``Penalty.survey``), in the compiled code's order."""

    sum: float  # of a
    reach: float  # sum |a|
    product: float  # a' Q a
    penalty: float  # sum phi(a)
    squares: float  # sum |K_ii| a_i^2
    rates_between: float  # sum of gradient + slope over the variables between breakpoints
    lowest_up: float  # lowest rate of change of the objective when a variable grows
    highest_down: float  # highest one that a variable takes back when it shrinks
    largest: float  # max |a|
    n_between: int  # variables strictly between breakpoints,
    n_used: int  # that are not zero,
    n_outside: int  # outside of their intervals

    @classmethod
    def from_values(cls, values: FloatArray) -> Totals:
        """From what compiled code has filled in."""
        *numbers, n_between, n_used, n_outside = values.tolist()
        return cls._make([*numbers, int(n_between), int(n_used), int(n_outside)])

    @classmethod
    def combined(cls, parts: Sequence[Totals]) -> Totals:
        """Combine the totals of all parts."""
        counts = {"n_between": sum, "n_used": sum, "n_outside": sum}
        return combine_parts(
            parts, lowest_up=_min_or_nan, highest_down=_max_or_nan, largest=max, **counts
        )

    @property
    def violation(self) -> float:
        """``max(0, highest_down - lowest_up)``: zero where the point is optimal."""
        violation = self.highest_down - self.lowest_up
        # NaN in the gradient certifies nothing.
        return math.inf if math.isnan(violation) else max(0.0, violation)

    @property
    def level(self) -> float:
        """Size of the multiplier, between the two extremes; 0 where one is infinite."""
        level = 0.5 * abs(self.lowest_up + self.highest_down)
        return level if math.isfinite(level) else 0.0

    @property
    def multiplier(self) -> float:
        """Multiplier of the equality: what ``gradient + slope`` is between breakpoints.

        The mean over variables strictly between breakpoints, else the middle of the interval
        that optimality leaves, else 0.
        """
        if self.n_between:
            return self.rates_between / self.n_between
        ends = [v for v in (self.lowest_up, self.highest_down) if math.isfinite(v)]
        return math.fsum(ends) / len(ends) if ends else 0.0

    @property
    def objective(self) -> float:
        """``1/2 a' Q a + sum phi(a)``."""
        return 0.5 * self.product + self.penalty

    @property
    def rounding_scale(self) -> float:
        """``sqrt(sum |K_ii| a_i^2)``: what rounding of kernel values grows with."""
        return math.sqrt(self.squares)

    def compare_with_tolerance(
        self, tol: float, rtol: float, noise: float
    ) -> tuple[float, float, float]:
        """Return the violation, the tolerance, and the violation that counts as none.

        ``tol`` is in units of the gradient and ``rtol`` relative to the multiplier; the larger
        one counts. ``noise`` is the rounding in the gradient.
        """
        level = self.level
        return self.violation, max(tol, rtol * level), max(core.EXACT * level, 4.0 * noise)

    def is_feasible(self, total: float, rtol: float = 1e-9) -> bool:
        """Return whether all lie in their intervals and sum to ``total``, to rounding."""
        rounding = rtol * max(self.reach, abs(total))
        return not self.n_outside and abs(self.sum - total) <= rounding


def _min_or_nan(values: Sequence[float]) -> float:
    return float(np.min(values))  # a NaN stays


def _max_or_nan(values: Sequence[float]) -> float:
    return float(np.max(values))


class Extent(NamedTuple):
    """How far variables reach together: sums of finite ends, and how many are infinite."""

    lower: float
    upper: float
    lower_size: float  # sums of absolute values
    upper_size: float
    infinite_lower: int = 0
    infinite_upper: int = 0

    @classmethod
    def from_penalty(cls, penalty: PiecewiseLinear) -> Extent:
        """Of all variables of a penalty."""
        sums: list[float] = []
        sizes: list[float] = []
        counts: list[int] = []
        for end in (penalty.lower, penalty.upper):
            size, count = float(np.abs(end).sum()), 0
            if size == math.inf:
                finite = np.isfinite(end)
                count = len(end) - int(finite.sum())
                end = end[finite]
                size = float(np.abs(end).sum())
            sums.append(float(end.sum()))
            sizes.append(size)
            counts.append(count)
        return cls._make([*sums, *sizes, *counts])

    @classmethod
    def combined(cls, parts: Sequence[Extent]) -> Extent:
        """Combine the totals of all parts."""
        return combine_parts(parts, infinite_lower=sum, infinite_upper=sum)

    @property
    def lowest(self) -> float:
        """Lowest sum that the intervals allow."""
        return -math.inf if self.infinite_lower else self.lower

    @property
    def highest(self) -> float:
        """Highest sum that the intervals allow."""
        return math.inf if self.infinite_upper else self.upper

    def allows(self, total: float, rtol: float = 1e-9) -> bool:
        """Return whether the variables can sum to ``total``, to rounding."""
        below = rtol * max(self.lower_size, abs(total))
        above = rtol * max(self.upper_size, abs(total))
        return math.isfinite(total) and self.lowest - below <= total <= self.highest + above

    def check(self, total: float) -> None:
        """Refuse a sum that the variables cannot have."""
        if not self.allows(total):
            raise ValueError(
                f"the problem is infeasible: the variables can sum to [{self.lowest:g}, "
                f"{self.highest:g}], but must sum to {total:g}."
            )

    def implied(self, total: float) -> ImpliedEnds:
        """Return low, low_free, high, high_free: ends that ``sum a = total`` implies if infinite.

        A variable without a lower bound is at least ``low`` plus its upper bound, or at least
        ``low_free`` where it has none; likewise for ``high``.
        """
        low = -math.inf if self.infinite_upper else total - self.upper
        low_free = total - self.upper if self.infinite_upper == 1 else -math.inf
        high = math.inf if self.infinite_lower else total - self.lower
        high_free = total - self.lower if self.infinite_lower == 1 else math.inf
        return low, low_free, high, high_free


# Shares of equal rows that are this near to a breakpoint, relative to all of them, are on it.
_ON_BREAKPOINT = 1e-14

# Of breakpoints and slopes.
_LARGEST = 1e40


@dataclass(frozen=True, eq=False)
class Penalty(PiecewiseLinear):
    """``phi_i(a)``, piecewise linear on an interval.

    The slope is ``slopes[k][i]`` between ``ends[k][i]`` and ``ends[k + 1][i]``. The constant is
    chosen so that the piece around zero, extended, passes through ``phi_i(0) = 0``; a penalty
    without a kink is plainly ``slope_i a``. A linear term of the objective belongs in all
    slopes. Where a variable has fewer kinks than others, pieces of no length take their place.

    Attributes
    ----------
    ends : tuple of ndarrays of shape (n,)
        Lower ends of the intervals, kinks in ascending order, and upper ends. Lower and upper
        ends may be infinite.
    slopes : tuple of ndarrays of shape (n,)
        Slopes between them, in ascending order.
    """

    ends: tuple[FloatArray, ...]
    slopes: tuple[FloatArray, ...]

    @classmethod
    def from_arrays(cls, arrays: Sequence[FloatArray] | FloatArray) -> Penalty:
        """From all ends, and then all slopes."""
        n_ends = len(arrays) // 2 + 1
        return cls(tuple(arrays[:n_ends]), tuple(arrays[n_ends:]))

    @classmethod
    def from_pieces(
        cls, ends: Sequence[float | FloatArray], slopes: Sequence[float | FloatArray], n: int
    ) -> Penalty:
        """Return a penalty from ends and slopes of which scalars are repeated ``n`` times."""
        return cls(*(tuple(as_vector(v, n) for v in values) for values in (ends, slopes)))

    @classmethod
    def linear(
        cls,
        lower: float | FloatArray,
        upper: float | FloatArray,
        slope: float | FloatArray,
        n: int,
    ) -> Penalty:
        """Return a penalty without kinks; scalars are repeated ``n`` times."""
        return cls.from_pieces((lower, upper), (slope,), n)

    @classmethod
    def kinked(
        cls,
        lower: float | FloatArray,
        kink: float | FloatArray,
        upper: float | FloatArray,
        slope_left: float | FloatArray,
        slope_right: float | FloatArray,
        n: int,
    ) -> Penalty:
        """Return a penalty with one kink; scalars are repeated ``n`` times."""
        return cls.from_pieces((lower, kink, upper), (slope_left, slope_right), n)

    @classmethod
    def hinge(cls, side: FloatArray, cost: FloatArray | float) -> Penalty:
        """Duals of the hinge losses ``cost max(0, 1 - side f)``; no loss where ``side`` is 0."""
        end = np.asarray(side * cost, dtype=float)
        return cls((np.minimum(end, 0.0), np.maximum(end, 0.0)), (-side,))

    def __post_init__(self) -> None:
        if not all(map(_is_contiguous, self.arrays())):
            for name in ("ends", "slopes"):
                object.__setattr__(self, name, tuple(map(_to_contiguous, getattr(self, name))))
        if not all((low <= high).all() for low, high in pairwise(self.ends)):
            raise ValueError("a penalty needs lower <= kinks <= upper for every variable.")
        for kink, (low, high) in zip(self.kinks, pairwise(self.slopes), strict=True):
            if not (low <= high)[kink > self.lower].all():
                raise ValueError("the slopes of a penalty may not decrease: it must be convex.")

    def __len__(self) -> int:
        return len(self.lower)

    def __getstate__(self) -> dict[str, tuple[FloatArray, ...]]:
        return {"ends": self.ends, "slopes": self.slopes}  # without addresses

    @cached_property
    def extent(self) -> Extent:
        """``Extent`` of all variables."""
        return Extent.from_penalty(self)

    def take(self, indices: Indices) -> Penalty:
        """Return the penalties of the variables ``indices``."""
        both = self.ends, self.slopes
        return self._unchecked(*(tuple(array[indices] for array in arrays) for arrays in both))

    def scaled(self, breakpoints: float | FloatArray, slopes: float) -> Penalty:
        """Return the penalty with all breakpoints, and all slopes, times a number > 0."""
        ends = tuple(end * breakpoints for end in self.ends)
        return self._unchecked(ends, tuple(slope * slopes for slope in self.slopes))

    def gap(
        self,
        a: FloatArray,
        gradient: FloatArray,
        ridge: FloatArray | float,
        multiplier: float,
        implied: ImpliedEnds,
    ) -> float:
        """``sum h_i(a_i) - min h_i``, see ``DualProblem.duality_gap``.

        ``implied`` is what the equality says of infinite ends, see ``Extent.implied``.
        """
        ridge = as_vector(ridge, len(self.lower))
        a, gradient = self._check_lengths(a, gradient)
        return float(core.gap(self.pieces, ridge, a, gradient, float(multiplier), implied))

    def set_to_minimiser(
        self,
        a: FloatArray,
        smooth: FloatArray,
        ridge: FloatArray,
        multiplier: float,
        held: BoolArray,
    ) -> float:
        """Set variables to their optimum for a fixed multiplier, in place; ``sum a``.

        a_i minimises ``phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2``, unless it is
        held, or that would be infinite.
        """
        return float(core.set_to_minimiser(self.pieces, ridge, float(multiplier), smooth, held, a))

    def clipped(self, a: FloatArray) -> FloatArray:
        """``a`` within the intervals."""
        return np.clip(a, self.lower, self.upper)

    def filled(self, a: FloatArray, amount: float) -> FloatArray:
        """``a`` moved by ``amount`` in all, one variable after the other, each to its end."""
        ends = self.upper if amount > 0 else self.lower
        reached = np.abs(ends - a).cumsum()
        # A room filled to the last bit but one by rounding counts as full.
        n = int(reached.searchsorted(abs(amount) * (1.0 + 1e-12), side="right"))
        filled = np.concatenate([ends[:n], a[n:]])
        left = abs(amount) - (float(reached[n - 1]) if n else 0.0)
        if n < len(a) and left > 1e-12 * abs(amount):
            filled[n] += math.copysign(left, amount)
        return filled

    def check(self, total: float, kernel_value: float) -> Extent:
        """Return the extent; refuse a ``total`` out of its reach, and what ``check_costs`` does.

        ``kernel_value`` is the largest one.
        """
        extent = self.extent
        check_costs(self, kernel_value, max(extent.lower_size, extent.upper_size))
        extent.check(total)
        return extent

    @cached_property
    def pieces(self) -> core.Pieces:
        """The arrays as compiled code takes them."""
        return core.Pieces(self.padded(core.N_KINKS).arrays())

    def padded(self, n_kinks: int) -> Penalty:
        """Return equal penalties with so many kinks: pieces of no length at the lower ends."""
        missing = n_kinks + 2 - len(self.ends)
        if missing < 0:
            raise ValueError(
                f"the penalty has {len(self.kinks)} kinks, but no more than {n_kinks} fit here; "
                "raise FL_N_KINKS in fewlabels.h and compile the core again."
            )
        if not missing:
            return self
        ends, slopes = self.ends, self.slopes
        return self._unchecked(missing * ends[:1] + ends, missing * slopes[:1] + slopes)

    @classmethod
    def joined(cls, parts: Sequence[Penalty]) -> Penalty:
        """Return the penalties of several groups of variables, one after the other."""
        most = max(len(part.kinks) for part in parts)
        parts = [part.padded(most) for part in parts]
        groups = zip(*((part.ends, part.slopes) for part in parts), strict=True)
        return cls._unchecked(*(tuple(map(np.concatenate, zip(*g, strict=True))) for g in groups))

    @property
    def is_linear(self) -> bool:
        """Return whether no variable has a kink."""
        return all((slope == self.slopes[0]).all() for slope in self.slopes[1:])

    def iterate_kinks(self) -> Iterator[tuple[FloatArray, BoolArray, FloatArray]]:
        """Every kink in turn, a mask of the variables that have it, and the rise of the slope."""
        for kink, (low, high) in zip(self.kinks, pairwise(self.slopes), strict=True):
            yield kink, (self.lower < kink) & (kink < self.upper) & (low < high), high - low

    def zero_where(self, mask: BoolArray) -> Penalty:
        """Return these penalties, with intervals of nothing but zero where ``mask`` is true."""
        ends = tuple(np.where(mask, 0.0, end) for end in self.ends)
        return self._unchecked(ends, self.slopes)

    def merge_equal_rows(self, copies: DuplicateRows) -> Penalty:
        """Return penalties of the sums of variables that have the same slopes, as ``copies`` say.

        What the best way of sharing a sum out costs (the infimal convolution).
        """
        lower, upper = (group_sums(copies, end) for end in (self.lower, self.upper))
        ends = [lower]
        for kink in self.kinks:
            ends.append(np.clip(group_sums(copies, kink), ends[-1], upper))
        return Penalty((*ends, upper), tuple(slope[copies.first] for slope in self.slopes))

    def share_out(self, together: FloatArray, copies: DuplicateRows) -> FloatArray:
        """Return the variables whose sums are ``together``.

        Of each at most one is off a breakpoint.
        """
        whole, n = self.merge_equal_rows(copies), len(copies.first)
        (low, high), base = self.ends[:2], whole.lower
        for kink, (start, stop) in zip(whole.kinks, pairwise(self.ends[1:]), strict=True):
            is_above = together > kink
            base, of_row = np.where(is_above, kink, base), is_above[copies.of]
            low, high = np.where(of_row, start, low), np.where(of_row, stop, high)
        ends = (np.where(np.isfinite(end), np.abs(end), 0.0) for end in (whole.lower, whole.upper))
        near = _ON_BREAKPOINT * np.maximum(np.abs(together), np.maximum(*ends))
        a, alone = np.empty(len(self)), np.bincount(copies.of, minlength=n) == 1
        core.share_out(low, high, copies.of, together - base, near, a)
        return np.where(alone[copies.of], together[copies.of], a)

    def fits_into(self, narrower: Penalty, a: FloatArray) -> BoolArray:
        """Mask of the variables that lie on the same piece of penalties with the same slopes."""
        most = max(len(self.kinks), len(narrower.kinks))
        wide, narrow = (pairwise(p.padded(most).ends) for p in (self, narrower))
        fits = np.zeros(len(a), bool)
        for (low, high), (least, greatest) in zip(wide, narrow, strict=True):
            inside = (a > low) & ((a < high) | (high is self.upper))
            fits |= inside & (least <= a) & (a <= greatest)
        return fits

    def rounded(self, a: FloatArray, rtol: float = 1e-12) -> FloatArray:
        """``a`` within the intervals, on the breakpoints that it nearly reaches.

        Nearly is relative to the interval, or to the largest variable where that is infinite.
        """
        width = self.upper - self.lower
        near = rtol * np.where(np.isfinite(width), width, np.abs(a).max(initial=0.0))
        return np.clip(self.round_to_breakpoints(a, near), self.lower, self.upper)

    def survey(
        self,
        a: FloatArray,
        gradient: FloatArray,
        size: FloatArray | float = 0.0,
        rates: FloatArray | None = None,
    ) -> Totals:
        """Return the ``Totals`` at a point ``a`` with its ``gradient`` Q a.

        ``size`` is the diagonal of the kernel. ``rates``, of shape (2, n), receives the gradient
        plus the slopes to the right and to the left.
        """
        n = len(self.ends[0])
        rates = np.empty((2, n)) if rates is None else rates
        values = np.empty(core.N_TOTALS)
        a, gradient = self._check_lengths(a, gradient)
        core.survey(self.pieces, as_vector(size, n), a, gradient, rates, values)
        return Totals.from_values(values)

    def remove_rounding(
        self, a: FloatArray, total: float, diagonal: FloatArray, rtol: float = 1e-12
    ) -> FloatArray:
        """``a`` without rounding: on the breakpoints it nearly reaches, with the right sum.

        What the sum lacks, if that is more than its own rounding, goes to the variable
        between breakpoints that changes the gradient least, by the ``diagonal`` of Q.
        """
        a = self.round_to_breakpoints(a, rtol * float(np.abs(a).max(initial=0.0)))
        missing = total - float(a.sum())
        if missing and abs(missing) > 1e-15 * float(np.abs(a).sum()):
            able = self.can_absorb(a, missing)
            if able.any():
                i = int(np.argmin(np.where(able, diagonal, np.inf)))
                below, above = self.neighbours(a)
                a[i] = np.clip(a[i] + missing, below[i], above[i])
        return a

    def multiplier(self, a: FloatArray, gradient: FloatArray) -> float:
        """Return the multiplier of the equality, see ``Totals.multiplier``."""
        return self.survey(a, gradient).multiplier

    @classmethod
    def _unchecked(cls, ends: tuple[FloatArray, ...], slopes: tuple[FloatArray, ...]) -> Penalty:
        """Without the checks, for parts of what has been checked."""
        penalty = object.__new__(cls)
        object.__setattr__(penalty, "ends", ends)
        object.__setattr__(penalty, "slopes", slopes)
        return penalty

    def _check_lengths(self, *arrays: FloatArray) -> Iterator[FloatArray]:
        """Yield numbers of all variables for compiled code, which checks no lengths."""
        shape = self.ends[0].shape
        for array in arrays:
            if array.shape != shape:
                raise ValueError(f"an array of shape {array.shape} for {len(self)} variables.")
        return map(_to_contiguous, arrays)


@dataclass(frozen=True)
class RowPenalties:
    """Penalties of some rows in the units of problem (P).

    ``penalty`` holds intervals, kinks and slopes, ``ridge`` what is added to the kernel's diagonal
    in Q (>= 0). Rows marked ``symmetric`` have the loss ``cost * max(0, 1 - |f|)`` of unlabelled
    rows, convex on either side of f = 0; the penalty (for the sign +1) is mirrored when f changes
    sign.
    """

    penalty: Penalty
    symmetric: BoolArray
    ridge: FloatArray

    @classmethod
    def convex(cls, penalty: Penalty, ridge: FloatArray | float = 0.0) -> RowPenalties:
        """Return rows with a convex penalty."""
        check_costs(penalty)
        n = len(penalty)
        ridge = np.ascontiguousarray(np.broadcast_to(ridge, n), dtype=float)
        return cls(penalty, np.zeros(n, bool), ridge)

    @classmethod
    def labelled(cls, y: FloatArray, C: float | FloatArray) -> RowPenalties:
        """Return rows of a support vector machine: hinge loss at the cost ``C``, labels +-1."""
        return cls.semi_supervised(y, C)

    @classmethod
    def unlabelled(cls, C_star: float | FloatArray, n: int) -> RowPenalties:
        """``n`` unlabelled rows of a semi-supervised model at the cost ``C_star``."""
        return cls.semi_supervised(np.zeros(n), C_star)

    @classmethod
    def semi_supervised(cls, label: VectorLike, cost: float | FloatArray) -> RowPenalties:
        """Rows with the hinge loss where ``label`` is +-1, and the symmetric one where it is 0."""
        label = np.asarray(label, dtype=float)
        symmetric = label == 0.0
        side = np.where(symmetric, 1.0, label)
        penalty = Penalty.hinge(side, cost)
        check_costs(penalty)
        return cls(penalty, symmetric, np.zeros(len(label)))

    def __len__(self) -> int:
        return len(self.symmetric)

    def take(self, indices: Indices) -> RowPenalties:
        """Return the rows ``indices``."""
        return RowPenalties(
            self.penalty.take(indices), self.symmetric[indices], self.ridge[indices]
        )


def group_sums(copies: DuplicateRows, values: FloatArray) -> FloatArray:
    """Return sums of values over rows that are equal."""
    totals = np.zeros(len(copies.first))
    core.group_sums(copies.of, _to_contiguous(values), totals)
    return totals


def check_costs(penalty: Penalty, kernel_value: float = np.inf, reach: float = np.inf) -> None:
    """Refuse what grows with costs and weights where steps could not square it.

    Those are breakpoints (of sizes that sum to no more than ``reach`` where they are finite), and
    slopes next to the largest kernel value (inf: not looked at).
    """
    largest = reach
    if not reach <= _LARGEST:
        largest = max(_largest_finite(penalty.lower), _largest_finite(penalty.upper))
    slope = float(np.abs(penalty.slopes[-1]).max(initial=0.0))
    largest = max(largest, slope / max(1.0, kernel_value))
    if not largest <= _LARGEST:  # also refuses NaN
        raise ValueError(
            f"costs times weights reach {largest:.3g}, which double precision can't resolve; "
            "pass a smaller C or C_star, a larger lam, or smaller sample weights."
        )


def _largest_finite(ends: FloatArray) -> float:
    size = float(np.abs(ends).max(initial=0.0))
    return size if size < np.inf else float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))


def _is_contiguous(array: AnyArray | float) -> TypeGuard[FloatArray]:
    """Return whether compiled code takes an array as it is."""
    return type(array) is np.ndarray and array.dtype == np.float64 and array.flags.carray


def _to_contiguous(array: AnyArray) -> FloatArray:
    """Return the array in the one form that compiled code takes, so that it is compiled once."""
    return array if _is_contiguous(array) else np.require(array, float, ["C", "W"])


def as_vector(value: float | FloatArray, n: int) -> FloatArray:
    """``n`` numbers: an array of them as it is, or a number that many times."""
    if isinstance(value, float):
        numbers = np.empty(n)
        numbers.fill(value)
        return numbers
    if _is_contiguous(value) and value.shape == (n,):
        return value
    return np.array(np.broadcast_to(value, n), dtype=float, order="C")
