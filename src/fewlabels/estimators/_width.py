"""Width of the Gaussian kernel from the distances between rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

# Rows whose distances tell how many dimensions there are in effect.
_SAMPLE = 500
# gamma times the mean squared distance, and what it is in many effective dimensions, times
# their number.
_WIDTH, _MANY = 1.4, 100.0


def distance_gamma(X, weight=None):
    """``min(1.4, 100 / d_eff) / D``, with D the mean squared distance between rows.

    ``d_eff = 2 D**2 / var(squared distance)`` is the number of dimensions of a Gaussian cloud
    whose distances vary as much. With thousands of them all distances are alike: a kernel of
    width D would give every row a coordinate of its own, and rows would learn nothing from
    each other. The rule makes the kernel nearly linear there. D is measured within columns;
    ``X.var()``, which gamma="scale" uses, counts columns of different means as spread.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Rows.
    weight : ndarray of shape (n,) or None
        Weights, > 0.

    Returns
    -------
    float
        1.0 when all rows are equal.
    """
    mean_distance = 2.0 * _total_variance(X, weight)
    if not mean_distance > 0:
        return 1.0
    return min(_WIDTH, _MANY / _effective_dimension(X)) / mean_distance


def _total_variance(X, weight):
    """Sum of the columns' variances; at least zero."""
    n = X.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    if sp.issparse(X):
        squares, mean = X.multiply(X), share @ X
        return max(0.0, float(np.sum(share @ squares) - mean @ mean))
    apart = X - share @ X
    return float(np.einsum("i,ij,ij->", share, apart, apart))


def _effective_dimension(X):
    if X.shape[0] > _SAMPLE:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], _SAMPLE, replace=False))]
    squared = euclidean_distances(X, squared=True)[np.triu_indices(X.shape[0], 1)]
    spread = float(squared.var(dtype=np.float64))
    return 2.0 * float(squared.mean(dtype=np.float64)) ** 2 / spread if spread > 0 else 1.0
