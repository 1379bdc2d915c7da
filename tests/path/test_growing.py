"""Kernel matrices of rows that come and go, against their definition."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix

from fewlabels import kernels
from fewlabels.kernels.operators.growing.matrices import BorderedGrowing, make_growing

KERNELS = {
    "rbf": (kernels.RBF(0.3), ("rbf", 0.3)),
    "poly": (kernels.Polynomial(0.5, 3, 1.0), ("poly", 0.5, 3, 1.0)),
    "sigmoid": (kernels.Sigmoid(0.1, 0.2), ("sigmoid", 0.1, 0.2)),
    "linear": (kernels.Linear(), ("linear",)),
    "function": (kernels.Callable(lambda X, Z: X @ Z.T), ("linear",)),
}


def assert_is(gram, K, rng):
    n = len(K)
    assert gram.n == n
    some = rng.choice(n, min(n, 7), replace=False)
    rows = rng.choice(n, min(n, 5), replace=False)
    coef = rng.normal(size=len(some))
    close = dict(rtol=0, atol=1e-13 * max(1.0, np.abs(K).max()) * 10)
    np.testing.assert_allclose(gram.block(np.arange(n), some), K[:, some], **close)
    np.testing.assert_allclose(gram.block(rows, some), K[np.ix_(rows, some)], **close)
    for hold in (True, False):
        out = np.ones(n)
        gram.apply(some, coef, out, hold=hold)
        np.testing.assert_allclose(out, 1.0 + K[:, some] @ coef, **close)
    for a, b in ((rows, some), (some[:1], rows)):
        weights = rng.normal(size=len(b))
        np.testing.assert_allclose(
            gram.product_at(a, b, weights), K[np.ix_(a, b)] @ weights, **close
        )


@pytest.mark.parametrize("cache_size", [1e6, 9000.0, 0.0])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("name", KERNELS)
def test_values_while_rows_come_and_go(name, storage, cache_size, rng):
    kernel, judge = KERNELS[name]
    X = rng.normal(size=(400, 4)) * (rng.random((400, 4)) < 0.6)
    given = sp.csr_array(X) if storage == "sparse" else X
    gram = make_growing(kernel, given[:10], cache_size=cache_size)
    there = np.zeros(0, int)
    for first, last in ((0, 1), (1, 10), (10, 11), (11, 300), (300, 301), (301, 400)):
        diagonal = gram.append(given[first:last])
        there = np.append(there, np.arange(first, last))
        K = kernel_matrix(judge, X[there])
        np.testing.assert_allclose(diagonal, np.diag(K)[-(last - first) :], atol=1e-12)
        assert_is(gram, K, rng)
        if len(there) > 20:
            kept = np.sort(rng.choice(len(there), len(there) - 9, replace=False))
            gram.keep(kept)
            there = there[kept]
            assert_is(gram, kernel_matrix(judge, X[there]), rng)
    if name != "function":  # a lambda cannot be pickled
        assert_is(pickle.loads(pickle.dumps(gram)), kernel_matrix(judge, X[there]), rng)


def test_columns_stay_within_the_bound(rng):
    X = rng.normal(size=(1000, 3))
    gram = make_growing(kernels.RBF(1.0), X, cache_size=400_000)
    gram.append(X)
    out = np.zeros(1000)
    for _ in range(3):
        gram.apply(rng.choice(1000, 30), np.ones(30), out)
        assert gram.cache.storage.nbytes <= 400_000
    # What is held is not evaluated again.
    same = np.arange(20)
    gram.apply(same, np.ones(20), out)
    before = gram.n_values
    gram.apply(same, np.ones(20), out)
    assert gram.n_values == before


def test_columns_in_use_are_not_dropped_for_others(rng):
    X = rng.normal(size=(300, 3))
    gram = make_growing(kernels.RBF(1.0), X, cache_size=8 * 450 * 20)
    gram.append(X)
    gram.apply(np.arange(20), np.ones(20), np.zeros(300))
    before = gram.n_values
    gram.apply(np.arange(25), np.ones(25), np.zeros(300))  # five too many
    assert gram.n_values - before == 5 * 300


def test_precomputed_values_arrive_in_pieces(rng):
    X = rng.normal(size=(30, 3))
    K = kernel_matrix(("rbf", 1.0), X)
    gram = make_growing(kernels.Precomputed(), K[:1, :1])
    for first, last in ((0, 1), (1, 12), (12, 30)):
        gram.append(K[first:last, :last])
        assert_is(gram, K[:last, :last], rng)
    with pytest.raises(ValueError, match="need 31 values"):
        gram.append(np.ones((1, 30)))


def test_other_numbers_of_features_are_refused(rng):
    for kernel in (kernels.RBF(1.0), kernels.Linear()):
        for make in (np.asarray, sp.csr_array):
            gram = make_growing(kernel, make(rng.normal(size=(5, 3))))
            with pytest.raises(ValueError, match="2 features, the others 3"):
                gram.append(make(np.ones((1, 2))))


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_the_virtual_row_is_the_mean(name, rng):
    kernel, judge = KERNELS[name]
    X = rng.normal(size=(60, 3))
    gram = BorderedGrowing(make_growing(kernel, X))
    mean = np.zeros(60, bool)

    def expected(n):
        K = kernel_matrix(judge, X[:n])
        w = mean[:n] / max(1, mean[:n].sum())
        return np.block([[np.array([[w @ K @ w]]), (K @ w)[None]], [(K @ w)[:, None], K]])

    for first, last in ((0, 20), (20, 21), (21, 60)):
        gram.append(X[first:last])
        assert_is(gram, expected(last), rng)
        joining = np.arange(first, last)[::2]
        gram.change_mean(joining + 1, 1)
        mean[joining] = True
        assert_is(gram, expected(last), rng)
    leaving = np.flatnonzero(mean)[:5]
    gram.change_mean(leaving + 1, -1)
    mean[leaving] = False
    assert_is(gram, expected(60), rng)
    np.testing.assert_allclose(
        gram.block(np.array([0, 3]), np.array([0, 5])),
        expected(60)[np.ix_([0, 3], [0, 5])],
        atol=1e-12,
    )
    before = gram.border.copy()
    gram.refresh()
    np.testing.assert_allclose(gram.border, before, atol=1e-12)
    kept = np.setdiff1d(np.arange(60), leaving)
    gram.keep(np.append(0, kept + 1))
    X, mean = X[kept], mean[kept]
    assert_is(gram, expected(len(kept)), rng)


def test_a_few_wide_rows_take_little_room():
    X = np.random.default_rng(0).normal(size=(100, 3000))
    gram = make_growing(kernels.RBF(1e-3), X)
    tracemalloc.start()
    try:
        gram.append(X)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 5 * X.nbytes
    assert_is(gram, kernel_matrix(("rbf", 1e-3), X), np.random.default_rng(1))
