"""The concave-convex procedure: descent, when it ends, and what it hands back."""

from dataclasses import replace

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual
from reference.pu import clouds

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.positive_unlabelled.problem import pu_ramp_step
from fewlabels.solvers import Status, solve_decomposition
from fewlabels.solvers.cccp import solve_cccp


class Ramp:
    """PUSVM's ramp over plain arrays, with everything that is called counted."""

    def __init__(self, rng, n=90, lam=1e-3, tol=1e-8, distance=0.7):
        X, y = clouds(rng, n, n // 3, 2, distance=distance)
        self.K = kernel_matrix(("rbf", 0.7), X)
        self.gram = PrecomputedGram(self.K)
        self.label = np.where(y == 1, 1.0, -1.0)
        self.price = np.where(y == 1, 0.4 / (n // 3) / (2 * lam), 1 / (n * 4 * lam))
        self.lam, self.tol = lam, tol
        self.states, self.starts, self.results = [], [], []

    def step(self, state):
        return pu_ramp_step(self.gram, self.label, self.price, state)

    def margin(self, result):
        return self.label * (self.K @ result.a - result.multiplier)

    def flat(self, result):
        return self.margin(result) < -1.0

    def value(self, result):
        ramp = np.clip(0.5 * (1.0 - self.margin(result)), 0.0, 1.0)
        return self.lam * float(result.a @ self.K @ result.a) + 4 * self.lam * self.price @ ramp

    def solve(self, problem, start):
        self.starts.append(start)
        result = solve_decomposition(problem, start, tol=self.tol)
        self.results.append(result)
        return result

    def run(self, first=None, *, solve=None, value=None, **changes):
        first = np.zeros(len(self.label), dtype=bool) if first is None else first
        solve, value = solve or self.solve, value or self.value
        return solve_cccp(self.step, first, self.flat, solve, value, **changes)


def test_descends_to_a_point_whose_state_stays(rng):
    for lam in (1e-4, 1e-3, 1e-2):
        ramp = Ramp(rng, lam=lam)
        result, state, objectives = ramp.run()
        assert len(objectives) == len(ramp.results)
        assert np.all(np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]))
        assert objectives[-1] == pytest.approx(ramp.value(result))
        assert result.converged
        # The last step's problem is the one that its solution asks for.
        penalty = ramp.step(state).penalty.arrays()
        assert kkt_residual(ramp.K, penalty, result.a) <= ramp.tol * 1.01 + 1e-9
        np.testing.assert_array_equal(state, ramp.flat(result))


def test_history_and_iterations_cover_all_steps(rng):
    ramp = Ramp(rng)
    result, _, objectives = ramp.run()
    assert len(objectives) > 1  # else this tests nothing
    assert [e["round"] for e in result.history] == list(range(1, len(result.history) + 1))
    assert result.n_iter == sum(e["steps"] for e in result.history)
    for key in ("kernel_values", "seconds"):
        values = [e[key] for e in result.history]
        assert values == sorted(values)


def test_every_step_starts_feasible_from_the_one_before(rng):
    ramp = Ramp(rng)
    states = []
    original = ramp.step
    ramp.step = lambda state: states.append(state.copy()) or original(state)
    ramp.run()
    assert ramp.starts[0] is None and len(ramp.starts) > 1
    for before, start in zip(ramp.results, ramp.starts[1:], strict=False):
        problem = original(ramp.flat(before))
        assert problem.is_feasible(start.a)
        np.testing.assert_allclose(start.gradient, ramp.K @ start.a, atol=1e-8)
        same = (before.a >= problem.penalty.lower) & (before.a <= problem.penalty.upper)
        assert np.mean(start.a[same] == before.a[same]) > 0.5


def test_starting_elsewhere_is_another_local_minimum(rng):
    ramp = Ramp(rng)
    hinge, _, _ = ramp.run()
    for seed in range(3):
        first = np.random.default_rng(seed).random(len(ramp.label)) < 0.3
        result, state, objectives = ramp.run(first)
        assert np.all(np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]))
        np.testing.assert_array_equal(state, ramp.flat(result))
    # From its own solution it does not move at all.
    again, _, objectives = ramp.run(ramp.flat(hinge), start=lambda _: hinge)
    assert len(objectives) == 1 and again.n_iter - hinge.n_iter <= 1
    np.testing.assert_allclose(again.a, hinge.a, atol=1e-6)


def test_a_state_that_stays_takes_one_step(rng):
    ramp = Ramp(rng)
    ramp.flat = lambda result: np.zeros(len(ramp.label), dtype=bool)
    result, state, objectives = ramp.run(max_steps=1)
    assert len(objectives) == 1 and not state.any() and result.converged
    assert result is ramp.results[0]


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.CONVERGED])
@pytest.mark.parametrize("at", [1, 2])
def test_a_step_that_does_not_converge_ends_it(status, at, rng):
    ramp = Ramp(rng)

    def solve(problem, start):
        result = ramp.solve(problem, start)
        return replace(result, status=status) if len(ramp.results) == at else result

    result, _, objectives = ramp.run(solve=solve)
    assert result.status is status and len(objectives) == len(ramp.results) == at


def test_limit_on_steps(rng):
    ramp = Ramp(rng)
    result, _, objectives = ramp.run(max_steps=1)
    assert result.status is Status.MAX_ITER and len(objectives) == 1


def test_a_step_that_makes_it_worse_is_not_the_answer(rng):
    # Inexact inner solutions may raise the objective: the better point is what is wanted.
    ramp = Ramp(rng)
    calls = []

    def worse(result):
        calls.append(1)
        return ramp.value(result) + (1.0 if len(calls) == 2 else 0.0)

    result, _, _ = ramp.run(value=worse)
    assert len(ramp.results) == 2
    np.testing.assert_array_equal(result.a, ramp.results[0].a)
