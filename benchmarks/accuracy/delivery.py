"""What fit_table delivers: how often it exchanges the model, and how often that is right.

    python benchmarks delivery --data FOLDER [--parts few pu made] [--draws 2] [--budget 20]

few  Tables with 60 and 300 labels drawn at random, up to 1200 rows in all. Accuracy on up to 2000
     rows that no model saw.
pu   100 labelled positives and 3000 unlabelled rows, the prior estimated. ROC AUC and accuracy on
     up to 3000 rows that no model saw.

made Tables whose truth is known. In half of them classes follow a rule about one or two columns
     of one unit (bands, boxes, checkers), which trees see more easily than distances do; in the
     others a plane, clusters, or noise. 12 columns, 400 rows, 100 and 240 of them labelled.

fit_table runs as users run it. The model that it fits first and the one that it delivers are both
scored by the hidden labels. An exchange is right if the delivered model is truly better, by the
measure of its comparison: accuracy (few, made), ROC AUC (pu).

Writes delivery.md and delivery.json (delivery-quick.* with --quick).
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from shared.common import (
    data_folder,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    write_json,
    write_text,
)
from shared.pu_data import REAL_SETS, label_some
from sklearn.metrics import roc_auc_score

from fewlabels.pipeline.training.train import train

# File and positive classes; None keeps the classes.
FEW = {
    "australian": None, "diabetes": None, "heart_statlog": None, "ionosphere": None,
    "adbench_magic_gamma": None, "phishing": None, "cod_rna": None, "adbench_spambase": None,
    "bank_additional": None, "ijcnn1": None, "adbench_pageblocks": None,
    "adbench_waveform": None, "adbench_satellite": None, "mushrooms": None,
}  # fmt: skip
ROWS, TESTED = 1200, {"few": 2000, "pu": 3000}
LABELS = {"few": (60, 300), "pu": (100,), "made": (100, 240)}


def few_problem(folder, name, seed, n_labels):
    """A table with labels of two classes and blanks, rows to test, and their classes."""
    X, y = load_set(folder, name)
    y = np.unique(y, return_inverse=True)[1].ravel()
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(ROWS, (3 * len(y)) // 5)
    rows, test = order[:n], order[n : n + TESTED["few"]]
    kind = np.array(["c0", "c1"])[y[rows]].astype(object)
    kind[min(n_labels, n // 2) :] = ""
    return frame_of(X[rows]).assign(kind=kind), frame_of(X[test]), y[test] == 1


def pu_problem(folder, name, seed, n_labels):
    """The same with labels of one class."""
    source = REAL_SETS[name]
    X, y = load_set(folder, source.file)
    y = np.isin(y, source.positive)
    labelled, rest = label_some(y, n_labels, np.random.default_rng(seed))
    rows, test = np.split(rest[: 3000 + TESTED["pu"]], [3000])
    kind = np.repeat(np.array(["p", ""], object), [len(labelled), len(rows)])
    train_rows = np.concatenate([labelled, rows])
    return frame_of(X[train_rows]).assign(kind=kind), frame_of(X[test]), y[test]


def _checkers(X):
    return (X[:, 0] > 0) ^ (X[:, 1] > 0)


MADE = {
    "band": lambda X, rng: np.abs(X[:, 0]) < 0.67,
    "box": lambda X, rng: (np.abs(X[:, 0]) < 1.0) & (np.abs(X[:, 1]) < 1.1),
    "checkers": lambda X, rng: _checkers(X),
    "noisy band": lambda X, rng: (np.abs(X[:, 0]) < 0.67) ^ (rng.random(len(X)) < 0.1),
    "plane": lambda X, rng: X @ rng.normal(size=X.shape[1]) > 0,
    "clusters": lambda X, rng: _clustered(X, rng),
    "noisy plane": lambda X, rng: X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X)) > 0,
    "noise": lambda X, rng: rng.random(len(X)) < 0.5,
}  # fmt: skip


def _clustered(X, rng):
    """Classes that are three clusters each, and rows moved there."""
    place = rng.integers(0, 6, len(X))
    X += rng.normal(0.0, 1.5, (6, X.shape[1]))[place]
    return place < 3


def made_problem(folder, name, seed, n_labels):
    """A table of a known rule, rows to test, and their classes."""
    rng = np.random.default_rng([seed, list(MADE).index(name)])
    X = np.clip(rng.normal(size=(4400, 12)), -1.5, 1.5)
    y = MADE[name](X, rng)
    kind = np.array(["c0", "c1"])[y[:400].astype(int)].astype(object)
    kind[n_labels:] = ""
    return frame_of(X[:400]).assign(kind=kind), frame_of(X[400:]), y[400:]


def frame_of(X):
    return pd.DataFrame(np.asarray(X, float), columns=[f"x{k}" for k in range(X.shape[1])])


def measure(problem, part, seed, budget):
    """First and delivered model of a table, and what the hidden labels say of both."""
    frame, test, truth = problem
    saved, started = [], time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = train(
            frame, "kind", time_budget=budget, random_state=seed, save=saved.append
        )  # fmt: skip
    seconds = time.perf_counter() - started
    found = {
        "seconds": seconds,
        "outcome": training.comparison.outcome if training.comparison is not None else None,
        "delivered": training.metadata["training"]["delivered"],
    }
    for name, one in (("first", saved[0]), ("last", saved[-1])):
        scores = one.pipeline.decision_function(test)
        answers = one.pipeline.predict(test)
        classes = one.pipeline[-1].classes_
        found[name] = {
            "machine": one.metadata["method"],
            "accuracy": float(np.mean((answers == classes[1]) == truth)),
            "auc": float(roc_auc_score(truth, scores)),
        }
    if part != "pu":
        chances = training.pipeline.predict_proba(test)[:, 1] if hasattr(
            training.pipeline, "predict_proba") else None  # fmt: skip
        found["ece"] = None if chances is None else calibration_error(chances, truth)
    else:
        found["ece"] = calibration_error(training.pipeline.predict_proba(test)[:, 1], truth)
    return found


def calibration_error(chances, truth, bins=10):
    """Mean distance of probabilities and frequencies in ten bins of equally many rows."""
    order = np.argsort(chances, kind="stable")
    parts = np.array_split(order, bins)
    return float(sum(len(p) * abs(chances[p].mean() - truth[p].mean()) for p in parts)
                 / len(truth))  # fmt: skip


def tables(records):
    lines, every = [], []
    for (part, n_labels), group in pd.DataFrame(records).groupby(["part", "labels"]):
        key = "auc" if part == "pu" else "accuracy"
        first = np.array([one[key] for one in group["first"]])
        last = np.array([one[key] for one in group["last"]])
        own = [np.array([one["accuracy"] for one in group[k]]) for k in ("first", "last")]
        exchanged = np.array([one is not None for one in group["delivered"]])
        right = exchanged & (last > first)
        every += list((last - first)[exchanged])
        lines.append([
            part, n_labels, len(group), int(exchanged.sum()), int(right.sum()),
            f"{first.mean():.3f}", f"{last.mean():.3f}", f"{own[0].mean():.3f}",
            f"{own[1].mean():.3f}", f"{group['ece'].astype(float).mean():.3f}",
            f"{group['seconds'].median():.1f}",
        ])  # fmt: skip
    every = np.array(every)
    summary = "No model was exchanged."
    if len(every):
        summary = (
            f"{len(every)} models were exchanged; {int(np.sum(every > 0))} of the delivered ones "
            f"({100 * np.mean(every > 0):.0f} %) are truly better, by {every.mean():.3f} on "
            "average."
        )
    head = ["part", "labels", "tables", "exchanged", "right", "first model", "delivered",
            "accuracy, first", "delivered", "ECE", "median seconds"]  # fmt: skip
    return [summary, markdown_table(head, lines)]


PARTS = {"few": few_problem, "pu": pu_problem, "made": made_problem}


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("--resume", action="store_true", help="keep what the file has already")
    args = parser.parse_args()
    stem = "delivery-quick" if args.quick else "delivery"
    path = Path(args.out) / f"{stem}.json"
    records = json.loads(path.read_text())["records"] if args.resume and path.exists() else []
    known = {(r["part"], r["set"], r["labels"], r["seed"]) for r in records}
    names = {"few": list(FEW), "pu": list(REAL_SETS), "made": list(MADE)}
    if args.quick:
        names = {"few": ["australian"], "pu": ["annthyroid"], "made": ["band"]}
        args.draws = 1
    folder = None if args.parts == ["made"] else data_folder(args, [])
    for seed in range(args.draws):
        for part in args.parts:
            for name in names[part]:
                for n_labels in LABELS[part]:
                    if (part, name, n_labels, seed) in known:
                        continue
                    problem = PARTS[part](folder, name, seed, n_labels)
                    found = measure(problem, part, seed, args.budget)
                    records.append(
                        {"part": part, "set": name, "labels": n_labels, "seed": seed, **found}
                    )
                    first, last = found["first"], found["last"]
                    print(f"{part} {name} {n_labels} {seed}: {first} -> {last}", flush=True)
                    write_json(path, {"machine": machine(), "records": records})
    text = ["# What fit_table delivers", machine_line(machine())]
    text += ["```\n" + __doc__.split("\n\n", 2)[2].strip("\n") + "\n```", *tables(records)]
    write_text(Path(args.out) / f"{stem}.md", "\n\n".join(text) + "\n")
    print(*tables(records), sep="\n\n")


if __name__ == "__main__":
    main()
