"""Rows that compute where they are: torch's beside NumPy's, the same machines.

Of every fit: seconds, rounds, support vectors, kernel values, passes over all rows, bytes that
went to the device or came from it in a round, and bytes that the passes read and wrote there, by
count: rows once a pass, and 32 bytes a kernel value (product, map, float64, sum). A difference of
objectives is relative to that of NumPy's rows, the gap to the objective.
"""

from __future__ import annotations

import os
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import numpy as np
import sklearn
from shared.common import markdown_table
from study import Case, Setting, Study

from fewlabels import SVDD, OneClassSVM

# Bytes that a kernel value takes on its way.
VALUE = 32
TITLES = {"ball": "SVDD", "one-class": "OneClassSVM"}


def rows_of(n, d, dtype):
    """Nine in ten rows of one broad cloud, one in ten of a narrow one."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d), dtype)
    narrow = rng.random(n) < 0.1
    X[narrow] = dtype(0.3) * X[narrow] + dtype(2.0)
    return X


def machines(n, n_jobs):
    """About as many support vectors for any number of rows."""
    return {
        "ball": SVDD(C=0.02, n_jobs=n_jobs),
        "one-class": OneClassSVM(nu=min(0.05, 1000.0 / n), n_jobs=n_jobs),
    }


def fitted(machine, X, wait):
    """The machine, and what its fit has cost."""
    cpu, started = time.process_time(), time.perf_counter()
    machine.fit(X)
    wait()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    last = machine.history_[-1]
    return machine, {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "rounds": len(machine.history_),
        "support_vectors": len(machine.support_),
        "kernel_values": last["kernel_values"],
        "objective": float(machine.objective_),
        "gap": float(machine.duality_gap_ / abs(machine.objective_)),
        **{name: last[name] for name in ("passes", "bytes_moved") if name in last},
    }


def measure(name, n, columns, dtype, device, threads):
    """Both fits of a model, as one record."""
    import torch

    torch.set_num_threads(threads)
    if n != _WARM:  # compiled code and libraries are loaded before anything is measured
        measure(name, _WARM, columns, dtype, device, threads)
    X = rows_of(n, columns, np.dtype(dtype).type)
    there = torch.from_numpy(X).to(device)
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    if device.startswith("cuda"):  # the first product starts the library
        (there[:8] @ there[:8].T).sum().item()
    _, here = fitted(machines(n, threads)[name], X, lambda: None)
    with sklearn.config_context(array_api_dispatch=True):
        machine, own = fitted(machines(n, threads)[name], there, wait)
        started = time.perf_counter()
        machine.decision_function(there)
        wait()
        own["seconds_to_score"] = time.perf_counter() - started
    own["gb_passed"] = (
        own["passes"] * n * (columns + 2) * X.itemsize + VALUE * own["kernel_values"]
    ) / 1e9
    own["mb_moved_a_round"] = own["bytes_moved"] / max(1, own["rounds"]) / 1e6
    is_cuda = device.startswith("cuda")
    return {
        "seconds": own["seconds"], "ratio": here["seconds"] / own["seconds"],
        "difference": abs(own["objective"] / here["objective"] - 1.0), "numpy": here,
        "torch": own, "version": torch.__version__,
        "device": torch.cuda.get_device_name() if is_cuda else device,
    }  # fmt: skip


_WARM = 4000


def cases(options):
    for n in options.rows:
        for name in options.models:
            yield Case(
                {"model": name, "rows": n, "device": options.device},
                measure,
                (name, n, options.columns, options.dtype, options.device, options.threads),
            )


def report(results):
    keys = ["seconds", "cpu_seconds", "rounds", "support_vectors", "kernel_values", "gap"]
    own = ["passes", "mb_moved_a_round", "gb_passed", "seconds_to_score"]
    both = [(lib, key) for key in keys for lib in ("numpy", "torch")]
    yield markdown_table(
        ["model", "rows", *(f"{key}, {lib}" for lib, key in both), *own, "difference"],
        [[r["model"], r["rows"], *(r[lib][key] for lib, key in both),
          *(r["torch"][key] for key in own), r["difference"]] for r in results.records],
    )  # fmt: skip


def entries(results):
    rows = [[f"`{TITLES[r['model']]}`, {r['rows']:,} rows", r["numpy"]["seconds"], r["seconds"],
             r["ratio"], r["torch"]["support_vectors"]] for r in results.records]  # fmt: skip
    options, first = results.options, results.records[0]
    return [results.entry(
        "array-api", ["NumPy, s", "torch, s", "ratio", "support vectors"], rows, unit="s",
        label=f"fit, {options['columns']} columns", formats=["3g", "3g", ".1f", ","],
        program=f"python benchmarks array_api --device {options['device']}",
        hardware=f"{first['device']}; {options['threads']} cores for NumPy",
        note=f"{options['dtype']}, torch {first['version']}",
    )]  # fmt: skip


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    choices={"models": list(TITLES)},
    settings={
        "rows": Setting([5_000, 20_000], "numbers of rows"),
        "columns": Setting(20, "columns"),
        "dtype": Setting("float32", "float32 or float64"),
        "device": Setting("cpu", "of torch, such as cuda or cuda:1"),
        "threads": Setting(os.cpu_count(), "threads of either"),
    },
    quick={"rows": [5_000]},
)
