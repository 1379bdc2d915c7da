"""The paper's three penalty-method solvers: (13), its conditions (14), Proposition 2."""

import numpy as np
import pytest
from reference import kernel_matrix
from scipy.optimize import nnls
from solvers_reference.data import REAL, kind_of_problem, matrix, rbf, real_problem

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import svdd_linear, svdd_squared
from fewlabels.solvers import Status, solve_decomposition
from fewlabels.solvers.papers.interior_point import solve_interior_point
from fewlabels.solvers.papers.lagrangian import solve_lagrangian
from fewlabels.solvers.papers.projected import solve_projected
from fewlabels.solvers.qp import solve_qp

SOLVERS = {
    "lagrangian": solve_lagrangian,
    "projected": solve_projected,
    "interior-point": solve_interior_point,
}
C = 2.0


def equation_12(X, gamma, rho=200.0, C=C, weight=1.0):
    """Q and v as the paper writes them, with C_i = C w_i."""
    n = len(X)
    K = kernel_matrix(("rbf", gamma), X)
    Q = np.diag(np.ones(n) / (2.0 * C * weight)) + 2.0 * K + 2.0 * rho * np.ones((n, n))
    return Q, np.diag(K) + 2.0 * rho


def solve_13(Q, v):
    """(13) as a non-negative least-squares problem: an active-set method, exact."""
    L = np.linalg.cholesky(Q)
    return nnls(L.T, np.linalg.solve(L, v), maxiter=100 * len(v))[0]


def value_13(Q, v, a):
    return 0.5 * a @ Q @ a - v @ a


def residual_14(Q, v, a):
    """How far ``0 <= Qa - v``, ``a >= 0`` and their product are from holding."""
    w = Q @ a - v
    return max(-w.min(), -a.min(), abs(w @ a), 0.0)


@pytest.mark.parametrize("name", REAL)
def test_interior_point_solves_13_on_real_sets(name):
    X, gamma = REAL[name]
    Q, v = equation_12(X, gamma)
    exact = solve_13(Q, v)
    result = solve_interior_point(real_problem(name))
    assert result.status is Status.CONVERGED
    assert result.n_iter <= 25
    np.testing.assert_allclose(result.a, exact, atol=1e-5)
    assert residual_14(Q, v, result.a) <= 1e-8
    constant = 200.0
    assert result.penalised_objective == pytest.approx(value_13(Q, v, exact) + constant, rel=1e-8)


@pytest.mark.parametrize("name", REAL)
def test_algorithm_1_solves_13_to_its_tolerance_on_real_sets(name):
    X, gamma = REAL[name]
    Q, v = equation_12(X, gamma)
    exact = solve_13(Q, v)
    result = solve_lagrangian(real_problem(name))
    assert result.status is Status.CONVERGED
    # 2 rho |1'a - 1| is the multiplier of the equality, at most K_ii = 1; the paper
    # reports |1'a - 1| < 0.002 on its own sets.
    assert abs(result.a.sum() - 1.0) < 1.05 / 400.0
    assert result.n_iter <= 3000
    assert np.linalg.norm(result.a - exact) < 2e-3
    assert result.penalised_objective == pytest.approx(value_13(Q, v, exact) + 200.0, rel=1e-3)

    tight = solve_lagrangian(real_problem(name), epsilon=1e-9, max_iter=20_000)
    np.testing.assert_allclose(tight.a, exact, atol=1e-6)
    assert tight.penalised_objective == pytest.approx(value_13(Q, v, exact) + 200.0, rel=1e-6)
    assert residual_14(Q, v, tight.a) <= 1e-5


def test_projected_solves_13_where_the_penalty_leaves_it_a_step():
    X, gamma = REAL["iris-1"]
    Q, v = equation_12(X, gamma, rho=2.0)
    exact = solve_13(Q, v)
    result = solve_projected(real_problem("iris-1"), rho=2.0, epsilon=1e-9)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.a, exact, atol=1e-6)
    assert residual_14(Q, v, result.a) <= 1e-6


def test_projected_stops_early_at_the_papers_settings():
    """Its steps are tiny long before it arrives: the method's defect, not ours."""
    result = solve_projected(real_problem("iris-1"))
    exact = solve_interior_point(real_problem("iris-1"))
    assert result.status is Status.CONVERGED
    assert result.penalised_objective > exact.penalised_objective + 1e-4
    assert result.duality_gap >= result.objective - solve_qp(real_problem("iris-1")).objective


@pytest.mark.parametrize("name", SOLVERS)
def test_feasible_point_is_certified(name):
    problem = real_problem("cancer-0")
    optimum = solve_qp(problem).objective
    result = SOLVERS[name](problem)
    feasible = result.feasible
    assert problem.is_feasible(feasible.a)
    assert result.objective == feasible.objective >= optimum - 1e-12
    assert feasible.objective - feasible.duality_gap <= optimum + 1e-12
    if name != "projected":
        assert feasible.objective == pytest.approx(optimum, rel=1e-3)
    # ``gradient`` belongs to the vector as the paper returns it.
    np.testing.assert_allclose(result.gradient, matrix(problem) @ result.a, atol=1e-9)


def test_large_rho_approaches_the_constrained_problem():
    problem = real_problem("wine-2")
    optimum = solve_qp(problem)
    errors = [abs(solve_interior_point(problem, rho=rho).a.sum() - 1.0) for rho in (1e2, 1e3, 1e4)]
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.05)
    near = solve_interior_point(problem, rho=1e5)
    np.testing.assert_allclose(near.a, optimum.a, atol=1e-4)


def test_algorithm_1_is_the_papers_iteration():
    """Every iterate equals (16) as printed: the inverse, and two products."""
    X, gamma = REAL["digits-3"]
    Q, v = equation_12(X, gamma)
    inverse, step = np.linalg.inv(Q), 0.95 / C
    expected, changes = [inverse @ v], []
    for _ in range(40):
        a = expected[-1]
        expected.append(inverse @ (v + np.maximum(Q @ a - v - step * a, 0.0)))
        changes.append(np.linalg.norm(expected[-1] - a))

    seen = []
    result = solve_lagrangian(
        real_problem("digits-3"), max_iter=40, callback=lambda entry: seen.append(entry["a"])
    )
    assert result.status is Status.MAX_ITER
    # Rounding of the printed form, whose Q a and v are 400 and nearly cancel.
    np.testing.assert_allclose(seen, expected[1:], atol=1e-7)
    np.testing.assert_allclose([h["change"] for h in result.history], changes, rtol=1e-4)
    np.testing.assert_allclose(
        [h["inner_product"] for h in result.history],
        [a @ (Q @ a - v) for a in expected[1:]],
        atol=1e-6,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_proposition_2(weighted, rng):
    """``||Qa_k - Qa*|| <= c^k ||Qa_0 - Qa*||`` with ``c = ||I - gamma Q^-1|| < 1``."""
    X, gamma = REAL["digits-8"]
    weight = rng.uniform(0.2, 3.0, len(X)) if weighted else np.ones(len(X))
    Q, v = equation_12(X, gamma, weight=weight)
    inverse = np.linalg.inv(Q)
    step = 0.95 / (C * weight.max())
    rate = np.linalg.norm(np.eye(len(X)) - step * inverse, 2)
    assert rate < 1.0

    iterates = [inverse @ v]
    solve_lagrangian(
        real_problem("digits-8", weight=weight),
        epsilon=1e-7,
        max_iter=10_000,
        callback=lambda entry: iterates.append(entry["a"]),
    )
    exact = Q @ solve_13(Q, v)
    distance = np.linalg.norm(np.array(iterates) @ Q - exact, axis=1)
    bound = distance[0] * rate ** np.arange(len(iterates))
    assert np.all(distance <= bound * (1 + 1e-9) + 1e-7)
    assert np.all(distance[1:] <= rate * distance[:-1] + 1e-7)


def test_stopping_rule_of_algorithm_1():
    result = solve_lagrangian(real_problem("wine-0"))
    change = [entry["change"] for entry in result.history]
    assert result.n_iter == len(change)
    assert change[-1] <= 1e-5 < min(change[:-1])


@pytest.mark.parametrize("name", SOLVERS)
def test_weight_two_is_two_rows(name, rng):
    X = rng.normal(size=(40, 3))
    weight = rng.integers(1, 4, 40)
    row = np.repeat(np.arange(40), weight)
    # A penalty that every method can follow to the end.
    options = {"rho": 2.0, "epsilon": 1e-10, "max_iter": 100_000}
    once = SOLVERS[name](svdd_squared(rbf(X, 0.5), 0.5, weight), **options)
    repeated = SOLVERS[name](svdd_squared(rbf(X[row], 0.5), 0.5), **options)
    assert once.converged and repeated.converged
    assert once.penalised_objective == pytest.approx(repeated.penalised_objective, rel=1e-7)
    np.testing.assert_allclose(once.a, np.bincount(row, repeated.a), atol=1e-6)
    assert once.objective == pytest.approx(repeated.objective, rel=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_callback_limit_and_interrupt(name):
    problem = real_problem("iris-2")
    solve = SOLVERS[name]

    stopped = solve(problem, callback=lambda entry: entry["round"] == 3)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == len(stopped.history) == 3
    assert all("a" not in entry for entry in stopped.history)
    assert {"round", "violation", "seconds", "change", "inner_product"} <= set(stopped.history[0])

    limited = solve(problem, max_iter=4)
    assert limited.status is Status.MAX_ITER
    assert limited.n_iter == 4
    assert solve(problem, max_iter=0).status is Status.MAX_ITER

    def press(entry):
        if entry["round"] == 2:
            raise KeyboardInterrupt

    interrupted = solve(problem, callback=press)
    assert interrupted.status is Status.INTERRUPTED
    assert problem.is_feasible(interrupted.feasible.a)
    assert interrupted.feasible.duality_gap >= 0


@pytest.mark.parametrize("name", SOLVERS)
def test_refuses_other_problems_in_one_sentence(name, rng):
    X = rng.normal(size=(30, 2))
    sentence = f"solver='{name}' needs variables a >= 0 without upper bounds and kinks"
    with pytest.raises(ValueError, match=sentence):
        SOLVERS[name](svdd_linear(rbf(X, 0.5), 0.2))
    with pytest.raises(ValueError, match=sentence):
        SOLVERS[name](kind_of_problem("pu", ("rbf", 0.3), 0))
    with pytest.raises(ValueError, match="rho > 0"):
        SOLVERS[name](svdd_squared(rbf(X, 0.5), 2.0), rho=0.0)
    indefinite = PrecomputedGram(kernel_matrix(("sigmoid", 3.0, -2.0), 3 * X))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        SOLVERS[name](svdd_squared(indefinite, 100.0))


def test_the_engine_is_at_least_as_low_as_algorithm_1():
    for name in REAL:
        problem = real_problem(name)
        assert (
            solve_decomposition(problem, tol=1e-5).objective
            <= solve_lagrangian(problem).objective + 1e-9
        )
