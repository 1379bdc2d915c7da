"""A worker that dies costs time and nothing else."""

import os
import signal
from collections import Counter

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from fewlabels import SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskSVDD
from fewlabels.dask.source import ClusterSource

X = np.random.default_rng(0).normal(size=(6000, 3))
ROWS = da.from_array(X, chunks=(1500, 3))


@pytest.fixture
def faults(monkeypatch):
    """Parts are lost by chance, before or after they have acted upon a message; how many were.

    With each another is lost that has answered already, such as one of the same worker.
    """
    lost, rate, with_it = [], [0.0], []
    rng = np.random.default_rng(0)
    call, reply = ClusterSource._call, ClusterSource._reply

    def fault(place, k, level, message):
        slot, chance = place.slots[k], rng.uniform() / (5.0 if level else 1.0)
        if slot.actor is None or chance > rate[0]:
            return call(place, k, level, message)
        if chance < 0.5 * rate[0]:
            call(place, k, level, message).result()
        lost.append(level)
        with_it.append(k)
        slot.future = slot.actor = None
        return None

    def lost_too(place, k, level, message, sent):
        answer = reply(place, k, level, message, sent)
        if answer is not None and with_it and rate[0] < 1.0:
            with_it.clear()
            place.slots[k].future = place.slots[k].actor = None
        return answer

    monkeypatch.setattr(ClusterSource, "_call", fault)
    monkeypatch.setattr(ClusterSource, "_reply", lost_too)
    monkeypatch.setattr("fewlabels.dask.source._PAUSE_SECONDS", 0.0)
    return lost, rate


@pytest.mark.parametrize(
    ("kind", "on_cluster", "settings"),
    [
        (SVDD, DaskSVDD, {"C": 0.1}),
        (SVDD, DaskSVDD, {"slack": "linear", "nu": 0.05}),
        (OneClassSVM, DaskOneClassSVM, {"nu": 0.05}),
    ],
)
def test_parts_lost_at_any_message(client, faults, kind, on_cluster, settings):
    lost, rate = faults
    settings = {**settings, "tol": 1e-8}
    local = kind(**settings).fit(X)
    rate[0] = 0.01
    for _ in range(2):
        machine = on_cluster(**settings).fit(ROWS)
        assert machine.objective_ == pytest.approx(local.objective_, rel=1e-9)
        assert np.array_equal(machine.support_, local.support_)
    # While a sample was solved, or all rows, or before.
    assert {None, 0, 1} <= set(lost)


def test_workers_that_die_for_ever(client, faults):
    faults[1][0] = 1.0
    with pytest.raises(RuntimeError, match="died 20 times in a row"):
        DaskSVDD().fit(ROWS)


def test_a_process_is_killed():
    """SIGKILL in the middle of a fit; the other process goes on with all rows."""
    killed = []

    def kill(entry):
        if not killed and entry["round"] >= 2:
            killed.append(entry["round"])
            os.kill(pids[0], signal.SIGKILL)

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        machine = DaskSVDD(slack="linear", nu=0.05, tol=1e-8).fit(ROWS, callback=kill)
    assert killed and sum(entry["loaded_again"] for entry in machine.history_) == 2
    local = SVDD(slack="linear", nu=0.05, tol=1e-8).fit(X)
    assert machine.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert np.array_equal(machine.support_, local.support_)


def test_a_worker_that_joins_is_used(monkeypatch):
    """By partitions that are loaded again, and by the next fit."""
    places, assign_offsets = [], ClusterSource._assign_offsets

    def noting(place, facts):
        places.append(place)
        assign_offsets(place, facts)

    monkeypatch.setattr(ClusterSource, "_assign_offsets", noting)

    def join(entry):
        if len(client.nthreads()) == 1:
            cluster.scale(2)
            client.wait_for_workers(2)
            for slot in places[0].slots[:2]:  # lost
                slot.future = slot.actor = None

    with (
        LocalCluster(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        machines = [DaskSVDD(tol=1e-8).fit(ROWS, callback=join) for _ in range(2)]
    for place in places:
        assert sorted(Counter(slot.address for slot in place.slots).values()) == [2, 2]
    assert [sum(entry["loaded_again"] for entry in m.history_) for m in machines] == [2, 0]
    assert machines[0].objective_ == pytest.approx(machines[1].objective_, rel=1e-9)
