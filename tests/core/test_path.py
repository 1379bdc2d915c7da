"""The core's steps of a path against slow Python, at every instruction level that was built."""

import copy

import numpy as np
import pytest

from fewlabels._core import library
from fewlabels._core import path as core
from fewlabels._core.path import Triangle
from fewlabels.problem import Penalty

SIZES = [1, 2, 7, 33, 64, 65, 200]


def levels():
    """Levels that this processor can run."""
    names = [f"x86-64-v{k}" for k in range(2, library.lib.fl_level() + 1)] or ["baseline"]
    return [name for name in names if library.get_library_path(name).exists()]


@pytest.fixture(params=levels())
def level(request, monkeypatch):
    lib = library.open_library(request.param)
    monkeypatch.setattr(core, "lib", lib)
    return request.param


def rows(rng, n, moving=0.0):
    """F and S of rows that are held, as for a path in the middle of its way."""
    F, S = np.zeros((core.N_FLOATS, n + 5)), np.zeros((core.N_INTS, n + 5), np.int64)
    low = rng.choice([0.0, -1.0], n)
    kink = low + rng.choice([0.0, 0.5], n)
    slope = rng.choice([-1.0, 0.0, 0.3], n)
    steeper = np.where(kink > low, slope + rng.random(n), slope)
    penalty = Penalty.kinked(low, kink, low + 1.0, slope, steeper, n)
    F[core.LO : core.SR + 1, :n] = penalty.padded(core.N_KINKS).arrays()
    lines = rng.choice([core.LO, core.UP - 1, core.UP], n)
    F[core.A, :n] = F[lines, np.arange(n)]
    F[core.H, :n], F[core.ROOT, :n] = rng.normal(size=n), 0.5 + rng.random(n)
    F[core.GAMMA, :n] = rng.normal(size=n) * rng.choice([0.0, 1e-3, 1.0], n)
    now, rates = F[core.LO : core.SR + 1, :n], moving * rng.normal(size=(core.N_PENALTY, n))
    F[core.RATE : core.RATE + core.N_PENALTY, :n] = rates
    F[core.TARGET : core.TARGET + core.N_PENALTY, :n] = now + rates
    return F, S


def slopes(F, n):
    """Slopes to the left and to the right, by the other home of slopes."""
    right, left = Penalty.from_arrays(F[core.LO : core.SR + 1, :n]).step_slopes(F[core.A, :n])
    return left, right


@pytest.mark.parametrize("n", SIZES)
def test_ranges_are_slopes(n, rng, level):
    F, S = rows(rng, n)
    (below, above), a = slopes(F, n), F[core.A, :n].copy()
    core.Lines(F, S).hold_all(n)
    np.testing.assert_array_equal(F[core.LOW, :n], -above)
    np.testing.assert_array_equal(F[core.HIGH, :n], -below)
    np.testing.assert_array_equal(F[S[core.REGION, :n], np.arange(n)], a)


@pytest.mark.parametrize("n", SIZES)
def test_violations_are_those_of_the_penalty(n, rng, level):
    F, S = rows(rng, n)
    (below, above), a, h = slopes(F, n), F[core.A, :n], F[core.H, :n]
    expected = max(0.0, (h + below).max(), -(h + above).min())
    assert core.Lines(F, S).violation(np.arange(n), core.LO) == expected
    a[n // 2] -= 5.0
    assert core.Lines(F, S).violation(np.arange(n), core.LO) == np.inf


@pytest.mark.parametrize("n", SIZES)
def test_places_follow_the_slopes(n, rng, level):
    F, S = rows(rng, n)
    a, h = F[core.A, :n], F[core.H, :n]
    inside = rng.random(n) < 0.3
    a[inside] = F[core.LO, :n][inside] + rng.choice([0.25, 0.75], int(inside.sum()))
    outside = rng.random(n) < 0.1
    a[outside] += 3.0
    (below, above), before = slopes(F, n), a.copy()
    p = Penalty.from_arrays(F[core.LO : core.SR + 1, :n])
    found = core.Lines(F, S).place(np.arange(n), 0.0, 0.0)
    held = (h + below <= 0.0) & (h + above >= 0.0) & (before <= p.upper)
    between = p.between(before)
    np.testing.assert_array_equal(found == core.AT_BREAKPOINT, held & ~between)
    np.testing.assert_array_equal(found == core.FREE, held & between)
    up = (found == core.MOVING) & (before < p.upper) & (h + above < 0.0)
    np.testing.assert_array_equal(
        S[core.DIR, :n][found == core.MOVING], np.where(up, 1, -1)[found == core.MOVING]
    )


def slow_event(F, n, left, limit, least, noise, status, ignored):
    """The first row at a breakpoint whose h comes to the end of its range."""
    eta, steepest, code, which = limit, 0.0, core.CLOCK, -1
    for i in np.flatnonzero((status[:n] == core.AT_BREAKPOINT) & (ignored[:n] < 3)).tolist():
        h, gamma, low, high = (F[line, i] for line in (core.H, core.GAMMA, core.LOW, core.HIGH))
        for event, way, slope in (
            (core.RANGE_LOW, h - low, left * F[core.RLOW, i] - gamma),
            (core.RANGE_HIGH, high - h, gamma - left * F[core.RHIGH, i]),
        ):
            if slope > least + noise * F[core.ROOT, i]:
                x = max(0.0, way / slope)
                if x < eta or (x == eta and slope > steepest):
                    eta, steepest, code, which = x, slope, event, i
    return eta, code, which


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("left", [0.0, 0.4])
def test_the_first_event_of_held_rows(n, left, rng, level):
    for trial in range(40):
        F, S = rows(rng, n, moving=1.0 if left else 0.0)
        lines = core.Lines(F, S)
        lines.hold_all(n)
        quiet = rng.random(n) < [0.0, 0.9, 1.0][trial % 3]
        F[core.LOW, :n] -= 50.0 * quiet
        F[core.HIGH, :n] += 50.0 * quiet
        S[core.STATUS, :n] = rng.choice([core.AT_BREAKPOINT, core.ABSENT], n, p=[0.9, 0.1])
        for i in np.flatnonzero(S[core.STATUS, :n] == core.ABSENT).tolist():
            lines.release(i, core.ABSENT)
        S[core.IGNORED, :n] = rng.choice([0, 3], n, p=[0.9, 0.1])
        arguments = left, 1.0, 1e-13, 1e-13
        expected = slow_event(F, n, *arguments, S[core.STATUS], S[core.IGNORED])
        none = np.zeros(0, np.int64)
        assert lines.find_next_event(n, none, 0, *arguments) == expected


@pytest.mark.parametrize("n", SIZES)
def test_the_first_event_of_others_and_a_step(n, rng, level):
    F, S = rows(rng, n)
    used, lines = rng.permutation(n)[: min(n, 9)], core.Lines(F, S)
    for i in range(n):
        lines.release(i, core.ABSENT)
    n_free = (len(used) + 1) // 2
    free, moving = used[:n_free], used[n_free:]
    F[core.LO : core.UP, used], F[core.UP, used] = 0.0, 1.0
    F[core.A, used], F[core.D, used] = rng.random(len(used)), rng.normal(size=len(used))
    F[core.H, moving], F[core.GAMMA, moving] = -3.0, 0.0  # does not come to rest
    S[core.REGION, used], S[core.DIR, moving] = core.N_KINKS + 1, 1
    F[core.D, moving] = 0.3
    a, d = F[core.A, used].copy(), F[core.D, used].copy()
    way = np.where(d > 0.0, (1.0 - a) / d, -a / d)
    eta, code, which = lines.find_next_event(n, used, n_free, 0.0, core.FAR, 0.0, 0.0)
    first = int(np.argmin(way))
    assert eta == way[first]
    if first < n_free:
        assert (code, which) == (core.FREE_HIGH if d[first] > 0.0 else core.FREE_LOW, first)
    else:
        assert (code, which) == (core.BREAK, first - n_free)
    assert lines.find_first_end(free)[0] == way[:n_free].min()
    h, gamma = F[core.H, :n].copy(), F[core.GAMMA, :n].copy()
    S[core.IGNORED, :n] = 1
    lines.advance(n, used, eta, True)
    np.testing.assert_array_equal(F[core.A, used], a + eta * d)
    np.testing.assert_array_equal(F[core.H, :n], h + eta * gamma)
    assert not S[core.IGNORED, :n].any()


@pytest.mark.parametrize("n", SIZES)
def test_sizes_and_directions(n, rng, level):
    F, S = rows(rng, n)
    lines, used = core.Lines(F, S), np.arange(n)
    a, root = np.abs(F[core.A, :n]), F[core.ROOT, :n]
    largest, most, total = lines.sizes(n)
    assert (largest, most) == (a.max(), root.max())
    assert total == pytest.approx(a @ root)
    S[core.DIR, :n] = rng.choice([-1, 1], n)
    added = lines.set_directions(used, 0, 0.0, 0.0)
    end = np.where(S[core.DIR, :n] > 0, F[core.UP, :n], F[core.LO, :n])
    np.testing.assert_array_equal(F[core.D, :n], end - F[core.A, :n])
    assert added == pytest.approx(F[core.D, :n].sum())
    size, largest = lines.measure_step(used, 0.7)
    roots = np.sqrt(root**2 + 0.7)
    assert size == pytest.approx(np.abs(F[core.D, :n]) @ roots)
    assert largest == pytest.approx(roots.max())


def test_copies_have_their_own_lines(rng, level):
    F, S = rows(rng, 7)
    lines = core.Lines(F, S)
    other, G = copy.deepcopy((lines, F))
    other.release(0, core.ABSENT)
    assert G[core.HIGH, 0] == np.inf
    assert F[core.HIGH, 0] == 0.0


def test_a_sign_that_flips_twice_is_as_before(rng, level):
    F, S = rows(rng, 5)
    S[core.SIGN] = 1
    F[core.LO + 1] = F[core.LO]
    lines, before = core.Lines(F, S), F.copy()
    before[core.RATE + 1], before[core.TARGET + 1] = before[core.RATE], before[core.TARGET]
    for sign in (-1, 1):
        lines.flip(2)
        assert S[core.SIGN, 2] == sign
    np.testing.assert_array_equal(F[:, 2], before[:, 2])


def test_arrays_of_another_size_are_refused(rng):
    F, S = rows(rng, 5)
    with pytest.raises(TypeError, match="lines"):
        core.Lines(F, S[:, 1:])
    with pytest.raises(TypeError, match="int64"):
        core.Lines(F, S).place(np.zeros(3), 0.0, 0.0)
    with pytest.raises(TypeError, match="room"):
        Triangle(np.zeros((2, 2))).append(2, np.zeros(2), 1.0, 1e-13)


@pytest.mark.parametrize("m", [1, 2, 7, 33, 70])
def test_directions_solve_their_equations(m, rng, level):
    B = rng.normal(size=(m, m + 5))
    K, L = B @ B.T, np.zeros((m + 3, m + 3))
    for k in range(m):
        assert Triangle(L).append(k, K[:k, k] + 0.8, K[k, k] + 0.8, 1e-13)
    rhs = rng.normal(size=m)
    d = rhs.copy()
    shift = Triangle(L).solve_directions(m, 0.8, d, 0.4)
    np.testing.assert_allclose(K @ d + shift, rhs, atol=1e-8)
    assert d.sum() == pytest.approx(0.4)
