"""A kernel matrix with one virtual row: the mean of some rows in feature space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._typing import FloatArray, IntArray
from ..rows import DuplicateRows
from .base import Columns, GramOperator, WrappedGram


class BorderedGram(WrappedGram):
    """``inner`` with a last row and column for ``phi(x_0) = mean of phi over rows``.

    This is the virtual sample of the balancing constraint of a semi-supervised SVM (Yu et al.
    2019, section 2.2). ``border`` holds ``K(x_0, x_j)``, shape (n - 1,), ``corner`` is ``K(x_0,
    x_0)``; ``virtual`` is False for a part of the matrix whose virtual row lies elsewhere.
    """

    def __init__(
        self, inner: GramOperator, border: FloatArray, corner: float, *, virtual: bool = True
    ) -> None:
        super().__init__(inner, inner.n + bool(virtual))
        self.border = np.asarray(border, dtype=float)
        self.corner = float(corner)
        self._edges = np.append(self.border, self.corner)
        self._diagonal: FloatArray | None = None
        self._virtual_columns: Columns | None = None

    @classmethod
    def mean_of(
        cls, inner: GramOperator, rows: IntArray, weight: FloatArray | None = None
    ) -> BorderedGram:
        """Border ``inner`` by the (weighted) mean of its rows ``rows``."""
        rows = np.asarray(rows)
        weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        share = weight / weight.sum()
        # Once, in float64: the border stays exact when other precision is asked for.
        exact = inner.refined() or inner
        before = exact.n_values
        border = exact.product(rows, share)
        if exact is not inner:
            inner.n_values += exact.n_values - before
        return cls(inner, border, share @ border[rows])

    @property
    def copies(self) -> DuplicateRows | None:  # type: ignore[override]  # computed, where the base has a constant
        """The copies of the inner operator; the virtual row is one of its own."""
        copies = self.inner.copies
        if copies is None or self.n == self.inner.n:
            return copies
        of, first = copies.of, copies.first
        return DuplicateRows(np.append(of, len(first)), np.append(first, len(of)))

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            self._diagonal = np.append(self.inner.diagonal(), self.corner)[: self.n]
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        virtual = indices >= self.inner.n
        # The virtual row has no features; any others keep its place.
        rows = np.where(virtual, 0, indices)
        inner = (
            self.inner.gather(rows)
            if self._virtual_columns is None
            else self._virtual_columns.take(rows)
        )
        return Columns(indices, (virtual, self._border_values(indices), inner))

    def values_of(self, columns: Columns) -> FloatArray:
        virtual, edge, inner = columns.values
        out = np.empty((len(columns), self.n))
        out[:, : self.inner.n] = self.inner.values_of(inner)
        out[:, self.inner.n :] = edge[:, None]
        out[virtual] = self._border_values(np.arange(self.n))
        return out

    def block_of(self, columns: Columns) -> FloatArray:
        virtual, edge, inner = columns.values
        if virtual.all():
            return np.full((len(columns), len(columns)), self.corner)
        block = self.inner.block_of(inner)
        block[virtual] = edge
        block[:, virtual] = edge[:, None]
        return block

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        virtual, edge, inner = columns.values
        real = ~virtual
        if real.any():
            every = real.all()
            inner, share = (inner, coef) if every else (inner.take(real), coef[real])
            self.inner.add_columns(inner, share, out[: self.inner.n])
        out[self.inner.n :] += edge @ coef
        if virtual.any():
            out[: self.inner.n] += self.border * coef[virtual].sum()

    def take(self, indices: IntArray) -> BorderedGram:
        return self._select(indices, self.inner.take)

    def view_rows(self, indices: IntArray) -> BorderedGram:
        return self._select(indices, self.inner.view_rows)

    def part(self, start: int, stop: int) -> BorderedGram:
        last = min(stop, self.inner.n)
        part = self._with_border(self.inner.part(start, last), slice(start, last), stop > last)
        if start == last:
            part._virtual_columns = self.inner.gather(np.zeros(1, dtype=np.intp))
        return part

    def apply(self, indices: IntArray, coef: FloatArray, out: FloatArray) -> None:
        indices, coef = np.asarray(indices), np.asarray(coef, dtype=float)
        real = indices < self.inner.n
        out[self.inner.n :] += self._border_values(indices) @ coef
        self.inner.apply(indices[real], coef[real], out[: self.inner.n])
        if not real.all():
            out[: self.inner.n] += self.border * coef[~real].sum()

    def refined(self) -> BorderedGram | None:
        inner = self.inner.refined()
        return None if inner is None else self._with_border(inner, slice(None), self.n > inner.n)

    def _border_values(self, indices: IntArray) -> FloatArray:
        """Return ``K(x_0, .)`` of some rows."""
        return self._edges[np.minimum(indices, self.inner.n)]

    def _with_border(
        self, inner: GramOperator, real: slice | IntArray, virtual: bool
    ) -> BorderedGram:
        return BorderedGram(inner, self.border[real], self.corner, virtual=virtual)

    def _select(self, indices: IntArray, take: Callable[[IntArray], GramOperator]) -> BorderedGram:
        indices = np.asarray(indices)
        if self.n == self.inner.n:
            return self._with_border(take(indices), indices, False)
        if len(indices) == 0 or indices[-1] != self.inner.n:
            raise ValueError("a bordered matrix keeps its virtual row, as the last index.")
        real = indices[:-1]
        return self._with_border(take(real), real, True)
