"""A start from the solution of a similar problem: feasible, right gradient, few columns."""

import numpy as np
import pytest
from engine.machines import MACHINES, make_case
from hypothesis import given
from hypothesis import strategies as st
from reference import kernel_matrix
from reference.pu import clouds

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import PrecomputedGram, make_gram
from fewlabels.positive_unlabelled.problem import pu_double_hinge, pu_ramp_step
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import solve_decomposition
from fewlabels.solvers.decomposition import warm_start

seeds = st.integers(0, 10**6)


def operator(rng, n=120):
    X, y = clouds(rng, n, 30, 2, distance=1.0)
    U, P = X[y == 0], X[y == 1]
    gram = make_gram(RBF(gamma=0.5), U, dtype=np.float64)
    return gram, kernel_matrix(("rbf", 0.5), U, P).mean(axis=1), kernel_matrix(("rbf", 0.5), U)


def assert_is_start(problem, K, start):
    assert problem.is_feasible(start.a, rtol=1e-12)
    Q = problem.scale * K + np.diag(problem.ridge)
    size = np.abs(Q).max() * np.abs(start.a).sum()
    np.testing.assert_allclose(start.gradient, Q @ start.a, atol=1e-11 * size)
    assert start.n_iter == 0 and start.history == []


@given(seeds, st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.sampled_from([0.03, 0.3, 0.31, 0.97]))
def test_from_any_prior_and_lambda_to_any_other(seed, before, after):
    rng = np.random.default_rng(seed)
    gram, affinity, K = operator(rng, int(rng.integers(1, 40)))
    weight = rng.exponential(size=gram.n) + 1e-3 if seed % 2 else None
    lam = rng.choice([1e-3, 0.05, 1.0], 2)
    earlier = pu_double_hinge(gram, affinity, before, lam[0], weight)
    problem = pu_double_hinge(gram, affinity, after, lam[1], weight)
    a = solve_decomposition(earlier, tol=1e-6).a * (lam[0] / lam[1])
    start = warm_start(problem, a, K @ a)
    assert_is_start(problem, K, start)
    warm = solve_decomposition(problem, start, tol=1e-6)
    cold = solve_decomposition(problem, tol=1e-6)
    size = max(1.0, abs(cold.objective))
    assert warm.objective == pytest.approx(cold.objective, abs=1e-6 * size)


@given(seeds, st.sampled_from(MACHINES))
def test_from_any_point_to_any_machine(seed, machine):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 25)), 3))
    case = make_case(machine, X, ("rbf", 0.5), rng, dtype=np.float64)
    a = rng.normal(size=case.problem.n) * rng.choice([1e-6, 1.0, 100.0])
    start = warm_start(case.problem, a, case.Q @ a)
    assert case.problem.is_feasible(start.a, rtol=1e-9)
    size = np.abs(case.Q).max() * (np.abs(start.a).sum() + np.abs(a).sum())
    np.testing.assert_allclose(start.gradient, case.Q @ start.a, atol=1e-11 * size)


def test_the_solution_itself_stays_and_costs_nothing(rng):
    gram, affinity, _ = operator(rng)
    problem = pu_double_hinge(gram, affinity, 0.37, 0.02)
    result = solve_decomposition(problem, tol=1e-8)
    before, gradient = gram.n_values, result.gradient.copy()
    start = warm_start(problem, result.a, result.gradient)
    np.testing.assert_array_equal(start.a, result.a)
    np.testing.assert_array_equal(start.gradient, gradient)
    assert gram.n_values == before
    again = solve_decomposition(problem, start, tol=1e-7, block_size=16, polish=0)
    assert again.n_iter == 0 and gram.n_values == before


@pytest.mark.parametrize("factor", [3.0, 1 / 3.0, 0.7, 1 + 1e-13, 7.0])
def test_another_lambda_scales_the_point_onto_its_breakpoints(factor, rng):
    gram, affinity, K = operator(rng)
    result = solve_decomposition(pu_double_hinge(gram, affinity, 0.37, 0.3), tol=1e-8)
    problem = pu_double_hinge(gram, affinity, 0.37, 0.3 / factor)
    before = gram.n_values
    start = warm_start(problem, factor * result.a, factor * result.gradient)
    assert_is_start(problem, K, start)
    assert gram.n_values - before <= 2 * gram.n
    tau = start.a * 2 * (0.3 / factor) * gram.n
    for edge in (0.0, 0.5, 1.0):  # on a breakpoint or clearly beside it
        near = np.abs(tau - edge) < 1e-9
        upper = problem.penalty.upper
        np.testing.assert_array_equal(start.a[near], (edge * upper)[near])


def test_only_columns_of_variables_that_move_are_evaluated(rng):
    gram, affinity, K = operator(rng)
    result = solve_decomposition(pu_double_hinge(gram, affinity, 0.37, 0.02), tol=1e-8)
    problem = pu_double_hinge(gram, affinity, 0.38, 0.02)
    before = gram.n_values
    start = warm_start(problem, result.a, result.gradient)
    assert_is_start(problem, K, start)
    moved = np.count_nonzero(start.a != result.a)
    assert 0 < moved <= 6  # one percent of 120 rows, half a bound each
    assert gram.n_values - before <= 2 * moved * gram.n


def test_a_point_that_has_to_vanish(rng):
    # All of the ramp's variables change their interval: what is left is the zero point.
    X = rng.normal(size=(20, 2))
    K = kernel_matrix(("rbf", 0.5), X)
    label, price = np.repeat([1.0, -1.0], 10), np.ones(20)
    gram = PrecomputedGram(K)
    everywhere = np.ones(20, dtype=bool)
    a = solve_decomposition(pu_ramp_step(gram, label, price, ~everywhere), tol=1e-8).a
    start = warm_start(pu_ramp_step(gram, label, price, everywhere), a, K @ a)
    np.testing.assert_array_equal(start.a, 0.0)
    np.testing.assert_allclose(start.gradient, 0.0, atol=1e-14)


def test_arguments_are_not_changed(rng):
    gram, affinity, _ = operator(rng)
    result = solve_decomposition(pu_double_hinge(gram, affinity, 0.37, 0.02), tol=1e-8)
    a, gradient = result.a.copy(), result.gradient.copy()
    warm_start(pu_double_hinge(gram, affinity, 0.6, 0.01), a, gradient)
    np.testing.assert_array_equal(a, result.a)
    np.testing.assert_array_equal(gradient, result.gradient)


def test_free_variables_and_a_ridge(rng):
    n = 30
    K = kernel_matrix(("rbf", 0.5), rng.normal(size=(n, 2)))
    penalty = Penalty.linear(np.r_[-np.inf, np.zeros(n - 1)], np.inf, rng.normal(size=n), n)
    problem = DualProblem(PrecomputedGram(K), penalty, 1.0, 2.0, np.full(n, 0.5))
    Q = 2.0 * K + 0.5 * np.eye(n)
    a = rng.normal(size=n)
    start = warm_start(problem, a, Q @ a)
    assert_is_start(problem, K, start)
