"""Keep columns that were evaluated, within a bound on memory."""

from __future__ import annotations

import numpy as np

from ..base import GramOperator
from ..column_cache import ColumnCache


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
        self.value_cost = inner.value_cost
        self.dtype = inner.dtype
        self.value_error = inner.value_error
        self.cache = ColumnCache(inner.n, max_bytes, inner.dtype)

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
        left = self.cache.add_product(indices, coef, out, self.inner.columns, self.n_jobs)
        if left is not None:  # columns for which there is never room
            self.inner.apply(indices[left], coef[left], out)
