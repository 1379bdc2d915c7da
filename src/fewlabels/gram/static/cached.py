"""Keep columns that were evaluated, within a bound on memory."""

import numpy as np

from ..base import WrappedGram
from ..column_cache import ColumnCache


class CachedGram(WrappedGram):
    """``inner`` with the columns used most recently stored, in ``max_bytes``.

    Worth it where a kernel value costs much more than reading it: many features, sparse rows, or a
    user's function. One thread at a time: every solver makes its own.
    """

    def __init__(self, inner, max_bytes):
        super().__init__(inner, inner.n)
        self.cache = ColumnCache(inner.n, max_bytes, inner.dtype)
        self._elsewhere = {}  # numbers in the cache of columns that belong to other rows

    def diagonal(self):
        return self.inner.diagonal()

    def gather(self, indices):
        return self.inner.gather(indices)

    def block_of(self, columns):
        return self.inner.block_of(columns)

    def values_of(self, columns):
        return self.inner.values_of(columns)

    def refined(self):
        return self.inner.refined()

    def lost(self, coef):
        return self.inner.lost(coef)

    def take(self, indices):
        return self.inner.take(indices)

    def some(self, indices):
        return self.inner.some(indices)

    def add_columns(self, columns, coef, out):
        numbers = self._numbers(columns.ids)
        order = np.argsort(numbers)

        def evaluate(some):
            place = order[np.searchsorted(numbers, some, sorter=order)]
            return self.inner.values_of(columns.take(place))

        # Of more columns than there is room for, only those that are there: the others would
        # drive each other out.
        fetch = evaluate if len(columns) <= len(self.cache.storage) else None
        left = self.cache.add_product(numbers, coef, out, fetch, self.n_jobs)
        if left is not None:  # columns for which there is no room
            self.inner.add_columns(columns.take(left), coef[left], out)

    def _numbers(self, ids):
        """Numbers of columns in the cache, which are few also where ids of all rows are many."""
        n, found = self.inner.n, self._elsewhere
        far = np.flatnonzero(ids >= n)
        if len(far):
            ids = ids.copy()
            ids[far] = [found.setdefault(k, n + len(found)) for k in ids[far].tolist()]
            self.cache.allow(n + len(found))
        return ids
