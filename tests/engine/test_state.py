"""Starts, limits, callbacks, interruptions: the state is sound and can be taken up again."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from engine.machines import (
    KERNELS,
    MACHINES,
    assert_consistent,
    assert_feasible,
    assert_solved,
    make_case,
    random_feasible,
)

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import GramOperator, RowMap, RowsGram, make_gram
from fewlabels.one_class.problem import one_class
from fewlabels.problem import DualProblem
from fewlabels.solvers import Settings, Status, solve_decomposition

pytestmark = pytest.mark.filterwarnings("error")

TOL = 1e-6


def a_case(machine, rng, n=120):
    """A problem that needs some work (nu = 1, say, leaves no settings to choose)."""
    while True:
        case = make_case(machine, rng.normal(size=(n, 3)), KERNELS["rbf"], rng)
        rounds = solve_decomposition(case.problem, tol=1e-5, block_size=4, polish=0).history
        if n < 100 or len(rounds) > 6:
            return case


@pytest.mark.parametrize("machine", MACHINES)
def test_any_feasible_start(machine, rng):
    case = a_case(machine, rng)
    for _ in range(4):
        start = random_feasible(case, rng)
        before = start.copy()
        result = solve_decomposition(case.problem, start, tol=TOL, block_size=16, max_time=600)
        assert np.array_equal(start, before)
        assert result.a is not start
        assert_solved(case, result, TOL)


@pytest.mark.parametrize("machine", MACHINES)
def test_start_at_the_optimum_takes_no_step(machine, rng):
    case = a_case(machine, rng)
    first = solve_decomposition(case.problem, tol=TOL / 2, block_size=16, polish=0)
    again = solve_decomposition(case.problem, first.a, tol=TOL, block_size=16, polish=0)
    assert again.n_iter == 0
    assert again.history == []
    assert np.array_equal(again.a, first.a)
    resumed = solve_decomposition(case.problem, first, tol=TOL, block_size=16, polish=0)
    assert resumed.n_iter == first.n_iter
    assert len(resumed.history) == len(first.history)
    assert np.array_equal(resumed.a, first.a)
    # Finishing what is exact already does not spoil it.
    polished = solve_decomposition(case.problem, first.a, tol=TOL, block_size=16)
    assert_solved(case, polished, TOL)


@pytest.mark.parametrize("wrong", ["sum", "below", "above", "nan", "shape"])
def test_infeasible_start_is_refused(wrong, rng):
    problem = one_class(make_gram(RBF(1.0), rng.normal(size=(20, 2))), 0.5)
    start = problem.feasible_start()
    if wrong == "sum":
        start = start * 0.9
    elif wrong == "below":
        start[[-1, -2]] += [-0.05, 0.05]
    elif wrong == "above":
        start = np.zeros(20)
        start[0] = 1.0
    elif wrong == "nan":
        start[3] = np.nan
    else:
        start = start[:-1]
    with pytest.raises(ValueError, match=r"not feasible|shape"):
        solve_decomposition(problem, start)


def test_the_start_may_be_read_only_or_a_list(rng):
    case = a_case("one-class", rng, n=20)
    start = case.problem.feasible_start()
    start.flags.writeable = False
    result = solve_decomposition(case.problem, start, tol=TOL)
    assert_solved(case, result, TOL)
    again = solve_decomposition(case.problem, start.tolist(), tol=TOL)
    assert np.array_equal(result.a, again.a)


@pytest.mark.parametrize("machine", MACHINES)
def test_resume_after_a_limit_on_steps(machine, rng):
    case = a_case(machine, rng)
    whole = solve_decomposition(case.problem, tol=TOL, block_size=16, polish=0, coarse=False)
    result, limit = None, 0
    while limit < 0.7 * whole.n_iter:
        limit += max(1, whole.n_iter // 5)
        result = solve_decomposition(
            case.problem, result, tol=TOL, block_size=16, polish=0, max_iter=limit
        )
        assert result.status in (Status.MAX_ITER, Status.CONVERGED)
        assert result.n_iter <= limit
        assert_consistent(case, result)
    result = solve_decomposition(case.problem, result, tol=TOL, block_size=16, polish=0)
    assert_solved(case, result, TOL)
    assert [h["round"] for h in result.history] == list(range(1, len(result.history) + 1))
    assert result.n_iter == sum(h["steps"] for h in result.history)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_time_at_all(machine, rng):
    case = a_case(machine, rng)
    result = solve_decomposition(case.problem, tol=TOL, max_time=0.0, block_size=16)
    assert result.status is Status.MAX_TIME
    assert result.n_iter == 0
    assert result.duality_gap >= 0
    assert_consistent(case, result)
    result = solve_decomposition(case.problem, result, tol=TOL, block_size=16)
    assert_solved(case, result, TOL)


@pytest.mark.parametrize("machine", MACHINES)
def test_callback_stops_and_resumes(machine, rng):
    case = a_case(machine, rng)
    seen = []

    def stop_at_three(entry):
        seen.append(entry)
        return entry["round"] >= 3

    result = solve_decomposition(
        case.problem, tol=1e-8, block_size=4, callback=stop_at_three, polish=0
    )
    assert result.status is Status.STOPPED
    assert [e["round"] for e in seen] == [1, 2, 3]
    assert result.history == seen
    assert_consistent(case, result)
    # A callback that is content with every round is asked after each of them.
    rounds = []
    result = solve_decomposition(
        case.problem,
        result,
        tol=TOL,
        block_size=4,
        callback=lambda entry: rounds.append(entry["round"]),
    )
    assert rounds == list(range(4, len(result.history) + 1))
    assert_solved(case, result, TOL)


def test_callback_sees_every_round_of_a_short_run(rng):
    case = a_case("one-class", rng, n=40)
    seen = []
    result = solve_decomposition(case.problem, tol=TOL, callback=lambda e: seen.append(e["round"]))
    assert len(seen) == len(result.history) >= 1


def test_an_error_in_the_callback_is_not_hidden(rng):
    case = a_case("one-class", rng, n=40)

    def broken(entry):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve_decomposition(case.problem, tol=TOL, callback=broken)


def test_history_says_what_its_docstring_says(rng):
    case = a_case("s3vm", rng)
    result = solve_decomposition(case.problem, tol=1e-7, block_size=8, polish=0)
    history = result.history
    assert [h["round"] for h in history] == list(range(1, len(history) + 1))
    for key in ("kernel_values", "seconds"):
        values = [h[key] for h in history]
        assert values == sorted(values)
        assert values[0] > 0
    assert all(h["violation"] > 1e-7 for h in history)
    assert all(h["moved"] <= h["working_set"] for h in history)
    # Resuming goes on counting.
    half = solve_decomposition(case.problem, tol=1e-7, block_size=8, polish=0,
                               callback=lambda e: e["round"] >= 4)  # fmt: skip
    rest = solve_decomposition(case.problem, half, tol=1e-7, block_size=8, polish=0)
    for key in ("kernel_values", "seconds", "round"):
        values = [h[key] for h in rest.history]
        assert values == sorted(values)
    assert half.history == rest.history[: len(half.history)]


def test_settings_object_and_keywords(rng):
    case = a_case("one-class", rng)
    settings = Settings(tol=1e-7, block_size=16, polish=0)
    one = solve_decomposition(case.problem, None, settings)
    two = solve_decomposition(case.problem, tol=1e-7, block_size=16, polish=0)
    three = solve_decomposition(case.problem, None, settings, tol=1e-2)
    assert np.array_equal(one.a, two.a)
    assert three.n_iter < one.n_iter
    assert settings.tol == 1e-7


# -- interruptions -------------------------------------------------------------------


class Interrupting(GramOperator):
    """An operator during whose k-th request the user presses Ctrl-C, once."""

    def __init__(self, inner, strike, value_cost=0.0, halfway=True):
        super().__init__(inner.n)
        self.inner = inner
        self.strike = strike
        self.requests = 0
        self.value_cost = value_cost
        self.dtype = inner.dtype
        self.halfway = halfway

    def _count(self):
        self.requests += 1
        if self.requests == self.strike:
            raise KeyboardInterrupt

    def diagonal(self):
        return self.inner.diagonal()

    def values_of(self, columns):
        self._count()
        return self.inner.columns(columns.ids)

    def block_of(self, columns):
        self._count()
        return self.inner.block(columns.ids)

    def add_columns(self, columns, coef, out):
        if self.halfway and self.requests + 1 == self.strike:
            self.inner.apply(columns.ids, 0.5 * np.asarray(coef), out)  # the result is spoilt
        self._count()
        self.inner.apply(columns.ids, coef, out)

    def take(self, indices):
        return self.inner.take(indices)


@pytest.mark.parametrize("value_cost", [0.0, 100.0])
def test_interrupted_in_the_operator(value_cost, rng):
    """At every request: stored columns (cost 100) and fresh ones."""
    X = rng.normal(size=(90, 3))
    inner = RowsGram(RowMap(RBF(0.5), X, np.float64), X)
    reference = make_case("svdd squared", X, ("rbf", 0.5), np.random.default_rng(3))
    problem = reference.problem
    options = dict(tol=TOL, block_size=8, coarse=False, cache_size=20_000.0)
    count = Interrupting(inner, -1, value_cost)
    base = dict(
        penalty=problem.penalty, total=problem.total, scale=problem.scale, ridge=problem.ridge
    )
    solve_decomposition(DualProblem(count, **base), **options)
    assert count.requests >= 8
    for strike in range(1, count.requests + 1, 1 + count.requests // 40):
        gram = Interrupting(inner, strike, value_cost)
        result = solve_decomposition(DualProblem(gram, **base), **options)
        assert result.status is Status.INTERRUPTED, strike
        assert_consistent(reference, result, noise=1e-12)
        resumed = solve_decomposition(DualProblem(gram, **base), result, **options)
        assert_solved(reference, resumed, TOL)


@pytest.mark.parametrize("machine", MACHINES)
def test_interrupted_in_the_callback(machine, rng):
    case = a_case(machine, rng)
    for strike in (1, 2, 4):

        def callback(entry, strike=strike):
            if entry["round"] == strike:
                raise KeyboardInterrupt

        result = solve_decomposition(
            case.problem, tol=1e-8, block_size=4, callback=callback, polish=0
        )
        assert result.status is Status.INTERRUPTED
        assert len(result.history) == strike
        assert_consistent(case, result)
        result = solve_decomposition(case.problem, result, tol=TOL, block_size=4)
        assert_solved(case, result, TOL)


def test_interrupted_between_any_two_lines(rng):
    """Signals arrive wherever Python runs: the state must be sound at every line."""
    from fewlabels.solvers import decomposition, engine, newton

    files = [Path(module.__file__) for module in (decomposition, newton)]
    files = {str(file) for file in [*files, *Path(engine.__file__).parent.glob("*.py")]}
    case = a_case("s3vm", rng, n=60)
    options = dict(tol=TOL, block_size=8)
    total_lines = _trace(files, -1, case, options)[1]
    assert total_lines > 1000
    interrupted = 0
    for strike in range(20, total_lines, 1 + total_lines // 120):
        result, _ = _trace(files, strike, case, options)
        if result is None:
            continue  # struck while the engine was built or its result certified
        if result.status is Status.INTERRUPTED:
            interrupted += 1
            assert_consistent(case, result)
            result = solve_decomposition(case.problem, result, **options)
        assert_solved(case, result, TOL)
    assert interrupted > 60


def _trace(files, strike, case, options):
    lines = [0]

    def trace(frame, event, arg):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == strike:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        result = solve_decomposition(case.problem, **options)
    except KeyboardInterrupt:
        result = None
    finally:
        sys.settrace(None)
    return result, lines[0]


def test_interrupted_in_the_coarse_start(rng, monkeypatch):
    """Ctrl-C while the sample is solved ends the whole run, not the sample alone."""
    X = rng.normal(size=(4000, 2))
    problem = one_class(RowsGram(RowMap(RBF(1.0), X), X), 0.1)
    add_columns = RowsGram.add_columns
    sizes = []

    def interrupting(self, columns, coef, out):
        sizes.append(self.n)
        if len(sizes) == 2:
            raise KeyboardInterrupt
        add_columns(self, columns, coef, out)

    monkeypatch.setattr(RowsGram, "add_columns", interrupting)
    result = solve_decomposition(problem, tol=1e-3, block_size=64)
    assert sizes[:2] == [666, 666]
    assert result.status is Status.INTERRUPTED
    assert_feasible_one_class(problem, result)
    resumed = solve_decomposition(problem, result, tol=1e-3)
    assert resumed.converged


def assert_feasible_one_class(problem, result):
    assert np.all(result.a >= 0)
    assert np.all(result.a <= problem.penalty.upper)
    assert abs(result.a.sum() - 1.0) <= 1e-10
    assert np.allclose(result.gradient, problem.gradient(result.a), rtol=0, atol=1e-6)


def test_time_limit_holds_during_the_coarse_start(rng):
    X = rng.normal(size=(12000, 40))
    problem = one_class(RowsGram(RowMap(RBF(0.01), X), X), 0.5)
    start = time.process_time()  # other programs take no part of it
    result = solve_decomposition(problem, tol=1e-9, max_time=0.05)
    assert time.process_time() - start < 3.0
    assert result.status is Status.MAX_TIME
    assert_feasible_one_class(problem, result)


def test_feasible_whatever_the_limit(rng):
    case = a_case("s3vm balanced", rng)
    for max_iter in range(0, 60, 7):
        result = solve_decomposition(case.problem, tol=1e-9, max_iter=max_iter, block_size=8)
        assert_feasible(case, result.a)
        assert result.n_iter <= max_iter
        assert result.status is Status.MAX_ITER
