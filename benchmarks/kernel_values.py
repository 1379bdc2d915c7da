"""Nanoseconds of CPU time per kernel value, for each instruction level and another checkout.

    python benchmarks/kernel_values.py --before ../before/src

evaluates Gaussian kernel values on tiles of dense rows (``d`` features) and of sparse rows
(1 % of 10 000 features): products with coefficients ("apply") and columns. Processes of all
versions take turns, and the least of many repeats counts, so that other work on the machine
matters little. In brackets: the ratio to the other checkout.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

LEVELS = ["x86-64-v4", "x86-64-v3", "x86-64-v2"]
CASES = [
    (storage, dtype, d, call)
    for storage, sizes in (("dense", (2, 8, 20, 100, 784)), ("sparse", (10_000,)))
    for dtype in ("float32", "float64")
    for d in sizes
    for call in ("apply", "columns")
]


def serve():
    """Measure the cases whose descriptions arrive on stdin."""
    import scipy.sparse as sp

    from fewlabels.kernels import make_kernel
    from fewlabels.kernels.operators.rows import RowMap, pack_rows

    made = {}

    def prepare(storage, dtype, d):
        rng = np.random.default_rng(0)
        if storage == "dense":
            X = rng.normal(size=(5120 if d < 500 else 2048, d))
        else:
            X = sp.random_array((2048, d), density=0.01, format="csr", rng=rng)
        row_map = RowMap(make_kernel("rbf", gamma=1.0 / d), X, np.dtype(dtype))
        rows, term = row_map.prepare(X)
        m = 256
        return row_map, pack_rows(rows, term), rows[:m], term[:m], rng.normal(size=m)

    for line in sys.stdin:
        storage, dtype, d, call, n_jobs, seconds = json.loads(line)
        key = storage, dtype, d
        if key not in made:
            made.clear()
            made[key] = prepare(*key)
        row_map, tiles, columns, term, coef = made[key]
        n, m = tiles.n, columns.shape[0]
        if call == "apply":
            out = np.zeros(n)
            work = partial(tiles.apply, row_map, columns, term, coef, out, n_jobs)
        else:
            out = np.empty((m, n), dtype)
            work = partial(tiles.columns, row_map, columns, term, n_jobs, out)
        work()
        best, end = np.inf, time.process_time() + seconds
        while time.process_time() < end:
            start = time.process_time_ns()
            work()
            best = min(best, time.process_time_ns() - start)
        print(json.dumps(best / (n * m)), flush=True)


class Version:
    """A process with one version of the package."""

    def __init__(self, source, level=None):
        more = {} if level is None else {"FEWLABELS_CORE_LEVEL": level}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", **more},
        )

    def measure(self, case, n_jobs, seconds):
        print(json.dumps([*case, n_jobs, seconds]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--before", type=Path, help="folder `src` of another checkout")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each version")
    parser.add_argument("--level", default="", help="only this level: v2, v3 or v4")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    args = parser.parse_args()
    if args.serve:
        return serve()
    here = Path(__file__).resolve().parents[1] / "src"
    versions = {level: Version(here, level) for level in LEVELS if level.endswith(args.level)}
    if args.before:
        versions = {"before": Version(args.before.resolve())} | versions
    names = list(versions)
    print("| rows | type | d | call | " + " | ".join(names) + " |")
    print("|---" * (4 + len(names)) + "|")
    for case in CASES:
        if args.only not in " ".join(map(str, case)):
            continue
        best = dict.fromkeys(names, np.inf)
        for _ in range(args.rounds):
            for name, version in versions.items():
                best[name] = min(best[name], version.measure(case, args.threads, 0.1))
        reference = best.get("before")
        cells = [
            f"{ns:.2f}" + (f" ({ns / reference:.2f})" if reference and name != "before" else "")
            for name, ns in best.items()
        ]
        print("| " + " | ".join([*map(str, case), *cells]) + " |", flush=True)
    for version in versions.values():
        version.process.stdin.close()
        version.process.wait()


if __name__ == "__main__":
    main()
