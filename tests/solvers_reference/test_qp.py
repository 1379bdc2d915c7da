"""Clarabel on (P): right on every kind of problem, exact on bounds, honest when it fails."""

import sys

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual, objective
from solvers_reference.data import KINDS, REAL, kind_of_problem, matrix, rbf, real_problem

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status, solve_decomposition
from fewlabels.solvers.qp import solve_qp


@pytest.mark.parametrize("kernel", [("rbf", 0.3), ("linear",)], ids=lambda k: k[0])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_problem_agrees_with_the_engine(kind, kernel, seed):
    problem = kind_of_problem(kind, kernel, seed)
    qp = solve_qp(problem)
    engine = solve_decomposition(problem, tol=1e-9)
    Q, size = matrix(problem), max(1.0, abs(engine.objective))

    assert qp.status is Status.CONVERGED
    assert problem.is_feasible(qp.a, rtol=1e-12)
    assert qp.objective == pytest.approx(engine.objective, abs=1e-8 * size)
    assert qp.objective == pytest.approx(
        objective(Q, problem.penalty.arrays(), qp.a), abs=1e-12 * size
    )
    assert kkt_residual(Q, problem.penalty.arrays(), qp.a) <= 1e-5 * size
    assert qp.duality_gap <= 1e-6 * size


@pytest.mark.parametrize("name", REAL)
def test_squared_slack_on_real_sets(name):
    problem = real_problem(name)
    qp = solve_qp(problem)
    engine = solve_decomposition(problem, tol=1e-8)
    assert engine.objective == pytest.approx(qp.objective, rel=1e-8)
    assert kkt_residual(matrix(problem), problem.penalty.arrays(), engine.a) <= 1e-7
    np.testing.assert_allclose(engine.a, qp.a, atol=1e-6)


@pytest.mark.parametrize("name", REAL)
def test_linear_slack_on_real_sets(name):
    X, gamma = REAL[name]
    problem = svdd_linear(rbf(X, gamma), 1.0 / (0.1 * len(X)))
    qp = solve_qp(problem)
    engine = solve_decomposition(problem, tol=1e-8)
    assert engine.objective == pytest.approx(qp.objective, rel=1e-8)
    assert kkt_residual(matrix(problem), problem.penalty.arrays(), engine.a) <= 1e-7


@pytest.mark.parametrize(("kind", "ends"), [("pu", (0, 1)), ("svdd-linear", (0, -1))])
def test_variables_on_bounds_and_kinks_are_there_exactly(kind, ends):
    problem = kind_of_problem(kind, ("rbf", 0.3), 0)
    p = problem.penalty
    a = solve_qp(problem).a
    for end in ends:
        assert (a == p.ends[end]).sum() > 5
    near = np.abs(np.array(p.ends) - a).min(axis=0)
    assert not ((near > 0) & (near < 1e-8)).any()


def test_weight_two_is_two_rows(rng):
    X = rng.normal(size=(40, 3))
    weight = rng.integers(1, 4, 40)
    row = np.repeat(np.arange(40), weight)
    for formulation, C in ((svdd_squared, 0.5), (svdd_linear, 0.05)):
        once = solve_qp(formulation(rbf(X, 0.5), C, weight))
        repeated = solve_qp(formulation(rbf(X[row], 0.5), C))
        assert once.objective == pytest.approx(repeated.objective, rel=1e-9)
    # With squared slack the solution is unique.
    once = solve_qp(svdd_squared(rbf(X, 0.5), 0.5, weight))
    repeated = solve_qp(svdd_squared(rbf(X[row], 0.5), 0.5))
    np.testing.assert_allclose(once.a, np.bincount(row, repeated.a), atol=1e-7)


def test_float32_rows_behind_the_operator_do_not_reach_the_reference(rng):
    from fewlabels.kernels import RBF
    from fewlabels.kernels.operators import make_gram

    X = rng.normal(size=(80, 3))
    rows = solve_qp(svdd_squared(make_gram(RBF(0.5), X), 2.0))
    exact = solve_qp(svdd_squared(rbf(X, 0.5), 2.0))
    # Rows are rounded to float32 once; kernel values and everything later is float64.
    assert rows.objective == pytest.approx(exact.objective, rel=1e-6)


def test_limit_on_iterations():
    result = solve_qp(real_problem("iris-0"), max_iter=2)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 2
    assert real_problem("iris-0").is_feasible(result.a)
    assert result.duality_gap > 0


def test_refuses_an_indefinite_matrix(rng):
    X = rng.normal(size=(30, 2))
    K = kernel_matrix(("sigmoid", 3.0, -2.0), X)
    problem = DualProblem(PrecomputedGram(K), Penalty.linear(0.0, 1.0, 0.0, 30), 1.0)
    with pytest.raises(ValueError, match="positive semi-definite kernel matrix"):
        solve_qp(problem)


def test_refuses_an_unbounded_problem():
    free = Penalty.linear(-np.inf, np.inf, np.array([1.0, -1.0]), 2)
    with pytest.raises(ValueError, match="unbounded below"):
        solve_qp(DualProblem(PrecomputedGram(np.zeros((2, 2))), free, 0.0))


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'fewlabels\[qp\]'"):
        solve_qp(real_problem("iris-0"))
