"""A stream of 50 000 rows into an S3VM: memory, latency and optimality on the way.

Real rows in random order, 200 labels at the start and one row in a hundred labelled later, with
the balancing constraint; linear and Gaussian kernel. Milliseconds of every partial_fit (median,
99th percentile and maximum of windows), resident memory, error on the unlabelled rows and, at
checkpoints, the violation of the optimality conditions, computed in float64 from data and
coefficients by code apart from the package, on a sample of the rows; at the end on all.

C = 10, C* = 5. --consolidate calls consolidate() whenever it is due. Each run has a process of its
own.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
from shared.common import markdown_table
from shared.threads import limit_threads
from study import Case, Setting, Study

from fewlabels import S3VM

from .certificate import decisions, violation, virtual_share
from .data import C_STAR, C, load

N_FIRST, N_LABELLED, SHARE_LABELLED = 1000, 200, 0.01
N_WINDOWS, N_CHECKPOINTS, N_CHECKED = 50, 10, 2000


def _rows(folder, name, n):
    """Rows in random order, their classes, and labels with NaN for unlabelled rows."""
    X, y = load(folder, name)
    n = min(n, len(y))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[:n]
    X, y = X[order], y[order]
    given = rng.random(n) < SHARE_LABELLED
    given[:N_LABELLED] = True
    return X, y, np.where(given, y, np.nan)


def _settings(kernel, gamma):
    return {"kernel": kernel} if kernel == "linear" else {"kernel": kernel, "gamma": gamma}


def stream(folder, name, kernel, gamma, n, consolidate):
    """Rows one by one into an S3VM.

    Returns
    -------
    dict
        ``windows`` (rows, milliseconds and memory of each), ``checks`` and totals.
    """
    X, y, label = _rows(folder, name, n)
    label[N_LABELLED:N_FIRST] = np.nan
    settings = _settings(kernel, gamma)
    first = min(N_FIRST, n // 2)
    machine = S3VM(C=C, C_star=C_STAR, unlabeled=None, **{"balance": True, **settings})
    machine.fit(X[:first], label[:first]).resume()
    rss_before = _status("VmRSS")
    edges = np.linspace(first, n, N_WINDOWS + 1).astype(int)
    check_at = set(edges[:: max(1, N_WINDOWS // N_CHECKPOINTS)].tolist()) | {n}
    windows, checks, rebuilt, milliseconds = [], [], [], []
    started = time.perf_counter()
    for low, high in itertools.pairwise(edges):
        taken = np.empty(high - low)
        for i in range(low, high):
            before = time.perf_counter()
            machine.partial_fit(X[i : i + 1], label[i : i + 1])
            taken[i - low] = 1e3 * (time.perf_counter() - before)
            if consolidate and machine.consolidation_due_:
                before = time.perf_counter()
                replaced = machine.consolidate()
                rebuilt.append({"rows": i + 1, "seconds": time.perf_counter() - before,
                                "replaced": replaced})  # fmt: skip
        milliseconds.append(taken)
        windows.append({"rows": int(high), **_percentiles(taken), "rss_mb": _status("VmRSS"),
                        "margin_rows": machine.history_[-1]["margin"]})  # fmt: skip
        if int(high) in check_at:
            found = _checked(machine, settings, X[:high], y[:high], label[:high], N_CHECKED)
            checks.append({"rows": int(high), "seconds": time.perf_counter() - started, **found})
    record = {
        "set": name, **settings, "rows": n, "first": first,
        "labelled": int(np.sum(~np.isnan(label))), "consolidate": consolidate,
        "rebuilt": rebuilt, "windows": windows, "checks": checks,
        "steps": machine.n_steps_, "sign_changes": machine.n_flips_,
        **_percentiles(np.concatenate(milliseconds)), "rss_before_mb": rss_before,
        "peak_mb": _status("VmHWM"),
    }  # fmt: skip
    record["all_rows"] = _checked(machine, settings, X, y, label, n)
    return record


def _percentiles(ms):
    return {
        "p50_ms": float(np.percentile(ms, 50)), "p99_ms": float(np.percentile(ms, 99)),
        "max_ms": float(ms.max()), "mean_ms": float(ms.mean()),
    }  # fmt: skip


def _checked(machine, settings, X, y, label, n_checked):
    """Violation and error on a sample of the rows and those on the margin."""
    n = len(y)
    known = np.nan_to_num(label)
    coef = np.zeros(n)
    coef[machine.support_] = machine.dual_coef_[0]
    rows = np.arange(n)
    if n_checked < n:
        rows = np.sort(np.random.default_rng(n).choice(n, n_checked, replace=False))
        # Rows on the margin have coefficients of their own: they are all in.
        _, place, count = np.unique(coef, return_index=True, return_counts=True)
        rows = np.union1d(rows, place[count == 1][:n_checked])
    f = decisions(settings, X, coef, machine.intercept_[0], rows)
    free = known[rows] == 0
    share = virtual_share(coef[rows], f, known[rows])
    a = coef[rows] - np.where(free, share, 0.0)
    found = {
        "violation": violation(a, f, known[rows], C, C_STAR),
        "sum": float(coef.sum()),
        "error": float(np.mean(np.where(f > 0, 1, -1)[free] != y[rows][free])),
        "checked": len(rows),
    }
    if n_checked >= n:
        target = known[known != 0].mean()
        found["balance_off"] = abs(float(f[free].mean() - target))
    return found


def _status(field):
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # no Linux
        return None
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(field + ":"))


def cases(options):
    limit_threads(options.threads)
    apart = {"apart": True, "limit": options.limit}
    for name in options.sets:
        for kernel in options.kernels:
            given = (options.data, name, kernel, options.gamma, options.rows, options.consolidate)
            yield Case({"set": name, "kernel": kernel}, stream, given, **apart)


# -- the report ----------------------------------------------------------------------------------


COLUMNS = ["set", "kernel", "rows", "labelled", "ms per row, p50", "mean", "p99", "max",
           "steps per row", "sign changes", "margin rows", "MB at the start", "peak, MB",
           "violation, all rows", "balance off by", "error, %", "consolidated"]  # fmt: skip


def report(results):
    yield markdown_table(COLUMNS, [
        [
            r["set"], r["kernel"], r["rows"], r["labelled"], r["p50_ms"], r["mean_ms"],
            r["p99_ms"], r["max_ms"], r["steps"] / (r["rows"] - r["first"]), r["sign_changes"],
            r["windows"][-1]["margin_rows"], r["rss_before_mb"], r["peak_mb"],
            r["all_rows"]["violation"], r["all_rows"]["balance_off"], 100 * r["all_rows"]["error"],
            sum(one["replaced"] for one in r["rebuilt"]),
        ]
        for r in results.records
    ])  # fmt: skip
    yield "Checkpoints, on a sample of the rows:"
    keys = ["rows", "checked", "seconds", "violation", "sum", "error"]
    yield markdown_table(["set", "kernel", *keys], [
        [r["set"], r["kernel"], *(check[key] for key in keys)]
        for r in results.records
        for check in r["checks"]
    ])  # fmt: skip


def entries(results):
    rows = []
    for r in results.records:
        worst = max(r["all_rows"]["violation"], *(check["violation"] for check in r["checks"]))
        title = "linear" if r["kernel"] == "linear" else f"Gaussian {r['gamma']:g}"
        rows.append([title, r["p50_ms"], r["p99_ms"], f"{r['max_ms']:,.0f}",
                     f"{r['peak_mb']:.0f} MB", f"{worst:.0e}"])  # fmt: skip
    columns = ["p50, ms", "p99", "largest", "memory at most", "violation at most"]
    return [results.entry("s3vm-stream", columns, rows, label="kernel", unit="ms; MB",
                          formats=[".1f", "3g", "", "", ""])]  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, data="required",
    choices={"sets": ["cod_rna", "ijcnn1"], "kernels": ["linear", "rbf"]},
    settings={
        "gamma": Setting(0.1, "of the Gaussian kernel"),
        "rows": Setting(50_000, "rows of the stream (49 000 of ijcnn1)"),
        "consolidate": Setting(False, "consolidate whenever it is due"),
        "limit": Setting(3000.0, "seconds per run"),
        "threads": Setting(None, "threads of the linear algebra library", int),
    },
    quick={"sets": ["cod_rna"], "kernels": ["linear"], "rows": 2000},
)  # fmt: skip
