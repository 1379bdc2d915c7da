"""Kernel values between dense rows, evaluated tile by tile."""

from functools import partial

import numpy as np

from ..._threads import run_ranges
from . import _tiles

# Below this many multiply-adds a second thread costs more than it saves.
_WORTH_A_THREAD = 2_000_000
# Rows that compiled loops take at a time: a tile holds a multiple of them.
_VECTORS = 32


class TiledRows:
    """Prepared dense rows, packed feature-major, that columns can be evaluated against.

    In tiles of one ``width``: without it, just as wide as the rows need.
    """

    def __init__(self, rows, term, width=None):
        self.n, self.d = rows.shape
        n_tiles = max(1, -(-self.n // _tiles.TILE))
        self.width = width or max(1, -(-self.n // (n_tiles * _VECTORS))) * _VECTORS
        self.tiles = np.zeros((n_tiles, self.d, self.width), rows.dtype)
        whole = self.n // self.width
        cut = whole * self.width
        self.tiles[:whole] = rows[:cut].reshape(whole, self.width, self.d).transpose(0, 2, 1)
        if cut < self.n:
            self.tiles[whole, :, : self.n - cut] = rows[cut:].T
        self.term = np.zeros((n_tiles, self.width), rows.dtype)
        self.term.reshape(-1)[: self.n] = term

    def rows(self, indices):
        """Gather prepared rows and their terms, row-major."""
        tile, place = np.divmod(indices, self.width)
        return np.ascontiguousarray(self.tiles[tile, :, place]), self.term[tile, place]

    def all_rows(self):
        """All prepared rows and their terms."""
        rows = self.tiles.transpose(0, 2, 1).reshape(-1, self.d)
        return rows[: self.n], self.term.reshape(-1)[: self.n]

    def threads(self, n_columns, n_jobs):
        work = self.n * n_columns * (self.d + 16)
        return n_jobs if work > _WORTH_A_THREAD else 1

    def apply(self, row_map, columns, column_term, coef, out, n_jobs):
        """``out += K(rows, columns) @ coef``; ``out`` float64, shape (n,)."""
        columns, column_term, coef = _padded(columns, column_term, np.asarray(coef, columns.dtype))
        column_term = column_term + columns.dtype.type(row_map.kernel.coef0)
        total = np.zeros(self.term.shape)
        fixed = (self.tiles, self.term, columns, column_term, coef, total)
        run_ranges(
            partial(_tiles.apply_tiles, row_map.kind, row_map.degree, *fixed),
            len(self.tiles),
            self.threads(len(columns), n_jobs),
        )
        out += total.reshape(-1)[: self.n]

    def columns(self, row_map, columns, column_term, n_jobs, out=None):
        """``K(rows, columns)``, one column per row of the result."""
        m = len(columns)
        columns, column_term, _ = _padded(columns, column_term, None)
        column_term = column_term + columns.dtype.type(row_map.kernel.coef0)
        values = out
        if out is None or m < len(columns):
            values = np.empty((len(columns), self.n), self.tiles.dtype)
        fixed = (self.tiles, self.term, columns, column_term, values)
        run_ranges(
            partial(_tiles.column_tiles, row_map.kind, row_map.degree, *fixed),
            len(self.tiles),
            self.threads(len(columns), n_jobs),
        )
        if out is None:
            return values[:m]
        if out is not values:
            out[:] = values[:m]
        return out


def _padded(columns, column_term, coef):
    """Pad the number of columns to a multiple of four."""
    extra = -len(columns) % 4
    if extra:
        columns = np.concatenate([columns, np.zeros((extra, columns.shape[1]), columns.dtype)])
        column_term = np.concatenate([column_term, np.zeros(extra, column_term.dtype)])
        if coef is not None:
            coef = np.concatenate([coef, np.zeros(extra, coef.dtype)])
    return columns, column_term, coef
