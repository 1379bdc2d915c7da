"""A few labels: what ``fit_table`` delivers, and what users of other methods get.

    FEWLABELS_DATA=/path/to/data python benchmarks few_labels
    python benchmarks few_labels --data FOLDER --out FOLDER [--draws 2] [--parts natural ...]

natural: fourteen tables, at most 1200 training rows, 10, 40 or 100 of them labelled at random (a
class without a label gets one). equal: ten tables, 20 or 60 labels, half of
each class whatever the class ratio is. Accuracy, ROC AUC and expected calibration error (ten bins
of equal numbers of rows) on rows held out, at most 2000. ssl: official splits; error on the
unlabelled rows.

With equal numbers of labels, ``fit_table`` is also given the class ratio of the training rows: a
bound, not a method.

The calibration error of probabilities that are right isn't zero, as bins hold few rows:
calibration_floor says what it would be.

ours: ``fit_table`` with ``--seconds``. Others: scikit-learn as users run it, on columns of mean 0
and variance 1. Rules were chosen on the sets of ``CHOOSING``; the others report.

Writes few_labels.md and few_labels.json, as it goes.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from shared.common import (
    data_folder,
    load_set,
    machine,
    options,
    standardised,
    write_json,
    write_text,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from fewlabels import S3VM, fit_table, tune

CHOOSING = {
    "australian", "diabetes", "adbench_magic_gamma", "cod_rna", "bank_additional",
    "adbench_pageblocks", "adbench_satellite", "ssl_usps", "ssl_text",
}  # fmt: skip
NATURAL = [
    "australian", "heart_statlog", "diabetes", "phishing", "adbench_magic_gamma",
    "adbench_spambase", "cod_rna", "ionosphere", "bank_additional", "ijcnn1",
    "adbench_pageblocks", "adbench_waveform", "adbench_satellite", "mushrooms",
]  # fmt: skip
EQUAL = [
    "bank_additional", "ijcnn1", "adbench_pageblocks", "adbench_waveform", "adbench_satellite",
    "adbench_magic_gamma", "adbench_spambase", "cod_rna", "adbench_annthyroid", "adbench_cardio",
]  # fmt: skip
LABELS = {"natural": (10, 40, 100), "equal": (20, 60), "ssl": (10, 100, 50)}
SSL = [
    ("ssl_usps", "idx_labeled_10", 10), ("ssl_text", "idx_labeled_10", 10),
    ("ssl_coil2", "idx_labeled_10", 10), ("ssl_usps", "idx_labeled_100", 100),
    ("ssl_text", "idx_labeled_100", 100), ("ssl_coil2", "idx_labeled_100", 100),
    ("chapelle_g50c", "idx_labeled", 50), ("chapelle_text", "idx_labeled", 50),
    ("chapelle_uspst", "idx_labeled", 50),
]  # fmt: skip
TRAINED, TESTED, BINS = 1200, 2000, 10
OURS = "fit_table"
GIVEN = "fit_table, class ratio given"


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="time budget of fit_table")
    parser.add_argument("--parts", nargs="+", choices=list(LABELS), default=list(LABELS))
    parser.add_argument("--sets", nargs="+")
    args = parser.parse_args()
    if args.quick:
        args.draws, args.sets, args.parts = 1, args.sets or ["adbench_cardio"], ["equal"]
    folder, records = data_folder(args), []
    stem = "few_labels" + ("-quick" if args.quick else "")
    args.out.mkdir(parents=True, exist_ok=True)
    for draw in range(args.draws):
        for part in args.parts:
            for name, n_labels, run in cases(part, folder, args):
                for found in run(draw):
                    records.append({
                        "part": part, "set": name, "labels": n_labels, "draw": draw,
                        "half": "choosing" if name in CHOOSING else "reporting", **found,
                    })  # fmt: skip
                write_json(
                    args.out / f"{stem}.json",
                    {"machine": machine(), "seconds": args.seconds, "records": records},
                )
                write_text(args.out / f"{stem}.md", as_markdown(pd.DataFrame(records)))
            print(draw, part, flush=True)
    print(as_markdown(pd.DataFrame(records)))


def cases(part, folder, args):
    """Names, numbers of labels, and functions of a draw that give records."""
    if part == "ssl":
        for name, key, n_labels in SSL:
            if not args.sets or name in args.sets:
                X, y, splits = read_splits(folder, name, key)
                yield name, n_labels, lambda draw, X=X, y=y, s=splits: of_split(X, y, s[draw])
        return
    for name in NATURAL if part == "natural" else EQUAL:
        if args.sets and name not in args.sets:
            continue
        X, y = load_set(folder, name)
        y = np.unique(y, return_inverse=True)[1].ravel()
        for n in LABELS[part]:
            yield (
                name,
                n,
                lambda draw, X=X, y=y, n=n: of_table(X, y, n, draw, part == "equal", args.seconds),
            )


# -- tables ------------------------------------------------------------------------------------


def drawn(y, n_labels, draw, equal):
    """Training and test rows, and which of the training rows are labelled."""
    rng = np.random.default_rng([draw, n_labels])
    order = rng.permutation(len(y))
    size = min(TRAINED, int(0.6 * len(y)))
    train, test = order[:size], order[size : size + TESTED]
    if equal:
        classes = [np.flatnonzero(y[train] == c)[: n_labels // 2] for c in (0, 1)]
        return train, test, np.concatenate(classes)
    known = np.arange(n_labels)
    for c in (0, 1):
        if not np.any(y[train][known] == c):
            known = np.append(known[1:], np.flatnonzero(y[train] == c)[0])
    return train, test, known


def of_table(X, y, n_labels, draw, equal, seconds):
    """A record of every method."""
    train, test, known = drawn(y, n_labels, draw, equal)
    yield scored(OURS, y[test], *ours(X[train], y[train], known, X[test], seconds))
    if equal:
        share = float(np.mean(y[train]))
        ratio = {"yes": share, "no": 1.0 - share}
        yield scored(GIVEN, y[test], *ours(X[train], y[train], known, X[test], seconds, ratio))
    A, B = standardised(X[train], X[test])
    given = np.full(len(train), -1)
    given[known] = y[train][known]
    for name, make in RIVALS.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
            if name in ALL_ROWS:
                model.fit(A, given)
            else:
                model.fit(A[known], given[known])
            p = model.predict_proba(B)[:, 1]
        yield scored(name, y[test], p > 0.5, p, p, time.perf_counter() - started, {})


def ours(X, y, known, new, seconds, ratio=None):
    """Predictions, scores, probabilities, seconds and settings of ``fit_table``."""
    columns = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=columns)
    label = np.full(len(y), None, dtype=object)
    label[known] = np.where(y[known] == 1, "yes", "no")
    frame["class"] = label
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_table(frame, "class", time_budget=seconds, report=False, class_ratio=ratio)
        passed = time.perf_counter() - started
        predicted = fit.predict(pd.DataFrame(new, columns=columns))
        score = fit.model.decision_function(pd.DataFrame(new, columns=columns))
    p = np.asarray(fit.model.predict_proba(pd.DataFrame(new, columns=columns)))[:, 1]
    facts = fit.metadata["training"]
    tuning = facts["tuning"] or {}
    return (
        np.asarray(predicted["label"] == "yes"), score, p, passed,
        {"settings": facts["settings"], "unlabeled_rows": tuning.get("unlabeled_rows")},
    )  # fmt: skip


RIVALS = {
    "random forest": lambda: RandomForestClassifier(300, random_state=0),
    "extremely randomized trees": lambda: ExtraTreesClassifier(300, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "self-training": lambda: SelfTrainingClassifier(
        RandomForestClassifier(100, random_state=0), threshold=0.9
    ),
    "label spreading": lambda: LabelSpreading(kernel="knn", n_neighbors=10, max_iter=100),
}
ALL_ROWS = ("self-training", "label spreading")


def scored(name, truth, predicted, score, p, seconds, more):
    return {
        "method": name,
        "accuracy": float(np.mean(predicted == (truth == 1))),
        "auc": float(roc_auc_score(truth, np.nan_to_num(score, nan=0.5))),
        "calibration_error": calibration_error(truth, p),
        "calibration_floor": calibration_floor(p),
        "seconds": seconds,
        **more,
    }


def calibration_error(truth, p):
    """Expected calibration error over bins of equal numbers of rows."""
    p = np.nan_to_num(p, nan=0.5)  # label spreading gives NaN far from all labels
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part)]
    return float(
        sum(len(part) * abs(np.mean(p[part]) - np.mean(truth[part])) for part in parts) / len(p)
    )


def calibration_floor(p, draws=50):
    """What the calibration error of these probabilities would be if they were right.

    A bin's share of positives is off by chance, the more so the fewer rows were held out.
    """
    p, rng = np.nan_to_num(p, nan=0.5), np.random.default_rng(0)
    return float(np.mean([calibration_error(rng.random(len(p)) < p, p) for _ in range(draws)]))


# -- official splits ---------------------------------------------------------------------------


def read_splits(folder, file, key):
    if (folder / f"{file}_X.npz").is_file():
        X = sp.csr_array(sp.load_npz(folder / f"{file}_X.npz")).astype(float)
        values = np.load(folder / f"{file}_y.npz")
    else:
        values = np.load(folder / f"{file}.npz")
        X = values["X"].astype(float)
    return X, np.unique(values["y"], return_inverse=True)[1].ravel(), values[key]


def of_split(X, y, labelled):
    """Accuracy on unlabelled rows: ``tune``, which ``fit_table`` calls, and rivals."""
    free = np.setdiff1d(np.arange(len(y)), labelled)
    given = np.full(len(y), np.nan)
    given[labelled] = y[labelled]
    spreading = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.9, max_iter=200)
    calls = {
        OURS: lambda: tune(S3VM(), X, given).transduction_,
        "S3VM()": lambda: S3VM().fit(X, given).transduction_,
        "label spreading": lambda: (
            spreading.fit(X, np.where(np.isnan(given), -1, given).astype(int)).transduction_
        ),
        "SVC": lambda: SVC(C=10.0).fit(X[labelled], y[labelled]).predict(X),
    }
    for name, call in calls.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = np.asarray(call())
        yield {
            "method": name,
            "accuracy": float(np.mean(predicted[free] == y[free])),
            "seconds": time.perf_counter() - started,
        }


# -- tables of results -------------------------------------------------------------------------


def as_markdown(table):
    lines = []
    for (part, half), one in [
        *table.groupby(["part", "half"], sort=False),
        *(((part, "all"), one) for part, one in table.groupby("part", sort=False)),
    ]:
        lines += ["", f"### {part}, {half}: {one['set'].nunique()} sets", ""]
        given, one = one[one["method"] == GIVEN], one[one["method"] != GIVEN]
        measures = ["accuracy"]
        if part != "ssl":
            measures += ["auc", "calibration_error", "calibration_floor"]
        counts = sorted(one["labels"].unique())
        head = " | ".join(f"{n}: {', '.join(measures)}, rank" for n in counts)
        lines += [f"| method | {head} |", "|---" * (len(counts) + 1) + "|"]
        by = "accuracy" if part == "ssl" else "auc"
        ranked = one.assign(rank=one.groupby(["set", "labels", "draw"])[by].rank(ascending=False))
        for method, own in ranked.groupby("method", sort=False):
            cells = []
            for n in counts:
                mean = own[own["labels"] == n][[*measures, "rank"]].mean()
                cells.append(", ".join(f"{value:.3f}" for value in mean))
            lines.append(f"| {method} | {' | '.join(cells)} |")
        for measure in measures[:2]:
            best = one.groupby(["set", "labels", "draw"])[measure].max().groupby("labels").mean()
            known = " | ".join(f"{best[n]:.3f}" for n in counts)
            lines.append(f"| the best method of each draw, in hindsight: {measure} | {known} |")
            if len(given):
                known = given.groupby("labels")[measure].mean()
                means = " | ".join(f"{known[n]:.3f}" for n in counts)
                lines.append(f"| {GIVEN}: {measure} | {means} |")
        for measure in measures[:2]:
            lines += paired(one, measure)
    return "\n".join(lines) + "\n"


def paired(table, measure):
    """By how much ours is ahead of the best other method, with a 95 % interval over sets."""
    lines = [""]
    for n, part in table.groupby("labels"):
        wide = part.pivot_table(index="set", columns="method", values=measure)
        if OURS not in wide or wide.shape[1] < 2:
            continue
        best = wide.drop(columns=OURS).mean().idxmax()
        apart = (wide[OURS] - wide[best]).dropna()
        half = 1.96 * apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        lines.append(
            f"{n} labels, {measure}: {apart.mean():+.3f} (95 % interval {apart.mean() - half:+.3f}"
            f" to {apart.mean() + half:+.3f}) compared with {best}.\n"
        )
    return lines


if __name__ == "__main__":
    main()
