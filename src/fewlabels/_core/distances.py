"""Squared norms and distances of float64 rows, C-ordered or canonical CSR."""

from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from .arrays import f64, f64_out, i64
from .library import lib


def squared_norms(rows: Any) -> FloatArray:
    """Return <x, x> of rows, summed as kernel values are.

    Minus half of it as a row's term makes its kernel value with an equal row exact.
    """
    n, out = rows.shape[0], np.empty(rows.shape[0])
    if hasattr(rows, "indptr"):
        data, ends = f64(rows.data, rows.data.size), _as_int64(rows.indptr)
        lib.fl_squared_norms_sparse(n, data, i64(ends, n + 1), f64_out(out, n))
    else:
        d = rows.shape[1]
        lib.fl_squared_norms(n, d, f64(rows, n * d), f64_out(out, n))
    return out


def squared_distances(rows: Any, columns: Any, out: FloatArray, start: int, stop: int) -> None:
    """Set ``out[j, i]`` to the squared distance of row i, from start to stop, and column j."""
    (n, d), m = rows.shape, columns.shape[0]
    if columns.shape[1] != d:
        raise TypeError(f"rows of {d} columns have no distance to rows of {columns.shape[1]}.")
    target = f64_out(out, m * n)
    if not hasattr(rows, "indptr"):
        lib.fl_squared_distances(
            n, d, f64(rows, n * d), m, f64(columns, m * d), target, start, stop
        )
        return
    # The names keep the arrays alive as long as their addresses are used.
    indices, ends = _as_int64(rows.indices), _as_int64(rows.indptr)
    others, bounds = _as_int64(columns.indices), _as_int64(columns.indptr)
    row_arrays = f64(rows.data, rows.data.size), i64(indices, rows.data.size), i64(ends, n + 1)
    size = columns.data.size
    column_arrays = f64(columns.data, size), i64(others, size), i64(bounds, m + 1)
    lib.fl_squared_distances_sparse(n, *row_arrays, m, *column_arrays, target, start, stop)


def _as_int64(numbers: IntArray) -> IntArray:
    return numbers.astype(np.int64, copy=False)
