"""Rows prepared so that every kernel value is a map of one inner product.

The compiled code evaluates ``map(row_term + column_term + <row, column>)``. For the
RBF kernel the rows are scaled by sqrt(2 gamma log2 e) and the terms are minus half the
squared norms, so that the sum is -gamma ||x - z||^2 log2 e and the map is 2^z.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._core.functions import squared_norms as summed_norms
from ..._typing import AnyArray, FloatArray, RealArray, RowMatrix
from .. import MappedKernel, center_of, centered
from ..rows import (
    bound_rounding_of_differences,
    canonical,
    compute_far_exponent,
    distinct,
    is_sparse,
    squared_norms,
)

# Half the largest squared norm: float32 ends at 3e38, float64 at 2e308.
_MAX_TERM = {np.dtype(np.float32): 1e36, np.dtype(np.float64): 1e290}
# Half the squared norm beyond which sums of float64 round exponents by more than a hundredth.
_EXACT_TERM_LIMIT = 1e14
# Rounding of norms that decides on neither side of a limit.
_NORM_ROUNDING = 1e-6


class RowMap:
    """A map from raw rows to prepared rows, for one ``kernel``, centre and precision.

    The rows ``X`` decide the centre and, for ``dtype=None``, the precision: float32 unless the
    data need more. ``has_far`` says whether rows may be so far from the centre that their
    distances have to come from differences (``far_rows``).
    """

    def __init__(
        self, kernel: MappedKernel, X: RowMatrix, dtype: npt.DTypeLike | None = None
    ) -> None:
        self.kernel, self.n_columns = kernel, X.shape[1]
        self.kind, self.degree = kernel.compiled_map(), kernel.degree
        # Distances do not change when all rows move; small norms cancel less.
        self.center = None
        if kernel.of_distance:
            self.center = center_of(X)
        self.error_units, fits = self._examine(X)
        if self.has_far and not is_sparse(X):  # the mean may be far from most rows
            self.center = find_median_row(X)
            self._examine(X)
        self.dtype: np.dtype[Any] = np.dtype(dtype or (np.float32 if fits else np.float64))

    @classmethod
    def from_largest_norm(
        cls,
        kernel: MappedKernel,
        center: FloatArray | None,
        farthest: float,
        row_length: int,
        n_columns: int,
        dtype: npt.DTypeLike | None = None,
    ) -> RowMap:
        """Return the map of rows that aren't in memory, from their largest squared norm."""
        row_map = cls.restore(kernel, center, np.float64)
        row_map.error_units, fits = kernel.rounding(farthest, row_length)
        row_map.n_columns = n_columns
        row_map.has_far = row_map._reaches_far(farthest)
        row_map.dtype = np.dtype(dtype or (np.float32 if fits else np.float64))
        return row_map

    @property
    def value_error(self) -> float:
        """Rounding error of a kernel value, relative to ``sqrt(K(x, x) K(z, z))``."""
        # In float64 the norms round as well; norms of float32 rows are summed in float64.
        if self.dtype != np.float64:
            return self.error_units * 1.2e-7
        error = self.error_units * 4.5e-16
        return min(error, bound_rounding_of_differences(self.n_columns)) if self.has_far else error

    @classmethod
    def restore(
        cls, kernel: MappedKernel, center: FloatArray | None, dtype: npt.DTypeLike
    ) -> RowMap:
        """Return the map of a fitted model, from what it stores."""
        row_map = cls.__new__(cls)
        row_map.kernel = kernel
        row_map.kind, row_map.degree = kernel.compiled_map(), kernel.degree
        row_map.center = center
        # Of rows that are not there any more.
        row_map.error_units, row_map.has_far = np.nan, kernel.of_distance
        row_map.dtype = np.dtype(dtype)
        return row_map

    def refined(self) -> RowMap:
        """Return this map in float64."""
        if self.dtype == np.float64:
            return self
        other = copy.copy(self)
        other.dtype = np.dtype(np.float64)
        return other

    def _examine(self, X: RowMatrix) -> tuple[float, bool]:
        """Return the error of kernel values in units of the last place, and if float32 will do."""
        largest = 0.0
        for part in _row_slices(X):
            norms = squared_norms(self._shift(X[part]))
            largest = max(largest, float(norms.max(initial=0.0)))
        self.has_far = self._reaches_far(largest)
        return self.kernel.rounding(largest, _max_row_length(X, self.center))

    def _reaches_far(self, largest: float) -> bool:
        """Return whether rows of so large a squared norm may be far (``compute_far_exponent``)."""
        if not self.kernel.of_distance:
            return False
        return 0.5 * self.kernel.factor**2 * largest > (
            1.0 - _NORM_ROUNDING
        ) * compute_far_exponent(self.n_columns)

    def _shift(self, X: RowMatrix) -> RowMatrix:
        return centered(X, self.center)

    def prepare(self, X: RowMatrix) -> tuple[RowMatrix, RealArray]:
        """Return scaled rows (in ``dtype``, dense or CSR) and their term, shape (n,)."""
        if is_sparse(X):
            rows = sp.csr_array(self._shift(canonical(X)), copy=True)
            with np.errstate(over="ignore"):
                rows.data = (rows.data * self.kernel.factor).astype(self.dtype)
        else:
            rows = np.empty(X.shape, self.dtype)
            with np.errstate(over="ignore"):  # what is infinite is out of reach, see below
                for part in _row_slices(X):
                    given = X[part].astype(np.float64, copy=False)
                    rows[part] = self.kernel.factor * self._shift(given)
        return rows, self._compute_term(rows)

    def round_rows(self, rows: RowMatrix, term: RealArray) -> tuple[RowMatrix, RealArray]:
        """Return rows that this map prepared in float64, in its own precision."""
        if self.dtype == np.float64:
            return rows, term
        rows = rows.astype(self.dtype)
        return rows, self._compute_term(rows)

    def _compute_term(self, rows: RowMatrix) -> RealArray:
        if not self.kernel.of_distance:
            return np.zeros(rows.shape[0], self.dtype)
        # From the rounded rows; in float64 summed as inner products are, so that K(x, x), and K of
        # equal rows, is exactly 1.
        exact = self.dtype == np.float64
        norms = summed_norms if exact else squared_norms
        term, farthest = -0.5 * norms(rows), _MAX_TERM[self.dtype]
        least = term.min(initial=0.0)
        if least < -farthest:
            # Nothing is near such a row; its norm would overflow.
            entries = rows.data if is_sparse(rows) else rows
            np.clip(entries, -(farthest**0.5), farthest**0.5, out=entries)
            term = -0.5 * norms(rows) if exact else np.maximum(term, -farthest)
        elif least < -_EXACT_TERM_LIMIT and self.dtype == np.float64:
            _shorten(rows, term)
        return term.astype(self.dtype, copy=False)


def find_median_row(X: AnyArray) -> FloatArray:
    """Return a row that is not far from most distinct rows: a median of every column.

    The mean may be far from them. Copies of an outlier count once, however many there are.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows.

    Returns
    -------
    ndarray of shape (n_columns,)
        In float64.
    """
    return np.quantile(distinct(X), 0.5, axis=0, method="lower").astype(np.float64)


def _shorten(rows: RowMatrix, term: FloatArray) -> None:
    """Give far rows so few digits that sums of their products do not round: K(x, x) stays 1."""
    bits = 26 - int(np.ceil(0.5 * np.log2(max(1, _max_row_length(rows)))))
    for i in np.flatnonzero(term < -_EXACT_TERM_LIMIT):
        row = rows.data[rows.indptr[i] : rows.indptr[i + 1]] if is_sparse(rows) else rows[i]
        unit = np.ldexp(1.0, int(np.frexp(np.abs(row).max())[1]) - bits)
        row[:] = np.round(row / unit) * unit
        term[i] = -0.5 * np.dot(row, row)


def _row_slices(X: RowMatrix) -> Iterator[slice]:
    """Return slices of rows small enough that a float64 copy of one is cheap."""
    step = max(1, 1_000_000 // max(1, X.shape[1]))
    return (slice(first, first + step) for first in range(0, X.shape[0], step))


def _max_row_length(X: RowMatrix, center: FloatArray | None = None) -> int:
    """Return an upper bound on the entries of a row less a centre."""
    if not is_sparse(X):
        return X.shape[1]
    more = 0 if center is None else np.count_nonzero(center)
    return min(X.shape[1], np.diff(X.indptr).max(initial=0) + more)
