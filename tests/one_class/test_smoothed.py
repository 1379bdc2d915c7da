"""Smoothed p-values: a sequence of random numbers breaks ties, and equal rows tie."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

from fewlabels import SVDD, OneClassSVM

MACHINES = {
    "squared": lambda **kw: SVDD(**{"C": 0.3, "gamma": 0.4, **kw}),
    "linear": lambda **kw: SVDD(**{"slack": "linear", "nu": 0.23, "gamma": 0.4, **kw}),
    "one-class": lambda **kw: OneClassSVM(**{"nu": 0.23, "gamma": 0.4, **kw}),
}
every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)


@every_machine
@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
def test_smoothed_p_values_row_by_row_are_those_of_one_call(make, calibration, rng):
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(300, 2))
    model = make(target_fpr=0.1, calibration=calibration, random_state=5).fit(X)
    start = pickle.dumps(model)
    together = model.p_values(new, smoothed=True)
    model = pickle.loads(start)
    one_by_one = [model.p_values(row[None], smoothed=True)[0] for row in new]
    np.testing.assert_array_equal(one_by_one, together)
    # The random numbers differ from row to row, of equal rows too.
    same = model.p_values(np.repeat(new[:1], 50, axis=0), smoothed=True)
    assert len(np.unique(same)) == 50


def test_the_sequence_that_breaks_ties_is_the_models(rng):
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(9, 2))

    def fitted(**options):
        return SVDD(target_fpr=0.1, random_state=5).set_params(**options).fit(X)

    def calls(model):
        first = model.p_values(new[:4], smoothed=True)
        model.p_values(new)  # takes none
        return np.r_[first, model.p_values(new[4:], smoothed=True)]

    expected = fitted().p_values(new, smoothed=True)
    model = fitted()
    np.testing.assert_array_equal(calls(model), expected)
    assert not np.array_equal(calls(model), expected)  # the sequence continues
    np.testing.assert_array_equal(calls(model.fit(X)), expected)
    model.set_params(random_state=6)
    np.testing.assert_array_equal(calls(model), calls(fitted(random_state=6)))
    # Copies continue where the original was, and updates don't start again.
    model = fitted()
    model.p_values(new[:4], smoothed=True)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.snapshot()):
        np.testing.assert_array_equal(other.p_values(new[4:], smoothed=True), expected[4:])
    model.partial_fit(new[:1]).forget([len(X)])
    np.testing.assert_allclose(model.p_values(new[4:], smoothed=True), expected[4:])
    given = [np.random.RandomState(3), np.random.RandomState(3)]
    first, second = (fitted(random_state=state) for state in given)
    np.testing.assert_array_equal(calls(first), calls(second))


def shares(make, draw, levels, repeats, n=60, one_by_one=False):
    """Shares of fresh rows with smoothed p-values of at most some levels, and standard errors."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 11])
        X, new = draw(rng, n), draw(rng, 40)
        model = make(random_state=seed).fit(X)
        if one_by_one:
            p = np.concatenate([model.p_values(row[None], smoothed=True) for row in new])
        else:
            p = model.p_values(new, smoothed=True)
        found.append([(p <= level).mean() for level in levels])
    found = np.array(found)
    return found.mean(axis=0), found.std(axis=0) / np.sqrt(repeats)


def test_one_row_at_a_time_reaches_small_p_values():
    # One of the random numbers decides all of the p-values below 1 / 11.
    mean, error = shares(
        lambda **kw: SVDD(target_fpr=0.1, calibration="split", **kw),
        lambda rng, n: rng.normal(size=(n, 2)), [0.05], 40, n=20, one_by_one=True,
    )  # fmt: skip
    assert abs(mean[0] - 0.05) < 4 * error[0] and mean[0] > 0.02


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.integers(0, 2, size=(n, 1)).astype(float),
        lambda rng, n: rng.integers(0, 3, size=(n, 2)).astype(float),
    ],
    ids=["two values", "nine values"],
)
def test_left_out_p_values_of_equal_rows_are_uniform(draw):
    levels = np.array([0.05, 0.1, 0.25, 0.5, 0.75])
    make = partial(SVDD, target_fpr=0.1, calibration="leave-one-out")
    mean, error = shares(make, draw, levels, 40)
    assert np.all(np.abs(mean - levels) < 4 * error + 0.01), (mean, error)
