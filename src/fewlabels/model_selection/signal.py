"""Each pair of labelled rows ranked by a ridge regression of all others, in closed form.

A linear and a Gaussian kernel together. Leaving out pairs (Airola et al. 2011) has no bias for
labels that mean nothing.
"""

import numpy as np
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.extmath import safe_sparse_dot

from .._typing import FloatArray, RowMatrix

# Rows of either kind that take part at most.
MAX_ROWS_PER_KIND = 600
# Pairs of rows that are ranked at most.
_MAX_PAIRS = 8_000
# Degrees of freedom of the ranking, as a share of the rarer kind's rows.
FREEDOM_PER_ROW = 0.15
# Degrees of freedom at most.
_MAX_FREEDOM = 30.0
# Differences below it are rounding.
_MAX_ROUNDING = 1e-9


def multiply_columns(rows: RowMatrix, weights: FloatArray) -> RowMatrix:
    """Return rows, sparse or not, with their columns multiplied."""
    if isinstance(rows, np.ndarray):
        return rows * weights
    return rows.multiply(weights).tocsr()


def ridge_smoother(X: RowMatrix, n: int, freedom: float) -> FloatArray:
    """Return the matrix by which ridge regression smooths labels of the first n rows.

    With so many degrees of freedom. Directions in which other rows, without labels, are spread
    count more, as a kernel's square has them.
    """
    everything = np.zeros((X.shape[0], X.shape[0]))
    for part in (np.asarray(safe_sparse_dot(X, X.T, dense_output=True), float), rbf_kernel(X)):
        part = part - part.mean(axis=0) - part.mean(axis=1)[:, None] + part.mean()
        everything = everything + _scale_to_unit_trace(part)
    kernel = everything[:n, :n]
    if n < len(everything):
        spread = everything[:n] @ everything[:, :n]
        kernel = _scale_to_unit_trace(kernel) + _scale_to_unit_trace(spread)
    values, vectors = np.linalg.eigh(kernel)
    values = np.clip(values, 0.0, None)
    freedom = min(freedom, _MAX_FREEDOM, 0.5 * np.sum(values > 1e-9))
    if freedom <= 0.0:
        return np.zeros_like(kernel)

    def excess_freedom(log_ridge: float) -> float:
        return np.sum(values / (values + np.exp(log_ridge))) - freedom

    ridge = np.exp(
        brentq(excess_freedom, np.log(values[-1]) - 40.0, np.log(np.sum(values) / freedom) + 1.0)
    )
    return (vectors * (values / (values + ridge))) @ vectors.T


def _scale_to_unit_trace(kernel: FloatArray) -> FloatArray:
    return kernel / max(np.trace(kernel), np.finfo(float).tiny)


def weights_without_pairs(smooth: FloatArray) -> FloatArray:
    """Weight P_ij of row i's residual in what the regression without i and j says apart."""
    a, b = 1.0 - np.diag(smooth), -smooth
    with np.errstate(divide="ignore", invalid="ignore"):
        return (a + b) / (a[:, None] * a - b * b)


def areas(
    smooth: FloatArray, weight: FloatArray, y: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return how often each row is on the right side of the other kind, and the mean of it."""
    left = y - y.mean()
    left = left - smooth @ left
    ours, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    if len(ours) * len(others) > _MAX_PAIRS:
        i, j = rng.choice(ours, _MAX_PAIRS), rng.choice(others, _MAX_PAIRS)
    else:
        i, j = np.repeat(ours, len(others)), np.tile(others, len(ours))
    apart = 1.0 - weight[i, j] * left[i] + weight[j, i] * left[j]
    right = (apart > _MAX_ROUNDING) + 0.5 * (np.abs(apart) <= _MAX_ROUNDING)
    total = np.bincount(i, right, len(y)) + np.bincount(j, right, len(y))
    return total / np.maximum(np.bincount(np.r_[i, j], minlength=len(y)), 1), float(right.mean())
