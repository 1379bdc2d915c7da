"""Reliability of predict_proba: do events with a probability of 30 % happen 30 times in 100?

    python benchmarks reliability --data FOLDER

Protocol
  Held-out rows with their true labels (4000 at most, those that no machine has seen), several
  draws of every set. Machines have their defaults.
  PUSVM: 14 sets, 100 labelled positives and 1000 unlabelled rows; told the share of positives
  among the unlabelled rows, or estimating it. Before: 1 / (1 + exp(-f)), and f clipped
  to [-1, 1] and mapped to [0, 1]. Peer: scikit-learn's CalibratedClassifierCV of an SVC (sigmoid,
  5 folds) that tells labelled from unlabelled rows, plain, and turned into
  the probability of an unlabelled row (Elkan and Noto 2008) by the label frequency that the prior
  implies.
  S3VM: 19 sets, 600 unlabelled rows, 10 to 100 labels (official splits of the Chapelle and SSL
  sets, random labels elsewhere). Peer: CalibratedClassifierCV of an SVC on the labelled rows
  alone (as many folds, up to 5, as the rarer class has labels). "share told" passes the true
  share of the unlabelled rows as balance.
  Calibration error: fewlabels.metrics.calibration_error, 15 bins of equal mass.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from shared import few_label_data as semi_data
from shared import pu_data
from shared.common import (
    COLOURS,
    data_folder,
    figure,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    save_figure,
    standardised,
    write_json,
    write_text,
)

PU_SETS = [name for name in pu_data.REAL_SETS if name not in ("shuttle, not Rad Flow", "w8a")]
OFFICIAL = [
    "text, 50 labels", "g50c, 50 labels", "usps, 10 labels", "usps, 100 labels",
    "coil2, 10 labels", "coil2, 100 labels", "ssl-text, 100 labels", "digits, 50 labels",
]  # fmt: skip
RANDOM = {
    "magic, 50 labels": ("adbench_magic_gamma", (1,)),
    "spambase, 50 labels": ("adbench_spambase", (1,)),
    "bank, 50 labels": ("bank_additional", (1,)),
    "cod-rna, 50 labels": ("cod_rna", (1,)),
    "phishing, 20 labels": ("phishing", (1,)),
    "phishing, 50 labels": ("phishing", (1,)),
    "mushrooms, 20 labels": ("mushrooms", (2,)),
    "mushrooms, 50 labels": ("mushrooms", (2,)),
    "ijcnn1, 50 labels": ("ijcnn1", (1,)),
    "satellite, 50 labels": ("adbench_satellite", (1,)),
    "a9a, 50 labels": ("a9a", (1,)),
}
_POSITIVE, _UNLABELED, _TEST = 100, 1000, 4000
_UNLABELED_SEMI = 600
_BINS = 15
# Logarithms are taken of probabilities no smaller than this.
_LEAST = 1e-6
BEFORE, CLIPPED = "1 / (1 + exp(-f))", "(f + 1) / 2, clipped"
ESTIMATED = "isotonic, prior estimated"


# -- probabilities of one problem, by method ----------------------------------------------------


def naive(f):
    return {
        BEFORE: 1.0 / (1.0 + np.exp(-np.clip(f, -50, 50))),
        CLIPPED: np.clip(0.5 * (f + 1.0), 0.0, 1.0),
    }


def peer(X, y, X_test):
    """scikit-learn's calibrated SVC; None where a class has one label only."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    fewest = int(np.bincount(y.astype(int), minlength=2).min())
    if fewest < 2:
        return None
    svc = SVC(class_weight="balanced", gamma="scale")
    model = CalibratedClassifierCV(svc, method="sigmoid", cv=min(5, fewest))
    return model.fit(X, y.astype(int)).predict_proba(X_test)[:, 1]


def of_pu(draw):
    from fewlabels import PUSVM

    X, y, test = draw.X, draw.y, draw.X_test
    found = {}
    for kind in ("sigmoid", "isotonic"):
        model = PUSVM(prior=draw.prior, probability=kind, n_jobs=1).fit(X, y)
        if not found:
            found |= naive(model.decision_function(test))
        found[kind] = model.predict_proba(test)[:, 1]
    found[ESTIMATED] = PUSVM(probability="isotonic", n_jobs=1).fit(X, y).predict_proba(test)[:, 1]
    labelled = peer(X, y, test)
    found["SVC, unlabelled = negative"] = labelled
    # A positive row is labelled with probability c = p / (p + prior n).
    c = draw.n_positive / (draw.n_positive + draw.prior * len(draw.truth))
    odds = labelled / np.maximum(1.0 - labelled, _LEAST)
    # P(y = 1 | x, unlabelled) = (1 - c) / c P(labelled | x) / (1 - P(labelled | x)).
    found["the same, Elkan-Noto"] = np.clip((1.0 - c) / c * odds, 0.0, 1.0)
    return found


def of_semi(X, y, test, share):
    from fewlabels import S3VM

    found = {}
    for kind in ("sigmoid", "isotonic"):
        model = S3VM(probability=kind, n_jobs=1).fit(X, y)
        if not found:
            found |= naive(model.decision_function(test))
        found[kind] = model.predict_proba(test)[:, 1]
    told = S3VM(balance=2.0 * share - 1.0, probability="sigmoid", n_jobs=1).fit(X, y)
    found["sigmoid, share told by balance"] = told.predict_proba(test)[:, 1]
    labeled = np.flatnonzero(y >= 0)
    alone = peer(X[labeled], y[labeled], test)
    if alone is not None:
        found["SVC of the labelled rows"] = alone
    return found


# -- data ----------------------------------------------------------------------------------------


def pu_problems(folder, name, draws):
    for seed in range(draws):
        draw = pu_data.draw_real(folder, name, seed, _POSITIVE, _UNLABELED, _TEST)
        yield seed, draw.y_test.astype(float), lambda draw=draw: of_pu(draw)


def semi_problems(folder, name, draws):
    """Labelled rows of the official split, or random ones; up to half of the rest for tests."""
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        if name in RANDOM:
            file, positive = RANDOM[name]
            X, truth = load_set(folder, file)
            truth, n = np.isin(truth, positive).astype(int), int(name.split()[-2])
            order = rng.permutation(len(truth))
            while not 2 <= truth[order[:n]].sum() <= n - 2:
                order = rng.permutation(len(truth))
            labeled, rest = order[:n], order[n:]
        else:
            _, split = next(semi_data.splits(folder, name, [seed]))
            X, truth, n = split.X, split.truth, split.n_labeled
            labeled = np.arange(n)
            rest = rng.permutation(np.arange(n, len(truth)))
        half = min(_TEST, len(rest) // 2)
        test, free = rest[:half], rest[half:][:_UNLABELED_SEMI]
        rows = np.concatenate([labeled, free])
        train, new = X[rows], X[test]
        if name in RANDOM:
            train, new = standardised(train, new)
        y = np.where(np.arange(len(rows)) < n, truth[rows], -1)
        share = float(truth[free].mean())
        yield (
            seed,
            truth[test].astype(float),
            lambda a=train, b=y, c=new, d=share: of_semi(a, b, c, d),
        )


# -- measuring -----------------------------------------------------------------------------------


def judged(y, p):
    """Calibration error, Brier score, log loss; and points of a reliability diagram."""
    from sklearn.calibration import calibration_curve

    from fewlabels.metrics import calibration_error

    safe = np.clip(p, _LEAST, 1.0 - _LEAST)
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy="quantile")
    return {
        "error": calibration_error(y, p, _BINS),
        "brier": float(np.mean((p - y) ** 2)),
        "log_loss": float(-np.mean(y * np.log(safe) + (1.0 - y) * np.log1p(-safe))),
        "predicted": predicted.tolist(),
        "observed": observed.tolist(),
    }


def measure(machine_name, folder, names, draws, problems, path, results):
    done = {(r["machine"], r["set"]) for r in results}
    for name in names:
        if (machine_name, name) in done:
            continue
        for seed, y, methods in problems(folder, name, draws):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = methods()
            for method, p in found.items():
                results.append(
                    {"machine": machine_name, "set": name, "draw": seed, "method": method,
                     "share": float(y.mean()), **judged(y, p)}
                )  # fmt: skip
        write_json(path, {"machine": machine(), "results": results})
        print(f"{machine_name}: {name} done", flush=True)
    return results


# -- report --------------------------------------------------------------------------------------


def mean_of(results, key):
    return float(np.mean([r[key] for r in results])) if results else float("nan")


def summary(results, kind):
    mine = [r for r in results if r["machine"] == kind]
    sets = list(dict.fromkeys(r["set"] for r in mine))
    lines = []
    for method in dict.fromkeys(r["method"] for r in mine):
        of = [r for r in mine if r["method"] == method]
        by_set = [[r for r in of if r["set"] == name] for name in sets]
        means = [[mean_of(part, key) for part in by_set if part]
                 for key in ("error", "brier", "log_loss")]  # fmt: skip
        lines.append([method, *(float(np.mean(m)) for m in means), max(means[0])])
    titles = ["method", "calibration error", "Brier score", "log loss", "worst set's error"]
    return markdown_table(titles, lines)


def by_set(results, kind):
    mine = [r for r in results if r["machine"] == kind]
    methods = list(dict.fromkeys(r["method"] for r in mine))
    lines = []
    for name in dict.fromkeys(r["set"] for r in mine):
        of = [r for r in mine if r["set"] == name]
        lines.append(
            [f"{name} ({mean_of(of, 'share'):.2f})"]
            + [mean_of([r for r in of if r["method"] == m], "error") for m in methods]
        )
    return markdown_table(["set (share of positives)", *methods], lines)


def report(out, stem, data):
    results = data["results"]
    parts = ["# Reliability of probabilities", machine_line(data["machine"])]
    for kind in ("PUSVM", "S3VM"):
        if any(r["machine"] == kind for r in results):
            parts += [f"## {kind}", "Means over sets of means over draws.", summary(results, kind),
                      "Calibration error by set.", by_set(results, kind)]  # fmt: skip
    write_text(out / f"{stem}.md", "\n\n".join(parts) + "\n")
    picture(out / f"{stem}.png", results)
    print("\n\n".join(parts[2:]) + f"\n\nwritten to {out / stem}.md")


def picture(path, results):
    """A reliability diagram per set: before and after, all draws."""
    panels = list(dict.fromkeys((r["machine"], r["set"]) for r in results))
    after = {"PUSVM": "isotonic", "S3VM": "sigmoid"}
    columns = min(7, len(panels))
    lines = -(-len(panels) // columns)
    fig, axes = figure(lines, columns, figsize=(1.75 * columns, 2.0 * lines), sharex=True,
                       sharey=True, squeeze=False)  # fmt: skip
    for axis, (kind, name) in zip(axes.ravel(), panels, strict=False):
        axis.plot([0, 1], [0, 1], color="black", linewidth=0.7)
        for method, colour in ((BEFORE, COLOURS[1]), (after[kind], COLOURS[0])):
            of = [r for r in results
                  if (r["machine"], r["set"], r["method"]) == (kind, name, method)]  # fmt: skip
            for r in of:
                axis.plot(r["predicted"], r["observed"], ".-", color=colour, linewidth=0.9,
                          markersize=3, alpha=0.8)  # fmt: skip
        axis.set_title(f"{kind}\n{name}", fontsize=7.5)
        axis.set_xticks([0, 0.5, 1])
        axis.set_yticks([0, 0.5, 1])
    for axis in axes.ravel()[len(panels) :]:
        axis.set_axis_off()
    lines_of = [axes[0, 0].plot([], [], ".-", color=c)[0] for c in (COLOURS[1], COLOURS[0])]
    fig.legend(lines_of, ["before: 1 / (1 + exp(-f))", "after: predict_proba"],
               loc="outside upper center", ncols=2, frameon=False)  # fmt: skip
    fig.supxlabel("predicted probability")
    fig.supylabel("share of positives")
    save_figure(fig, path)


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", help="only these sets")
    parser.add_argument("--draws", type=int, default=3, help="draws of a set (default 3)")
    parser.add_argument("--resume", action="store_true", help="keep what was measured already")
    parser.add_argument("--report-only", action="store_true", help="draw table and picture again")
    args = parser.parse_args()
    stem = "reliability-quick" if args.quick else "reliability"
    path = Path(args.out) / f"{stem}.json"
    if args.report_only:
        report(args.out, stem, json.loads(path.read_text(encoding="utf-8")))
        return
    pu, semi = PU_SETS, [*OFFICIAL, *RANDOM]
    if args.quick:
        pu, semi = ["magic", "pageblocks"], ["g50c, 50 labels", "magic, 50 labels"]
    if args.sets:
        unknown = set(args.sets) - {*pu, *semi}
        if unknown:
            sys.exit(f"unknown sets: {', '.join(sorted(unknown))}; known: {', '.join(pu + semi)}.")
        pu, semi = ([n for n in names if n in args.sets] for names in (pu, semi))
    files = {pu_data.REAL_SETS[n].file for n in pu} | {RANDOM[n][0] for n in semi if n in RANDOM}
    folder = data_folder(args, sorted(files))
    results = []
    if args.resume and path.is_file():
        results = json.loads(path.read_text(encoding="utf-8"))["results"]
    draws = 1 if args.quick else args.draws
    results = measure("PUSVM", folder, pu, draws, pu_problems, path, results)
    results = measure("S3VM", folder, semi, draws, semi_problems, path, results)
    report(args.out, stem, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
