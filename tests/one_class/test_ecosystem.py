"""Clones, pickles, pipelines, grids, threads and processes."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import SVDD, OneClassSVM

MACHINES = [OneClassSVM(nu=0.2), SVDD(C=0.5), SVDD(slack="linear", nu=0.2)]
IDS = ["one-class", "squared", "linear"]


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_pickle_copy_and_joblib(machine, kernel, blob, tmp_path):
    fitted = clone(machine).set_params(kernel=kernel).fit(blob)
    expected = fitted.decision_function(blob)
    joblib.dump(fitted, tmp_path / "machine.joblib")
    for twin in (
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        joblib.load(tmp_path / "machine.joblib"),
        joblib.load(tmp_path / "machine.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(twin.decision_function(blob), expected)
        np.testing.assert_array_equal(twin.support_, fitted.support_)


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_a_pickle_holds_no_training_rows_when_these_are_released(machine, rng):
    # Only support vectors: the model of a large set need not be as large as the set.
    X = rng.normal(size=(3000, 20))
    fitted = clone(machine).set_params(tol=0.01).fit(X)
    vectors = fitted.support_vectors_.nbytes
    assert len(pickle.dumps(fitted)) < X.nbytes + 1.3 * vectors + 100_000
    assert len(pickle.dumps(fitted.release_rows())) < 1.3 * vectors + 100_000


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_clone_and_refit(machine, blob):
    first = clone(machine).fit(blob)
    fresh = clone(first)
    assert not hasattr(fresh, "support_") and fresh.get_params() == machine.get_params()
    expected = fresh.fit(blob + 1.0).decision_function(blob)
    # A second fit forgets the first, whatever the input was.
    again = first.fit(blob[:10]).fit(blob[:, :2]).fit(blob + 1.0)
    np.testing.assert_array_equal(again.decision_function(blob), expected)


def test_pipeline(real_data):
    X = real_data("cancer") * 5 + 3
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1)).fit(X)
    assert np.mean(pipeline.predict(X) == 1) > 0.85
    np.testing.assert_array_equal(pipeline.fit_predict(X), pipeline.predict(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs, real_data):
    from sklearn.datasets import load_breast_cancer

    X, y = real_data("cancer"), load_breast_cancer().target

    def auc(machine, X, y):
        return roc_auc_score(y, machine.decision_function(X))

    grid = GridSearchCV(
        SVDD(slack="linear", nu=0.1),
        {"gamma": [0.01, 0.1], "nu": [0.05, 0.3]},
        scoring=auc,
        cv=3,
        n_jobs=n_jobs,
        error_score="raise",
    )
    grid.fit(X, y)
    assert grid.best_score_ > 0.6
    assert grid.best_estimator_.predict(X).shape == (len(X),)


def test_cross_validation_of_one_class(real_data):
    X = real_data("digits")
    share = cross_val_score(
        OneClassSVM(nu=0.1, gamma=0.001), X, cv=3, scoring=lambda m, X, y=None: m.predict(X).mean()
    )
    assert share.shape == (3,)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_backends(backend, blob):
    expected = [OneClassSVM(nu=nu).fit(blob).decision_function(blob) for nu in (0.1, 0.3, 0.6)]
    results = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(_decide)(nu, blob) for nu in (0.1, 0.3, 0.6)
    )
    np.testing.assert_array_equal(results, expected)


def _decide(nu, X):
    return OneClassSVM(nu=nu).fit(X).decision_function(X)


def test_predicting_from_several_threads(rng):
    X = rng.normal(size=(4000, 6))
    machine = OneClassSVM(nu=0.3, n_jobs=2).fit(X)
    expected = machine.decision_function(X)
    results = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(machine.decision_function)(X) for _ in range(8)
    )
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("sparse", [False, True])
def test_number_of_threads_does_not_change_the_result(machine, kernel, sparse, rng):
    import scipy.sparse as sp

    X = rng.normal(size=(4000, 5))  # enough for threads and for the coarse start
    X = sp.csr_array(np.where(X > 0.5, X, 0.0)) if sparse else X
    parameters = dict(kernel=kernel, tol=0.01)
    one = clone(machine).set_params(n_jobs=1, **parameters).fit(X)
    two = clone(machine).set_params(n_jobs=2, **parameters).fit(X)
    np.testing.assert_array_equal(one.support_, two.support_)
    assert one.n_iter_ == two.n_iter_
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(X), rtol=1e-12, atol=1e-12
    )
    again = clone(two).fit(X)
    np.testing.assert_array_equal(again.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_seed_of_the_sample(machine, rng):
    X = rng.normal(size=(4000, 3))
    results = []
    for seed in (None, 0, 1, np.random.RandomState(5)):
        results.append(clone(machine).set_params(random_state=seed).fit(X).decision_function(X))
    np.testing.assert_array_equal(results[0], results[1])
    size = np.abs(machine.fit(X).score_samples(X)).max()
    for result in results[2:]:
        np.testing.assert_allclose(result / size, results[0] / size, atol=5e-3)


@pytest.mark.parametrize("cache_size", [1e-3, 1.0, 500.0])
def test_cache_size_does_not_change_the_result(cache_size, rng):
    X = rng.normal(size=(3500, 60))
    machine = OneClassSVM(nu=0.1, tol=1e-6)
    expected = machine.fit(X).decision_function(X)
    small = OneClassSVM(nu=0.1, tol=1e-6, cache_size=cache_size).fit(X)
    size = np.abs(machine.score_samples(X)).max()
    np.testing.assert_allclose(small.decision_function(X) / size, expected / size, atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES, ids=IDS)
def test_fit_predict_is_fit_then_predict(machine, blob):
    weight = np.linspace(0.5, 2.0, len(blob))
    together = clone(machine).fit_predict(blob, sample_weight=weight)
    apart = clone(machine).fit(blob, sample_weight=weight).predict(blob)
    np.testing.assert_array_equal(together, apart)
    assert set(together) == {-1, 1}


def test_text_in_a_data_frame_is_refused_with_advice():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "site": ["Ulm", "Graz", "Ulm"]})
    with pytest.raises(ValueError, match=r"X holds text \(.*'Ulm'\); encode it.*TableEncoder"):
        SVDD().fit(frame)
