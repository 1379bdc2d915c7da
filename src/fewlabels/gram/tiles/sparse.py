"""Kernel values between CSR rows; the cost follows the stored entries."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..._threads import run_ranges
from . import _tiles

_WORTH_A_THREAD = 200_000


class SparseRows:
    """Prepared CSR rows that columns can be evaluated against, a group at a time."""

    def __init__(self, rows, term):
        self.csr = rows
        self.term = term
        self.n = rows.shape[0]
        self._arrays = (
            rows.data,
            rows.indices.astype(np.int64, copy=False),
            rows.indptr.astype(np.int64, copy=False),
        )
        # Wide groups amortise the walk over a row; many features keep them in cache.
        self.width = 64 if rows.shape[1] <= 65536 else 16

    def rows(self, indices):
        return self.csr[indices], self.term[indices]

    def _each_group(self, columns, column_term, constant):
        """Yield (slice of columns, dense interleaved columns, their terms)."""
        lanes = np.zeros((self.csr.shape[1], self.width), self.csr.dtype)
        for first in range(0, columns.shape[0], self.width):
            group = columns[first : first + self.width].tocoo()
            row, col = group.coords
            lanes[col, row] = group.data
            lane_term = np.zeros(self.width, self.csr.dtype)
            lane_term[: group.shape[0]] = column_term[first : first + self.width] + constant
            yield slice(first, first + group.shape[0]), lanes, lane_term
            lanes[col] = 0.0

    def _run(self, function, n_jobs):
        work = (self.csr.nnz + self.n) * self.width
        run_ranges(function, -(-self.n // _tiles.TILE), n_jobs if work > _WORTH_A_THREAD else 1)

    def apply(self, row_map, columns, column_term, coef, out, n_jobs):
        """``out += K(rows, columns) @ coef``; ``out`` float64, shape (n,)."""
        for part, lanes, lane_term in self._each_group(
            columns, column_term, row_map.column_constant
        ):
            weights = np.zeros(self.width)
            weights[: part.stop - part.start] = coef[part]
            fixed = (self._arrays, self.term, lanes, lane_term, weights, out)
            self._run(partial(_tiles.apply_sparse, row_map.kind, row_map.degree, *fixed), n_jobs)

    def columns(self, row_map, columns, column_term, n_jobs):
        """``K(rows, columns)``, one column per row of the result."""
        out = np.empty((columns.shape[0], self.n), self.csr.dtype)
        for part, lanes, lane_term in self._each_group(
            columns, column_term, row_map.column_constant
        ):
            fixed = (self._arrays, self.term, lanes, lane_term, out[part])
            self._run(partial(_tiles.column_sparse, row_map.kind, row_map.degree, *fixed), n_jobs)
        return out
