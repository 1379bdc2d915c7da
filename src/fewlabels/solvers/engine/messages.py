"""What engine and rows say to each other: plain numbers, arrays of a working set's size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...gram import Columns
from ...problem import Extent, Penalty


@dataclass(frozen=True, eq=False)
class Facts:
    """What does not change while a problem is solved.

    Attributes
    ----------
    n : int
        Number of rows.
    n_free : int
        Variables with neither a lower nor an upper bound.
    extent : Extent
        How far the variables reach together.
    largest : float
        Largest ``|K_ii|``.
    """

    n: int
    n_free: int
    extent: Extent
    largest: float

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            sum(part.n for part in parts),
            sum(part.n_free for part in parts),
            Extent.combined([part.extent for part in parts]),
            max(part.largest for part in parts),
        )


@dataclass(frozen=True)
class Accuracy:
    """Kernel values as the rows evaluate them now.

    Attributes
    ----------
    error : float
        Rounding error of a kernel value K_ij, relative to ``sqrt(K_ii K_jj)``.
    exact : bool
        Whether they are float64.
    cost : float
        Rough cost of one, in multiply-adds; 0 where none are evaluated.
    """

    error: float
    exact: bool
    cost: float

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            max(part.error for part in parts),
            all(part.exact for part in parts),
            max(part.cost for part in parts),
        )


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows with the lowest keys, those of lower number first among equals.

    Attributes
    ----------
    ids : ndarray of int
        Their numbers.
    keys : ndarray of float
        What they are ranked by.
    """

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
        ids = np.concatenate([part.ids for part in parts])
        keys = np.concatenate([part.keys for part in parts])
        order = np.lexsort((ids, keys))[:count]
        return cls(ids[order], keys[order])


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Rows that were fetched, in ascending order.

    Attributes
    ----------
    ids : ndarray of int of shape (q,)
        Their numbers.
    columns : Columns
        What their columns of K are evaluated from, here or at any row.
    penalty : Penalty
        Their penalties.
    ridge, size : ndarray of shape (q,)
        Diagonals of Q besides that of the kernel, and of the kernel.
    a, g : ndarray of shape (q,)
        Their variables and gradient.
    """

    ids: np.ndarray
    columns: Columns
    penalty: Penalty
    ridge: np.ndarray
    size: np.ndarray
    a: np.ndarray
    g: np.ndarray

    @classmethod
    def joined(cls, parts):
        """The rows of all parts, which follow each other."""
        if len(parts) == 1:
            return parts[0]
        arrays = [
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("ridge", "size", "a", "g")
        ]
        return cls(
            np.concatenate([part.ids for part in parts]),
            Columns.joined([part.columns for part in parts]),
            Penalty.joined([part.penalty for part in parts]),
            *arrays,
        )

    def __len__(self):
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Update:
    """Variables of a working set that changed.

    Attributes
    ----------
    ids : ndarray of int of shape (q,)
        Rows of the working set.
    a, g : ndarray of shape (q,)
        Their variables and gradient from here on.
    columns : Columns
        Of those that moved.
    change : ndarray of shape (len(columns),)
        By how much these moved.
    """

    ids: np.ndarray
    a: np.ndarray
    g: np.ndarray
    columns: Columns
    change: np.ndarray


@dataclass(frozen=True)
class Room:
    """How far variables can be moved at no more than some cost.

    Attributes
    ----------
    below, up_to : float
        Room of the variables that cost less than the limit; no more than it.
    reached, following : float
        The highest cost up to the limit, and the lowest beyond it.
    """

    below: float
    up_to: float
    reached: float
    following: float

    @classmethod
    def combined(cls, parts):
        """Of the rows of all parts."""
        return cls(
            math.fsum(part.below for part in parts),
            math.fsum(part.up_to for part in parts),
            max(part.reached for part in parts),
            min(part.following for part in parts),
        )
