"""Tuned machines against tuned baselines, and whether the verdict of the report is right.

    python benchmarks/answers.py --data FOLDER [--parts clean contaminated pu few] [--quick]

clean, contaminated  ADBench sets, columns standardised by the training rows: a random half
                     trains (its normal rows, or all), area under the ROC curve of the rest.
pu                   Real sets, 100 positives, 1000 unlabelled rows, the prior estimated; area
                     of the test rows.
few                  Real sets with their label splits, and small ones with 40 labels; accuracy
                     on the unlabelled rows.

Ours are chosen by fewlabels.tune, as `fewlabels fit` does; baselines by cross-validation over
what a user has, where that exists. Ranks are over sets (means over draws), with Friedman's test
and Nemenyi's critical difference. For every problem compare_with_baselines gives its verdict,
which never sees the truth; counted is how often a baseline was better by more than a point and
the verdict did not name one.

--merge FOLDER ... reports what earlier runs wrote there, as one.

Writes answers.md, answers.json, answers.png (answers-quick.* with --quick).
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np
from answers_bench import methods
from answers_bench.ranks import draw, ranking
from common import (
    COLOURS,
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
from sklearn.metrics import accuracy_score, roc_auc_score

from fewlabels.model_selection import compare_with_baselines

PARTS = {
    "clean": "only normal rows, clean: area under the ROC curve",
    "contaminated": "only normal rows, contaminated: area under the ROC curve",
    "pu": "positives and a pile: area under the ROC curve",
    "few": "a few labels: accuracy",
}
ADBENCH = [
    "annthyroid", "cardio", "satellite", "breastw", "wine", "vowels", "letter", "musk",
    "landsat", "pageblocks", "spambase", "wbc", "wdbc", "waveform", "magic_gamma",
]  # fmt: skip
SMALL = [
    "australian", "diabetes", "heart_statlog", "house_votes", "ionosphere", "liver_disorders",
    "clean1_musk", "spectf",
]  # fmt: skip
SEMI = [name for name in s3vm_data.SETS if "10 classes" not in name]
N_LABELED = 40
# What "better" means when verdicts are counted: a point.
POINT = 0.01


def one_class_problem(folder, name, seed, part, args):
    X, y = load_set(folder, f"adbench_{name}")
    order = np.random.default_rng(seed).permutation(len(y))[: args.rows]
    train, test = np.array_split(order, 2)
    if part == "clean":
        train = train[y[train] == 0]
    rows, tested = standardised(X[train], X[test])
    found = {
        method: (*timed(run, rows, tested, seed, args.time_budget),)
        for method, run in methods.one_class(part == "contaminated").items()
    }
    scores = {m: roc_auc_score(y[test] == 0, s) for m, (_, (s, _)) in found.items()}
    return scores, found, lambda model: compare(model, rows, None, args, seed)


def pu_problem(folder, name, seed, part, args):
    task = pu_data.draw_real(folder, name, seed, n_unlabeled=args.unlabeled)
    found = {
        method: timed(run, task.X, task.y, task.X_test, seed, args.time_budget)
        for method, run in methods.PU.items()
    }
    scores = {m: roc_auc_score(task.y_test, s) for m, (_, (s, _)) in found.items()}
    return scores, found, lambda model: compare(model, task.X, task.y, args, seed)


def few_problem(folder, name, seed, part, args):
    if name in SMALL:
        X, y = load_set(folder, name)
        (X,) = standardised(X)
        truth = np.unique(y, return_inverse=True)[1]
        known = s3vm_data._some_of_each(truth, N_LABELED, np.random.default_rng(seed))
        y = np.full(len(truth), -1)
        y[known] = truth[known]
    else:
        ((_, split),) = s3vm_data.splits(folder, name, [seed])
        n = min(len(split.truth), split.n_labeled + args.unlabeled)
        X, y, truth = split.X[:n], split.y[:n], split.truth[:n]
    found = {
        method: timed(run, X, y, seed, args.time_budget) for method, run in methods.FEW.items()
    }
    scores = {m: accuracy_score(truth[y < 0], s) for m, (_, (s, _)) in found.items()}
    return scores, found, lambda model: compare(model, X, y, args, seed)


RUN = {"clean": one_class_problem, "contaminated": one_class_problem, "pu": pu_problem,
       "few": few_problem}  # fmt: skip


def timed(run, *arguments):
    started = time.perf_counter()
    answer = run(*arguments)
    return time.perf_counter() - started, answer


def compare(model, X, y, args, seed):
    return compare_with_baselines(
        model, X, y, time_budget=args.compare_budget, random_state=seed
    )  # fmt: skip


def record(folder, part, name, seed, args):
    scores, found, verdict_of = RUN[part](folder, name, seed, part, args)
    verdicts = {}
    for method in [m for m in found if methods.is_ours(m)]:
        seconds, comparison = timed(verdict_of, found[method][1][1])
        verdicts[method] = {
            "outcome": comparison.outcome, "worse_than": comparison.worse_than,
            "verdict": comparison.verdict, "seconds": seconds,
        }  # fmt: skip
    return {
        "part": part, "set": name, "seed": seed, "scores": scores,
        "seconds": {m: s for m, (s, _) in found.items()}, "verdicts": verdicts,
    }  # fmt: skip


# -- report ----------------------------------------------------------------------------------


def table_of(records):
    """Names of sets and methods, and the mean scores."""
    sets = list(dict.fromkeys(r["set"] for r in records))
    names = list(records[0]["scores"])
    means = [
        [np.mean([r["scores"][m] for r in records if r["set"] == s]) for m in names] for s in sets
    ]
    return sets, names, np.array(means)


def part_report(part, records):
    sets, names, means = table_of(records)
    found = ranking(means, names)
    rank = dict(zip(found.names, found.mean, strict=True))
    lines = [[s, *(f"{v:.3f}" for v in row)] for s, row in zip(sets, means, strict=True)]
    lines.append(["**mean**", *(f"**{v:.3f}**" for v in means.mean(axis=0))])
    lines.append(["mean rank", *(f"{rank[m]:.2f}" for m in names)])
    seconds = [np.median([r["seconds"][m] for r in records]) for m in names]
    lines.append(["median seconds", *(f"{s:.2f}" for s in seconds)])
    text = f"\n## {PARTS[part]}\n\n{markdown_table(['set', *names], lines)}\n"
    text += (
        f"\nFriedman p = {found.p_value:.2g}; critical difference of mean ranks "
        f"{found.critical:.2f}.\n{verdict_lines(records)}"
    )
    return text


def verdict_lines(records):
    """How often a baseline was better, and whether the verdict said so."""
    text = "\n"
    for method in records[0]["verdicts"]:
        lost = [r for r in records if behind(r, method) > POINT]
        contrary = [r for r in lost if r["verdicts"][method]["outcome"] == "better"]
        unnamed = [r for r in lost if not is_named(r["verdicts"][method])]
        false = [
            r for r in records if r["verdicts"][method]["outcome"] == "worse"
            and behind(r, method) <= 0
        ]  # fmt: skip
        better = [r for r in records if r["verdicts"][method]["outcome"] == "better"]
        text += (
            f"{method}: {len(records)} problems. On {len(lost)} a baseline was better by more "
            f"than a point; the verdict said the contrary on {len(contrary)} of them and named "
            f"no baseline as ahead on {len(unnamed)}, where it said that they cannot be told "
            f"apart. It said 'better' of {len(better)}, and 'worse' of {len(false)} where ours "
            "was the best.\n\n"
        )
    return text


def behind(entry, method):
    """By how much the best baseline was ahead."""
    others = [s for m, s in entry["scores"].items() if not methods.is_ours(m)]
    return max(others) - entry["scores"][method]


def is_named(verdict):
    """Whether a baseline is named as ahead, or nothing is said about who is."""
    return bool(verdict["worse_than"]) or verdict["outcome"] == "unknown"


def picture(path, records):
    from common import save_figure
    from matplotlib.figure import Figure

    parts = [p for p in PARTS if any(r["part"] == p for r in records)]
    figure = Figure(figsize=(8.5, 3.1 * len(parts)), layout="constrained")
    for ax, part in zip(np.atleast_1d(figure.subplots(len(parts), 1)), parts, strict=True):
        _, names, means = table_of([r for r in records if r["part"] == part])
        draw(ax, ranking(means, names), PARTS[part], methods.is_ours, (COLOURS[0], "0.45"))
    save_figure(figure, path)


def report(results):
    text = f"# Tuned machines and tuned baselines\n\n{machine_line(results['machine'])}\n"
    for part in PARTS:
        records = [r for r in results["records"] if r["part"] == part]
        if records:
            text += part_report(part, records)
    return text


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--merge", nargs="+", type=Path, help="folders of earlier runs")
    parser.add_argument("--rows", type=int, default=6000, help="rows of a set of one class")
    parser.add_argument("--unlabeled", type=int, default=1000, help="unlabelled rows")
    parser.add_argument("--time-budget", type=float, default=20.0, help="seconds of a search")
    parser.add_argument("--compare-budget", type=float, default=20.0)
    args = parser.parse_args()
    sets = {"clean": ADBENCH, "contaminated": ADBENCH, "pu": list(pu_data.REAL_SETS),
            "few": SEMI + SMALL}  # fmt: skip
    if args.quick:
        args.draws, args.rows, args.unlabeled, args.time_budget = 1, 300, 150, 3.0
        args.compare_budget = 3.0
        sets = {
            "clean": ["wine", "wbc"],
            "contaminated": ["wbc", "cardio"],
            "pu": ["phishing", "spambase"],
            "few": ["g50c, 50 labels", "house_votes"],
        }
    stem = "answers-quick" if args.quick else "answers"
    if args.merge:
        runs = [json.loads((f / f"{stem}.json").read_text(encoding="utf-8")) for f in args.merge]
        results = {**runs[0], "records": [r for run in runs for r in run["records"]]}
    else:
        results = measure(sets, stem, args)
    write_json(args.out / f"{stem}.json", results)
    text = report(results)
    write_text(args.out / f"{stem}.md", text)
    picture(args.out / f"{stem}.png", results["records"])
    print(text)


def measure(sets, stem, args):
    """All records, kept on the way."""
    folder = data_folder(args)
    results = {"machine": machine(), "quick": args.quick, "records": []}
    warnings.simplefilter("ignore")
    for part in args.parts:
        for name in sets[part]:
            for seed in range(args.draws):
                if name in SEMI and seed >= s3vm_data.n_splits(name, folder):
                    continue
                results["records"].append(record(folder, part, name, seed, args))
                write_json(args.out / f"{stem}.json", results)
            print(f"{part}: {name}", flush=True)
    return results


if __name__ == "__main__":
    main()
