"""USMO on (P): the paper's steps one by one, optimal by independent code, exact starts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import kernel_matrix, kkt_residual, objective, solve_qp
from reference.usmo import follow_usmo

from fewlabels._core import usmo as core
from fewlabels.kernels import RBF
from fewlabels.kernels.operators import PrecomputedGram, make_gram
from fewlabels.one_class.problem import svdd_linear
from fewlabels.positive_unlabelled.problem import pu_double_hinge
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import Status
from fewlabels.solvers.papers.usmo import solve_usmo
from fewlabels.solvers.papers.usmo_start import group_sizes, solve_sizes, usmo_start

KERNELS = {
    "rbf": ("rbf", 0.5),
    "narrow rbf": ("rbf", 20.0),
    "linear": ("linear",),
    "quadratic": ("poly", 0.3, 2, 1.0),
}


def pu_problem(rng, n, d=3, *, kernel=("rbf", 0.5), lam=0.01, prior=0.3, weight=None, twice=0):
    """A random problem, its matrix and one-class scores (mean similarity to positives)."""
    shift = np.r_[1.0, np.zeros(d - 1)]
    U = rng.normal(size=(n, d)) + np.outer(rng.random(n) < prior, 2 * shift)
    P = rng.normal(size=(max(2, n // 5), d)) + 2 * shift
    if twice:
        U[-twice:] = U[:twice]
    K = kernel_matrix(kernel, U)
    affinity = kernel_matrix(kernel, U, P).mean(axis=1)
    problem = pu_double_hinge(PrecomputedGram(K), affinity, prior, lam, weight)
    return problem, K, affinity


def started(problem, scores, prior=0.3):
    return usmo_start(scores, prior, problem.total, problem.penalty.upper)


def assert_solved(problem, K, result, tol):
    arrays = problem.penalty.arrays()
    assert result.status is Status.CONVERGED
    assert problem.is_feasible(result.a, rtol=1e-12)
    assert kkt_residual(K, arrays, result.a) <= tol * (1 + 1e-6) + 1e-12 * np.abs(K).max()
    _, best = solve_qp(K, arrays, problem.total)
    value = objective(K, arrays, result.a)
    assert abs(value - best) <= 1e-4 * abs(best) + 1e-9
    assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert result.duality_gap >= value - best - 1e-7 * max(1.0, abs(best))


# -- the whole algorithm -------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("lam", [1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimal_by_independent_code(kernel, lam, tol, rng):
    problem, K, scores = pu_problem(rng, 90, kernel=KERNELS[kernel], lam=lam, twice=10)
    assert_solved(problem, K, solve_usmo(problem, started(problem, scores), tol=tol), tol)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("prior", [0.02, 0.5, 0.98])
def test_few_rows_and_extreme_priors(n, prior, rng):
    problem, K, scores = pu_problem(rng, n, lam=0.01, prior=prior)
    assert_solved(problem, K, solve_usmo(problem, started(problem, scores, prior)), 1e-3)


def test_more_features_than_rows(rng):
    problem, K, scores = pu_problem(rng, 30, 200, kernel=("linear",), lam=1e-3)
    assert_solved(problem, K, solve_usmo(problem, started(problem, scores), tol=1e-5), 1e-5)


def test_all_rows_equal(rng):
    K = np.full((12, 12), 2.0)
    problem = pu_double_hinge(PrecomputedGram(K), np.full(12, 1.5), 0.4, 0.01)
    assert_solved(problem, K, solve_usmo(problem, started(problem, np.zeros(12), 0.4)), 1e-3)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_every_variable_at_its_bound(share, rng):
    _, K, scores = pu_problem(rng, 20)
    penalty = Penalty.kinked(0.0, 0.5, 1.0, scores - 1.0, scores + 1.0, 20)
    problem = DualProblem(PrecomputedGram(K), penalty, share * 20)
    result = solve_usmo(problem, usmo_start(scores, 0.5, share * 20, 1.0))
    assert result.status is Status.CONVERGED
    np.testing.assert_array_equal(result.a, share)


def test_weights_and_rows_of_weight_zero(rng):
    weight = rng.choice([0.0, 1.0, 3.0], 60)
    problem, K, scores = pu_problem(rng, 60, weight=weight)
    result = solve_usmo(problem, started(problem, scores), tol=1e-5)
    kept = weight > 0
    assert_solved(problem, K, result, 1e-5)
    assert not result.a[~kept].any()
    arrays = tuple(v[kept] for v in problem.penalty.arrays())
    _, best = solve_qp(K[np.ix_(kept, kept)], arrays, problem.total)
    assert result.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("lam", [1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_every_decision_is_the_papers(kernel, lam, rng):
    problem, K, scores = pu_problem(rng, 24, kernel=KERNELS[kernel], lam=lam)
    start = started(problem, scores)
    result = solve_usmo(problem, start)
    linear, c2 = problem.penalty.slopes[0] + 1.0, problem.penalty.upper
    path = [solve_usmo(problem, start, max_iter=k).a for k in range(result.n_iter + 1)]
    pairs = [
        set(np.flatnonzero(np.abs(after - before) > 1e-12 * c2).tolist())
        for before, after in itertools.pairwise(path)
    ]
    sigma, steps = follow_usmo(K, linear, c2, start, 1e-3, pairs)
    assert steps == result.n_iter > 4
    np.testing.assert_allclose(result.a, sigma, atol=1e-8 * c2.max())


def test_objective_falls_with_every_step_by_what_history_says(rng):
    problem, K, scores = pu_problem(rng, 40, lam=1e-3)
    start = started(problem, scores)
    values = [
        objective(K, problem.penalty.arrays(), solve_usmo(problem, start, max_iter=k).a)
        for k in range(60)
    ]
    assert np.all(np.diff(values) < 0)
    result = solve_usmo(problem, start)
    decrease = sum(entry["decrease"] for entry in result.history)
    assert result.objective == pytest.approx(values[0] - decrease, rel=1e-9)
    assert sum(entry["steps"] for entry in result.history) == result.n_iter


def test_rows_in_little_memory_change_nothing(rng):
    problem, _, scores = pu_problem(rng, 150, lam=1e-3)
    start = started(problem, scores)
    plenty, little = solve_usmo(problem, start), solve_usmo(problem, start, cache_size=1)
    assert little.n_iter == plenty.n_iter
    np.testing.assert_array_equal(little.a, plenty.a)


def test_every_row_is_evaluated_once_where_all_are_held(rng):
    X = rng.normal(size=(200, 3))
    problem = pu_double_hinge(make_gram(RBF(0.5), X), rng.random(200), 0.3, 0.01)
    result = solve_usmo(problem)
    assert result.history[-1]["kernel_values"] == 200**2


def test_float32_operators_are_refined(rng):
    X = rng.normal(size=(200, 3)).astype(np.float32).astype(float)
    gram = make_gram(RBF(0.5), X, dtype=np.float32)
    # f sums to thousands: float32 kernel values are not enough for this tolerance.
    problem = pu_double_hinge(gram, rng.random(200), 0.3, 1e-5)
    result = solve_usmo(problem, tol=1e-5)
    assert result.status is Status.CONVERGED
    assert kkt_residual(kernel_matrix(("rbf", 0.5), X), problem.penalty.arrays(), result.a) <= 2e-5


def test_bias_is_that_of_the_non_bound_samples():
    # Data with non-bound samples on both sides.
    problem, K, scores = pu_problem(np.random.default_rng(0), 80)
    result = solve_usmo(problem, started(problem, scores), tol=1e-6)
    p, s = problem.penalty, result.a
    F = -(K @ s + p.slopes[0] + 1.0)
    below, above = (s > 0) & (s < p.kinks[0]), (s > p.kinks[0]) & (s < p.upper)
    assert below.any()
    assert above.any()
    f = F + result.multiplier
    assert result.multiplier == pytest.approx(np.r_[-1 - F[below], 1 - F[above]].mean())
    # (11)
    assert np.all(f[s < p.kinks[0]] <= -1 + 1e-5)
    assert np.all(f[s > p.kinks[0]] >= 1 - 1e-5)
    assert np.all(np.abs(f[s == p.kinks[0]]) <= 1 + 1e-5)


def test_without_non_bound_samples_the_bias_is_the_middle():
    penalty = Penalty.kinked(0.0, 0.5, 1.0, [-1.0, 9.0], [1.0, 11.0], 2)
    problem = DualProblem(PrecomputedGram(np.zeros((2, 2))), penalty, 1.0)
    result = solve_usmo(problem)
    np.testing.assert_array_equal(result.a, [1.0, 0.0])
    assert result.multiplier == 5.0  # F = (0, -10): f(x_1) = 5, f(x_2) = -5


@pytest.mark.parametrize("n", [50, 333])
def test_rounding_of_the_sum_makes_no_sample_non_bound(n, rng):
    # K near the identity and prior 1/2: at the optimum every sample is on its kink, and a
    # sample off it by rounding would decide about the bias.
    K = np.eye(n) + 1e-4 * kernel_matrix(("rbf", 1.0), rng.normal(size=(n, 2)))
    for lam in (1e-4, 1e-3, 1e-2):
        problem = pu_double_hinge(PrecomputedGram(K), np.zeros(n), 0.5, lam)
        result = solve_usmo(problem, started(problem, rng.random(n), 0.5))
        np.testing.assert_array_equal(result.a, problem.penalty.kinks[0])
        F = -K @ result.a
        middle = -0.5 * (F.min() + F.max())
        assert result.multiplier == pytest.approx(middle, rel=1e-9)


# -- what the paper leaves out -------------------------------------------------------------


def test_two_samples_on_their_kink_can_violate():
    # D1 and D2 are empty, so that the paper's (13) holds; moving mass still pays.
    K = np.eye(2)
    penalty = Penalty.kinked(0.0, 0.5, 1.0, [-6.0, 4.0], [-4.0, 6.0], 2)
    problem = DualProblem(PrecomputedGram(K), penalty, 1.0)
    start = np.array([0.5, 0.5])
    result = solve_usmo(problem, start)
    np.testing.assert_array_equal(result.a, [1.0, 0.0])
    assert_solved(problem, K, result, 1e-3)


# -- the sub-problem -----------------------------------------------------------------------


def pair_objective(pair, F, sigma, K, c2):
    """(8), with e from F = -(K s + linear) at ``sigma``."""
    e = -F - K @ sigma
    delta = np.minimum(2 * pair, 2 * (c2 - pair))
    return 0.5 * pair @ K @ pair + e @ pair - 0.5 * delta.sum()


def brute_pair(F, sigma, K, c2):
    """Lowest objective on the line, by a grid with breakpoints, then refined."""
    a = sigma.sum()
    low, high = max(0.0, a - c2[0]), min(c2[1], a)

    def value(x):
        return pair_objective(np.array([a - x, x]), F, sigma, K, c2)

    for _ in range(12):
        grid = np.linspace(low, high, 41)
        k = int(np.argmin([value(x) for x in grid]))
        low, high = grid[max(0, k - 1)], grid[min(40, k + 1)]
    return value(0.5 * (low + high))


def solve_one(F, sigma, K, c2):
    i, j = (core.Sample(F[k], sigma[k], K[k, k], c2[k] / 2, c2[k]) for k in (0, 1))
    *pair, decrease = core.solve_pair(i, j, K[0, 1])
    return np.array(pair), decrease


numbers = st.floats(-5.0, 5.0)
shares = st.sampled_from([0.0, 0.25, 0.5, 0.6, 1.0])


@given(numbers, numbers, shares, shares, numbers, numbers, numbers, st.booleans())
def test_four_cases_find_the_minimum_on_the_line(F_i, F_j, s_i, s_j, u, v, w, weighted):
    c2 = np.array([1.0, 3.0]) if weighted else np.array([2.0, 2.0])
    root = np.array([[u, 0.0], [v, w]])
    K, F = root @ root.T, np.array([F_i, F_j])
    sigma = np.array([s_i, s_j]) * c2
    pair, decrease = solve_one(F, sigma, K, c2)
    assert np.all(pair >= 0)
    assert np.all(pair <= c2)
    assert pair.sum() == pytest.approx(sigma.sum(), abs=1e-12)
    before = pair_objective(sigma, F, sigma, K, c2)
    after = pair_objective(pair, F, sigma, K, c2)
    size = 1 + np.abs(K).max() * 9 + 30
    assert decrease == pytest.approx(before - after, abs=1e-12 * size)
    assert after <= brute_pair(F, sigma, K, c2) + 1e-9 * size


def test_equations_of_table_1(rng):
    # Interior solutions of each case against the paper's formula with a, e and eta.
    seen = set()
    for _ in range(3000):
        root = rng.normal(size=(2, 2))
        K, c2 = root @ root.T, np.full(2, 1.0)
        F, sigma = rng.normal(size=2), rng.random(2)
        pair, _ = solve_one(F, sigma, K, c2)
        if np.any((pair == 0) | (pair == 0.5) | (pair == 1)):
            continue
        a, e = sigma.sum(), -F - K @ sigma
        eta = K[0, 0] + K[1, 1] - 2 * K[0, 1]
        case = (pair[0] > 0.5, pair[1] > 0.5)
        shift = {(True, True): 0, (True, False): 2, (False, True): -2, (False, False): 0}[case]
        expected = (a * (K[0, 0] - K[0, 1]) + e[0] - e[1] + shift) / eta
        if pair[1] == pytest.approx(expected, abs=1e-9):
            seen.add(case)
        else:  # the other sample was clipped
            assert min(abs(pair[0] - v) for v in (0, 0.5, 1)) < 1e-12
    assert len(seen) == 4


def test_duplicates_move_to_the_end_of_a_piece():
    K = np.ones((2, 2))
    # phi is lowest where both are on the kink; without curvature nothing else counts.
    pair, decrease = solve_one(np.zeros(2), np.array([0.2, 0.8]), K, np.ones(2))
    np.testing.assert_array_equal(pair, [0.5, 0.5])
    assert decrease == pytest.approx(0.6)


# -- limits and refusals -------------------------------------------------------------------


def test_no_step_returns_the_start(rng):
    problem, _, scores = pu_problem(rng, 50)
    start = started(problem, scores)
    result = solve_usmo(problem, start, max_iter=0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.a, start)


def test_limits_leave_a_certified_feasible_point(rng):
    problem, K, scores = pu_problem(rng, 60, lam=1e-3)
    start = started(problem, scores)

    def interrupt(entry):
        raise KeyboardInterrupt

    stops = [
        (Status.MAX_ITER, {"max_iter": 7}),
        (Status.MAX_TIME, {"max_time": 0.0}),
        (Status.STOPPED, {"callback": lambda entry: True}),
        (Status.INTERRUPTED, {"callback": interrupt}),
    ]
    for status, options in stops:
        result = solve_usmo(problem, start, **options)
        assert result.status is status
        assert problem.is_feasible(result.a, rtol=1e-12)
        np.testing.assert_allclose(result.gradient, K @ result.a, atol=1e-9)
        assert result.violation == pytest.approx(
            kkt_residual(K, problem.penalty.arrays(), result.a)
        )
    assert solve_usmo(problem, start, max_iter=7).n_iter == 7
    resumed = solve_usmo(problem, solve_usmo(problem, start, max_iter=7))
    assert_solved(problem, K, resumed, 1e-3)


def test_history(rng):
    problem, _, scores = pu_problem(rng, 60)
    seen = []
    result = solve_usmo(problem, started(problem, scores), callback=seen.append)
    assert result.history == seen
    assert [e["round"] for e in seen] == list(range(1, len(seen) + 1))
    assert {e["scan"] for e in seen} == {"non-bound", "whole"}
    assert seen[-1]["scan"] == "whole"
    assert seen[-1]["steps"] == 0
    assert seen[-1]["violation"] <= 1e-3
    assert {"violation", "steps", "kernel_values", "seconds"} <= set(seen[0])


def test_refuses_other_problems(rng):
    gram = PrecomputedGram(np.eye(5))
    kinks = [Penalty.kinked(0.0, 0.4, 1.0, -1.0, 1.0, 5), Penalty.kinked(0.0, 0.5, 1.0, 0, 1, 5)]
    others = [DualProblem(gram, penalty, 1.0) for penalty in kinks]
    others.append(svdd_linear(gram, 0.5))
    others.append(DualProblem(gram, Penalty.kinked(0, 0.5, 1.0, -1, 1, 5), 1.0, ridge=1.0))
    for problem in others:
        with pytest.raises(ValueError, match="double hinge loss alone"):
            solve_usmo(problem)


def test_refuses_a_start_that_is_not_feasible(rng):
    problem, _, _ = pu_problem(rng, 10)
    with pytest.raises(ValueError, match="start is not feasible"):
        solve_usmo(problem, np.zeros(10))
    with pytest.raises(ValueError, match="start is not feasible"):
        solve_usmo(problem, np.zeros(3))


# -- the start of section 4.5 --------------------------------------------------------------


@given(
    st.integers(1, 400),
    st.floats(0.001, 0.999),
    st.sampled_from(["equal", "weights", "zeros"]),
    st.sampled_from([None, 0.0, 0.2, 0.7, 1.0]),
    st.integers(0, 100),
)
def test_start_is_feasible_and_follows_the_ranking(n, prior, kind, share, seed):
    rng = np.random.default_rng(seed)
    c2 = {
        "equal": np.full(n, 0.7),
        "weights": rng.exponential(size=n) + 1e-3,
        "zeros": rng.choice([0.0, 1.0], n),
    }[kind]
    total = (prior if share is None else share) * c2.sum()
    scores = rng.integers(0, 50, n).astype(float)
    sigma = usmo_start(scores, prior, total, c2)
    assert np.all(sigma >= 0)
    assert np.all(sigma <= c2)
    assert sigma.sum() == pytest.approx(total, rel=1e-12, abs=1e-300)
    if kind == "equal":
        assert np.all(np.diff(sigma[np.argsort(scores, kind="stable")]) >= -1e-12)


def braces(n, prior, second, fourth, free, t):
    """The expression in braces of (18), in units of c2, as printed."""
    a, b, c = 1 - free / n, second / n, fourth / n
    value = prior * n - b * n * t / 2 - c * n * (1 + t) / 2
    return value - n * (prior * a + (1 - a - b - c) / 2)


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.3, 0.45, 0.5, 0.55, 0.7, 0.85, 0.97])
@pytest.mark.parametrize("n", [5, 8, 20, 60, 500, 5000])
def test_sizes_are_feasible_for_18_and_minimise_it(n, prior):
    smallest_a = max(1 / (prior * n), 1 / ((1 - prior) * n))
    solution = solve_sizes(n, prior)
    # Shares a, b, c exist only if the smallest ones fit.
    assert (solution is None) == (smallest_a + 3 / n > 1 or np.log(n) < 1)
    if solution is None:
        return
    second, fourth, free = solution
    a = 1 - free / n
    assert a >= smallest_a - 1e-12
    assert a + (second + fourth) / n <= 1 - 1 / n + 1e-12
    assert 1 <= second <= np.log(n)
    assert 1 <= fourth <= np.log(n)

    # The best value over all a, b, c on a grid; t enters linearly, so its ends suffice.
    def range_of(sizes):
        return sorted((braces(n, prior, *sizes, 0.0), braces(n, prior, *sizes, 1.0)))

    best, inside = np.inf, False
    for i, j in itertools.product(range(1, int(np.log(n)) + 1), repeat=2):
        for rest in np.linspace(1 + i + j, n * (1 - smallest_a), 200):
            if 1 + i + j <= n * (1 - smallest_a):
                low, high = range_of((i, j, rest))
                best = min(best, max(0.0, low, -high))
                inside = inside or low < -1e-9 < 1e-9 < high
    low, high = range_of(solution)
    assert max(0.0, low, -high) <= best + 1e-9
    assert low < 0 < high or not inside  # t strictly inside (0, 1) where that is possible


def test_groups_of_a_start():
    n, prior = 200, 0.4
    sizes = group_sizes(n, prior)
    assert sizes.sum() == n
    assert sizes.min() >= 1
    sigma = usmo_start(np.arange(n), prior, prior * n, 1.0)
    counts = [
        (sigma == 0).sum(),
        ((sigma > 0) & (sigma < 0.5)).sum(),
        (sigma == 0.5).sum(),
        ((sigma > 0.5) & (sigma < 1)).sum(),
        (sigma == 1).sum(),
    ]
    assert np.abs(np.array(counts) - sizes).max() <= 2
    # As in the paper the second and the fourth group have one value each.
    assert len(np.unique(sigma.round(12))) == 5
    assert sizes[0] / (sizes[0] + sizes[4]) == pytest.approx(1 - prior, abs=0.01)
