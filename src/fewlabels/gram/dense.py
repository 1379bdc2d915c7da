"""Kernel values between dense rows, evaluated tile by tile."""

from __future__ import annotations

from functools import partial

import numpy as np

from .._threads import run_ranges
from . import _tiles
from .base import GramOperator

# Below this many multiply-adds a second thread costs more than it saves.
_WORTH_A_THREAD = 400_000


class TiledRows:
    """Prepared dense rows, packed feature-major, that columns can be evaluated against."""

    def __init__(self, rows, term):
        self.n, self.d = rows.shape
        n_tiles = max(1, -(-self.n // _tiles.TILE))
        self.tiles = np.zeros((n_tiles, self.d, _tiles.TILE), rows.dtype)
        whole = self.n // _tiles.TILE
        cut = whole * _tiles.TILE
        self.tiles[:whole] = rows[:cut].reshape(whole, _tiles.TILE, self.d).transpose(0, 2, 1)
        if cut < self.n:
            self.tiles[whole, :, : self.n - cut] = rows[cut:].T
        self.term = np.zeros((n_tiles, _tiles.TILE), rows.dtype)
        self.term.reshape(-1)[: self.n] = term

    def rows(self, indices):
        """Gather prepared rows and their terms, row-major."""
        tile, place = np.divmod(indices, _tiles.TILE)
        return np.ascontiguousarray(self.tiles[tile, :, place]), self.term[tile, place]

    def threads(self, n_columns, n_jobs):
        work = self.n * n_columns * (self.d + 16)
        return n_jobs if work > _WORTH_A_THREAD else 1

    def apply(self, row_map, columns, column_term, coef, out, n_jobs):
        """``out += K(rows, columns) @ coef``; ``out`` float64, shape (n,)."""
        columns, column_term, coef = _padded(columns, column_term, np.asarray(coef, columns.dtype))
        column_term = column_term + columns.dtype.type(row_map.column_constant)
        total = np.zeros(self.term.shape)
        fixed = (self.tiles, self.term, columns, column_term, coef, total)
        run_ranges(
            partial(_tiles.apply_tiles, row_map.kind, row_map.degree, *fixed),
            len(self.tiles),
            self.threads(len(columns), n_jobs),
        )
        out += total.reshape(-1)[: self.n]

    def columns(self, row_map, columns, column_term, n_jobs):
        """``K(rows, columns)``, one column per row of the result."""
        m = len(columns)
        columns, column_term, _ = _padded(columns, column_term, None)
        column_term = column_term + columns.dtype.type(row_map.column_constant)
        out = np.empty((len(columns), self.n), self.tiles.dtype)
        fixed = (self.tiles, self.term, columns, column_term, out)
        run_ranges(
            partial(_tiles.column_tiles, row_map.kind, row_map.degree, *fixed),
            len(self.tiles),
            self.threads(len(columns), n_jobs),
        )
        return out[:m]


def _padded(columns, column_term, coef):
    """Pad the number of columns to a multiple of four."""
    extra = -len(columns) % 4
    if extra:
        columns = np.concatenate([columns, np.zeros((extra, columns.shape[1]), columns.dtype)])
        column_term = np.concatenate([column_term, np.zeros(extra, column_term.dtype)])
        if coef is not None:
            coef = np.concatenate([coef, np.zeros(extra, coef.dtype)])
    return columns, column_term, coef


class DenseGram(GramOperator):
    """Kernel matrix of dense rows.

    Parameters
    ----------
    row_map : RowMap
        Kernel, centre and precision.
    X : ndarray of shape (n, d)
        Raw rows; of the whole matrix, if this is a part of one.
    n_jobs : int
        Threads.
    part : tuple, optional
        What a part of a matrix has already: (rows, term), diagonal, indices into X.
    """

    def __init__(self, row_map, X, n_jobs=1, *, part=None):
        if part is None:
            part = row_map.prepare(X), row_map.diagonal(X), None
        (rows, term), self._diagonal, self._index = part
        super().__init__(rows.shape[0], n_jobs)
        self.row_map = row_map
        self.value_cost = rows.shape[1]
        self.dtype = row_map.dtype
        self._X = X
        self._tiled = TiledRows(rows, term)

    def diagonal(self):
        return self._diagonal

    def columns(self, indices):
        self.n_values += len(indices) * self.n
        return self._tiled.columns(self.row_map, *self._tiled.rows(indices), self.n_jobs)

    def block(self, indices):
        self.n_values += len(indices) ** 2
        # From the raw rows in float64: the block decides the steps, and costs little.
        exact = self.row_map.refined()
        index = indices if self._index is None else self._index[indices]
        rows, term = exact.prepare(self._X[index])
        return TiledRows(rows, term).columns(exact, rows, term, self.n_jobs)

    def apply(self, indices, coef, out):
        self.n_values += len(indices) * self.n
        rows, term = self._tiled.rows(indices)
        self._tiled.apply(self.row_map, rows, term, coef, out, self.n_jobs)

    def refined(self):
        if self.dtype == np.float64:
            return None
        X = self._X if self._index is None else self._X[self._index]
        return DenseGram(self.row_map.refined(), X, self.n_jobs)

    def take(self, indices):
        indices = np.asarray(indices)
        index = indices if self._index is None else self._index[indices]
        part = self._tiled.rows(indices), self._diagonal[indices], index
        return DenseGram(self.row_map, self._X, self.n_jobs, part=part)
