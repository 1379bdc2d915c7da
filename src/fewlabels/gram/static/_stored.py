"""Compiled product with stored columns."""

import numpy as np

from ..._jit import KERNEL_MATH, jit


@jit(KERNEL_MATH)
def apply_stored(storage, slots, coef, out, start, stop):
    """out[i] += sum_k storage[slots[k], i] coef[k] for rows start..stop."""
    for k in range(slots.size):
        column = storage[slots[k]]
        c = coef[k]
        for i in range(start, stop):
            out[i] += np.float64(column[i]) * c
