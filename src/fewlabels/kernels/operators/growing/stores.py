"""Rows that can be appended to and dropped, and kernel values between them.

A store evaluates values in float64 and keeps none; ``columns`` caches them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from ...._core import functions as core
from ...._typing import AnyArray, FloatArray, IntArray, RealArray, RowMatrix
from ... import Cells, Deformed, FormedKernel, MappedKernel, SharedLeaves
from ...rows import is_sparse, squared_norms
from ..explicit import evaluate_formed
from ..linear import multiply_rows
from ..rows import FarColumns, RowMap, SparseRows, TiledRows, find_far_rows, pack_rows

_Array = TypeVar("_Array", bound=AnyArray)

_FIRST_CAPACITY = 256
_ROWS_AT_A_TIME = 8192


def grow_array(array: _Array, n: int, axis: int = 0, least: int = _FIRST_CAPACITY) -> _Array:
    """Return ``array`` with room for ``n`` along ``axis``: itself, or a copy half as large again.

    A copy has room for ``least`` or more.
    """
    if array.shape[axis] >= n:
        return array
    shape = list(array.shape)
    shape[axis] = max(n, array.shape[axis] + array.shape[axis] // 2, least)
    larger: Any = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, s) for s in array.shape)] = array
    return larger


def check_width(X: RowMatrix, d: int) -> None:
    if X.shape[1] != d:
        raise ValueError(
            f"the new rows have {X.shape[1]} features, the others {d}; they must have the same."
        )


class ValueStore(Protocol):
    """Rows that come and go, and kernel values between them."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    def append(self, X: RowMatrix) -> FloatArray:
        """Add rows, and return their K(x, x)."""

    def keep(self, indices: IntArray) -> None:
        """Drop all rows but these, which are sorted."""

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        """Return columns of K, one in each row of the result."""

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return ``K[rows][:, columns]``."""

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        """Add ``K[:, indices] @ coef`` to ``out``."""


class GrowingTiles(TiledRows):
    """Dense rows in tiles with room for more."""

    def __init__(self, rows: RealArray, term: RealArray) -> None:
        super().__init__(rows, term, core.tile_rows(rows.dtype))
        self._tiles, self._terms = self.tiles, self.term

    def __reduce__(self) -> tuple[type[GrowingTiles], tuple[RealArray, RealArray]]:
        return GrowingTiles, self.rows(np.arange(self.n))

    def append(self, rows: RealArray, term: RealArray) -> None:
        tile, place = np.divmod(np.arange(self.n, self.n + len(rows)), self.width)
        self.n += len(rows)
        n_tiles = max(1, -(-self.n // self.width))
        # Room is counted in tiles here, which hold many rows each.
        least = -(-_FIRST_CAPACITY // self.width)
        self._tiles = grow_array(self._tiles, n_tiles, least=least)
        self._terms = grow_array(self._terms, n_tiles, least=least)
        self._tiles[tile, :, place] = rows
        self._terms[tile, place] = term
        self.tiles, self.term = self._tiles[:n_tiles], self._terms[:n_tiles]

    def keep(self, indices: IntArray) -> None:
        rows = self.rows(indices)
        self.n = 0
        self.append(*rows)


class GrowingSparse(SparseRows):
    """CSR rows with room for more."""

    def __init__(self, rows: sp.csr_array, term: RealArray) -> None:
        super().__init__(rows, term)
        self._buffers = self.core_rows

    def __reduce__(self) -> tuple[type[GrowingSparse], tuple[sp.csr_array, RealArray]]:
        return GrowingSparse, (self.csr.copy(), self.term.copy())

    def append(self, rows: sp.csr_array, term: RealArray) -> None:
        data, indices, indptr, terms = self._buffers
        n, first, used = self.n + len(term), self.csr.nnz, self.csr.nnz + rows.nnz
        data, indices = grow_array(data, used), grow_array(indices, used)
        indptr, terms = grow_array(indptr, n + 1), grow_array(terms, n)
        data[first:used], indices[first:used] = rows.data, rows.indices
        indptr[self.n + 1 : n + 1], terms[self.n : n] = first + rows.indptr[1:], term
        self._buffers = core.CsrRows(data, indices, indptr, terms)
        view = data[:used], indices[:used], indptr[: n + 1]
        self._view(sp.csr_array(view, shape=(n, rows.shape[1])), terms[:n])

    def keep(self, indices: IntArray) -> None:
        self._view(*self.rows(indices))
        self._buffers = self.core_rows


class GrowingFar(FarColumns):
    """Rows far from the centre, with room for more."""

    def __init__(self, kernel: MappedKernel, X: RowMatrix) -> None:
        rows = X.astype(np.float64)
        self._rows: AnyArray | GrowingSparse = rows
        if is_sparse(X):
            self._rows = GrowingSparse(sp.csr_array(rows), np.zeros(X.shape[0]))
        super().__init__(kernel, np.empty(0, np.intp), X[:0].astype(np.float64))

    def append(self, places: IntArray, X: RowMatrix) -> None:
        """Add far rows, at later places."""
        first, n = len(self), len(self) + len(places)
        if isinstance(self._rows, GrowingSparse):
            self._rows.append(sp.csr_array(X, dtype=np.float64), np.zeros(len(places)))
            self.X = self._rows.csr
        else:
            self._rows = grow_array(self._rows, n)
            self._rows[first:n] = X
            self.X = self._rows[:n]
        self.places = np.append(self.places, places)

    def keep(self, indices: IntArray) -> None:
        """Keep those among some of all rows, with their places there."""
        some, rows = self.take(indices), self._rows
        self.places, self._rows = some.places, some.X
        if isinstance(rows, GrowingSparse):
            self._rows = GrowingSparse(some.X, np.zeros(len(some)))
        self.X = some.X


class FeatureStore:
    """Rows of features under a MappedKernel; the first decide the centre, and dense or CSR."""

    def __init__(self, kernel: MappedKernel, X: RowMatrix) -> None:
        self.row_map = RowMap(kernel, X, np.float64)
        self.d, self.sparse = X.shape[1], is_sparse(X)
        rows, term = self.row_map.prepare(X[:0])
        self.rows = GrowingSparse(rows, term) if self.sparse else GrowingTiles(rows, term)
        self.far = GrowingFar(kernel, X[:0])

    @property
    def n(self) -> int:
        return self.rows.n

    def append(self, X: RowMatrix) -> FloatArray:
        check_width(X, self.d)
        if self.sparse and not is_sparse(X):
            X = sp.csr_array(X)
        elif is_sparse(X) and not self.sparse:
            X = X.toarray()
        rows, term = self.row_map.prepare(X)
        far = find_far_rows(self.row_map.kernel, term, self.d)
        if len(far):  # the centre stays, so rows may be however far from it
            self.far.append(self.n + far, X[far])
        self.rows.append(rows, term)
        return self.row_map.kernel.diagonal(X)

    def keep(self, indices: IntArray) -> None:
        self.rows.keep(indices)
        if len(self.far):
            self.far.keep(np.asarray(indices))

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        rows, term = self.rows.rows(indices)
        out = self.rows.columns(self.row_map, rows, term, n_jobs)
        if len(self.far):
            some = self.far.take(np.asarray(indices))
            self.far.set_values(out, some.places, some.X)
        return out

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        left, left_term = self.rows.rows(rows)
        right, right_term = self.rows.rows(columns)
        out = pack_rows(left, left_term).columns(self.row_map, right, right_term, n_jobs)
        if len(self.far):
            far, others = (self.far.take(np.asarray(some)) for some in (rows, columns))
            far.set_values(out, others.places, others.X)
        return out.T

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        rows, term = self.rows.rows(indices)
        apply = partial(self.rows.apply, self.row_map, n_jobs=n_jobs)
        if len(self.far):
            far = self.far.take(np.asarray(indices))
            self.far.add_product(apply, rows, term, coef, out, far.places, far.X)
        else:
            apply(rows, term, coef, out)


class SumStore(FeatureStore):
    """Rows under a weighted sum of a mapped ``base`` kernel and an inner product of features.

    ``kernel.weights_of_sum`` are the weights of the two; features are dense, or CSR.
    """

    def __init__(self, kernel: Deformed | SharedLeaves, X: RowMatrix) -> None:
        super().__init__(kernel.base, X)
        assert kernel.weights_of_sum is not None
        self.kernel, (self.share, self.share_of_features) = kernel, kernel.weights_of_sum
        features: RowMatrix = kernel.features(X[:0])
        self.features: AnyArray | GrowingSparse = (
            GrowingSparse(features, np.zeros(0)) if is_sparse(features) else features
        )

    def append(self, X: RowMatrix) -> FloatArray:
        first, new = self.n, self.kernel.features(X)
        diagonal = self.share * super().append(X)
        if isinstance(self.features, GrowingSparse):
            self.features.append(new, np.zeros(X.shape[0]))
        else:
            self.features = grow_array(self.features, self.n)
            self.features[first : self.n] = new
        return diagonal + self.share_of_features * self._round_shares(squared_norms(new))

    def keep(self, indices: IntArray) -> None:
        super().keep(indices)
        if isinstance(self.features, GrowingSparse):
            self.features.keep(indices)
        else:
            self.features = self.features[indices]

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        return self._add_features(super().columns_of(indices, n_jobs), indices, slice(None))

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        return self._add_features(super().cross(rows, columns, n_jobs), rows, columns)

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        super().add_product(indices, self.share * coef, out, n_jobs)
        own = self._all_features()
        out += own @ (self.share_of_features * (own[indices].T @ coef))

    def _all_features(self) -> RowMatrix:
        """Return the features of all rows."""
        features = self.features
        return features.csr if isinstance(features, GrowingSparse) else features[: self.n]

    def _add_features(
        self, values: FloatArray, rows: IntArray | slice, columns: IntArray | slice
    ) -> FloatArray:
        own = self._all_features()
        inner = self._round_shares(multiply_rows(own[rows], own[columns]))
        return self.share * values + self.share_of_features * inner

    def _round_shares(self, inner: FloatArray) -> FloatArray:
        """Return shares of leaves without rounding: they are whole numbers of trees."""
        if not isinstance(self.kernel, SharedLeaves):
            return inner
        n_trees = len(self.kernel.forest.roots)
        return np.rint(inner * n_trees) / n_trees


class CellStore:
    """Rows under an isolation kernel: the nearest centre of each in every draw."""

    def __init__(self, kernel: Cells, d: int) -> None:
        self.kernel, self.d, self.n = kernel, d, 0
        self._cells = np.empty((0, len(kernel.draws)), np.uint16)

    def append(self, X: RowMatrix) -> FloatArray:
        check_width(X, self.d)
        first, self.n = self.n, self.n + X.shape[0]
        self._cells = grow_array(self._cells, self.n)
        self._cells[first : self.n] = self.kernel.find_nearest(X)
        return self.kernel.diagonal(X)

    def keep(self, indices: IntArray) -> None:
        self._cells = self._cells[indices]
        self.n = len(indices)

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        return self.cross(indices, np.arange(self.n), n_jobs)

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        others = self._cells[columns]
        out = np.empty((len(rows), len(columns)))
        for place, row in enumerate(self._cells[rows]):
            out[place] = (others == row).sum(axis=1)
        out /= len(self.kernel.draws)
        return out

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        for first in range(0, self.n, _ROWS_AT_A_TIME):
            part = np.arange(first, min(first + _ROWS_AT_A_TIME, self.n))
            out[part] += coef @ self.cross(indices, part, n_jobs)


class FormedStore:
    """Rows under a FormedKernel, whose values are formed block by block."""

    def __init__(self, kernel: FormedKernel) -> None:
        self.kernel = kernel
        self.n = 0
        self.X: RowMatrix | None = None

    def append(self, X: RowMatrix) -> FloatArray:
        stack = sp.vstack if is_sparse(X) else np.concatenate
        every = X if self.X is None else stack([self.X, X])
        self.X = sp.csr_array(every) if is_sparse(X) else every
        self.n = every.shape[0]
        rows = (X[[i]] for i in range(X.shape[0]))
        return np.concatenate([evaluate_formed(self.kernel, row, row)[0] for row in rows])

    def keep(self, indices: IntArray) -> None:
        assert self.X is not None
        self.X = self.X[indices]
        self.n = len(indices)

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        assert self.X is not None
        return np.ascontiguousarray(evaluate_formed(self.kernel, self.X, self.X[indices]).T)

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        assert self.X is not None
        return evaluate_formed(self.kernel, self.X[rows], self.X[columns])

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        assert self.X is not None
        out += evaluate_formed(self.kernel, self.X, self.X[indices]) @ coef


class MatrixStore:
    """A kernel matrix given in pieces: rows come with their values against all rows so far.

    ``append`` takes an array of shape (b, n + b): the values of b new rows with the n rows
    before them and with each other.
    """

    def __init__(self) -> None:
        self.n = 0
        self._K = np.zeros((0, 0))

    def append(self, X: RowMatrix) -> FloatArray:
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=float)
        b = X.shape[0]
        if X.shape[1] != self.n + b:
            raise ValueError(
                f"{b} rows of a precomputed kernel need {self.n + b} values each (with the "
                f"{self.n} rows before them and with each other), not {X.shape[1]}."
            )
        n = self.n + b
        self._K = grow_array(grow_array(self._K, n), n, axis=1)
        self._K[self.n : n, :n] = X
        self._K[: self.n, self.n : n] = X[:, : self.n].T
        self.n = n
        return X[np.arange(b), n - b + np.arange(b)]

    def keep(self, indices: IntArray) -> None:
        self._K = self._K[np.ix_(indices, indices)]
        self.n = len(indices)

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        return self._K[indices, : self.n]

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        return self._K[np.ix_(rows, columns)]

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        out += coef @ self._K[indices, : self.n]


class RepeatedStore:
    """Dense rows of features, each of which the inner ``store`` holds once."""

    def __init__(self, store: ValueStore) -> None:
        self.store, self.n = store, 0
        self._group = np.zeros(0, np.int64)  # the distinct row that each is
        self._diagonal = np.zeros(0)  # of the distinct rows
        self._number_of_bytes: dict[bytes, int] = {}  # these by their bytes

    def append(self, X: RowMatrix) -> FloatArray:
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        before, of = self.store.n, np.empty(len(X), np.int64)
        new: list[int] = []
        for k, row in enumerate(X + 0.0):  # one zero
            place = of[k] = self._number_of_bytes.setdefault(row.tobytes(), before + len(new))
            if place == before + len(new):
                new.append(k)
        if new:
            self._diagonal = np.append(self._diagonal, self.store.append(X[new]))
        first, self.n = self.n, self.n + len(X)
        self._group = grow_array(self._group, self.n)
        self._group[first : self.n] = of
        return self._diagonal[of]

    def keep(self, indices: IntArray) -> None:
        used, of = np.unique(self.group_of[indices], return_inverse=True)
        number = dict(zip(used.tolist(), range(len(used)), strict=True))
        self._number_of_bytes = {
            k: number[place] for k, place in self._number_of_bytes.items() if place in number
        }
        self.store.keep(used)
        self._group, self._diagonal, self.n = of, self._diagonal[used], len(of)

    def columns_of(self, indices: IntArray, n_jobs: int) -> FloatArray:
        distinct, which = np.unique(self.group_of[indices], return_inverse=True)
        return self.store.columns_of(distinct, n_jobs)[which].take(self.group_of, axis=1)

    def cross(self, rows: IntArray, columns: IntArray, n_jobs: int) -> FloatArray:
        """Return K[rows][:, columns]."""
        left, of_rows = np.unique(self.group_of[rows], return_inverse=True)
        right, of_columns = np.unique(self.group_of[columns], return_inverse=True)
        return self.store.cross(left, right, n_jobs)[np.ix_(of_rows, of_columns)]

    def add_product(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, n_jobs: int
    ) -> None:
        distinct, which = np.unique(self.group_of[indices], return_inverse=True)
        part = np.zeros(self.store.n)
        sums: AnyArray = np.bincount(which, coef)
        self.store.add_product(distinct, sums, part, n_jobs)
        out += part[self.group_of]

    @property
    def group_of(self) -> IntArray:
        """The distinct row that each row is a copy of."""
        return self._group[: self.n]
