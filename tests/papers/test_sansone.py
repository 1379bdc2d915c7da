"""Errata of Sansone et al. (2019), and what the paper leaves open, each by an example."""

import numpy as np
import pytest
from reference import kernel_matrix, objective, solve_qp

from fewlabels._core import usmo as core
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import PrecomputedGram, make_gram
from fewlabels.positive_unlabelled.problem import pu_double_hinge
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status
from fewlabels.solvers.papers.usmo import solve_usmo
from fewlabels.solvers.papers.usmo_start import usmo_start

TAU = 1e-3


def two_samples(K, linear, c2=1.0, start=(0.5, 0.5)):
    """A problem (6) of two samples and a feasible point."""
    linear = np.asarray(linear, dtype=float)
    penalty = Penalty.kinked(0.0, c2 / 2, c2, linear - 1.0, linear + 1.0, 2)
    start = np.asarray(start)
    return DualProblem(PrecomputedGram(K), penalty, start.sum()), start


def clouds(seed, n, kernel=("rbf", 0.5), lam=0.01, prior=0.3):
    """A problem (6) of two clouds, its matrix, the paper's start, and the unlabelled rows."""
    rng = np.random.default_rng(seed)
    U, P = rng.normal(size=(n, 3)), rng.normal(size=(20, 3))
    P[:, 0] += 2
    U[: int(prior * n), 0] += 2
    K, affinity = kernel_matrix(kernel, U), kernel_matrix(kernel, U, P).mean(axis=1)
    problem = pu_double_hinge(PrecomputedGram(K), affinity, prior, lam)
    start = usmo_start(affinity, prior, problem.total, problem.penalty.upper)
    return problem, K, start, U


def printed_13(F, sigma, c2):
    """The largest left side of (13); an empty set has no value."""
    delta = np.minimum(2 * sigma, 2 * (c2 - sigma))
    D1, D2 = (delta < c2) & (sigma == delta / 2), (delta < c2) & (sigma == c2 - delta / 2)
    D3 = delta > 0
    pairs = ((D1, D3, 0), (D3, D2, 0), (D1, D2, 2))
    found = [F[one].max() - F[other].min() + add for one, other, add in pairs
             if one.any() and other.any()]  # fmt: skip
    return max(found, default=-np.inf)


# -- errata ------------------------------------------------------------------------------------


def test_13_holds_at_a_point_that_is_not_optimal():
    K, linear = np.eye(2), np.array([-5.0, 5.0])
    problem, start = two_samples(K, linear)
    F = -(K @ start + linear)
    assert printed_13(F, start, 1.0) <= TAU
    assert objective(K, problem.penalty.arrays(), start) == -0.75
    # (12) doesn't hold for any bias: both f must be between -1 and 1.
    assert np.ptp(F) > 2 + TAU
    best, value = solve_qp(K, problem.penalty.arrays(), 1.0)
    assert value == pytest.approx(-4.5)
    np.testing.assert_allclose(best, [1.0, 0.0], atol=1e-6)
    np.testing.assert_array_equal(solve_usmo(problem, start).a, best.round(6))


def test_eta_divides_in_the_first_case_of_table_1():
    # Both samples above the kink, where the minimum is inside; eta = 8.
    K, c2, sigma, F = 4.0 * np.eye(2), 1.0, np.array([0.7, 0.8]), np.array([0.1, -0.1])
    a, e = sigma.sum(), -F - K @ sigma
    numerator, eta = a * K[0, 0] + e[0] - e[1], K[0, 0] + K[1, 1]
    i, j = (core.Sample(F[k], sigma[k], K[k, k], c2 / 2, c2) for k in (0, 1))
    *pair, _ = core.solve_pair(i, j, K[0, 1])
    assert min(pair) > c2 / 2
    assert max(pair) < c2
    grid = np.linspace(c2 / 2, a - c2 / 2, 10_001)
    values = 0.5 * ((a - grid) ** 2 + grid**2) * 4.0 + e[0] * (a - grid) + e[1] * grid
    assert pair[1] == pytest.approx(grid[values.argmin()], abs=1e-4)
    assert pair[1] == pytest.approx(numerator / eta)
    assert numerator * eta > c2  # as printed, it leaves the interval


@pytest.mark.parametrize("n", [100, 200, 400])
def test_a_scan_of_all_samples_takes_n_squared_kernel_values(n):
    _, _, start, U = clouds(0, n)
    affinity = kernel_matrix(("rbf", 0.5), U, np.full((1, 3), [2.0, 0.0, 0.0]))[:, 0]
    problem = pu_double_hinge(make_gram(RBF(0.5), U, dtype=np.float64), affinity, 0.3, 0.01)
    start = usmo_start(affinity, 0.3, problem.total, problem.penalty.upper)
    history = solve_usmo(problem, start, cache_size=1).history
    before = np.array([0, *(entry["kernel_values"] for entry in history)])
    taken = [v for v, entry in zip(np.diff(before), history, strict=True)
             if entry["scan"] == "whole"]  # fmt: skip
    # The last scan takes no step: f of every bound sample, n values each.
    assert history[-1]["steps"] == 0
    assert 0.8 * n**2 <= taken[-1] <= n**2
    assert min(taken) >= 0.8 * n**2


@pytest.mark.parametrize(("gamma", "low", "high"), [(0.1, 0.0, 0.05), (10, 0.6, 0.9), (1e3, 1, 1)])
def test_narrow_kernels_leave_few_samples_at_bounds(gamma, low, high):
    problem, _, start, _ = clouds(0, 300, kernel=("rbf", gamma))
    result = solve_usmo(problem, start)
    assert result.status is Status.CONVERGED
    assert low <= problem.penalty.between(result.a).mean() <= high


def decrease_and_bound(problem, start, tau):
    """Decrease of F in every step, and what (p) of Lemma 2 says it exceeds."""
    n_steps = solve_usmo(problem, start, tol=tau).n_iter
    path = [solve_usmo(problem, start, tol=tau, max_iter=k) for k in range(n_steps + 1)]
    decrease = -np.diff([one.objective for one in path])
    moved = np.linalg.norm(np.diff([one.a for one in path], axis=0), axis=1)
    return decrease, tau / (2 * np.sqrt(2)) * moved


@pytest.mark.parametrize(("tau", "beyond"), [(0.1, 1e-3), (1e-3, 1e-6)])
def test_lemma_2_p_fails_where_a_step_crosses_a_kink(tau, beyond):
    # Until the second sample is on its kink, F falls at a rate of 2 + tau/4, then of tau/4.
    problem, start = two_samples(1e-9 * np.eye(2), [-tau / 4, 0.0], start=(0.0, 0.5 + beyond))
    decrease, bound = decrease_and_bound(problem, start, tau)
    assert len(decrease) == 1
    assert 0.5 * bound[0] < decrease[0] < 0.6 * bound[0]


# -- what the paper leaves open ----------------------------------------------------------------


@pytest.mark.parametrize("kernel", [("linear",), ("rbf", 0.05), ("rbf", 5.0)])
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_lemma_2_p_holds_in_every_step_on_clouds(kernel, lam):
    problem, _, start, _ = clouds(1, 30, kernel=kernel, lam=lam)
    decrease, bound = decrease_and_bound(problem, start, TAU)
    assert len(decrease) > 10
    assert (decrease > bound).all()


def labels_of_start(shares, lam, K, affinity, prior):
    """Labels of f at a start with these shares of c2, the bias by (16)."""
    n = len(K)
    c1, c2 = prior / (2 * lam), 1 / (2 * lam * n)
    F = c1 * affinity - K @ (shares * c2)
    below, above = (shares > 0) & (shares < 0.5), (shares > 0.5) & (shares < 1)
    return F + np.append(-1 - F[below], 1 - F[above]).mean() > 0


def test_init_depends_on_lambda_where_the_non_bound_groups_differ():
    # In units of c2, (18) has no lambda, so neither has its solution. f is proportional to
    # 1/lambda, but for the bias: (16) averages -1 and 1, which cancel if n_2 = n_4.
    rng = np.random.default_rng(0)
    U, P = rng.normal(size=(200, 3)), rng.normal(size=(30, 3)) + 1.0
    K = kernel_matrix(("rbf", 0.5), U)
    affinity = kernel_matrix(("rbf", 0.5), U, P).mean(axis=1)
    prior, lams = 0.4, (1e-4, 1e-2, 1.0, 100.0)
    shares = usmo_start(affinity, prior, prior * 200, 1.0)
    below, above = (shares > 0) & (shares < 0.5), (shares > 0.5) & (shares < 1)
    assert below.sum() == above.sum()
    labels = [labels_of_start(shares, lam, K, affinity, prior) for lam in lams]
    assert all((one == labels[0]).all() for one in labels)
    # The authors' script gives what the sum lacks to three more samples, which (16) includes.
    for value, all_rows in ((0.2, False), (0.8, True)):
        more = shares.copy()
        more[np.flatnonzero(shares == 0.5)[:3]] = value
        labels = [labels_of_start(more, lam, K, affinity, prior) for lam in lams]
        assert 0.1 < labels[0].mean() < 0.9
        assert (labels[-1] == all_rows).all()
