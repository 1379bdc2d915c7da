"""Rows prepared for compiled code, the precision of their kernel values, and their matrices.

Compiled code evaluates ``map(row_term + column_term + <row, column>)``. For the RBF kernel the
rows are scaled by sqrt(2 gamma log2 e) and the terms are minus half the squared norms, so that the
sum is -gamma ||x - z||^2 log2 e and the map is 2^z (``RowMap``).

Terms as large as squared norms cancel. Between rows that are far from the centre, values under a
kernel of distances therefore come from differences of the rows as they were given
(``FarColumns``). Other pairs keep their digits, see ``compute_far_exponent``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._core import functions as core
from ..._typing import AnyArray, FloatArray, IntArray, RealArray, RowMatrix
from ..._util.threads import run_ranges
from ..base import Map, MappedKernel
from ..rows import (
    bound_rounding_of_differences,
    canonical,
    center_of,
    centered,
    compute_far_exponent,
    direct_distances,
    distinct,
    squared_norms,
)
from .base import Columns, GramOperator

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
# Distinct rows whose kernel values are float64, at most: it costs milliseconds.
MAX_ROWS_IN_FLOAT64 = 1024
# The same under a similarity, where this share of the rows may be enough: only the values of rows
# that a solver meets are evaluated.
MAX_LAZY_ROWS_IN_FLOAT64 = 2048
MAX_LAZY_SHARE = 0.3
# Half the largest squared norm: float32 ends at 3e38, float64 at 2e308.
_MAX_TERM = {_FLOAT32: 1e36, _FLOAT64: 1e290}
# Half the squared norm beyond which sums of float64 round exponents by more than a hundredth.
_EXACT_TERM_LIMIT = 1e14
# Rounding of norms that decides on neither side of a limit.
_NORM_ROUNDING = 1e-6
# The maps that compiled code has.
_MAPS = frozenset(Map)


def choose_precision(
    kernel: MappedKernel,
    largest_norm: float,
    row_length: int,
    n_rows: int,
    min_support: float | None,
) -> np.dtype[Any]:
    """Return the precision of kernel values: float32, which is faster, or float64.

    This is decided here alone, for rows in memory and in shards. Values are float64

    - where float32 could be wrong by more than 1e-5 of a value, which depends on the kernel, the
      largest norm and the number of entries (``MappedKernel.rounding``), and
    - between few rows to train on, where it costs little. The solver then treats all rows as one
      working set, and finishes to rounding.

    Exact updates always need float64: they pass the ``dtype`` and leave no choice.

    Parameters
    ----------
    kernel : MappedKernel
        The kernel.
    largest_norm : float
        Largest squared norm of a row (around the centre, for a kernel of distances).
    row_length : int
        Entries of a row, at most.
    n_rows : int
        Distinct rows.
    min_support : float or None
        Share of the rows that are support vectors at least (``Formulation.min_support``); None for
        rows that are not trained on.

    Returns
    -------
    dtype
    """
    if min_support is not None:
        is_lazy = kernel.is_similarity and min_support <= MAX_LAZY_SHARE
        if n_rows <= (MAX_LAZY_ROWS_IN_FLOAT64 if is_lazy else MAX_ROWS_IN_FLOAT64):
            return _FLOAT64
    return _FLOAT32 if kernel.rounding(largest_norm, row_length)[1] else _FLOAT64


class RowMap:
    """A map from raw rows to prepared rows, for one ``kernel``, centre and precision.

    The rows ``X``, of which ``n_rows`` are distinct (None for all), decide the centre and, for
    ``dtype=None``, the precision, for which a solution uses at least the share ``min_support`` of
    them (``choose_precision``). ``has_far`` says whether rows may be so
    far from the centre that their distances have to come from differences (``find_far_rows``).
    """

    kernel: MappedKernel
    center: FloatArray | None
    dtype: np.dtype[Any]
    error_units: float  # of a kernel value, in units of the last place
    has_far: bool
    n_columns: int

    def __init__(
        self,
        kernel: MappedKernel,
        X: RowMatrix,
        dtype: npt.DTypeLike | None = None,
        *,
        n_rows: int | None = None,
        min_support: float | None = None,
    ) -> None:
        n_rows = X.shape[0] if n_rows is None else n_rows
        # Distances do not change when all rows move; small norms cancel less.
        self._set_kernel(kernel, center_of(X) if kernel.of_distance else None)
        largest, length = self._find_largest_norm(X), _max_row_length(X, self.center)
        self._set_precision(largest, length, X.shape[1], n_rows, min_support, dtype)
        if self.has_far and isinstance(X, np.ndarray):  # the mean may be far from most rows
            self.center = find_median_row(X)
            self.has_far = self._reaches_far(self._find_largest_norm(X))

    @classmethod
    def from_largest_norm(
        cls,
        kernel: MappedKernel,
        center: FloatArray | None,
        farthest: float,
        row_length: int,
        n_columns: int,
        n_rows: int,
        min_support: float | None,
    ) -> RowMap:
        """Return the map of rows that aren't in memory, from their largest squared norm."""
        row_map = cls.__new__(cls)
        row_map._set_kernel(kernel, center)
        row_map._set_precision(farthest, row_length, n_columns, n_rows, min_support)
        return row_map

    @classmethod
    def restore(
        cls, kernel: MappedKernel, center: FloatArray | None, dtype: npt.DTypeLike
    ) -> RowMap:
        """Return the map of a fitted model, from what it stores."""
        row_map = cls.__new__(cls)
        row_map._set_kernel(kernel, center)
        # Of rows that are not there any more.
        row_map.error_units, row_map.has_far = np.nan, kernel.of_distance
        row_map.dtype = np.dtype(dtype)
        return row_map

    def _set_kernel(self, kernel: MappedKernel, center: FloatArray | None) -> None:
        if kernel.map not in _MAPS:
            raise ValueError(
                f"{type(kernel).__name__}.map is {kernel.map!r}, which isn't compiled; choose one "
                f"of {', '.join(map(str, Map.__members__))}, or add it to the core."
            )
        self.kernel, self.center = kernel, center
        self.kind, self.degree, self.factor = int(kernel.map), kernel.degree, kernel.factor

    def _set_precision(
        self,
        largest_norm: float,
        row_length: int,
        n_columns: int,
        n_rows: int,
        min_support: float | None,
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        self.n_columns = n_columns
        self.error_units, _ = self.kernel.rounding(largest_norm, row_length)
        self.has_far = self._reaches_far(largest_norm)
        if dtype is None:
            dtype = choose_precision(self.kernel, largest_norm, row_length, n_rows, min_support)
        self.dtype = np.dtype(dtype)

    @property
    def value_error(self) -> float:
        """Rounding error of a kernel value, relative to ``sqrt(K(x, x) K(z, z))``."""
        # In float64 the norms round as well; norms of float32 rows are summed in float64.
        if self.dtype != np.float64:
            return self.error_units * 1.2e-7
        error = self.error_units * 4.5e-16
        return min(error, bound_rounding_of_differences(self.n_columns)) if self.has_far else error

    def refined(self) -> RowMap:
        """Return this map in float64."""
        if self.dtype == np.float64:
            return self
        other = copy.copy(self)
        other.dtype = _FLOAT64
        return other

    def _find_largest_norm(self, X: RowMatrix) -> float:
        """Return the largest squared norm of a row around the centre."""
        largest = 0.0
        for part in _row_slices(X):
            norms = squared_norms(centered(X[part], self.center))
            largest = max(largest, float(norms.max(initial=0.0)))
        return largest

    def _reaches_far(self, largest_norm: float) -> bool:
        """Return whether rows of so large a squared norm may be far (``compute_far_exponent``)."""
        if not self.kernel.of_distance:
            return False
        limit = (1.0 - _NORM_ROUNDING) * compute_far_exponent(self.n_columns)
        return 0.5 * self.factor**2 * largest_norm > limit

    def prepare(self, X: RowMatrix) -> tuple[RowMatrix, RealArray]:
        """Return scaled rows (in ``dtype``, dense or CSR) and their term, shape (n,)."""
        rows: RowMatrix
        if isinstance(X, np.ndarray):
            rows = np.empty(X.shape, self.dtype)
            with np.errstate(over="ignore"):  # what is infinite is out of reach, see below
                for part in _row_slices(X):
                    given = X[part].astype(np.float64, copy=False)
                    given = given if self.center is None else given - self.center
                    rows[part] = self.factor * given
        else:
            rows = sp.csr_array(centered(canonical(X), self.center), copy=True)
            with np.errstate(over="ignore"):
                rows.data = (rows.data * self.factor).astype(self.dtype)
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
        norms = core.squared_norms if exact else squared_norms
        term, farthest = -0.5 * norms(rows), _MAX_TERM[self.dtype]
        least = term.min(initial=0.0)
        if least < -farthest:
            # Nothing is near such a row; its norm would overflow.
            entries = rows if isinstance(rows, np.ndarray) else rows.data
            np.clip(entries, -(farthest**0.5), farthest**0.5, out=entries)
            term = -0.5 * norms(rows) if exact else np.maximum(term, -farthest)
        elif least < -_EXACT_TERM_LIMIT and exact:
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
        if isinstance(rows, np.ndarray):
            row = rows[i]
        else:
            row = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        unit = np.ldexp(1.0, int(np.frexp(np.abs(row).max())[1]) - bits)
        row[:] = np.round(row / unit) * unit
        term[i] = -0.5 * np.dot(row, row)


def _row_slices(X: RowMatrix) -> Iterator[slice]:
    """Return slices of rows small enough that a float64 copy of one is cheap."""
    step = max(1, 1_000_000 // max(1, X.shape[1]))
    return (slice(first, first + step) for first in range(0, X.shape[0], step))


def _max_row_length(X: RowMatrix, center: FloatArray | None = None) -> int:
    """Return an upper bound on the entries of a row less a centre."""
    if isinstance(X, np.ndarray):
        return X.shape[1]
    more = 0 if center is None else np.count_nonzero(center)
    return min(X.shape[1], np.diff(X.indptr).max(initial=0) + more)


def find_far_rows(kernel: MappedKernel, term: RealArray, n_columns: int) -> NDArray[np.intp]:
    """Return the places of rows beyond reach of expanded distances, from their terms.

    Parameters
    ----------
    kernel : MappedKernel
        The kernel.
    term : ndarray of shape (n_rows,)
        Terms of prepared rows.
    n_columns : int
        Number of columns.

    Returns
    -------
    ndarray of int
    """
    if not kernel.of_distance or not len(term):
        return np.empty(0, np.intp)
    limit = -compute_far_exponent(n_columns)
    return np.flatnonzero(term < limit) if term.min() < limit else np.empty(0, np.intp)


def evaluate_directly(
    kernel: MappedKernel, X: RowMatrix, Z: RowMatrix, n_jobs: int = 1
) -> FloatArray:
    """Return kernel values from differences of rows as they were given, shape (len(Z), len(X))."""
    with np.errstate(over="ignore", under="ignore"):
        distances = direct_distances(X, Z, n_jobs)
        return kernel.mapped(np, -0.5 * kernel.factor**2 * distances)


class FarColumns:
    """Kernel values between far rows, put in the place of what expanded distances gave.

    Parameters
    ----------
    kernel : MappedKernel
        The kernel, of distances.
    places : ndarray of int
        Places of the far rows in the matrix.
    X : {ndarray, sparse} of shape (len(places), n_columns)
        These rows as they were given.
    n_jobs : int, default=1
        Threads.
    """

    def __init__(
        self, kernel: MappedKernel, places: IntArray, X: RowMatrix, n_jobs: int = 1
    ) -> None:
        self.kernel, self.places, self.X, self.n_jobs = kernel, places, X, n_jobs

    def __len__(self) -> int:
        return len(self.places)

    def values(self, Z: RowMatrix) -> FloatArray:
        """Return values of far columns ``Z`` at the far rows, shape (len(Z), len(self))."""
        return evaluate_directly(self.kernel, self.X, Z, self.n_jobs)

    def set_values(self, out: RealArray, columns: IntArray, Z: RowMatrix) -> None:
        """Set the values of far columns, which are ``Z``, in ``out``, a column in every row."""
        if len(columns) and len(self):
            out[np.ix_(columns, self.places)] = self.values(Z)

    def add_product(
        self,
        apply: Callable[[RowMatrix, RealArray, FloatArray, FloatArray], None],
        rows: RowMatrix,
        term: RealArray,
        coef: FloatArray,
        out: FloatArray,
        columns: IntArray,
        Z: RowMatrix,
    ) -> None:
        """Add products of columns with coefficients to ``out``.

        Parameters
        ----------
        apply : callable
            ``apply(rows, term, coef, out)`` adds them as expanded distances give them.
        rows, term, coef : arrays
            Prepared columns, their terms and coefficients.
        out : ndarray of shape (n,)
            Sums to add to.
        columns, Z : ndarray of int, and {ndarray, sparse}
            Places of the far ones among the columns, and these rows as they were given.
        """
        if not len(columns) or not len(self):
            apply(rows, term, coef, out)
            return
        near = np.delete(np.arange(len(term)), columns)
        if len(near):
            apply(rows[near], term[near], coef[near], out)
        sums = out[self.places] + coef[columns] @ self.values(Z)
        apply(rows[columns], term[columns], coef[columns], out)
        out[self.places] = sums

    def take(self, indices: IntArray) -> FarColumns:
        """Return the far ones among some rows, with their places there."""
        number = np.full(int(max(indices.max(initial=-1), self.places.max(initial=-1))) + 1, -1)
        number[self.places] = np.arange(len(self))
        far_number = number[indices]
        places = np.flatnonzero(far_number >= 0)
        return FarColumns(self.kernel, places, self.X[far_number[places]], self.n_jobs)


_MIN_SPARSE_WORK_FOR_THREADS = 200_000
# Rows that a thread takes at least.
_ROWS_AT_A_TIME = 256
# Bytes of dense columns that stay close to the processor (level 2 cache).
_CACHE_BYTES = 1 << 19


class SparseRows:
    """Prepared CSR rows that columns can be evaluated against, a group at a time."""

    def __init__(self, rows: sp.csr_array, term: RealArray) -> None:
        self._view(rows, term)

    def _view(self, rows: sp.csr_array, term: RealArray) -> None:
        self.csr, self.term, self.n = rows, term, rows.shape[0]
        self.core_rows = core.CsrRows(
            rows.data,
            rows.indices.astype(np.int64, copy=False),
            rows.indptr.astype(np.int64, copy=False),
            term,
        )

    def rows(self, indices: IntArray) -> tuple[sp.csr_array, RealArray]:
        return self.csr[indices], self.term[indices]

    def all_rows(self) -> tuple[sp.csr_array, RealArray]:
        """Return all prepared rows and their terms."""
        return self.csr, self.term

    def _each_column_group(
        self, columns: sp.csr_array, column_term: RealArray, constant: float
    ) -> Iterator[tuple[slice, RealArray, RealArray]]:
        """Yield (slice of columns, dense interleaved columns, their terms)."""
        m = columns.shape[0]
        width = self._choose_width(m)
        lanes = np.zeros((self.csr.shape[1], width), self.csr.dtype)
        for first in range(0, m, width):
            last = min(m, first + width)
            entries = slice(*columns.indptr[[first, last]])
            feature, lengths = columns.indices[entries], np.diff(columns.indptr[first : last + 1])
            lane = np.repeat(np.arange(last - first), lengths)
            lanes[feature, lane] = columns.data[entries]
            lane_term = np.zeros(width, self.csr.dtype)
            lane_term[: last - first] = column_term[first:last] + constant
            yield slice(first, last), lanes, lane_term
            lanes[feature, lane] = 0.0

    def _choose_width(self, m: int) -> int:
        """Return the columns in a group: many share the walk over a row, but fill the cache."""
        if m <= 1:
            return 1
        close = _CACHE_BYTES // (
            self.csr.dtype.itemsize * max(1, min(self.csr.shape[1], self.csr.nnz))
        )
        return core.whole_vectors(min(m, close, core.LANES), self.csr.dtype)

    def _run(self, function: Callable[[int, int], None], width: int, n_jobs: int) -> None:
        work = (self.csr.nnz + self.n) * width

        def run_blocks(start: int, stop: int) -> None:
            function(start * _ROWS_AT_A_TIME, min(self.n, stop * _ROWS_AT_A_TIME))

        n_jobs = n_jobs if work > _MIN_SPARSE_WORK_FOR_THREADS else 1
        run_ranges(run_blocks, -(-self.n // _ROWS_AT_A_TIME), n_jobs)

    def apply(
        self,
        row_map: RowMap,
        columns: sp.csr_array,
        column_term: RealArray,
        coef: FloatArray,
        out: FloatArray,
        n_jobs: int,
    ) -> None:
        """Add ``K(rows, columns) @ coef`` to ``out``, float64 of shape (n,)."""
        groups = self._each_column_group(columns, column_term, row_map.kernel.coef0)
        for part, lanes, lane_term in groups:
            weights = np.zeros(len(lane_term))
            weights[: part.stop - part.start] = coef[part]
            fixed = (row_map, self.core_rows, core.ColumnRows(lanes, lane_term), weights, out)
            function = partial(core.apply_sparse, *fixed)
            self._run(function, len(lane_term), n_jobs)

    def columns(
        self,
        row_map: RowMap,
        columns: sp.csr_array,
        column_term: RealArray,
        n_jobs: int,
        out: RealArray | None = None,
    ) -> AnyArray:
        """Return ``K(rows, columns)``, one column per row of the result."""
        if out is None:
            out = np.empty((columns.shape[0], self.n), self.csr.dtype)
        groups = self._each_column_group(columns, column_term, row_map.kernel.coef0)
        for part, lanes, lane_term in groups:
            fixed = (row_map, self.core_rows, core.ColumnRows(lanes, lane_term), out[part])
            function = partial(core.column_sparse, *fixed)
            self._run(function, len(lane_term), n_jobs)
        return out


# Below this many multiply-adds a second thread costs more than it saves.
_MIN_WORK_FOR_THREADS = 8_000_000


class TiledRows:
    """Prepared dense rows, packed feature-major, that columns can be evaluated against.

    In tiles of one ``width``: without it, just as wide as the rows need.
    """

    def __init__(self, rows: RealArray, term: RealArray, width: int | None = None) -> None:
        self.n, self.d = rows.shape
        self.width = width or core.choose_tile_width(self.n, rows.dtype)
        n_tiles = max(1, -(-self.n // self.width))
        self.tiles = np.zeros((n_tiles, self.d, self.width), rows.dtype)
        whole = self.n // self.width
        cut = whole * self.width
        self.tiles[:whole] = rows[:cut].reshape(whole, self.width, self.d).transpose(0, 2, 1)
        if cut < self.n:
            self.tiles[whole, :, : self.n - cut] = rows[cut:].T
        self.term = np.zeros((n_tiles, self.width), rows.dtype)
        self.term.reshape(-1)[: self.n] = term

    def rows(self, indices: IntArray) -> tuple[RealArray, RealArray]:
        """Gather prepared rows and their terms, row-major."""
        tile, place = np.divmod(indices, self.width)
        return np.ascontiguousarray(self.tiles[tile, :, place]), self.term[tile, place]

    def all_rows(self) -> tuple[RealArray, RealArray]:
        """Return all prepared rows and their terms."""
        rows = self.tiles.transpose(0, 2, 1).reshape(-1, self.d)[: self.n]
        return np.ascontiguousarray(rows), self.term.reshape(-1)[: self.n]

    def choose_threads(self, n_columns: int, n_jobs: int) -> int:
        work = self.n * n_columns * (self.d + 16)
        return n_jobs if work > _MIN_WORK_FOR_THREADS else 1

    def apply(
        self,
        row_map: RowMap,
        columns: RealArray,
        column_term: RealArray,
        coef: FloatArray,
        out: FloatArray,
        n_jobs: int,
    ) -> None:
        """Add ``K(rows, columns) @ coef`` to ``out``, float64 of shape (n,)."""
        coef = np.ascontiguousarray(coef, np.float64)
        rows = core.Tiles(self.tiles, self.term, self.n)
        fixed = (row_map, rows, core.ColumnRows(columns, column_term), coef, out)
        n_jobs = self.choose_threads(len(columns), n_jobs)
        run_ranges(partial(core.apply_tiles, *fixed), len(self.tiles), n_jobs)

    def columns(
        self,
        row_map: RowMap,
        columns: RealArray,
        column_term: RealArray,
        n_jobs: int,
        out: RealArray | None = None,
    ) -> AnyArray:
        """``K(rows, columns)``, one column per row of the result."""
        if out is None:
            out = np.empty((len(columns), self.n), self.tiles.dtype)
        rows = core.Tiles(self.tiles, self.term, self.n)
        fixed = (row_map, rows, core.ColumnRows(columns, column_term), out)
        n_jobs = self.choose_threads(len(columns), n_jobs)
        run_ranges(partial(core.column_tiles, *fixed), len(self.tiles), n_jobs)
        return out


def pack_rows(rows: RowMatrix, term: RealArray) -> SparseRows | TiledRows:
    """Return prepared rows in the form that columns are evaluated against."""
    return TiledRows(rows, term) if isinstance(rows, np.ndarray) else SparseRows(rows, term)


class PreparedVectors:
    """Rows ``vectors``, prepared once, that a function at any other rows is a sum over."""

    def __init__(self, row_map: RowMap, vectors: RowMatrix, n_jobs: int) -> None:
        self.row_map, self.vectors, self.n_jobs = row_map, vectors, n_jobs
        self.rows, self.term = row_map.prepare(vectors)
        self.far = find_far_rows(row_map.kernel, self.term, vectors.shape[1])

    def add_values(self, X: RowMatrix, coef: FloatArray, out: FloatArray) -> None:
        """Add ``K(X, vectors) @ coef`` to ``out``, or a column for every row of ``coef``."""
        rows, row_term = self.row_map.prepare(X)
        columns = _store_like(self.rows, rows)
        packed, far = pack_rows(rows, row_term), None
        if len(self.far):
            places = find_far_rows(self.row_map.kernel, row_term, X.shape[1])
            if len(places):
                far = FarColumns(self.row_map.kernel, places, X[places], self.n_jobs)
        if coef.ndim == 1:
            apply = partial(packed.apply, self.row_map, n_jobs=self.n_jobs)
            if far is None:
                apply(columns, self.term, coef, out)
            else:
                far_vectors = _store_like(self.vectors[self.far], X)
                far.add_product(apply, columns, self.term, coef, out, self.far, far_vectors)
        else:
            values = packed.columns(self.row_map, columns, self.term, self.n_jobs)
            if far is not None:
                far.set_values(values, self.far, _store_like(self.vectors[self.far], X))
            out += np.einsum("ji,kj->ik", values, coef)


def _store_like(rows: RowMatrix, others: RowMatrix) -> RowMatrix:
    """Return rows as an array or as a CSR array, as others are."""
    if isinstance(rows, np.ndarray):
        return rows if isinstance(others, np.ndarray) else sp.csr_array(rows)
    return rows.toarray() if isinstance(others, np.ndarray) else rows


class RowsGram(GramOperator):
    """Kernel matrix of raw rows ``X``: of the whole matrix, if this is a part of one; ``n_jobs``.

    ``row_map`` gives kernel, centre and precision; ``part`` is what a part of a matrix has
    already: (rows, term), diagonal, indices into X. ``far`` are its rows that are evaluated by
    differences; None finds them.
    """

    def __init__(
        self,
        row_map: RowMap,
        X: RowMatrix,
        n_jobs: int = 1,
        *,
        part: tuple[tuple[RowMatrix, RealArray], FloatArray, IntArray | None] | None = None,
        far: FarColumns | None = None,
    ) -> None:
        if part is None:
            part = row_map.prepare(X), row_map.kernel.diagonal(X), None
        (rows, term), self._diagonal, self._index = part
        super().__init__(rows.shape[0], n_jobs)
        self.row_map = row_map
        self.dtype = row_map.dtype
        self.is_inner_product = row_map.kernel.is_inner_product
        self.value_error = row_map.value_error
        if isinstance(rows, np.ndarray):
            self.value_cost = rows.shape[1]
        else:
            self.value_cost = rows.nnz / max(1, self.n)
        self._X = X
        self._packed = pack_rows(rows, term)
        self._float64_map = row_map.refined()
        self._far = self._find_far_rows(term) if far is None else far

    def diagonal(self) -> FloatArray:
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        # In float64, from the raw rows if need be: blocks decide the steps, and cost little.
        indices = np.asarray(indices)
        if self.dtype == np.float64:
            values = self._packed.rows(indices)
        else:
            values = self._float64_map.prepare(self._X[self._raw_index(indices)])
        if self.row_map.has_far:  # rows as they were given, for differences
            values = *values, self._X[self._raw_index(indices)]
        return Columns(indices, values)

    def values_of(self, columns: Columns) -> RealArray:
        return self._evaluate(columns)

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        rows, term = columns.values[:2]
        out = pack_rows(rows, term).columns(self._float64_map, rows, term, self.n_jobs)
        if self.row_map.has_far:
            far, X = self._select_far(columns)
            FarColumns(self.row_map.kernel, far, X, self.n_jobs).set_values(out, far, X)
        return out

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        self.n_values += len(columns) * self.n
        rows, term = self.row_map.round_rows(*columns.values[:2])
        if not len(self._far):
            self._packed.apply(self.row_map, rows, term, coef, out, self.n_jobs)
            return
        apply = partial(self._packed.apply, self.row_map, n_jobs=self.n_jobs)
        self._far.add_product(apply, rows, term, coef, out, *self._select_far(columns))

    def take(self, indices: IntArray) -> RowsGram:
        indices = np.asarray(indices)
        part = self._packed.rows(indices), self._diagonal[indices], self._raw_index(indices)
        far = self._far.take(indices) if len(self._far) else self._far
        return RowsGram(self.row_map, self._X, self.n_jobs, part=part, far=far)

    def columns(self, indices: IntArray, out: RealArray | None = None) -> RealArray:
        return self._evaluate(self.gather(indices), out)

    def whole(self) -> FloatArray:
        if self.dtype != np.float64:
            return super().whole()
        self.n_values += self.n**2
        rows, term = self._packed.all_rows()
        out = self._packed.columns(self.row_map, rows, term, self.n_jobs)
        self._far.set_values(out, self._far.places, self._far.X)
        return out

    def refined(self) -> RowsGram | None:
        if self.dtype == np.float64:
            return None
        X = self._X if self._index is None else self._X[self._index]
        return RowsGram(self._float64_map, X, self.n_jobs)

    def _evaluate(self, columns: Columns, out: RealArray | None = None) -> RealArray:
        self.n_values += len(columns) * self.n
        rows, term = self.row_map.round_rows(*columns.values[:2])
        out = self._packed.columns(self.row_map, rows, term, self.n_jobs, out)
        if len(self._far):
            self._far.set_values(out, *self._select_far(columns))
        return out

    def _find_far_rows(self, term: RealArray) -> FarColumns:
        places = np.empty(0, np.intp)
        if self.row_map.has_far:
            places = find_far_rows(self.row_map.kernel, term, self._X.shape[1])
        X = self._X[self._raw_index(places)]
        return FarColumns(self.row_map.kernel, places, X, self.n_jobs)

    def _select_far(self, columns: Columns) -> tuple[IntArray, RowMatrix]:
        """Return places of far columns, and these rows as they were given."""
        _, term, X = columns.values
        far = find_far_rows(self.row_map.kernel, term, X.shape[1])
        return far, X[far]

    def _raw_index(self, indices: IntArray) -> IntArray:
        """Return indices into the raw rows."""
        return indices if self._index is None else self._index[indices]
