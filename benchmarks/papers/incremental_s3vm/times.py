"""Runs of ``il_s3vm_times.py``, each in a process of its own."""

from __future__ import annotations

import time
import warnings

import numpy as np

from fewlabels import S3VM

from .data import C_STAR, SETS, C, draw
from .methods import CACHE_MB, METHODS, Task

ADDED = 20
# Rows added before the clock runs, to load what is compiled.
N_WARM = 10
# One added row: real rows in a linear kernel, and in Gaussian ones with few and more margin rows.
SINGLE = {
    "CodRNA, linear": {"set": "cod_rna", "kernel": "linear"},
    "IJCNN1, linear": {"set": "ijcnn1", "kernel": "linear"},
    "CodRNA, Gaussian 0.1": {"set": "cod_rna", "kernel": "rbf", "gamma": 0.1},
    "CodRNA, Gaussian 2": {"set": "cod_rna", "kernel": "rbf", "gamma": 2.0},
    "IJCNN1, Gaussian 0.1": {"set": "ijcnn1", "kernel": "rbf", "gamma": 0.1},
}


def cell(folder, name, size, kernel, seed, method, limit):
    """Add rows to one problem by one method."""
    warm_up(folder, name, kernel, method)
    problem = draw(folder, name, size, seed, extra=ADDED)
    labels = problem.y[size:].astype(float)
    labels[1::2] = np.nan
    return METHODS[method][1](Task(problem, kernel, labels, limit))


def warm_up(folder, name, kernel, method):
    """Compile and load everything on a few rows."""
    problem = draw(folder, name, max(60, 2 * SETS[name].n_labelled // 10), 0, extra=2)
    METHODS[method][1](Task(problem, kernel, np.array([problem.y[-1], np.nan]), 5.0))


def single(folder, name, size, rows, limit):
    """Rows added one by one, one of ten labelled, and batch training on as many rows.

    Returns
    -------
    dict
        Milliseconds and steps of each row; seconds of the batch training to 1e-6 and at the
        default tolerance.
    """
    setting = dict(SINGLE[name])
    problem = draw(folder, setting.pop("set"), size, 0, balanced=True, extra=N_WARM + rows)
    X, y = problem.X, problem.y
    labels = np.where(np.arange(len(y)) % 10 == 0, y, np.nan)
    labels[: problem.n_labelled] = y[: problem.n_labelled]
    labels[problem.n_labelled : size] = np.nan

    def machine(**parameters):
        settings = {"balance": True, **setting, **parameters}
        return S3VM(C=C, C_star=C_STAR, unlabeled=None, cache_size=CACHE_MB, **settings)

    stream = machine().fit(X[:size], labels[:size]).resume()
    milliseconds = []
    for i in range(size, size + N_WARM + rows):
        started = time.perf_counter()
        stream.partial_fit(X[i : i + 1], labels[i : i + 1])
        milliseconds.append(1e3 * (time.perf_counter() - started))
    milliseconds = milliseconds[N_WARM:]
    entries = [h for h in stream.history_ if h.get("operation") == "add"][-rows:]
    steps = [h["steps"] for h in entries]
    record = {
        "case": name, "rows": size, "added": rows, "milliseconds": milliseconds, "steps": steps,
        "margin_rows": entries[-1]["margin"], "violation": stream.kkt_violation_,
        "objective": stream.objective_,
    }  # fmt: skip
    for key, annealing, tol in (
        ("batch_exact", False, 1e-6), ("batch", False, 1e-3), ("annealed", True, 1e-3),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fresh = machine(annealing=annealing, tol=tol, max_time=limit)
            started = time.perf_counter()
            fresh.fit(X[: size + N_WARM + 1], labels[: size + N_WARM + 1])
            record[f"{key}_s"] = time.perf_counter() - started
        record[f"{key}_finished"] = fresh.fit_status_ == 0
        record[f"{key}_violation"] = fresh.kkt_violation_
        record[f"{key}_objective"] = fresh.objective_
    return record
