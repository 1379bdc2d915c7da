"""f(x) = sum_j coef_j K(x_j, x) at new rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix

from fewlabels.kernels import RBF, Callable, Linear, Polynomial, Precomputed, Sigmoid
from fewlabels.kernels.operators import Expansion, RowMap

pytestmark = pytest.mark.filterwarnings("error")

KERNELS = [
    (RBF(0.3), ("rbf", 0.3)),
    (Polynomial(0.5, 3, 1.0), ("poly", 0.5, 3, 1.0)),
    (Sigmoid(0.2, -0.1), ("sigmoid", 0.2, -0.1)),
    (Linear(), ("linear",)),
]
STORAGE = {"dense": np.asarray, "csr": sp.csr_array, "csr matrix": sp.csr_matrix}
TOLERANCE = {np.dtype(np.float32): 3e-6, np.dtype(np.float64): 1e-13}


def data(rng, n, d=5):
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.3] = 0.0
    return X


@pytest.mark.parametrize("new", STORAGE)
@pytest.mark.parametrize("old", STORAGE)
@pytest.mark.parametrize(("kernel", "reference"), KERNELS, ids=str)
def test_values_for_every_pair_of_storages(kernel, reference, old, new, rng):
    vectors, coef = data(rng, 37), rng.normal(size=37)
    for dtype in (np.float32, np.float64):
        for n in (1, 2, 255, 257, 700):
            X = data(rng, n)
            expected = kernel_matrix(reference, X, vectors) @ coef
            row_map = None if reference[0] == "linear" else RowMap(kernel, vectors, dtype)
            f = Expansion(kernel, STORAGE[old](vectors), coef, row_map=row_map)
            found = f(STORAGE[new](X))
            assert found.shape == (n,)
            assert found.dtype == np.float64
            size = np.abs(kernel_matrix(reference, X, vectors)) @ np.abs(coef) + np.abs(coef).sum()
            tol = TOLERANCE[np.dtype(np.float64 if row_map is None else dtype)]
            assert np.all(np.abs(found - expected) <= tol * size)


@pytest.mark.parametrize("old", STORAGE)
@pytest.mark.parametrize("new", STORAGE)
def test_centred_rbf_model(old, new, rng):
    """The map is made from the vectors: a dense model is centred, a sparse one is not."""
    vectors, coef = data(rng, 30) + 3.0, rng.normal(size=30)
    X = data(rng, 50) + 3.0
    f = Expansion(RBF(0.3), STORAGE[old](vectors), coef)
    expected = kernel_matrix(("rbf", 0.3), X, vectors) @ coef
    assert np.abs(f(STORAGE[new](X)) - expected).max() <= 1e-5 * np.abs(coef).sum()


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [*(k for k, _ in KERNELS), Precomputed()], ids=lambda k: type(k).__name__
)
def test_value_of_a_row_does_not_depend_on_the_batch(kernel, dtype, storage, rng):
    """Bit by bit: alone, in another order, in another batch size."""
    m, d = 203, 23
    coef = rng.normal(size=m)
    vectors = data(rng, m, d).astype(dtype)
    if isinstance(kernel, Precomputed):
        f = Expansion(kernel, None, coef, columns=rng.permutation(400)[:m])
        X = data(rng, 600, 400).astype(dtype)
    else:
        f = Expansion(kernel, STORAGE[storage](vectors), coef)
        X = data(rng, 600, d).astype(dtype)
    X = STORAGE[storage](X)
    together = f(X)
    for i in (0, 1, 2, 3, 255, 256, 300, 599):
        assert f(X[[i]])[0] == together[i]
    order = rng.permutation(600)
    assert np.array_equal(f(X[order]), together[order])
    for size in (2, 3, 5, 17, 100, 257):
        some = rng.permutation(600)[:size]
        assert np.array_equal(f(X[some]), together[some])


def test_more_rows_than_one_pass(rng, monkeypatch):
    from fewlabels.kernels.operators import expansion

    vectors, coef, X = data(rng, 20), rng.normal(size=20), data(rng, 300)
    f = Expansion(RBF(0.3), vectors, coef)
    at_once = f(X)
    monkeypatch.setattr(expansion, "_ROWS_AT_A_TIME", 64)
    assert np.array_equal(f(X), at_once)


@pytest.mark.parametrize("layout", ["F", "strided", "read-only"])
def test_memory_layout_of_new_rows(layout, rng):
    vectors, coef, X = data(rng, 20), rng.normal(size=20), data(rng, 90)
    wide = np.full((180, 10), np.nan)
    wide[::2, ::2] = X
    other = {"F": np.asfortranarray(X), "strided": wide[::2, ::2], "read-only": X.copy()}[layout]
    other.flags.writeable = layout != "read-only"
    for kernel, _ in KERNELS:
        f = Expansion(kernel, vectors, coef)
        assert np.array_equal(f(X), f(other))


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("sparse_values", [False, True])
def test_callable(storage, sparse_values, rng, monkeypatch):
    from fewlabels.kernels.operators import expansion

    largest = []

    def function(X, Z):
        largest.append(X.shape[0] * Z.shape[0])
        K = X @ Z.T
        K = K.toarray() if sp.issparse(K) else K
        return sp.csr_array(K) if sparse_values else K

    monkeypatch.setattr(expansion, "_VALUES_AT_A_TIME", 1000)
    vectors, coef, X = data(rng, 20), rng.normal(size=20), data(rng, 333)
    f = Expansion(Callable(function), STORAGE[storage](vectors), coef)
    assert np.allclose(f(STORAGE[storage](X)), X @ vectors.T @ coef, rtol=0, atol=1e-12)
    assert max(largest) <= 1000  # memory stays bounded


def test_precomputed_uses_its_columns_only(rng):
    X = rng.normal(size=(9, 30))
    columns, coef = np.array([4, 0, 29]), np.array([1.0, -2.0, 0.5])
    X[:, np.setdiff1d(np.arange(30), columns)] = np.nan
    f = Expansion(Precomputed(), None, coef, columns=columns)
    assert np.allclose(f(X), X[:, columns] @ coef, rtol=1e-14)


def test_no_vectors_and_no_rows(rng):
    X = data(rng, 7)
    for kernel, _ in KERNELS:
        row_map = None if isinstance(kernel, Linear) else RowMap(kernel, X)
        empty = Expansion(kernel, X[:0], np.zeros(0), row_map=row_map)
        assert np.array_equal(empty(X), np.zeros(7))
        f = Expansion(kernel, X, np.ones(7))
        assert f(X[:0]).shape == (0,)


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("far", [1e3, 1e8, 1e15, 1e30])
def test_new_rows_far_away_are_finite(far, storage, rng):
    vectors, coef = data(rng, 20), rng.normal(size=20)
    X = data(rng, 6)
    X[2] *= far
    f = Expansion(RBF(0.3), STORAGE[storage](vectors), coef)
    found = f(STORAGE[storage](X))
    assert np.all(np.isfinite(found))
    expected = kernel_matrix(("rbf", 0.3), X, vectors) @ coef
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(coef).sum()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_results_do_not_depend_on_threads(n_jobs, rng):
    vectors, coef, X = data(rng, 300), rng.normal(size=300), data(rng, 3000)
    for kernel, _ in KERNELS:
        for storage in STORAGE.values():
            one = Expansion(kernel, storage(vectors), coef)(storage(X))
            more = Expansion(kernel, storage(vectors), coef, n_jobs=n_jobs)(storage(X))
            assert np.array_equal(one, more)
