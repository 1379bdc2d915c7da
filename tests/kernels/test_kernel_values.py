"""Every Gram operator against kernel values computed one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix, kernel_value

from fewlabels.kernels import RBF, Callable, Map, MappedKernel, make_kernel
from fewlabels.kernels.operators import (
    FormedGram,
    LinearGram,
    PrecomputedGram,
    RowsGram,
    make_gram,
)
from fewlabels.kernels.operators.rows import RowMap

pytestmark = pytest.mark.filterwarnings("error")

# Error of a kernel value, relative to its natural size (see ``natural_size``).
TOLERANCE = {np.dtype(np.float32): 3e-6, np.dtype(np.float64): 2e-14}

KERNELS = [
    ("rbf", 0.3),
    ("rbf", 0.0),
    *(("poly", 0.5, degree, 1.0) for degree in range(6)),
    ("poly", 0.7, 3, -0.4),
    ("poly", 0.0, 2, 1.5),
    ("sigmoid", 0.2, -0.5),
    ("sigmoid", 0.0, 0.3),
    ("linear",),
]
SIZES = [1, 2, 3, 255, 256, 257, 1000]


def make(kernel):
    name, *parameters = kernel
    names = {"rbf": ["gamma"], "poly": ["gamma", "degree", "coef0"], "sigmoid": ["gamma", "coef0"]}
    return make_kernel(name, **dict(zip(names.get(name, []), parameters, strict=True)))


def natural_size(kernel, X, Z=None):
    """What rounding errors of K(x, z) are proportional to."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, float)
    Z = X if Z is None else np.asarray(Z.toarray() if sp.issparse(Z) else Z, float)
    norms = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1))
    name, *parameters = kernel
    if name == "linear":
        return norms + 1e-30
    if name == "poly":
        gamma, degree, coef0 = parameters
        return max(degree, 1) * (gamma * norms + abs(coef0)) ** degree + 1e-30
    if name == "sigmoid":
        return 1.0 + parameters[0] * norms
    return np.ones_like(norms)


def rows(rng, n, d, dtype, storage="dense", layout="C"):
    X = rng.normal(size=(n, d)).astype(dtype)
    if storage == "csr":
        X[rng.random((n, d)) < 0.6] = 0.0
        return sp.csr_array(X)
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.full((2 * n, 3 * d), np.nan, dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        X.flags.writeable = False
    return X


def some_indices(rng, n):
    """Index sets of many lengths: empty, one, not multiples of 4 or 16, all, repeated."""
    yield np.empty(0, dtype=np.intp)
    for m in (1, 2, 3, 4, 5, 15, 16, 17, 33):
        if m <= n:
            yield rng.permutation(n)[:m]
    yield np.arange(n)[::-1]
    yield np.array([n - 1, 0, n - 1], dtype=np.intp)


def check_operator(gram, K, size, tol, rng):
    """All requests of the contract against the matrix ``K``."""
    n = len(K)
    assert gram.n == n
    diagonal = gram.diagonal()
    assert diagonal.dtype == np.float64
    assert diagonal.shape == (n,)
    assert np.all(np.abs(diagonal - np.diag(K)) <= tol * np.diag(size))
    for indices in some_indices(rng, n):
        m = len(indices)
        expected, allowed = K[indices], tol * size[indices]
        columns = gram.columns(indices)
        assert columns.shape == (m, n)
        assert np.all(np.abs(columns - expected) <= allowed)
        block = gram.block(indices)
        assert block.dtype == np.float64
        assert block.shape == (m, m)
        expected, natural = expected[:, indices], size[np.ix_(indices, indices)]
        rounding = 2e-14 * natural
        # Steps are decided by the block: always in float64, whatever the columns are.
        assert np.all(np.abs(block - expected) <= rounding)
        assert np.all(np.abs(block - block.T) <= rounding.max(initial=0.0))
        coef = rng.normal(size=m)
        start = rng.normal(size=n)
        out = start.copy()
        gram.apply(indices, coef, out)
        total, much = K[:, indices] @ coef, size[:, indices] @ np.abs(coef)
        much = tol * (much + np.abs(start))
        assert np.all(np.abs(out - start - total) <= much)
        product = gram.product(indices, coef)
        assert np.all(np.abs(product - total) <= much)
        quadratic = gram.quadratic(indices, coef)
        allowed = tol * np.abs(coef) @ natural @ np.abs(coef)
        assert abs(quadratic - coef @ expected @ coef) <= allowed


def check_taken(gram, K, size, tol, rng):
    """Operators of some rows, and of some rows of these."""
    n = len(K)
    for m in {1, n, max(1, n // 2)}:
        chosen = rng.permutation(n)[:m]
        taken = gram.take(chosen)
        check_operator(taken, K[np.ix_(chosen, chosen)], size[np.ix_(chosen, chosen)], tol, rng)
        again = rng.permutation(m)[: max(1, m // 2)]
        both = chosen[again]
        check_operator(
            taken.take(again), K[np.ix_(both, both)], size[np.ix_(both, both)], tol, rng
        )


def test_reference_kernels_agree(rng):
    X = rng.normal(size=(6, 3))
    for kernel in KERNELS:
        K = kernel_matrix(kernel, X)
        for i in range(6):
            for j in range(6):
                assert K[i, j] == pytest.approx(
                    kernel_value(kernel, X[i], X[j]), rel=1e-12, abs=1e-14
                )


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_operator_equals_naive(kernel, dtype, storage, rng):
    for n, d in zip(SIZES, [3, 1, 2, 4, 5, 8, 7], strict=True):
        X = rows(rng, n, d, dtype, storage)
        gram = make_gram(make(kernel), X, dtype=dtype)
        # Empty rows are equal.
        plain = gram if gram.copies is None else gram.inner
        if kernel[0] == "linear":
            assert isinstance(plain, LinearGram)
        else:
            assert isinstance(plain, RowsGram)
            assert gram.dtype == dtype
        K, size = kernel_matrix(kernel, X), natural_size(kernel, X)
        # LinearGram sums in float64, whatever the rows are.
        tol = TOLERANCE[np.dtype(np.float64 if kernel[0] == "linear" else dtype)]
        check_operator(gram, K, size, tol, rng)
        check_taken(gram, K, size, tol, rng)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "read-only"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [("rbf", 0.3), ("poly", 0.5, 3, 1.0), ("sigmoid", 0.2, 0.1), ("linear",)], ids=str
)
def test_memory_layout_does_not_matter(kernel, dtype, layout, rng):
    X = rows(rng, 257, 5, dtype, layout=layout)
    before = X.copy()
    gram = make_gram(make(kernel), X, dtype=dtype)
    tol = TOLERANCE[np.dtype(np.float64 if kernel[0] == "linear" else dtype)]
    check_operator(gram, kernel_matrix(kernel, X), natural_size(kernel, X), tol, rng)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("d", [*range(1, 10), 16, 31, 64, 129])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_of_features(d, dtype, rng):
    kernel = ("rbf", 0.5 / d)
    X = rows(rng, 40, d, dtype)
    gram = make_gram(make(kernel), X, dtype=dtype)
    check_operator(gram, kernel_matrix(kernel, X), np.ones((40, 40)), TOLERANCE[gram.dtype], rng)


def test_tiled_linear_map(rng):
    """The linear kernel through the tiles, which only an Expansion's relatives may use."""
    from fewlabels.kernels.operators import RowMap

    X = rows(rng, 300, 6, np.float64)
    gram = RowsGram(RowMap(make(("linear",)), X, np.float64), X)
    check_operator(gram, X @ X.T, natural_size(("linear",), X), 2e-14, rng)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csr_matrix, np.asfortranarray])
def test_precomputed(wrap, dtype, rng):
    for n in (1, 3, 50, 257):
        factor = rng.normal(size=(n, n + 1))
        K = (factor @ factor.T / (n + 1)).astype(dtype)
        K[np.abs(K) < 0.05] = 0.0
        gram = make_gram(make_kernel("precomputed"), wrap(K))
        assert isinstance(gram, PrecomputedGram)
        exact = K.astype(np.float64)
        size = np.full((n, n), np.abs(exact).max() + 1.0)
        check_operator(gram, exact, size, 2e-14, rng)
        check_taken(gram, exact, size, 2e-14, rng)


def test_precomputed_apply_in_parts(rng, monkeypatch):
    from fewlabels.kernels.operators import explicit

    monkeypatch.setattr(explicit, "_VALUES_AT_A_TIME", 70)
    K = rng.normal(size=(30, 30))
    K += K.T
    for matrix in (K, sp.csr_array(K)):
        check_operator(PrecomputedGram(matrix), K, np.full((30, 30), 10.0), 2e-14, rng)
    X = rng.normal(size=(30, 2))
    gram = FormedGram(Callable(_laplace), X)
    check_operator(gram, _laplace(X, X), np.ones((30, 30)), 2e-14, rng)


def _laplace(X, Z):
    X = X.toarray() if sp.issparse(X) else X
    Z = Z.toarray() if sp.issparse(Z) else Z
    distance = np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2)
    return np.exp(-0.4 * distance)


def _sparse_result(X, Z):
    return sp.csr_array(_laplace(X, Z))


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("function", [_laplace, _sparse_result])
def test_callable(function, storage, rng):
    for n in (1, 3, 65, 130):
        X = rows(rng, n, 3, np.float64, storage)
        gram = make_gram(make_kernel(function), X)
        assert isinstance(gram if gram.copies is None else gram.inner, FormedGram)
        K = _laplace(X, X)
        check_operator(gram, K, np.ones((n, n)), 2e-14, rng)
        check_taken(gram, K, np.ones((n, n)), 2e-14, rng)


def test_callable_of_the_wrong_shape_is_refused(rng):
    gram = FormedGram(Callable(lambda X, Z: np.ones(len(X))), rng.normal(size=(5, 2)))
    with pytest.raises(ValueError, match=r"must return shape \(5, 2\)"):
        gram.columns(np.array([0, 3]))


@pytest.mark.parametrize(
    ("name", "word"), [("gauss", "gauss"), (None, "None"), ("RBF", "RBF")], ids=str
)
def test_unknown_kernel_is_refused(name, word):
    with pytest.raises(ValueError, match=f"{word}.* is not valid"):
        make_kernel(name)


class DistanceMap(RBF):
    """The Gaussian kernel through the forms that every map has."""

    values = MappedKernel.values


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_a_map_of_arrays_gives_the_values(storage, rng):
    X, Z = rng.normal(size=(20, 3)) + 50.0, rng.normal(size=(7, 3)) + 50.0
    given = [sp.csr_array(rows) if storage == "csr" else rows for rows in (X, Z)]
    found = DistanceMap(gamma=0.3).values(*given)
    exact = [[kernel_value(("rbf", 0.3), x, z) for z in Z] for x in X]
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_a_map_that_is_not_compiled_is_refused(rng, monkeypatch):
    monkeypatch.setattr(DistanceMap, "map", 1 + max(Map))
    X = rng.normal(size=(20, 3))
    said = "DistanceMap.map is 4, which isn't compiled; choose one of EXP2, POWER, TANH, IDENTITY"
    with pytest.raises(ValueError, match=said):
        RowsGram(RowMap(DistanceMap(gamma=0.3), X), X)
    with pytest.raises(ValueError, match=said):
        RowMap.restore(DistanceMap(gamma=0.3), None, float)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_honest_count_of_kernel_values(storage, rng):
    X = rng.normal(size=(100, 3))
    gram = make_gram(make(("rbf", 1.0)), sp.csr_array(X) if storage == "csr" else X)
    assert gram.n_values == 0
    gram.columns(np.arange(7))
    assert gram.n_values == 700
    gram.apply(np.arange(5), np.ones(5), np.zeros(100))
    assert gram.n_values == 1200
    gram.block(np.arange(9))
    assert gram.n_values == 1281


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("kernel", [("rbf", 0.3), ("poly", 0.5, 3, 1.0)], ids=str)
def test_refined_has_float64_values(kernel, storage, rng):
    X = rows(rng, 60, 4, np.float32, storage)
    gram = make_gram(make(kernel), X)
    assert gram.dtype == np.float32
    refined = gram.refined()
    assert refined.dtype == np.float64
    assert refined.refined() is None
    K, size = kernel_matrix(kernel, X), natural_size(kernel, X)
    check_operator(refined, K, size, TOLERANCE[np.dtype(np.float64)], rng)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_part_of_an_operator_can_be_refined(storage, rng):
    """Otherwise a solver would take float32 values of a part for the best there are."""
    kernel = ("rbf", 0.3)
    X = rows(rng, 60, 4, np.float64, storage)
    chosen, again = rng.permutation(60)[:30], rng.permutation(30)[:11]
    part = make_gram(make(kernel), X).take(chosen).take(again)
    assert part.dtype == np.float32
    refined = part.refined()
    assert refined.dtype == np.float64
    K = kernel_matrix(kernel, X[chosen[again]])
    check_operator(refined, K, np.ones((11, 11)), TOLERANCE[np.dtype(np.float64)], rng)


def test_csr_that_is_not_canonical(rng):
    """Unsorted column indices, explicit zeros and entries given twice (which add up)."""
    data = np.array([1.0, 2.0, 0.5, 0.0, -1.0, 3.0, 1.0])
    indices = np.array([3, 0, 3, 1, 2, 2, 0])
    indptr = np.array([0, 3, 4, 4, 7])
    X = sp.csr_array((data, indices, indptr), shape=(4, 5))
    dense = X.toarray()
    assert dense[0, 3] == 1.5
    for kernel in [("rbf", 0.1), ("poly", 0.5, 2, 1.0), ("sigmoid", 0.1, 0.0), ("linear",)]:
        gram = make_gram(make(kernel), X.copy(), dtype=np.float64)
        K, size = kernel_matrix(kernel, dense), natural_size(kernel, dense)
        check_operator(gram, K, size, TOLERANCE[np.dtype(np.float64)], rng)
    # What the user passed is not changed.
    assert np.array_equal(X.indices, indices)
    assert np.array_equal(X.data, data)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_csr_read_only_and_index_types(index_dtype, rng):
    X = rows(rng, 90, 6, np.float64, "csr")
    X = sp.csr_array(
        (X.data, X.indices.astype(index_dtype), X.indptr.astype(index_dtype)), shape=X.shape
    )
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    kernel = ("rbf", 0.4)
    gram = make_gram(make(kernel), X)
    tol = TOLERANCE[gram.dtype]
    check_operator(gram, kernel_matrix(kernel, X), np.ones((90, 90)), tol, rng)


def test_integers_as_rows(rng):
    X = rng.integers(-3, 4, size=(50, 4))
    for kernel in [("rbf", 0.1), ("poly", 0.5, 2, 1.0), ("linear",)]:
        gram = make_gram(make(kernel), X, dtype=np.float64)
        check_operator(gram, kernel_matrix(kernel, X), natural_size(kernel, X), 2e-14, rng)
