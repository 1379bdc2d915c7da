"""Seconds that ``fewlabels fit`` takes as a process, by the time budget that it was given.

A budget of B seconds is kept if the process ends in 1.2 B + 3 seconds. With a budget of 0 all rows
are learnt from, so that the time is that of one fit. Run it on a machine that does nothing else.
The first fit of a table, which isn't counted, fills caches.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from shared.common import pivot
from study import Case, Setting, Study


def clusters(rng, n, width, n_classes, labelled):
    """Gaussian clusters, some rows of which have the name of their own as label."""
    centres = rng.normal(0, 2, (n_classes, width))
    of_class = rng.integers(0, n_classes, n)
    label = np.full(n, "", object)
    for place in rng.choice(n, labelled, replace=False):
        label[place] = f"c{of_class[place]}"
    return centres[of_class] + rng.normal(size=(n, width)), label


def positives(rng, n, width, labelled):
    """A tenth of the rows is positive, and few of these are labelled."""
    is_positive = rng.random(n) < 0.1
    X = rng.normal(size=(n, width))
    X[is_positive, :5] += 1.2
    label = np.full(n, "", object)
    label[rng.choice(np.flatnonzero(is_positive), labelled, replace=False)] = "pos"
    return X, label


def one_class(rng, n, width):
    """Rows of three clusters without labels."""
    return clusters(rng, n, width, 3, 0)[0], None


TABLES = {
    "one class, 128 x 5": lambda rng: one_class(rng, 128, 5),
    "few labels, 500 x 10": lambda rng: clusters(rng, 500, 10, 2, 20),
    "20 classes, 5 000 x 20": lambda rng: clusters(rng, 5_000, 20, 20, 300),
    "30 classes, 20 000 x 30": lambda rng: clusters(rng, 20_000, 30, 30, 1_500),
    "one class, 50 000 x 20": lambda rng: one_class(rng, 50_000, 20),
    "positives, 100 000 x 30": lambda rng: positives(rng, 100_000, 30, 508),
    "positives, 200 000 x 50": lambda rng: positives(rng, 200_000, 50, 1_000),
}


def written(name, folder):
    """The table as a file, and the options that name its target."""
    path = folder / f"{name.replace(' ', '-').replace(',', '')}.csv"
    X, label = TABLES[name](np.random.default_rng(0))
    if not path.exists():
        table = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(X.shape[1])])
        if label is not None:
            table["label"] = label
        table.to_csv(path, index=False)
    return path, [] if label is None else ["--target", "label"]


def measure(name, budget):
    """Seconds of the process, whether the budget is kept, and whether it took a sample."""
    with tempfile.TemporaryDirectory() as folder:
        path, options = written(name, Path(folder))
        command = [sys.executable, "-m", "fewlabels", "fit", path, "-o", f"{folder}/model",
                   "--time-budget", f"{budget:g}", *options]  # fmt: skip
        since = time.perf_counter()
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        used = time.perf_counter() - since
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    is_kept = not budget or used <= 1.2 * budget + 3.0
    return {"seconds": used, "kept": is_kept, "sample": "allows for" in done.stderr}


def cases(options):
    for name in options.tables:
        for budget in options.budgets:
            yield Case({"table": name, "budget": budget}, measure, (name, budget))


def report(results):
    yield "Seconds by budget:"
    yield pivot(results.records, "table", "budget", "seconds", ".1f")
    kept = sum(r["kept"] for r in results.records)
    yield f"{kept} of {len(results.records)} budgets are kept."


def entries(results):
    budgets = [b for b in dict.fromkeys(r["budget"] for r in results.records) if b]
    rows = []
    for name in dict.fromkeys(r["table"] for r in results.records):
        found = {r["budget"]: r["seconds"] for r in results.where(table=name)}
        rows.append([name, *(found.get(budget) for budget in budgets)])
    columns = [f"budget {budget:g}" for budget in budgets]
    return [results.entry("time-budgets", columns, rows, label="table", unit="s",
                          formats=[".1f"] * len(columns))]  # fmt: skip


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    choices={"tables": list(TABLES)},
    settings={"budgets": Setting([0.0, 5.0, 20.0, 60.0], "time budgets in seconds")},
    quick={"tables": ["one class, 128 x 5"], "budgets": [0.0, 5.0]},
)
