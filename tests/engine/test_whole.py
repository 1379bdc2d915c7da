"""Whole problems: the rows of Q that steps have met, and the exact finish of what they solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kkt_residual

from fewlabels.kernels import make_kernel
from fewlabels.kernels.operators import make_gram
from fewlabels.one_class.problem import one_class, svdd_squared
from fewlabels.solvers import solve_decomposition
from fewlabels.solvers.decomposition import LazyRows
from fewlabels.solvers.run import MAX_ROWS_SOLVED_WHOLE


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rbf(X):
    return make_gram(make_kernel("rbf", gamma=0.5 / X.shape[1]), X, dtype=np.float64)


@pytest.mark.parametrize("problem", ["plain", "ridge and scale"])
def test_rows_that_were_met(rng, problem):
    gram = rbf(rng.normal(size=(400, 3)))
    if problem == "plain":
        problem = one_class(gram, 0.1)
    else:
        problem = svdd_squared(gram, 5.0)
        assert problem.scale != 1.0
        assert problem.ridge.any()
    Q, order = problem.matrix(), rng.permutation(400)
    met = LazyRows(problem, order[:5])
    assert not met.whole
    before = gram.n_values
    for start, stop in ((5, 17), (17, 49), (49, 50), (50, 82)):
        assert met.evaluate_rows(order[start:stop])
        np.testing.assert_array_equal(met.row_ids, order[:stop])
        np.testing.assert_array_equal(met.row_position[met.row_ids], np.arange(stop))
        np.testing.assert_allclose(met.Q[:stop], Q[met.row_ids], rtol=1e-14, atol=1e-300)
    assert gram.n_values - before == 77 * 400
    assert not met.evaluate_rows(order[:0])
    a = np.zeros(400)
    a[order[3:60]] = rng.random(57)
    np.testing.assert_allclose(met.product(a), Q @ a, rtol=1e-13)


def test_so_many_rows_that_blocks_are_faster(rng):
    n = MAX_ROWS_SOLVED_WHOLE + 100
    met = LazyRows(one_class(rbf(rng.normal(size=(n, 2))), 0.01), np.arange(10))
    order, start = np.arange(10, n), 0
    while met.evaluate_rows(order[start : start + 32]):
        start += 32
    assert 0.3 * n < len(met.row_ids) <= 0.3 * n + 32


@pytest.mark.parametrize("n", [320, 700, 1500])
@pytest.mark.parametrize("nu", [0.01, 0.2])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_solutions_are_exact(rng, n, nu, d):
    # One column and a wide kernel: Q is nearly singular, and many Newton steps are cut short.
    X = rng.normal(size=(n, d))
    problem = one_class(rbf(X), nu)
    result = solve_decomposition(problem, tol=1e-9, rtol=1e-3)
    Q, a = problem.matrix(), result.a
    arrays = problem.penalty.arrays()
    assert a.sum() == pytest.approx(problem.total, rel=1e-12)
    assert kkt_residual(Q, arrays, a) <= 1e-10 * np.abs(Q @ a).max()


@pytest.mark.parametrize("m", [1, 4, 7])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_columns_at_a_given_place(rng, m, storage, kernel):
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    gram = make_gram(make_kernel(kernel), storage(X))
    rows = rng.permutation(60)[:m]
    place = np.full((9, 60), np.nan)
    found = gram.columns(rows, place[1 : 1 + m])
    assert found.base is place
    np.testing.assert_array_equal(place[1 : 1 + m], gram.columns(rows))
    assert np.isnan(place[0]).all()
    assert np.isnan(place[1 + m :]).all()


@pytest.mark.parametrize("n", [50, 400])
def test_kernel_values_that_are_held_and_read_only(rng, n):
    X = rng.normal(size=(n, 2))
    gram = rbf(X)
    gram.materialise()
    gram.matrix.flags.writeable = False
    held = solve_decomposition(one_class(gram, 0.2), tol=1e-9)
    np.testing.assert_allclose(
        held.objective, solve_decomposition(one_class(rbf(X), 0.2), tol=1e-9).objective, rtol=1e-12
    )
