"""One case of ``s3vm_quality.py``, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from fewlabels import S3VM

from . import data

KERNELS = {"linear": {"kernel": "linear"}, "rbf": {"kernel": "rbf"}}
# Of the semi-supervised sets: labelled rows.
_SEMI = {"g50c": ("chapelle_g50c", 50), "ssl-usps": ("ssl_usps", 100), "coil2": ("ssl_coil2", 100)}
# Labelled rows of the papers' sets at the sizes here.
_N_LABELLED = 60
SETS = {**dict.fromkeys(_SEMI), **dict.fromkeys(data.SETS)}
_FIRST_SHARE = 0.1


def is_present(folder, name):
    """Whether the data folder has a set."""
    if name in _SEMI:
        return (Path(folder) / f"{_SEMI[name][0]}.npz").is_file()
    return data.is_present(folder, name)


def _rows(folder, name, seed, most):
    """Rows in random order, classes, and how many of the first are labelled."""
    if name in _SEMI:
        with np.load(Path(folder) / f"{_SEMI[name][0]}.npz") as stored:
            X, y = stored["X"].astype(np.float64), stored["y"]
        y = np.where(y == y.max(), 1, -1)
        n_labelled = _SEMI[name][1]
    else:
        X, y = data.load(folder, name)
        n_labelled = _N_LABELLED
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))[:most]
        if len(np.unique(y[order[:n_labelled]])) == 2:
            return X[order], y[order], n_labelled


def case(folder, name, kernel, seed, most):
    """Objective, error on the unlabelled rows and steps of each way."""
    X, y, n_labelled = _rows(folder, name, seed, most)
    n = len(y)
    given = np.where(np.arange(n) < n_labelled, y, np.nan)
    first = n_labelled + int(_FIRST_SHARE * (n - n_labelled))
    settings = {"unlabeled": None, "balance": True, "n_jobs": 1, "cache_size": 1000}
    settings |= KERNELS[kernel]
    if kernel == "rbf":
        # A stream keeps the width of its first rows; the same one for all.
        settings["gamma"] = S3VM(**settings).fit(X[:first], given[:first]).gamma_

    def found(machine, seconds):
        wrong = machine.transduction_ != y
        return {
            "objective": machine.objective_, "error": float(np.mean(wrong[n_labelled:])),
            "violation": machine.kkt_violation_, "seconds": seconds,
        }  # fmt: skip

    started = time.perf_counter()
    batch = found(S3VM(**settings).fit(X, given), time.perf_counter() - started)
    machine = S3VM(**settings).fit(X[:first], given[:first])
    started = time.perf_counter()
    for i in range(first, n):
        machine.partial_fit(X[i : i + 1], given[i : i + 1])
    streamed = found(machine, time.perf_counter() - started)
    steps = machine.n_steps_
    started = time.perf_counter()
    replaced = machine.consolidate()
    consolidated = found(machine, time.perf_counter() - started)
    return {
        "rows": n, "labelled": n_labelled, "batch": batch, "streamed": streamed,
        "consolidated": consolidated, "replaced": bool(replaced), "steps": steps,
    }  # fmt: skip
