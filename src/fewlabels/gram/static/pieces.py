"""A kernel matrix over rows that come in pieces, such as those of a file."""

from dataclasses import replace

import numpy as np

from ..base import GramOperator
from .linear import LinearGram, add_products, weights


class PieceGram(GramOperator):
    """The matrix of the rows of ``part``, by the operators ``over`` each of its pieces.

    ``part`` has ``n`` rows, ``pieces()``, which are (slice, rows), and ``take(places)``; ``over``
    makes the operator of some rows, and ``refined`` (None where there is no such thing) one of
    float64 values. ``diagonal`` may be known.
    """

    def __init__(self, part, over, refined=None, diagonal=None):
        super().__init__(part.n)
        self._part, self._over, self._refined = part, over, refined
        self._diagonal = diagonal
        self._some = some = over(part.take(np.arange(min(1, part.n))))
        self.value_cost, self.dtype = some.value_cost, some.dtype
        self.value_error, self.is_inner_product = some.value_error, some.is_inner_product

    def _grams(self):
        for where, rows in self._part.pieces():
            gram = self._over(rows)
            yield where, gram
            self.n_values += gram.n_values

    def diagonal(self):
        if self._diagonal is None:
            self._diagonal = np.concatenate(
                [np.empty(0), *(gram.diagonal() for _, gram in self._grams())]
            )
        return self._diagonal

    def gather(self, indices):
        indices = np.asarray(indices)
        gram = self._over(self._part.take(indices))
        return replace(gram.gather(np.arange(gram.n)), ids=indices)

    def values_of(self, columns):
        out = np.empty((len(columns), self.n), self.dtype)
        for where, gram in self._grams():
            out[:, where] = gram.values_of(columns)
        return out

    def block_of(self, columns):
        self.n_values += len(columns) ** 2
        return self._some.block_of(columns)

    def add_columns(self, columns, coef, out):
        for where, gram in self._grams() if len(columns) else ():
            gram.add_columns(columns, coef, out[where])

    def take(self, indices):
        return self._over(self._part.take(np.asarray(indices)))

    def refined(self):
        if self._refined is None or self.dtype == np.float64:
            return None
        return PieceGram(self._part, self._refined, None, self._diagonal)


class LinearPieceGram(PieceGram):
    """The same of the linear kernel, of rows of ``part`` less ``shift`` (or None)."""

    def __init__(self, part, shift):
        def over(rows):
            return LinearGram(rows if shift is None else rows - shift)

        super().__init__(part, over)

    def sum_of(self, indices, coef):
        """``sum_i coef_i x_i`` over some rows, by one pass over all."""
        everywhere, total = np.zeros(self.n), 0.0
        everywhere[indices] = coef
        for where, gram in self._grams():
            total = total + weights(gram.X, everywhere[where])
        return total

    def apply(self, indices, coef, out):
        total = self.sum_of(indices, coef)
        for where, gram in self._grams():
            add_products(gram.X, total, out[where])
