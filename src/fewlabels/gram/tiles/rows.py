"""Kernel matrices of rows of features, dense or CSR."""

import numpy as np
import scipy.sparse as sp

from ..base import GramOperator
from ..gathered import Columns
from .dense import TiledRows
from .sparse import SparseRows

# Stated error below which float64 values are not compared with exact ones; rows that are.
_LOSSLESS, _COMPARED = 1e-10, 300


def packed(rows, term):
    """Prepared rows in the form that columns are evaluated against."""
    return (SparseRows if sp.issparse(rows) else TiledRows)(rows, term)


class RowsGram(GramOperator):
    """Kernel matrix of raw rows ``X``: of the whole matrix, if this is a part of one; ``n_jobs``.

    ``row_map`` gives kernel, centre and precision; ``part`` is what a part of a matrix has
    already: (rows, term), diagonal, indices into X.
    """

    def __init__(self, row_map, X, n_jobs=1, *, part=None):
        if part is None:
            part = row_map.prepare(X), row_map.kernel.diagonal(X), None
        (rows, term), self._diagonal, self._index = part
        super().__init__(rows.shape[0], n_jobs)
        self.row_map = row_map
        self.dtype = row_map.dtype
        self.is_inner_product = row_map.kernel.is_inner_product
        self.value_error = row_map.value_error
        self.value_cost = rows.nnz / max(1, self.n) if sp.issparse(rows) else rows.shape[1]
        self._X = X
        self._packed = packed(rows, term)
        self._exact = row_map.refined()

    def diagonal(self):
        return self._diagonal

    def gather(self, indices):
        # In float64, from the raw rows if need be: blocks decide the steps, and cost little.
        indices = np.asarray(indices)
        if self.dtype == np.float64:
            return Columns(indices, self._packed.rows(indices))
        return Columns(indices, self._exact.prepare(self._X[self._places(indices)]))

    def columns(self, indices, out=None):
        return self._values(self.gather(indices), out)

    def values_of(self, columns):
        return self._values(columns)

    def _values(self, columns, out=None):
        self.n_values += len(columns) * self.n
        rows, term = self.row_map.rounded(*columns.values)
        return self._packed.columns(self.row_map, rows, term, self.n_jobs, out)

    def block_of(self, columns):
        self.n_values += len(columns) ** 2
        rows, term = columns.values
        return packed(rows, term).columns(self._exact, rows, term, self.n_jobs)

    def whole(self):
        if self.dtype != np.float64:
            return super().whole()
        self.n_values += self.n**2
        return self._packed.columns(self.row_map, *self._packed.all_rows(), self.n_jobs)

    def add_columns(self, columns, coef, out):
        self.n_values += len(columns) * self.n
        rows, term = self.row_map.rounded(*columns.values)
        self._packed.apply(self.row_map, rows, term, coef, out, self.n_jobs)

    def lost(self, coef):
        # Estimated from values between the rows that matter most.
        if not self.row_map.kernel.of_distance or self._exact.value_error < _LOSSLESS:
            return 0.0
        rows = np.sort(np.argsort(-np.abs(coef), kind="stable")[:_COMPARED])
        values = self.row_map.kernel.direct_values(self._X[self._places(rows)])
        wrong = np.abs((self.block(rows) - values) @ coef[rows]).max(initial=0.0)
        share = np.abs(coef[rows]).sum() / np.abs(coef).sum() if coef.any() else 1.0
        return float(wrong / share)

    def refined(self):
        if self.dtype == np.float64:
            return None
        X = self._X if self._index is None else self._X[self._index]
        return RowsGram(self._exact, X, self.n_jobs)

    def take(self, indices):
        indices = np.asarray(indices)
        part = self._packed.rows(indices), self._diagonal[indices], self._places(indices)
        return RowsGram(self.row_map, self._X, self.n_jobs, part=part)

    def _places(self, indices):
        """Indices into the raw rows."""
        return indices if self._index is None else self._index[indices]
