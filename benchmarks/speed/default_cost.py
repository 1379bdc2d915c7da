"""What the defaults cost, compared with the simpler settings that were the defaults before.

    python benchmarks default_cost [--quick]

CPU seconds of one fit and of scoring the same rows, 20 columns, 1000 to 100 000 rows: SVDDEnsemble
with and without the isolation kernel and the choice of trimming; PUEnsemble, 500 labelled
positives, with the mixture of Gaussian and tree kernels and with Gaussian kernels alone; and S3VM,
100 labelled rows, as ``tune`` and ``fit`` start on tables, with these trees and unlabelled rows,
and with a Gaussian kernel and unlabelled rows as before.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from results import entry, write
from shared.common import machine, options
from sklearn.datasets import make_classification

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


def cost(model, X, label):
    """CPU seconds of a fit and of scoring."""
    started = time.process_time()
    model.fit(X) if label is None else model.fit(X, label)
    fitted = time.process_time()
    score = getattr(model, "decision_function", None) or model.score_samples
    score(X)
    return fitted - started, time.process_time() - fitted


def main():
    parser = options(__doc__)
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = SIZES[:1] if args.quick else SIZES
    rows = []
    for (task, title), make in CASES.items():
        if task not in args.tasks:
            continue
        found = []
        for n in sizes:
            X, y = make_classification(
                n, 20, n_informative=8, weights=[0.7], class_sep=1.0, random_state=n
            )
            found += cost(make(), X, labels_of(y, task, np.random.default_rng(n)))
        rows.append([f"{task}: {title}", *found])
        print(rows[-1][0], *(f"{value:.2f}" for value in found), flush=True)
    columns = [f"{what}, {n:,} rows" for n in sizes for what in ("fit", "score")]
    info = machine()
    found = entry(
        "default-cost", columns, rows, unit="CPU seconds", label="task and model",
        formats=["3g"] * len(columns), program="python benchmarks default_cost",
        hardware=f"{info['cores']} cores, {info['processor']}",
        note="one fit each",
    )  # fmt: skip
    write([found], args.out, "default-cost", quick=args.quick)


if __name__ == "__main__":
    main()
