"""Every kind of problem against an interior-point solver and independent certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from engine.machines import (
    KERNELS,
    MACHINES,
    assert_solved,
    make_case,
    random_case,
    random_feasible,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.problems import KINDS

from fewlabels.solvers import Status, solve_decomposition

pytestmark = pytest.mark.filterwarnings("error")

seeds = st.integers(0, 10**6)
GUARD = 600.0  # seconds; a run that needs them has failed


def rows(rng, n, d=3):
    X = rng.normal(size=(n, d))
    X[n // 2 :] += rng.normal(size=d)
    return X


def solve(case, **options):
    result = solve_decomposition(case.problem, max_time=GUARD, **options)
    assert result.status is not Status.MAX_TIME
    return result


@pytest.mark.parametrize("block_size", [8, 32, None])
@pytest.mark.parametrize("machine", MACHINES)
def test_machine(machine, block_size, rng):
    for n in (1, 2, 3, 10, 60, 150):
        case = make_case(machine, rows(rng, n), KERNELS["rbf"], rng)
        for tol in (1e-3, 1e-6, 1e-8):
            assert_solved(case, solve(case, tol=tol, block_size=block_size), tol)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_kernels(machine, kernel, rng):
    """Rank-deficient (linear, wide), nearly diagonal (narrow), unequal diagonals."""
    case = make_case(machine, rows(rng, 120), KERNELS[kernel], rng)
    for block_size in (16, None):
        assert_solved(case, solve(case, tol=1e-6, block_size=block_size), 1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_many_rounds(machine, rng):
    for _ in range(10):  # nu = 1, say, leaves no settings to choose
        case = make_case(machine, rows(rng, 400, 5), ("rbf", 0.2), rng)
        result = solve(case, tol=1e-7, block_size=8, polish=0)
        if len(result.history) > 5:
            break
    else:
        pytest.fail("no problem took many rounds")
    assert_solved(case, result, 1e-7)


@settings(max_examples=120)
@given(
    machine=st.sampled_from(MACHINES),
    kernel=st.sampled_from(sorted(KERNELS)),
    n=st.integers(1, 70),
    block_size=st.sampled_from([2, 3, 8, 32, None]),
    tol=st.sampled_from([1e-3, 1e-6, 1e-8]),
    polish=st.sampled_from([0, 1024]),
    single=st.booleans(),
    dtype=st.sampled_from([None, np.float64]),
    sparse=st.booleans(),
    duplicated=st.booleans(),
    seed=seeds,
)
def test_any_machine(
    machine, kernel, n, block_size, tol, polish, single, dtype, sparse, duplicated, seed
):
    rng = np.random.default_rng(seed)
    X = rows(rng, n, int(rng.integers(1, 6)))
    X = X.astype(np.float32) if single else X
    if duplicated:
        X = X[rng.integers(0, max(1, n // 3), n)]
    storage = sp.csr_array if sparse else np.asarray
    case = make_case(machine, X, KERNELS[kernel], rng, dtype=dtype, storage=storage)
    result = solve(case, tol=tol, block_size=block_size, polish=polish)
    assert_solved(case, result, tol)


@settings(max_examples=150)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=40),
    block_size=st.sampled_from([2, 4, 16, None]),
    tol=st.sampled_from([1e-3, 1e-6, 1e-8]),
    scale=st.sampled_from([1.0, 2.0, 100.0]),
    dtype=st.sampled_from([None, np.float64]),
    start=st.sampled_from(["cold", "random"]),
    seed=seeds,
)
def test_any_penalty(kinds, block_size, tol, scale, dtype, start, seed):
    rng = np.random.default_rng(seed)
    case = random_case(kinds, rng, dtype=dtype, scale=scale)
    begin = random_feasible(case, rng) if start == "random" else None
    result = solve_decomposition(
        case.problem, begin, tol=tol, block_size=block_size, max_time=GUARD
    )
    assert_solved(case, result, tol)


@pytest.mark.parametrize("machine", MACHINES)
def test_tight_tolerance_is_reached_or_given_up(machine, rng):
    for n, block_size in ((60, None), (150, 16)):
        for dtype in (None, np.float64):
            case = make_case(machine, rows(rng, n), KERNELS["rbf"], rng, dtype=dtype)
            result = solve(case, tol=1e-10, block_size=block_size)
            if result.status is Status.STALLED:
                size = np.abs(case.Q).max() * np.abs(result.a).sum()
                assert result.violation <= 1e-13 * size  # nothing more to be had
            else:
                assert_solved(case, result, 1e-10)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("tol", [1e-13, 1e-17])
def test_impossible_tolerance_ends(machine, tol, rng):
    case = make_case(machine, rows(rng, 90), KERNELS["rbf"], rng, dtype=np.float64)
    for block_size in (8, None):
        for polish in (0, 1024):
            result = solve(case, tol=tol, block_size=block_size, polish=polish)
            assert result.status in (Status.CONVERGED, Status.STALLED)
            assert_solved(case, result, 1e-9, status=result.status)


@pytest.mark.parametrize("machine", MACHINES)
def test_same_numbers_for_any_number_of_threads(machine, rng):
    X = rows(rng, 700, 20)
    results = []
    for n_jobs in (1, 2, 2):
        case = make_case(
            machine, X, ("rbf", 0.02), np.random.default_rng(4), n_jobs=n_jobs, storage=np.asarray
        )
        results.append(solve(case, tol=1e-5, block_size=64))
    for result in results[1:]:
        assert np.array_equal(results[0].a, result.a)
        assert results[0].objective == result.objective
        assert results[0].n_iter == result.n_iter


@pytest.mark.parametrize("machine", MACHINES)
def test_order_of_rows_does_not_matter(machine, rng):
    case = make_case(machine, rows(rng, 80), KERNELS["rbf"], np.random.default_rng(1))
    n = case.problem.gram.n
    order = rng.permutation(n - 1)
    order = np.append(order, n - 1)  # the virtual row stays last
    from fewlabels.kernels.operators import PrecomputedGram
    from fewlabels.problem import DualProblem

    K = (case.Q - np.diag(case.problem.ridge)) / case.problem.scale
    values = []
    for index in (np.arange(n), order):
        problem = DualProblem(
            PrecomputedGram(K[np.ix_(index, index)]),
            case.problem.penalty.take(index),
            case.total,
            case.problem.scale,
            case.problem.ridge[index],
        )
        values.append(solve_decomposition(problem, tol=1e-9, block_size=16))
    size = case.size(values[0].a)
    assert abs(values[0].objective - values[1].objective) <= 1e-9 * size
