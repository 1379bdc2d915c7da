"""Sums and extremes: all that a certificate needs of many variables.

Each is a few numbers that can be had of variables in several places and put together. Sums are
compensated, and added exactly, so that the number of places does not matter beyond rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import _penalty as code


@dataclass(frozen=True, eq=False)
class Totals:
    """What a point is worth: see ``Penalty.survey``.

    Attributes
    ----------
    values : ndarray of shape (13,)
        In the order of the compiled code.
    """

    values: np.ndarray

    @classmethod
    def combined(cls, parts):
        """Of the variables of all parts."""
        if len(parts) == 1:
            return parts[0]
        columns = np.stack([part.values for part in parts], axis=1)
        values = np.array([math.fsum(column) for column in columns])
        values[code.LOWEST_UP] = columns[code.LOWEST_UP].min()
        values[code.HIGHEST_DOWN] = columns[code.HIGHEST_DOWN].max()
        values[code.LARGEST] = columns[code.LARGEST].max()
        return cls(values)

    @property
    def lowest_up(self):
        """Lowest rate of change of the objective when a variable grows."""
        return float(self.values[code.LOWEST_UP])

    @property
    def highest_down(self):
        """Highest rate of change that a variable takes back when it shrinks."""
        return float(self.values[code.HIGHEST_DOWN])

    @property
    def violation(self):
        """``max(0, highest_down - lowest_up)``: zero where the point is optimal."""
        violation = self.highest_down - self.lowest_up
        # NaN in the gradient certifies nothing.
        return math.inf if math.isnan(violation) else max(0.0, violation)

    @property
    def multiplier(self):
        """Multiplier of the equality: what ``gradient + slope`` is between breakpoints.

        The mean over variables strictly between breakpoints, else the middle of the interval
        that optimality leaves, else 0.
        """
        if self.n_between:
            return float(self.values[code.BETWEEN] / self.values[code.N_BETWEEN])
        ends = [v for v in (self.lowest_up, self.highest_down) if math.isfinite(v)]
        return sum(ends) / len(ends) if ends else 0.0

    @property
    def objective(self):
        """``1/2 a' Q a + sum phi(a)``."""
        return float(0.5 * self.values[code.PRODUCT] + self.values[code.PENALTY])

    @property
    def sum(self):
        """``sum a``."""
        return float(self.values[code.SUM])

    @property
    def reach(self):
        """``sum |a|``."""
        return float(self.values[code.REACH])

    @property
    def largest(self):
        """``max |a|``."""
        return float(self.values[code.LARGEST])

    @property
    def spread(self):
        """``sqrt(sum |K_ii| a_i^2)``: what rounding of kernel values grows with."""
        return math.sqrt(self.values[code.SPREAD])

    @property
    def n_between(self):
        """Number of variables strictly between breakpoints."""
        return int(self.values[code.N_BETWEEN])

    @property
    def n_used(self):
        """Number of variables that are not zero."""
        return int(self.values[code.N_USED])

    def is_feasible(self, total, rtol=1e-9):
        """Whether all lie in their intervals and sum to ``total``, to rounding."""
        rounding = rtol * max(self.reach, abs(total))
        return not self.values[code.N_OUTSIDE] and abs(self.sum - total) <= rounding


@dataclass(frozen=True)
class Extent:
    """How far variables reach together: sums of finite ends, and how many are infinite.

    Attributes
    ----------
    lower, upper : float
        Sums of the finite ends of the intervals.
    lower_size, upper_size : float
        Sums of their absolute values.
    infinite_lower, infinite_upper : int
        Numbers of infinite ends.
    """

    lower: float
    upper: float
    lower_size: float
    upper_size: float
    infinite_lower: int = 0
    infinite_upper: int = 0

    @classmethod
    def of(cls, penalty):
        """Of all variables of a penalty."""
        sums, sizes, counts = [], [], []
        for end in (penalty.lower, penalty.upper):
            size = float(np.abs(end).sum())
            count = 0
            if size == math.inf:
                finite = np.isfinite(end)
                count = len(end) - int(finite.sum())
                end = end[finite]
                size = float(np.abs(end).sum())
            sums.append(float(end.sum()))
            sizes.append(size)
            counts.append(count)
        return cls(*sums, *sizes, *counts)

    @classmethod
    def combined(cls, parts):
        """Of the variables of all parts."""
        if len(parts) == 1:
            return parts[0]
        sums = [
            [getattr(part, name) for part in parts]
            for name in ("lower", "upper", "lower_size", "upper_size")
        ]
        return cls(
            *map(math.fsum, sums),
            sum(part.infinite_lower for part in parts),
            sum(part.infinite_upper for part in parts),
        )

    @property
    def lowest(self):
        """Lowest sum that the intervals allow."""
        return -math.inf if self.infinite_lower else self.lower

    @property
    def highest(self):
        """Highest sum that the intervals allow."""
        return math.inf if self.infinite_upper else self.upper

    def allows(self, total, rtol=1e-9):
        """Whether the variables can sum to ``total``, to rounding."""
        below = rtol * max(self.lower_size, abs(total))
        above = rtol * max(self.upper_size, abs(total))
        return math.isfinite(total) and self.lowest - below <= total <= self.highest + above

    def implied(self, total):
        """What ``sum a = total`` implies for ends that are infinite.

        Returns
        -------
        low, low_free, high, high_free : float
            A variable without a lower bound is at least ``low`` plus its upper bound, or at
            least ``low_free`` where it has none; likewise for ``high``.
        """
        low = -math.inf if self.infinite_upper else total - self.upper
        low_free = total - self.upper if self.infinite_upper == 1 else -math.inf
        high = math.inf if self.infinite_lower else total - self.lower
        high_free = total - self.lower if self.infinite_lower == 1 else math.inf
        return low, low_free, high, high_free
