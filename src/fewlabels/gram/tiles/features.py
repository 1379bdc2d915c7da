"""Rows prepared so that every kernel value is a map of one inner product.

The compiled code evaluates ``map(row_term + column_term + <row, column>)``. For the
RBF kernel the rows are scaled by sqrt(2 gamma log2 e) and the terms are minus half the
squared norms, so that the sum is -gamma ||x - z||^2 log2 e and the map is 2^z.
"""

import copy

import numpy as np
import scipy.sparse as sp

from ...kernels import MappedKernel
from ...kernels.base import squared_norms

# Half the largest squared norm: float32 ends at 3e38.
_FARTHEST = 1e36


class RowMap:
    """How raw rows become prepared rows, for one ``kernel``, centre and precision.

    The rows ``X`` decide the centre and, for ``dtype=None``, the precision: float32 unless the
    data need more.
    """

    def __init__(self, kernel: MappedKernel, X, dtype=None):
        self.kernel = kernel
        self.kind, self.degree = int(kernel.map), kernel.degree
        # Distances do not change when all rows move; small norms cancel less.
        self.center = None
        if kernel.of_distance and not sp.issparse(X):
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
        row_map.kind, row_map.degree = int(kernel.map), kernel.degree
        row_map.center = center
        row_map.error_units = np.nan  # of rows that are not there any more
        row_map.dtype = np.dtype(dtype)
        return row_map

    def refined(self):
        """The same map in float64."""
        if self.dtype == np.float64:
            return self
        other = copy.copy(self)
        other.dtype = np.dtype(np.float64)
        return other

    def _examined(self, X):
        """Error of kernel values in units of the last place, and whether float32 will do."""
        largest = 0.0
        for part in _parts(X):
            norms = squared_norms(self._shifted(X[part]))
            largest = max(largest, float(norms.max(initial=0.0)))
        return self.kernel.rounding(largest, _row_length(X))

    def _shifted(self, X):
        return X if self.center is None else X - self.center

    def prepare(self, X):
        """Scaled rows (in ``dtype``, dense or CSR) and their term, shape (n,)."""
        if sp.issparse(X) and self.center is not None:
            X = X.toarray()  # moved rows are dense
        if sp.issparse(X):
            rows = sp.csr_array(X, dtype=self.dtype, copy=True)
            rows.data = (X.data * self.kernel.factor).astype(self.dtype)
            rows.sum_duplicates()
        else:
            rows = np.empty(X.shape, self.dtype)
            with np.errstate(over="ignore"):  # what is infinite is out of reach, see below
                for part in _parts(X):
                    rows[part] = self.kernel.factor * self._shifted(X[part].astype(np.float64))
        return rows, self._term(rows)

    def rounded(self, rows, term):
        """Rows that the same map prepared in float64, in this map's precision."""
        if self.dtype == np.float64:
            return rows, term
        rows = rows.astype(self.dtype)
        return rows, self._term(rows)

    def _term(self, rows):
        if not self.kernel.of_distance:
            return np.zeros(rows.shape[0], self.dtype)
        # From the rounded rows, so that K(x, x) is 1 to the last bit that matters.
        term = -0.5 * squared_norms(rows)
        if term.min(initial=0.0) < -_FARTHEST:
            # Nothing is near such a row; its norm would overflow.
            entries = rows.data if sp.issparse(rows) else rows
            np.clip(entries, -(_FARTHEST**0.5), _FARTHEST**0.5, out=entries)
            term = np.maximum(term, -_FARTHEST)
        return term.astype(self.dtype)


def _parts(X):
    """Slices of rows small enough that a float64 copy of one is no burden."""
    step = max(1, 1_000_000 // max(1, X.shape[1]))
    return (slice(first, first + step) for first in range(0, X.shape[0], step))


def _row_length(X):
    """Most entries of a row."""
    return np.diff(X.indptr).max(initial=0) if sp.issparse(X) else X.shape[1]
