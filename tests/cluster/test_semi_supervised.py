"""An S3VM on a cluster is that of one machine, and of rows in a file."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed

from fewlabels import S3VM
from fewlabels.dask import DaskS3VM
from fewlabels.dask.source import ClusterSource

N = 1100  # of up to 1024 rows the client holds all kernel values


def problem(n_classes=2):
    rng = np.random.default_rng(n_classes)
    centers = rng.normal(size=(n_classes, 4)) * 3.0 + 10.0
    side = rng.integers(0, n_classes, N)
    X = rng.normal(size=(N, 4)) + centers[side]
    return X, np.where(rng.random(N) < 0.05, side, -1), rng.uniform(0.5, 2.0, N)


def cut(values, size=300):
    return da.from_array(values, chunks=(size, 2) if values.ndim == 2 else size)


def assert_same(machine, local, X):
    assert np.allclose(machine.objective_, local.objective_, rtol=1e-9)
    assert np.array_equal(machine.transduction_, local.transduction_)
    assert np.array_equal(machine.predict(X), local.predict(X))
    assert np.allclose(machine.coef_, local.coef_, atol=1e-5)
    assert machine.fit_status_ == 0


@pytest.mark.parametrize(
    ("n_classes", "balance", "weighted"),
    [(2, True, False), (2, True, True), (2, False, True), (3, True, True)],
)
def test_the_minimum_is_that_of_one_machine(client, n_classes, balance, weighted):
    X, y, weight = problem(n_classes)
    settings = {"balance": balance, "tol": 1e-7}
    local = S3VM(kernel="linear", **settings).fit(X, y, weight if weighted else None)
    machine = DaskS3VM(**settings).fit(cut(X), cut(y), cut(weight) if weighted else None)
    assert_same(machine, local, X)
    if balance:  # the mean of the unlabelled rows is a support vector of its own
        assert machine.support_[-1] == -1
    else:
        assert np.array_equal(machine.support_, local.support_)
    decisions, predictions = machine.decision_function(cut(X)), machine.predict(cut(X))
    assert decisions.shape == local.decision_function(X).shape
    assert np.allclose(decisions.compute(), machine.to_local().decision_function(X))
    assert np.array_equal(predictions.compute(), local.predict(X))
    # What crosses is of the size of a working set, and eight bytes a row.
    assert all(entry["bytes"] > 0 and entry["milliseconds"] > 0 for entry in machine.history_)
    assert machine.history_[-1]["kernel_values"] > 0


def test_frames_with_names_as_labels(client):
    X, y, _ = problem(3)
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    labels = pd.Series(y).map({0: "red", 1: "green", 2: "blue"})
    local = S3VM(kernel="linear", tol=1e-6).fit(frame, labels)
    machine = DaskS3VM(tol=1e-6).fit(
        dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=3)
    )
    assert_same(machine, local, frame)
    lazy = machine.decision_function(dd.from_pandas(frame, npartitions=2))
    assert list(lazy.columns) == ["blue", "green", "red"]
    assert lazy.compute().shape == (N, 3)


def test_csr_partitions(client):
    X, y, _ = problem()
    S = sp.csr_array(np.where(np.abs(X - 10.0) > 2.0, X, 0.0))
    rows, labels = ([delayed(v[:500]), delayed(v[500:])] for v in (S, y))
    local = S3VM(kernel="linear", tol=1e-7).fit(S, y)
    machine = DaskS3VM(tol=1e-7).fit(rows, labels)
    assert_same(machine, local, S)


def test_parts_lost_at_any_message(client, monkeypatch):
    X, y, weight = problem()
    whole = DaskS3VM(tol=1e-7).fit(cut(X), cut(y), cut(weight))
    rng, lost, call = np.random.default_rng(0), [], ClusterSource._call

    def fault(place, k, level, message):
        if place.slots[k].actor is None or rng.random() > 0.02:
            return call(place, k, level, message)
        lost.append(k)
        place.slots[k].future = place.slots[k].actor = None
        return None

    monkeypatch.setattr(ClusterSource, "_call", fault)
    monkeypatch.setattr("fewlabels.dask.source._PAUSE_SECONDS", 0.0)
    machine = DaskS3VM(tol=1e-7).fit(cut(X), cut(y), cut(weight))
    assert len(lost) > 1
    assert machine.objective_ == whole.objective_
    assert np.array_equal(machine.support_, whole.support_)


def test_what_is_wrong_is_said(client):
    X, y, weight = problem()
    with pytest.raises(ValueError, match="requires y to be passed"):
        DaskS3VM().fit(cut(X), None)
    with pytest.raises(ValueError, match="y has no labels"):
        DaskS3VM().fit(cut(X), cut(np.full(N, -1.0) * np.nan))
    with pytest.raises(ValueError, match="takes kernel='linear'"):
        DaskS3VM(kernel="rbf").fit(cut(X), cut(y))
    with pytest.raises(ValueError, match="needs sample_weight > 0"):
        DaskS3VM().fit(cut(X), cut(y), cut(np.where(y == 0, 0.0, weight)))
