"""Columns of a kernel matrix, kept within a bound on memory, and an operator that keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core import functions as core
from ..._typing import BoolArray, FloatArray, IntArray, RealArray
from ..._util.threads import run_ranges
from .base import Columns, GramOperator, WrappedGram

# Multiply-adds below which a second thread costs more than it saves.
_MIN_WORK_FOR_THREADS = 1_000_000
_ROWS_AT_A_TIME = 4096
# Kernel values that are evaluated at a time (float64: 32 MB).
VALUES_AT_A_TIME = 4_000_000
_MIN_COLUMNS_AT_A_TIME = 64


class ColumnCache:
    """Columns of length ``n`` and of ``dtype`` in the rows of ``storage``, within ``max_bytes``.

    Those used least recently give way, but never to others of one request: a working set that is
    larger than the cache costs evaluations and nothing else. One thread at a time.
    """

    def __init__(self, n: int, max_bytes: float, dtype: npt.DTypeLike = np.float64) -> None:
        self.max_bytes = max_bytes
        self.storage = np.empty((0, 0), dtype)
        self._column_of = np.empty(0, np.int64)  # of every slot; -1 for none
        self._stamp = np.empty(0, np.int64)  # request in which the slot was last used
        self._slot_of = np.empty(0, np.int64)  # of every column; -1 for none
        self._request = 1
        self.resize(n, n)

    def __reduce__(self) -> tuple[type[ColumnCache], tuple[int, float, np.dtype[Any]]]:
        # The columns can be evaluated again.
        return ColumnCache, (self.n, self.max_bytes, self.storage.dtype)

    def resize(self, n: int, length: int) -> None:
        """Let columns have ``n`` values, in room for ``length`` where there is none for ``n``."""
        self.allow(n)
        self.n = n
        if self.storage.shape[1] >= n:
            return
        itemsize = self.storage.dtype.itemsize
        capacity = int(max(0, min(length, self.max_bytes / (itemsize * length))))
        slots = self.used()
        slots = slots[np.argsort(-self._stamp[slots], kind="stable")][:capacity]
        try:
            storage = np.empty((capacity, length), self.storage.dtype)
        except MemoryError:
            raise MemoryError(
                f"There is no memory for {itemsize * capacity * length / 1e6:,.0f} MB of kernel "
                f"values; pass a smaller cache_size than {self.max_bytes / 1e6:g}."
            ) from None
        for new, old in enumerate(slots.tolist()):
            storage[new, : self.storage.shape[1]] = self.storage[old]
        column_of, stamp = np.full(capacity, -1, np.int64), np.zeros(capacity, np.int64)
        column_of[: len(slots)], stamp[: len(slots)] = self._column_of[slots], self._stamp[slots]
        self.storage, self._column_of, self._stamp = storage, column_of, stamp
        self._index_slots()

    def allow(self, n: int) -> None:
        """Allow for columns with numbers below ``n``."""
        if len(self._slot_of) < n:
            larger = np.full(max(n, 2 * len(self._slot_of)), -1, np.int64)
            larger[: len(self._slot_of)] = self._slot_of
            self._slot_of = larger

    def _index_slots(self) -> None:
        """Find the slot of every column."""
        self._slot_of[:] = -1
        slots = self.used()
        self._slot_of[self._column_of[slots]] = slots

    def used(self) -> IntArray:
        """Return the slots with a column."""
        return np.flatnonzero(self._column_of >= 0)

    def slots(self, columns: IntArray | slice) -> IntArray:
        """Return the slots of columns, -1 where there is none."""
        return self._slot_of[columns]

    def extend(self, first: int, values: FloatArray) -> None:
        """Set rows from ``first`` on of all stored columns: of column j to ``values[:, j]``."""
        core.extend_columns(self.storage, self._column_of, values, first)

    def extend_by(
        self, rows: IntArray, evaluate: Callable[[IntArray, IntArray], FloatArray]
    ) -> None:
        """Set some rows of all stored columns to ``evaluate(rows, columns)``."""
        slots = self.used()
        step = max(1, VALUES_AT_A_TIME // max(1, len(slots)))
        for part in np.split(rows, range(step, len(rows), step)) if len(slots) else ():
            values = evaluate(part, self._column_of[slots])
            for slot, column in zip(slots.tolist(), values.T, strict=True):
                self.storage[slot, part] = column

    def keep(self, rows: IntArray) -> None:
        """Keep some rows, which are numbered again, and the columns of these."""
        number = np.full(self.n, -1)
        number[rows] = np.arange(len(rows))
        used = self.used()
        for slot in used.tolist():
            self.storage[slot, : len(rows)] = self.storage[slot, rows]
        self._column_of[used] = number[self._column_of[used]]
        self.n = len(rows)
        self._index_slots()

    # -- requests ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a request: columns used before may give way to its own."""
        self._request += 1

    def find(self, columns: IntArray, evaluate: Callable[[IntArray], RealArray]) -> IntArray:
        """Return slots of columns; missing ones are evaluated if there is room, else they are -1.

        ``evaluate(columns)`` returns the values, a column in every row.
        """
        slots = self._slot_of[columns]
        if slots.size and slots.min() >= 0:
            self._stamp[slots] = self._request
            return slots
        self._stamp[slots[slots >= 0]] = self._request
        room = int(np.sum((self._stamp < self._request) | (self._column_of < 0)))
        missing = np.unique(columns[slots < 0])[:room]
        step = max(_MIN_COLUMNS_AT_A_TIME, VALUES_AT_A_TIME // max(1, self.n))
        for first in range(0, len(missing), step):
            part = missing[first : first + step]
            self.put(part, evaluate(part))
        return self._slot_of[columns]

    def put(self, columns: IntArray, values: RealArray, replace: bool = True) -> None:
        """Keep columns where there is room, or in the place of those not in use."""
        slots = np.flatnonzero(self._column_of < 0)[: len(columns)]
        if replace and len(slots) < len(columns):
            idle = np.flatnonzero((self._stamp < self._request) & (self._column_of >= 0))
            oldest = idle[np.argsort(self._stamp[idle], kind="stable")]
            slots = np.concatenate([slots, oldest[: len(columns) - len(slots)]])
        for slot, j, column in zip(slots.tolist(), columns.tolist(), values, strict=False):
            # In this order: Ctrl-C may strike between two lines.
            if self._column_of[slot] >= 0:
                self._slot_of[self._column_of[slot]] = -1
            self._column_of[slot] = -1
            self.storage[slot, : self.n] = column
            self._column_of[slot], self._stamp[slot] = j, self._request
            self._slot_of[j] = slot

    def add_product(
        self,
        columns: IntArray,
        coef: FloatArray,
        out: FloatArray,
        evaluate: Callable[[IntArray], RealArray] | None,
        n_jobs: int = 1,
    ) -> BoolArray | None:
        """``out += K[:, columns] @ coef`` where columns are stored; missing ones as by ``find``.

        Returns the mask of the columns that are not stored, or None. Without ``evaluate``, none
        are fetched.
        """
        self._request += 1
        slots = self._slot_of[columns] if evaluate is None else self.find(columns, evaluate)
        is_left = slots < 0
        left = is_left if is_left.any() else None
        if left is not None:
            slots, coef = slots[~left], coef[~left]

        def add(start: int, stop: int) -> None:
            core.apply_columns(
                self.storage,
                slots,
                coef,
                out,
                start * _ROWS_AT_A_TIME,
                min(self.n, stop * _ROWS_AT_A_TIME),
            )

        n_parts = -(-self.n // _ROWS_AT_A_TIME)
        run_ranges(add, n_parts, n_jobs if self.n * len(slots) > _MIN_WORK_FOR_THREADS else 1)
        return left


class CachedGram(WrappedGram):
    """``inner`` with the columns used most recently stored, in ``max_bytes``.

    Worth it where a kernel value costs much more than reading it: many features, sparse rows, or a
    user's function. One thread at a time: every solver makes its own.
    """

    def __init__(self, inner: GramOperator, max_bytes: float) -> None:
        super().__init__(inner, inner.n)
        self.cache = ColumnCache(inner.n, max_bytes, inner.dtype)
        self._foreign_numbers: dict[
            int, int
        ] = {}  # numbers in the cache of columns that belong to other rows

    def diagonal(self) -> FloatArray:
        return self.inner.diagonal()

    def gather(self, indices: IntArray) -> Columns:
        return self.inner.gather(indices)

    def values_of(self, columns: Columns) -> RealArray:
        return self.inner.values_of(columns)

    def block_of(self, columns: Columns) -> FloatArray:
        return self.inner.block_of(columns)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        numbers = self._number_columns(columns.ids)
        order = np.argsort(numbers)

        def evaluate(some: IntArray) -> RealArray:
            place = order[np.searchsorted(numbers, some, sorter=order)]
            return self.inner.values_of(columns.take(place))

        # Of more columns than there is room for, only those that are there: the others would
        # drive each other out.
        fetch = evaluate if len(columns) <= len(self.cache.storage) else None
        left = self.cache.add_product(numbers, coef, out, fetch, self.n_jobs)
        if left is not None:  # columns for which there is no room
            self.inner.add_columns(columns.take(left), coef[left], out)

    def _number_columns(self, ids: IntArray) -> IntArray:
        """Return numbers of columns in the cache, few even where ids of all rows are many."""
        n, found = self.inner.n, self._foreign_numbers
        far = np.flatnonzero(ids >= n)
        if len(far):
            ids = ids.copy()
            ids[far] = [found.setdefault(k, n + len(found)) for k in ids[far].tolist()]
            self.cache.allow(n + len(found))
        return ids

    def take(self, indices: IntArray) -> GramOperator:
        return self.inner.take(indices)

    def view_rows(self, indices: IntArray) -> GramOperator:
        return self.inner.view_rows(indices)

    def refined(self) -> GramOperator | None:
        return self.inner.refined()
