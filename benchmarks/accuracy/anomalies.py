"""A few confirmed anomalies beside rows of one class: what they are worth, and what they cost.

    python benchmarks anomalies --data FOLDER [--quick]           # AUC on held-out rows
    python benchmarks anomalies --times [--before OTHER/src]      # relabel and fit, when quiet

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

Writes anomalies.md and anomalies.json, or anomalies-times.json (with --quick: anomalies-quick.*).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from results import entry
from shared.common import (
    ADBENCH,
    data_folder,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    standardised,
    write_json,
    write_text,
)

HARDWARE = "2 cores of a server (AMD EPYC, AVX-512), 24 GB, shared with other work"
SETS = ADBENCH
CHOSEN_ON, SHOWN_ON = SETS[::2], SETS[1::2]
CONFIRMED, DRAWS, ENOUGH = (0, 1, 5, 20), (10, 11), 20
WIDE, NARROW, SVM, RULE = "SVDD, 1/d", "SVDD, neighbor_gamma", "OneClassSVM", "SVDD, width by rule"
MIDDLE, BAGS = "SVDD, 4/d", "SVDDEnsemble (leaves them out)"
XGBOD, FOREST, DEVNET = "XGBOD (pyod)", "random forest on labels", "DevNet (deepod)"
DEEPSAD, FEAWAD = "DeepSAD (deepod)", "FeaWAD (deepod)"
PRENET, ROSAS = "PReNet (deepod)", "RoSAS (deepod)"
DEEP = (DEVNET, DEEPSAD, FEAWAD, PRENET, ROSAS)
METHODS = (WIDE, MIDDLE, NARROW, RULE, SVM, BAGS, XGBOD, *DEEP, FOREST)


def parts(folder, name, draw, confirmed, quick):
    """Normal training rows, confirmed anomalies, rows to score, and which of these are odd."""
    X, y = load_set(folder, f"adbench_{name}")
    rng = np.random.default_rng([draw, SETS.index(name)])
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


def quality(args, folder):
    from sklearn.metrics import roc_auc_score

    sets, draws = (SETS[:2], DRAWS[:1]) if args.quick else (SETS, args.draws)
    before = args.out / ("anomalies-quick.json" if args.quick else "anomalies.json")
    found = json.loads(before.read_text("utf-8"))["results"] if before.is_file() else []
    done = {(f["set"], f["draw"], f["confirmed"], f["method"]) for f in found}
    for name in sets:
        for draw in draws:
            for confirmed in CONFIRMED:
                normal, known, rows, truth = parts(folder, name, draw, confirmed, args.quick)
                for method in METHODS:
                    if method == BAGS and confirmed:  # the same again
                        continue
                    if (name, draw, confirmed, method) in done or method not in args.methods:
                        continue
                    if method in DEEP and draw != DRAWS[0]:
                        continue
                    since = time.process_time()
                    odd = scores(method, normal, known, rows)
                    if odd is None:
                        continue
                    entry = {"set": name, "draw": draw, "confirmed": confirmed, "method": method}
                    entry |= {"anomalies": len(known), "auc": roc_auc_score(truth, odd)}
                    found.append(entry | {"cpu_seconds": time.process_time() - since})
        report(args, found, sets)
        print(f"{name}: done", flush=True)


def mean_auc(found, sets, method, confirmed):
    values = [
        np.mean([f["auc"] for f in found if (f["set"], f["method"]) == (name, method)
                 and f["confirmed"] == (0 if method == BAGS else confirmed)] or [np.nan])
        for name in sets
    ]  # fmt: skip
    return np.array(values)


def interval_of(values):
    """A bootstrap interval for the mean over sets."""
    rng = np.random.default_rng(0)
    means = [rng.choice(values, len(values)).mean() for _ in range(4000)]
    return np.quantile(means, [0.025, 0.975])


def report(args, found, sets):
    tables, summary = [], []
    done = [name for name in sets if any(f["set"] == name for f in found)]
    for title, group in (("sets not chosen on", SHOWN_ON), ("all sets", SETS)):
        names, lines = [name for name in group if name in done], []
        if not names:
            continue
        for method in METHODS:
            cells = [mean_auc(found, names, method, k) for k in CONFIRMED]
            gain = cells[-1] - cells[0]
            means = {str(k): v.mean() for k, v in zip(CONFIRMED, cells, strict=True)}
            line, more = {"method": method, **means}, ""
            if np.isfinite(gain).all() and len(names) > 1:
                line["gain"], (line["low"], line["high"]) = gain.mean(), interval_of(gain)
                more = f"{line['gain']:+.3f} ({line['low']:+.3f} to {line['high']:+.3f})"
            summary.append({"sets": title, **line})
            shown = ["" if np.isnan(mean) else f"{mean:.3f}" for mean in means.values()]
            lines.append([method, *shown, more])
        columns = ["method", *(f"{k} confirmed" for k in CONFIRMED), "gain of 20 (95 %)"]
        tables.append(f"{title}, {len(names)}\n\n{markdown_table(columns, lines)}")
    info, name = machine(), "anomalies-quick" if args.quick else "anomalies"
    text = "Mean AUC on held-out rows\n\n" + "\n\n".join(tables)
    write_text(args.out / f"{name}.md", f"{text}\n\n{machine_line(info)}\n")
    facts = {"machine": info, "chosen_on": CHOSEN_ON, "summary": summary, "results": found}
    if set(done) == set(SETS):
        facts["entries"] = [published(summary)]
    write_json(args.out / f"{name}.json", facts)


def published(summary):
    """The entry of ``results.json``."""
    by = {(line["sets"], line["method"]): line for line in summary}
    rows = []
    for method in METHODS:
        means = [by["all sets", method][str(k)] for k in CONFIRMED]
        means.append(by["sets not chosen on", method]["20"])
        if np.isfinite(means).any():
            rows.append([method, *(round(m, 4) if np.isfinite(m) else None for m in means)])
    return entry(
        "anomalies-17", [*map(str, CONFIRMED), "20, on 8 sets not used for choosing"], rows,
        label="confirmed anomalies, 17 sets", unit="ROC AUC", formats=[".3f"] * 5,
        program="python benchmarks anomalies", hardware=HARDWARE,
        note="two draws per set, one for the networks of deepod",
    )  # fmt: skip


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


def relabelling(quick):
    """Milliseconds of single relabelled rows and of fits, until the objective is known."""
    from fewlabels import SVDD, OneClassSVM

    n, count = (1000, 5) if quick else (10_000, 25)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    models = {
        "SVDD(C=2)": SVDD(n_jobs=1), "SVDD(nu=0.05)": SVDD(nu=0.05, slack="linear", n_jobs=1),
        "OneClassSVM(nu=0.05)": OneClassSVM(nu=0.05, n_jobs=1),
    }  # fmt: skip
    table = []
    for name, model in models.items():
        fits = [_milliseconds(model, lambda model=model: model.fit(X)) for _ in range(5)]
        order = np.argsort(model.score_samples(X))
        groups = {
            "most anomalous": order[: 2 * count : 2], "random": rng.permutation(n)[:count],
            "deepest": order[::-1][: 8 * count : 8],
        }  # fmt: skip
        for beginning in ("after a fit", "on a path"):
            for title, rows in groups.items():
                if beginning == "on a path" and title == "deepest":
                    continue
                seconds, again = [], []
                for row in rows.tolist():
                    if beginning == "on a path":  # what updates have left
                        model.fit(X[:-1]).partial_fit(X[-1:])
                    seconds.append(_milliseconds(model, lambda m=model, r=row: m.relabel(r)))
                    if beginning == "after a fit":
                        mask = np.arange(n) == row
                        fresh = type(model)(**model.get_params())
                        again.append(_milliseconds(fresh, lambda m=fresh, k=mask: m.fit(
                            X, anomalies=k)))  # fmt: skip
                        model.relabel(row, anomaly=False)
                found = [np.median(seconds), np.quantile(seconds, 0.9)]
                fit = np.median(again) if again else None
                table.append([f"{name}, {title} rows, {beginning}", *found, fit])
                print(table[-1], f"fit of normal rows {np.median(fits):.1f} ms", flush=True)
    return entry(
        "relabel", ["median, ms", "90 %, ms", "fit with the same anomaly, ms"], table,
        label=f"one row of {n:,} becomes an anomaly", unit="milliseconds of CPU time",
        program="python benchmarks anomalies --times", hardware=HARDWARE, formats=[".1f"] * 3,
        note="10 columns of Gaussian rows; until objective_ is known",
    )  # fmt: skip


def _milliseconds(model, call):
    since = time.process_time()
    call()
    assert np.isfinite(model.objective_)
    return 1e3 * (time.process_time() - since)


def paired(before, runs, n):
    """Ratios of the seconds of a fit without anomalies: this version over another one."""
    after = str(Path(__file__).resolve().parents[2] / "src")
    ratios = {"SVDD": [], "OneClassSVM": []}
    for run in range(runs):
        seconds = {}
        for source in (before, after) if run % 2 else (after, before):
            done = subprocess.run(
                [sys.executable, "-c", FIT, str(n)], check=True, capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": str(source)},
            )  # fmt: skip
            seconds[str(source)] = [float(line) for line in done.stdout.split()]
        for k, name in enumerate(ratios):
            ratios[name].append(seconds[after][k] / seconds[str(before)][k])
    return {name: {"median": statistics.median(r), "all": r} for name, r in ratios.items()}


def main():
    parser = options(__doc__)
    parser.add_argument("--times", action="store_true", help="relabel and fit, not quality")
    parser.add_argument("--before", type=Path, help="src folder of another version to compare")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="names of methods")
    parser.add_argument("--draws", nargs="+", type=int, default=DRAWS, help="seeds of draws")
    parser.add_argument("--runs", type=int, default=7, help="pairs of processes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.times:
        quality(args, data_folder(args, [f"adbench_{name}" for name in SETS]))
        return
    facts = {"machine": machine(), "entries": [relabelling(args.quick)]}
    if args.before is not None:
        facts["fit_ratio"] = {n: paired(args.before, args.runs, n) for n in (300, 2000)}
    write_json(args.out / "anomalies-times.json", facts)
    print(facts.get("fit_ratio"))


if __name__ == "__main__":
    main()
