"""Steps of IL-S3VM and IL-BCS3VM exactly as printed: what the papers' statements and tables count.

events:   Algorithm 1 of Gu et al. (2018) on doubled samples (tests/reference/il_s3vm.py) on clouds
          of 40 rows to which ten are added, 30 draws, rows as drawn and rounded, so that many tie:
          steps of no length (Corollary 3), what A holds, and how often W rises where it holds the
          added sample and flipped ones (Theorem 3). Needs no data.
changing: the same algorithm on 400 rows of three sets: iterations per added row, how many of them
          leave A non-empty, sign changes, next to Tables 2 and 3.
parts:    Algorithms 2, 1 and 3 of Yu et al. (2019) on these sets: steps of taking the balancing
          constraint out, adding a row, and putting the constraint back, next to Table 2.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
from shared.common import group, mean
from study import Case, Setting, Study

from fewlabels.kernels import RBF, Linear, Polynomial
from fewlabels.problem import RowPenalties
from fewlabels.solvers.path import PathFollower

from . import data, published
from .data import C_STAR, C

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
from reference.il_s3vm import NO_LENGTH, IncrementalS3VM, NotCovered, clouds

KERNELS = {"linear": Linear(), "poly": Polynomial(gamma=1.0, degree=2, coef0=1.0), "rbf": RBF(0.1)}
TITLES = {"linear": "linear", "poly": "polynomial", "rbf": "Gaussian"}
SETS, SIZE = ("usps", "text", "madelon"), 400
N_BEFORE, N_ADDED = 40, 10


def penalties(label):
    """Penalty of one row."""
    if label:
        return RowPenalties.labelled([int(label)], C=C)
    return RowPenalties.unlabelled(C_star=C_STAR, n=1)


def path_of(X, label, kernel, balance=None, target=None):
    """A local minimum of rows of which the labelled ones come first."""
    path, known = PathFollower(KERNELS[kernel], balance=balance), label != 0
    path.add(X[: known.sum()], RowPenalties.labelled(label[known].astype(int), C=C))
    rows = RowPenalties.unlabelled(C_star=C_STAR, n=int((~known).sum()))
    path.add(X[known.sum() : len(label)], rows, target=target)
    return path


def as_printed(X, label, kernel):
    """The paper's algorithm at that local minimum."""
    path = path_of(X, label, kernel)
    sign = np.where(label == 0, path.signs, label)
    K = matrix(kernel, X)
    return IncrementalS3VM(K, label, path.a, sign, -path.multiplier, C, C_STAR)


def matrix(kernel, X):
    """Kernel matrix of dense or sparse rows."""
    X = X.toarray() if hasattr(X, "toarray") else X
    K = X @ X.T
    if kernel == "poly":
        return (K + 1.0) ** 2
    size = np.diag(K)
    return K if kernel == "linear" else np.exp(-0.1 * np.maximum(size[:, None] + size - 2 * K, 0))


def events(rounded, kernel, seed):
    """Steps of a draw by what A holds."""
    X, label = clouds(seed, N_BEFORE, N_ADDED, rounded)
    paper, before = as_printed(X, label[:N_BEFORE], kernel), 0
    try:
        for i in range(N_BEFORE, len(X)):
            paper.add(i, label[i])
            before = len(paper.steps)
        is_endless = False
    except NotCovered:
        is_endless = True
    steps = paper.steps[:before]
    kinds = [step.kind for step in steps]
    return {
        "steps": len(steps),
        "without_length": sum(step.length < NO_LENGTH for step in steps),
        **{kind: kinds.count(kind) for kind in ("added", "flipped", "both")},
        "rises": sum(step.rise > 0 for step in steps if step.kind == "both"),
        "sign_changes": sum(step.left == "flip" for step in steps),
        "endless": is_endless,
    }


def problem(folder, name, n, trials, balanced):
    """Rows with labelled ones first, their labels, and true labels of new rows."""
    drawn = data.draw(folder, name, n, 0, balanced=balanced, extra=trials)
    return drawn.X, np.nan_to_num(drawn.given), drawn.y[n:]


def changing(folder, name, kernel, n, trials):
    """Iterations, iterations that leave A non-empty, and sign changes of every added row."""
    X, label, y = problem(folder, name, n, trials, balanced=False)
    base, records = as_printed(X, label, kernel), []
    for kind in ("labelled", "unlabelled"):
        for i, true in enumerate(y, len(label)):
            paper = copy.deepcopy(base)
            paper.add(i, true if kind == "labelled" else 0)
            steps = len(paper.steps)
            flips = sum(step.left == "flip" for step in paper.steps)
            records.append(
                {
                    "kind": kind,
                    "iterations": steps,
                    "non_empty": max(0, steps - 1),
                    "sign_changes": flips,
                }
            )
    return records


def parts(folder, name, kernel, n, trials):
    """Steps of taking the constraint out, adding a row, and putting the constraint back."""
    X, label, y = problem(folder, name, n, trials, balanced=True)
    known, records = label[label != 0], []
    base = path_of(X, label, kernel, "paper", float(known.mean()))
    for kind in ("labelled", "unlabelled"):
        for i, true in enumerate(y[:10], len(label)):
            path = copy.deepcopy(base)
            row = penalties(true if kind == "labelled" else 0)
            target = float(np.append(known, true).mean()) if kind == "labelled" else None
            calls = {
                "out": (path._remove_virtual_row,),
                "added": (path._add_rows, X[i : i + 1], row, None, target),
                "back": (path._virtual_row.insert,),
            }
            records.append({"kind": kind} | {key: steps_of(path, c) for key, c in calls.items()})
    return records


def steps_of(path, part):
    """Steps that one part of an update takes."""
    before = path.n_steps
    path._queued.append(part)
    path.run()
    return path.n_steps - before


def cases(options):
    if "events" in options.parts:
        for rounded in (False, True):
            for kernel in ("linear", "rbf"):
                for seed in range(options.draws):
                    key = {"part": "events", "rounded": rounded, "kernel": kernel, "seed": seed}
                    yield Case(key, events, (rounded, kernel, seed))
    for part, function in (("changing", changing), ("parts", parts)):
        for name in SETS if part in options.parts and options.data is not None else ():
            for kernel in KERNELS:
                given = (options.data, name, kernel, options.size, options.trials)
                yield Case({"part": part, "set": name, "kernel": kernel}, function, given)


# -- tables --------------------------------------------------------------------------------------


def event_rows(records):
    for (rounded, kernel), some in group(records, "rounded", "kernel").items():
        total = {
            key: sum(r[key] for r in some) for key in some[0] if isinstance(some[0][key], int)
        }
        kinds = ("without_length", "added", "flipped", "both")
        yield [
            f"{TITLES[kernel]}, {'rounded' if rounded else 'as drawn'}",
            total["steps"],
            *(total[key] / total["steps"] for key in kinds),
            total["rises"] / total["both"] if total["both"] else None,
            total["sign_changes"],
            total["endless"],
        ]


def changing_rows(records):
    tables = {"labelled": published.ADDED_LABELLED, "unlabelled": published.ADDED_UNLABELLED}
    for (name, kernel, kind), some in group(records, "set", "kernel", "kind").items():
        printed, k = tables[kind][name][SIZE], list(KERNELS).index(kernel)
        yield [
            f"{name}, {TITLES[kernel]}, {kind}",
            printed[k][0],
            printed[k + 3][0],
            *(mean(some, key) for key in ("iterations", "non_empty", "sign_changes")),
        ]


def part_rows(records):
    for (name, kernel, kind), some in group(records, "set", "kernel", "kind").items():
        k = list(KERNELS).index(kernel) + 3 * (kind == "unlabelled")
        yield [
            f"{name}, {TITLES[kernel]}, {kind}",
            published.BALANCED[name][SIZE][k][0],
            *(mean(some, key) for key in ("out", "added", "back")),
        ]


OF_A_SET = f"set of {SIZE} rows, kernel, added row"
TABLES = (
    ("events", event_rows, "il-s3vm-events",
     ["steps", "without length", "A: the added sample", "A: flipped samples", "A: both",
      "W rises, of these", "sign changes", "endless"],
     {"label": "kernel, rows", "unit": "shares of steps; counts",
      "formats": [",", *[".0%"] * 5, ",", ","]}),
    ("changing", changing_rows, "il-s3vm-changing",
     ["iterations, paper", "Changing-mu, paper", "iterations", "that leave A non-empty",
      "sign changes"],
     {"label": OF_A_SET, "unit": "mean per added row", "formats": [".1f"] * 5}),
    ("parts", part_rows, "il-bcs3vm-parts",
     ["paper", "constraint out", "row added", "constraint back"],
     {"label": OF_A_SET, "unit": "steps per added row", "formats": [".1f"] * 4}),
)  # fmt: skip


def entries(results):
    return [
        results.entry(name, columns, list(rows(found)), **about)
        for part, rows, name, columns, about in TABLES
        if (found := results.where(part=part))
    ]


STUDY = Study(
    __doc__,
    cases,
    entries=entries,
    data="optional",
    choices={"parts": ["events", "changing", "parts"]},
    settings={
        "draws": Setting(30, "draws of the part events"),
        "size": Setting(SIZE, "rows of a set"),
        "trials": Setting(20, "rows added per problem"),
    },
    quick={"draws": 1, "size": 60, "trials": 2},
)
