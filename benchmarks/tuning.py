"""Settings chosen without test labels by fewlabels.tune, beside what they might have been.

    python benchmarks/tuning.py --data FOLDER [--parts one-class pu ensemble s3vm] [--quick]

one-class  14 ADBench sets, standardised by the training rows; a random half trains (clean: its
           normal rows; contaminated: all of it), the rest is scored. AUC of the 10th neighbour's
           distance, the isolation forest, SVDD and OneClassSVM at their defaults and tuned (one
           rule for all: the clean half is tuned as if it were contaminated), and SVDD tuned
           with contaminated=False.
pu         Real sets, 100 positives and some unlabelled rows, the prior given. PUSVM at its
           defaults and tuned; accuracy and AUC on test rows, and the loss against the best of
           all candidates in hindsight.
ensemble   The same with PUEnsemble.
s3vm       Real sets with their label splits, and tables with 50 random labels. S3VM at its
           defaults and tuned; accuracy on the unlabelled rows, and the loss against the best
           of five widths, the linear kernel and a small C* in hindsight.

Seconds and kernel values of a whole search are given as multiples of the fit of its choice;
with one class, where the search only describes, the first draw searches and the others do not.
--merge FOLDER ... reports what earlier runs wrote there, as one.
Writes tuning.md, tuning.json, tuning.png (tuning-quick.* with --quick).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
from common import (
    COLOURS,
    data_folder,
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
from pu_bench import data as pu_data
from s3vm_bench import data as s3vm_data

PARTS = ["one-class", "pu", "ensemble", "s3vm"]
ADBENCH = [
    "annthyroid", "cardio", "satellite", "breastw", "wine", "vowels", "letter", "musk",
    "landsat", "pageblocks", "spambase", "wbc", "wdbc", "waveform",
]  # fmt: skip
NEIGHBOUR, FOREST, DEFAULT, TUNED, CLEAN, OTHER_DEFAULT, OTHER = METHODS = (
    "10th neighbour", "isolation forest", "SVDD, defaults", "SVDD, tuned",
    "SVDD, contaminated=False", "OneClassSVM, defaults", "OneClassSVM, tuned",
)  # fmt: skip
# Tables for S3VM, with so many random labels.
TABLES = [
    "mushrooms, poisonous", "phishing", "spambase", "magic", "satellite", "bank", "cod-rna",
    "usps, even digits",
]  # fmt: skip
LABELS = 50
S3VM_SETS = [*(name for name in s3vm_data.SETS if "10 classes" not in name), *TABLES]
AROUND = (0.25, 0.5, 2.0, 4.0)
SOFT = 0.1
# Search nothing: the rule of one-class machines needs none.
NO_TIME = 1e-9


# -- one class -------------------------------------------------------------------------------


def one_class(folder, name, seed, args):
    """AUC of every method, trained on clean and on contaminated rows."""
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import roc_auc_score
    from sklearn.neighbors import NearestNeighbors

    from fewlabels import SVDD, OneClassSVM, tune

    X, y = load_set(folder, f"adbench_{name}")
    order = np.random.default_rng(seed).permutation(len(y))
    half, test = order[: len(y) // 2], order[len(y) // 2 :]
    records = []
    for trained_on, train in (("normal rows", half[y[half] == 0]), ("contaminated rows", half)):
        train = train[: args.rows]
        rows, tested = standardised(X[train], X[test])
        near = NearestNeighbors(n_neighbors=min(10, len(rows) - 1)).fit(rows)
        tuned = tune(SVDD(), rows, time_budget=NO_TIME if seed else args.time_budget)
        trusting = tune(SVDD(), rows, time_budget=NO_TIME, contaminated=False)
        scores = {
            NEIGHBOUR: -near.kneighbors(tested)[0][:, -1],
            FOREST: IsolationForest(random_state=seed).fit(rows).score_samples(tested),
            DEFAULT: SVDD().fit(rows).score_samples(tested),
            TUNED: tuned.score_samples(tested),
            CLEAN: trusting.score_samples(tested),
            OTHER_DEFAULT: OneClassSVM().fit(rows).score_samples(tested),
            OTHER: tune(OneClassSVM(), rows, time_budget=NO_TIME).score_samples(tested),
        }
        records.append({
            "part": "one-class", "set": name, "seed": seed, "trained_on": trained_on,
            "auc": {m: roc_auc_score(y[test] == 0, s) for m, s in scores.items()},
            **({} if seed else cost(tuned)),
        })  # fmt: skip
    return records


# -- against hindsight -----------------------------------------------------------------------


def pu(folder, name, seed, args):
    """PUSVM: accuracy and AUC on test rows of the choice, the defaults and every candidate."""
    from fewlabels import PUSVM

    return _pu("pu", PUSVM, folder, name, seed, args)


def ensemble(folder, name, seed, args):
    """The same of PUEnsemble."""
    from fewlabels import PUEnsemble

    return _pu("ensemble", PUEnsemble, folder, name, seed, args)


def _pu(part, machine, folder, name, seed, args):
    from sklearn.metrics import roc_auc_score

    from fewlabels import tune

    draw = pu_data.draw_real(folder, name, seed, n_unlabeled=args.unlabeled)
    base = machine(prior=draw.prior, random_state=seed)
    tuned = tune(base, draw.X, draw.y, time_budget=args.time_budget, random_state=seed)

    def measure(model):
        decision = model.decision_function(draw.X_test)
        return {
            "accuracy": float(np.mean((decision > 0) == draw.y_test)),
            "auc": float(roc_auc_score(draw.y_test, decision)),
        }

    table = tuned.tuning_.candidates
    names = [c for c in ("lam", "gamma") if c in table]
    others = [{k: line[k] for k in names} for line in table.to_dict("records")]
    return [against_hindsight(part, name, seed, base, tuned, others, draw.X, draw.y, measure)]


def s3vm(folder, name, seed, args):
    """S3VM: accuracy on the unlabelled rows of the choice, the defaults and other settings."""
    from fewlabels import S3VM, tune

    if name in TABLES:
        X, y, truth = table_with_labels(folder, name, seed, args.unlabeled)
    else:
        ((_, split),) = s3vm_data.splits(folder, name, [seed])
        n = min(len(split.truth), split.n_labeled + args.unlabeled)
        X, y, truth = split.X[:n], split.y[:n], split.truth[:n]
    hidden = y < 0
    base = S3VM(random_state=seed)
    tuned = tune(base, X, y, time_budget=args.time_budget, random_state=seed)

    def measure(model):
        return {"accuracy": float(np.mean(model.transduction_[hidden] == truth[hidden]))}

    width = S3VM(random_state=seed, max_iter=1).fit(X, y).gamma_
    others = [{"gamma": factor * width} for factor in AROUND]
    others += [{"kernel": "linear"}, {"C_star": SOFT}]
    return [against_hindsight("s3vm", name, seed, base, tuned, others, X, y, measure)]


def table_with_labels(folder, name, seed, n_unlabeled):
    """Rows in random order, scaled, the first 50 labelled and both classes among them."""
    source = pu_data.REAL_SETS[name]
    X, y = pu_data.read(folder, source.file, "X", "y")
    y = np.isin(y, source.positive).astype(int)
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.permutation(len(y))[: LABELS + n_unlabeled]
        if 0 < y[rows[:LABELS]].sum() < LABELS:
            break
    X, _ = pu_data.scaled(source.scaling, X[rows].astype(float), X[:1].astype(float))
    return X, np.where(np.arange(len(rows)) < LABELS, y[rows], -1), y[rows]


def against_hindsight(part, name, seed, base, tuned, others, X, y, measure):
    """A record: what the choice, the defaults and other settings measure by the truth."""
    from sklearn.base import clone

    def measured(settings):
        return measure(clone(base).set_params(**settings).fit(X, y))

    chosen, given = measure(tuned), measured({})
    tried = [{**settings, **measured(settings)} for settings in others]
    return {
        "part": part, "set": name, "seed": seed, "tuned": chosen, "default": given,
        "hindsight": {m: max(line[m] for line in (chosen, given, *tried)) for m in chosen},
        "reason": tuned.tuning_.reason, "chosen": tuned.tuning_.chosen, "others": tried,
        **cost(tuned),
    }  # fmt: skip


def cost(tuned):
    """What the search took, in fits of its choice."""
    result = tuned.tuning_
    return {
        "fits": result.fits, "stopped": result.stopped,
        "seconds": result.seconds, "times_a_fit": result.seconds / result.fit_seconds,
        "values_of_a_fit": result.kernel_values / result.fit_kernel_values,
    }  # fmt: skip


# -- report ----------------------------------------------------------------------------------


def report(results):
    """All tables as Markdown."""
    records = results["records"]
    text = f"# Settings chosen without test labels\n\n{machine_line(results['machine'])}\n"
    titles = zip(PARTS, ("SVDD and OneClassSVM, AUC", "PUSVM", "PUEnsemble", "S3VM"), strict=True)
    for part, title in titles:
        chosen = [r for r in records if r["part"] == part]
        if chosen:
            table = one_class_table if part == "one-class" else hindsight_tables
            text += f"\n## {title}\n\n{table(chosen)}\n{costs(chosen)}\n"
    return text


def one_class_table(records):
    lines = []
    for trained_on in ("normal rows", "contaminated rows"):
        here = [r for r in records if r["trained_on"] == trained_on]
        for name in dict.fromkeys(r["set"] for r in here):
            means = [np.mean([r["auc"][m] for r in here if r["set"] == name]) for m in METHODS]
            lines.append([trained_on, name, *(f"{v:.3f}" for v in means)])
        means = [np.mean([r["auc"][m] for r in here]) for m in METHODS]
        lines.append([trained_on, "**mean**", *(f"**{v:.3f}**" for v in means)])
    return markdown_table(["trained on", "set", *METHODS], lines)


def hindsight_tables(records):
    return "\n\n".join(hindsight_table(records, m) for m in records[0]["tuned"])


def hindsight_table(records, measure):
    by_set = sets_of(records, measure)
    rows = [[name, *(f"{v:.3f}" for v in with_losses(means))] for name, means in by_set.items()]
    means = with_losses(np.mean(list(by_set.values()), axis=0))
    rows.append(["**mean of the sets**", *(f"**{v:.3f}**" for v in means)])
    names = ["defaults", "tuned", "best in hindsight", "loss of the defaults", "loss"]
    return markdown_table([f"{measure}", *names], rows)


def sets_of(records, measure):
    """Means of defaults, choice and hindsight over the draws, by set."""
    found = {}
    for r in records:
        line = [r[key][measure] for key in ("default", "tuned", "hindsight")]
        found.setdefault(r["set"], []).append(line)
    return {name: np.mean(lines, axis=0) for name, lines in found.items()}


def with_losses(means):
    default, tuned, best = means
    return default, tuned, best, best - default, best - tuned


def costs(records):
    records = [r for r in records if r.get("fits", 0) > 1]
    if not records:
        return ""
    middle = {k: np.median([r[k] for r in records]) for k in ("fits", "times_a_fit", "seconds")}
    values = np.median([r["values_of_a_fit"] for r in records])
    ended = sum(bool(r["stopped"]) for r in records)
    return (
        f"\nA search took {middle['fits']:.0f} fits, {middle['seconds']:.1f} s, "
        f"{middle['times_a_fit']:.1f} times the seconds and {values:.1f} times the kernel values "
        f"of the fit of its choice (medians); {ended} of {len(records)} were ended by their time "
        "budget.\n"
    )


def picture(results, path):
    """AUC of one-class methods, and what defaults and choices lose to hindsight, set by set."""
    from matplotlib.figure import Figure

    records = results["records"]
    parts = [p for p in PARTS[1:] if any(r["part"] == p for r in records)]
    heights = [4.0, 5.5] if parts else [4.0]
    figure = Figure(figsize=(14, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
    for place, trained_on in enumerate(("normal rows", "contaminated rows")):
        here = [r for r in records if r.get("trained_on") == trained_on]
        if here:
            ax = figure.add_subplot(grid[0, 3 * place : 3 * place + 3])
            one_class_panel(ax, here, trained_on)
    width = 6 // max(1, len(parts))
    for place, part in enumerate(parts):
        ax = figure.add_subplot(grid[1, width * place : width * (place + 1)])
        loss_panel(ax, [r for r in records if r["part"] == part], part)
    save_figure(figure, path)


def one_class_panel(ax, records, trained_on):
    names = list(dict.fromkeys(r["set"] for r in records))
    for row, method in enumerate(METHODS):
        by_set = [np.mean([r["auc"][method] for r in records if r["set"] == n]) for n in names]
        ours = "tuned" in method or "contaminated" in method
        ax.plot(by_set, np.full(len(names), row), "o", color=COLOURS[0 if ours else 4], alpha=0.35)
        ax.plot(np.mean(by_set), row, "|", color=COLOURS[0 if ours else 4], ms=22, mew=3)
        ax.text(1.02, row, f"{np.mean(by_set):.3f}", va="center")
    ax.set_yticks(range(len(METHODS)), METHODS)
    ax.invert_yaxis()
    ax.set(xlim=(0.3, 1.12), xlabel="AUC, sets and their mean", title=f"trained on {trained_on}")
    ax.set_xticks(np.arange(0.3, 1.01, 0.1))


def loss_panel(ax, records, part):
    title = {"pu": "PUSVM", "ensemble": "PUEnsemble", "s3vm": "S3VM"}[part]
    by_set = {n: with_losses(100 * m) for n, m in sets_of(records, "accuracy").items()}
    order = sorted(by_set, key=lambda n: by_set[n][3])
    for row, name in enumerate(order):
        default, tuned = by_set[name][3:]
        ax.plot([default, tuned], [row, row], color="0.8", zorder=1)
    for place, (label, colour) in enumerate((("defaults", COLOURS[4]), ("tuned", COLOURS[0]))):
        losses = [by_set[n][3 + place] for n in order]
        ax.plot(losses, range(len(order)), "o", color=colour, label=label)
        ax.axvline(np.mean(losses), color=colour, linestyle=":")
    ax.set_yticks(range(len(order)), order, fontsize="small")
    ax.set(xlabel="accuracy lost to hindsight, points", title=title)
    ax.legend(loc="lower right")


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--sets", nargs="+", help="only these sets")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rows", type=int, default=None, help="training rows of one class")
    parser.add_argument("--unlabeled", type=int, default=1000, help="unlabelled rows")
    parser.add_argument("--merge", nargs="+", type=Path, help="folders of earlier runs")
    parser.add_argument("--time-budget", type=float, default=60.0)
    args = parser.parse_args()
    stem = "tuning-quick" if args.quick else "tuning"
    if args.merge:
        runs = [json.loads((f / f"{stem}.json").read_text(encoding="utf-8")) for f in args.merge]
        records = [record for run in runs for record in run["records"]]
        write_all(args.out, stem, {**runs[0], "records": records})
        return
    real = list(pu_data.REAL_SETS)
    sets = {"one-class": ADBENCH, "pu": real, "ensemble": real, "s3vm": S3VM_SETS}
    if args.quick:
        args.draws, args.rows, args.unlabeled, args.time_budget = 1, 400, 150, 5.0
        sets = {
            "one-class": ["wine", "wbc", "cardio"],
            "pu": ["phishing", "spambase"],
            "ensemble": ["spambase"],
            "s3vm": ["g50c, 50 labels", "digits, 50 labels", "phishing"],
        }
    folder = data_folder(args)
    results = {"machine": machine(), "quick": args.quick, "records": []}
    run = {"one-class": one_class, "pu": pu, "ensemble": ensemble, "s3vm": s3vm}
    warnings.simplefilter("ignore")
    for part in args.parts:
        for name in [n for n in sets[part] if args.sets is None or n in args.sets]:
            for seed in range(args.draws):
                has_splits = part == "s3vm" and name not in TABLES
                if has_splits and seed >= s3vm_data.n_splits(name, folder):
                    continue
                results["records"] += run[part](folder, name, seed, args)
                write_json(args.out / f"{stem}.json", results)
            print(f"{part}: {name}", flush=True)
    write_all(args.out, stem, results)


def write_all(folder, stem, results):
    write_json(folder / f"{stem}.json", results)
    text = report(results)
    write_text(folder / f"{stem}.md", text)
    picture(results, folder / f"{stem}.png")
    print(text)


if __name__ == "__main__":
    main()
