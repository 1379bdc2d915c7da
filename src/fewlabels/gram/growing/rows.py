"""Rows that can be appended to and dropped, and kernel values between them.

A store evaluates values in float64 and keeps none; ``growing.py`` caches columns.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..tiles import _columns, _tiles
from ..tiles.dense import TiledRows
from ..tiles.features import RowMap

_FIRST_CAPACITY = 256


def grown(array, n, axis=0):
    """``array`` with room for ``n`` along ``axis``: itself, or a copy half as large again."""
    if array.shape[axis] >= n:
        return array
    shape = list(array.shape)
    shape[axis] = max(n, array.shape[axis] + array.shape[axis] // 2, _FIRST_CAPACITY)
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, s) for s in array.shape)] = array
    return larger


class DenseStore(TiledRows):
    """Dense rows in tiles with room for more.

    Parameters
    ----------
    kernel : RBF, Polynomial or Sigmoid
        The kernel.
    X : ndarray of shape (n, d)
        First rows; they decide the centre.
    """

    sparse = False

    def __init__(self, kernel, X):
        self.row_map = RowMap(kernel, X, np.float64)
        self.n, self.d = 0, X.shape[1]
        self._all_tiles = np.zeros((1, self.d, _tiles.TILE))
        self._all_terms = np.zeros((1, _tiles.TILE))
        self._view()

    def __getstate__(self):
        state = self.__dict__.copy()
        for name in ("tiles", "term"):  # views
            del state[name]
        state["_all_tiles"], state["_all_terms"] = self.tiles, self.term
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._view()

    def _view(self):
        used = max(1, -(-self.n // _tiles.TILE))
        self.tiles, self.term = self._all_tiles[:used], self._all_terms[:used]

    def append(self, X):
        if X.shape[1] != self.d:
            raise ValueError(
                f"the new rows have {X.shape[1]} features, the others {self.d}; "
                "they must have the same."
            )
        rows, term = self.row_map.prepare(X.toarray() if sp.issparse(X) else X)
        self._put(rows, term)
        return self.row_map.diagonal(X)

    def _put(self, rows, term):
        place = np.arange(self.n, self.n + len(rows))
        self.n += len(rows)
        n_tiles = -(-self.n // _tiles.TILE)
        self._all_tiles = grown(self._all_tiles, n_tiles)
        self._all_terms = grown(self._all_terms, n_tiles)
        tile, place = np.divmod(place, _tiles.TILE)
        self._all_tiles[tile, :, place] = rows
        self._all_terms[tile, place] = term
        self._view()

    def keep(self, indices):
        rows, term = self.rows(indices)
        self.n = 0
        self._put(rows, term)

    def columns_of(self, indices, n_jobs):
        return self.columns(self.row_map, *self.rows(indices), n_jobs)

    def cross(self, rows, columns, n_jobs):
        """K[rows][:, columns]."""
        packed = TiledRows(*self.rows(rows))
        return packed.columns(self.row_map, *self.rows(columns), n_jobs).T

    def add_product(self, indices, coef, out, n_jobs):
        self.apply(self.row_map, *self.rows(indices), coef, out, n_jobs)


class SparseStore:
    """CSR rows with room for more; the cost follows the stored entries.

    Parameters
    ----------
    kernel : RBF, Polynomial or Sigmoid
        The kernel.
    X : CSR array of shape (n, d)
        First rows.
    """

    sparse = True
    _WIDTH = 16

    def __init__(self, kernel, X):
        self.row_map = RowMap(kernel, X, np.float64)
        self.n, self.d = 0, X.shape[1]
        self._data = np.zeros(0)
        self._indices = np.zeros(0, np.int64)
        self._indptr = np.zeros(1, np.int64)
        self._term = np.zeros(0)

    def append(self, X):
        if X.shape[1] != self.d:
            raise ValueError(
                f"the new rows have {X.shape[1]} features, the others {self.d}; "
                "they must have the same."
            )
        rows, term = self.row_map.prepare(sp.csr_array(X))
        first, used = self._indptr[self.n], self._indptr[self.n] + rows.nnz
        self._data = grown(self._data, used)
        self._indices = grown(self._indices, used)
        self._indptr = grown(self._indptr, self.n + len(term) + 1)
        self._term = grown(self._term, self.n + len(term))
        self._data[first:used] = rows.data
        self._indices[first:used] = rows.indices
        self._indptr[self.n + 1 : self.n + len(term) + 1] = first + rows.indptr[1:]
        self._term[self.n : self.n + len(term)] = term
        self.n += len(term)
        return self.row_map.diagonal(X)

    def keep(self, indices):
        length = np.diff(self._indptr)[indices]
        start = np.repeat(self._indptr[indices], length)
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        self._data = self._data[start + within]
        self._indices = self._indices[start + within]
        self._indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        self._term = self._term[indices]
        self.n = len(indices)

    def _evaluate(self, rows, row_term, columns):
        """Values of the CSR arrays ``rows`` with the rows ``columns``, one column a row."""
        out = np.empty((len(columns), len(row_term)))
        width = min(self._WIDTH, max(1, len(columns)))
        lanes = np.zeros((self.d, width))
        kind, degree = self.row_map.kind, self.row_map.degree
        for first in range(0, len(columns), width):
            group = columns[first : first + width]
            _columns.fill_lanes(self._data, self._indices, self._indptr, group, lanes)
            lane_term = np.zeros(width)
            lane_term[: len(group)] = self._term[group] + self.row_map.column_constant
            _tiles.column_sparse(
                kind, degree, rows, row_term, lanes, lane_term, out[first : first + width],
                0, -(-len(row_term) // _tiles.TILE),
            )  # fmt: skip
            _columns.clear_lanes(self._indices, self._indptr, group, lanes)
        return out

    def _arrays(self):
        used = self._indptr[self.n]
        return self._data[:used], self._indices[:used], self._indptr[: self.n + 1]

    def columns_of(self, indices, n_jobs):
        return self._evaluate(self._arrays(), self._term[: self.n], np.asarray(indices))

    def cross(self, rows, columns, n_jobs):
        """K[rows][:, columns]."""
        part = SparseStore.__new__(SparseStore)
        part.__dict__.update(self.__dict__)
        part.keep(np.asarray(rows))
        return self._evaluate(part._arrays(), part._term, np.asarray(columns)).T

    def add_product(self, indices, coef, out, n_jobs):
        for first in range(0, len(indices), 64 * self._WIDTH):
            part = slice(first, first + 64 * self._WIDTH)
            out += coef[part] @ self.columns_of(indices[part], n_jobs)


class FunctionStore:
    """Rows under a user's function, which is called on blocks of rows.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns an array of shape (len(X), len(Z)).
    """

    sparse = False

    def __init__(self, function):
        self.function = function
        self.n = 0
        self.X = None

    def append(self, X):
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        self.X = X if self.X is None else stack([self.X, X])
        if sp.issparse(X):
            self.X = sp.csr_array(self.X)
        self.n = self.X.shape[0]
        return np.concatenate([self._values(r, r)[0] for r in (X[[i]] for i in range(X.shape[0]))])

    def _values(self, X, Z):
        values = self.function(X, Z)
        values = values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)
        if values.shape != (X.shape[0], Z.shape[0]) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape}, or values that "
                f"are not finite, for {X.shape[0]} and {Z.shape[0]} rows; it must return finite "
                f"numbers of shape ({X.shape[0]}, {Z.shape[0]})."
            )
        return values

    def keep(self, indices):
        self.X = self.X[indices]
        self.n = len(indices)

    def columns_of(self, indices, n_jobs):
        return np.ascontiguousarray(self._values(self.X, self.X[indices]).T)

    def cross(self, rows, columns, n_jobs):
        """K[rows][:, columns]."""
        return self._values(self.X[rows], self.X[columns])

    def add_product(self, indices, coef, out, n_jobs):
        out += self._values(self.X, self.X[indices]) @ coef


class MatrixStore:
    """A kernel matrix given in pieces: rows come with their values against all rows so far.

    ``append`` takes an array of shape (b, n + b): the values of b new rows with the n rows
    before them and with each other.
    """

    sparse = False

    def __init__(self):
        self.n = 0
        self._K = np.zeros((0, 0))

    def append(self, X):
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
        b = X.shape[0]
        if X.shape[1] != self.n + b:
            raise ValueError(
                f"{b} rows of a precomputed kernel need {self.n + b} values each (with the "
                f"{self.n} rows before them and with each other), not {X.shape[1]}."
            )
        n = self.n + b
        self._K = grown(grown(self._K, n), n, axis=1)
        self._K[self.n : n, :n] = X
        self._K[: self.n, self.n : n] = X[:, : self.n].T
        self.n = n
        return X[np.arange(b), n - b + np.arange(b)]

    def keep(self, indices):
        self._K = self._K[np.ix_(indices, indices)]
        self.n = len(indices)

    def columns_of(self, indices, n_jobs):
        return self._K[indices, : self.n]

    def cross(self, rows, columns, n_jobs):
        """K[rows][:, columns]."""
        return self._K[np.ix_(rows, columns)]

    def add_product(self, indices, coef, out, n_jobs):
        out += coef @ self._K[indices, : self.n]
