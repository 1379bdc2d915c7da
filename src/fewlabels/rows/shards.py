"""Rows in shards, each of which answers questions about its own."""

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from ..gram import PieceGram
from ..kernels.base import LARGEST


class Shard(ABC):
    """Consecutive rows, the first of which has the number ``first``.

    ``weight`` are their weights, or None where all are 1; ``marks`` arrays of as many entries.
    """

    def __init__(self, n, first=0, weight=None, **marks):
        self.n, self.first, self.weight, self.marks = n, first, weight, marks

    @abstractmethod
    def pieces(self):
        """All rows, as (slice, rows) one after the other."""

    @abstractmethod
    def take(self, places):
        """The rows at ascending places, counted from the shard's first row."""

    def gram(self, spec):
        """K at the rows, made as a ``ProblemSpec`` says."""
        kernel = spec.kernel
        known = np.ones(self.n) if kernel.is_similarity else None
        return PieceGram(self, spec.gram, spec.refined().gram, known)

    def moments(self):
        """``Moments`` of a shard that knows better than to hand out its rows; else None."""
        return None

    def farthest(self, center):
        """The same of the largest squared norm of a row."""
        return None

    def number(self, row):
        """The number that a user knows a row by."""
        return self.first + row

    def own(self, ids):
        """Places of the rows that are here among some numbers in ascending order."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return ids[low:high] - self.first


class MemoryShard(Shard):
    """Rows ``X`` in memory, checked: float32 or float64, dense or CSR."""

    def __init__(self, X, first=0, weight=None, **marks):
        super().__init__(X.shape[0], first, weight, **marks)
        self.X = X

    def pieces(self):
        return [(slice(0, self.n), self.X)]

    def take(self, places):
        return self.X[places]

    def gram(self, spec):
        return spec.gram(self.X)


def sampled(n, size, seed=0):
    """Numbers of so many of n rows at random, ascending."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


class Taken:
    """The question for the rows ``ids`` that are in a shard."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, shard):
        return shard.take(shard.own(self.ids))


def weights_of(shard):
    """The question for the weights of the rows of a shard."""
    return np.ones(shard.n) if shard.weight is None else shard.weight


def stacked(arrays):
    """Rows of several arrays, or CSR arrays, one after the other."""
    if any(map(sp.issparse, arrays)):
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    return np.concatenate(arrays)


def refuse_no_numbers(rows, number):
    """Refuse rows with entries that are missing, or too large; a function gives their numbers."""
    entries = rows.data if sp.issparse(rows) else rows
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    if largest <= LARGEST:
        return largest
    wrong = np.flatnonzero(~(np.abs(entries.ravel()) <= LARGEST))[0]
    if sp.issparse(rows):
        row = int(np.searchsorted(rows.indptr, wrong, "right")) - 1
        value = entries[wrong]
    else:
        row, value = int(wrong // rows.shape[1]), entries.ravel()[wrong]
    raise ValueError(
        f"row {number(row)} (counted from 0) holds {value}; every number must be finite, and at "
        f"most {LARGEST:g}; fill in missing numbers, or drop such rows."
    )
