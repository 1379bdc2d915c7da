"""Rows prepared so that every kernel value is a map of one inner product.

The compiled code evaluates ``map(row_term + column_term + <row, column>)``. For the
RBF kernel the rows are scaled by sqrt(2 gamma log2 e) and the terms are minus half the
squared norms, so that the sum is -gamma ||x - z||^2 log2 e and the map is 2^z.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from ...kernels import RBF, Callable, Linear, Polynomial, Sigmoid
from . import _tiles

# float32 has to keep kernel values to 1e-5 of their size, 84 units of its last place.
FLOAT32_UNITS_LIMIT = 82.0
# Half the largest squared norm: float32 ends at 3e38.
_FARTHEST = 1e36


class RowMap:
    """How raw rows become prepared rows, for one kernel, centre and precision.

    Parameters
    ----------
    kernel : RBF, Polynomial, Sigmoid or Linear
        The kernel.
    X : ndarray or CSR array of shape (n_samples, n_features)
        The rows that decide the centre and, for ``dtype=None``, the precision.
    dtype : {numpy.float32, numpy.float64} or None
        Precision of kernel values. None takes float32 unless the data need more.
    """

    def __init__(self, kernel, X, dtype=None):
        self.kernel = kernel
        self.kind, self.degree = _kind(kernel)
        # Distances do not change when all rows move; small norms cancel less.
        self.center = None
        if isinstance(kernel, RBF) and not sp.issparse(X):
            self.center = X.mean(axis=0, dtype=np.float64)
        self.error_units, fits = self._examined(X)
        self.dtype = np.dtype(dtype or (np.float32 if fits else np.float64))

    @property
    def value_error(self):
        """Rounding error of a kernel value, relative to ``sqrt(K(x, x) K(z, z))``."""
        # In float64 the norms round as well; those of float32 rows are summed in float64.
        last_place = 4.5e-16 if self.dtype == np.float64 else 1.2e-7
        return self.error_units * last_place

    @classmethod
    def restored(cls, kernel, center, dtype):
        """The map of a fitted machine, from what it keeps."""
        row_map = cls.__new__(cls)
        row_map.kernel = kernel
        row_map.kind, row_map.degree = _kind(kernel)
        row_map.center = center
        row_map.error_units = np.nan  # of rows that are not there any more
        row_map.dtype = np.dtype(dtype)
        return row_map

    def refined(self):
        """The same map in float64."""
        other = copy.copy(self)
        other.dtype = np.dtype(np.float64)
        return other

    def _examined(self, X):
        """Error of kernel values in units of the last place, and whether float32 will do.

        What cancels is as large as the scaled squared norms E. Measured over random rows
        with close pairs far from the centre, an RBF value is wrong by up to
        E (1.3 + 0.4 sqrt(d)) units, a sigmoid value by E/2; a polynomial multiplies the
        error of the inner product by its degree.
        """
        growth = 1.3 + 0.4 * np.sqrt(_row_length(X))
        largest = 0.0
        for part in _parts(X):
            norms = self._squared_norms(self._shifted(X[part]))
            largest = max(largest, float(norms.max(initial=0.0)))
        if isinstance(self.kernel, RBF):
            exponent = self.kernel.gamma * largest * np.log2(np.e)
            units = 2.0 + exponent * growth
            return units, units <= FLOAT32_UNITS_LIMIT
        if isinstance(self.kernel, Linear):
            return 2.0, largest < 2.0**100
        size = self.kernel.gamma * largest + abs(self.kernel.coef0)
        if isinstance(self.kernel, Sigmoid):
            units = 2.0 + size
            return units, units <= FLOAT32_UNITS_LIMIT
        # float32 ends at 2^128.
        return 2.0 + self.degree * growth, self.degree * np.log2(max(size, 1.0)) < 100.0

    def _shifted(self, X):
        return X if self.center is None else X - self.center

    @staticmethod
    def _squared_norms(X):
        if sp.issparse(X):
            if not X.has_canonical_format:  # entries given twice add up
                X = X.copy()
                X.sum_duplicates()
            squares = sp.csr_array(
                (np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape
            )
            return squares @ np.ones(squares.shape[1])
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)

    @property
    def column_constant(self):
        """What is added to the column term besides the norm (coef0)."""
        return getattr(self.kernel, "coef0", 0.0)

    def prepare(self, X):
        """Scaled rows (in ``dtype``, dense or CSR) and their term, shape (n,)."""
        if sp.issparse(X) and self.center is not None:
            X = X.toarray()  # moved rows are dense
        if sp.issparse(X):
            rows = sp.csr_array(X, dtype=self.dtype, copy=True)
            rows.data = (X.data * self._factor).astype(self.dtype)
            rows.sum_duplicates()
        else:
            rows = np.empty(X.shape, self.dtype)
            for part in _parts(X):
                rows[part] = self._factor * self._shifted(X[part].astype(np.float64))
        if not isinstance(self.kernel, RBF):
            return rows, np.zeros(rows.shape[0], self.dtype)
        # From the rounded rows, so that K(x, x) is 1 to the last bit that matters.
        term = -0.5 * self._squared_norms(rows)
        if term.min(initial=0.0) < -_FARTHEST:
            # Nothing is near such a row; its norm would overflow.
            entries = rows.data if sp.issparse(rows) else rows
            np.clip(entries, -(_FARTHEST**0.5), _FARTHEST**0.5, out=entries)
            term = np.maximum(term, -_FARTHEST)
        return rows, term.astype(self.dtype)

    @property
    def _factor(self):
        if isinstance(self.kernel, RBF):
            return np.sqrt(2.0 * self.kernel.gamma * np.log2(np.e))
        return 1.0 if isinstance(self.kernel, Linear) else np.sqrt(self.kernel.gamma)

    def diagonal(self, X):
        """K(x, x) in float64."""
        return kernel_diagonal(self.kernel, X)


def kernel_diagonal(kernel, X):
    """K(x, x) of every row of X, float64, shape (len(X),)."""
    if isinstance(kernel, RBF):
        return np.ones(X.shape[0])
    if isinstance(kernel, Callable):
        blocks = (X[i : i + 64] for i in range(0, X.shape[0], 64))
        values = (kernel.function(rows, rows) for rows in blocks)
        parts = [v.diagonal() if sp.issparse(v) else np.diagonal(v) for v in values]
        return np.concatenate(parts).astype(float)
    norms = RowMap._squared_norms(X)
    if isinstance(kernel, Linear):
        return norms
    inner = kernel.gamma * norms + kernel.coef0
    if isinstance(kernel, Polynomial):
        return inner**kernel.degree
    return np.tanh(inner)


def _kind(kernel):
    if isinstance(kernel, RBF):
        return _tiles.RBF, 0
    if isinstance(kernel, Polynomial):
        return _tiles.POLYNOMIAL, kernel.degree
    if isinstance(kernel, Sigmoid):
        return _tiles.SIGMOID, 0
    return _tiles.LINEAR, 0


def _parts(X):
    """Slices of rows small enough that a float64 copy of one is no burden."""
    step = max(1, 1_000_000 // max(1, X.shape[1]))
    return (slice(first, first + step) for first in range(0, X.shape[0], step))


def _row_length(X):
    """Most entries of a row."""
    return np.diff(X.indptr).max(initial=0) if sp.issparse(X) else X.shape[1]
