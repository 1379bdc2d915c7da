"""A few labels: what ``fit_table`` delivers, what users of other methods get, and a bound.

natural: fourteen tables, at most 1200 training rows, 10, 40 or 100 of them labelled at random (a
class without a label gets one). equal: ten tables, 20 or 60 labels, half of each class whatever
the class ratio is; ``fit_table`` is also given the class ratio of the training rows: a bound, not
a method. Accuracy, ROC AUC and expected calibration error (ten bins of equal numbers of rows) on
at most 2000 rows held out. The calibration error of probabilities that are right isn't zero, as
bins hold few rows: calibration_floor estimates it. ``fit_table`` has ``--seconds``. The others are
scikit-learn's as users run them, on columns of mean 0 and variance 1.

bound: ROC AUC of eleven methods and an average (the ranks of five, added up) that learn from the
labels of "natural" in ``--bound-draws`` draws. For each draw of a table, the bound takes the
method that was best on the table's other draws, by their test rows: nobody who has labels alone
can know that.

Rules were chosen on the sets of ``CHOOSING``; the others report.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from shared.common import group, load_set, markdown_table, mean, standardised
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC
from study import Case, Setting, Study

from fewlabels import S3VM, fit_table

CHOOSING = {
    "australian", "diabetes", "adbench_magic_gamma", "cod_rna", "bank_additional",
    "adbench_pageblocks", "adbench_satellite",
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
LABELS = {"natural": (10, 40, 100), "equal": (20, 60), "bound": (10, 40, 100)}
SETS = {"natural": NATURAL, "equal": EQUAL, "bound": NATURAL}
TRAINED, TESTED, BINS = 1200, 2000, 10
OURS, GIVEN = "fit_table", "fit_table, class ratio given"


def load(folder, name):
    X, y = load_set(folder, name)
    return X, np.unique(y, return_inverse=True)[1].ravel()


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


# -- what users get ----------------------------------------------------------------------------


RIVALS = {
    "random forest": lambda: RandomForestClassifier(300, random_state=0),
    "extremely random trees": lambda: ExtraTreesClassifier(300, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "self-training": lambda: SelfTrainingClassifier(
        RandomForestClassifier(100, random_state=0), threshold=0.9
    ),
    "label spreading": lambda: LabelSpreading(kernel="knn", n_neighbors=10, max_iter=100),
}
ALL_ROWS = ("self-training", "label spreading")


def measure(folder, part, name, n_labels, draw, method, seconds):
    """Accuracy, ROC AUC and calibration error on the test rows."""
    X, y = load(folder, name)
    train, test, known = drawn(y, n_labels, draw, part == "equal")
    started = time.perf_counter()
    if method in (OURS, GIVEN):
        share = float(np.mean(y[train]))
        ratio = {"yes": share, "no": 1.0 - share} if method == GIVEN else None
        predicted, score, p = ours(X[train], y[train], known, X[test], seconds, ratio)
    else:
        A, B = standardised(X[train], X[test])
        given = np.full(len(train), -1)
        given[known] = y[train][known]
        rows = slice(None) if method in ALL_ROWS else known
        score = p = RIVALS[method]().fit(A[rows], given[rows]).predict_proba(B)[:, 1]
        predicted = p > 0.5
    return {
        "accuracy": float(np.mean(predicted == (y[test] == 1))),
        "auc": float(roc_auc_score(y[test], np.nan_to_num(score, nan=0.5))),
        "calibration_error": calibration_error(y[test], p),
        "calibration_floor": calibration_floor(p), "seconds": time.perf_counter() - started,
    }  # fmt: skip


def ours(X, y, known, new, seconds, ratio):
    """Predictions, scores and probabilities of ``fit_table``."""
    columns = [f"x{j}" for j in range(X.shape[1])]
    frame, new = pd.DataFrame(X, columns=columns), pd.DataFrame(new, columns=columns)
    label = np.full(len(y), None, dtype=object)
    label[known] = np.where(y[known] == 1, "yes", "no")
    frame["class"] = label
    fit = fit_table(frame, "class", time_budget=seconds, report=False, class_ratio=ratio)
    p = np.asarray(fit.model.predict_proba(new))[:, 1]
    predicted = np.asarray(fit.predict(new)["label"] == "yes")
    return predicted, fit.model.decision_function(new), p


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


# -- the bound ---------------------------------------------------------------------------------


ALONE = "S3VM with trees, labels only"
AVERAGE = "average of five methods"
AVERAGED = (ALONE, "random forest", "gradient boosting", "discriminant analysis", "SVC")
AS_USERS = ("extremely random trees", "random forest", "gradient boosting", "logistic regression")
BOUND = "best method of each table, by its other draws"
METHODS = {
    ALONE: lambda n: S3VM(kernel="trees", C=1.0, C_star=0.0, balance=False),
    **{name: lambda n, make=RIVALS[name]: make() for name in AS_USERS},
    "logistic regression, C=.1": lambda n: LogisticRegression(C=0.1, max_iter=1000),
    "naive Bayes": lambda n: GaussianNB(var_smoothing=1e-2),
    "discriminant analysis": lambda n: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "neighbours": lambda n: KNeighborsClassifier(min(7, n // 2), weights="distance"),
    "SVC": lambda n: SVC(),
    "SVC of ranks": lambda n: make_pipeline(
        QuantileTransformer(n_quantiles=n, output_distribution="normal"), SVC()
    ),
}


def areas(folder, name, n_labels, draw):
    """ROC AUC of every method and of the average."""
    X, y = load(folder, name)
    train, test, known = drawn(y, n_labels, draw, equal=False)
    A, B = standardised(X[train], X[test])
    score = {}
    for method, make in METHODS.items():
        model = make(n_labels).fit(A[known], y[train][known])
        decide = getattr(model, "decision_function", None)
        found = model.predict_proba(B)[:, 1] if decide is None else decide(B)
        score[method] = rankdata(np.nan_to_num(found))
    score[AVERAGE] = sum(score[one] for one in AVERAGED)
    return {method: float(roc_auc_score(y[test], one)) for method, one in score.items()}


def known_best(found):
    """Areas, shape (sets, draws), where each draw takes the method that the others are best by.

    ``found`` has shape (sets, draws, methods).
    """
    others = found.sum(axis=1, keepdims=True) - found
    best = others.argmax(axis=2)[..., None]
    return np.take_along_axis(found, best, axis=2)[..., 0]


def bound_table(records):
    """Columns, and a line of means over tables for each method: for two draws and all."""
    counts, means = sorted(group(records, "labels")), {}
    for n in counts:
        by_set = group([r for r in records if r["labels"] == n], "set").values()
        names = (*METHODS, AVERAGE)
        found = {m: np.array([[r[m] for r in one] for one in by_set]) for m in names}
        found[BOUND] = known_best(np.stack([found[m] for m in METHODS], axis=-1))
        for method, area in found.items():
            means.setdefault(method, []).extend([area[:, :2].mean(), area.mean()])
    columns = [f"{n} labels, {which}" for n in counts for which in ("draws 1 and 2", "all draws")]
    return columns, [[m, *map(float, cells)] for m, cells in means.items()]


# -- cases and report --------------------------------------------------------------------------


def cases(options):
    for part in options.parts:
        for draw in range(options.bound_draws if part == "bound" else options.draws):
            for name in SETS[part]:
                if name not in options.sets:
                    continue
                for n in LABELS[part]:
                    key = {"part": part, "set": name, "labels": n, "draw": draw}
                    if part == "bound":
                        yield Case(key, areas, (options.data, name, n, draw))
                        continue
                    for method in [OURS, *[GIVEN] * (part == "equal"), *RIVALS]:
                        given = (options.data, *key.values(), method, options.seconds)
                        yield Case(key | {"method": method}, measure, given)


MEASURES = ("accuracy", "auc", "calibration_error", "calibration_floor")


def report(results):
    for part in ("natural", "equal"):
        every = results.where(part=part)
        for half in ("choosing", "reporting", "all") if every else ():
            some = [r for r in every if half in ("all", half_of(r["set"]))]
            if some:
                yield f"## {part}, {half}: {len(group(some, 'set'))} sets"
                yield means_of(some)
                yield from (paired(some, measure) for measure in MEASURES[:2])


def half_of(name):
    return "choosing" if name in CHOOSING else "reporting"


def means_of(records):
    """Means of every measure by method and number of labels, and of the best in hindsight."""
    counts = sorted(group(records, "labels"))
    rows = []
    for method, some in group(records, "method").items():
        here = group(some, "labels")
        rows.append([method, *(mean(here.get(n, ()), m) for n in counts for m in MEASURES)])
    best = ["the best method of each draw, in hindsight"]
    for n in counts:
        draws = group([r for r in records if r["labels"] == n and r["method"] != GIVEN],
                      "set", "draw").values()  # fmt: skip
        best += [float(np.mean([max(r[m] for r in one) for one in draws])) for m in MEASURES[:2]]
        best += [None, None]
    columns = [f"{n}: {m.replace('_', ' ')}" for n in counts for m in MEASURES]
    return markdown_table(["method", *columns], [*rows, best])


def paired(records, measure):
    """Return how far ours is ahead of the best other method, with a 95 % interval over sets."""
    table, lines = pd.DataFrame(records), []
    for n, some in table[table["method"] != GIVEN].groupby("labels"):
        wide = some.pivot_table(index="set", columns="method", values=measure)
        if OURS in wide and wide.shape[1] > 1:
            best = wide.drop(columns=OURS).mean().idxmax()
            apart = (wide[OURS] - wide[best]).dropna()
            half = 1.96 * apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
            lines.append(f"* {n} labels, {measure}: {apart.mean():+.3f} ± {half:.3f} (95 %) "
                         f"compared with {best}")  # fmt: skip
    return "\n".join(lines)


def entries(results):
    bound = results.where(part="bound")
    if not bound:
        return []
    columns, rows = bound_table(bound)
    return [results.entry(
        "few-labels-bound", columns, rows, unit="ROC AUC", formats=[".3f"] * len(columns),
        label="labels drawn at random", note=f"{len(group(bound, 'set'))} tables",
    )]  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, data="required",
    choices={"parts": list(LABELS), "sets": list(dict.fromkeys([*NATURAL, *EQUAL]))},
    settings={
        "draws": Setting(2, "draws of a table"),
        "bound_draws": Setting(8, "draws of a table for the bound"),
        "seconds": Setting(10.0, "time budget of fit_table"),
    },
    quick={"parts": ["bound"], "sets": ["heart_statlog"], "bound_draws": 2},
)  # fmt: skip
