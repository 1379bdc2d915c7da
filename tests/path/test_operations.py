"""Operations of a path: what they promise besides optimality."""

import copy
import pickle

import numpy as np
import pytest
from reference import kernel_matrix, kkt_residual, solve_qp

from fewlabels._core import path as st
from fewlabels.kernels import RBF, Linear
from fewlabels.problem import Penalty
from fewlabels.solvers.path import PathFollower, RowPenalties
from fewlabels.solvers.path.events import Events

KERNEL, JUDGE = RBF(0.5), ("rbf", 0.5)


def blobs(rng, n, d=2, shift=1.0):
    y = rng.choice([-1.0, 1.0], n)
    return rng.normal(size=(n, d)) + shift * y[:, None], y


def one_class(n):
    return RowPenalties.convex(Penalty.linear(0.0, 1.0, 0.0, n))


def convex_machines(rng, X, y):
    n, diagonal = len(X), np.ones(len(X))
    kink = Penalty.kinked(0.0, 0.5, 1.0, np.sin(X[:, 0]) - 1, np.sin(X[:, 0]) + 1, n)
    return {
        "svm": (RowPenalties.labelled(y, rng.choice([0.5, 5.0], n)), 1.0, 0.0),
        "one-class": (one_class(n), 1.0, 0.3 * n),
        "svdd-linear": (RowPenalties.convex(Penalty.linear(0.0, 0.1, -diagonal, n)), 2.0, 1.0),
        "svdd-squared": (
            RowPenalties.convex(Penalty.linear(0.0, np.inf, -diagonal, n), ridge=3.0), 2.0, 1.0
        ),
        "pu": (RowPenalties.convex(kink), 1.0, 0.4 * n),
    }  # fmt: skip


@pytest.mark.parametrize("machine", ["svm", "one-class", "svdd-linear", "svdd-squared", "pu"])
def test_convex_machines_reach_the_solution(machine, rng):
    X, y = blobs(rng, 50)
    rows, scale, total = convex_machines(rng, X, y)[machine]
    Q = scale * kernel_matrix(JUDGE, X) + np.diag(rows.ridge)
    a, _ = solve_qp(Q, rows.penalty.arrays(), total)
    path = PathFollower(KERNEL, scale=scale)
    assert path.add(X, rows, total=total)
    assert kkt_residual(Q, rows.penalty.arrays(), path.a) < 1e-11
    np.testing.assert_allclose(path.a, a, atol=2e-5)
    np.testing.assert_allclose(path.h, Q @ path.a - path.multiplier, atol=1e-12)
    assert path.violation() < 1e-11


@pytest.mark.parametrize("seed", range(12))
def test_kinks_move_away_from_ends(seed):
    """A row at two breakpoints that part goes with the one that its h asks for."""
    rng = np.random.default_rng(seed)
    n = 30
    X, path = rng.normal(size=(n, 2)), PathFollower(KERNEL)
    Q = kernel_matrix(JUDGE, X)
    linear = rng.normal(size=n)
    for operation in ("add", "move", "move", "move"):
        kink = rng.choice([0.0, 0.5, 1.0], n)
        penalty = Penalty.kinked(0.0, kink, 1.0, linear - 1.0, linear + 1.0, n)
        rows = RowPenalties.convex(penalty)
        if operation == "add":
            path.add(X, rows, total=0.4 * n)
        else:
            path.move(np.arange(n), rows)
        assert kkt_residual(Q, penalty.arrays(), path.a) < 1e-10
        assert path.violation() < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_rows_join_one_by_one_on_the_way_to_any_total(seed):
    """Also where the first rows can't reach their share of the total."""
    rng = np.random.default_rng(seed)
    n, n_before = 8, rng.integers(0, 5)
    X, low, up = rng.normal(size=(n, 2)), -rng.random(n), rng.random(n)
    fixed = rng.random(n) < 0.3
    low, up = np.where(fixed, 0.2, low), np.where(fixed, 0.2, up)
    rows = RowPenalties.convex(Penalty.linear(low, up, rng.normal(size=n), n))
    total = rng.uniform(low.sum(), up.sum())
    path = PathFollower(KERNEL)
    if n_before:
        ends = low[:n_before].sum(), up[:n_before].sum()
        path.add(X[:n_before], rows.take(np.arange(n_before)), total=rng.uniform(*ends))
    path.add(X[n_before:], rows.take(np.arange(n_before, n)), block=False, total=total)
    assert path.a.sum() == pytest.approx(total, abs=1e-12)
    assert kkt_residual(kernel_matrix(JUDGE, X), rows.penalty.arrays(), path.a) < 1e-10


def test_rows_keep_their_order(rng):
    X, y = blobs(rng, 120)
    path = PathFollower(KERNEL)
    path.add(X, RowPenalties.labelled(y, 1.0))
    gone = rng.choice(120, 90, replace=False)  # enough to make the arrays smaller
    path.remove(gone)
    assert path._state.n < 120
    kept = np.setdiff1d(np.arange(120), gone)
    again = PathFollower(KERNEL)
    again.add(X[kept], RowPenalties.labelled(y[kept], 1.0))
    np.testing.assert_allclose(path.a, again.a, atol=1e-10)
    path.add(X[gone[:5]], RowPenalties.labelled(y[gone[:5]], 1.0))
    assert path.violation() < 1e-11


def test_a_paused_path_goes_on(rng):
    X, y = blobs(rng, 60, shift=0.5)
    label = np.append(y[:10], np.zeros(50))
    rows = RowPenalties.semi_supervised(label, np.where(label == 0, 5.0, 10.0))
    whole, parts = (PathFollower(KERNEL, balance="keep") for _ in range(2))
    assert whole.add(X, rows, target=0.1)
    done, pauses = parts.add(X, rows, target=0.1, max_steps=3), 0
    while not done:
        assert not parts.finished
        pauses += 1
        parts = pickle.loads(pickle.dumps(parts))
        done = parts.run(max_steps=3)
    assert pauses > 5
    np.testing.assert_allclose(parts.a, whole.a, atol=1e-9)
    assert parts.violation() < 1e-10


def test_operations_queue_behind_a_paused_one(rng):
    X, y = blobs(rng, 60, shift=0.5)
    path = PathFollower(KERNEL)
    assert not path.add(X[:40], RowPenalties.labelled(y[:40], 10.0), max_steps=2)
    assert path.remove([0, 1])
    assert len(path) == 38 and path.finished
    assert path.violation() < 1e-10


def scaled(path, factor):
    """The path's rows with slopes times a factor."""
    p = path.penalty.scaled(1.0, factor)
    return RowPenalties.convex(p, path.scale * path._state.F[st.RIDGE][: len(path)])


def test_leaving_out_is_refitting(rng):
    X, y = blobs(rng, 40)
    for machine, (rows, scale, total) in convex_machines(rng, X, y).items():
        path = PathFollower(KERNEL, scale=scale)
        path.add(X, rows, total=total)
        less = total * 39 / 40 if machine in ("one-class", "pu") else total
        factor = 39 / 40 if machine == "pu" else 1.0
        path.move(np.arange(40), scaled(path, factor), total=less)
        nothing = RowPenalties.convex(Penalty.linear(0.0, 0.0, 0.0, 1))
        for i in range(0, 40, 3):
            without = copy.deepcopy(path)
            without.change([i], nothing)
            others = np.delete(np.arange(40), i)
            kept = rows.take(others)
            p = kept.penalty.scaled(1.0, factor)
            again = PathFollower(KERNEL, scale=scale)
            again.add(X[others], RowPenalties(p, kept.symmetric, kept.ridge), total=less)
            if again.n_margin == 0:
                continue  # the multiplier is not unique
            k = scale * kernel_matrix(JUDGE, X[[i]], X[others])[0]
            assert abs(k @ again.a - again.multiplier - without.h[i]) < 1e-9, machine


@pytest.mark.parametrize("balance", [None, "keep"])
def test_loading_a_rough_solution(balance, rng):
    X, y = blobs(rng, 80, shift=0.6)
    label = np.append(y[:20], np.zeros(60))
    rows = RowPenalties.semi_supervised(label, np.where(label == 0, 5.0, 10.0))
    target = 0.1 if balance else None
    path = PathFollower(KERNEL, balance=balance)
    path.add(X, rows, target=target)
    a = path.a
    inside = (np.abs(a) > 0) & (np.abs(a) < np.where(np.arange(80) < 20, 10.0, 5.0))
    assert inside.sum() > 5
    for noise in (0.0, 1e-6, 1e-3):
        rough = np.where(inside, a * (1 + noise * rng.uniform(-1, 1, 80)), a)
        other = PathFollower(KERNEL, balance=balance)
        assert other.load(
            X, rows, rough, path.multiplier + noise, signs=path.signs, virtual=path.virtual,
            target=target,
        )  # fmt: skip
        assert other.violation() < 1e-11
        np.testing.assert_allclose(other.a, a, atol=1e-8)
        # And it is alive.
        other.remove(np.arange(10))
        assert other.violation() < 1e-11


def test_moving_a_cost_visits_the_solutions_in_between(rng):
    X, y = blobs(rng, 50, shift=0.3)
    path = PathFollower(KERNEL)
    path.add(X, RowPenalties.labelled(y, 0.01))
    for C in (0.1, 1.0, 30.0, 0.5):
        path.move(np.arange(50), RowPenalties.labelled(y, C))
        fresh = PathFollower(KERNEL)
        fresh.add(X, RowPenalties.labelled(y, C))
        np.testing.assert_allclose(path.a, fresh.a, atol=1e-9 * C)
        assert path.violation() < 1e-11


@pytest.mark.parametrize("balance", [None, "keep", "paper"])
def test_rows_that_change_sign_go_with_costs_that_move(balance, monkeypatch):
    # A row that arrives at its new bound while the costs move goes with that bound from then on.
    # Its rate was lost where the last bit of its way was worth a correction: f was wrong by .18.
    step = Events.step

    def checked(events):
        step(events)
        state, clock = events.state, events.clock
        if clock.h_rate is None:
            return
        n_flips.append(state.n_flips)
        held = np.flatnonzero(state.S[st.STATUS, : state.n] == st.AT_BREAKPOINT)
        lines = state.S[st.REGION, held] - st.LO + st.RATE
        np.testing.assert_array_equal(state.F[st.D, held], state.F[lines, held])
        h_rate = np.zeros(state.n)
        state.add_product(held, h_rate)
        np.testing.assert_allclose(clock.h_rate, h_rate, atol=1e-9)

    monkeypatch.setattr(Events, "step", checked)
    flips = 0
    for seed in range(30):
        rng, n_flips = np.random.default_rng(seed), []
        X = rng.uniform(-3, 3, size=(8, 1))
        label = np.array([-1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        path = PathFollower(Linear(), balance=balance)
        rows = [
            RowPenalties.semi_supervised(label, np.where(label == 0, *cost))
            for cost in ((0.2, 1.0), (2.0, 0.5), (0.6, 3.0))
        ]
        path.add(X, rows[0], target=-0.5 if balance else None)
        for changed in rows[1:]:
            path.move(np.arange(8), changed)
            K = X @ X.T
            mean = (label == 0) / 5
            h = K @ (path.a + path.virtual * mean) - path.multiplier
            np.testing.assert_allclose(path.h, h, atol=1e-9)
        flips += np.ptp(n_flips) if n_flips else 0
    assert flips > 5


def test_slopes_times_a_factor_is_the_kernel_divided_by_it(rng):
    X, y = blobs(rng, 50)
    rows, _, total = convex_machines(rng, X, y)["pu"]
    path = PathFollower(KERNEL)
    path.add(X, rows, total=total)
    path.move(np.arange(50), scaled(path, 4.0))
    fresh = PathFollower(KERNEL, scale=0.25)
    fresh.add(X, rows, total=total)
    np.testing.assert_allclose(path.a, fresh.a, atol=1e-9)


def test_balance_holds_and_keeping_takes_fewer_steps(rng):
    X, y = blobs(rng, 120, shift=0.7)
    steps = {}
    for balance in ("keep", "paper"):
        path = PathFollower(KERNEL, balance=balance)
        path.add(X[:20], RowPenalties.labelled(y[:20], 10.0), target=0.2)
        before = path.n_steps
        for i in range(20, 120):
            path.add(X[i : i + 1], RowPenalties.unlabelled(5.0, 1))
            assert abs(path.h[20:].mean() - 0.2) < 1e-10
            assert abs(path.a.sum() + path.virtual) < 1e-9
        steps[balance] = path.n_steps - before
    assert steps["keep"] < steps["paper"]


def test_history_counts_steps(rng):
    X, y = blobs(rng, 30)
    path = PathFollower(KERNEL)
    path.add(X, RowPenalties.labelled(y, 1.0))
    path.remove([0, 3])
    path.refresh()
    assert [e["operation"] for e in path.history] == ["add", "remove", "refresh"]
    assert sum(e["steps"] for e in path.history) == path.n_steps
    assert path.history[1]["rows"] == 2


def test_history_is_bounded(rng):
    X, y = blobs(rng, 4)
    path = PathFollower(KERNEL)
    path.add(X, RowPenalties.labelled(y, 1.0))
    for _ in range(1010):
        path.run()
        path.move(total=0.0)
    assert len(path.history) == 1000
    assert all(e["operation"] == "move" for e in path.history)


def test_after_an_exception_a_path_is_broken_and_another_starts_from_it(rng, monkeypatch):
    X, y = blobs(rng, 60, shift=0.5)
    label = np.append(y[:10], np.zeros(50))
    rows = RowPenalties.semi_supervised(label, np.where(label == 0, 5.0, 10.0))
    path = PathFollower(KERNEL, balance="keep")
    path.add(X[:50], rows.take(np.arange(50)), target=0.1)
    happen, calls = Events._handle_event, []

    def interrupted(self, *event):
        calls.append(event)
        if len(calls) == 5:
            raise KeyboardInterrupt
        happen(self, *event)

    monkeypatch.setattr(Events, "_handle_event", interrupted)
    with pytest.raises(KeyboardInterrupt):
        path.add(X[50:], rows.take(np.arange(50, 60)))
    assert path.broken and len(path) == 60
    for operation in (path.run, path.refresh, lambda: path.remove([0])):
        with pytest.raises(ArithmeticError, match="raised an exception"):
            operation()
    again = PathFollower(KERNEL, balance="keep")
    low, up = np.minimum(0.0, rows.penalty.lower), rows.penalty.upper
    turned = path.signs < 0
    low, up = np.where(turned, -up, low), np.where(turned, -low, up)
    again.load(
        X, rows, np.clip(path.a, low, up), path.multiplier, signs=path.signs,
        virtual=path.virtual, target=0.1,
    )  # fmt: skip
    assert again.violation() < 1e-10 and not again.broken


def test_a_path_without_direction_is_an_error(rng):
    X, y = blobs(rng, 30)
    path = PathFollower(KERNEL)
    path.add(X[:29], RowPenalties.labelled(y[:29], 1.0))
    path._factor.L[0, 0] = np.nan
    with pytest.raises(ArithmeticError, match="lost its direction"):
        path.add(X[29:], RowPenalties.labelled(-y[29:], 1.0))
    assert path.broken


def test_rounding_is_corrected_when_it_is_due(rng):
    X, y = blobs(rng, 40)
    never, often = (PathFollower(KERNEL, refresh_at=r) for r in (np.inf, 0.0))
    for path in (never, often):
        for i in range(40):
            path.add(X[i : i + 1], RowPenalties.labelled(y[i : i + 1], 1.0))
    np.testing.assert_allclose(never.a, often.a, atol=1e-12)


def test_linear_kernel_forms_no_column(rng):
    X, y = blobs(rng, 300, d=4)
    path = PathFollower(Linear())
    path.add(X, RowPenalties.labelled(y, 1.0))
    for i in range(20):
        path.remove([i])
    assert path.n_values < 300 * 300 / 10
    assert path.violation() < 1e-10


def test_few_columns_give_the_same_path(rng):
    X, y = blobs(rng, 80)
    whole, few = (PathFollower(KERNEL, cache_size=c) for c in (1e8, 10_000))
    for path in (whole, few):
        path.add(X, RowPenalties.labelled(y, 10.0))
        path.remove(np.arange(0, 80, 7))
    assert few.n_values > whole.n_values
    np.testing.assert_allclose(few.a, whole.a, atol=1e-10)


def test_refusals_leave_the_state_alone(rng):
    X, _ = blobs(rng, 20)
    path = PathFollower(KERNEL)
    path.add(X, one_class(20), total=5.0)
    before = path.a
    refused = [
        (lambda: path.remove(np.arange(17)), "must sum to 5"),
        (lambda: path.move(total=21.0), "could sum to"),
        (lambda: path.add(X, one_class(19)), "20 rows and rows has 19"),
        (lambda: path.remove([3, 3]), "named twice"),
        (lambda: path.move(target=0.1), "no balancing constraint"),
        (lambda: path.load(X, one_class(20), before, 0.0), "empty path"),
        (lambda: path.change([0], one_class(1), total=50.0), "could sum to"),
    ]
    for operation, message in refused:
        with pytest.raises(ValueError, match=message):
            operation()
        assert np.array_equal(path.a, before) and path.finished
    with pytest.raises(IndexError, match="index 20 is out of bounds"):
        path.remove([20])
    with pytest.raises(ValueError, match="'keep' or 'paper'"):
        PathFollower(KERNEL, balance="no")
    with pytest.raises(ValueError, match="number > 0"):
        PathFollower(KERNEL, scale=0.0)
