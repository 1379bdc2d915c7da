"""An operator that evaluates equal rows once."""

from __future__ import annotations

import numpy as np

from ..._typing import AnyArray, FloatArray, IntArray, RealArray
from ..rows import DuplicateRows
from .base import Columns, GramOperator, WrappedGram


class RepeatedGram(WrappedGram):
    """``inner`` over distinct rows, each as often as ``copies`` say.

    A product with any number of rows costs what it does with the distinct ones. ``row_map`` maps
    the distinct rows, if they have one.
    """

    copies: DuplicateRows

    def __init__(self, inner: GramOperator, copies: DuplicateRows) -> None:
        super().__init__(inner, len(copies.of))
        self.copies, self.row_map = copies, getattr(inner, "row_map", None)
        self._diagonal = inner.diagonal()[copies.of]

    def diagonal(self) -> FloatArray:
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (self.inner.gather(self.copies.of[indices]),))

    def values_of(self, columns: Columns) -> RealArray:
        values: AnyArray = self.inner.values_of(columns.values[0])
        return values[:, self.copies.of]

    def block_of(self, columns: Columns) -> FloatArray:
        return self.inner.block_of(columns.values[0])

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        values = np.zeros(self.inner.n)
        self.inner.add_columns(columns.values[0], coef, values)
        out += values[self.copies.of]

    def take(self, indices: IntArray) -> GramOperator:
        gram = self.view_rows(indices)
        return gram.inner if gram.inner.n == gram.n else gram

    def view_rows(self, indices: IntArray) -> RepeatedGram:
        # Of this kind even where its rows differ.
        indices = np.asarray(indices)
        copies = self.copies.take(indices)
        rows = self.copies.of[indices[copies.first]]
        is_all = np.array_equal(rows, np.arange(self.inner.n))
        return RepeatedGram(self.inner if is_all else self.inner.take(rows), copies)

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        total: AnyArray = np.bincount(self.copies.of[indices], coef, self.inner.n)
        used = np.flatnonzero(total)
        out += self.inner.product(used, total[used])[self.copies.of]

    def refined(self) -> RepeatedGram | None:
        inner = self.inner.refined()
        return None if inner is None else RepeatedGram(inner, self.copies)
