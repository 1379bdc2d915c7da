"""The linear kernel: products with K cost O(n d), kernel values are never formed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...kernels import Linear
from ..base import GramOperator

_CHUNK = 8192


class LinearGram(GramOperator):
    """``K = X X'`` of dense or CSR rows, in float64.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Rows.
    n_jobs : int
        Threads.
    """

    def __init__(self, X, n_jobs=1):
        super().__init__(X.shape[0], n_jobs)
        self.X = X
        self._diagonal = Linear().diagonal(X)

    def diagonal(self):
        return self._diagonal

    def weights(self, indices, coef):
        """``X[indices].T @ coef`` in float64, shape (d,)."""
        return np.asarray(self.X[indices].astype(np.float64, copy=False).T @ coef).ravel()

    def apply(self, indices, coef, out):
        w = self.weights(indices, np.asarray(coef, float))
        if sp.issparse(self.X):
            out += self.X @ w
            return
        # float32 rows are widened a chunk at a time, so that sums are float64.
        for first in range(0, self.n, _CHUNK):
            part = slice(first, first + _CHUNK)
            out[part] += self.X[part].astype(np.float64, copy=False) @ w

    def columns(self, indices):
        self.n_values += len(indices) * self.n
        rows = self.X[indices].astype(np.float64)
        return _dense(rows @ self.X.T)

    def block(self, indices):
        self.n_values += len(indices) ** 2
        rows = self.X[indices].astype(np.float64)
        return _dense(rows @ rows.T)

    def take(self, indices):
        return LinearGram(self.X[indices], self.n_jobs)


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.ascontiguousarray(matrix)
