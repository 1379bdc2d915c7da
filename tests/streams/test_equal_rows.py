"""Rows that occur many times: without one of them the machine is that of the other copies."""

import numpy as np
import pytest

from fewlabels import PUSVM, SVDD, OneClassSVM
from fewlabels.training import leave_one_out

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

    def watched(tell, path, *arguments):
        one_less = path.one_less

        def noted(*args):
            sizes.append(one_less(*args))
            return sizes[-1]

        path.one_less = noted
        return solve(tell, path, *arguments)

    solve = leave_one_out._solved_values
    monkeypatch.setattr(leave_one_out, "_solved_values", watched)
    found = model.leave_one_out_decisions()
    assert all(one.n <= 30 and one.Q.shape[0] <= 30 for one in sizes)
    apart = model.decision_function(X)
    assert len(np.unique(found.round(9))) <= 15
    assert np.abs(found - apart).max() < 0.1 * np.abs(apart).max()
