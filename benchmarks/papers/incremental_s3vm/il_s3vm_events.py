"""Steps of IL-S3VM and IL-BCS3VM exactly as printed: what the papers' statements and tables count.

    FEWLABELS_DATA=/path/to/data python benchmarks il_s3vm_events
    python benchmarks il_s3vm_events --data FOLDER --out FOLDER [--parts events changing parts]

events:    Algorithm 1 of Gu et al. (2018) on doubled samples (tests/reference/il_s3vm.py) on clouds of
           40 rows to which ten are added, 30 draws, rows as drawn and rounded, so that many tie:
           steps of no length (Corollary 3), what A holds, and how often W rises where it holds the
           added sample and flipped ones (Theorem 3). Needs no data.
changing:  the same algorithm on 400 rows of three sets: iterations per added row, how many of them leave
           A non-empty, sign changes, beside Tables 2 and 3.
parts:     Algorithms 2, 1 and 3 of Yu et al. (2019) on these sets: steps of taking the balancing
           constraint out, adding a row, and putting the constraint back, beside Table 2.

Writes il_s3vm_events.json, entries of results.json. A few minutes on one core.
"""  # noqa: E501

from __future__ import annotations

import copy
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from papers.incremental_s3vm import data, published
from papers.incremental_s3vm.data import C_STAR, C
from results import entry, write
from shared.common import data_folder, machine, options

from fewlabels.kernels import RBF, Linear, Polynomial
from fewlabels.problem import RowPenalties
from fewlabels.solvers.path import PathFollower

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
from reference.il_s3vm import NO_LENGTH, IncrementalS3VM, NotCovered, clouds

KERNELS = {"linear": Linear(), "poly": Polynomial(gamma=1.0, degree=2, coef0=1.0), "rbf": RBF(0.1)}
TITLES = {"linear": "linear", "poly": "polynomial", "rbf": "Gaussian"}
SETS, SIZE = ("usps", "text", "madelon"), 400
N_BEFORE, N_ADDED = 40, 10


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--trials", type=int, default=20, help="rows added per problem")
    args = parser.parse_args()
    args.folder = None if args.parts == ["events"] else data_folder(args)
    info = machine()
    about = {
        "program": "python benchmarks il_s3vm_events",
        "hardware": f"{info['cores']} cores, {info['processor']}",
    }
    entries = [entry(**PARTS[part](args), **about) for part in args.parts]
    for one in entries:
        for row in one["rows"]:
            print(one["name"], *row, sep=" | ")
    write(entries, args.out, "il_s3vm_events", quick=args.quick)


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


def events(args):
    """Steps without length, and what A holds."""
    rows = []
    for rounded in (False, True):
        for kernel in ("linear", "rbf"):
            steps, n_endless = [], 0
            for seed in range(3 if args.quick else 30):
                X, label = clouds(seed, N_BEFORE, N_ADDED, rounded)
                paper = as_printed(X, label[:N_BEFORE], kernel)
                before = 0
                try:
                    for i in range(N_BEFORE, len(X)):
                        paper.add(i, label[i])
                        before = len(paper.steps)
                except NotCovered:
                    n_endless += 1
                steps += paper.steps[:before]
            kinds = Counter(step.kind for step in steps)
            both = [step.rise > 0 for step in steps if step.kind == "both"]
            rows.append([
                f"{TITLES[kernel]}, {'rounded' if rounded else 'as drawn'}", len(steps),
                float(np.mean([step.length < NO_LENGTH for step in steps])),
                *(kinds[kind] / len(steps) for kind in ("added", "flipped", "both")),
                float(np.mean(both)) if both else None,
                sum(step.left == "flip" for step in steps), n_endless,
            ])  # fmt: skip
    columns = [
        "steps", "without length", "A: the added sample", "A: flipped samples", "A: both",
        "W rises, of these", "sign changes", "endless",
    ]  # fmt: skip
    return {
        "name": "il-s3vm-events", "label": "kernel, rows", "unit": "shares of steps; counts",
        "columns": columns, "rows": rows, "formats": [",", *[".0%"] * 5, ",", ","],
    }  # fmt: skip


def problems(args, *, balanced):
    """Sets, kernels, rows with labelled ones first, their labels, and true labels of new rows."""
    n = 60 if args.quick else SIZE
    for name in SETS:
        for kernel in KERNELS:
            drawn = data.draw(args.folder, name, n, 0, balanced=balanced, extra=args.trials)
            label = np.nan_to_num(drawn.given)
            yield name, kernel, drawn.X, label, drawn.y[n:]


def changing(args):
    """Iterations, iterations that leave A non-empty, and sign changes per added row."""
    rows = []
    tables = {"labelled": published.ADDED_LABELLED, "unlabelled": published.ADDED_UNLABELLED}
    for name, kernel, X, label, y in problems(args, balanced=False):
        base = as_printed(X, label, kernel)
        for kind, table in tables.items():
            counts = []
            for i, true in enumerate(y, len(label)):
                paper = copy.deepcopy(base)
                paper.add(i, true if kind == "labelled" else 0)
                n = len(paper.steps)
                flips = sum(step.left == "flip" for step in paper.steps)
                counts.append((n, max(0, n - 1), flips))
            k = list(KERNELS).index(kernel)
            printed = [table[name][SIZE][k][0], table[name][SIZE][k + 3][0]]
            title = f"{name}, {TITLES[kernel]}, {kind}"
            rows.append([title, *printed, *np.mean(counts, axis=0).tolist()])
    columns = [
        "iterations, paper", "Changing-mu, paper", "iterations", "that leave A non-empty",
        "sign changes",
    ]  # fmt: skip
    return {
        "name": "il-s3vm-changing", "label": f"set of {SIZE} rows, kernel, added row",
        "unit": "mean per added row", "columns": columns, "rows": rows, "formats": [".1f"] * 5,
    }  # fmt: skip


def parts(args):
    """Steps of taking the constraint out, adding a row, and putting the constraint back."""
    rows = []
    for name, kernel, X, label, y in problems(args, balanced=True):
        known = label[label != 0]
        base = path_of(X, label, kernel, "paper", float(known.mean()))
        for kind in ("labelled", "unlabelled"):
            counts = []
            for i, true in enumerate(y[:10], len(label)):
                path = copy.deepcopy(base)
                row = penalties(true if kind == "labelled" else 0)
                target = float(np.append(known, true).mean()) if kind == "labelled" else None
                counts.append([
                    steps_of(path, part)
                    for part in (
                        (path._remove_virtual_row,),
                        (path._add_rows, X[i : i + 1], row, None, target),
                        (path._virtual_row.insert,),
                    )
                ])  # fmt: skip
            k = list(KERNELS).index(kernel) + 3 * (kind == "unlabelled")
            printed = published.BALANCED[name][SIZE][k][0]
            title = f"{name}, {TITLES[kernel]}, {kind}"
            rows.append([title, printed, *np.mean(counts, axis=0).tolist()])
    columns = ["paper", "constraint out", "row added", "constraint back"]
    return {
        "name": "il-bcs3vm-parts", "label": f"set of {SIZE} rows, kernel, added row",
        "unit": "steps per added row", "columns": columns, "rows": rows, "formats": [".1f"] * 4,
    }  # fmt: skip


def steps_of(path, part):
    """Steps that one part of an update takes."""
    before = path.n_steps
    path._queued.append(part)
    path.run()
    return path.n_steps - before


PARTS = {"events": events, "changing": changing, "parts": parts}

if __name__ == "__main__":
    main()
