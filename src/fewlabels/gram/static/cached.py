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

    def take(self, indices):
        return self.inner.take(indices)

    def some(self, indices):
        return self.inner.some(indices)

    def add_columns(self, columns, coef, out):
        order = np.argsort(columns.ids)

        def evaluate(ids):
            place = order[np.searchsorted(columns.ids, ids, sorter=order)]
            return self.inner.values_of(columns.take(place))

        # They may belong to rows that lie elsewhere.
        self.cache.allow(int(columns.ids.max(initial=-1)) + 1)
        # Of more columns than there is room for, only those that are there: the others would
        # drive each other out.
        fetch = evaluate if len(columns) <= len(self.cache.storage) else None
        left = self.cache.add_product(columns.ids, coef, out, fetch, self.n_jobs)
        if left is not None:  # columns for which there is no room
            self.inner.add_columns(columns.take(left), coef[left], out)
