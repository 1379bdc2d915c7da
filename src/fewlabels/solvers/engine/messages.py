"""What engine and rows say to each other: plain numbers, arrays of a working set's size."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...kernels.operators import Columns
from ...problem import Extent, Penalty, Totals
from ...problem.totals import merged


class Accuracy(NamedTuple):
    """Kernel values as the rows evaluate them now."""

    error: float  # rounding error of K_ij, relative to sqrt(K_ii K_jj)
    exact: bool  # whether they are float64
    cost: float  # rough cost of one, in multiply-adds; 0 where none are evaluated

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return merged(parts, error=max, exact=all, cost=max)


class Facts(NamedTuple):
    """What is known before a problem is solved."""

    n: int  # rows
    n_kept: int  # variables that stand for themselves in every sample
    extent: Extent  # how far the variables reach together
    largest: float  # max |K_ii|
    accuracy: Accuracy  # until it is refined

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        how = {"extent": Extent.combined, "largest": max, "accuracy": Accuracy.combined}
        return merged(parts, n=sum, n_kept=sum, **how)


class RunState(NamedTuple):
    """Where a run is."""

    totals: Totals  # of the variables: sums and extremes
    n_values: int  # kernel values evaluated so far

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return merged(parts, totals=Totals.combined, n_values=sum)


class Room(NamedTuple):
    """How far variables can be moved at no more than some cost."""

    below: float  # room of the variables that cost less than the limit,
    up_to: float  # no more than it
    reached: float  # the highest cost up to the limit,
    following: float  # and the lowest beyond it

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return merged(parts, reached=max, following=min)


class SpreadOf(NamedTuple):
    """How numbers are spread over intervals, the first of which has no lower end."""

    weight: np.ndarray  # of the rows in each interval,
    rows: np.ndarray  # and how many
    least: float
    most: float

    @classmethod
    def of(cls, numbers, weight, edges):
        """Of numbers of some weights."""
        place, size = np.searchsorted(edges, numbers, "right"), len(edges) + 1
        return cls(
            np.bincount(place, weight, size),
            np.bincount(place, minlength=size),
            float(numbers.min(initial=np.inf)),
            float(numbers.max(initial=-np.inf)),
        )

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return merged(parts, weight=sum, rows=sum, least=min, most=max)


class Ranked(NamedTuple):
    """Rows with the lowest keys, lower numbers first among equals."""

    ids: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, keys, count, first=0):
        """The lowest of many keys, of rows numbered from ``first``."""
        if len(keys) <= count:
            ids = np.arange(len(keys))
        else:
            last = np.partition(keys, count - 1)[count - 1]
            ids = np.flatnonzero(keys < last)
            ids = np.concatenate([ids, np.flatnonzero(keys == last)[: count - len(ids)]])
        return cls(ids + first, keys[ids])

    @classmethod
    def combined(cls, parts, count):
        """The lowest among the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        ids, keys = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((ids, keys))[:count]
        return cls(ids[order], keys[order])


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Rows that were fetched, in ascending order."""

    ids: np.ndarray  # their numbers
    columns: Columns  # what their columns of K are evaluated from, here or at any row
    penalty: Penalty
    ridge: np.ndarray  # what is added to the kernel's diagonal in Q,
    size: np.ndarray  # and of the kernel
    a: np.ndarray
    g: np.ndarray  # gradient

    @classmethod
    def joined(cls, parts):
        """The rows of all parts, which follow each other."""
        if len(parts) == 1:
            return parts[0]
        names = ("ids", "ridge", "size", "a", "g")
        return cls(
            columns=Columns.joined([part.columns for part in parts]),
            penalty=Penalty.joined([part.penalty for part in parts]),
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
        )

    def __len__(self):
        return len(self.ids)


class BlockUpdate(NamedTuple):
    """Variables of a working set that changed."""

    ids: np.ndarray  # rows of the working set,
    a: np.ndarray  # their variables
    g: np.ndarray  # and gradient from here on
    columns: Columns  # of those that moved,
    change: np.ndarray  # and by how much
