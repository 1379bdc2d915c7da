"""Errors of S3VM with several classes beside what else takes a few labels of each.

    FEWLABELS_DATA=/path/to/data python benchmarks several_classes
    python benchmarks several_classes --data FOLDER --out FOLDER [--draws 3]

uspst: ten classes, 50 labels, the official splits (Chapelle and Zien 2005). newsgroups (mini): 20
classes, 5 random labels of each, TF-IDF (sublinear), linear kernel. Errors on the unlabelled
rows. Settings are defaults on both sides, but for the cost of the SVM of the labels, 10 as S3VM's,
and the number of neighbours, 5 and 10. "manifold" is S3VM's kernel of that name, as it is.

Writes several_classes.md and .json.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.sparse as sp
from shared.common import data_folder, machine, options, write_json, write_text
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from fewlabels import S3VM

LABELS = 5


def digits(folder, draw):
    """Rows, classes and the labelled rows of an official split."""
    data = np.load(folder / "chapelle_uspst.npz", allow_pickle=False)
    return data["X"].astype(float), data["y"], np.ravel(data["idx_labeled"][draw])


def newsgroups(folder, draw):
    """TF-IDF of posts, groups, and random labelled rows of each."""
    X = sp.csr_array(sp.load_npz(folder / "mini_newsgroups_X.npz"), dtype=float)
    y = np.load(folder / "mini_newsgroups_y.npz", allow_pickle=False)["y"]
    X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
    rng = np.random.default_rng(draw)
    told = [rng.choice(np.flatnonzero(y == k), LABELS, replace=False) for k in np.unique(y)]
    return X, y, np.concatenate(told)


SETS = {"uspst": (digits, "rbf"), "newsgroups": (newsgroups, "linear")}


def methods(kernel):
    spreading = {f"label spreading, {k} neighbours": LabelSpreading(kernel="knn", n_neighbors=k)
                 for k in (5, 10)}  # fmt: skip
    return {
        "S3VM": S3VM(kernel=kernel),
        "S3VM, not annealed": S3VM(kernel=kernel, annealing=False),
        **({"S3VM, manifold": S3VM(kernel="manifold")} if kernel == "rbf" else {}),
        "SVM of the labels": SVC(C=10.0, kernel=kernel),
        "self-training": SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
        **spreading,
    }


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=3, help="splits of each set")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    args = parser.parse_args()
    folder = data_folder(args)
    records = []
    for name, (load, kernel) in SETS.items():
        if name not in args.sets:
            continue
        for draw in range(1 if args.quick else args.draws):
            X, y, told = load(folder, draw)
            free = np.setdiff1d(np.arange(len(y)), told)
            given = np.full(len(y), -1)
            given[told] = y[told]
            for method, estimator in methods(kernel).items():
                started = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if "of the labels" in method:
                        estimator.fit(X[told], y[told])
                    else:
                        estimator.fit(X, given)
                labels = getattr(estimator, "transduction_", None)
                # Self-training leaves rows that it is not sure of without a class there.
                in_place = labels is not None and len(labels) == len(y) and min(labels) >= 0
                found = labels[free] if in_place else estimator.predict(X[free])
                record = {"set": name, "draw": draw, "method": method,
                          "error": float(np.mean(found != y[free])),
                          "seconds": time.process_time() - started}  # fmt: skip
                records.append(record)
                print(record, flush=True)
    write_json(args.out / "several_classes.json", {"machine": machine(), "records": records})
    text = report(records)
    write_text(args.out / "several_classes.md", text)
    print(text)


def report(records):
    lines = ["| set | method | error, % | by split | CPU seconds |", "|---|---|---|---|---|"]
    for name, method in dict.fromkeys((r["set"], r["method"]) for r in records):
        ours = [r for r in records if (r["set"], r["method"]) == (name, method)]
        errors = [100 * r["error"] for r in ours]
        by_split = ", ".join(f"{e:.1f}" for e in errors)
        seconds = np.mean([r["seconds"] for r in ours])
        lines.append(f"| {name} | {method} | {np.mean(errors):.1f} | {by_split} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
