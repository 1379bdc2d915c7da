"""Many rows: one million in memory, and files that don't fit in it.

memory  SVDD with squared slack on one million rows x 10 columns, standardised column by column:
        "gaussian" (standard normal) and "mixture" (ten Gaussian clusters, centres N(0, 2^2),
        deviation 1), everything else at its default. Each fit runs in a fresh process that warms
        up with a fit on 3000 of the rows; one fit, no repeats. Memory is the high-water mark of
        resident memory during the fit minus resident memory before it.
file    A file of float32 rows (--file-rows), nine in ten of one broad cloud and one in ten of a
        narrow one, drawn block by block into --folder. An SVDD and a one-class SVM with
        nu = 100 / rows: seconds of the fit, peak resident memory of its process, the duality gap
        relative to the objective, how often the file was read, and the floor: the kernel values
        that were evaluated at the speed that this machine reaches at them alone.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from shared.common import PeakMemory, markdown_table, timed
from study import Case, Setting, Study

# Violations that leave a gap below 1e-4 of the objective: the optimum of a one-class machine is
# flat, that of a ball is not.
TOL = {"ball": 1e-2, "one-class": 3e-5}
# Rows that are drawn at a time.
BLOCK = 1_000_000


def make_rows(name, n, columns=10):
    """Standardised rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    if name == "mixture":
        X += rng.normal(scale=2.0, size=(10, columns))[rng.integers(10, size=n)]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X


def measure(name, n):
    """One fit of rows in memory, in a process of its own."""
    from fewlabels import SVDD

    X = make_rows(name, n)
    SVDD().fit(X[:3000]).predict(X[:500])
    with PeakMemory() as memory:
        seconds, model = timed(SVDD().fit, X)
    predict_seconds, predicted = timed(model.predict, X[:100_000])
    evaluated = model.history_[-1]["kernel_values"] if model.history_ else 0
    return {
        "rows": n, "seconds": seconds, "extra_mb": memory.extra / 1e6,
        "objective": model.objective_, "gap": model.duality_gap_ / abs(model.objective_),
        "n_sv": len(model.support_), "rounds": len(model.history_),
        "values_over_floor": evaluated / (n * len(model.support_)),
        "predict_100k_s": predict_seconds, "outside": float(np.mean(predicted < 0)),
    }  # fmt: skip


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


def fit_file(name, n_rows, n_columns, folder, cache):
    """Fit a file of rows, in a process of its own."""
    from fewlabels import SVDD, OneClassSVM

    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = Path(folder or temporary) / f"rows-{n_rows}x{n_columns}.npy"
        generate(path, n_rows, n_columns)
        X, rate = np.load(path, mmap_mode="r"), speed(n_columns)
        kind = SVDD if name == "ball" else OneClassSVM
        more = {} if name == "ball" else {"nu": 100.0 / n_rows}
        model = kind(tol=TOL[name], cache_size=cache, **more)
        seconds, _ = timed(model.fit, X)
        last = model.history_[-1]
        return {
            "rows": n_rows, "seconds": seconds,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
            "gap": model.duality_gap_ / abs(model.objective_), "n_sv": len(model.support_),
            "rounds": last["round"], "passes": last.get("rows_read", 0) / n_rows,
            "floor_s": last["kernel_values"] / rate, "converged": model.fit_status_ == 0,
        }  # fmt: skip


def cases(options):
    apart = {"apart": True, "limit": options.limit}
    for name in ("gaussian", "mixture") if "memory" in options.parts else ():
        yield Case({"part": "memory", "data": name}, measure, (name, options.rows), **apart)
    for name in TOL if "file" in options.parts else ():
        given = (name, options.file_rows, options.columns, options.folder, options.cache)
        yield Case({"part": "file", "model": name, "rows": options.file_rows}, fit_file, given,
                   **apart)  # fmt: skip


def report(results):
    for part, title in (("memory", "Rows in memory, 10 columns"), ("file", "Rows in a file")):
        if some := results.where(part=part):
            yield f"## {title}"
            columns = list(some[0])[1:]
            yield markdown_table(columns, [[r[key] for key in columns] for r in some])


def entries(results):
    titles = {"gaussian": "one Gaussian", "mixture": "ten Gaussians"}
    rows = [[titles[r["data"]], r["seconds"], r["n_sv"]] for r in results.where(part="memory")]
    return [results.entry("svdd-million", ["fit, s", "support vectors"], rows, unit="s",
                          label="1 000 000 x 10, squared slack",
                          formats=["3g", ","])] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, choices={"parts": ["memory", "file"]},
    settings={
        "rows": Setting(1_000_000, "rows in memory"),
        "file_rows": Setting(2_000_000, "rows of the file"),
        "columns": Setting(10, "columns of the file"),
        "folder": Setting(None, "where the file is kept (default: a temporary one)", Path),
        "cache": Setting(200.0, "cache_size in MB"),
        "limit": Setting(7200.0, "seconds until a fit is given up"),
    },
    quick={"rows": 20_000, "file_rows": 50_000},
)  # fmt: skip
