"""Problem (P): objective, optimality, bounds, starts; against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import dual_bound, kkt_residual, objective, solve_qp
from reference.problems import KINDS, implied_interval, random_penalty, random_point

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import BorderedGram, PrecomputedGram, make_gram
from fewlabels.one_class.problem import one_class, svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty
from fewlabels.solvers import decomposition
from fewlabels.solvers.engine import coarse, partition

pytestmark = pytest.mark.filterwarnings("error")

seeds = st.integers(0, 10**6)
kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=12)
BOUNDED = [k for k in KINDS if not k.startswith(("half", "free", "kink, no"))]


def random_problem(rng, kinds, rank=None, scale=1.0, ridged=True):
    """A problem with a feasible point a0; Q is positive definite."""
    n = len(kinds)
    arrays = random_penalty(rng, kinds)
    root = rng.normal(size=(n, rank or n + 2))
    K = root @ root.T / root.shape[1]
    ridge = rng.exponential(size=n) * (rng.random(n) < 0.5) if ridged else np.zeros(n)
    a0 = random_point(rng, arrays)
    problem = DualProblem(PrecomputedGram(K), Penalty.from_arrays(arrays), a0.sum(), scale, ridge)
    return problem, arrays, K, a0


def sampled(problem, indices):
    """The problem that the engine's start from coarse to fine makes of these rows."""
    chosen = np.zeros(problem.n, bool)
    chosen[indices] = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "draw_sample_mask", lambda *_: chosen)
        rows = coarse.draw_sample(decomposition.make_memory_rows(problem), 0)
    (part,) = rows.partitions
    return DualProblem(part.gram, part.penalty, rows.total, rows.scale, part.ridge)


def matrix(problem, K):
    return problem.scale * K + np.diag(problem.ridge)


@settings(max_examples=100)
@given(kinds=kinds, seed=seeds, scale=st.sampled_from([1.0, 2.0, 1e-3]))
def test_parts_of_the_problem(kinds, seed, scale):
    rng = np.random.default_rng(seed)
    problem, arrays, K, a = random_problem(rng, kinds, scale=scale)
    Q = matrix(problem, K)
    n = len(kinds)
    assert problem.n == n
    assert np.allclose(problem.diagonal, np.diag(Q), rtol=1e-14)
    some = rng.permutation(n)[: max(1, n // 2)]
    assert np.allclose(problem.block(some), Q[np.ix_(some, some)], rtol=1e-13, atol=1e-15)
    assert np.array_equal(problem.gram.K, K)  # block() gives a copy away
    gradient = problem.gradient(a)
    assert np.allclose(gradient, Q @ a, rtol=0, atol=1e-13 * (1 + np.abs(Q) @ np.abs(a)))
    found = problem.survey(a, gradient)
    assert found.objective == pytest.approx(objective(Q, arrays, a), rel=1e-11, abs=1e-11)
    assert found.violation == pytest.approx(kkt_residual(Q, arrays, a), rel=1e-9, abs=1e-12)
    if np.isfinite(found.lowest_up) and np.isfinite(found.highest_down):
        assert found.violation == max(0.0, found.highest_down - found.lowest_up)


@settings(max_examples=120)
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=10), seed=seeds)
def test_lower_bound_is_below_the_optimum(kinds, seed):
    """At any feasible point and any multiplier."""
    rng = np.random.default_rng(seed)
    problem, arrays, K, a0 = random_problem(rng, kinds)
    Q = matrix(problem, K)
    a_star, best = solve_qp(Q, arrays, problem.total)
    allowed = 1e-7 * max(1.0, abs(best), np.abs(Q).max() * np.abs(a_star).max() ** 2)
    for a in (a0, problem.feasible_start(), a_star):
        gradient = Q @ a
        found = problem.survey(a, gradient)
        for multiplier in (found.multiplier, rng.normal(), 0.0):
            bound = found.objective - problem.duality_gap(a, gradient, multiplier)
            assert not np.isnan(bound)
            assert bound <= best + allowed
            # At least as good as the plain Lagrangian bound, which tightens nothing.
            plain = dual_bound(
                problem.scale * K, problem.ridge, arrays, a, problem.total, multiplier
            )
            assert bound >= plain - 1e-10 * max(1.0, abs(plain))
            assert problem.duality_gap(a, gradient, multiplier) >= (
                found.objective - best - allowed
            )


@settings(max_examples=80)
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=10), seed=seeds)
def test_gap_closes_at_the_optimum(kinds, seed):
    rng = np.random.default_rng(seed)
    problem, arrays, K, _ = random_problem(rng, kinds)
    if not np.all(np.isfinite(implied_interval(problem))):
        return  # two directions that never end balance to rounding only: no finite bound
    Q = matrix(problem, K)
    a, best = solve_qp(Q, arrays, problem.total)
    # The interior point ends near the breakpoints, not on them.
    for edge in arrays[:3]:
        a = np.where(np.abs(a - edge) < 1e-6, edge, a)
    gradient = Q @ a
    gap = problem.duality_gap(a, gradient, problem.survey(a, gradient).multiplier)
    assert gap <= 1e-4 * max(1.0, abs(best))


def test_gap_is_finite_with_one_free_variable(rng):
    """The balancing constraint's variable; the equality bounds it when others are bounded."""
    X = rng.normal(size=(20, 2))
    gram = BorderedGram.mean_of(make_gram(RBF(1.0), X, dtype=np.float64), np.arange(20))
    lower, upper = np.append(np.zeros(20), -np.inf), np.append(np.ones(20), np.inf)
    slope = np.append(rng.choice([-1.0, 1.0], 20), -0.1)
    problem = DualProblem(gram, Penalty.linear(lower, upper, slope, 21), 0.0)
    a = problem.feasible_start()
    gradient = problem.gradient(a)
    for multiplier in (problem.survey(a, gradient).multiplier, 0.3, -5.0):
        assert np.isfinite(problem.duality_gap(a, gradient, multiplier))


def test_two_free_variables_out_of_balance_have_no_bound(rng):
    K = np.eye(3)
    lower, upper = np.array([-np.inf, -np.inf, 0.0]), np.array([np.inf, np.inf, 1.0])
    problem = DualProblem(PrecomputedGram(K), Penalty.linear(lower, upper, 0.0, 3), 0.0)
    a = np.array([1.0, -1.0, 0.0])
    assert problem.duality_gap(a, problem.gradient(a), 0.0) == np.inf
    # Stationary ones have one.
    a = np.zeros(3)
    assert problem.duality_gap(a, problem.gradient(a), 0.0) == 0.0


@settings(max_examples=100)
@given(kinds=kinds, seed=seeds)
def test_implied_interval_contains_every_feasible_point(kinds, seed):
    rng = np.random.default_rng(seed)
    problem, arrays, _, a0 = random_problem(rng, kinds)
    low, high = implied_interval(problem)
    slack = 1e-12 * (1 + np.abs(a0).sum() + sum(np.abs(v[np.isfinite(v)]).sum() for v in arrays))
    assert np.all(low - slack <= a0)
    assert np.all(a0 <= high + slack)
    assert np.all(low >= problem.penalty.lower)
    assert np.all(high <= problem.penalty.upper)


@settings(max_examples=150)
@given(kinds=kinds, seed=seeds, end=st.sampled_from(["inside", "lowest", "highest"]))
def test_feasible_start(kinds, seed, end):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, kinds)
    total = random_point(rng, arrays, spread=100.0).sum()
    if end == "lowest" and np.isfinite(arrays[0]).all():
        total = arrays[0].sum()
    if end == "highest" and np.isfinite(arrays[2]).all():
        total = arrays[2].sum()
    n = len(kinds)
    problem = DualProblem(PrecomputedGram(np.eye(n)), Penalty.from_arrays(arrays), total)
    a = problem.feasible_start()
    assert np.all(np.isfinite(a))
    assert np.all(a >= arrays[0])
    assert np.all(a <= arrays[2])
    assert abs(a.sum() - total) <= 1e-12 * (1 + np.abs(a).sum())
    assert problem.is_feasible(a)


@settings(max_examples=100)
@given(kinds=kinds, seed=seeds)
def test_snapped_takes_rounding_away(kinds, seed):
    rng = np.random.default_rng(seed)
    problem, arrays, _, exact = random_problem(rng, kinds)
    shaken = exact + rng.normal(size=len(exact)) * 1e-14 * np.abs(exact).max()
    shaken = np.clip(shaken, arrays[0], arrays[2])
    before = shaken.copy()
    found = problem.round_to_breakpoints(shaken)
    assert np.array_equal(shaken, before)
    size = 1e-300 + np.abs(exact).max()
    assert np.abs(found - exact).max() <= 1e-12 * size * len(exact)
    assert np.all(found >= arrays[0])
    assert np.all(found <= arrays[2])
    for edge in arrays[:3]:
        resting = exact == edge
        assert np.all(found[resting] == edge[resting])
    inside = (found > arrays[0]) & (found < arrays[2]) & (found != arrays[1])
    if inside.any():
        assert abs(found.sum() - problem.total) <= 4e-16 * np.abs(found).sum() * len(found)


def test_snapped_repairs_a_sum_of_nothing(rng):
    """What is left of mass that travelled to and fro must not make zero infeasible."""
    problem = DualProblem(PrecomputedGram(np.eye(3)), Penalty.linear(0.0, 1.0, 0.0, 3), 0.0)
    found = problem.round_to_breakpoints(np.array([1.1e-16, 0.0, 0.0]))
    assert np.array_equal(found, np.zeros(3))
    assert problem.is_feasible(found)


def test_snapped_spares_the_sensitive_variables(rng):
    """With K_00 = 1e12 a change of 1e-15 would be one of 1e-3 in the gradient."""
    K = np.diag([1e12, 1.0, 2.0])
    problem = DualProblem(PrecomputedGram(K), Penalty.linear(0.0, 10.0, 0.0, 3), 6.0)
    found = problem.round_to_breakpoints(np.array([1e-6, 5.0, 1.0 - 1e-6 + 1e-13]))
    assert found[0] == 1e-6
    assert found[2] == 1.0 - 1e-6 + 1e-13
    assert abs(found.sum() - 6.0) <= 1e-15
    assert np.array_equal(problem.round_to_breakpoints(found), found)


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_feasibility_is_relative(scale):
    """At every scale of the variables: zero is no solution of sum a = 1e-12."""
    upper = scale * np.ones(10)
    problem = DualProblem(
        PrecomputedGram(np.eye(10)), Penalty.linear(0.0, upper, 0.0, 10), 3 * scale
    )
    assert problem.is_feasible(problem.feasible_start())
    assert not problem.is_feasible(np.zeros(10))
    assert not problem.is_feasible(np.full(10, 0.31 * scale))
    assert not problem.is_feasible(np.array([2.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]) * scale)
    assert not problem.is_feasible(np.array([4.0, -1, 0, 0, 0, 0, 0, 0, 0, 0]) * scale / 4)
    assert not problem.is_feasible(np.full(10, np.nan))
    with pytest.raises(ValueError, match="infeasible"):
        DualProblem(PrecomputedGram(np.eye(10)), Penalty.linear(0.0, upper, 0.0, 10), 10.1 * scale)
    with pytest.raises(ValueError, match="infeasible"):
        DualProblem(PrecomputedGram(np.eye(10)), Penalty.linear(0.0, upper, 0.0, 10), -scale / 10)


def test_totals_at_the_very_end_are_feasible():
    """nu = 1: the uppers sum to one only up to rounding."""
    for n in (3, 7, 49, 1000):
        problem = one_class(PrecomputedGram(np.eye(n)), 1.0)
        a = problem.feasible_start()
        assert problem.is_feasible(a)
        assert np.allclose(a, 1.0 / n)


@pytest.mark.parametrize("total", [-1.0, 5.01, np.nan, np.inf])
def test_infeasible_totals_are_refused(total):
    with pytest.raises(ValueError, match=r"infeasible.*sum to"):
        DualProblem(PrecomputedGram(np.eye(5)), Penalty.linear(0.0, 1.0, 0.0, 5), total)


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="3 variables and the Gram operator 5 rows"):
        DualProblem(PrecomputedGram(np.eye(5)), Penalty.linear(0.0, 1.0, 0.0, 3), 1.0)


@settings(max_examples=60)
@given(seed=seeds, free=st.integers(0, 2))
def test_subsample_of_everything_is_the_problem(seed, free):
    rng = np.random.default_rng(seed)
    kinds = list(rng.choice(BOUNDED, 8)) + ["free"] * free
    problem, arrays, _, _ = random_problem(rng, kinds)
    sub = sampled(problem, np.arange(problem.n))
    for old, new in zip(arrays, sub.penalty.arrays(), strict=True):
        assert np.array_equal(old, new)
    assert sub.total == problem.total
    assert np.array_equal(sub.ridge, problem.ridge)


@given(seed=seeds)
def test_fixed_variables_stand_for_themselves_in_a_subsample(seed):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, ["fixed", "fixed", BOUNDED[-1], BOUNDED[-1]])
    K = np.eye(4)
    problem = DualProblem(
        PrecomputedGram(K), Penalty.from_arrays(arrays), random_point(rng, arrays).sum()
    )
    sub = sampled(problem, [2])
    fixed = arrays[0][:2]
    assert np.array_equal(sub.penalty.lower[:-1], fixed[fixed != 0.0])


@settings(max_examples=60)
@given(seed=seeds, free=st.integers(0, 2))
def test_subsample_stands_for_all_rows(seed, free):
    """Every row given twice: half of them is the same problem, in doubled variables."""
    rng = np.random.default_rng(seed)
    m = 6
    kinds = list(rng.choice([kind for kind in BOUNDED if kind != "fixed"], m))
    half = random_penalty(rng, kinds)
    edge = random_penalty(rng, ["free"] * free) if free else tuple(np.empty(0) for _ in half)
    arrays = tuple(np.concatenate([v, v, e]) for v, e in zip(half, edge, strict=True))
    root = rng.normal(size=(m + free, 9))
    rows = np.concatenate([np.arange(m), np.arange(m), np.arange(m, m + free)])
    K = (root @ root.T)[np.ix_(rows, rows)]
    ridge = np.concatenate([np.full(2 * m, 0.3), np.zeros(free)])
    a = random_point(rng, half)
    e = rng.normal(size=free)
    problem = DualProblem(
        PrecomputedGram(K), Penalty.from_arrays(arrays), 2 * a.sum() + e.sum(), 1.5, ridge
    )
    indices = np.concatenate([np.arange(m), np.arange(2 * m, 2 * m + free)])
    sub = sampled(problem, indices)
    for old, new in zip(arrays[:3], sub.penalty.arrays(), strict=False):
        assert np.array_equal(np.append(2.0 * old[:m], old[2 * m :]), new)
    coarse, fine = np.concatenate([2 * a, e]), np.concatenate([a, a, e])
    assert sub.is_feasible(coarse)
    same = sub.survey(coarse, sub.gradient(coarse)).objective
    whole = problem.survey(fine, problem.gradient(fine)).objective
    assert same == pytest.approx(whole, rel=1e-11, abs=1e-11)


def test_subsample_of_unequal_intervals_stays_feasible(rng):
    """A sample of small boxes cannot reach the total; it goes as far as it can."""
    weight = rng.exponential(size=60) ** 4
    problem = one_class(PrecomputedGram(np.eye(60)), 1.0, weight)
    for _ in range(20):
        sub = sampled(problem, rng.permutation(60)[:10])
        assert sub.is_feasible(sub.feasible_start())
    labels = Penalty.linear(np.append(np.zeros(50), 2.0), np.append(np.ones(50), 3.0), 0.0, 51)
    problem = DualProblem(PrecomputedGram(np.eye(51)), labels, 2.0)
    sub = sampled(problem, np.array([0, 1, 50]))
    assert sub.is_feasible(sub.feasible_start())


def test_nan_certifies_nothing():
    problem = one_class(PrecomputedGram(np.eye(4)), 0.5)
    a = problem.feasible_start()
    gradient = np.array([0.25, np.nan, 0.25, 0.25])
    assert problem.survey(a, gradient).violation == np.inf


# -- machines ------------------------------------------------------------------------


def test_formulations_say_what_their_docstrings_say(rng):
    X = rng.normal(size=(15, 3))
    gram = make_gram(RBF(0.5), X, dtype=np.float64)
    K = gram.block(np.arange(15))
    a = rng.dirichlet(np.ones(15))
    w = rng.uniform(0.5, 2.0, 15)

    problem = svdd_squared(gram, 2.0, w)
    value = a @ K @ a + (a**2 / w).sum() / (4 * 2.0) - a @ np.diag(K)
    assert problem.survey(a, problem.gradient(a)).objective == pytest.approx(value, rel=1e-12)
    assert np.all(problem.penalty.upper == np.inf)
    assert np.all(problem.penalty.lower == 0)

    problem = svdd_linear(gram, 0.3, w)
    value = a @ K @ a - a @ np.diag(K)
    assert problem.survey(a, problem.gradient(a)).objective == pytest.approx(value, rel=1e-12)
    assert np.allclose(problem.penalty.upper, 0.3 * w, rtol=1e-15)

    problem = one_class(gram, 0.4, w)
    assert problem.survey(a, problem.gradient(a)).objective == pytest.approx(
        a @ K @ a / 2, rel=1e-12
    )
    assert np.allclose(problem.penalty.upper, w / (0.4 * w.sum()), rtol=1e-15)
    for machine in (svdd_squared(gram, 2.0), svdd_linear(gram, 0.3), one_class(gram, 0.4)):
        assert machine.total == 1.0
        assert np.all(machine.penalty.lower == 0.0)


def test_a_row_of_weight_two_is_two_rows(rng):
    X = rng.normal(size=(8, 2))
    twice = np.concatenate([X, X[:3]])
    w = np.ones(8)
    w[:3] = 2.0
    for make in (
        lambda g, w: svdd_squared(g, 1.5, w),
        lambda g, w: svdd_linear(g, 0.3, w),
        lambda g, w: one_class(g, 0.5, w),
    ):
        values = []
        for rows, weight in ((X, w), (twice, None)):
            problem = make(make_gram(RBF(1.0), rows, dtype=np.float64), weight)
            Q = problem.block(np.arange(len(rows)))
            values.append(solve_qp(Q, problem.penalty.arrays(), problem.total)[1])
        assert values[0] == pytest.approx(values[1], rel=1e-7, abs=1e-8)
