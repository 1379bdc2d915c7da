"""Rows on a Dask cluster against one machine; seconds that a worker's death costs.

    python benchmarks cluster --rows 1000000 10000000 --kills 10

Rows are drawn on the workers, ten columns of float32. A ball and a one-class SVM with nu = 100 /
rows are fitted by one machine with two threads, and by one and two processes of one thread that
hold the rows already. Every fit says its seconds and rounds, and trips and bytes of a round; every
kill, a SIGKILL at a random moment, whether it ends the same: the first round of that fit draws the
rows, and a partition that was lost draws its own again.
"""

import argparse
import os
import signal
import threading
import time

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait

from fewlabels import SVDD, OneClassSVM
from fewlabels.dask import DaskOneClassSVM, DaskSVDD

D = 10
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


def told(name, n, machine, seconds):
    rounds = machine.history_[1:]
    last = machine.history_[-1]
    line = f"{name:<23} {n:>10} rows {seconds:8.1f} s {len(machine.history_):4d} rounds"
    line += f" {len(machine.support_):6d} support vectors, gap {machine.duality_gap_:.1e}"
    line += f", {last['kernel_values']:.3g} kernel values"
    if "bytes" in last:
        trips = np.median([entry["round_trips"] for entry in rounds])
        kilobytes = np.median([entry["bytes"] for entry in rounds]) / 1e3
        waited = np.median([entry["milliseconds"] for entry in rounds])
        line += f"; a round: {trips:.0f} trips, {kilobytes:.0f} kB, {waited:.0f} ms"
        all_trips, all_waited = (
            sum(entry[name] for entry in machine.history_)
            for name in ("round_trips", "milliseconds")
        )
        line += f"; in all {all_trips} trips, {all_waited / 1e3:.1f} s"
    print(line, flush=True)


def compare(name, n):
    kind, on_cluster, settings_of = MACHINES[name]
    settings = settings_of(n)
    X = np.concatenate([block(*piece) for piece in pieces(n, 8)])
    kind(**settings_of(5000)).fit(X[:5000])  # compiles
    local, seconds = fitted(kind(**settings, n_jobs=2), X)
    told(f"{name}, 2 threads", n, local, seconds)
    del X
    alone = None
    for n_workers in (1, 2):
        with cluster(n_workers) as workers, Client(workers) as client:
            on_cluster(**settings_of(8000)).fit(collection(8000, 8))
            rows = client.compute(collection(n, 8))
            wait(rows)
            machine, spent = fitted(on_cluster(**settings), rows)
            del rows
        alone = alone or spent
        told(f"{name}, {n_workers} x 1 thread", n, machine, spent)
        apart = abs(machine.objective_ / local.objective_ - 1.0)
        both = len(np.intersect1d(machine.support_, local.support_))
        print(
            f"    {spent / seconds:.2f} of one machine's time, {alone / spent:.2f} times as fast "
            f"as one process; objectives {apart:.1e} apart, gaps "
            f"{local.duality_gap_ / abs(local.objective_):.1e} and "
            f"{machine.duality_gap_ / abs(machine.objective_):.1e} of them; {both} of "
            f"{len(local.support_)} and {len(machine.support_)} support vectors are common",
            flush=True,
        )


def kill_workers(n, n_kills):
    rng = np.random.default_rng(0)
    whole = spent = None
    lost, equal = [], 0
    for trial in range(n_kills + 1):
        with cluster(2) as workers, Client(workers) as client:
            DaskOneClassSVM(**OF_KILLS).fit(collection(8000, 8))
            pids = list(client.run(os.getpid).values())
            timer = None
            if trial:
                timer = threading.Timer(
                    rng.uniform(0.0, spent), os.kill, (pids[trial % 2], signal.SIGKILL)
                )
                timer.start()
            machine, seconds = fitted(DaskOneClassSVM(**OF_KILLS), collection(n, 8))
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
        lost.append(seconds - spent)
        equal += same and apart < 1e-9
    if lost:
        print(
            f"{equal} of {len(lost)} ended the same; a kill cost {np.median(lost):.1f} s, "
            f"{max(lost):.1f} s at most, where a fit takes {spent:.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--machines", nargs="+", default=MACHINES, choices=MACHINES)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rows-of-kills", type=float, default=5e5)
    options = parser.parse_args()
    for n in options.rows:
        for name in options.machines:
            compare(name, int(n))
    if options.kills:
        kill_workers(int(options.rows_of_kills), options.kills)


if __name__ == "__main__":
    main()
