"""Keep columns that were evaluated, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ..._threads import run_ranges
from ..base import GramOperator
from ._stored import apply_stored

_ROWS_AT_A_TIME = 4096  # a slice of the result that stays in cache over all columns


class CachedGram(GramOperator):
    """An operator that stores recently used columns.

    Worth it where a kernel value costs much more than reading it: many features,
    sparse rows, or a user's function. Least recently used columns are dropped first.
    One thread at a time: every solver makes its own.

    Parameters
    ----------
    inner : GramOperator
        Where columns come from.
    max_bytes : float
        Bound on the stored columns.
    """

    def __init__(self, inner, max_bytes):
        self.inner = inner
        super().__init__(inner.n, inner.n_jobs)
        itemsize = inner.dtype.itemsize
        self.value_cost = inner.value_cost
        self.dtype = inner.dtype
        self.value_error = inner.value_error
        self.capacity = int(min(self.n, max_bytes / (itemsize * max(1, self.n))))
        self._storage = np.empty((self.capacity, self.n), inner.dtype)
        self._slot_of: OrderedDict[int, int] = OrderedDict()

    @property
    def n_values(self):
        """Counted by the inner operator."""
        return self.inner.n_values

    @n_values.setter
    def n_values(self, value):
        self.inner.n_values = value

    def diagonal(self):
        return self.inner.diagonal()

    def block(self, indices):
        return self.inner.block(indices)

    def columns(self, indices):
        return self.inner.columns(indices)

    def refined(self):
        return self.inner.refined()

    def take(self, indices):
        return self.inner.take(indices)

    def apply(self, indices, coef, out):
        indices, coef = np.asarray(indices), np.asarray(coef, dtype=float)
        # Columns for which there is never room are used and forgotten.
        if len(indices) > self.capacity:
            self.inner.apply(indices[self.capacity :], coef[self.capacity :], out)
            indices, coef = indices[: self.capacity], coef[: self.capacity]
        slots = self._slots(indices)
        run_ranges(
            lambda start, stop: self._apply_parts(slots, coef, out, start, stop),
            -(-self.n // _ROWS_AT_A_TIME),
            self.n_jobs,
        )

    def _apply_parts(self, slots, coef, out, start, stop):
        for part in range(start, stop):
            first = part * _ROWS_AT_A_TIME
            last = min(self.n, first + _ROWS_AT_A_TIME)
            apply_stored(self._storage, slots, coef, out, first, last)

    def _slots(self, indices):
        """Slots of the columns ``indices``, evaluating those that are missing."""
        wanted = indices.tolist()
        missing = []
        for j in dict.fromkeys(wanted):
            if j in self._slot_of:
                self._slot_of.move_to_end(j)
            else:
                missing.append(j)
        if missing:
            values = self.inner.columns(np.array(missing, dtype=np.intp))
            # Found anew each time: Ctrl-C may have struck between two lines of this loop.
            unused = list(set(range(self.capacity)).difference(self._slot_of.values()))
            for j, column in zip(missing, values, strict=True):
                slot = unused.pop() if unused else self._slot_of.popitem(last=False)[1]
                self._storage[slot] = column
                self._slot_of[j] = slot
        return np.array([self._slot_of[j] for j in wanted], dtype=np.intp)
