"""Leaving out pairs is exact."""

import numpy as np
import pytest

from fewlabels.model_selection import weighing


def pile(seed, shift=0.0, labels=30, n=200):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), (np.arange(n) < labels).astype(int)
    X[y == 1, 0] += shift
    return X, y


def test_each_pair_is_ranked_by_the_rows_without_it(rng):
    X, y = pile(3, shift=1.0, labels=4, n=12)
    y = y.astype(float)
    smooth = weighing.ridge_smoother(X, 12, 3.0)
    right, area = weighing.areas(smooth, weighing.weights_without_pairs(smooth), y, rng)
    # The kernel and the ridge of the smoother: smooth = K (K + ridge)^-1.
    values, vectors = np.linalg.eigh(smooth)
    kernel = (vectors * (values / (1.0 - values))) @ vectors.T
    hits = np.zeros((4, 8))
    for i in range(4):
        for j in range(8):
            rest = np.setdiff1d(np.arange(12), [i, 4 + j])
            coef = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.eye(10), (y - y.mean())[rest])
            hits[i, j] = kernel[i, rest] @ coef > kernel[4 + j, rest] @ coef
    assert area == pytest.approx(hits.mean())
    np.testing.assert_allclose(right, [*hits.mean(axis=1), *hits.mean(axis=0)])
