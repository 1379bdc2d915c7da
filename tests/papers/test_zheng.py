"""Errata of Zheng (2018), and what the paper leaves open, each by an example."""

import numpy as np
import pytest
from reference import kernel_matrix
from sklearn.datasets import load_breast_cancer, load_digits

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import svdd_squared
from fewlabels.solvers import Status
from fewlabels.solvers.papers.interior_point import solve_interior_point
from fewlabels.solvers.papers.lagrangian import solve_lagrangian

RHO, RATE = 200.0, 0.95


def _digits(label):
    X, y = load_digits(return_X_y=True)
    return kernel_matrix(("rbf", 0.05), X[y == label] / 16.0)


def _benign():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return kernel_matrix(("rbf", 1.0 / X.shape[1]), X[y == 1])


KERNELS = {"digits-0": _digits(0), "digits-3": _digits(3), "benign": _benign()}


def equation_12(K, C, rho=RHO):
    return np.eye(len(K)) / (2 * C) + 2 * K + 2 * rho, np.diag(K) + 2 * rho


def test_lemma_1(rng):
    a, b = rng.normal(size=(2, 1000, 5))
    clipped = np.linalg.norm(np.maximum(a, 0) - np.maximum(b, 0), axis=1)
    assert (clipped <= np.linalg.norm(a - b, axis=1)).all()


# -- errata ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [2.0, 4.0, 8.0])
def test_interior_points_need_about_as_much_work(name, C):
    # Table 7 says 28 or 29 iterations of 1.3 s for 600 rows; see Mehrotra (1992).
    problem = svdd_squared(PrecomputedGram(KERNELS[name]), C)
    interior, lagrangian = solve_interior_point(problem, rho=RHO), solve_lagrangian(problem)
    assert interior.status is lagrangian.status is Status.CONVERGED
    assert 9 <= interior.n_iter <= 13
    # Multiplications: a Cholesky factor each, against an inverse and a product each.
    n = problem.n
    work = interior.n_iter * n**3 / 6, n**3 / 2 + lagrangian.n_iter * n**2
    assert 1 / 4 < work[0] / work[1] < 2


def test_the_rate_is_bounded_by_the_largest_eigenvalue():
    """c is a maximum, which is at the largest eigenvalue; section 3.2 says the smallest."""
    K, C = KERNELS["digits-3"], 2.0
    found = []
    for rho in (2.0, 20.0, 200.0):
        eigenvalues = np.linalg.eigvalsh(2 * K + 2 * rho)
        c = 1 - 2 * RATE / (1 + 2 * C * eigenvalues)
        assert c.argmax() == len(K) - 1
        Q, _ = equation_12(K, C, rho)
        norm = np.linalg.norm(np.eye(len(K)) - RATE / C * np.linalg.inv(Q), 2)
        assert c.max() == pytest.approx(norm, abs=1e-9)
        found.append(1 - c.max())
    # So the bound (23) does depend on rho, nearly in proportion.
    assert found[0] / found[2] > 30


def test_solutions_of_table_7_are_further_apart_than_its_text_says():
    # A last step of 1e-5 leaves a distance of about 1e-5 / (1 - rate), not below 1e-4.
    problem = svdd_squared(PrecomputedGram(KERNELS["benign"]), 8.0)
    interior, lagrangian = solve_interior_point(problem), solve_lagrangian(problem)
    assert 1e-3 < np.linalg.norm(interior.a - lagrangian.a) < 5e-3


# -- what the paper leaves open ----------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_only_the_largest_eigenvalue_grows_with_rho(name):
    # 2 rho J has rank one and is positive semi-definite, so eigenvalues interlace.
    K = KERNELS[name]
    without = np.linalg.eigvalsh(2 * K)
    for rho in (1.0, 100.0, 500.0):
        eigenvalues = np.linalg.eigvalsh(2 * K + 2 * rho)
        near = 1e-12 * eigenvalues[-1]
        assert (eigenvalues >= without - near).all()
        assert (eigenvalues[:-1] <= without[1:] + near).all()
        assert eigenvalues[-1] >= 2 * rho * len(K)


@pytest.mark.parametrize(("name", "C"), [("digits-0", 2.0), ("digits-3", 4.0), ("benign", 2.0)])
def test_the_rate_hardly_depends_on_rho(name, C):
    """Once the support S is found, the rest N contracts by I - gamma (Q / Q_SS)^-1.

    The Schur complement Q / Q_SS has no part that grows with rho: its quadratic form is the
    smallest one over the variables of S, where they can make the sum zero.
    """
    K, rates, steps = KERNELS[name], [], []
    for rho in (10.0, 100.0, 500.0):
        problem, gamma = svdd_squared(PrecomputedGram(K), C), RATE / C
        result = solve_lagrangian(problem, rho=rho, epsilon=1e-6, max_iter=20_000)
        Q, v = equation_12(K, C, rho)
        a = solve_interior_point(problem, rho=rho).a
        S = Q @ a - v <= gamma * a
        QSS, QSN = Q[np.ix_(S, S)], Q[np.ix_(S, ~S)]
        schur = Q[np.ix_(~S, ~S)] - QSN.T @ np.linalg.solve(QSS, QSN)
        rates.append(1 - gamma / np.linalg.eigvalsh(schur)[-1])
        changes = [entry["change"] for entry in result.history]
        assert (changes[-1] / changes[-21]) ** (1 / 20) == pytest.approx(rates[-1], abs=1e-3)
        steps.append(result.n_iter)
    assert np.ptp(rates) < 5e-4
    assert max(steps) / min(steps) < 1.1
