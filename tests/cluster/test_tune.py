"""Candidates that the workers of a cluster try: the same choice, to the last bit."""

import os
import signal
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble, tune
from fewlabels.model_selection.semi_supervised import graph
from fewlabels.model_selection.tuning.search import Search

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
X[:80] += 1.5
Y = np.where(np.arange(160) < 80, 1, 0)
KNOWN = np.where((Y == 1) & (RNG.random(160) < 0.4), 1, 0)
FEW = np.where(RNG.random(160) < 0.7, Y, -1)
FEWER = np.where(np.isin(np.arange(160), [3, 30, 70, 100, 120, 150]), Y, -1)
CASES = {
    "ball": (SVDD(), None, {}),
    "one class": (OneClassSVM(), None, {"contaminated": False}),
    "bags of balls": (SVDDEnsemble(n_bags=3), None, {}),
    "pusvm": (PUSVM(prior=0.3), KNOWN, {}),
    "pusvm, weights": (PUSVM(prior=0.3), KNOWN, {"sample_weight": RNG.uniform(0.5, 2.0, 160)}),
    "bags of pusvms": (PUEnsemble(prior=0.3, n_bags=3), KNOWN, {}),
    "s3vm": (S3VM(), FEW, {"graph": False}),
    "s3vm, rows": (S3VM(kernel="linear", cache_size=1e-3), FEW, {"graph": False}),
    "s3vm, graph": (S3VM(kernel="linear"), FEW, {}),
    "s3vm, few labels": (S3VM(), FEWER, {}),
}


def assert_same(there, here):
    """Also the table, but for what wall clocks say."""
    pd.testing.assert_frame_equal(
        there.tuning_.candidates, here.tuning_.candidates, check_exact=True
    )
    assert str(there.tuning_.chosen) == str(here.tuning_.chosen)
    assert there.tuning_.reason == here.tuning_.reason
    assert there.tuning_.fits == here.tuning_.fits
    assert np.array_equal(there.decision_function(X), here.decision_function(X))


@pytest.mark.parametrize("name", CASES)
def test_the_choice_is_that_of_one_machine(client, name, monkeypatch):
    machine, y, options = CASES[name]
    options = {"time_budget": 600, **options}
    monkeypatch.setattr(graph, "_GRAPHS", graph._GRAPHS[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here = tune(machine, X, y, **options)
        sent, each = [], Search._copy_for_worker
        monkeypatch.setattr(
            Search, "_copy_for_worker", lambda search: sent.append(0) or each(search)
        )
        with joblib.parallel_config("dask"):
            there = tune(machine, X, y, **options)
    assert_same(there, here)
    assert bool(sent) == (name != "s3vm, few labels")  # where how the rows lie decides


def test_time_and_warnings(client):
    with joblib.parallel_config("dask"):
        late = tune(PUSVM(prior=0.3), X, KNOWN, time_budget=1e-9)
        assert late.tuning_.stopped == "time budget" and late.tuning_.fits == 1
        with pytest.warns(UserWarning, match="too few to compare settings") as told:
            tune(S3VM(), X, FEWER, graph=False)
        assert len(told) == 1
        # What candidates warn of is told here, and not by workers.
        with pytest.warns(UserWarning, match="calibration rows") as told:
            tune(SVDDEnsemble(n_bags=2, target_fpr=1e-3), X)
        assert {one.filename for one in told} == {__file__} and len(told) == 10


def test_progress_and_callers_that_leave(client):
    search = Search(60, False, None)
    with joblib.parallel_config("dask"):
        assert search.run("", [0, 1, 2, 9, 4], square) == [(0, 0), (1, 1), (2, 4)]
        assert search.run("", [0, 1, 2], square) == [(0, 0), (1, 1), (2, 4)]
        with pytest.raises(ZeroDivisionError, match="of a candidate"):
            search.run("", [3, -1], square)
    assert 7 <= search.fits <= 8 and not search.stopped


def square(k, search):
    """k squared; no time is left for 9."""
    if k < 0:
        raise ZeroDivisionError("of a candidate")
    search.fits += 1
    return None if k == 9 else k * k


def test_a_process_is_killed(tmp_path):
    """SIGKILL in the middle of a candidate: the same choice, later."""
    mark, here = tmp_path / "killed", os.getpid()

    def kernel(A, B):
        if os.getpid() != here and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return A @ B.T

    machine = SVDDEnsemble(n_bags=3, kernel=kernel)
    alone = tune(machine, X, time_budget=600)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert_same(tune(machine, X, time_budget=600), alone)
    assert mark.exists()
