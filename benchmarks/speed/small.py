"""Small fits: OneClassSVM and SVDD beside scikit-learn's OneClassSVM, 50 to 2000 rows.

    python benchmarks small
    python benchmarks small --data FOLDER --out FOLDER [--seconds 1] [--quick]

Grid search, bags and leaving rows out are thousands of small fits. Standard normal rows, n = 50 to
2000, d = 2, 6, 30, nu = .01, .1, .5; with --data also the normal rows of the ADBench sets of fewer
than 2500 rows, standardised, nu = .05. gamma is the same number for all. The two libraries take
turns in one process, fit by fit; the median of both and of the ratios pair by pair is given, in
wall milliseconds and in CPU milliseconds of the process. The objective is LIBSVM's dual, evaluated
in NumPy from the coefficients that either returned, relative to ours at tol = 1e-3 for both: what
LIBSVM's lies above. "Exact": the violation of the optimality conditions of our solution, from the
kernel matrix in NumPy, in units of the decision.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from shared.common import (
    data_folder,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    standardised,
    write_json,
    write_text,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM as Libsvm

from fewlabels import SVDD, OneClassSVM

SIZES, COLUMNS, NUS = [50, 100, 200, 500, 700, 1000, 2000], [2, 6, 30], [0.01, 0.1, 0.5]
_MOST_ROWS = 2500


def cases(args):
    """(name, rows, nu) of every problem."""
    sizes = [50, 200] if args.quick else SIZES
    for n in sizes:
        for d in COLUMNS:
            X = np.random.default_rng(0).normal(size=(n, d))
            for nu in NUS:
                yield f"normal, n = {n}, d = {d}, nu = {nu:g}", X, nu
    if args.data is None:
        return
    folder = data_folder(args)
    for path in sorted(Path(folder).glob("adbench_*.npz")):
        rows, y = load_set(folder, path.stem)
        if len(y) < _MOST_ROWS:
            (X,) = standardised(rows[y == 0])
            yield f"{path.stem.removeprefix('adbench_')}, n = {len(X)}, d = {X.shape[1]}", X, 0.05


def turns(functions, seconds):
    """Wall and CPU milliseconds of every call, the functions taking turns."""
    for function in functions:
        function()
    taken = [([], []) for _ in functions]
    until = time.perf_counter() + seconds
    while len(taken[0][0]) < 5 or time.perf_counter() < until:
        for function, (walls, cpus) in zip(functions, taken, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            walls.append(1e3 * (time.perf_counter() - wall))
            cpus.append(1e3 * (time.process_time() - cpu))
    return taken


def dual(model, K):
    """LIBSVM's objective at a model's coefficients, which sum to what they must."""
    a = np.zeros(len(K))
    a[model.support_] = np.ravel(model.dual_coef_)
    return 0.5 * a @ K @ a, a


def violation(model, K, a):
    """Largest violation of the optimality conditions, in units of f."""
    f = K @ a + model.intercept_[0]
    inside, upper = a > 1e-12, a < 1.0 - 1e-12
    return max(0.0, np.max(f[inside], initial=0.0), np.max(-f[upper], initial=0.0))


def measure(X, nu, seconds):
    """Figures of one problem."""
    gamma = 1.0 / (X.shape[1] * X.var())
    ours, libsvm = OneClassSVM(nu=nu, gamma=gamma), Libsvm(nu=nu, gamma=gamma)
    ball = SVDD(nu=nu, slack="linear", gamma=gamma)
    taken = turns([lambda: ours.fit(X), lambda: libsvm.fit(X), lambda: ball.fit(X)], seconds)
    figures = {}
    for name, (walls, cpus) in zip(["ours", "libsvm", "svdd"], taken, strict=True):
        figures[f"{name}_ms"] = statistics.median(walls)
        figures[f"{name}_cpu_ms"] = statistics.median(cpus)
    for k, name in enumerate(("wall", "cpu")):
        pairs = zip(taken[0][k], taken[1][k], strict=True)
        figures[f"ratio_{name}"] = statistics.median(a / b for a, b in pairs)
    K = rbf_kernel(X, gamma=gamma)
    (mine, a), (theirs, _) = dual(ours, K), dual(libsvm, K)
    figures |= {"libsvm_above": (theirs - mine) / mine, "violation": violation(ours, K, a)}
    return figures | {"n": len(X), "d": X.shape[1], "nu": nu, "sv": len(ours.support_)}


def main():
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of fits for each problem")
    args = parser.parse_args()
    seconds = 0.05 if args.quick else args.seconds
    stem = "small" + ("-quick" if args.quick else "")
    columns = ["problem", "ours, ms", "LIBSVM, ms", "ratio", "ratio of CPU", "SVDD, ms", "SVs",
               "LIBSVM's objective above", "violation"]  # fmt: skip
    found, lines = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, nu in cases(args):
            f = found[name] = measure(X, nu, seconds)
            lines.append(
                [name, f["ours_ms"], f["libsvm_ms"], f"{f['ratio_wall']:.2f}",
                 f"{f['ratio_cpu']:.2f}", f["svdd_ms"], f["sv"], f"{f['libsvm_above']:+.1e}",
                 f"{f['violation']:.0e}"]
            )  # fmt: skip
            print(*lines[-1], sep="  ", flush=True)
    ratios = [f["ratio_wall"] for f in found.values()]
    verdict = (
        f"Ratio of wall seconds, ours over LIBSVM's: median {statistics.median(ratios):.2f}, "
        f"largest {max(ratios):.2f}; at most 1 in {sum(r <= 1 for r in ratios)} of {len(ratios)}."
    )
    text = "\n\n".join([machine_line(machine()), verdict, markdown_table(columns, lines)]) + "\n"
    write_json(args.out / f"{stem}.json", found)
    write_text(args.out / f"{stem}.md", text)
    print(f"{verdict}\nWritten to {args.out}: {stem}.md, {stem}.json")


if __name__ == "__main__":
    main()
