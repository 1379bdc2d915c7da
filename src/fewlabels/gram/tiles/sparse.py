"""Kernel values between CSR rows; the cost follows the stored entries."""

from functools import partial

import numpy as np

from ..._core import tiles
from ..._threads import run_ranges

_WORTH_A_THREAD = 200_000
# Rows that a thread takes at least.
_ROWS_AT_A_TIME = 256
# Bytes of dense columns that stay close to the processor (level 2 cache).
_CLOSE = 1 << 19


class SparseRows:
    """Prepared CSR rows that columns can be evaluated against, a group at a time."""

    def __init__(self, rows, term):
        self._view(rows, term)

    def _view(self, rows, term):
        self.csr, self.term, self.n = rows, term, rows.shape[0]
        self.arrays = (
            rows.data,
            rows.indices.astype(np.int64, copy=False),
            rows.indptr.astype(np.int64, copy=False),
        )

    def rows(self, indices):
        return self.csr[indices], self.term[indices]

    def all_rows(self):
        """All prepared rows and their terms."""
        return self.csr, self.term

    def _each_group(self, columns, column_term, constant):
        """Yield (slice of columns, dense interleaved columns, their terms)."""
        m = columns.shape[0]
        width = self._width(m)
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

    def _width(self, m):
        """Columns of a group of ``m``: many share the walk over a row, but fill the cache."""
        if m <= 1:
            return 1
        close = _CLOSE // (self.csr.dtype.itemsize * max(1, min(self.csr.shape[1], self.csr.nnz)))
        return tiles.whole_vectors(min(m, close, tiles.LANES), self.csr.dtype)

    def _run(self, function, width, n_jobs):
        work = (self.csr.nnz + self.n) * width

        def some(start, stop):
            function(start * _ROWS_AT_A_TIME, min(self.n, stop * _ROWS_AT_A_TIME))

        n_jobs = n_jobs if work > _WORTH_A_THREAD else 1
        run_ranges(some, -(-self.n // _ROWS_AT_A_TIME), n_jobs)

    def apply(self, row_map, columns, column_term, coef, out, n_jobs):
        """``out += K(rows, columns) @ coef``; ``out`` float64, shape (n,)."""
        groups = self._each_group(columns, column_term, row_map.kernel.coef0)
        for part, lanes, lane_term in groups:
            weights = np.zeros(len(lane_term))
            weights[: part.stop - part.start] = coef[part]
            fixed = (row_map, self.arrays, self.term, lanes, lane_term, weights, out)
            function = partial(tiles.apply_sparse, *fixed)
            self._run(function, len(lane_term), n_jobs)

    def columns(self, row_map, columns, column_term, n_jobs, out=None):
        """``K(rows, columns)``, one column per row of the result."""
        if out is None:
            out = np.empty((columns.shape[0], self.n), self.csr.dtype)
        groups = self._each_group(columns, column_term, row_map.kernel.coef0)
        for part, lanes, lane_term in groups:
            fixed = (row_map, self.arrays, self.term, lanes, lane_term, out[part])
            function = partial(tiles.column_sparse, *fixed)
            self._run(function, len(lane_term), n_jobs)
        return out
