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
from .linear import LinearGram, add_products, products, weights

# Rows that are moved at a time.
_AT_A_TIME = 8192


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
    def shards(self) -> Sequence[RowPieces]:
        """The shards."""

    def ask(self, question: Callable[[RowPieces], Any]) -> list[Any]:
        """Return what a function of a shard returns, for every shard."""

    def ask_each(self, questions: Sequence[Callable[[RowPieces], Any]]) -> list[Any]:
        """Return what one function for each shard returns."""

    def take(self, ids: IntArray) -> RowMatrix:
        """Return the rows with ascending numbers."""


class PieceGram(GramOperator):
    """The matrix of the rows of ``part``, by the operators ``over`` each of its pieces.

    ``part`` has ``n`` rows, ``pieces()``, which are (slice, rows), and ``take(places)``; ``over``
    makes the operator of some rows, and ``refined`` (None where there is no such thing) one of
    float64 values. ``diagonal`` may be known.
    """

    def __init__(
        self,
        part: RowPieces,
        over: Callable[[RowMatrix], GramOperator],
        refined: Callable[[RowMatrix], GramOperator] | None = None,
        diagonal: FloatArray | None = None,
    ) -> None:
        super().__init__(part.n)
        self._part, self._over, self._refined = part, over, refined
        self._diagonal = diagonal
        self._some = some = over(part.take(np.arange(min(1, part.n))))
        self.value_cost, self.dtype = some.value_cost, some.dtype
        self.value_error, self.is_inner_product = some.value_error, some.is_inner_product

    def _grams(self) -> Iterator[tuple[slice, GramOperator]]:
        for where, rows in self._part.pieces():
            gram = self._over(rows)
            yield where, gram
            self.n_values += gram.n_values

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            self._diagonal = np.concatenate(
                [np.empty(0), *(gram.diagonal() for _, gram in self._grams())]
            )
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        gram = self._over(self._part.take(indices))
        return replace(gram.gather(np.arange(gram.n)), ids=indices)

    def values_of(self, columns: Columns) -> RealArray:
        out = np.empty((len(columns), self.n), self.dtype)
        for where, gram in self._grams():
            out[:, where] = gram.values_of(columns)
        return out

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        return self._some.block_of(columns)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        for where, gram in self._grams() if len(columns) else ():
            gram.add_columns(columns, coef, out[where])

    def take(self, indices: IntArray) -> GramOperator:
        return self._over(self._part.take(np.asarray(indices)))

    def refined(self) -> PieceGram | None:
        if self._refined is None or self.dtype == np.float64:
            return None
        return PieceGram(self._part, self._refined, None, self._diagonal)


class LinearSourceGram(GramOperator):
    """The linear kernel's matrix of the rows of a ``source``, less ``shift`` (or None).

    Only sums of rows and products with them leave the source, and rows that are gathered.
    ``source`` has ``n`` rows, ``shards`` with ``first`` and ``n``, ``ask(question)`` and
    ``ask_each(questions)``, which answer for every shard, and ``take(ids)``.
    """

    is_inner_product = True

    def __init__(self, source: PartitionedRows, shift: FloatArray | None) -> None:
        super().__init__(source.n)
        self._source, self._shift = source, shift
        self._diagonal: FloatArray | None = None

    def _asked(self, question: Callable[..., FloatArray], **options: AnyArray) -> list[FloatArray]:
        return self._source.ask(partial(question, shift=self._shift, **options))

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            self._diagonal = np.concatenate(self._asked(_diagonal_of))
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (self._rows(indices),))

    def _rows(self, indices: IntArray) -> RowMatrix:
        ids, where = np.unique(indices, return_inverse=True)
        rows = self._source.take(ids)[where]
        return centered(rows, self._shift)

    def values_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) * self.n
        return np.concatenate(self._asked(_products_of, rows=columns.values[0]), axis=1)

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        (rows,) = columns.values
        return products(rows, rows)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        if len(columns):
            self._add(weights(columns.values[0], coef), out)

    def _add(self, w: FloatArray, out: FloatArray) -> None:
        out += np.concatenate(self._asked(_times, w=w))

    def sum_of(self, indices: IntArray, coef: FloatArray) -> FloatArray:
        """``sum_i coef_i x_i`` over some rows in ascending order, formed where they lie."""
        questions = []
        for part in self._source.shards:
            low, high = np.searchsorted(indices, (part.first, part.first + part.n))
            own = indices[low:high] - part.first
            questions.append(partial(_sum_of, own=own, coef=coef[low:high], shift=self._shift))
        return sum(self._source.ask_each(questions))

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        if len(indices):
            self._add(self.sum_of(np.asarray(indices), coef), out)

    def take(self, indices: IntArray) -> LinearGram:
        return LinearGram(self._rows(np.asarray(indices)))


# What the shards of a source are asked.


def _moved(part: RowPieces, shift: FloatArray | None) -> Iterator[tuple[slice, RowMatrix]]:
    """The rows of a part less ``shift``, some at a time, as (slice, rows)."""
    for where, rows in part.pieces():
        step = rows.shape[0] if shift is None else _AT_A_TIME
        for start in range(0, rows.shape[0], max(1, step)):
            some = rows[start : start + step]
            first = where.start + start
            yield slice(first, first + some.shape[0]), centered(some, shift)


def _diagonal_of(part: RowPieces, shift: FloatArray | None) -> FloatArray:
    found = [LinearGram(rows).diagonal() for _, rows in _moved(part, shift)]
    return np.concatenate([np.empty(0), *found])


def _products_of(part: RowPieces, shift: FloatArray | None, rows: RowMatrix) -> FloatArray:
    return np.concatenate([products(rows, some) for _, some in _moved(part, shift)], axis=1)


def _times(part: RowPieces, shift: FloatArray | None, w: FloatArray) -> FloatArray:
    out = np.zeros(part.n)
    for where, rows in _moved(part, shift):
        add_products(rows, w, out[where])
    return out


def _sum_of(
    part: RowPieces, shift: FloatArray | None, own: IntArray, coef: FloatArray
) -> FloatArray | float:
    everywhere = np.zeros(part.n)
    total: FloatArray | float = 0.0
    everywhere[own] = coef
    for where, rows in _moved(part, shift) if len(own) else ():
        total = total + weights(rows, everywhere[where])
    return total
