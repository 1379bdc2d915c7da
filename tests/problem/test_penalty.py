"""Penalty against integrals, difference quotients and search on a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import penalty_value
from reference.problems import KINDS, random_penalty, random_point

from fewlabels._core.functions import N_KINKS
from fewlabels.problem import Penalty

pytestmark = pytest.mark.filterwarnings("error")

kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=8)
seeds = st.integers(0, 10**6)


@settings(max_examples=150)
@given(kinds=kinds, seed=seeds)
def test_value_is_the_integral_of_the_slope(kinds, seed):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, kinds)
    a = random_point(rng, arrays)
    found = Penalty.from_arrays(arrays).survey(a, np.zeros(len(a))).objective
    assert isinstance(found, float)
    assert found == pytest.approx(penalty_value(arrays, a), rel=1e-12, abs=1e-12)


@settings(max_examples=150)
@given(kinds=kinds, seed=seeds)
def test_step_slopes_are_difference_quotients(kinds, seed):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, kinds)
    lower, kink, upper, *_ = arrays
    a = random_point(rng, arrays)
    right, left = Penalty.from_arrays(arrays).step_slopes(a)
    for i in range(len(a)):
        one = tuple(v[[i]] for v in arrays)
        edges = [v for v in (lower[i], kink[i], upper[i]) if np.isfinite(v) and v != a[i]]
        h = min([1.0, *(abs(v - a[i]) for v in edges)]) / 2
        here = penalty_value(one, a[[i]])
        if h < 1e-7:
            continue
        if a[i] >= upper[i]:
            assert right[i] == np.inf
        else:
            assert right[i] == pytest.approx((penalty_value(one, a[[i]] + h) - here) / h, abs=1e-7)
        if a[i] <= lower[i]:
            assert left[i] == -np.inf
        else:
            assert left[i] == pytest.approx((here - penalty_value(one, a[[i]] - h)) / h, abs=1e-7)
        assert left[i] <= right[i]


def minimiser(penalty, linear, curvature):
    """Of ``phi_i(a) + linear_i a + curvature_i a^2 / 2``; NaN where that is infinite."""
    a = np.full(len(penalty), np.nan)
    penalty.set_to_minimiser(a, linear, curvature, 0.0, np.zeros(len(a), bool))
    return a


@settings(max_examples=200)
@given(kinds=kinds, seed=seeds, curved=st.booleans(), ties=st.booleans())
def test_minimiser_beats_a_grid(kinds, seed, curved, ties):
    rng = np.random.default_rng(seed)
    arrays = random_penalty(rng, kinds)
    lower, kink, upper, left, right = arrays
    n = len(lower)
    linear = rng.normal(size=n)
    if ties:  # the slope of one piece vanishes exactly
        linear = -np.where(rng.random(n) < 0.5, left, right)
    curvature = rng.exponential(size=n) * (rng.random(n) < 0.7) if curved else np.zeros(n)
    at = minimiser(Penalty.from_arrays(arrays), linear, curvature)
    finite = np.isfinite(at)
    assert np.all(at[finite] >= lower[finite])
    assert np.all(at[finite] <= upper[finite])

    # Python numbers: there are many.
    pieces = [tuple([number] for number in piece) for piece in np.array(arrays).T.tolist()]
    terms = np.stack([linear, curvature], axis=1).tolist()

    def cost(i, x):
        slope, bend = terms[i]
        return penalty_value(pieces[i], [x]) + slope * x + 0.5 * bend * x * x

    for i in range(n):
        low, high = max(lower[i], -50.0), min(upper[i], 50.0)
        grid = np.concatenate([np.linspace(low, high, 401), [kink[i]]])
        best = min(cost(i, x) for x in grid[np.isfinite(grid)].tolist())
        if finite[i]:
            assert cost(i, at[i]) <= best + 1e-12
            # No step into an infinite direction may pay.
            for x in (1e6, 1e9, -1e6, -1e9):
                if lower[i] <= x <= upper[i]:
                    assert cost(i, at[i]) <= cost(i, x) + 1e-9 * abs(x)
        else:  # only where the objective falls for ever
            assert curvature[i] == 0
            far = [x for x in (-1e9, 1e9) if lower[i] <= x <= upper[i]]
            assert min(cost(i, x) for x in far) < best


def test_minimiser_of_an_unbounded_direction_is_infinite():
    """Not 0: a bound computed from it would not be a bound."""
    free = Penalty.linear(-np.inf, np.inf, 1.0, 2)
    assert np.isnan(minimiser(free, np.array([2.0, -3.0]), np.zeros(2))).all()
    assert minimiser(free, np.array([-1.0, -1.0]), np.zeros(2)).tolist() == [0.0, 0.0]
    down = Penalty.linear(-np.inf, 5.0, 1.0, 1)
    assert np.isnan(minimiser(down, np.array([0.5]), np.zeros(1)))[0]
    assert minimiser(down, np.array([0.5]), np.full(1, 3.0))[0] == pytest.approx(-0.5)


def test_linear_and_kinked_repeat_scalars():
    p = Penalty.linear(0, np.array([1, 2, 3]), -1, 3)
    assert all(v.shape == (3,) and v.dtype == np.float64 for v in p.arrays())
    assert len(p) == 3
    q = Penalty.kinked(0, 1, 2, -1, np.arange(3), 3)
    assert q.slopes[-1].tolist() == [0.0, 1.0, 2.0]
    assert q.take(np.array([2, 0])).slopes[-1].tolist() == [2.0, 0.0]


@settings(max_examples=150)
@given(seed=seeds, n_kinks=st.integers(0, 4))
def test_penalties_may_have_any_number_of_kinks(seed, n_kinks):
    rng = np.random.default_rng(seed)
    n = 6
    ends = np.sort(rng.choice([-1.5, -1.0, -0.2, 0.0, 0.3, 1.0], (n_kinks + 2, n)), axis=0)
    ends[0], ends[-1] = ends[0] - 0.5, ends[-1] + 0.5
    slopes = np.sort(rng.choice([-2.0, -1.0, 0.0, 0.5], (n_kinks + 1, n)), axis=0)
    penalty = Penalty.from_arrays([*ends, *slopes])
    a = random_point(rng, penalty.arrays())
    assert penalty.value(a).sum() == pytest.approx(penalty_value(penalty.arrays(), a), abs=1e-13)

    right, left = penalty.step_slopes(a)
    step = 1e-3
    inside = (a > ends[0]) & (a < ends[-1])
    distance = np.abs(ends - a).min(axis=0)
    exact = inside & ((distance == 0.0) | (distance > step))
    for slope, there in ((right, a + step), (left, a - step)):
        quotient = (penalty.value(there) - penalty.value(a)) / (there - a)
        np.testing.assert_allclose(quotient[exact], slope[exact], atol=1e-9)

    below, above = penalty.neighbours(a)
    for i in range(n):
        assert below[i] == max([e for e in ends[:, i] if e < a[i]], default=ends[0, i])
        assert above[i] == min([e for e in ends[:, i] if e > a[i]], default=ends[-1, i])

    linear, curvature = rng.choice([-1.0, 0.0, 0.7], n), rng.choice([0.0, 1.0, 0.3], n)

    def cost(x):
        return penalty.value(x) + linear * x + 0.5 * curvature * x * x

    at = penalty.minimiser(linear, curvature)
    grid = np.concatenate([np.linspace(ends[0], ends[-1], 801), ends])
    assert np.all(cost(at) <= np.array([cost(x) for x in grid]).min(axis=0) + 1e-12)

    more = penalty.padded(5)  # pieces of no length change nothing
    np.testing.assert_array_equal(more.value(a), penalty.value(a))
    np.testing.assert_array_equal(more.step_slopes(a), (right, left))
    np.testing.assert_array_equal(more.neighbours(a), (below, above))


def test_the_core_refuses_more_kinks_than_it_was_compiled_for():
    n = N_KINKS + 1
    penalty = Penalty.from_pieces(np.arange(n + 2.0), np.arange(n + 1.0), 3)
    with pytest.raises(ValueError, match=f"{n} kinks, but no more than {N_KINKS} fit"):
        penalty.survey(np.ones(3), np.zeros(3))


def test_free_variables():
    arrays = random_penalty(np.random.default_rng(0), KINDS)
    assert [
        k for k, free in zip(KINDS, Penalty.from_arrays(arrays).is_free, strict=True) if free
    ] == [
        "free",
        "kink, no bounds",
    ]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((1.0, 1.0, 0.0, 0.0, 0.0), "lower <= kinks <= upper"),
        ((0.0, 2.0, 1.0, 0.0, 0.0), "lower <= kinks <= upper"),
        ((0.0, -1.0, 1.0, 0.0, 0.0), "lower <= kinks <= upper"),
        ((np.nan, 0.0, 1.0, 0.0, 0.0), "lower <= kinks <= upper"),
        ((0.0, np.nan, 1.0, 0.0, 0.0), "lower <= kinks <= upper"),
        ((0.0, 0.0, np.nan, 0.0, 0.0), "lower <= kinks <= upper"),
        ((0.0, 0.5, 1.0, 1.0, -1.0), "convex"),
        ((0.0, 1.0, 1.0, 1.0, -1.0), "convex"),
        ((0.0, 0.5, 1.0, np.nan, 1.0), "convex"),
    ],
)
def test_refused(arrays, message):
    good = (0.0, 0.5, 1.0, -1.0, 1.0)
    with pytest.raises(ValueError, match=message):
        Penalty.from_arrays([np.array(pair) for pair in zip(good, arrays, strict=True)])


def test_an_unused_left_slope_need_not_be_convex():
    p = Penalty.kinked(0.0, 0.0, 1.0, 7.0, -1.0, 2)
    right, left = p.step_slopes(np.array([0.0, 0.5]))
    assert right.tolist() == [-1.0, -1.0]
    assert left.tolist() == [-np.inf, -1.0]
    assert p.survey(np.array([0.5, 0.25]), np.zeros(2)).objective == pytest.approx(-0.75)
