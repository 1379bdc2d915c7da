"""Rows on a Dask cluster against one machine; seconds that a worker's death costs.

    python benchmarks/cluster.py --rows 1000000 10000000 --kills 10

Rows are drawn on the workers, ten columns of float32. Every fit says its seconds and rounds, and
trips and bytes of a round; every kill, a SIGKILL at a random moment, whether it ends the same.
"""

import argparse
import os
import signal
import threading
import time

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

from fewlabels import OneClassSVM
from fewlabels.dask import DaskOneClassSVM

D = 10
SETTINGS = {"nu": 0.001, "tol": 1e-6}


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


def told(name, n, machine, seconds):
    rounds = machine.history_[1:]
    last = machine.history_[-1]
    line = f"{name:<22} {n:>10} rows {seconds:8.1f} s {len(machine.history_):4d} rounds"
    line += f" {len(machine.support_):6d} support vectors, gap {machine.duality_gap_:.1e}"
    line += f", {last['kernel_values']:.3g} kernel values"
    if "bytes" in last:
        trips = np.median([entry["round_trips"] for entry in rounds])
        kilobytes = np.median([entry["bytes"] for entry in rounds]) / 1e3
        waited = np.median([entry["milliseconds"] for entry in rounds])
        line += f"; a round: {trips:.0f} trips, {kilobytes:.0f} kB, {waited:.0f} ms"
    print(line, flush=True)


def compare(n):
    X = np.concatenate([block(*piece) for piece in pieces(n, 8)])
    OneClassSVM(**SETTINGS).fit(X[:5000])  # compiles
    local, seconds = fitted(OneClassSVM(**SETTINGS, n_jobs=2), X)
    told("one machine, 2 threads", n, local, seconds)
    del X
    for n_workers in (1, 2):
        with cluster(n_workers) as workers, Client(workers):
            DaskOneClassSVM(**SETTINGS).fit(collection(8000, 8))
            machine, spent = fitted(DaskOneClassSVM(**SETTINGS), collection(n, 8))
        told(f"{n_workers} x 1 thread", n, machine, spent)
        apart = abs(machine.objective_ / local.objective_ - 1.0)
        same = np.array_equal(machine.support_, local.support_)
        print(
            f"    {spent / seconds:.2f} of one machine's time; objectives {apart:.1e} apart, "
            f"support vectors {'the same' if same else 'not the same'}",
            flush=True,
        )


def kill_workers(n, n_kills):
    rng = np.random.default_rng(0)
    whole = spent = None
    for trial in range(n_kills + 1):
        with cluster(2) as workers, Client(workers) as client:
            DaskOneClassSVM(**SETTINGS).fit(collection(8000, 8))
            pids = list(client.run(os.getpid).values())
            timer = None
            if trial:
                timer = threading.Timer(
                    rng.uniform(0.0, spent), os.kill, (pids[trial % 2], signal.SIGKILL)
                )
                timer.start()
            machine, seconds = fitted(DaskOneClassSVM(**SETTINGS), collection(n, 8))
            if timer is None:
                whole, spent = machine, seconds
                told("nobody is killed", n, machine, seconds)
                continue
            timer.join()
        again = sum(entry["loaded_again"] for entry in machine.history_)
        same = np.array_equal(machine.support_, whole.support_)
        apart = abs(machine.objective_ / whole.objective_ - 1.0)
        print(
            f"killed at {timer.interval:5.1f} s: {seconds - spent:+6.1f} s, {again} partitions "
            f"loaded again, objectives {apart:.1e} apart, support vectors "
            f"{'the same' if same else 'not the same'}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rows-of-kills", type=float, default=5e5)
    options = parser.parse_args()
    for n in options.rows:
        compare(int(n))
    if options.kills:
        kill_workers(int(options.rows_of_kills), options.kills)


if __name__ == "__main__":
    main()
