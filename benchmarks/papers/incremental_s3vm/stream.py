"""Runs of ``s3vm_stream.py``, each in a process of its own."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np

from fewlabels import S3VM
from fewlabels.kernels import RBF, Linear
from fewlabels.solvers.path import PathFollower, RowPenalties

from .certificate import decisions, violation, virtual_share
from .data import C_STAR, C, load

N_FIRST, N_LABELLED, SHARE_LABELLED = 1000, 200, 0.01
N_WINDOWS, N_CHECKPOINTS, N_CHECKED = 50, 10, 2000


def _rows(folder, name, n, first_labels, share):
    """Rows in random order, their classes, and labels with NaN for unlabelled rows."""
    X, y = load(folder, name)
    if n > len(y):
        raise ValueError(f"{name} has {len(y)} rows; ask for at most so many.")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[:n]
    X, y = X[order], y[order]
    given = rng.random(n) < share
    given[:first_labels] = True
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
    X, y, label = _rows(folder, name, n, N_LABELLED, SHARE_LABELLED)
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
            print(f"  {name} {kernel}: {high} rows, {time.perf_counter() - started:.0f} s, p50 "
                  f"{windows[-1]['p50_ms']:.2f} ms, violation {found['violation']:.1e}, "
                  f"{windows[-1]['rss_mb']:.0f} MB", flush=True)  # fmt: skip
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


def exact(folder, name, kernel, gamma, n, balance):
    """Rows one by one on a path that never repairs rounding.

    Returns
    -------
    dict
        Violation from the f carried along and from f computed afresh, and their difference.
    """
    X, y, label = _rows(folder, name, n, 100, 0.02)
    known = np.nan_to_num(label)
    settings = _settings(kernel, gamma)
    path = PathFollower(
        Linear() if kernel == "linear" else RBF(gamma=gamma), balance=balance,
        refresh_at=np.inf, cache_size=1.5e9,
    )  # fmt: skip
    started = time.perf_counter()
    sum_labels = n_labels = 0
    for i in range(n):
        if known[i]:
            sum_labels, n_labels = sum_labels + known[i], n_labels + 1
            row = RowPenalties.labelled(known[i : i + 1], C=C)
        else:
            row = RowPenalties.unlabelled(C_star=C_STAR, n=1)
        target = sum_labels / n_labels if balance and n_labels else None
        path.add(X[i : i + 1], row, target=target)
    seconds = time.perf_counter() - started
    free = known == 0
    coef = path.a + np.where(free, path.virtual / free.sum(), 0.0)
    f = decisions(settings, X, coef, -path.multiplier, np.arange(n))
    return {
        "set": name, **settings, "rows": n, "balanced": balance is not None,
        "seconds": seconds, "steps": path.n_steps, "sign_changes": path.n_flips,
        "margin_rows": path.n_margin, "violation": violation(path.a, f, known, C, C_STAR),
        "carried_violation": path.violation(), "f_off": float(np.abs(f - path.h).max()),
        "sum": abs(float(coef.sum())),
        "balance_off": abs(float(f[free].mean() - target)) if balance else None,
        "error": float(np.mean(np.where(f > 0, 1, -1)[free] != y[free])),
    }  # fmt: skip


def _status(field):
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # no Linux
        return None
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(field + ":"))
