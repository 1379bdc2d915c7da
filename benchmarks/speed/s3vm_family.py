"""S3VM on a synthetic family, compared with UniverSVM: seconds and accuracy.

Four Gaussian clusters in 20 dimensions, two per class, centres N(0, 1), deviation 1.2: 50 labelled
rows, 1000 or 5000 unlabelled, accuracy on 5000 others; several draws. Both have the settings of
the comparison (RBF with gamma = 1/50, C = 1, C* = 0.1) and the balancing constraint. UniverSVM
(Collobert et al. 2006) minimises the same objective with s = 0, if --universvm or UNIVERSVM names
the program.

Every fit runs in a fresh process that warms up with 1200 rows; seconds are the fastest of several
fits while these fit into a second, else of one; UniverSVM's are those of its process, which reads
its rows from a text file.
"""

from __future__ import annotations

import os

import numpy as np
from shared.common import group, markdown_table, mean
from shared.few_label_data import make_family
from shared.pu_measure import measure_fit
from sklearn.metrics.pairwise import rbf_kernel
from speed.universvm import run_universvm
from study import Case, Setting, Study

from fewlabels import S3VM

GAMMA, C, C_STAR = 1 / 50, 1.0, 0.1
OURS, THEIRS = "S3VM", "UniverSVM"
SIZES = [1000, 5000]


def measure(n_unlabeled, draw, method, program, limit, budget):
    """One method at one size on one draw; runs in a process of its own."""
    split, X_test, y_test = make_family(n_unlabeled, seed=draw)
    if method == THEIRS:
        y = np.where(split.y < 0, -3, 2 * split.y - 1)
        flags = {"t": 2, "g": GAMMA, "c": C, "z": C_STAR, "S": 0.0}
        found = run_universvm(program, split.X, y, options=flags, limit=limit)
        f = rbf_kernel(X_test, split.X, gamma=GAMMA) @ found.coef + found.bias
        return {"fit_s": found.seconds, "accuracy": float(np.mean((f > 0) == y_test))}

    def fit(rows=slice(None)):
        return S3VM(C=C, C_star=C_STAR, gamma=GAMMA).fit(split.X[rows], split.y[rows])

    fit(slice(0, 1200))
    model, figures = measure_fit(fit, budget)
    return figures | {"accuracy": float(model.score(X_test, y_test))}


def cases(options):
    budget = 0.2 if options.quick else 1.0
    for n in [300] if options.quick else SIZES:
        for method in (OURS, THEIRS):
            for draw in range(options.draws):
                yield Case({"n": n, "draw": draw, "method": method}, measure,
                           (n, draw, method, options.universvm, options.limit, budget),
                           apart=True, limit=options.limit)  # fmt: skip


def report(results):
    keys = ["fit_s", "accuracy"]
    yield markdown_table(["n", "method", "draws", *keys], [
        [*names, len(some), *(mean(some, key) for key in keys)]
        for names, some in group(results.records, "n", "method").items()
    ])  # fmt: skip


def entries(results):
    found = group(results.where(n=SIZES[-1]), "method")
    rows = [[name, mean(some, "fit_s"), mean(some, "accuracy")] for name, some in found.items()]
    return [results.entry(
        "s3vm-family", ["fit, s", "accuracy"], rows, unit="s; accuracy", formats=["3g", ".4f"],
        label="50 labels, 5000 unlabelled rows",
    )] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries,
    settings={
        "draws": Setting(6, "draws of the family"),
        "universvm": Setting(os.environ.get("UNIVERSVM"), "UniverSVM's program", str),
        "limit": Setting(300.0, "seconds for one fit"),
    },
    quick={"draws": 1},
)  # fmt: skip
