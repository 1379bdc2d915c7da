"""S3VM, PUEnsemble and tune with copies, grids, processes, pandas and polars."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, PUEnsemble, tune

MACHINES = {"s3vm": S3VM(), "pu-ensemble": PUEnsemble(prior=0.4, n_bags=2)}
NAMES = ["width", "height", "weight"]


@pytest.fixture
def data(rng):
    """Rows of two clouds; labels by the machine that takes them."""
    truth = np.arange(90) % 2
    X = rng.normal(size=(90, 3)) + 2.0 * truth[:, None]
    few = np.where(np.arange(90) % 6 == 0, truth, -1)
    few[:6] = truth[:6]
    return X, {"s3vm": few, "pu-ensemble": np.where((truth == 1) & (np.arange(90) < 40), 1, 0)}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pickle_copy_and_joblib(name, kernel, data, tmp_path):
    X, labels = data
    fitted = clone(MACHINES[name]).set_params(kernel=kernel).fit(X, labels[name])
    expected = fitted.decision_function(X)
    joblib.dump(fitted, tmp_path / "machine.joblib")
    for twin in (
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        joblib.load(tmp_path / "machine.joblib"),
        joblib.load(tmp_path / "machine.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(twin.decision_function(X), expected)
        np.testing.assert_array_equal(twin.transduction_, fitted.transduction_)


def test_a_copy_goes_on_by_itself(data):
    X, labels = data
    fitted = S3VM(gamma=0.3).fit(X[:80], labels["s3vm"][:80])
    before = fitted.decision_function(X)
    twin = pickle.loads(pickle.dumps(fitted)).partial_fit(X[80:], labels["s3vm"][80:])
    np.testing.assert_array_equal(fitted.decision_function(X), before)
    fitted.partial_fit(X[80:], labels["s3vm"][80:])
    np.testing.assert_allclose(
        twin.decision_function(X), fitted.decision_function(X), rtol=0, atol=1e-9
    )


def right(machine, X, y):
    """Accuracy over the rows with a label."""
    known = y != -1
    return np.mean(machine.predict(X[known]) == y[known])


@pytest.mark.parametrize("name", MACHINES)
def test_grid_search_in_processes(name, data):
    X, labels = data
    grids = {"s3vm": {"C": [1.0, 10.0]}, "pu-ensemble": {"kernel": ["linear", "rbf"]}}
    found = []
    for n_jobs in (1, 2):
        search = GridSearchCV(
            MACHINES[name], grids[name], scoring=right, cv=3, n_jobs=n_jobs, error_score="raise"
        )
        found.append(search.fit(X, labels[name]).cv_results_["mean_test_score"])
        assert search.best_score_ > 0.5
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_backends(backend, data):
    X, labels = data
    jobs = [(machine, labels[name]) for name, machine in MACHINES.items()]
    expected = [clone(machine).fit(X, y).decision_function(X) for machine, y in jobs]
    found = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(_decide)(machine, X, y) for machine, y in jobs
    )
    np.testing.assert_array_equal(found, expected)


def _decide(machine, X, y):
    return clone(machine).fit(X, y).decision_function(X)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_and_feature_names(name, make, data):
    X, labels = data
    y = labels[name]
    frame = make(dict(zip(NAMES, X.T, strict=True)))
    machine = clone(MACHINES[name]).fit(frame, y)
    np.testing.assert_array_equal(machine.feature_names_in_, NAMES)
    plain = clone(MACHINES[name]).fit(X, y)
    np.testing.assert_array_equal(machine.decision_function(frame), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(frame[NAMES[::-1]])


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_pipelines_that_hand_frames_on(name, output, data):
    X, labels = data
    frame = pd.DataFrame(1000 * X + 5, columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), clone(MACHINES[name]))
    pipeline.set_output(transform=output).fit(frame, labels[name])
    np.testing.assert_array_equal(pipeline[-1].feature_names_in_, NAMES)
    plain = make_pipeline(StandardScaler(), clone(MACHINES[name])).fit(frame, labels[name])
    np.testing.assert_allclose(
        pipeline.decision_function(frame), plain.decision_function(frame), rtol=0, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tune_takes_frames_and_runs_in_processes(data):
    X, labels = data
    jobs = [(SVDD(), None), (PUSVM(prior=0.4), labels["pu-ensemble"])]
    for make in (pd.DataFrame, pl.DataFrame):
        frame = make(dict(zip(NAMES, X.T, strict=True)))
        for machine, y in jobs:
            model = tune(machine, frame, y, time_budget=1)
            np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    here = [_tuned(machine, X, y) for machine, y in jobs]
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(_tuned)(machine, X, y) for machine, y in jobs)
    np.testing.assert_array_equal(here[0], there[0])
    assert np.isfinite(there[1]).all()


def _tuned(machine, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What is compared has time enough in either process.
        budget = 100 if y is None else 1
        return tune(machine, X, y, time_budget=budget).decision_function(X)
