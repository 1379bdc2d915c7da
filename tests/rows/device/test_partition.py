"""A partition of the array API answers what one in memory answers."""

import numpy as np
import pytest

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import RowMap, RowsGram
from fewlabels.problem import Penalty
from fewlabels.rows.device import backend_of
from fewlabels.rows.device.gram import ArrayGram
from fewlabels.rows.device.penalty import ArrayPenalty, to_device
from fewlabels.rows.problem import ProblemSpec
from fewlabels.solvers.engine.messages import BlockUpdate
from fewlabels.solvers.engine.partition import Partition

KINDS = ["kinks", "one for all", "no upper end", "free", "fixed"]


def penalty_of(kind, n, rng):
    if kind == "one for all":
        return Penalty.linear(0.0, 0.5, -1.0, n)
    if kind == "no upper end":
        return Penalty.linear(0.0, np.inf, rng.normal(size=n), n)
    lower = -rng.uniform(0.1, 1.0, n)
    upper = rng.uniform(0.1, 1.0, n)
    left, right = np.sort(rng.normal(size=(2, n)), axis=0)
    if kind == "free":
        chosen = rng.random(n) < 0.3
        lower, upper = np.where(chosen, -np.inf, lower), np.where(chosen, np.inf, upper)
        return Penalty.kinked(lower, np.clip(0.1, lower, upper), upper, left, right, n)
    if kind == "fixed":
        chosen = rng.random(n) < 0.3
        lower, upper = np.where(chosen, 0.25, lower), np.where(chosen, 0.25, upper)
    kink = lower + rng.random(n) * (upper - lower)
    return Penalty.kinked(lower, kink, upper, left, right, n)


@pytest.fixture(params=KINDS)
def both(request, library, rng):
    """The same rows twice, of which some are equal; the second where ``library`` has them."""
    n = 40
    X = np.repeat(rng.normal(size=(n // 2, 3)), 2, axis=0)
    penalty, ridge = penalty_of(request.param, n, rng), np.zeros(n)
    if request.param != "kinks":
        ridge = rng.uniform(0.1, 0.5, n)
    kernel = RBF(0.7)
    spec = ProblemSpec(kernel, None, 1.0, RowMap(kernel, X, np.float64), None)
    here = Partition(RowsGram(spec.row_map, X), penalty, ridge, 2.0, first=100)
    backend = backend_of(library.there(X))
    there = Partition(
        ArrayGram(backend, library.there(X), spec), ArrayPenalty.from_penalty(backend, penalty, n),
        to_device(backend, ridge), 2.0, first=100, size=backend.array(1.0), arrays=backend,
    )  # fmt: skip
    for partition in (here, there):
        partition.reset_to_feasible(0.0)
    return here, there


def same(here, there):
    if isinstance(here, tuple | list):
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            same(one, other)
    elif isinstance(here, Penalty):
        same(here.arrays(), there.arrays())
    elif here is not None:
        assert np.shape(here) == np.shape(there)
        assert np.allclose(here, there, rtol=1e-10, atol=1e-12, equal_nan=True), (here, there)


def ask(both, name, *arguments):
    here, there = (getattr(partition, name)(*arguments) for partition in both)
    same(here, there)
    return here


def by_number(ranked):
    order = np.argsort(ranked.ids)
    return [values[order] for values in ranked]


def fetched(partition, ids):
    found = partition.fetch(ids)
    names = ("ids", "ridge", "size", "a", "g", "penalty")
    values = [getattr(found, name) for name in names]
    return found, [*values, found.columns.ids, *found.columns.values]


def state(both):
    ask(both, "state")
    (_, here), (_, there) = (fetched(partition, None) for partition in both)
    same(here, there)
    between = [partition.propose(1, 7)[2] for partition in both]
    same(*between)
    ask(both, "gap", 0.3, (-3.0, -np.inf, 5.0, 2.0))
    for partition in both:
        assert partition.has_current_gradient == both[0].has_current_gradient
    ids = np.arange(100, 140)
    (_, here), (_, there) = (fetched(partition, ids) for partition in both)
    same(here, there)


def moved(both, rng, count=9):
    """An update with random steps within the intervals."""
    ids = np.sort(rng.choice(np.arange(100, 140), count, replace=False))
    working, values = fetched(both[0], ids)
    same(values, fetched(both[1], ids)[1])
    penalty = working.penalty
    lower, upper = (np.clip(end, -2.0, 2.0) for end in (penalty.lower, penalty.upper))
    a = np.where(rng.random(count) < 0.3, penalty.ends[1], rng.uniform(lower, upper))
    a = np.where(np.isfinite(a), a, 0.5)
    update = BlockUpdate(ids, a, rng.normal(size=count), working.columns, a - working.a)
    ask(both, "update", update)


def test_rounds(both, rng):
    ask(both, "facts")
    for _ in range(3):
        moved(both, rng)
        state(both)
        for here, there in zip(*(partition.propose(5)[:2] for partition in both), strict=True):
            assert len(here.ids) == 5
            same(by_number(here), by_number(there))
    same(*(partition.n_values for partition in both))
    ask(both, "assign", np.array([103, 120]), np.array([0.01, 0.02]))
    state(both)


def test_repairs(both, rng):
    moved(both, rng)
    ask(both, "round_to_breakpoints", 0.05)
    state(both)
    for amount in (0.02, -0.03):
        found = ask(both, "can_absorb", amount)
        for row in found.ids:
            ask(both, "shift", int(row), amount)
        for limit in (-np.inf, *rng.normal(size=4)):
            ask(both, "measure_slack", amount, limit)
        # Costs of equal rows may differ in the last digit: each its own.
        limits = [partition.measure_slack(amount, 0.0).following for partition in both]
        same(*limits)
        rooms = [p.measure_slack(amount, limit) for p, limit in zip(both, limits, strict=True)]
        same(*rooms)
        left = np.copysign(0.4 * (rooms[0].up_to - rooms[0].below), amount)
        if np.isfinite(left):
            for partition, limit in zip(both, limits, strict=True):
                partition.move(amount, limit, float(left))
            state(both)
    ask(both, "clip")
    state(both)
    ask(both, "reset_to_feasible", 0.0)
    state(both)
    ask(both, "reset_to_feasible", 0.7)
    state(both)


def test_a_gradient_that_is_owed(both, rng):
    moved(both, rng)
    ask(both, "clip")
    ask(both, "assign", np.array([103, 120]), np.array([0.01, 0.02]))
    for everything in (False, True):
        count = ask(both, "count_pending_updates", everything)
        debts = [partition.pending_columns(0, count, True) for partition in both]
        (columns, change), (others, changes) = debts
        same([columns.ids, *columns.values, change], [others.ids, *others.values, changes])
        ask(both, "add", columns, change)
    ask(both, "mark_gradient_current")
    state(both)


def test_a_sample(both, rng):
    moved(both, rng)
    count = ask(both, "choose_sample", 140, 90, 3)
    samples = [partition.sample(2.5, 0) for partition in both]
    ask(samples, "facts")
    for sample in samples:
        sample.reset_to_feasible(0.0)
    ids = np.arange(0, count, 2)
    ask(samples, "assign", ids, np.full(len(ids), 0.05))
    ask(samples, "count_pending_updates", True)
    columns, change = samples[0].pending_columns(0, count, True)
    same(columns.ids, samples[1].pending_columns(0, count, True)[0].ids)
    ask(both, "predict")
    ask(both, "add", columns, change)
    for multiplier in (0.4, -1.0, 0.0):
        ask(both, "set_to_minimiser", multiplier, False)
    ask(both, "set_to_minimiser", 0.0, True)
    state(both)


def test_how_the_gradient_is_spread(both, rng):
    if np.isinf(both[0].penalty.upper).any():
        pytest.skip("weights are widths, which are finite")
    moved(both, rng)
    ids, g = np.array([104, 111]), np.array([7.0, -7.0])
    for edges in (np.empty(0), np.array([-1.0, 0.0, 0.5]), np.array([-7.0, 7.0])):
        ask(both, "histogram", edges, ids, g)
    for low, high in ((-np.inf, np.inf), (-0.5, 0.4)):
        ask(both, "within", low, high, ids, g)


@pytest.mark.parametrize("both", ["kinks"], indirect=True)
@pytest.mark.parametrize("how", ["numbers", "few values", "one value", "nearly all infinite"])
def test_the_lowest_are_found_on_the_device(how, library, rng, both):
    from fewlabels.solvers.engine.messages import LowestRows

    partition, n = both[1], 20_000
    partition.n = n
    keys = rng.normal(size=n)
    if how == "few values":
        keys = np.round(keys)
    if how == "one value":
        keys = np.zeros(n)
    if how == "nearly all infinite":
        keys = np.where(rng.random(n) < 0.01, keys, np.inf)
    there = library.there(keys)
    for count in (1, 50, 512, 4000):
        same(
            *map(
                by_number,
                (LowestRows.from_keys(keys, count, 100), partition._lowest(there, count)),
            )
        )
