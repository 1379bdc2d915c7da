"""Is an S3VM at a local minimum, judged by data and coefficients alone?"""

import numpy as np
import pytest
import scipy.sparse as sp

from .kernels import kernel_matrix


def clouds(rng, n=100, labels=8, d=3, apart=0.8):
    """Two clouds, a few labels of each, NaN for the others."""
    truth = np.where(np.arange(n) % 2 == 0, 1.0, 0.0)
    X = rng.normal(size=(n, d)) + apart * (2 * truth[:, None] - 1)
    y = np.full(n, np.nan)
    y[:labels] = truth[:labels]
    return X, y, truth


def judge(
    model, X, y, kernel=("rbf", 0.3), balance=True, weight=None, tol=1e-7, prices=(10.0, 5.0)
):
    """Is the model a local minimum of (1) over these rows, and are its attributes right?"""
    K = kernel_matrix(kernel, X)
    n, weight = len(X), np.ones(len(X)) if weight is None else weight
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    f = K @ coef + model.intercept_[0]
    assert model.shape_fit_ == X.shape and model.n_features_in_ == X.shape[1]
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    assert np.allclose(vectors, X[model.support_])
    assert np.allclose(model.decision_function(X), f, atol=1e-8)
    labelled = ~np.isnan(y)
    sign = 2 * np.nan_to_num(y) - 1
    clear = labelled | (np.abs(f) > 1e-9)
    assert np.array_equal(model.transduction_[clear], np.where(labelled, y, f > 0)[clear])
    assert model.n_support_.tolist() == [
        int(np.sum(labelled & (y == c) & (coef != 0))) for c in (0, 1)
    ]
    hinge = (prices[0] * weight * np.maximum(0, 1 - sign * f))[labelled].sum()
    hat = (prices[1] * weight * np.maximum(0, 1 - np.abs(f)))[~labelled].sum()
    assert model.objective_ == pytest.approx(0.5 * coef @ K @ coef + hinge + hat, rel=1e-9)
    assert abs(coef.sum()) < 1e-8
    if balance is not False and not labelled.all():
        target = balance
        if balance is True:
            target = np.average(sign[labelled], weights=weight[labelled])
        assert f[~labelled].mean() == pytest.approx(target, abs=tol)
        # The virtual row's part is the same for all unlabelled rows: a number that makes one of
        # them a support vector no more, or one at its bound.
        parts = np.unique(np.round(coef[~labelled], 9))
        parts = np.concatenate([parts, parts - prices[1], parts + prices[1]])
    else:
        parts = [0.0]
    price = np.where(labelled, *prices) * weight

    def at_rest(s, coef):
        at = s * coef
        right = (at >= -1e-8) & (at <= price + 1e-8)
        right &= (at >= 1e-8) | (s * f >= 1 - tol)
        right &= (at <= price - 1e-8) | (s * f <= 1 + tol)
        return right & ((at <= 1e-8) | (at >= price - 1e-8) | (np.abs(s * f - 1) <= tol))

    def optimal(part):
        rest = coef - part * ~labelled
        s = np.where(labelled, sign, np.where(f >= 0, 1.0, -1.0))
        on_boundary = ~labelled & (np.abs(f) < 1e-9)  # either side will do
        return np.all(at_rest(s, rest) | (on_boundary & at_rest(-s, rest)))

    assert any(optimal(part) for part in parts)
    assert model.kkt_violation_ < tol
