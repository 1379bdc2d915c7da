"""Small fits: OneClassSVM and SVDD beside scikit-learn's OneClassSVM, 50 to 2000 rows.

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
from functools import lru_cache

import numpy as np
from shared.common import ADBENCH, load_set, markdown_table, standardised
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM as Libsvm
from study import Case, Setting, Study

from fewlabels import SVDD, OneClassSVM

SIZES, COLUMNS, NUS = [50, 100, 200, 500, 700, 1000, 2000], [2, 6, 30], [0.01, 0.1, 0.5]
_MOST_ROWS = 2500


@lru_cache(maxsize=1)
def rows_of(folder, name, n, d):
    """Rows of a problem; None for a set with too many rows."""
    if name == "normal":
        return np.random.default_rng(0).normal(size=(n, d))
    rows, y = load_set(folder, f"adbench_{name}")
    return standardised(rows[y == 0])[0] if len(y) < _MOST_ROWS else None


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


def measure(folder, name, n, d, nu, seconds):
    """Figures of one problem."""
    X = rows_of(folder, name, n, d)
    if X is None:
        return []
    gamma = 1.0 / (X.shape[1] * X.var())
    ours, libsvm = OneClassSVM(nu=nu, gamma=gamma), Libsvm(nu=nu, gamma=gamma)
    ball = SVDD(nu=nu, slack="linear", gamma=gamma)
    taken = turns([lambda: ours.fit(X), lambda: libsvm.fit(X), lambda: ball.fit(X)], seconds)
    figures = {}
    for title, (walls, cpus) in zip(["ours", "libsvm", "svdd"], taken, strict=True):
        figures[f"{title}_ms"] = statistics.median(walls)
        figures[f"{title}_cpu_ms"] = statistics.median(cpus)
    for k, title in enumerate(("wall", "cpu")):
        pairs = zip(taken[0][k], taken[1][k], strict=True)
        figures[f"ratio_{title}"] = statistics.median(a / b for a, b in pairs)
    K = rbf_kernel(X, gamma=gamma)
    (mine, a), (theirs, _) = dual(ours, K), dual(libsvm, K)
    figures |= {"libsvm_above": (theirs - mine) / mine, "violation": violation(ours, K, a)}
    return figures | {"n": len(X), "d": X.shape[1], "sv": len(ours.support_)}


def cases(options):
    for n in [50, 200] if options.quick else SIZES:
        for d in COLUMNS:
            for nu in NUS:
                key = {"set": "normal", "rows": n, "columns": d, "nu": nu}
                yield Case(key, measure, (None, "normal", n, d, nu, options.seconds))
    for name in options.sets if options.data is not None else ():
        key = {"set": name, "nu": 0.05}
        yield Case(key, measure, (options.data, name, None, None, 0.05, options.seconds))


def report(results):
    ratios = [r["ratio_wall"] for r in results.records]
    yield (
        f"Ratio of wall seconds, ours over LIBSVM's: median {statistics.median(ratios):.2f}, "
        f"largest {max(ratios):.2f}; at most 1 in {sum(r <= 1 for r in ratios)} of {len(ratios)}."
    )
    columns = ["set", "n", "d", "nu", "ours, ms", "LIBSVM, ms", "ratio", "ratio of CPU",
               "SVDD, ms", "SVs", "LIBSVM's objective above", "violation"]  # fmt: skip
    yield markdown_table(columns, [
        [r["set"], r["n"], r["d"], r["nu"], r["ours_ms"], r["libsvm_ms"],
         f"{r['ratio_wall']:.2f}", f"{r['ratio_cpu']:.2f}", r["svdd_ms"], r["sv"],
         f"{r['libsvm_above']:+.1e}", f"{r['violation']:.0e}"]
        for r in results.records
    ])  # fmt: skip


STUDY = Study(
    __doc__, cases, report, data="optional", choices={"sets": ADBENCH},
    settings={"seconds": Setting(1.0, "of fits for each problem")},
    quick={"sets": ["wine"], "seconds": 0.05},
)  # fmt: skip
