"""Products with stored columns of a kernel matrix, and values gathered from them.

The column in slot s is ``storage[s]``.
"""

import numpy as np

from .._typing import FloatArray, IntArray, RealArray
from .arrays import f32, f64, f64_out, i64
from .library import lib

_FLOAT32 = np.dtype(np.float32)


def apply_columns(
    storage: RealArray, slots: IntArray, coef: FloatArray, out: FloatArray, start: int, stop: int
) -> None:
    """``out += coef @ storage[slots]``, for rows ``start`` to ``stop``."""
    count = slots.size
    if storage.dtype == _FLOAT32:
        function, address = lib.fl_apply_columns_f32, f32(storage, storage.size)
    else:
        function, address = lib.fl_apply_columns_f64, f64(storage, storage.size)
    function(
        storage.shape[1], address, count, i64(slots, count), f64(coef, count),
        f64_out(out, out.size), start, stop,
    )  # fmt: skip


def gather(storage: FloatArray, slots: IntArray, rows: IntArray, out: FloatArray) -> None:
    """``out[i, k] = storage[slots[k], rows[i]]``."""
    count, n_rows = slots.size, rows.size
    lib.fl_gather(
        storage.shape[1], f64(storage, storage.size), count, i64(slots, count),
        n_rows, i64(rows, n_rows), f64_out(out, n_rows * count),
    )  # fmt: skip


def gather_product(
    storage: FloatArray, slots: IntArray, rows: IntArray, coef: FloatArray, out: FloatArray
) -> None:
    """``out[i] += sum_k storage[slots[k], rows[i]] coef[k]``."""
    count, n_rows = slots.size, rows.size
    lib.fl_gather_product(
        storage.shape[1], f64(storage, storage.size), count, i64(slots, count),
        n_rows, i64(rows, n_rows), f64(coef, count), f64_out(out, n_rows),
    )  # fmt: skip


def extend_columns(storage: FloatArray, column_of: IntArray, new: FloatArray, first: int) -> None:
    """``storage[s, first + r] = new[r, column_of[s]]`` for every slot that holds a column."""
    n_new, n_columns = new.shape
    if first + n_new > storage.shape[1] or len(column_of) != len(storage):
        raise TypeError(f"{n_new} rows from {first} on do not fit into {storage.shape}.")
    lib.fl_extend_columns(
        storage.shape[1], f64_out(storage, storage.size), column_of.size,
        i64(column_of, column_of.size), n_new, n_columns, f64(new, n_new * n_columns), first,
    )  # fmt: skip
