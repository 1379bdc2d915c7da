"""Every machine of DESIGN.md's table as a random problem, with its exact matrix beside it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from reference import dual_bound, kernel_matrix, kkt_residual, objective, solve_qp
from reference.problems import implied_interval, random_penalty, random_point

from fewlabels.kernels import make_kernel
from fewlabels.kernels.operators import BorderedGram, make_gram
from fewlabels.one_class.problem import one_class, svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status

MACHINES = (
    "svdd squared",
    "svdd linear",
    "one-class",
    "pu double hinge",
    "pu ramp",
    "s3vm labelled",
    "s3vm",
    "s3vm balanced",
)

KERNELS = {
    "rbf": ("rbf", 0.5),
    "wide rbf": ("rbf", 0.01),
    "narrow rbf": ("rbf", 20.0),
    "quadratic": ("poly", 0.3, 2, 1.0),
    "linear": ("linear",),
}


@dataclass
class Case:
    """A problem, and what it means computed without the package."""

    problem: DualProblem
    Q: np.ndarray
    arrays: tuple

    @property
    def total(self):
        return self.problem.total

    @cached_property
    def reference(self):
        """Solution and value by the interior-point solver."""
        return solve_qp(self.Q, self.arrays, self.total)

    @property
    def unit(self):
        """Size of the variables."""
        penalty = self.problem.penalty
        ends = np.concatenate([penalty.lower, penalty.upper, [self.total]])
        return np.abs(ends[np.isfinite(ends)]).max()

    def size(self, a):
        """What the accuracy of an objective is measured by.

        Its terms; for optima near zero a thousandth of what the problem's numbers could
        make of it, since the reference is accurate to that only.
        """
        quadratic = 0.5 * abs(a @ self.Q @ a)
        terms = quadratic + abs(objective(self.Q, self.arrays, a) - quadratic)
        unit = max(self.unit, np.abs(a).max())
        slopes = np.abs(np.concatenate(self.problem.penalty.slopes)).max()
        return max(terms, 1e-3 * unit * (np.abs(self.Q).max() * unit + slopes), 1e-9)


def make_kernel_object(kernel):
    name, *parameters = kernel
    names = {"rbf": ["gamma"], "poly": ["gamma", "degree", "coef0"], "sigmoid": ["gamma", "coef0"]}
    return make_kernel(name, **dict(zip(names.get(name, []), parameters, strict=True)))


def make_case(machine, X, kernel, rng, *, dtype=None, n_jobs=1, unit=1.0, storage=np.asarray):
    """The machine on the rows X; ``unit`` scales C and with it the variables."""
    n = len(X)
    K = kernel_matrix(kernel, X)
    gram = make_gram(make_kernel_object(kernel), storage(X), dtype=dtype, n_jobs=n_jobs)
    weight = rng.choice([1.0, 0.5, 2.0], n) if rng.random() < 0.3 else None
    label = rng.choice([-1.0, 1.0], n)
    labelled = rng.random(n) < 0.3
    if machine == "svdd squared":
        problem = svdd_squared(gram, float(rng.choice([0.1, 2.0, 1e3])), weight)
    elif machine == "svdd linear":
        C = float(rng.choice([1.0, 0.5, 0.05])) + 1.0 / n
        problem = svdd_linear(gram, C if weight is None else 2 * C, weight)
    elif machine == "one-class":
        problem = one_class(gram, float(rng.choice([0.05, 0.5, 0.9, 1.0])), weight)
    elif machine == "pu double hinge":
        positive = X[rng.random(n) < 0.5] if n > 1 else X
        c1, c2 = unit * float(rng.choice([0.1, 1.0])), unit
        share = min(len(positive), 0.9 * n * c2 / c1)
        linear = -c1 * kernel_matrix(kernel, X, positive).sum(axis=1)
        penalty = Penalty.kinked(0.0, c2 / 2, c2, linear - 1.0, linear + 1.0, n)
        problem = DualProblem(gram, penalty, c1 * share)
    elif machine == "pu ramp":
        up = rng.random(n) < 0.5
        slope = -label
        penalty = Penalty.linear(np.where(up, 0.0, -unit), np.where(up, unit, 0.0), slope, n)
        problem = DualProblem(gram, penalty, 0.0)
    else:
        share = 1.0 if machine == "s3vm labelled" else labelled
        C, C_star = unit * 1.0, unit * float(rng.choice([0.1, 0.5, 2.0]))
        is_labelled = np.broadcast_to(np.asarray(share, bool), n)
        up = label > 0
        lower = np.where(is_labelled, np.where(up, 0.0, -C), np.where(up, 0.0, -2 * C_star))
        upper = np.where(is_labelled, np.where(up, C, 0.0), np.where(up, 2 * C_star, 0.0))
        kink = np.where(is_labelled, lower, np.where(up, C_star, -C_star))
        left = np.where(is_labelled, -label, -1.0)
        right = np.where(is_labelled, -label, 1.0)
        penalty = Penalty.from_arrays((lower, kink, upper, left, right))
        if machine == "s3vm balanced":
            rows = np.flatnonzero(~is_labelled)
            rows = rows if len(rows) else np.arange(n)
            mean = np.zeros(n)
            mean[rows] = 1.0 / len(rows)
            edge = K @ mean
            K = np.block([[K, edge[:, None]], [edge[None, :], np.array([[mean @ edge]])]])
            gram = BorderedGram.mean_of(gram, rows)
            r = float(rng.choice([0.0, 0.3, -0.1]))
            penalty = Penalty.joined((penalty, Penalty.linear(-np.inf, np.inf, -r, 1)))
        problem = DualProblem(gram, penalty, 0.0)
    Q = problem.scale * K + np.diag(problem.ridge)
    return Case(problem, Q, problem.penalty.arrays())


def random_case(kinds, rng, *, dtype=None, scale=1.0):
    """Random penalties of the given kinds, RBF kernel, partly with a ridge."""
    n = len(kinds)
    X = rng.normal(size=(n, 3))
    gram = make_gram(make_kernel("rbf", gamma=0.8), X, dtype=dtype)
    arrays = random_penalty(rng, kinds)
    ridge = rng.exponential(size=n) * (rng.random(n) < 0.5) if rng.random() < 0.5 else 0.0
    total = random_point(rng, arrays).sum()
    problem = DualProblem(gram, Penalty.from_arrays(arrays), total, scale, ridge)
    Q = scale * kernel_matrix(("rbf", 0.8), X) + np.diag(problem.ridge)
    return Case(problem, Q, arrays)


def random_feasible(case, rng):
    """A feasible point: a random one, its sum repaired one variable after the other."""
    lower, upper = case.problem.penalty.lower, case.problem.penalty.upper
    a = random_point(rng, case.arrays)
    for i in rng.permutation(len(a)):
        missing = case.total - a.sum()
        a[i] = min(max(a[i] + missing, lower[i]), upper[i])
    assert abs(a.sum() - case.total) <= 1e-12 * max(1.0, np.abs(a).sum())
    return a


def assert_feasible(case, a):
    assert np.all(np.isfinite(a))
    assert np.all(a >= case.problem.penalty.lower)
    assert np.all(a <= case.problem.penalty.upper)
    assert abs(a.sum() - case.total) <= 1e-10 * max(abs(case.total), np.abs(a).sum())


def assert_consistent(case, result, noise=1e-5):
    """Feasible, and the gradient is Q a to the precision of float32 kernel values."""
    assert_feasible(case, result.a)
    size = np.abs(case.Q).max()
    allowed = noise * size * np.abs(result.a).sum() + 1e-13 * size * case.unit
    assert gradient_error(case, result) <= allowed


def gradient_error(case, result):
    return float(np.abs(result.gradient - case.Q @ result.a).max())


def assert_solved(case, result, tol, *, status=Status.CONVERGED):
    """Optimal by independent code."""
    a = result.a
    assert result.status is status, f"{result.status} at violation {result.violation:g}"
    assert_consistent(case, result)
    residual = kkt_residual(case.Q, case.arrays, a)
    assert residual <= tol, f"violation {residual:g} (claimed {result.violation:g})"
    # The kernel values were precise enough for the tolerance that was asked for.
    error = gradient_error(case, result)
    assert error <= 0.5 * tol
    value = objective(case.Q, case.arrays, a)
    size = case.size(a)
    reach = np.abs(a).sum()
    assert abs(result.objective - value) <= 1e-9 * size + 0.5 * error * reach
    a_best, best = case.reference
    # A loose violation allows as much as the way to the optimum could still bring.
    missing = residual * np.abs(a - a_best).sum() if tol > 1e-6 else 0.0
    assert -1e-6 * size <= value - best <= 1e-6 * size + missing
    # The certificate covers what is missing, and does not exaggerate it.
    low, high = implied_interval(case.problem)
    width = float((high - low).sum())
    if not np.isfinite(width):  # directions that never end balance to rounding only
        assert result.duality_gap >= value - best - 1e-7 * size - error * reach
        return
    certain = 1e-7 * size + error * (reach + np.maximum(np.abs(low), np.abs(high)).sum())
    assert result.duality_gap >= value - best - certain
    assert result.duality_gap <= (tol + error) * width + certain
    ridge = case.problem.ridge
    smooth = case.Q - np.diag(ridge)
    plain = dual_bound(smooth, ridge, case.arrays, a, case.total, result.multiplier)
    assert value - result.duality_gap >= plain - certain
