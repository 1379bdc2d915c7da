"""Rows on a Dask cluster and on one machine; seconds that a worker's death costs.

Rows are drawn on the workers, ten columns of float32. An SVDD ("ball") and a one-class SVM with
nu = 100 / rows are fitted by one machine with two threads, and by one and two processes of one
thread that hold the rows already: seconds, rounds, and trips, bytes and milliseconds of a round.
Every kill is a SIGKILL of a worker at a random moment: seconds lost, partitions loaded again, and
whether the fit ends the same. The first round of that fit draws the rows, and a partition that was
lost draws its own again.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cache

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait
from shared.common import markdown_table, pivot
from study import Case, Setting, Study

from fewlabels import SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskSVDD

D = 10
# Violations that leave a gap below 1e-4 of the objective, as in many_rows.
# Violations that leave a gap below 1e-4 of the objective, as in disk.py.
MACHINES = {
    "ball": (SVDD, DaskSVDD, lambda n: {"tol": 1e-2}),
    "one-class": (OneClassSVM, DaskOneClassSVM, lambda n: {"nu": 100.0 / n, "tol": 3e-5}),
}
OF_KILLS = {"nu": 0.001, "tol": 1e-6}


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


def fit_with_kill(n, victim=None, after=None):
    """Fit on two workers, of which one may be killed after some seconds."""
    with cluster(2) as workers, Client(workers) as client:
        DaskOneClassSVM(**OF_KILLS).fit(collection(8000, 8))
        pids, timer = list(client.run(os.getpid).values()), None
        if victim is not None:
            timer = threading.Timer(after, os.kill, (pids[victim], signal.SIGKILL))
            timer.start()
        found = fitted(DaskOneClassSVM(**OF_KILLS), collection(n, 8))
        if timer is not None:
            timer.join()
    return found


@cache
def whole_fit(n):
    """The fit during which nobody is killed, and its seconds."""
    return fit_with_kill(n)


def kill(n, trial):
    """What one kill costs."""
    whole, spent = whole_fit(n)
    after = np.random.default_rng(trial).uniform(0.0, spent)
    model, seconds = fit_with_kill(n, trial % 2, after)
    apart = abs(model.objective_ / whole.objective_ - 1.0)
    return {
        "after": after, "lost": seconds - spent, "whole": spent, "apart": apart,
        "loaded_again": sum(entry["loaded_again"] for entry in model.history_),
        "same": bool(np.array_equal(model.support_, whole.support_)) and apart < 1e-9,
    }  # fmt: skip


def cases(options):
    for n in options.rows if "compare" in options.parts else ():
        for name in MACHINES:
            yield Case({"part": "compare", "model": name, "rows": n}, compare, (name, n))
    for trial in range(options.kills) if "kills" in options.parts else ():
        n = options.rows_of_kills
        yield Case({"part": "kills", "trial": trial, "rows": n}, kill, (n, trial))


def report(results):
    if found := results.where(part="compare"):
        for key in ("seconds", "rounds", "gap", "apart", "round_trips", "bytes", "milliseconds"):
            yield f"## {key.replace('_', ' ')}"
            yield pivot(found, ("model", "rows"), "where", key, ".3g")
    if found := results.where(part="kills"):
        keys = ["trial", "after", "lost", "whole", "loaded_again", "apart", "same"]
        yield "## Kills"
        yield markdown_table(keys, [[r[key] for key in keys] for r in found])
        lost = [r["lost"] for r in found]
        yield (f"{sum(r['same'] for r in found)} of {len(found)} ended the same; a kill cost "
               f"{np.median(lost):.1f} s, {max(lost):.1f} s at most.")  # fmt: skip


STUDY = Study(
    __doc__, cases, report, choices={"parts": ["compare", "kills"]},
    settings={
        "rows": Setting([1_000_000, 10_000_000], "numbers of rows"),
        "kills": Setting(10, "workers to kill"),
        "rows_of_kills": Setting(500_000, "rows of these fits"),
    },
    quick={"rows": [20_000], "kills": 1, "rows_of_kills": 20_000},
)  # fmt: skip
