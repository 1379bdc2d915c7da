"""Rows on a Dask cluster and on one machine.

Rows are drawn on the workers, ten columns of float32. An SVDD ("ball") and a one-class SVM with
nu = 100 / rows are fitted by one machine with two threads, and by one and two processes of one
thread that hold the rows already: seconds, rounds, and trips, bytes and milliseconds of a round.
"""

from __future__ import annotations

import time

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait
from shared.common import pivot
from study import Case, Setting, Study

from fewlabels import SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskSVDD

D = 10
# Violations that leave a gap below 1e-4 of the objective, as in many_rows.
MACHINES = {
    "ball": (SVDD, DaskSVDD, lambda n: {"tol": 1e-2}),
    "one-class": (OneClassSVM, DaskOneClassSVM, lambda n: {"nu": 100.0 / n, "tol": 3e-5}),
}


def block(first, n):
    """Rows of a partition: a cloud with heavier tails in one direction."""
    rng = np.random.default_rng(first)
    rows = rng.normal(size=(n, D)).astype(np.float32)
    rows[:, 0] *= 1.0 + 0.5 * np.abs(rows[:, 1])
    return rows


def pieces(n, n_parts):
    edges = [n * k // n_parts for k in range(n_parts + 1)]
    return [(edges[k], edges[k + 1] - edges[k]) for k in range(n_parts)]


def collection(n, n_parts):
    return [delayed(block)(*piece) for piece in pieces(n, n_parts)]


def cluster(n_workers):
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50,
        memory_limit=0,
    )  # fmt: skip


def fitted(machine, X):
    started = time.perf_counter()
    machine.fit(X)
    return machine, time.perf_counter() - started


def facts(model, seconds):
    """What a fit took; trips, bytes and milliseconds are those of a median round."""
    found = {
        "seconds": seconds, "rounds": len(model.history_), "n_sv": len(model.support_),
        "gap": model.duality_gap_ / abs(model.objective_), "objective": model.objective_,
        "kernel_values": model.history_[-1]["kernel_values"],
    }  # fmt: skip
    if "bytes" in model.history_[-1]:
        for name in ("round_trips", "bytes", "milliseconds"):
            found[name] = float(np.median([entry[name] for entry in model.history_[1:]]))
    return found


def compare(name, n):
    """A record for one machine and for one and two processes."""
    kind, on_cluster, settings_of = MACHINES[name]
    settings = settings_of(n)
    X = np.concatenate([block(*piece) for piece in pieces(n, 8)])
    kind(**settings_of(5000)).fit(X[:5000])  # compiles
    local, seconds = fitted(kind(**settings, n_jobs=2), X)
    records = [{"where": "2 threads", **facts(local, seconds)}]
    del X
    for n_workers in (1, 2):
        with cluster(n_workers) as workers, Client(workers) as client:
            on_cluster(**settings_of(8000)).fit(collection(8000, 8))
            rows = client.compute(collection(n, 8))
            wait(rows)
            model, seconds = fitted(on_cluster(**settings), rows)
            del rows
        records.append({
            "where": f"{n_workers} x 1 thread", **facts(model, seconds),
            "apart": abs(model.objective_ / local.objective_ - 1.0),
            "common_sv": len(np.intersect1d(model.support_, local.support_)),
        })  # fmt: skip
    return records


def cases(options):
    for n in options.rows:
        for name in MACHINES:
            yield Case({"model": name, "rows": n}, compare, (name, n))


def report(results):
    for key in ("seconds", "rounds", "gap", "apart", "round_trips", "bytes", "milliseconds"):
        yield f"## {key.replace('_', ' ')}"
        yield pivot(results.records, ("model", "rows"), "where", key, ".3g")


STUDY = Study(
    __doc__, cases, report, settings={"rows": Setting([1_000_000, 10_000_000], "numbers of rows")},
    quick={"rows": [20_000]},
)  # fmt: skip
