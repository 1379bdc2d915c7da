"""Settings chosen without test labels by fewlabels.tune, beside what they might have been.

    python benchmarks/tuning.py --data FOLDER [--parts one-class pu s3vm] [--quick]

one-class  14 ADBench sets, standardised by the training rows; a random half trains (clean: its
           normal rows; contaminated: all of it), the rest is scored. AUC of the 10th neighbour's
           distance, the isolation forest, SVDD at its defaults and tuned (one rule for all:
           the clean half is tuned as if it were contaminated; with contaminated=False beside).
pu         Real sets, 100 positives and some unlabelled rows, the prior given. PUSVM at its
           defaults and tuned; accuracy on test rows, and the loss against the best of all
           candidates in hindsight.
s3vm       Real sets with their label splits. S3VM at its defaults and tuned; accuracy on the
           unlabelled rows, and the loss against the best of all candidates in hindsight.

Seconds and kernel values of a whole search are given as multiples of the fit of its choice.
Writes tuning.md, tuning.json (tuning-quick.* with --quick).
"""

from __future__ import annotations

import warnings

import numpy as np
from common import (
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
from pu_bench import data as pu_data
from s3vm_bench import data as s3vm_data

PARTS = ["one-class", "pu", "s3vm"]
ADBENCH = [
    "annthyroid", "cardio", "satellite", "breastw", "wine", "vowels", "letter", "musk",
    "landsat", "pageblocks", "spambase", "wbc", "wdbc", "waveform",
]  # fmt: skip
NEIGHBOUR, FOREST, DEFAULT, TUNED, CLEAN = (
    "10th neighbour", "isolation forest", "SVDD, defaults", "SVDD, tuned",
    "SVDD, tuned, contaminated=False",
)  # fmt: skip
S3VM_SETS = [name for name in s3vm_data.SETS if "10 classes" not in name]


# -- one class -------------------------------------------------------------------------------


def one_class(folder, name, seed, args):
    """AUC of every method, trained on clean and on contaminated rows."""
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import roc_auc_score
    from sklearn.neighbors import NearestNeighbors

    from fewlabels import SVDD, tune

    X, y = load_set(folder, f"adbench_{name}")
    order = np.random.default_rng(seed).permutation(len(y))
    half, test = order[: len(y) // 2], order[len(y) // 2 :]
    records = []
    for trained_on, train in (("normal rows", half[y[half] == 0]), ("contaminated rows", half)):
        train = train[: args.rows]
        rows, tested = standardised(X[train], X[test])
        near = NearestNeighbors(n_neighbors=min(10, len(rows) - 1)).fit(rows)
        tuned = tune(SVDD(), rows, time_budget=args.time_budget)
        trusting = tune(SVDD(), rows, time_budget=1e-9, contaminated=False)
        scores = {
            NEIGHBOUR: -near.kneighbors(tested)[0][:, -1],
            FOREST: IsolationForest(random_state=seed).fit(rows).score_samples(tested),
            DEFAULT: SVDD().fit(rows).score_samples(tested),
            TUNED: tuned.score_samples(tested),
            CLEAN: trusting.score_samples(tested),
        }
        records.append({
            "part": "one-class", "set": name, "seed": seed, "trained_on": trained_on,
            "auc": {m: roc_auc_score(y[test] == 0, s) for m, s in scores.items()},
            **cost(tuned),
        })  # fmt: skip
    return records


# -- against hindsight -----------------------------------------------------------------------


def pu(folder, name, seed, args):
    """PUSVM: accuracy on test rows of the choice, the defaults and every candidate."""
    from fewlabels import PUSVM, tune

    draw = pu_data.draw_real(folder, name, seed, n_unlabeled=args.unlabeled)
    base = PUSVM(prior=draw.prior, random_state=seed)
    tuned = tune(base, draw.X, draw.y, time_budget=args.time_budget, random_state=seed)

    def accuracy(model):
        return float(np.mean((model.predict(draw.X_test) == 1) == draw.y_test))

    return [against_hindsight("pu", name, seed, base, tuned, draw.X, draw.y, accuracy)]


def s3vm(folder, name, seed, args):
    """S3VM: accuracy on the unlabelled rows of the choice, the defaults and every candidate."""
    from fewlabels import S3VM, tune

    ((_, split),) = s3vm_data.splits(folder, name, [seed])
    n = min(len(split.truth), split.n_labeled + args.unlabeled)
    X, y, truth = split.X[:n], split.y[:n], split.truth[:n]
    hidden = y < 0
    base = S3VM(random_state=seed)
    tuned = tune(base, X, y, time_budget=args.time_budget, random_state=seed)

    def accuracy(model):
        return float(np.mean(model.transduction_[hidden] == truth[hidden]))

    return [against_hindsight("s3vm", name, seed, base, tuned, X, y, accuracy)]


def against_hindsight(part, name, seed, base, tuned, X, y, accuracy):
    """A record; every candidate is fitted to all rows and scored by the truth."""
    from sklearn.base import clone

    table = tuned.tuning_.candidates
    if "machine" in table:
        table = table[table["machine"] == "S3VM"]
    names = [c for c in table.columns if c in ("kernel", "lam", "gamma", "C", "C_star")]
    lines = []
    for line in table.to_dict("records"):
        settings = {k: line[k] for k in names if line[k] == line[k]}
        lines.append({**line, "truth": accuracy(clone(base).set_params(**settings).fit(X, y))})
    best = max(line["truth"] for line in lines)
    given = accuracy(clone(base).fit(X, y))
    return {
        "part": part, "set": name, "seed": seed, "tuned": accuracy(tuned), "default": given,
        "hindsight": max(best, given), "reason": tuned.tuning_.reason, "candidates": lines,
        **cost(tuned),
    }  # fmt: skip


def cost(tuned):
    """What the search took, in fits of its choice."""
    result = tuned.tuning_
    return {
        "fits": result.fits, "stopped": result.stopped,
        "seconds": result.seconds, "times_a_fit": result.seconds / result.fit_seconds,
        # None: held in memory from the start, which the machine does not count.
        "values_of_a_fit": result.kernel_values / result.fit_kernel_values
        if result.fit_kernel_values
        else None,
    }  # fmt: skip


# -- report ----------------------------------------------------------------------------------


def report(results):
    """All tables as Markdown."""
    records = results["records"]
    text = f"# Settings chosen without test labels\n\n{machine_line(results['machine'])}\n"
    for part, title in (("one-class", "SVDD, AUC"), ("pu", "PUSVM"), ("s3vm", "S3VM")):
        chosen = [r for r in records if r["part"] == part]
        if chosen:
            table = one_class_table if part == "one-class" else hindsight_table
            text += f"\n## {title}\n\n{table(chosen)}\n{costs(chosen)}\n"
    return text


def one_class_table(records):
    methods = [NEIGHBOUR, FOREST, DEFAULT, TUNED, CLEAN]
    lines = []
    for trained_on in ("normal rows", "contaminated rows"):
        here = [r for r in records if r["trained_on"] == trained_on]
        for name in dict.fromkeys(r["set"] for r in here):
            means = [np.mean([r["auc"][m] for r in here if r["set"] == name]) for m in methods]
            lines.append([trained_on, name, *(f"{v:.3f}" for v in means)])
        means = [np.mean([r["auc"][m] for r in here]) for m in methods]
        lines.append([trained_on, "**mean**", *(f"**{v:.3f}**" for v in means)])
    return markdown_table(["trained on", "set", *methods], lines)


def hindsight_table(records):
    lines = []
    for name in dict.fromkeys(r["set"] for r in records):
        lines.append(line_of(name, [r for r in records if r["set"] == name]))
    columns = ["set", "defaults", "tuned", "best in hindsight", "loss of the defaults", "loss"]
    return markdown_table(columns, [*lines, line_of("**mean**", records)])


def line_of(name, records):
    default, tuned, best = (
        np.mean([r[key] for r in records]) for key in ("default", "tuned", "hindsight")
    )
    return [name, *(f"{v:.3f}" for v in (default, tuned, best, best - default, best - tuned))]


def costs(records):
    times = np.median([r["times_a_fit"] for r in records])
    values = [r["values_of_a_fit"] for r in records if r["values_of_a_fit"] is not None]
    counted = f" and {np.median(values):.1f} times the kernel values" if values else ""
    ended = sum(bool(r["stopped"]) for r in records)
    return (
        f"\nA search took {np.median([r['fits'] for r in records]):.0f} fits, {times:.1f} times "
        f"the seconds{counted} of the fit of its choice (medians); {ended} of {len(records)} were "
        "ended by their time budget.\n"
    )


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--sets", nargs="+", help="only these sets")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rows", type=int, default=None, help="training rows of one class")
    parser.add_argument("--unlabeled", type=int, default=3000, help="unlabelled rows")
    parser.add_argument("--time-budget", type=float, default=60.0)
    args = parser.parse_args()
    sets = {"one-class": ADBENCH, "pu": list(pu_data.REAL_SETS), "s3vm": S3VM_SETS}
    if args.quick:
        args.draws, args.rows, args.unlabeled, args.time_budget = 1, 400, 150, 5.0
        sets = {
            "one-class": ["wine", "wbc", "cardio"],
            "pu": ["phishing", "spambase"],
            "s3vm": ["g50c, 50 labels", "digits, 50 labels"],
        }
    folder = data_folder(args)
    stem = "tuning-quick" if args.quick else "tuning"
    results = {"machine": machine(), "quick": args.quick, "records": []}
    run = {"one-class": one_class, "pu": pu, "s3vm": s3vm}
    warnings.simplefilter("ignore")
    for part in args.parts:
        for name in [n for n in sets[part] if args.sets is None or n in args.sets]:
            for seed in range(args.draws):
                if part == "s3vm" and seed >= s3vm_data.n_splits(name, folder):
                    continue
                results["records"] += run[part](folder, name, seed, args)
                write_json(args.out / f"{stem}.json", results)
            print(f"{part}: {name}", flush=True)
    text = report(results)
    write_text(args.out / f"{stem}.md", text)
    print(text)


if __name__ == "__main__":
    main()
