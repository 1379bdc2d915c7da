"""Steps within a block, against NumPy and the optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kkt_residual
from reference.problems import KINDS, random_penalty, random_point

from fewlabels._core import functions as core
from fewlabels._core.functions import Outcome, finish_block, solve_block
from fewlabels._core.path import Triangle
from fewlabels.problem import Penalty


def positive_definite(rng, m):
    A = rng.normal(size=(m, m + 2))
    return A @ A.T / m + 0.1 * np.eye(m)


@given(m=st.integers(2, 25), seed=st.integers(0, 2**32 - 1))
def test_a_factor_gains_and_loses_variables(m, seed):
    rng = np.random.default_rng(seed)
    A = positive_definite(rng, m)
    L, left = np.zeros((m, m)), list(range(m))
    for k in left:
        assert Triangle(L).append(k, A[k, :k], A[k, k], 1e-13)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), atol=1e-12)
    while len(left) > 1:
        p = int(rng.integers(len(left)))
        Triangle(L).delete(len(left), p)
        del left[p]
        size = len(left)
        expected = np.linalg.cholesky(A[np.ix_(left, left)])
        np.testing.assert_allclose(np.tril(L[:size, :size]), expected, atol=1e-12)


@given(
    far=st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.6, 1.0, np.inf]), max_size=80),
    room=st.integers(12, 32),
)
def test_rows_that_are_wanted(far, room):
    wanted = np.empty(room, np.int64)
    far = np.array(far)
    core.select_nearest(far, wanted)
    found = wanted[wanted >= 0]
    assert np.all(wanted[len(found) :] == -1)
    assert len(set(found)) == len(found)
    assert np.all(far[found] < np.inf)
    near = np.sort(far[far < np.inf])
    np.testing.assert_array_equal(far[found], near[: len(found)])
    if len(near) <= 12:
        assert len(found) == len(near)
    else:
        urgent = min(int(np.sum(near <= 0.5)), room)
        assert len(found) == max(12, urgent - urgent % 4)


@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=30),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=200)
def test_finished_blocks_are_optimal(kinds, scale, seed):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, kinds)
    Q = scale * positive_definite(rng, len(kinds))
    a = random_point(rng, arrays)
    total, g = a.sum(), Q @ a
    penalty = Penalty.from_arrays(arrays)
    size = np.abs(g).max() + max(np.abs(s).max() for s in arrays[3:])
    _, outcome = solve_block(Q, g, a, penalty, 1e-3 * size, 100_000)
    assert outcome is Outcome.DONE
    few = penalty.between(a).sum() < 2
    _, left, outcome = finish_block(Q, g, a, penalty, 1e-12 * size, 256, 60.0)
    if few:  # no Newton step is possible, and pair steps went as far as they were asked to
        assert outcome is Outcome.STUCK
        assert kkt_residual(Q, arrays, a) <= 1.001e-3 * size
        return
    assert outcome in (Outcome.DONE, Outcome.STUCK)
    assert left > 0.0
    np.testing.assert_allclose(g, Q @ a, atol=1e-12 * size)
    assert a.sum() == pytest.approx(total, abs=1e-12 * (1.0 + np.abs(a).sum()))
    if penalty.between(a).sum() >= 2:
        assert kkt_residual(Q, arrays, a) <= 3e-12 * size


@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=20),
    seed=st.integers(0, 2**32 - 1),
)
def test_slopes_are_those_of_the_penalty(kinds, seed):
    # The two homes of a penalty: problem/penalty.py and the compiled core.
    rng = np.random.default_rng(seed)
    penalty = Penalty.from_arrays(random_penalty(rng, kinds))
    a, g = random_point(rng, penalty.arrays()), rng.normal(size=len(kinds))
    (right, left), rates = penalty.step_slopes(a), np.empty((2, len(kinds)))
    totals = penalty.survey(a, g, rates=rates)
    np.testing.assert_array_equal(rates, (g + right, g + left))
    assert (totals.lowest_up, totals.highest_down) == (rates[0].min(), rates[1].max())


@pytest.mark.parametrize("share", [0.05, 0.4, 0.6, 1.0])
def test_few_and_many_that_can_become_less(share):
    # Pair steps look for a partner in a list, or among all: both solve the problem.
    rng = np.random.default_rng(5)
    n = 120
    Q = positive_definite(rng, n)
    a = np.where(rng.random(n) < share, rng.random(n), 0.0)
    arrays = tuple(np.full(n, v) for v in (0.0, 0.0, 1.0, 0.0, 0.0))
    g, penalty = Q @ a, Penalty.from_arrays(arrays)
    total = a.sum()
    _, outcome = solve_block(Q, g, a, penalty, 1e-9, 1_000_000)
    assert outcome is Outcome.DONE
    assert a.sum() == pytest.approx(total, rel=1e-12)
    assert a.min() >= 0.0
    assert a.max() <= 1.0
    assert kkt_residual(Q, arrays, a) <= 2e-9
