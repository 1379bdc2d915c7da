"""Sums and extremes: all that a certificate needs of many variables.

Each is a few numbers that can be had of variables in several places and put together. Sums are
compensated, and added exactly, so that the number of places does not matter beyond rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .._typing import FloatArray

if TYPE_CHECKING:
    from .piecewise import PiecewiseLinear

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
