"""Compiled work on cached columns of a kernel matrix that grows."""

from ..._jit import KERNEL_MATH, jit

_ROWS = 2048  # a slice of the result that stays in cache over all columns


@jit(KERNEL_MATH)
def apply_columns(storage, slots, coef, out, start, stop):
    """out[i] += sum_k storage[slots[k], i] coef[k] for rows start..stop."""
    for first in range(start, stop, _ROWS):
        last = min(stop, first + _ROWS)
        part = out[first:last]
        k = 0
        while k + 4 <= slots.size:
            x0, x1 = storage[slots[k], first:last], storage[slots[k + 1], first:last]
            x2, x3 = storage[slots[k + 2], first:last], storage[slots[k + 3], first:last]
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for i in range(part.size):
                part[i] += x0[i] * c0 + x1[i] * c1 + x2[i] * c2 + x3[i] * c3
            k += 4
        while k < slots.size:
            x0, c0 = storage[slots[k], first:last], coef[k]
            for i in range(part.size):
                part[i] += x0[i] * c0
            k += 1


@jit()
def gather(storage, slots, rows, out):
    """out[i, k] = storage[slots[k], rows[i]]."""
    for k in range(slots.size):
        column = storage[slots[k]]
        for i in range(rows.size):
            out[i, k] = column[rows[i]]


@jit()
def gather_product(storage, slots, rows, coef, out):
    """out[i] += sum_k storage[slots[k], rows[i]] coef[k]."""
    for k in range(slots.size):
        column, c = storage[slots[k]], coef[k]
        for i in range(rows.size):
            out[i] += column[rows[i]] * c


@jit()
def extend_columns(storage, column_of, new, first):
    """storage[s, first + r] = new[r, column_of[s]] for every slot that holds a column."""
    for s in range(column_of.size):
        if column_of[s] >= 0:
            for r in range(new.shape[0]):
                storage[s, first + r] = new[r, column_of[s]]
