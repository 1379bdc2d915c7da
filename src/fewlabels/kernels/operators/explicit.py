"""Kernel matrices that the user gives: as an array, or as a function of rows."""

from __future__ import annotations

import numpy as np

from ..._typing import AnyArray, FloatArray, IntArray, RealArray, RowMatrix
from .. import FormedKernel
from ..rows import is_sparse
from .base import Columns, GramOperator

# Kernel values a user's function is asked for at a time (float64: 32 MB).
_VALUES_AT_A_TIME = 4_000_000


class PrecomputedGram(GramOperator):
    """A matrix ``K``, dense or sparse, never copied, or its part ``index``; ``n_jobs``."""

    def __init__(self, K: RowMatrix, n_jobs: int = 1, index: IntArray | None = None) -> None:
        super().__init__(K.shape[0] if index is None else len(index), n_jobs)
        self.K = K
        self.index = index

    def diagonal(self) -> FloatArray:
        d = self.K.diagonal()
        return np.asarray(d if self.index is None else d[self.index], dtype=float)

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (indices if self.index is None else self.index[indices],))

    def values_of(self, columns: Columns) -> RealArray:
        (places,) = columns.values
        return np.ascontiguousarray(self._select_block(self._own_index(), places).T)

    def block_of(self, columns: Columns) -> FloatArray:
        (places,) = columns.values
        return np.array(self._select_block(places, places), dtype=np.float64, order="C")

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        (places,) = columns.values
        dense = not is_sparse(self.K)
        step = max(1, _VALUES_AT_A_TIME // max(1, self.K.shape[0] if dense else self.n))
        for first in range(0, len(places), step):
            part = slice(first, first + step)
            if dense:
                # Rows of a symmetric matrix are its columns, and contiguous.
                product = coef[part] @ self.K[places[part]]
                out += product if self.index is None else product[self.index]
            else:
                out += self._select_block(self._own_index(), places[part]) @ coef[part]

    def take(self, indices: IntArray) -> PrecomputedGram:
        indices = np.asarray(indices)
        index = indices if self.index is None else self.index[indices]
        return PrecomputedGram(self.K, self.n_jobs, index)

    def _select_block(self, rows: IntArray, columns: IntArray) -> AnyArray:
        part = self.K[rows][:, columns] if is_sparse(self.K) else self.K[np.ix_(rows, columns)]
        return part.toarray() if is_sparse(part) else part

    def _own_index(self) -> IntArray:
        return np.arange(self.n) if self.index is None else self.index


class FormedGram(GramOperator):
    """Matrix of a FormedKernel ``kernel`` over the rows ``X``, by block; ``n_jobs``."""

    def __init__(self, kernel: FormedKernel, X: RowMatrix, n_jobs: int = 1) -> None:
        super().__init__(X.shape[0], n_jobs)
        self.kernel = kernel
        self.value_cost = np.inf
        self.X = X
        self._diagonal: FloatArray | None = None

    def diagonal(self) -> FloatArray:
        if self._diagonal is None:
            step = 64
            parts = [
                np.diagonal(self._evaluate(rows, rows))
                for rows in (self.X[i : i + step] for i in range(0, self.n, step))
            ]
            self._diagonal = np.concatenate([np.empty(0), *parts])
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        indices = np.asarray(indices)
        return Columns(indices, (self.X[indices],))

    def values_of(self, columns: Columns) -> FloatArray:
        return np.ascontiguousarray(self._evaluate(self.X, columns.values[0]).T)

    def block_of(self, columns: Columns) -> FloatArray:
        (rows,) = columns.values
        return np.array(self._evaluate(rows, rows), dtype=np.float64, order="C")

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        (rows,) = columns.values
        step = max(1, _VALUES_AT_A_TIME // max(1, len(columns)))
        for first in range(0, self.n, step):
            part = slice(first, first + step)
            out[part] += self._evaluate(self.X[part], rows) @ coef

    def take(self, indices: IntArray) -> FormedGram:
        return FormedGram(self.kernel, self.X[indices], self.n_jobs)

    def _evaluate(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        self.n_values += X.shape[0] * Z.shape[0]
        return evaluate_formed(self.kernel, X, Z)


def evaluate_formed(kernel: FormedKernel, X: RowMatrix, Z: RowMatrix) -> FloatArray:
    """Return values of a FormedKernel, dense float64."""
    values = kernel.values(X, Z)
    return values.toarray() if is_sparse(values) else np.asarray(values, dtype=float)
