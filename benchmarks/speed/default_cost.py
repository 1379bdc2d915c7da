"""What the defaults cost, compared with the simpler settings that were the defaults before.

CPU seconds of one fit and of scoring the same rows, 20 columns, 1000 to 100 000 rows: SVDDEnsemble
with and without the isolation kernel and the choice of trimming; PUEnsemble, 500 labelled
positives, with the mixture of Gaussian and tree kernels and with Gaussian kernels alone; and S3VM,
100 labelled rows, as ``tune`` and ``fit`` start on tables, with these trees and unlabelled rows,
and with a Gaussian kernel and unlabelled rows as before.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_classification
from study import Case, Study

from fewlabels import S3VM, PUEnsemble, SVDDEnsemble

SIZES = (1000, 10_000, 100_000)


def labels_of(y, task, rng):
    """What the task shows of the classes ``y``."""
    if task == "one class":
        return None
    if task == "few labels":
        label = np.full(len(y), np.nan)
        known = rng.choice(len(y), 100, replace=False)
        label[known] = y[known]
        return label
    label = np.zeros(len(y))
    label[rng.permutation(np.flatnonzero(y == 1))[: min(500, len(y) // 10)]] = 1
    return label


CASES = {
    ("one class", "`SVDDEnsemble()`"): SVDDEnsemble,
    ("one class", "`trim=.2, isolation=False`"): lambda: SVDDEnsemble(trim=0.2, isolation=False),
    ("positive and unlabelled", "`PUEnsemble()`"): lambda: PUEnsemble(prior=0.3),
    ("positive and unlabelled", '`kernel="rbf"`'): lambda: PUEnsemble(prior=0.3, kernel="rbf"),
    ("few labels", '`kernel="trees", C_star=0, balance=False`'): lambda: S3VM(
        kernel="trees", C_star=0.0, balance=False
    ),
    ("few labels", '`kernel="trees"`'): lambda: S3VM(kernel="trees"),
    ("few labels", "`S3VM()`"): S3VM,
}
TASKS = list(dict.fromkeys(task for task, _ in CASES))


def measure(task, title, n):
    """CPU seconds of a fit and of scoring."""
    X, y = make_classification(
        n, 20, n_informative=8, weights=[0.7], class_sep=1.0, random_state=n
    )
    label, model = labels_of(y, task, np.random.default_rng(n)), CASES[task, title]()
    started = time.process_time()
    model.fit(X) if label is None else model.fit(X, label)
    fitted = time.process_time()
    (getattr(model, "decision_function", None) or model.score_samples)(X)
    return {"fit": fitted - started, "score": time.process_time() - fitted}


def cases(options):
    for task, title in CASES:
        for n in SIZES[:1] if options.quick else SIZES:
            if task in options.tasks:
                yield Case({"task": task, "model": title, "rows": n}, measure, (task, title, n))


def entries(results):
    sizes, rows = list(dict.fromkeys(r["rows"] for r in results.records)), []
    for task, title in CASES:
        found = {r["rows"]: r for r in results.where(task=task, model=title)}
        if set(found) == set(sizes):
            cells = [found[n][what] for n in sizes for what in ("fit", "score")]
            rows.append([f"{task}: {title}", *cells])
    columns = [f"{what}, {n:,} rows" for n in sizes for what in ("fit", "score")]
    return [results.entry("default-cost", columns, rows, unit="CPU seconds", note="one fit each",
                          label="task and model", formats=["3g"] * len(columns))]  # fmt: skip


STUDY = Study(__doc__, cases, entries=entries, choices={"tasks": TASKS})
