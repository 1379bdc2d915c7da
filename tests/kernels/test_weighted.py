"""A weighted sum of kernel matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix

from fewlabels.kernels import RBF, Linear, Polynomial
from fewlabels.kernels.operators import BorderedGram, PrecomputedGram, SumGram, make_gram
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import solve_decomposition

pytestmark = pytest.mark.filterwarnings("error")

MEMBERS = [
    (RBF(0.4), ("rbf", 0.4)),
    (RBF(1.6), ("rbf", 1.6)),
    (Polynomial(0.5, 2, 1.0), ("poly", 0.5, 2, 1.0)),
    (Linear(), ("linear",)),
]
WEIGHT = np.array([0.5, 2.0, 0.1, 0.03])


def summed(X):
    K = [kernel_matrix(reference, X) for _, reference in MEMBERS]
    return sum(weight * part for weight, part in zip(WEIGHT, K, strict=True))


def check(gram, K, tol, rng):
    n = len(K)
    assert gram.n == n
    size = np.abs(K).max()
    assert np.abs(gram.diagonal() - np.diag(K)).max() <= tol * size
    for indices in (np.arange(n), np.array([5, 1, 1]), np.array([2]), np.empty(0, np.intp)):
        m = len(indices)
        assert gram.columns(indices).shape == (m, n)
        assert gram.columns(indices).dtype == gram.dtype
        assert np.abs(gram.columns(indices) - K[indices]).max(initial=0.0) <= tol * size
        block = gram.block(indices)
        assert block.shape == (m, m) and block.dtype == np.float64
        assert np.abs(block - K[np.ix_(indices, indices)]).max(initial=0.0) <= 1e-12 * size
        coef, start = rng.normal(size=m), rng.normal(size=n)
        out = start.copy()
        gram.apply(indices, coef, out)
        allowed = tol * size * (1 + np.abs(coef).sum())
        assert np.abs(out - start - K[:, indices] @ coef).max() <= allowed


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_is_the_sum(storage, rng):
    X = rng.normal(size=(41, 3))
    grams = [make_gram(kernel, storage(X), dtype=np.float64) for kernel, _ in MEMBERS]
    gram = SumGram(grams, WEIGHT)
    check(gram, summed(X), 1e-12, rng)
    chosen = np.array([7, 3, 40, 11, 0, 22])
    check(gram.take(chosen), summed(X[chosen]), 1e-12, rng)


def test_precision_is_that_of_the_members(rng):
    X = rng.normal(size=(60, 3))
    members = [(RBF(g), ("rbf", g)) for g in (0.1, 0.9)]
    K = 0.3 * kernel_matrix(members[0][1], X) + 0.7 * kernel_matrix(members[1][1], X)
    single = [make_gram(kernel, X, dtype=np.float32) for kernel, _ in members]
    gram = SumGram(single, [0.3, 0.7])
    assert gram.dtype == np.float32
    errors = [member.value_error for member in single]
    assert min(errors) < gram.value_error < max(errors)
    assert gram.value_error == pytest.approx(0.3 * errors[0] + 0.7 * errors[1])
    check(gram, K, 20 * gram.value_error, rng)
    refined = gram.refined()
    assert refined.dtype == np.float64 and refined.refined() is None
    check(refined, K, 1e-13, rng)
    mixed = SumGram([single[0], refined.members[1]], [0.3, 0.7])
    assert mixed.dtype == np.float64
    assert mixed.refined().members[0].dtype == np.float64
    assert mixed.refined().members[1] is refined.members[1]


def test_kernel_values_are_counted_once_per_member(rng):
    X = rng.normal(size=(40, 3))
    gram = SumGram([make_gram(RBF(g), X) for g in (0.1, 0.9)], [1.0, 1.0])
    gram.apply(np.array([3, 4]), np.ones(2), np.zeros(40))
    assert gram.n_values == 2 * 80
    gram.block(np.arange(5))
    assert gram.n_values == 2 * 80 + 2 * 25
    gram.n_values += 7
    assert gram.n_values == 2 * 80 + 2 * 25 + 7
    assert gram.value_cost == sum(member.value_cost for member in gram.members)
    bordered = BorderedGram.mean_of(gram, np.arange(10))
    assert bordered.n_values == gram.n_values > 2 * 80 + 2 * 25 + 7


def test_rows_of_zeros_have_an_error_bound():
    gram = SumGram([make_gram(Linear(), np.zeros((4, 2)))], [1.0])
    assert gram.value_error == 0.0
    one = SumGram([make_gram(Linear(), np.array([[0.0], [3.0]]))], [1.0])
    assert one.value_error == pytest.approx(make_gram(Linear(), np.eye(1)).value_error)


@pytest.mark.parametrize("n", [150, 2200])
def test_the_engine_solves_over_it(n, rng):
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    gammas, weight = (0.1, 0.4, 1.6), np.array([0.2, 0.5, 0.3])
    gram = SumGram([make_gram(RBF(g), X) for g in gammas], weight)
    K = sum(w * kernel_matrix(("rbf", g), X) for w, g in zip(weight, gammas, strict=True))
    penalty = Penalty.linear(np.minimum(y, 0.0), np.maximum(y, 0.0), -y, n)
    result = solve_decomposition(DualProblem(gram, penalty, 0.0), tol=1e-4)
    other = solve_decomposition(DualProblem(PrecomputedGram(K), penalty, 0.0), tol=1e-4)
    assert result.converged
    # Optimality over the matrix written down: what wants up is above what wants down.
    slope = K @ result.a - y
    up, down = result.a < np.maximum(y, 0.0), result.a > np.minimum(y, 0.0)
    assert slope[down].max() - slope[up].min() <= 1.5e-4
    assert result.objective == pytest.approx(other.objective, rel=1e-5)


def test_wrong_members(rng):
    X = rng.normal(size=(10, 2))
    five, ten = make_gram(RBF(1.0), X[:5]), make_gram(RBF(1.0), X)
    with pytest.raises(ValueError, match=r"\[5, 10\] rows.*same rows"):
        SumGram([five, ten], [1.0, 1.0])
    for weight in ([1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0], 1.0):
        with pytest.raises(ValueError, match="one number > 0 per kernel matrix"):
            SumGram([ten, ten], weight)
