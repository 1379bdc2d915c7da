"""Rows that do not fit in memory: a file of them is fitted in a child process.

    python benchmarks disk --rows 100000000

The file holds float32 rows, nine in ten of one broad cloud and one in ten of a narrow one, drawn
block by block. Of every machine: seconds of the fit, peak resident memory of its process, the
duality gap relative to the objective, how often the file was read, and the floor: kernel values
that were evaluated and bytes that were read, at the speed that this machine reaches at each alone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

MACHINES = ("ball", "one-class")
# Violations that leave a gap below 1e-4 of the objective: the optimum of a one-class machine is
# flat, that of a ball is not.
TOL = {"ball": 1e-2, "one-class": 3e-5}
# Rows that are drawn at a time.
BLOCK = 1_000_000


def generate(path, n_rows, n_columns):
    """Write the file, unless it is there; under another name until it is whole."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished.npy")
    rows = np.lib.format.open_memmap(unfinished, "w+", np.float32, (n_rows, n_columns))
    for start in range(0, n_rows, BLOCK):
        rng = np.random.default_rng([n_columns, start])
        part = rng.standard_normal((min(BLOCK, n_rows - start), n_columns), np.float32)
        narrow = rng.random(len(part)) < 0.1
        part[narrow] = 0.3 * part[narrow] + 2.0
        rows[start : start + len(part)] = part
        rows.flush()
    del rows
    os.replace(unfinished, path)


def speed(n_columns):
    """Kernel values a second, between rows in memory, with every core."""
    from fewlabels.kernels import RBF
    from fewlabels.kernels.operators import make_gram

    X = np.random.default_rng(0).standard_normal((400_000, n_columns), np.float32)
    gram, columns = make_gram(RBF(1.0 / n_columns), X, n_jobs=os.cpu_count()), np.arange(512)
    gram.product(columns, np.ones(512))
    started = time.perf_counter()
    gram.product(columns, np.ones(512))
    return 512 * len(X) / (time.perf_counter() - started)


def machine_of(name, nu, tol, cache, verbose):
    from fewlabels import SVDD, OneClassSVM

    if name == "ball":
        return SVDD(tol=tol, cache_size=cache, verbose=verbose)
    return OneClassSVM(nu=nu, tol=tol, cache_size=cache, verbose=verbose)


def fit(path, name, nu, tol, cache, verbose):
    """Fit, in this process, and print a line of JSON."""
    X = np.load(path, mmap_mode="r")
    machine = machine_of(name, nu, tol, cache, verbose)
    started = time.perf_counter()
    machine.fit(X)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    last = machine.history_[-1]
    print(json.dumps({
        "machine": name, "rows": len(X), "seconds": round(seconds, 1),
        "peak_GB": round(peak / 1e9, 2), "gap": machine.duality_gap_ / abs(machine.objective_),
        "support": len(machine.support_), "rounds": last["round"],
        "kernel_values": last["kernel_values"], "passes": last.get("rows_read", 0) / len(X),
        "converged": machine.fit_status_ == 0,
    }))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("."), help="where the file is put")
    parser.add_argument("--machines", nargs="+", default=MACHINES, choices=MACHINES)
    parser.add_argument("--nu", type=float, help="of the one-class SVM; the default: 100 / rows")
    parser.add_argument("--tol", type=float, help="of the machines; the default: TOL")
    parser.add_argument("--cache", type=float, default=200, help="cache_size, in MB")
    parser.add_argument("--keep", action="store_true", help="leave the file")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = options.folder / f"rows-{options.rows}x{options.columns}.npy"
    if options.child:
        fit(
            path,
            options.child,
            options.nu or 100.0 / options.rows,
            options.tol or TOL[options.child],
            options.cache,
            options.verbose,
        )
        return
    started = time.perf_counter()
    generate(path, options.rows, options.columns)
    print(f"{path}: {path.stat().st_size / 1e9:.2f} GB, {time.perf_counter() - started:.0f} s")
    rate, size = speed(options.columns), path.stat().st_size
    started = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        room = bytearray(4_000_000)
        while file.readinto(room):
            pass
    reading = size / (time.perf_counter() - started)
    print(f"alone: {rate:.3g} kernel values/s, {reading / 1e9:.2f} GB/s read")
    for name in options.machines:
        command = [sys.executable, *sys.argv, "--child", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        *told, line = done.stdout.splitlines()
        print("\n".join(told))
        found = json.loads(line)
        values, passes = found["kernel_values"], found["passes"]
        floor = max(values / rate, passes * size / reading)
        print(
            f"{name}: {found['seconds']:.0f} s, {found['peak_GB']} GB resident, gap "
            f"{found['gap']:.1e} of the objective, {found['support']} support vectors, "
            f"{found['rounds']} rounds, {passes:.1f} passes over the file, {values:.3g} kernel "
            f"values; floor {floor:.0f} s"
            + ("" if found["converged"] else "; the tolerance was NOT reached")
        )
    if not options.keep:
        path.unlink()


if __name__ == "__main__":
    main()
