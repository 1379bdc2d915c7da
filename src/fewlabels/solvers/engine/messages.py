"""What engine and rows say to each other: plain numbers, arrays of a working set's size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray
from ...kernels.operators import Columns
from ...problem import Extent, Penalty, Totals
from ...problem.penalty import combine_parts


class Accuracy(NamedTuple):
    """Kernel values as the rows evaluate them now."""

    error: float  # rounding error of K_ij, relative to sqrt(K_ii K_jj)
    exact: bool  # whether they are float64
    cost: float  # rough cost of one, in multiply-adds; 0 where none are evaluated

    @classmethod
    def combined(cls, parts: Sequence[Accuracy]) -> Accuracy:
        """Combine what the parts answer."""
        return combine_parts(parts, error=max, exact=all, cost=max)


class Facts(NamedTuple):
    """Facts about a problem before it is solved."""

    n: int  # rows
    n_kept: int  # variables that stand for themselves in every sample
    extent: Extent  # how far the variables reach together
    largest: float  # max |K_ii|
    accuracy: Accuracy  # until it is refined

    @classmethod
    def combined(cls, parts: Sequence[Facts]) -> Facts:
        """Combine what the parts answer."""
        return combine_parts(
            parts,
            n=sum,
            n_kept=sum,
            extent=Extent.combined,
            largest=max,
            accuracy=Accuracy.combined,
        )


class RunState(NamedTuple):
    """State of a run: totals and counts."""

    totals: Totals  # of the variables: sums and extremes
    n_values: int  # kernel values evaluated so far

    @classmethod
    def combined(cls, parts: Sequence[RunState]) -> RunState:
        """Combine what the parts answer."""
        return combine_parts(parts, totals=Totals.combined, n_values=sum)


class Slack(NamedTuple):
    """How far variables can be moved at no more than some cost."""

    below: float  # room of the variables that cost less than the limit,
    up_to: float  # no more than it
    reached: float  # the highest cost up to the limit,
    following: float  # and the lowest beyond it

    @classmethod
    def combined(cls, parts: Sequence[Slack]) -> Slack:
        """Combine what the parts answer."""
        return combine_parts(parts, reached=max, following=min)


class Histogram(NamedTuple):
    """How numbers are spread over intervals, the first of which has no lower end."""

    weight: FloatArray | IntArray  # of the rows in each interval,
    rows: IntArray  # and how many
    least: float
    most: float

    @classmethod
    def from_numbers(cls, numbers: FloatArray, weight: FloatArray, edges: FloatArray) -> Histogram:
        """Of numbers of some weights."""
        place, size = np.searchsorted(edges, numbers, "right"), len(edges) + 1
        return cls(
            np.bincount(place, weight, size),
            np.bincount(place, minlength=size),
            float(numbers.min(initial=np.inf)),
            float(numbers.max(initial=-np.inf)),
        )

    @classmethod
    def combined(cls, parts: Sequence[Histogram]) -> Histogram:
        """Combine what the parts answer."""
        return combine_parts(parts, weight=sum, rows=sum, least=min, most=max)


class LowestRows(NamedTuple):
    """Rows with the lowest keys, lower numbers first among equals."""

    ids: IntArray
    keys: FloatArray

    @classmethod
    def from_keys(cls, keys: FloatArray, count: int, first: int = 0) -> LowestRows:
        """Return the lowest of many keys, of rows numbered from ``first``."""
        if len(keys) <= count:
            ids = np.arange(len(keys))
        else:
            last = np.partition(keys, count - 1)[count - 1]
            ids = np.flatnonzero(keys < last)
            ids = np.concatenate([ids, np.flatnonzero(keys == last)[: count - len(ids)]])
        return cls(ids + first, keys[ids])

    @classmethod
    def combined(cls, parts: Sequence[LowestRows], count: int) -> LowestRows:
        """Return the lowest among the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        ids, keys = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((ids, keys))[:count]
        return cls(ids[order], keys[order])


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Rows that were fetched, in ascending order."""

    ids: IntArray  # their numbers
    columns: Columns  # what their columns of K are evaluated from, here or at any row
    penalty: Penalty
    ridge: FloatArray  # what is added to the kernel's diagonal in Q,
    size: FloatArray  # and of the kernel
    a: FloatArray
    g: FloatArray  # gradient

    @classmethod
    def joined(cls, parts: Sequence[WorkingSet]) -> WorkingSet:
        """Return the rows of all parts, which follow each other."""
        if len(parts) == 1:
            return parts[0]
        names = ("ids", "ridge", "size", "a", "g")
        return cls(
            columns=Columns.joined([part.columns for part in parts]),
            penalty=Penalty.joined([part.penalty for part in parts]),
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        )

    def __len__(self) -> int:
        return len(self.ids)


class BlockUpdate(NamedTuple):
    """Variables of a working set that changed."""

    ids: IntArray  # rows of the working set,
    a: FloatArray  # their variables
    g: FloatArray  # and gradient from here on
    columns: Columns  # of those that moved,
    change: FloatArray  # and by how much
