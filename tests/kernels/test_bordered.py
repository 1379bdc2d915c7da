"""The virtual row whose feature vector is the mean of others."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix

from fewlabels.kernels import RBF, Linear, Polynomial
from fewlabels.kernels.operators import BorderedGram, PrecomputedGram, make_gram

pytestmark = pytest.mark.filterwarnings("error")

KERNELS = [
    (RBF(0.4), ("rbf", 0.4)),
    (Polynomial(0.5, 2, 1.0), ("poly", 0.5, 2, 1.0)),
    (Linear(), ("linear",)),
]


def bordered_matrix(K, rows):
    mean = np.zeros(len(K))
    for r in rows:
        mean[r] += 1.0 / len(rows)
    edge = K @ mean
    return np.block([[K, edge[:, None]], [edge[None, :], np.array([[mean @ edge]])]])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("kernel", "reference"), KERNELS, ids=str)
def test_mean_of_rows(kernel, reference, storage, rng):
    X = rng.normal(size=(41, 3))
    for rows in (np.arange(41), np.array([7]), np.array([3, 3, 8, 40]), rng.permutation(41)[:13]):
        gram = BorderedGram.mean_of(make_gram(kernel, storage(X), dtype=np.float64), rows)
        check(gram, bordered_matrix(kernel_matrix(reference, X), rows), 1e-12, rng)


def check(gram, K, tol, rng):
    n = len(K)
    assert gram.n == n
    size = np.abs(K).max()
    assert np.abs(gram.diagonal() - np.diag(K)).max() <= tol * size
    with_border = np.array([n - 1, 1, 0])
    for indices in (np.arange(n), with_border, np.array([1, 0]), np.array([n - 1]),
                    np.array([n - 1, n - 1, 1, 1]), np.empty(0, dtype=np.intp)):  # fmt: skip
        m = len(indices)
        assert gram.columns(indices).shape == (m, n)
        assert np.abs(gram.columns(indices) - K[indices]).max(initial=0.0) <= tol * size
        assert gram.block(indices).shape == (m, m)
        part = K[np.ix_(indices, indices)]
        assert np.abs(gram.block(indices) - part).max(initial=0.0) <= tol * size
        coef = rng.normal(size=m)
        start = rng.normal(size=n)
        out = start.copy()
        gram.apply(indices, coef, out)
        allowed = tol * size * (1 + np.abs(coef).sum())
        assert np.abs(out - start - K[:, indices] @ coef).max() <= allowed


def test_take_keeps_the_virtual_row(rng):
    X = rng.normal(size=(30, 3))
    rows = np.arange(10)
    K = bordered_matrix(kernel_matrix(("rbf", 0.4), X), rows)
    gram = BorderedGram.mean_of(make_gram(RBF(0.4), X, dtype=np.float64), rows)
    chosen = np.array([2, 5, 29, 11, 30])
    taken = gram.take(chosen)
    check(taken, K[np.ix_(chosen, chosen)], 1e-12, rng)
    again = np.array([3, 0, 4])
    check(taken.take(again), K[np.ix_(chosen[again], chosen[again])], 1e-12, rng)
    for wrong in (np.array([0, 1]), np.array([30, 1]), np.empty(0, dtype=np.intp)):
        with pytest.raises(ValueError, match="keeps its virtual row"):
            gram.take(wrong)


def test_bordered_precomputed(rng):
    root = rng.normal(size=(20, 20))
    K = root @ root.T
    gram = BorderedGram.mean_of(PrecomputedGram(K), np.array([1, 4, 9]))
    check(gram, bordered_matrix(K, [1, 4, 9]), 1e-12, rng)


def test_positive_semidefinite(rng):
    X = rng.normal(size=(25, 2))
    gram = BorderedGram.mean_of(make_gram(RBF(1.0), X, dtype=np.float64), np.arange(25))
    assert np.linalg.eigvalsh(gram.block(np.arange(26))).min() > -1e-13


def test_refined_is_float64_all_over(rng):
    """float32 values under a border must not pass for the best there are."""
    X = rng.normal(size=(40, 3))
    rows = np.arange(7, 31)
    gram = BorderedGram.mean_of(make_gram(RBF(0.4), X), rows)
    assert gram.dtype == np.float32
    refined = gram.refined()
    assert refined.dtype == np.float64
    K = bordered_matrix(kernel_matrix(("rbf", 0.4), X), rows)
    check(refined, K, 1e-13, rng)
    assert refined.refined() is None
    part = gram.take(np.array([3, 9, 40])).refined()
    assert part.dtype == np.float64
    taken = np.array([3, 9, 40])
    assert np.abs(part.columns(np.arange(3)) - K[np.ix_(taken, taken)]).max() <= 1e-13
    # The block of a float32 operator is exact as well, border included.
    assert np.abs(gram.block(taken) - K[np.ix_(taken, taken)]).max() <= 1e-13


def test_cost_is_counted_by_the_inner_operator(rng):
    inner = make_gram(RBF(0.4), rng.normal(size=(40, 3)))
    gram = BorderedGram.mean_of(inner, np.arange(10))
    assert gram.n_values == inner.n_values == 400
    gram.apply(np.array([3, 40]), np.ones(2), np.zeros(41))
    assert gram.n_values == inner.n_values == 440
    assert gram.value_cost == inner.value_cost
