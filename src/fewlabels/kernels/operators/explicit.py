"""Kernel matrices that the user gives: as an array, or as a function of rows."""

import numpy as np
import scipy.sparse as sp

from .base import Columns, GramOperator

# Kernel values a user's function is asked for at a time (float64: 32 MB).
_VALUES_AT_A_TIME = 4_000_000


class PrecomputedGram(GramOperator):
    """A matrix ``K``, dense or sparse, never copied, or its part ``index``; ``n_jobs``."""

    def __init__(self, K, n_jobs=1, index=None):
        super().__init__(K.shape[0] if index is None else len(index), n_jobs)
        self.K = K
        self.index = index

    def gather(self, indices):
        indices = np.asarray(indices)
        return Columns(indices, (indices if self.index is None else self.index[indices],))

    def _between(self, rows, columns):
        part = self.K[rows][:, columns] if sp.issparse(self.K) else self.K[np.ix_(rows, columns)]
        return part.toarray() if sp.issparse(part) else part

    def _rows(self):
        return np.arange(self.n) if self.index is None else self.index

    def diagonal(self):
        d = self.K.diagonal()
        return np.asarray(d if self.index is None else d[self.index], dtype=float)

    def values_of(self, columns):
        (places,) = columns.values
        return np.ascontiguousarray(self._between(self._rows(), places).T)

    def block_of(self, columns):
        (places,) = columns.values
        return np.array(self._between(places, places), dtype=np.float64, order="C")

    def add_columns(self, columns, coef, out):
        (places,) = columns.values
        dense = not sp.issparse(self.K)
        step = max(1, _VALUES_AT_A_TIME // max(1, self.K.shape[0] if dense else self.n))
        for first in range(0, len(places), step):
            part = slice(first, first + step)
            if dense:
                # Rows of a symmetric matrix are its columns, and contiguous.
                product = coef[part] @ self.K[places[part]]
                out += product if self.index is None else product[self.index]
            else:
                out += self._between(self._rows(), places[part]) @ coef[part]

    def take(self, indices):
        indices = np.asarray(indices)
        index = indices if self.index is None else self.index[indices]
        return PrecomputedGram(self.K, self.n_jobs, index)


class FormedGram(GramOperator):
    """Matrix of a FormedKernel ``kernel`` over the rows ``X``, by block; ``n_jobs``."""

    def __init__(self, kernel, X, n_jobs=1):
        super().__init__(X.shape[0], n_jobs)
        self.kernel = kernel
        self.value_cost = np.inf
        self.X = X
        self._diagonal = None

    def _values(self, X, Z):
        self.n_values += X.shape[0] * Z.shape[0]
        return formed_values(self.kernel, X, Z)

    def diagonal(self):
        if self._diagonal is None:
            step = 64
            parts = [
                np.diagonal(self._values(rows, rows))
                for rows in (self.X[i : i + step] for i in range(0, self.n, step))
            ]
            self._diagonal = np.concatenate([np.empty(0), *parts])
        return self._diagonal

    def gather(self, indices):
        indices = np.asarray(indices)
        return Columns(indices, (self.X[indices],))

    def values_of(self, columns):
        return np.ascontiguousarray(self._values(self.X, columns.values[0]).T)

    def block_of(self, columns):
        (rows,) = columns.values
        return np.array(self._values(rows, rows), dtype=np.float64, order="C")

    def add_columns(self, columns, coef, out):
        (rows,) = columns.values
        step = max(1, _VALUES_AT_A_TIME // max(1, len(columns)))
        for first in range(0, self.n, step):
            part = slice(first, first + step)
            out[part] += self._values(self.X[part], rows) @ coef

    def take(self, indices):
        return FormedGram(self.kernel, self.X[indices], self.n_jobs)


def formed_values(kernel, X, Z):
    """Values of a FormedKernel, dense float64."""
    values = kernel.values(X, Z)
    return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=float)
