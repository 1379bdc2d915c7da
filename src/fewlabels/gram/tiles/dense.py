"""Kernel values between dense rows, evaluated tile by tile."""

from functools import partial

import numpy as np

from ..._core import tiles
from ..._threads import run_ranges

# Below this many multiply-adds a second thread costs more than it saves.
_WORTH_A_THREAD = 8_000_000


class TiledRows:
    """Prepared dense rows, packed feature-major, that columns can be evaluated against.

    In tiles of one ``width``: without it, just as wide as the rows need.
    """

    def __init__(self, rows, term, width=None):
        self.n, self.d = rows.shape
        whole = tiles.tile_rows(rows.dtype)
        self.width = width or min(whole, tiles.whole_vectors(self.n, rows.dtype))
        n_tiles = max(1, -(-self.n // self.width))
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
        rows = self.tiles.transpose(0, 2, 1).reshape(-1, self.d)[: self.n]
        return np.ascontiguousarray(rows), self.term.reshape(-1)[: self.n]

    def threads(self, n_columns, n_jobs):
        work = self.n * n_columns * (self.d + 16)
        return n_jobs if work > _WORTH_A_THREAD else 1

    def apply(self, row_map, columns, column_term, coef, out, n_jobs):
        """``out += K(rows, columns) @ coef``; ``out`` float64, shape (n,)."""
        coef = np.ascontiguousarray(coef, np.float64)
        fixed = (row_map, self.n, self.tiles, self.term, columns, column_term, coef, out)
        n_jobs = self.threads(len(columns), n_jobs)
        run_ranges(partial(tiles.apply_tiles, *fixed), len(self.tiles), n_jobs)

    def columns(self, row_map, columns, column_term, n_jobs, out=None):
        """``K(rows, columns)``, one column per row of the result."""
        if out is None:
            out = np.empty((len(columns), self.n), self.tiles.dtype)
        fixed = (row_map, self.n, self.tiles, self.term, columns, column_term, out)
        n_jobs = self.threads(len(columns), n_jobs)
        run_ranges(partial(tiles.column_tiles, *fixed), len(self.tiles), n_jobs)
        return out
