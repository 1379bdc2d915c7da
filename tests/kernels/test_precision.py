"""Nasty numbers: offsets, wide scales, outliers, duplicates; K must stay accurate."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import kernel_matrix

from fewlabels.kernels import RBF, Polynomial, Sigmoid
from fewlabels.kernels.operators import RowMap, make_gram
from fewlabels.kernels.operators.rows import choose_precision

pytestmark = pytest.mark.filterwarnings("error")

# What RowMap's choice of precision promises for a kernel value (size at most 1).
PROMISED = 1e-5


def values(kernel, X, **options):
    """K by columns, by block and by product with unit coefficients."""
    gram = make_gram(kernel, X, **options)
    everything = np.arange(gram.n)
    by_product = np.column_stack([gram.product(everything[[j]], np.ones(1)) for j in everything])
    return gram, gram.columns(everything), gram.block(everything), by_product


def assert_accurate(kernel, reference, X, tol=PROMISED):
    K = kernel_matrix(reference, X)
    gram, columns, block, by_product = values(kernel, X)
    for found in (columns, block, by_product):
        assert np.abs(found - K).max() <= tol
    assert np.all(columns <= 1.0 + 1e-12) or not isinstance(kernel, RBF)
    return gram


@pytest.mark.parametrize("d", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e2, 1e4, -1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_offset(offset, d, dtype, rng):
    X = (rng.normal(size=(60, d)) + offset).astype(dtype)
    gram = assert_accurate(RBF(0.5 / d), ("rbf", 0.5 / d), X)
    assert gram.dtype == np.float32  # after centring nothing speaks against it


@pytest.mark.parametrize("spread", [1e-3, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 30.0, 1e3, 3e4])
@pytest.mark.parametrize("d", [1, 2, 5, 30, 300])
def test_close_pairs_far_from_the_centre(spread, d, rng):
    """The worst case: large norms cancel to distances of about one."""
    centres = rng.normal(size=(20, d))
    centres *= spread / np.linalg.norm(centres, axis=1).max()
    X = np.concatenate([centres + rng.normal(size=(20, d)) * 0.5 / np.sqrt(d) for _ in range(4)])
    assert_accurate(RBF(1.0), ("rbf", 1.0), X)


@pytest.mark.parametrize("outlier", [10.0, 1e3, 1e5])
def test_one_outlier(outlier, rng):
    X = rng.normal(size=(80, 3))
    X[7] += outlier
    assert_accurate(RBF(1.0), ("rbf", 1.0), X)


def test_features_of_very_different_scales(rng):
    X = rng.normal(size=(80, 4)) * np.array([1e-6, 1e-2, 1.0, 1e4])
    assert_accurate(RBF(0.5), ("rbf", 0.5), X)
    assert_accurate(RBF(1e-9), ("rbf", 1e-9), X)


@pytest.mark.parametrize("offset", [0.0, 3.0, 30.0, 1e3])
def test_sparse_rows_are_not_centred(offset, rng):
    X = rng.normal(size=(60, 5))
    X[:, 0] += offset
    X[np.abs(X) < 0.5] = 0.0
    assert_accurate(RBF(0.5), ("rbf", 0.5), sp.csr_array(X))


@pytest.mark.parametrize("size", [1.0, 5.0, 10.0, 30.0, 1e2, 1e4])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_sigmoid_of_large_rows(storage, size, rng):
    """Where <x, z> is near zero by cancellation, tanh shows every rounding error."""
    X = rng.normal(size=(60, 30))
    X *= size / np.linalg.norm(X, axis=1, keepdims=True)
    assert_accurate(Sigmoid(1.0, 0.3), ("sigmoid", 1.0, 0.3), storage(X))
    assert_accurate(Sigmoid(9.0, -0.3), ("sigmoid", 9.0, -0.3), storage(X / 3))


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6, 1e12])
def test_polynomial_of_large_rows(degree, scale, rng):
    X = scale * rng.normal(size=(50, 4))
    _, columns, block, by_product = values(Polynomial(1.0, degree, 1.0), X)
    K = kernel_matrix(("poly", 1.0, degree, 1.0), X)
    size = (np.outer(*[np.linalg.norm(X, axis=1)] * 2) + 1.0) ** degree
    for found in (columns, block, by_product):
        assert np.abs((found - K) / size).max() <= PROMISED


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_rows_and_columns(storage, dtype, rng):
    X = np.zeros((50, 3), dtype)
    for kernel in (RBF(1.0), RBF(0.0)):
        _, columns, block, by_product = values(kernel, storage(X))
        assert np.all(columns == 1.0)
        assert np.all(block == 1.0)
        assert np.all(by_product == 1.0)
    X[:, 1] = 7.25
    _, columns, *_ = values(RBF(1.0), storage(X))
    assert np.abs(columns - 1.0).max() <= PROMISED


def test_equal_rows_have_equal_columns(rng):
    X = rng.normal(size=(40, 5)) * 3 + 100
    X[20:] = X[:20]
    for dtype in (np.float32, np.float64):
        gram, columns, block, _ = values(RBF(0.7), X, dtype=dtype)
        assert np.array_equal(columns[:20], columns[20:])
        assert np.array_equal(columns[:, :20], columns[:, 20:])
        assert np.array_equal(block[:20], block[20:])
        tol = gram.value_error
        assert tol < 1e-4
        assert np.abs(np.diag(columns[:20, 20:]) - 1.0).max() <= tol


@pytest.mark.parametrize(
    ("kernel", "norm", "n_rows", "min_support", "dtype"),
    [
        (RBF(1.0), 1.0, 10, None, np.float32),  # only evaluated
        (RBF(1.0), 1e4, 10, None, np.float64),  # float32 would round too much
        (RBF(1.0), 1.0, 1024, 1.0, np.float64),  # solved as one working set
        (RBF(1.0), 1.0, 1025, 1.0, np.float32),
        (RBF(1.0), 1.0, 2048, 0.3, np.float64),  # of which few rows are evaluated
        (RBF(1.0), 1.0, 2049, 0.3, np.float32),
        (Sigmoid(1.0, 0.0), 1.0, 2048, 0.3, np.float32),
        (RBF(1.0), 1e4, 10**6, 0.3, np.float64),
    ],
)
def test_choice_of_precision(kernel, norm, n_rows, min_support, dtype, rng):
    assert choose_precision(kernel, norm, 5, n_rows, min_support) == dtype
    in_shards = RowMap.from_largest_norm(kernel, None, norm, 5, 5, n_rows, min_support)
    assert in_shards.dtype == dtype
    if n_rows < 10**4:
        X = rng.random((n_rows, 5))
        X *= np.sqrt(norm / np.square(X - X.mean(axis=0)).sum(axis=1).max())
        assert make_gram(kernel, X, min_support=min_support).dtype == dtype


def test_precision_can_be_asked_for(rng):
    X = rng.normal(size=(30, 2)) * 1e4
    assert make_gram(RBF(1.0), X).dtype == np.float64
    assert make_gram(RBF(1.0), X, dtype=np.float32).dtype == np.float32
    assert make_gram(RBF(1.0), X / 1e4, dtype="float64").dtype == np.float64


finite = st.one_of(
    st.floats(-1e5, 1e5),
    st.sampled_from([0.0, -0.0, 1e-300, 1e-12, 1e-6, 1.0, -1.0, 1e4, 1e4 + 1e-9, 1e5]),
)


@settings(max_examples=60)
@given(
    X=st.tuples(st.integers(1, 9), st.integers(1, 5)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=finite)
    ),
    gamma=st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 30.0]),
    sparse=st.booleans(),
    single=st.booleans(),
)
def test_any_rows_give_accurate_finite_values(X, gamma, sparse, single):
    X = X.astype(np.float32) if single else X
    # float64 keeps 1e-5 as long as the exponents stay below 1e-5 / 2^-52.
    X = X * min(1.0, 1e4 / max(1.0, np.sqrt(gamma) * np.abs(X).max()))
    rows = sp.csr_array(X) if sparse else X
    assert_accurate(RBF(gamma), ("rbf", gamma), rows)
    scale = 1.0 / max(1.0, np.abs(X).max())
    assert_accurate(Sigmoid(gamma, 0.1), ("sigmoid", gamma, 0.1), rows * scale)


def test_centre_is_of_the_training_rows(rng):
    X = rng.normal(size=(50, 3)) + 1e4
    row_map = RowMap(RBF(1.0), X)
    assert np.allclose(row_map.center, X.mean(axis=0), rtol=1e-12)
    far = RowMap(RBF(1.0), sp.csr_array(X)).center
    np.testing.assert_array_equal(far, np.quantile(X, 0.5, axis=0, method="lower"))
    assert RowMap(RBF(1.0), sp.csr_array(X - 1e4)).center is None
    restored = RowMap.restore(RBF(1.0), row_map.center, row_map.dtype)
    for old, new in zip(row_map.prepare(X), restored.prepare(X), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("d", [1, 3, 30, 300])
def test_stated_error_of_values(d, storage, dtype, rng):
    """``value_error`` covers the error, and is not beyond 200 times of it everywhere."""
    largest = {}
    for spread in (0.0, 0.5, 2.0, 8.0, 30.0):
        centres = rng.normal(size=(20, d))
        centres *= spread / np.linalg.norm(centres, axis=1).max()
        X = np.concatenate([centres + rng.normal(size=(20, d)) / (2 * np.sqrt(d))] * 4)
        X += rng.normal(size=X.shape) * 1e-3
        for kernel, reference in [
            (RBF(1.0), ("rbf", 1.0)),
            (Polynomial(1.0, 3, 1.0), ("poly", 1.0, 3, 1.0)),
            (Sigmoid(1.0, 0.1), ("sigmoid", 1.0, 0.1)),
        ]:
            K = kernel_matrix(reference, X)
            gram = make_gram(kernel, storage(X), dtype=dtype)
            size = 1.0
            if isinstance(kernel, Polynomial):
                size = np.sqrt(np.outer(np.diag(K), np.diag(K)))
            error = np.abs((gram.columns(np.arange(len(X))) - K) / size).max()
            assert error <= gram.value_error
            ratio = error / gram.value_error
            largest[type(kernel)] = max(ratio, largest.get(type(kernel), 0.0))
            assert gram.take(np.arange(5)).value_error == gram.value_error
            if dtype == np.float32:
                assert gram.refined().value_error < 1e-8 * gram.value_error
    assert min(largest.values()) > 0.005
