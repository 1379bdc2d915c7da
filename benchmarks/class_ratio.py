"""Labels with equal numbers of rows per class, from tables whose classes are not equal.

    FEWLABELS_DATA=/path/to/data python benchmarks/class_ratio.py
    python benchmarks/class_ratio.py --data FOLDER --out FOLDER [--draws 2] [--parts coverage ...]

comparison: 1200 training rows, 20 or 60 of them labelled, half of these from each class, the rest
of a table (at most 2000 rows) held out. Accuracy and ROC AUC on these. SVC: the labelled rows
alone, C=1, balanced classes, with the kernel of S3VM(kernel="trees"). Trees and logistic
regression: scikit-learn's defaults, 300 trees. "gentle" is C=1, C_star=.1.

coverage: labels as above, unlabelled rows drawn with 5, 20, 50 and 80 % of the second class (at
most 800). Error of ``label_shift``, and how often its 90 % interval holds the true share.

Settings were chosen on the first five sets; the others report.

Writes class_ratio.md and class_ratio.json.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from common import data_folder, load_set, machine, options, standardised, write_json, write_text
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from fewlabels import S3VM
from fewlabels.class_prior import label_shift
from fewlabels.kernels import TREES_FOR_CLASSES
from fewlabels.kernels.parameters import distance_gamma

CHOOSING = ["bank_additional", "ijcnn1", "adbench_pageblocks", "adbench_waveform"]
CHOOSING += ["adbench_satellite"]
REPORTING = ["adbench_magic_gamma", "adbench_spambase", "cod_rna", "adbench_annthyroid"]
REPORTING += ["adbench_cardio"]
LABELS, RATIOS = (20, 60), (0.05, 0.2, 0.5, 0.8)
TRAINED, TESTED, UNLABELLED = 1200, 2000, 800
PARTS = ("comparison", "coverage")


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--sets", nargs="+", choices=CHOOSING + REPORTING)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    args = parser.parse_args()
    if args.quick:
        args.draws, args.sets = 1, args.sets or ["adbench_cardio"]
    names = args.sets or CHOOSING + REPORTING
    folder = data_folder(args, names)
    records = {part: [] for part in args.parts}
    for name in names:
        X, y = load_set(folder, name)
        y = np.unique(y, return_inverse=True)[1].ravel()
        for n_labels in LABELS:
            for draw in range(args.draws):
                of = {"set": name, "half": half(name), "labels": n_labels, "draw": draw}
                for part in args.parts:
                    found = PROGRAMS[part](X, y, n_labels, draw)
                    records[part] += [{**of, **one} for one in found]
        print(name, flush=True)
    stem = "class_ratio" + ("-quick" if args.quick else "")
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / f"{stem}.json", {"machine": machine(), "records": records})
    text = "\n".join(TABLES[part](pd.DataFrame(records[part])) for part in args.parts)
    write_text(args.out / f"{stem}.md", text)
    print(text)


def half(name):
    return "choosing" if name in CHOOSING else "reporting"


# -- comparison ----------------------------------------------------------------------------------


def compared(X, y, n_labels, draw):
    """Accuracy and area of every method on rows held out."""
    rng = np.random.default_rng([draw, n_labels])
    order = rng.permutation(len(y))
    train, test = order[:TRAINED], order[TRAINED : TRAINED + TESTED]
    known = np.concatenate([np.flatnonzero(y[train] == c)[: n_labels // 2] for c in (0, 1)])
    given = np.full(len(train), np.nan)
    given[known] = y[train][known]
    X, new = standardised(X[train], X[test])
    free = np.isnan(given)
    for method, fit in METHODS.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, predicted, score = fit(X, given, new)
        ratio = getattr(model, "class_ratio_", None)
        yield {
            "method": method,
            "accuracy": float(np.mean(predicted == y[test])),
            "auc": float(roc_auc_score(y[test], score)),
            "off": np.nan if ratio is None else float(abs(ratio[1] - y[train][free].mean())),
            "seconds": time.perf_counter() - started,
        }


def ours(**settings):
    def fit(X, given, new):
        model = S3VM(**settings).fit(X, given)
        return model, model.predict(new), model.decision_function(new)

    return fit


def of_labels(make):
    def fit(X, given, new):
        known = ~np.isnan(given)
        model = make().fit(X[known], given[known])
        return model, model.predict(new), model.predict_proba(new)[:, 1]

    return fit


def svc(X, given, new):
    known = ~np.isnan(given)
    rows, labels = X[known], given[known]
    kernel = TREES_FOR_CLASSES.with_rows(rows, labels, gamma=distance_gamma(X))
    model = SVC(C=1.0, kernel="precomputed", class_weight="balanced")
    model.fit(kernel.values(rows, rows), labels)
    values = kernel.values(new, rows)
    return model, model.predict(values), model.decision_function(values)


GENTLE = {"C": 1.0, "C_star": 0.1}
METHODS = {
    "S3VM()": ours(),
    "S3VM(balance=False)": ours(balance=False),
    'S3VM(class_ratio="estimate")': ours(class_ratio="estimate"),
    "the same, gentle": ours(class_ratio="estimate", **GENTLE),
    'the same, gentle, kernel="trees"': ours(class_ratio="estimate", kernel="trees", **GENTLE),
    'gentle, kernel="trees", balance=False': ours(balance=False, kernel="trees", **GENTLE),
    "SVC, kernel of trees": svc,
    "extremely randomized trees": of_labels(lambda: ExtraTreesClassifier(300, random_state=0)),
    "random forest": of_labels(lambda: RandomForestClassifier(300, random_state=0)),
    "logistic regression": of_labels(lambda: LogisticRegression(max_iter=1000)),
}


def comparison_table(table):
    lines = []
    for name, part in table.groupby("half", sort=False):
        head = " | ".join(f"{n} labels: accuracy, AUC" for n in LABELS)
        lines += [f"### {name}, {part['set'].nunique()} sets", "", f"| | {head} | share off by |"]
        lines += ["|---" * (len(LABELS) + 2) + "|"]
        for method in METHODS:
            own = part[part["method"] == method]
            cells = []
            for n in LABELS:
                mean = own[own["labels"] == n][["accuracy", "auc"]].mean()
                cells.append(f"{mean['accuracy']:.3f}, {mean['auc']:.3f}")
            off = [own[own["labels"] == n]["off"].mean() for n in LABELS]
            off = "" if np.isnan(off).any() else " / ".join(f"{one:.3f}" for one in off)
            lines.append(f"| {method} | {' | '.join(cells)} | {off} |")
        lines.append("")
    return "\n".join(lines)


# -- coverage ------------------------------------------------------------------------------------


def covered(X, y, n_labels, draw):
    """Estimates and intervals for unlabelled rows of several class ratios."""
    for ratio in RATIOS:
        rng = np.random.default_rng([draw, n_labels, int(100 * ratio)])
        order = rng.permutation(len(y))
        first, second = order[y[order] == 0], order[y[order] == 1]
        labels = np.concatenate([first[: n_labels // 2], second[: n_labels // 2]])
        first, second = first[n_labels // 2 :], second[n_labels // 2 :]
        n = int(min(UNLABELLED, len(second) / ratio, len(first) / (1.0 - ratio)))
        if n < 150:
            continue
        k = min(int(rng.binomial(n, ratio)), len(second))
        free = np.concatenate([second[:k], first[: n - k]])
        given = np.concatenate([y[labels], np.full(len(free), np.nan)])
        found = label_shift(X[np.concatenate([labels, free])], given)
        low, high = found.intervals[1]
        true = float(y[free].mean())
        yield {
            "ratio": ratio, "true": true, "estimate": float(found.shares[1]),
            "off": float(abs(found.shares[1] - true)), "off of labels": abs(0.5 - true),
            "holds": bool(low <= true <= high), "width": float(high - low),
        }  # fmt: skip


def coverage_table(table):
    lines = ["| half | labels | cases | mean error | error of .5 | 90 % intervals hold | width |"]
    lines.append("|---" * 7 + "|")
    for (name, labels), part in table.groupby(["half", "labels"], sort=False):
        lines.append(
            f"| {name} | {labels} | {len(part)} | {part['off'].mean():.3f} "
            f"| {part['off of labels'].mean():.3f} | {100 * part['holds'].mean():.0f} % "
            f"| {part['width'].mean():.2f} |"
        )
    return "\n".join(lines) + "\n"


PROGRAMS = {"comparison": compared, "coverage": covered}
TABLES = {"comparison": comparison_table, "coverage": coverage_table}


if __name__ == "__main__":
    main()
