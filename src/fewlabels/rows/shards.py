"""Rows in shards, each of which answers questions about its own, and sums over all of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from ..kernels import centered
from ..kernels.base import LARGEST
from ..kernels.operators import GramOperator, PieceGram
from ..kernels.rows import canonical, squared_norms

if TYPE_CHECKING:
    from .problem import ProblemSpec


class Shard(ABC):
    """Consecutive rows, the first of which has the number ``first``.

    ``weight`` are their weights, or None where all are 1; ``marks`` arrays of as many entries.
    """

    def __init__(
        self, n: int, first: int = 0, weight: FloatArray | None = None, **marks: AnyArray
    ) -> None:
        self.n, self.first, self.weight, self.marks = n, first, weight, marks

    @abstractmethod
    def pieces(self) -> Iterable[tuple[slice, RowMatrix]]:
        """Return all rows, as (slice, rows) one after the other."""

    @abstractmethod
    def take(self, places: IntArray) -> RowMatrix:
        """Return the rows at ascending places, counted from the shard's first row."""

    def gram(self, spec: ProblemSpec) -> GramOperator:
        """Return K at the rows, made as a ``ProblemSpec`` says."""
        kernel = spec.kernel
        known = np.ones(self.n) if kernel.is_similarity else None
        return PieceGram(self, spec.gram, spec.refined().gram, known)

    def moments(self) -> Moments | None:
        """``Moments`` of the rows, which are checked: numbers have to be finite."""
        return Moments.from_shard(self)

    def farthest(self, center: FloatArray | None) -> float:
        """Return the largest squared norm of a row less a centre, which may be None."""
        norms = (squared_norms(centered(rows, center)) for _, rows in self.pieces())
        return max((float(some.max(initial=0.0)) for some in norms), default=0.0)

    def number(self, row: int) -> int:
        """Return the number that a user knows a row by."""
        return self.first + row

    def local_places(self, ids: IntArray) -> IntArray:
        """Return places of the rows that are here among some numbers in ascending order."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.n))
        return ids[low:high] - self.first


class MemoryShard(Shard):
    """Rows ``X`` in memory, checked: float32 or float64, dense or CSR."""

    def __init__(
        self, X: RowMatrix, first: int = 0, weight: FloatArray | None = None, **marks: AnyArray
    ) -> None:
        super().__init__(X.shape[0], first, weight, **marks)
        self.X = X

    def pieces(self) -> list[tuple[slice, RowMatrix]]:
        return [(slice(0, self.n), self.X)]

    def take(self, places: IntArray) -> RowMatrix:
        return self.X[places]

    def gram(self, spec: ProblemSpec) -> GramOperator:
        return spec.gram(self.X)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight of ``n`` rows of positive weight, and their columns' means and variances.

    ``mean`` and ``squares``, the sums of squares around it, count rows as their weights say;
    ``center`` is the mean of rows that count alike. ``largest`` is the largest number of any row,
    ``row_length`` the most entries of one.
    """

    n: int
    weight: float
    mean: FloatArray
    squares: FloatArray
    center: FloatArray
    largest: float
    row_length: int

    @classmethod
    def from_shard(cls, shard: Shard) -> Moments | None:
        """Compute the moments of a shard's rows, and check that numbers are finite."""
        found = [cls._of_piece(shard, where, rows) for where, rows in shard.pieces()]
        return cls.combined(found) if found else None

    @classmethod
    def _of_piece(cls, shard: Shard, where: slice, rows: RowMatrix) -> Moments:
        largest = check_finite(rows, lambda row: shard.number(where.start + row))
        weight = np.ones(rows.shape[0]) if shard.weight is None else shard.weight[where]
        if not np.all(weight > 0):
            rows, weight = rows[weight > 0], weight[weight > 0]
        n, d = rows.shape
        total = float(weight.sum())
        if not n:
            return cls(0, 0.0, np.zeros(d), np.zeros(d), np.zeros(d), largest, 0)
        if sp.issparse(rows):
            rows = canonical(rows)
            of = np.repeat(weight, np.diff(rows.indptr))
            sums = np.bincount(rows.indices, of * rows.data, minlength=d)
            alike = np.bincount(rows.indices, rows.data, minlength=d) / n
            mean: FloatArray = sums / total
            apart = np.square(rows.data - mean[rows.indices])
            stored = np.bincount(rows.indices, of, minlength=d)
            found = np.bincount(rows.indices, of * apart, minlength=d)
            squares: FloatArray = found.astype(np.float64, copy=False)
            squares += np.maximum(0.0, total - stored) * mean**2
            length = int(np.diff(rows.indptr).max(initial=0))
        else:
            rows = rows.astype(np.float64)
            alike, mean, length = rows.mean(axis=0), weight @ rows / total, d
            squares = weight @ np.square(rows - mean)
        return cls(n, total, mean, squares, alike, largest, length)

    @classmethod
    def combined(cls, parts: Iterable[Moments | None]) -> Moments:
        """Return the moments of the rows of all parts."""
        return reduce(cls._merged_with, [part for part in parts if part is not None])

    def _merged_with(self, other: Moments) -> Moments:
        weight, n = self.weight + other.weight, self.n + other.n
        share = other.weight / weight if weight else 0.0
        apart = other.mean - self.mean
        return Moments(
            n,
            weight,
            self.mean + share * apart,
            self.squares + other.squares + self.weight * share * apart**2,
            self.center + (other.n / n if n else 0.0) * (other.center - self.center),
            max(self.largest, other.largest),
            max(self.row_length, other.row_length),
        )

    @property
    def variance(self) -> float:
        """Variance of all entries together, as ``X.var()``."""
        each = self.squares / self.weight
        return float(np.mean(each) + np.mean(np.square(self.mean - self.mean.mean())))

    @property
    def total_variance(self) -> float:
        """Sum of the columns' variances."""
        return math.fsum(self.squares / self.weight)


def choose_rows(n: int, size: int, seed: int | np.random.Generator = 0) -> IntArray:
    """Return numbers of so many of n rows at random, ascending."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


class TakeRows:
    """The question for the rows ``ids`` that are in a shard."""

    def __init__(self, ids: IntArray) -> None:
        self.ids = ids

    def __call__(self, shard: Shard) -> RowMatrix:
        return shard.take(shard.local_places(self.ids))


def get_weights(shard: Shard) -> FloatArray:
    """Return the question for the weights of the rows of a shard."""
    return np.ones(shard.n) if shard.weight is None else shard.weight


def stack_rows(arrays: Sequence[RowMatrix]) -> RowMatrix:
    """Return rows of several arrays, or CSR arrays, one after the other."""
    if any(map(sp.issparse, arrays)):
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    return np.concatenate(arrays)


def check_finite(rows: RowMatrix, number: Callable[[int], int]) -> float:
    """Refuse rows with entries that are missing, or too large; a function gives their numbers."""
    entries = rows if isinstance(rows, np.ndarray) else rows.data
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    if largest <= LARGEST:
        return largest
    wrong = np.flatnonzero(~(np.abs(entries.ravel()) <= LARGEST))[0]
    if isinstance(rows, np.ndarray):
        row, value = int(wrong // rows.shape[1]), entries.ravel()[wrong]
    else:
        row = int(np.searchsorted(rows.indptr, wrong, "right")) - 1
        value = entries[wrong]
    raise ValueError(
        f"row {number(row)} (counted from 0) holds {value}; every number must be finite, and at "
        f"most {LARGEST:g}; fill in missing numbers, or drop such rows."
    )
