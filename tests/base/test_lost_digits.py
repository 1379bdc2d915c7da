"""Rows that are far from the others, or groups that are far apart, cost nobody any digits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference.certificates import objective
from reference.qp import solve_qp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.kernels import RBF, Isolation, Manifold, Trees
from fewlabels.kernels.operators import Expansion, RowMap, make_gram
from fewlabels.kernels.operators.growing.matrices import make_growing

pytestmark = pytest.mark.filterwarnings("error")
STORAGE = [np.asarray, sp.csr_array]


def groups(rng, offset):
    """Two groups in columns of their own: wherever the centre is, one is far from it."""
    X = np.zeros((120, 6))
    X[:60, :3] = rng.normal(size=(60, 3)) + offset
    X[60:, 3:] = rng.normal(size=(60, 3)) + offset
    return np.round(X * 2.0**20) / 2.0**20


def with_far_rows(rng, d, far):
    """Near rows, and behind them far ones: close to each other, equal, and alone."""
    X = rng.normal(size=(24, d))
    X[16:] += far
    X[20] = X[19]
    X[21, 0] = X[19, 0] + 1e-2 * max(1.0, np.spacing(abs(far)))
    X[23] = -2.0 * far
    return X


def exact_values(X, gamma):
    """K from differences in extended precision."""
    X = np.asarray(X, np.longdouble)
    with np.errstate(under="ignore"):
        values = np.exp(-gamma * np.square(X[:, None] - X[None]).sum(axis=2))
    return values.astype(float)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("d", [1, 3, 16, 17, 100])
@pytest.mark.parametrize("far", [30.0, 300.0, 1e5, 1e6, 1e7, 1e9, 1e30, 1e140])
def test_values_are_those_that_the_kernel_defines(far, d, storage, rng):
    X, kernel = with_far_rows(rng, d, far), RBF(0.5 / d)
    K, rows, all_rows = exact_values(X, kernel.gamma), storage(X), np.arange(len(X))
    coef = rng.normal(size=len(X))
    gram = make_gram(kernel, rows, dtype=np.float64)
    growing = make_growing(kernel, rows[:10])
    growing.append(rows[:18])
    for i in range(18, len(X)):
        growing.append(rows[[i]])
    product = np.zeros(len(X))
    growing.store.add_product(all_rows, coef, product, 1)
    expansion = Expansion(kernel, rows, coef, row_map=RowMap(kernel, rows, np.float64))
    matrices = {
        "columns": gram.columns(all_rows),
        "block": gram.block(all_rows),
        "whole": gram.whole(),
        "stored": growing.block(all_rows, all_rows),
        "evaluated": growing.store.cross(all_rows, all_rows, 1),
        "some": gram.take(all_rows[::-1]).whole()[::-1, ::-1],
    }
    for name, found in matrices.items():
        assert np.abs(found - K).max() <= 1e-11, name
        assert np.all(np.diag(found) == 1.0), name
        assert found[19, 20] == found[20, 19] == 1.0, name
    for found in (gram.product(all_rows, coef), product, expansion(rows)):
        np.testing.assert_allclose(found, K @ coef, atol=1e-10)
    np.testing.assert_allclose(kernel.values(rows, rows), K, atol=1e-11)
    kept = np.array([1, 17, 19, 20, 23])  # far rows that go
    growing.keep(kept)
    few = np.arange(len(kept))
    np.testing.assert_allclose(growing.store.cross(few, few, 1), K[np.ix_(kept, kept)], atol=1e-11)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("kind", ["isolation", "manifold", "trees"])
def test_other_similarities_of_equal_rows_are_equal(kind, storage, rng):
    X = storage(with_far_rows(rng, 3, 1e6))
    kernel = {
        "isolation": lambda: Isolation(n_draws=30).with_rows(X),
        "manifold": lambda: Manifold(n_neighbors=4).with_rows(X, gamma=0.3),
        "trees": lambda: Trees(n_trees=30).with_rows(X, np.arange(24) % 2, gamma=0.3),
    }[kind]()
    growing = make_growing(kernel, X)
    diagonal, rows = growing.append(X), np.arange(24)
    K = growing.block(rows, rows)
    if kind != "manifold":
        assert np.all(np.diag(K) == 1.0) and np.all(diagonal == 1.0)
        assert K[19, 20] == 1.0
    np.testing.assert_allclose(K[19], K[20], atol=1e-12)
    np.testing.assert_allclose(K, make_gram(kernel, X).whole(), atol=1e-11)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("model", [OneClassSVM(nu=0.2, gamma=0.5), SVDD(gamma=0.5)], ids=str)
def test_groups_that_are_far_apart_are_the_same_problem(model, storage, rng):
    near = groups(rng, 2.0**7)
    # Groups see nothing of each other: moved, they are the same problem.
    far = near + (2.0**23 - 2.0**7) * (near != 0)
    best = model.fit(near).objective_
    model.fit(storage(far))
    assert abs(model.objective_ - best) <= 1e-9 * abs(best) + model.duality_gap_


@pytest.mark.parametrize("far", [1e5, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_of_an_update_is_about_the_kernel(seed, far):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    model = OneClassSVM(nu=0.3, gamma=0.5, tol=1e-6).fit(X)
    model.partial_fit(far + rng.normal(size=(1 + seed, 3)))
    rows = model.training_rows_.X
    K, n = exact_values(rows, 0.5), len(rows)
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    zero = np.zeros(n)
    penalty = zero, zero, np.ones(n), zero, zero
    assert objective(K, penalty, a) == pytest.approx(model.objective_, rel=1e-10)
    best = solve_qp(K, penalty, 0.3 * n)[1]
    assert model.objective_ - best <= model.duality_gap_ + 1e-8 * best
    sums = K @ a
    np.testing.assert_allclose(np.ptp(model.decision_function(rows) - sums), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [OneClassSVM(gamma=0.5), SVDD(gamma=0.5), PUSVM(prior=0.4, gamma=0.5), S3VM(gamma=0.5)],
    ids=str,
)
def test_updates_to_far_groups_are_as_a_fit(model, rng):
    X, y = groups(rng, 2.0**23), np.tile([1, 0], 60)
    model.set_params(tol=1e-7).fit(X[:60], y[:60])
    model.partial_fit(X[60:], y[60:])
    updated = model.decision_function(X)
    if not isinstance(model, S3VM):  # which has several minima
        fitted = model.set_params(gamma=0.5).fit(X, y).decision_function(X)
        np.testing.assert_allclose(updated, fitted, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [OneClassSVM(gamma=0.5), PUSVM(prior=0.4, gamma=0.5), S3VM(gamma=0.5, balance=True)],
    ids=str,
)
def test_many_copies_of_a_far_row_lose_nothing(model, rng):
    X, y = rng.normal(size=(30, 2)), np.tile([1, 0, 0], 10)
    if isinstance(model, S3VM):
        y[9:] = -1  # unlabelled
    far, of_far = np.full((60, 2), 1e30), np.full(60, y[-1])
    near = (X[:, None] - X[None]) ** 2
    K = np.pad(np.exp(-0.5 * near.sum(axis=2)), (0, 60))
    K[30:, 30:] = 1.0
    model.fit(np.vstack([X, far]), np.append(y, of_far))
    scores = model.decision_function(X)
    coef = np.zeros(90)
    coef[model.support_] = model.dual_coef_[0]
    sums = K[:30] @ coef
    assert np.ptp(sums) > 0.1
    np.testing.assert_allclose(scores - scores.mean(), sums - sums.mean(), atol=1e-8)


@pytest.mark.parametrize("offset", [1e7, 1e9])
@pytest.mark.parametrize("storage", STORAGE)
def test_one_group_and_a_far_row_lose_nothing(offset, storage, rng):
    X = rng.normal(size=(100, 3)) + offset
    X[5] += 1e9
    model = OneClassSVM(nu=0.2, gamma=0.5, tol=1e-6).fit(storage(X))
    assert model.duality_gap_ < 1e-3 * model.objective_


def test_linear_decisions_next_to_a_far_row_are_not_called_zero(rng):
    X = np.append(rng.normal(size=(20, 1)), [[1e7], [-1e7]], axis=0)
    y = np.append(np.tile([0, 1, -1, -1], 5), [-1, -1])
    model = S3VM(kernel="linear", balance=False).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit([[2e7]], [-1])
    f = model.decision_function(X[:20])
    np.testing.assert_allclose(np.ptp(f - X[:20] @ model.coef_[0]), 0.0, atol=1e-7)
