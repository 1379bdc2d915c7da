"""Function: its values are those of the definition, for every kernel and way to hold rows."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import scipy.sparse as sp
from reference.kernels import kernel_matrix
from sklearn.metrics.pairwise import manhattan_distances

from fewlabels.base.solution import Function
from fewlabels.kernels import RBF, Callable, FormedKernel, Linear, Precomputed, make_kernel
from fewlabels.kernels.operators import make_gram

NAMES = {
    "rbf": ("rbf", 0.3),
    "poly": ("poly", 0.3, 3, 0.7),
    "sigmoid": ("sigmoid", 0.3, 0.7),
    "linear": ("linear",),
}
KERNELS = {name: make_kernel(name, 0.3, 3, 0.7) for name in NAMES}


def prepared(kernel, X, dtype):
    """What a Function has to know of how a fit prepared rows."""
    row_map = getattr(make_gram(kernel, X, dtype=dtype), "row_map", None)
    if row_map is None:
        return {}
    return {"center": row_map.center, "float64": row_map.dtype == np.float64}


@pytest.mark.parametrize("self_weight", [0.0, 1.0])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_definition(name, dtype, is_sparse, self_weight, rng):
    V, X = rng.normal(size=(7, 3)), rng.normal(size=(20, 3))
    coef = rng.normal(size=7)
    given = [sp.csr_array(rows) if is_sparse else rows for rows in (V, X)]
    function = Function(
        kernels=(KERNELS[name],), vectors=given[0], coef=coef[None], bias=-0.4,
        self_weight=self_weight, **prepared(KERNELS[name], given[0], dtype),
    )  # fmt: skip
    expected = kernel_matrix(NAMES[name], X, V) @ coef - 0.4
    expected -= self_weight * np.diag(kernel_matrix(NAMES[name], X))
    is_rough = name != "linear" and dtype is np.float32
    np.testing.assert_allclose(
        function(given[1]), expected, rtol=0, atol=2e-5 if is_rough else 1e-12
    )


def test_several_kernels_over_the_same_rows(rng):
    V, X = rng.normal(size=(6, 2)), rng.normal(size=(9, 2))
    kernels = RBF(0.1), RBF(1.0), RBF(5.0)
    coef = rng.normal(size=(3, 6))
    coef[1] = 0.0
    function = Function(
        kernels=kernels, vectors=V, coef=coef, bias=0.3, center=V.mean(axis=0), float64=True
    )
    expected = 0.3 + sum(
        kernel_matrix(("rbf", kernel.gamma), X, V) @ c
        for kernel, c in zip(kernels, coef, strict=True)
    )
    np.testing.assert_allclose(function(X), expected, atol=1e-13)
    with pytest.raises(ValueError, match="unpack"):
        _ = function.kernel


def test_shift_moves_vectors_and_rows(rng):
    V, X = 1e4 + rng.normal(size=(5, 3)), 1e4 + rng.normal(size=(8, 3))
    coef, shift = rng.normal(size=(1, 5)), np.full(3, 1e4)
    function = Function(
        kernels=(Linear(),), vectors=V, coef=coef, bias=0.5, self_weight=1.0, shift=shift
    )
    expected = (X - shift) @ ((V - shift).T @ coef[0]) + 0.5 - np.sum((X - shift) ** 2, axis=1)
    np.testing.assert_allclose(function(X), expected, atol=1e-12)
    np.testing.assert_allclose(function.weights, (V - shift).T @ coef[0])
    other = replace(function, coef=2.0 * coef, weights=None)
    np.testing.assert_array_equal(other.weights, 2.0 * function.weights)


def test_functions_of_two_arrays(rng):
    V, X = rng.normal(size=(5, 3)), rng.normal(size=(8, 3))
    kernel = Callable(lambda A, B: np.abs(A @ B.T))
    function = Function(kernels=(kernel,), vectors=V, coef=np.ones((1, 5)), self_weight=2.0)
    expected = np.abs(X @ V.T).sum(axis=1) - 2.0 * np.sum(X * X, axis=1)
    np.testing.assert_allclose(function(X), expected, atol=1e-12)


def test_precomputed_values(rng):
    K = rng.normal(size=(4, 10))
    function = Function(
        kernels=(Precomputed(),), vectors=np.empty((0, 0)), coef=np.array([[1.0, -2.0]]),
        columns=np.array([3, 7]), self_weight=1.0,
    )  # fmt: skip
    expected = K[:, 3] - 2.0 * K[:, 7]
    np.testing.assert_allclose(function(K, diagonal=np.arange(4.0)), expected - np.arange(4.0))
    np.testing.assert_allclose(replace(function, diagonal=3.0)(K), expected - 3.0)
    with pytest.raises(ValueError, match="varying diagonal"):
        function(K)
    with pytest.raises(ValueError, match="one K\\(x, x\\) per row"):
        function(K, diagonal=np.zeros(3))


def test_rounding_is_moved_onto_the_boundary():
    function = Function(
        kernels=(Linear(),), vectors=np.eye(1), coef=np.ones((1, 1)), boundary=2.0, rounding=1e-3
    )
    assert function(np.array([[2.0009], [1.9991], [2.002]])).tolist() == [2.0, 2.0, 2.002]
    exact = replace(function, rounding=0.0)
    assert exact(np.array([[2.0], [2.0 + 1e-12]])).tolist() == [2.0, 2.0 + 1e-12]


def test_far_rows_of_positive_sums_keep_their_order(rng):
    # float32 ends at 1e-38; a sum of positive terms is evaluated beyond.
    V, X = np.zeros((1, 1)), np.array([[9.0], [10.0], [11.0]])
    values = Function(
        kernels=(RBF(1.0),), vectors=V, coef=np.ones((1, 1)), center=np.zeros(1), float64=False
    )(X)
    np.testing.assert_allclose(values, np.exp(-(X[:, 0] ** 2)), rtol=1e-10)
    mixed = Function(
        kernels=(RBF(1.0),), vectors=np.zeros((2, 1)), coef=np.array([[1.0, -1.0]]),
        center=np.zeros(1), float64=False,
    )  # fmt: skip
    assert np.all(mixed(X) == 0.0)


def test_no_support_vectors_is_a_constant():
    function = Function(
        kernels=(RBF(1.0),), vectors=np.empty((0, 2)), coef=np.empty((1, 0)), bias=-0.7,
        center=np.zeros(2), float64=True,
    )  # fmt: skip
    assert function(np.ones((3, 2))).tolist() == [-0.7] * 3


def test_values_do_not_depend_on_the_number_of_threads(rng):
    V, X = rng.normal(size=(300, 6)), rng.normal(size=(3000, 6))
    function = Function(
        kernels=(RBF(0.2),), vectors=V, coef=rng.normal(size=(1, 300)), center=V.mean(axis=0),
        float64=False,
    )  # fmt: skip
    np.testing.assert_array_equal(function(X, n_jobs=1), function(X, n_jobs=2))


def test_it_is_a_value(rng):
    function = Function(kernels=(RBF(0.2),), vectors=rng.normal(size=(3, 2)),
                        coef=np.ones((1, 3)), float64=True)  # fmt: skip
    with pytest.raises(FrozenInstanceError):
        function.bias = 2.0
    again = pickle.loads(pickle.dumps(function))
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(again(X), function(X))
    assert again.kernel == RBF(0.2)


def test_a_kernel_without_logarithms_of_its_own_ranks_rows_as_far_as_its_values_go(rng):
    """exp(-|x - z|) given as values alone, beside the same with its logarithms."""

    class Values(FormedKernel):
        is_similarity = True

        def values(self, X, Z):
            return np.exp(-manhattan_distances(X, Z))

    class Logarithms(Values):
        def log_values(self, X, Z):
            return -manhattan_distances(X, Z)

    V, coef = rng.normal(size=(30, 2)), np.full((1, 30), 1 / 30)
    far = np.outer([10.0, 50.0, 150.0, 340.0, 1000.0, 2000.0], np.ones(2))
    values, logarithms = (
        Function(kernels=(kind(),), vectors=V, coef=coef, tail=1e-12)(far)
        for kind in (Values, Logarithms)
    )
    np.testing.assert_allclose(values[:4], logarithms[:4])
    assert np.all(np.diff(logarithms) < 0)
    assert np.all(np.diff(values[:5]) < 0) and np.isfinite(values).all()
