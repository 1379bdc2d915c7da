"""Enough rows for the coarse start, the cache of columns and many threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import dual_bound, kernel_matrix, kkt_residual, objective
from reference.problems import implied_interval

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import BorderedGram, make_gram
from fewlabels.one_class.problem import one_class, svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status, solve_decomposition

pytestmark = pytest.mark.filterwarnings("error")

GUARD = 600.0


class Matrix:
    """Q of RBF rows (and a virtual mean row), multiplied in parts; never formed."""

    def __init__(self, X, gamma, scale=1.0, ridge=0.0, mean_of=None):
        self.X, self.gamma, self.scale, self.ridge = X, gamma, scale, ridge
        self.mean_of = mean_of

    def _product(self, a):
        used = np.flatnonzero(a)
        parts = []
        for first in range(0, len(self.X), 2000):
            K = kernel_matrix(("rbf", self.gamma), self.X[first : first + 2000], self.X[used])
            parts.append(K @ a[used])
        return np.concatenate(parts)

    def __matmul__(self, a):
        if self.mean_of is None:
            return self.scale * self._product(a) + self.ridge * a
        mean = np.zeros(len(self.X))
        mean[self.mean_of] = 1.0 / len(self.mean_of)
        inner = self._product(a[:-1] + a[-1] * mean)
        return np.append(inner, mean @ inner)


def check(problem, Q, M, result, tol, max_gap):
    """Feasible, tau-optimal, and close to the optimum by a certificate of our own."""
    penalty, arrays = problem.penalty, problem.penalty.arrays()
    a = result.a
    assert result.status is Status.CONVERGED
    assert np.all(a >= penalty.lower)
    assert np.all(a <= penalty.upper)
    assert abs(a.sum() - problem.total) <= 1e-10 * max(abs(problem.total), np.abs(a).sum())
    assert kkt_residual(Q, arrays, a) <= tol
    value = objective(Q, arrays, a)
    assert result.objective == pytest.approx(value, rel=1e-6)
    low, high = implied_interval(problem)
    kinks = [np.clip(kink, low, high) for kink in penalty.kinks]
    tightened = (low, *kinks, high, *penalty.slopes)
    bound = dual_bound(M, problem.ridge, tightened, a, problem.total, result.multiplier)
    assert -1e-9 * abs(value) <= value - bound <= max_gap * abs(value)
    assert result.duality_gap == pytest.approx(value - bound, rel=0.05, abs=1e-6 * abs(value))


def rows(rng, n, d=2):
    X = rng.normal(size=(n, d))
    X[: n // 2, 0] += 2.0
    return X


@pytest.mark.parametrize(
    "machine", ["one-class", "svdd linear", "svdd squared", "weighted", "csr"]
)
def test_coarse_start(machine, rng):
    n = 15_000
    # In units of the gradient, which is that of an average of kernel values.
    values = {"coarse": 0.0, "cold": 0.0}
    for draw in range(2):
        X = rows(rng, n)
        problem = coarse_problem(machine, X, rng)
        Q = Matrix(X, 0.7, problem.scale, problem.ridge)
        M = Matrix(X, 0.7, problem.scale)
        tol = 1e-5 * problem.scale
        for seed in range(3):
            result = solve_decomposition(problem, tol=tol, max_time=GUARD, random_state=seed)
            values["coarse"] += result.history[-1]["kernel_values"] / 3
            if draw == seed == 0:
                check(problem, Q, M, result, tol, max_gap=2e-3)
        cold = solve_decomposition(problem, tol=tol, max_time=GUARD, coarse=False)
        values["cold"] += cold.history[-1]["kernel_values"]
        if draw == 0:
            check(problem, Q, M, cold, tol, max_gap=2e-3)
    # The start from a sample costs little more than it saves at worst. How many rounds either
    # takes varies from sample to sample.
    assert values["coarse"] <= 1.25 * values["cold"]


def coarse_problem(machine, X, rng):
    gram = make_gram(RBF(0.7), sp.csr_array(X) if machine == "csr" else X, n_jobs=2)
    if machine == "svdd squared":
        return svdd_squared(gram, 50.0)
    if machine == "svdd linear":
        return svdd_linear(gram, 1.0 / (0.05 * len(X)))
    if machine == "weighted":
        return one_class(gram, 0.1, rng.exponential(size=len(X)) ** 3 + 1e-6)
    return one_class(gram, 0.05)


@pytest.mark.parametrize("balanced", [False, True])
def test_coarse_start_with_kinks(balanced, rng):
    """A CCCP step of the semi-supervised machine: both signs, kinks, a free variable."""
    n = 9_000
    X = rows(rng, n)
    sign = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 1.0, 1.0, -1.0)
    labelled = rng.random(n) < 0.02
    C, C_star = 1.0, 0.01
    size = np.where(labelled, C, 2 * C_star)
    lower, upper = np.minimum(sign, 0) * size, np.maximum(sign, 0) * size
    kink = np.where(labelled, lower, sign * C_star)
    left = np.where(labelled, -sign, -1.0)
    right = np.where(labelled, -sign, 1.0)
    arrays = [lower, kink, upper, left, right]
    gram = make_gram(RBF(0.7), X, n_jobs=2)
    unlabelled = np.flatnonzero(~labelled)
    if balanced:
        ends = (-np.inf, -np.inf, np.inf, -0.05, -0.05)
        arrays = [np.append(v, e) for v, e in zip(arrays, ends, strict=True)]
        gram = BorderedGram.mean_of(gram, unlabelled)
    problem = DualProblem(gram, Penalty.from_arrays(arrays), 0.0)
    Q = Matrix(X, 0.7, mean_of=unlabelled if balanced else None)
    result = solve_decomposition(problem, tol=1e-4, max_time=GUARD)
    check(problem, Q, Q, result, 1e-4, max_gap=2e-3)


def test_coarse_start_with_the_double_hinge(rng):
    n = 9_000
    X = rows(rng, n)
    positive = rows(rng, 400)[:200]
    gram = make_gram(RBF(0.7), X, n_jobs=2)
    c1, c2 = 0.05, 0.01
    linear = -c1 * kernel_matrix(("rbf", 0.7), X, positive).sum(axis=1)
    penalty = Penalty.kinked(0.0, c2 / 2, c2, linear - 1.0, linear + 1.0, n)
    problem = DualProblem(gram, penalty, c1 * 200)
    Q = Matrix(X, 0.7)
    result = solve_decomposition(problem, tol=1e-4, max_time=GUARD)
    check(problem, Q, Q, result, 1e-4, max_gap=2e-3)


def test_every_row_at_its_bound(rng):
    """nu = 1: nothing to do, and the coarse start must not spoil it."""
    X = rows(rng, 5_000)
    problem = one_class(make_gram(RBF(0.7), X), 1.0)
    result = solve_decomposition(problem, tol=1e-6, max_time=GUARD)
    assert result.status is Status.CONVERGED
    assert np.allclose(result.a, 1 / 5000, rtol=1e-12)
    assert result.a.sum() == pytest.approx(1.0, abs=1e-12)


def test_many_duplicates(rng):
    """A table of few distinct rows."""
    X = rng.normal(size=(40, 2))[rng.integers(0, 40, 6_000)]
    problem = one_class(make_gram(RBF(1.0), X), 0.2)
    result = solve_decomposition(problem, tol=1e-6, max_time=GUARD)
    Q = Matrix(X, 1.0)
    check(problem, Q, Q, result, 1e-6, max_gap=1e-3)


def test_a_weight_heavier_than_all_others(rng):
    """One row's interval holds most of the total: a sample may miss it."""
    n = 6_000
    weight = np.ones(n)
    weight[17] = 4.0 * n
    X = rows(rng, n)
    problem = one_class(make_gram(RBF(1.0), X), 0.95, weight)
    result = solve_decomposition(problem, tol=1e-6, max_time=GUARD)
    Q = Matrix(X, 1.0)
    check(problem, Q, Q, result, 1e-6, max_gap=1e-3)


def test_the_sample_decides_nothing(rng):
    """Whatever the sample, the optimum is the same."""
    X = rows(rng, 5_000)
    problem = one_class(make_gram(RBF(0.7), X), 0.1)
    values = [
        solve_decomposition(problem, tol=1e-7, random_state=state, max_time=GUARD).objective
        for state in range(4)
    ]
    assert max(values) - min(values) <= 1e-6 * abs(values[0])
    again = solve_decomposition(problem, tol=1e-7, random_state=3, max_time=GUARD)
    assert again.objective == values[3]
