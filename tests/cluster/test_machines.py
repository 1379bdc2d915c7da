"""Machines on a cluster are those of one machine, from whatever Dask calls rows."""

import pickle
import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed
from distributed import Client
from sklearn.base import clone

from fewlabels import PUSVM, SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskPUSVM, DaskS3VM, DaskSVDD

N = 4000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
X[:800] += 1.5
Y = np.where(np.arange(N) < 400, "yes", "no")
ORDER = RNG.permutation(N)
X, Y = X[ORDER], Y[ORDER]
WEIGHT = RNG.integers(0, 3, N) * 0.5
MACHINES = {
    "squared slack": (SVDD, DaskSVDD, {"C": 0.05}),
    "linear slack": (SVDD, DaskSVDD, {"slack": "linear", "nu": 0.05}),
    "one class": (OneClassSVM, DaskOneClassSVM, {"nu": 0.05}),
    "linear kernel": (SVDD, DaskSVDD, {"kernel": "linear", "slack": "linear", "nu": 0.05}),
    "kinks": (PUSVM, DaskPUSVM, {"prior": 0.12, "lam": 1e-3, "pos_label": "yes"}),
}


def cut(values, size=1100):
    """A Dask array in uneven blocks, of which columns are apart."""
    return da.from_array(values, chunks=(size, 2) if values.ndim == 2 else size)


def assert_same(machine, local, rtol=1e-9):
    assert machine.objective_ == pytest.approx(local.objective_, rel=rtol)
    assert np.array_equal(machine.support_, local.support_)
    assert machine.fit_status_ == 0


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_the_optimum_is_that_of_one_machine(client, name, weight):
    kind, on_cluster, settings = MACHINES[name]
    settings = {**settings, "tol": 1e-8}
    y = (Y,) if kind is PUSVM else ()
    local = kind(**settings).fit(X, *y, sample_weight=weight)
    machine = on_cluster(**settings).fit(
        cut(X), *map(cut, y), sample_weight=None if weight is None else cut(weight, 1500)
    )
    assert_same(machine, local)
    lazy = machine.decision_function(cut(X))
    assert isinstance(lazy, da.Array)
    size = np.abs(local.decision_function(X)).max()
    assert np.allclose(lazy.compute(), local.decision_function(X), rtol=0, atol=1e-5 * size)
    assert machine.predict(cut(X)).dtype == local.predict(X).dtype
    assert np.mean(machine.predict(cut(X)).compute() == local.predict(X)) > 0.999
    for entry in machine.history_:
        assert entry["bytes"] > 0 and entry["milliseconds"] > 0 and entry["round_trips"] >= 2


def test_a_round_is_two_trips(client):
    machine = DaskOneClassSVM(nu=0.2).fit(cut(X))
    rounds = [entry for entry in machine.history_[1:] if entry["steps"]]
    assert rounds and {entry["round_trips"] for entry in rounds} == {2}
    # The client has seen working sets, and not the rows.
    most = max(entry["bytes"] for entry in rounds)
    assert most < 4 * 1024 * 8 * (3 + 12)


def test_csr_partitions(client):
    S = sp.random(3500, 20, 0.2, format="csr", random_state=0)
    parts = [delayed(S[k : k + 1000]) for k in range(0, 3500, 1000)]
    machine, local = DaskSVDD(tol=1e-7).fit(parts), SVDD(tol=1e-7).fit(S)
    assert_same(machine, local)
    assert sp.issparse(machine.support_vectors_)
    found = [part.compute() for part in machine.predict(parts)]
    assert np.array_equal(np.concatenate(found), local.predict(S))


def test_data_frames_of_float32(client):
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b", "c"])
    rows = dd.from_pandas(frame, npartitions=3)
    machine = DaskOneClassSVM(nu=0.1, tol=1e-7).fit(rows)
    assert_same(machine, OneClassSVM(nu=0.1, tol=1e-7).fit(frame))
    assert machine.support_vectors_.dtype == np.float32
    assert list(machine.feature_names_in_) == ["a", "b", "c"]
    lazy = machine.score_samples(rows)
    assert isinstance(lazy, dd.Series) and lazy.dtype == float
    assert np.allclose(lazy.compute(), machine.to_local().score_samples(frame))
    empty = rows[rows["a"] > 1e9]
    assert len(machine.predict(empty).compute()) == 0
    assert_same(DaskOneClassSVM(nu=0.1, tol=1e-7).fit(dd.concat([empty, rows])), machine)


def test_p_values_of_rows_held_out(client):
    settings = {"target_fpr": 0.05, "calibration": "split"}
    machine = DaskSVDD(**settings).fit(cut(X))
    local = SVDD(**settings).fit(X)
    assert machine.offset_ == pytest.approx(local.offset_, abs=1e-4)
    lazy = machine.p_values(cut(X))
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), machine.to_local().p_values(X))
    with pytest.raises(ValueError, match="fitted without target_fpr"):
        DaskSVDD().fit(cut(X)).p_values(cut(X))


def test_to_local_and_copies(client):
    machine = DaskSVDD(C=0.5, client=client).fit(cut(X))
    local = machine.to_local()
    assert type(local) is SVDD and local.C == 0.5 and not hasattr(local, "client")
    assert np.array_equal(local.predict(X), machine.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(local)).predict(X), local.predict(X))
    copied = pickle.loads(pickle.dumps(machine))
    assert copied.client is None and np.array_equal(copied.predict(X), local.predict(X))
    assert clone(machine).client is client
    assert type(DaskSVDD(C=3.0).to_local()) is SVDD


def broken():
    raise FileNotFoundError("part-1.csv is gone")


WRONG = {
    "rows in memory": (X, TypeError, "X is a ndarray; pass a Dask array"),
    "a file that is gone": (
        [delayed(X), delayed(broken)()], RuntimeError,
        r"partition 1 \(counted from 0\) of X can't be read \(FileNotFoundError: part-1.csv",
    ),
    "a missing number": (
        [delayed(X), delayed(np.full((9, 3), np.nan))], ValueError,
        r"partition 1 \(counted from 0\) of X: Input X contains NaN; drop rows with [^\n]*\.$",
    ),
    "other columns": ([delayed(X), delayed(X[:, :2])], ValueError, "partition 1 of X has other"),
    "no rows": ([delayed(X[:0])], ValueError, "X has no rows"),
    "no table": ([delayed(3.0)], TypeError, "holds a float, not rows and columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(client, name):
    rows, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        DaskSVDD().fit(rows)


def test_lazy_values_of_partitions_without_rows(client):
    machine = DaskSVDD(target_fpr=0.05, calibration="split").fit([delayed(X[:0]), delayed(X)])
    few = da.from_array(X, chunks=(100, 3))
    few = few[few[:, 0] > np.sort(X[:, 0])[-3]]
    frames = [delayed(pd.DataFrame(rows)) for rows in (X[:0], X[:3])]
    for method in ("predict", "decision_function", "score_samples", "p_values"):
        local = getattr(machine.to_local(), method)
        lazy = getattr(machine, method)
        assert np.allclose(lazy(few).compute(), local(few.compute()))
        nothing, some = (part.compute() for part in lazy(frames))
        assert nothing.shape == (0,) and nothing.dtype == some.dtype and len(some) == 3
        with pytest.raises(ValueError, match=r"contains NaN; drop rows with [^\n]*\.$"):
            lazy(cut(X * np.nan)).compute()


def test_lazy_values_of_several_classes_without_rows(client):
    y = np.where(np.arange(N) < 60, np.arange(N) % 3, -1)
    machine = DaskS3VM().fit(cut(X), cut(y))
    few = da.from_array(X, chunks=(100, 3))
    few = few[few[:, 0] > np.sort(X[:, 0])[-3]]
    assert machine.decision_function(few).compute().shape == (2, 3)
    assert machine.predict(few).compute().shape == (2,)


def test_what_is_no_client(client):
    for given in ("tcp://192.0.2.1:8786", 3):
        with pytest.raises(TypeError, match=r"is not a Client of distributed; pass client=Client"):
            DaskSVDD(client=given).fit(cut(X))
    closed = Client(processes=False, n_workers=1, dashboard_address=None, set_as_default=False)
    closed.close()
    with pytest.raises(RuntimeError, match=r"client was closed, .* start another Client"):
        DaskSVDD(client=closed).fit(cut(X))


def test_a_client_that_is_closed_during_a_fit():
    own = Client(processes=False, n_workers=1, dashboard_address=None, set_as_default=False)
    message = r"client was closed, and DaskSVDD.fit needs it .* start another Client"
    with pytest.raises(RuntimeError, match=message):
        DaskSVDD(client=own).fit(cut(X), callback=lambda entry: own.close())


def test_without_a_client():
    code = """
import dask.array as da
from fewlabels.dask import DaskSVDD
try:
    DaskSVDD().fit(da.ones((9, 2)))
except ValueError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "there is no client; start one with distributed.Client()" in run.stdout
    assert run.stdout.count("\n") == 1


def test_labels_and_weights_that_do_not_fit(client):
    with pytest.raises(ValueError, match="y has 399 values for 4,000 rows"):
        DaskPUSVM().fit(cut(X), cut(Y[:399]))
    with pytest.raises(ValueError, match="y has 1 partitions and X has 2"):
        DaskPUSVM().fit([delayed(X), delayed(X)], [delayed(Y)])
    with pytest.raises(RuntimeError, match=r"partition 1 .* of y can't be read \(FileNotFound"):
        DaskPUSVM().fit([delayed(X), delayed(X)], [delayed(Y), delayed(broken)()])
    with pytest.raises(ValueError, match="requires y to be passed"):
        DaskPUSVM().fit(cut(X), None)
    with pytest.raises(ValueError, match="no positive row"):
        DaskPUSVM(pos_label="maybe").fit(cut(X), cut(Y))
    with pytest.raises(ValueError, match=r"partition 0 .* sample_weight has shape \(3,\)"):
        DaskSVDD().fit([delayed(X)], sample_weight=[delayed(np.ones(3))])
    with pytest.raises(ValueError, match="zero or negative weights"):
        DaskSVDD().fit(cut(X), sample_weight=cut(np.zeros(N)))
    with pytest.raises(ValueError, match="kernel='rbf', 'poly' or 'linear'"):
        DaskSVDD(kernel="sigmoid").fit(cut(X))


def test_confirmed_anomalies_need_rows_in_memory(client):
    mask = np.arange(N) < 3
    for machine in (DaskSVDD(), DaskOneClassSVM()):
        for fit in (machine.fit, machine.partial_fit):
            with pytest.raises(ValueError, match="don't take confirmed anomalies"):
                fit(cut(X), anomalies=mask)
