"""A few confirmed anomalies beside rows of one class: what they are worth, and what they cost.

AUC. 17 ADBench sets; up to 600 normal rows train, columns are standardised by them, and 0, 1, 5 or
20 anomalies are confirmed (at most half of a set's). The other rows are scored: up to 1500 normal
rows and 500 anomalies. Methods that take no anomalies leave them out. Weakly supervised rivals are
XGBOD (of pyod, with xgboost), five networks of deepod (with torch, their default settings, and
from the first draw only, as they are slow), where installed, and a random forest on the labels
alone. The DevNet of pyod 3.6.7 compares outputs of shape (n, 1) with
labels of shape (n,), so it learns nothing from labels (AUC .03 on cardio), and isn't used. Results
in the folder --out are taken over, so that a run that was stopped continues.

``C_anomaly`` (10 times the cost of a normal row) and the rule for the width were chosen on the
sets in CHOSEN_ON, draws 0 to 2, from C_anomaly of 1, 3, 10 and 30 times the cost and four widths.
The table shows SHOWN_ON, the other sets, and all of them, from other draws. The rule: with 20
anomalies or more, the width of 1/d, 4/d, 16/d (d features) and ``neighbor_gamma`` whose exact
leave-one-out decisions separate the anomalies best; with fewer, ``neighbor_gamma``.

Times. ``relabel`` of single rows at 10 000 rows (the most anomalous, random and deepest ones),
against a fit with the same anomaly; and fits without anomalies by
this version and by another one (``--before``), pair by pair. All in CPU time of one thread.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
from shared.common import ADBENCH, group, load_set, markdown_table, mean, standardised
from study import Case, Setting, Study

CHOSEN_ON, SHOWN_ON = ADBENCH[::2], ADBENCH[1::2]
CONFIRMED, ENOUGH = (0, 1, 5, 20), 20
WIDE, NARROW, SVM, RULE = "SVDD, 1/d", "SVDD, neighbor_gamma", "OneClassSVM", "SVDD, width by rule"
MIDDLE, BAGS = "SVDD, 4/d", "SVDDEnsemble (leaves them out)"
XGBOD, FOREST, DEVNET = "XGBOD (pyod)", "random forest on labels", "DevNet (deepod)"
DEEPSAD, FEAWAD = "DeepSAD (deepod)", "FeaWAD (deepod)"
PRENET, ROSAS = "PReNet (deepod)", "RoSAS (deepod)"
DEEP = (DEVNET, DEEPSAD, FEAWAD, PRENET, ROSAS)
METHODS = (WIDE, MIDDLE, NARROW, RULE, SVM, BAGS, XGBOD, *DEEP, FOREST)


@lru_cache(maxsize=1)
def parts(folder, name, draw, confirmed, quick):
    """Normal training rows, confirmed anomalies, rows to score, and which of these are odd."""
    X, y = load_set(folder, f"adbench_{name}")
    rng = np.random.default_rng([draw, ADBENCH.index(name)])
    normal, odd = (rng.permutation(np.flatnonzero(y == value)) for value in (0, 1))
    n = min(100 if quick else 600, len(normal) // 2)
    train, others = normal[:n], normal[n:][:1500]
    known, rest = odd[: min(confirmed, len(odd) // 2)], odd[len(odd) // 2 :][:500]
    train, known, others, rest = standardised(X[train], X[known], X[others], X[rest])
    truth = np.arange(len(others) + len(rest)) >= len(others)
    return train, known, np.vstack([others, rest]), truth


def widths(normal):
    from fewlabels.model_selection import neighbor_gamma

    d = normal.shape[1]
    return {"1/d": 1 / d, "4/d": 4 / d, "16/d": 16 / d, "neighbor_gamma": neighbor_gamma(normal)}


def by_rule(normal, X, is_known):
    """SVDD of the width that leave-one-out decisions favour, or the narrow one."""
    from sklearn.metrics import roc_auc_score

    from fewlabels import SVDD

    candidates = widths(normal)
    if is_known.sum() < ENOUGH:
        return SVDD(gamma=candidates["neighbor_gamma"]).fit(X, anomalies=is_known)
    found = []
    for gamma in candidates.values():
        model = SVDD(gamma=gamma).fit(X, anomalies=is_known)
        found.append((roc_auc_score(is_known, -model.leave_one_out_decisions()), model))
    return max(found, key=lambda pair: round(pair[0], 6))[1]


def scores(method, normal, known, rows):
    """How odd a method finds rows; None where it can't be fitted or isn't installed."""
    from sklearn.ensemble import RandomForestClassifier

    from fewlabels import SVDD, OneClassSVM, SVDDEnsemble

    X = np.vstack([normal, known])
    is_known = np.arange(len(X)) >= len(normal)
    if method == RULE:
        return -by_rule(normal, X, is_known).score_samples(rows)
    if method in (WIDE, MIDDLE, NARROW):
        gamma = widths(normal)[method.split(", ")[1]]
        return -SVDD(gamma=gamma).fit(X, anomalies=is_known).score_samples(rows)
    if method == SVM:
        return -OneClassSVM(nu=0.05).fit(X, anomalies=is_known).score_samples(rows)
    if method == BAGS:
        return -SVDDEnsemble().fit(normal).score_samples(rows)
    if not is_known.any():
        return None
    if method == FOREST:
        forest = RandomForestClassifier(200, class_weight="balanced", random_state=0)
        return forest.fit(X, is_known).predict_proba(rows)[:, 1]
    try:
        if method in DEEP:
            from deepod.models import tabular

            kind = getattr(tabular, method.split()[0])
            batch = min(128 if method.startswith("RoSAS") else 64, len(normal) // 2)
            rival = kind(device="cpu", verbose=0, random_state=0, batch_size=batch)
        else:
            from pyod.models.xgbod import XGBOD as Rival

            rival = Rival(random_state=0, n_jobs=1)
    except ImportError:
        return None
    try:
        return rival.fit(X, is_known.astype(int)).decision_function(rows)
    except ValueError:  # some networks of deepod can't sample from a single anomaly
        if method not in DEEP or len(known) > 1:
            raise
        return None


def measure(folder, name, draw, confirmed, method, quick):
    """ROC AUC on held-out rows."""
    from sklearn.metrics import roc_auc_score

    normal, known, rows, truth = parts(folder, name, draw, confirmed, quick)
    since = time.process_time()
    odd = scores(method, normal, known, rows)
    if odd is None:  # it can't be fitted to so few anomalies
        return []
    return {"auc": roc_auc_score(truth, odd), "anomalies": len(known),
            "cpu_seconds": time.process_time() - since}  # fmt: skip


def cases(options):
    if "quality" in options.parts and options.data is not None:
        for name in options.sets:
            for draw in options.draws:
                for confirmed in CONFIRMED:
                    for method in options.methods:
                        if method == BAGS and confirmed:  # the same again
                            continue
                        if method in DEEP and draw != options.draws[0]:
                            continue
                        key = {"part": "quality", "set": name, "draw": draw,
                               "confirmed": confirmed, "method": method}  # fmt: skip
                        yield Case(key, measure, (options.data, *list(key.values())[1:],
                                                  options.quick))  # fmt: skip
    if "relabel" in options.parts:
        for name in MODELS:
            yield Case({"part": "relabel", "model": name}, relabelling, (name, options.quick))
    if "fits" in options.parts and options.before is not None:
        for n in (300, 2000):
            yield Case({"part": "fits", "rows": n}, paired, (options.before, options.runs, n))


# -- times -----------------------------------------------------------------------------------

FIT = """
import sys, time, numpy as np
from fewlabels import SVDD, OneClassSVM
n = int(sys.argv[1])
X = np.random.default_rng(0).normal(size=(n, 10))
for model in (SVDD(C=0.1, n_jobs=1), OneClassSVM(nu=0.05, n_jobs=1)):
    model.fit(X)
    since, seconds = time.process_time(), []
    while time.process_time() - since < 1.0 or len(seconds) < 3:
        begun = time.process_time()
        model.fit(X)
        seconds.append(time.process_time() - begun)
    print(sorted(seconds)[len(seconds) // 2])
"""
MODELS = {
    "SVDD(C=2)": ("SVDD", {}),
    "SVDD(nu=0.05)": ("SVDD", {"nu": 0.05, "slack": "linear"}),
    "OneClassSVM(nu=0.05)": ("OneClassSVM", {"nu": 0.05}),
}


def relabelling(name, quick):
    """Milliseconds of single relabelled rows and of fits, until the objective is known."""
    import fewlabels

    n, count = (1000, 5) if quick else (10_000, 25)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    kind, settings = MODELS[name]
    model = getattr(fewlabels, kind)(**settings, n_jobs=1).fit(X)
    order = np.argsort(model.score_samples(X))
    groups = {
        "most anomalous": order[: 2 * count : 2], "random": rng.permutation(n)[:count],
        "deepest": order[::-1][: 8 * count : 8],
    }  # fmt: skip
    found = []
    for beginning in ("after a fit", "on a path"):
        for title, rows in groups.items():
            if beginning == "on a path" and title == "deepest":
                continue
            times, again = [], []
            for row in rows.tolist():
                if beginning == "on a path":  # what updates have left
                    model.fit(X[:-1]).partial_fit(X[-1:])
                times.append(_milliseconds(model, lambda r=row: model.relabel(r)))
                if beginning == "after a fit":
                    mask = np.arange(n) == row
                    fresh = type(model)(**model.get_params())
                    again.append(_milliseconds(fresh, lambda m=fresh, k=mask: m.fit(
                        X, anomalies=k)))  # fmt: skip
                    model.relabel(row, anomaly=False)
            found.append({
                "rows": f"{title} rows, {beginning}", "median_ms": np.median(times),
                "p90_ms": np.quantile(times, 0.9), "fit_ms": np.median(again) if again else None,
            })  # fmt: skip
    return found


def _milliseconds(model, call):
    since = time.process_time()
    call()
    assert np.isfinite(model.objective_)
    return 1e3 * (time.process_time() - since)


def paired(before, runs, n):
    """Ratios of the seconds of a fit without anomalies: this version over another one."""
    after = Path(__file__).resolve().parents[2] / "src"
    ratios = {"SVDD": [], "OneClassSVM": []}
    for run in range(runs):
        seconds = {}
        for source in (before, after) if run % 2 else (after, before):
            done = subprocess.run(
                [sys.executable, "-c", FIT, str(n)], check=True, capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": str(source)},
            )  # fmt: skip
            seconds[source] = [float(line) for line in done.stdout.split()]
        for k, name in enumerate(ratios):
            ratios[name].append(seconds[after][k] / seconds[before][k])
    return {name: statistics.median(values) for name, values in ratios.items()}


# -- the report ----------------------------------------------------------------------------------


def mean_auc(found, sets, method, confirmed):
    """Means over draws, by set."""
    by_set = group([f for f in found if f["method"] == method and f["confirmed"]
                    == (0 if method == BAGS else confirmed)], "set")  # fmt: skip
    return np.array([mean(by_set.get(name, ()), "auc") or np.nan for name in sets])


def interval_of(values):
    """A bootstrap interval for the mean over sets."""
    rng = np.random.default_rng(0)
    means = [rng.choice(values, len(values)).mean() for _ in range(4000)]
    return np.quantile(means, [0.025, 0.975])


def summary(found, names):
    """Mean AUC of each method by confirmed anomalies, and the gain of 20."""
    for method in METHODS:
        cells = [mean_auc(found, names, method, k) for k in CONFIRMED]
        gain, text = cells[-1] - cells[0], None
        if np.isfinite(gain).all() and len(names) > 1:
            low, high = interval_of(gain)
            text = f"{gain.mean():+.3f} ({low:+.3f} to {high:+.3f})"
        means = [float(one.mean()) for one in cells]
        if np.isfinite(means).any():
            yield [method, *(m if np.isfinite(m) else None for m in means), text]


def report(results):
    found = results.where(part="quality")
    done = [name for name in ADBENCH if any(f["set"] == name for f in found)]
    for title, some in (("sets not chosen on", SHOWN_ON), ("all sets", ADBENCH)):
        names = [name for name in some if name in done]
        if names:
            yield f"## Mean AUC on held-out rows, {title}, {len(names)}"
            columns = ["method", *(f"{k} confirmed" for k in CONFIRMED), "gain of 20 (95 %)"]
            yield markdown_table(columns, summary(found, names))
    if relabelled := results.where(part="relabel"):
        yield "## Milliseconds of CPU time of a relabelled row"
        yield markdown_table(["rows", "median", "90 %", "fit with the same anomaly"],
                             relabel_rows(relabelled))  # fmt: skip
    for one in results.where(part="fits"):
        yield (f"Seconds of a fit to {one['rows']} rows over the other version's: SVDD "
               f"{one['SVDD']:.3f}, OneClassSVM {one['OneClassSVM']:.3f}.")  # fmt: skip


def relabel_rows(relabelled):
    keys = ("median_ms", "p90_ms", "fit_ms")
    return [[f"{r['model']}, {r['rows']}", *(r[k] for k in keys)] for r in relabelled]


def entries(results):
    found, made = results.where(part="quality"), []
    if {f["set"] for f in found} == set(ADBENCH):
        of_shown = {row[0]: row[len(CONFIRMED)] for row in summary(found, SHOWN_ON)}
        rows = [[*row[:-1], of_shown.get(row[0])] for row in summary(found, ADBENCH)]
        columns = [*map(str, CONFIRMED), "20, on 8 sets not used for choosing"]
        made.append(results.entry(
            "anomalies-17", columns, rows, label="confirmed anomalies, 17 sets", unit="ROC AUC",
            formats=[".3f"] * 5, note="two draws per set, one for the networks of deepod",
        ))  # fmt: skip
        shown = {WIDE: "SVDD, gamma = 1/d", NARROW: "SVDD, neighbour width", XGBOD: "XGBOD",
                 DEEPSAD: "DeepSAD, one draw", FOREST: "forest on the labels"}  # fmt: skip
        rows = [[shown[row[0]], *row[1:-1]] for row in summary(found, SHOWN_ON)
                if row[0] in shown]  # fmt: skip
        made.append(results.entry(
            "anomalies", [*map(str, CONFIRMED)], rows, unit="ROC AUC", formats=[".3f"] * 4,
            label="confirmed anomalies, 8 sets not used for choosing",
        ))  # fmt: skip
    if relabelled := results.where(part="relabel"):
        columns = ["median, ms", "90 %, ms", "fit with the same anomaly, ms"]
        made.append(results.entry(
            "relabel", columns, relabel_rows(relabelled), unit="milliseconds of CPU time",
            label="one row of 10,000 becomes an anomaly", formats=[".1f"] * 3,
            note="10 columns of Gaussian rows; until objective_ is known",
        ))  # fmt: skip
    return made


def files(options):
    return [f"adbench_{name}" for name in options.sets]


STUDY = Study(
    __doc__, cases, report, entries, data="optional", files=files,
    choices={"parts": ["quality", "relabel", "fits"], "sets": ADBENCH, "methods": METHODS},
    settings={
        "draws": Setting([10, 11], "seeds of draws"),
        "before": Setting(None, "src folder of another version (part fits)", Path),
        "runs": Setting(7, "pairs of processes (part fits)"),
    },
    quick={"sets": ADBENCH[:2], "draws": [10]},
)  # fmt: skip
