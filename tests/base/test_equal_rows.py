"""Rows that occur many times: without one of them the machine is that of the other copies."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from fewlabels import PUSVM, SVDD, OneClassSVM
from fewlabels.solvers.path import PathFollower

MACHINES = {
    "linear slack": SVDD(nu=0.3, slack="linear", tol=1e-10),
    "squared slack": SVDD(C=0.05, tol=1e-10),
    "one class": OneClassSVM(nu=0.3, tol=1e-10),
    "linear kernel": OneClassSVM(nu=0.3, kernel="linear", tol=1e-10),
    "positive-unlabelled": PUSVM(0.3, tol=1e-10, threshold="risk"),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_leaving_out_one_of_many_copies(name, weighted, rng):
    X = rng.normal(size=(12, 2))[rng.integers(0, 12, 90)] + 1.0
    weight = rng.integers(1, 3, 90).astype(float) if weighted else np.ones(90)
    values = {"sample_weight": weight}
    if name == "positive-unlabelled":
        values["y"] = (np.arange(90) < 20).astype(int)

    def some(rows):
        return {"X": X[rows], **{key: value[rows] for key, value in values.items()}}

    model = MACHINES[name].fit(**some(slice(60))).partial_fit(**some(slice(60, 90)))
    found = model.leave_one_out_decisions()
    settings = {**model.get_params(), "gamma": model.gamma_ or "scale"}
    for i in range(0, 90, 11):
        others = np.arange(90) != i
        apart = type(model)(**settings).fit(**some(others))
        np.testing.assert_allclose(found[i], apart.decision_function(X[[i]])[0], atol=1e-9)


@pytest.mark.parametrize("name", ["linear slack", "squared slack", "one class"])
def test_what_is_held_are_columns_of_distinct_rows(name, rng, monkeypatch):
    X = rng.normal(size=(15, 2))[rng.integers(0, 15, 3000)]
    model = MACHINES[name].fit(X[:100]).partial_fit(X[100:])
    sizes = []

    one_less = PathFollower.one_less

    def noted(self, *args):
        sizes.append(one_less(self, *args))
        return sizes[-1]

    monkeypatch.setattr(PathFollower, "one_less", noted)
    found = model.leave_one_out_decisions()
    assert sizes or name != "squared slack"
    assert all(one.n <= 30 and one.Q.shape[0] <= 30 for one in sizes)
    apart = model.decision_function(X)
    assert len(np.unique(found.round(9))) <= 15
    assert np.abs(found - apart).max() < 0.1 * np.abs(apart).max()


def _rows(rng, n):
    X = rng.normal(size=(9, 2))[rng.integers(0, 9, n)] + 1.0
    X[rng.random(n) < 0.2] += rng.normal(size=2)
    return X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_copies_that_come_and_go_are_as_a_fit_to_what_is_there(name, paused, rng):
    is_pu = name == "positive-unlabelled"
    X, y = _rows(rng, 60), (np.arange(60) < 15).astype(int)
    weight = rng.choice([0.1, 0.3, 1.0, 2.5], 60)
    more = {"y": y} if is_pu else {}
    model = clone(MACHINES[name]).set_params(gamma=0.4).fit(X, sample_weight=weight, **more)
    for turn in range(12):
        if paused:
            model.set_params(max_steps=int(rng.integers(1, 4)))
        if turn % 3 < 2:
            n = int(rng.integers(1, 12))
            new, new_y = X[rng.integers(0, len(X), n)].copy(), (rng.random(n) < 0.3).astype(int)
            new[: n // 4] += 0.1 * turn
            new_weight = rng.choice([0.1, 0.3, 1.0], n)
            more = {"y": new_y} if is_pu else {}
            model.partial_fit(new, sample_weight=new_weight, **more)
            X, y = np.vstack([X, new]), np.append(y, new_y)
            weight = np.append(weight, new_weight)
        else:
            gone = rng.choice(np.arange(4, len(X)), 14, replace=False)
            model.forget(gone)
            X, y, weight = (np.delete(values, gone, axis=0) for values in (X, y, weight))
        if turn == 5:
            model = pickle.loads(pickle.dumps(model))
        if paused and turn % 2:
            assert np.isfinite(model.decision_function(X)).all()  # wherever the path stands
            continue
        if paused:
            model.resume(None)
        more = {"y": y} if is_pu else {}
        apart = clone(model).set_params(max_steps=None).fit(X, sample_weight=weight, **more)
        np.testing.assert_allclose(
            model.decision_function(X), apart.decision_function(X), atol=1e-8
        )
        assert model.objective_ == pytest.approx(apart.objective_, rel=1e-9)
        assert abs(model.duality_gap_) < 1e-8 and model.shape_fit_ == X.shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["squared slack", "one class", "positive-unlabelled"])
def test_a_path_has_a_row_for_every_distinct_one(name, rng):
    grid = np.array([[i, j, k] for i in range(5) for j in range(5) for k in range(5)], float)
    X = grid[rng.integers(0, 125, 30_000)]
    is_pu = name == "positive-unlabelled"
    y = (X.sum(axis=1) > 8) & (np.arange(len(X)) % 3 == 0)

    def given(rows):
        return {"X": X[rows], **({"y": y[rows].astype(int)} if is_pu else {})}

    model = clone(MACHINES[name]).fit(**given(slice(29_000)))
    before = len(model.history_)
    model.partial_fit(**given(slice(29_000, None))).forget(np.arange(500))
    operations = model.history_[before:]
    assert operations[-1]["margin"] <= 125 and sum(one["steps"] for one in operations) < 3000
    found = model.leave_one_out_decisions(np.arange(0, 29_500, 100))
    assert np.isfinite(found).all()
    apart = clone(model).set_params(gamma=model.gamma_).fit(**given(slice(500, None)))
    np.testing.assert_allclose(
        model.decision_function(grid), apart.decision_function(grid), atol=1e-7
    )
