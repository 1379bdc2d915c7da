"""A kernel matrix over rows of which many are equal."""

import numpy as np

from ..base import Columns, WrappedGram


class RepeatedGram(WrappedGram):
    """``inner`` over distinct rows, each as often as ``copies`` say.

    A product with any number of rows costs what it does with the distinct ones. ``row_map`` maps
    the distinct rows, if they have one.
    """

    def __init__(self, inner, copies):
        super().__init__(inner, len(copies.of))
        self.copies, self.row_map = copies, getattr(inner, "row_map", None)
        self._diagonal = inner.diagonal()[copies.of]

    def diagonal(self):
        return self._diagonal

    def gather(self, indices):
        indices = np.asarray(indices)
        return Columns(indices, (self.inner.gather(self.copies.of[indices]),))

    def values_of(self, columns):
        return self.inner.values_of(columns.values[0])[:, self.copies.of]

    def block_of(self, columns):
        return self.inner.block_of(columns.values[0])

    def add_columns(self, columns, coef, out):
        values = np.zeros(self.inner.n)
        self.inner.add_columns(columns.values[0], coef, values)
        out += values[self.copies.of]

    def apply(self, indices, coef, out):
        total = np.bincount(self.copies.of[indices], coef, self.inner.n)
        used = np.flatnonzero(total)
        out += self.inner.product(used, total[used])[self.copies.of]

    def lost(self, coef):
        return self.inner.lost(np.bincount(self.copies.of, coef, self.inner.n))

    def take(self, indices):
        gram = self.some(indices)
        return gram.inner if gram.inner.n == gram.n else gram

    def some(self, indices):
        # Of this kind even where its rows differ.
        indices = np.asarray(indices)
        copies = self.copies.take(indices)
        rows = self.copies.of[indices[copies.first]]
        is_all = np.array_equal(rows, np.arange(self.inner.n))
        return RepeatedGram(self.inner if is_all else self.inner.take(rows), copies)

    def refined(self):
        inner = self.inner.refined()
        return None if inner is None else RepeatedGram(inner, self.copies)
