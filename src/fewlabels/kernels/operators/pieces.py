"""A kernel matrix over rows that come in pieces, or lie in several shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..._typing import AnyArray, FloatArray, IntArray, RealArray, RowMatrix
from .. import centered
from .base import Columns, GramOperator
from .linear import LinearGram, add_products, combine_rows, multiply_rows

# Rows that are moved at a time.
_ROWS_AT_A_TIME = 8192


class RowPieces(Protocol):
    """Rows that come in pieces: a ``Shard``."""

    n: int
    first: int

    def pieces(self) -> Iterable[tuple[slice, RowMatrix]]:
        """Yield all rows, as (slice, rows) one after the other."""

    def take(self, places: IntArray) -> RowMatrix:
        """Return the rows at ascending places."""


class PartitionedRows(Protocol):
    """Rows in several shards: a ``ShardedSource``."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    @property
    def ranges(self) -> Sequence[tuple[int, int]]:
        """The number of the first row of each shard, and the number after its last one."""

    def call_all(self, function: Callable[[RowPieces], Any]) -> list[Any]:
        """Return what a function of a shard returns, for every shard."""

    def call_each(self, functions: Sequence[Callable[[RowPieces], Any]]) -> list[Any]:
        """Return what one function for each shard returns."""

    def take(self, ids: IntArray) -> RowMatrix:
        """Return the rows with ascending numbers."""


class PieceGram(GramOperator):
    """The matrix of the rows of ``part``, by operators over each of its pieces.

    ``part`` has ``n`` rows, ``pieces()``, which are (slice, rows), and ``take(places)``.
    ``make_gram`` makes the operator of some rows, and ``refined`` (None where there is no such
    thing) one of float64 values. ``diagonal`` may be known.
    """

    def __init__(
        self,
        part: RowPieces,
        make_gram: Callable[[RowMatrix], GramOperator],
        refined: Callable[[RowMatrix], GramOperator] | None = None,
        diagonal: FloatArray | None = None,
    ) -> None:
        super().__init__(part.n)
        self._part, self._make_gram, self._make_refined = part, make_gram, refined
        self._diagonal = diagonal
        self._sample = some = make_gram(part.take(np.arange(min(1, part.n))))
        self.value_cost, self.dtype = some.value_cost, some.dtype
        self.value_error, self.is_inner_product = some.value_error, some.is_inner_product

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            self._diagonal = np.concatenate(
                [np.empty(0), *(gram.diagonal() for _, gram in self._each_gram())]
            )
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        gram = self._make_gram(self._part.take(indices))
        return replace(gram.gather(np.arange(gram.n)), ids=indices)

    def values_of(self, columns: Columns) -> RealArray:
        out = np.empty((len(columns), self.n), self.dtype)
        for where, gram in self._each_gram():
            out[:, where] = gram.values_of(columns)
        return out

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        return self._sample.block_of(columns)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        for where, gram in self._each_gram() if len(columns) else ():
            gram.add_columns(columns, coef, out[where])

    def take(self, indices: IntArray) -> GramOperator:
        return self._make_gram(self._part.take(np.asarray(indices)))

    def refined(self) -> PieceGram | None:
        if self._make_refined is None or self.dtype == np.float64:
            return None
        return PieceGram(self._part, self._make_refined, None, self._diagonal)

    def _each_gram(self) -> Iterator[tuple[slice, GramOperator]]:
        for where, rows in self._part.pieces():
            gram = self._make_gram(rows)
            yield where, gram
            self.n_values += gram.n_values


class LinearSourceGram(GramOperator):
    """The linear kernel's matrix of the rows of a ``source``, less ``shift`` (or None).

    Only sums of rows and products with them leave the source, and rows that are gathered.
    ``source`` has ``n`` rows, the ``ranges`` of its shards, ``call_all(function)`` and
    ``call_each(functions)``, which answer for every shard, and ``take(ids)``.
    """

    is_inner_product = True

    def __init__(self, source: PartitionedRows, shift: FloatArray | None) -> None:
        super().__init__(source.n)
        self._source, self._shift = source, shift
        self._diagonal: FloatArray | None = None

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            self._diagonal = np.concatenate(self._call_shards(_compute_diagonal))
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (self._select_rows(indices),))

    def values_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) * self.n
        return np.concatenate(self._call_shards(_multiply_rows, rows=columns.values[0]), axis=1)

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        (rows,) = columns.values
        return multiply_rows(rows, rows)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        if len(columns):
            self._add_product(combine_rows(columns.values[0], coef), out)

    def take(self, indices: IntArray) -> LinearGram:
        return LinearGram(self._select_rows(np.asarray(indices)))

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        if len(indices):
            self._add_product(self.sum_rows(np.asarray(indices), coef), out)

    def sum_rows(self, indices: IntArray, coef: FloatArray) -> FloatArray:
        """Return ``sum_i coef_i x_i`` over some ascending rows, computed in their shards."""
        functions = []
        for first, end in self._source.ranges:
            low, high = np.searchsorted(indices, (first, end))
            places = indices[low:high] - first
            functions.append(
                partial(_combine_rows, places=places, coef=coef[low:high], shift=self._shift)
            )
        return sum(self._source.call_each(functions))

    def _call_shards(
        self, function: Callable[..., FloatArray], **options: AnyArray
    ) -> list[FloatArray]:
        return self._source.call_all(partial(function, shift=self._shift, **options))

    def _select_rows(self, indices: IntArray) -> RowMatrix:
        ids, where = np.unique(indices, return_inverse=True)
        rows = self._source.take(ids)[where]
        return centered(rows, self._shift)

    def _add_product(self, w: FloatArray, out: FloatArray) -> None:
        out += np.concatenate(self._call_shards(_multiply_vector, w=w))


# Functions of a shard.


def _each_shifted(part: RowPieces, shift: FloatArray | None) -> Iterator[tuple[slice, RowMatrix]]:
    """Yield the rows of a part less ``shift``, some at a time, as (slice, rows)."""
    for where, rows in part.pieces():
        step = rows.shape[0] if shift is None else _ROWS_AT_A_TIME
        for start in range(0, rows.shape[0], max(1, step)):
            some = rows[start : start + step]
            first = where.start + start
            yield slice(first, first + some.shape[0]), centered(some, shift)


def _compute_diagonal(part: RowPieces, shift: FloatArray | None) -> FloatArray:
    found = [LinearGram(rows).diagonal() for _, rows in _each_shifted(part, shift)]
    return np.concatenate([np.empty(0), *found])


def _multiply_rows(part: RowPieces, shift: FloatArray | None, rows: RowMatrix) -> FloatArray:
    return np.concatenate(
        [multiply_rows(rows, some) for _, some in _each_shifted(part, shift)], axis=1
    )


def _multiply_vector(part: RowPieces, shift: FloatArray | None, w: FloatArray) -> FloatArray:
    out = np.zeros(part.n)
    for where, rows in _each_shifted(part, shift):
        add_products(rows, w, out[where])
    return out


def _combine_rows(
    part: RowPieces, shift: FloatArray | None, places: IntArray, coef: FloatArray
) -> FloatArray | float:
    full_coef = np.zeros(part.n)
    total: FloatArray | float = 0.0
    full_coef[places] = coef
    for where, rows in _each_shifted(part, shift) if len(places) else ():
        total = total + combine_rows(rows, full_coef[where])
    return total
