"""S3VM: prices that move along the path, and ways to a minimum that consolidate takes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference.s3vm_streams import clouds, judge
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewlabels import S3VM
from fewlabels.semi_supervised import path_starts
from fewlabels.semi_supervised.consolidation import STRATEGIES
from fewlabels.semi_supervised.problem import SemiSupervised


@pytest.mark.parametrize("balance", [True, 0.1, False])
@pytest.mark.parametrize("update", ["keep", "paper"])
def test_every_C_star_on_the_way_is_a_local_minimum(rng, balance, update):
    X, y, _ = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3, balance=balance, balance_update=update, C_star=0.01).fit(X, y)
    steps = []
    for C_star in (0.02, 0.3, 5.0, 40.0, 5.0):
        before = model.resume().n_steps_
        assert model.reprice(C_star=C_star) is model
        assert model.C_star == C_star and model.get_params()["C_star"] == C_star
        judge(model, X, y, balance=balance, prices=(10.0, C_star))
        steps.append(model.n_steps_ - before)
    assert min(steps) > 0
    model.partial_fit(X[:1]).forget([3])
    rows = np.r_[0:3, 4:100, 0]
    judge(model, X[rows], np.append(y[rows[:-1]], np.nan), balance=balance)


def test_both_prices_move(rng):
    X, y, truth = clouds(rng, apart=0.5)
    weight = np.where(np.isnan(y), 1.0, 2.0)
    model = S3VM(gamma=0.3, C=1.0, C_star=0.2).fit(X, y, sample_weight=weight).reprice(4.0, 3.0)
    judge(model, X, y, weight=weight, prices=(4.0, 3.0))
    model.reprice(C=30.0)
    judge(model, X, y, weight=weight, prices=(30.0, 3.0))
    model.set_params(C=4.0)
    with pytest.raises(ValueError, match=r"C was 30\.0"):
        model.relabel([50], truth[[50]])
    model.set_params(C=30.0).relabel([50], truth[[50]])
    y[50] = truth[50]
    judge(model, X, y, weight=weight, prices=(30.0, 3.0))


def test_prices_wait_their_turn(rng):
    X, y, truth = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3, max_steps=2).fit(X[:80], y[:80]).resume()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit(X[80:], y[80:]).reprice(C_star=1.0)
        model.relabel([30, 85, 4], [truth[30], truth[85], np.nan]).reprice(C=3.0).forget([40])
    model.resume()
    y[[30, 85, 4]] = truth[30], truth[85], np.nan
    rows = np.delete(np.arange(100), 40)
    judge(model, X[rows], y[rows], prices=(3.0, 1.0))


def test_prices_are_checked(rng):
    X, y, _ = clouds(rng)
    model = S3VM(gamma=0.3).fit(X, y)
    for value in (-1e-300, -1, np.inf, np.nan, True, "much"):
        with pytest.raises(ValueError, match="is not a cost"):
            model.reprice(C_star=value)
    assert model.C_star == 5.0


@pytest.mark.parametrize("build", [path_starts.build_by_C_star, path_starts.build_row_by_row])
@pytest.mark.parametrize("update", ["keep", "paper"])
@pytest.mark.parametrize("balance", [True, False])
def test_a_path_begins_at_a_local_minimum_and_goes_on(rng, build, update, balance, monkeypatch):
    X, y, truth = clouds(rng)
    model = S3VM(gamma=0.3, solver="path", balance=balance, balance_update=update)
    begun = []
    monkeypatch.setattr(
        path_starts, "build_row_by_row", lambda rows: begun.append(rows) or build(rows)
    )
    model.fit(X[:90], y[:90])
    assert len(begun) == 1
    judge(model, X[:90], y[:90], balance=balance)
    model.partial_fit(X[90:], y[90:]).relabel([30], truth[[30]]).forget([50])
    y[30] = truth[30]
    rows = np.delete(np.arange(100), 50)
    judge(model, X[rows], y[rows], balance=balance)


def test_the_best_of_all_ways_is_kept(rng):
    X, y, truth = clouds(rng, n=60, apart=0.4)
    start = S3VM(gamma=0.3, solver="path").partial_fit(X[:4], 1 - truth[:4])
    start.partial_fit(X[4:], y[4:]).relabel(range(4), truth[:4])
    reached = {}
    for name in STRATEGIES:
        model = clone(start).partial_fit(X[:4], 1 - truth[:4])
        model.partial_fit(X[4:], y[4:]).relabel(range(4), truth[:4])
        assert model.objective_ == start.objective_
        model.consolidate([name])
        judge(model, X, y)
        reached[name] = model.objective_
    assert len(set(np.round(list(reached.values()), 6))) > 1
    best = clone(start).set_params(solver="auto").partial_fit(X, y)
    assert best.objective_ == pytest.approx(reached["batch"])
    best.consolidate()
    assert best.objective_ == pytest.approx(min(reached.values()))
    judge(best, X, y)
    assert best.consolidate() is False
    with pytest.raises(ValueError, match="are not valid"):
        best.consolidate("batch")


def test_on_the_boundary_either_side_will_do():
    label = np.array([1.0, -1.0, 0.0, 0.0, 0.0])

    def violation(a, f):
        return SemiSupervised(10.0, 5.0).violation(label, np.ones(5), a, f)

    f = np.array([2.0, -1.0, -1e-13, 1e-13, 1.0])
    a = np.array([0.0, -3.0, 5.0, -5.0, 2.0])
    assert violation(a, f) < 1e-12
    for row, value, expected in [
        (0, 0.7, 0.3),  # a = 0 below the margin
        (1, -1.2, 0.2),  # in between beyond it
        (2, -0.3, 0.3),  # on the wrong side
        (4, 1.4, 0.4),
    ]:
        off = f.copy()
        off[row] = value
        assert violation(a, off) == pytest.approx(expected)
    assert violation(np.array([0.0, -3.0, 2.0, -5.0, 2.0]), f) > 0.9
    assert violation(np.array([0.0, -3.0, 5.5, -5.0, 2.0]), f) > 0.9


@pytest.mark.parametrize("kernel", [{"gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly"}])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "path"])
def test_features_that_come_later(rng, kernel, storage, solver):
    X, y, truth = clouds(rng, d=5)
    X[:60, 3:] = 0.0
    parameters = {"gamma": 0.3, "solver": solver, **kernel}
    model = S3VM(**parameters).fit(storage(X[:60, :3]), y[:60])
    expected = S3VM(**parameters).fit(storage(X[:60]), y[:60])
    f = expected.decision_function(storage(X))
    assert model.widen(5) is model and model.n_features_in_ == 5
    np.testing.assert_allclose(model.decision_function(storage(X)), f, atol=1e-2)
    for one in (model, expected):
        one.partial_fit(storage(X[60:]), truth[60:]).forget([3])
    np.testing.assert_allclose(
        model.decision_function(storage(X)), expected.decision_function(storage(X)), atol=1e-8
    )
    with pytest.raises(ValueError, match="not possible for rows of 5"):
        model.widen(4)
