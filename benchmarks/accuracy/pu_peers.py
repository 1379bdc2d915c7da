"""PU learning on real sets: ours beside pulearn, pu-toolbox, pywsl and scikit-learn.

    python benchmarks pu_peers --data FOLDER

16 real sets; of each, several random draws of 100 labelled positives, 3000 unlabelled rows and
up to 5000 test rows. Columns are standardised by the training rows (pixels divided by 255, coded
0/1 columns left alone). Every method gets the same rows, the same gamma = 1 / (d var(X)) where it
has an RBF kernel, and the same prior: once the true share of positives among the unlabelled rows,
once what fewlabels.class_prior.estimate_prior finds. The rest is at the method's defaults, except:

  PUSVMCV                lambda, and gamma of 1/4, 1 and 4 times the common one, cross-validated
  PU bagging             Mordelet & Vert: 15 SVCs, each on the positives and as many unlabelled
                         rows; in plain scikit-learn, and pulearn's with max_samples = positives
  Elkan-Noto             pulearn's, on a calibrated SVC, a fifth held out
  nnPU 200 bases         pulearn's on 200 Nystroem features, learning rate 1
  squared, double hinge  200 RBF centres, lambda = 1e-3, as in pu-toolbox and pywsl; double hinge
                         takes up to a minute a fit, and is there only with --slow
  SVC, true labels       is given the classes of the unlabelled rows: a bound, not a peer

``--first-draw N`` starts with draw N, such as one that no choice has seen. The entry of the
results file is written beside the tables.

Accuracy and F1 are those of a method's own decisions. "Cut at the prior" takes the test rows with
the greatest scores, as many as the prior says, for positive: it compares rankings and forgives
thresholds. Ranks are among ours and peers, 1 is best, mean over sets. Seconds: one fit each, after
a fit on a fifth of the rows has loaded and compiled what there is.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from results import entry
from shared.common import (
    COLOURS,
    ChildFailed,
    data_folder,
    figure,
    in_child,
    machine,
    machine_line,
    markdown_table,
    options,
    save_figure,
    write_json,
    write_text,
)
from shared.pu_data import REAL_SETS, draw_real
from shared.pu_measure import quality
from shared.pu_methods import METHODS, Task

PRIORS = ["true", "estimated"]
QUALITIES = {"accuracy": "accuracy", "accuracy_cut": "cut at the prior", "auc": "AUC", "f1": "F1"}
_WORTH = 0.01  # "within one point"


# -- one draw ----------------------------------------------------------------------------------


def measure(folder, name, seed, methods, quick):
    """All methods on one draw; runs in a process of its own."""
    from fewlabels.class_prior import estimate_prior

    draw = draw_real(folder, name, seed, n_unlabeled=600 if quick else 3000,
                     n_test=1000 if quick else 5000)  # fmt: skip
    started = time.perf_counter()
    estimate = estimate_prior(draw.X, draw.y, random_state=seed)
    answer = {
        "prior_true": draw.prior, "prior_estimated": estimate.prior,
        "interval": (estimate.low, estimate.high),
        "prior_s": time.perf_counter() - started, "methods": {},
    }  # fmt: skip
    priors = {"true": draw.prior, "estimated": estimate.prior}
    for method in methods:
        answer["methods"][method] = outcomes(METHODS[method], draw, priors, seed)
    return answer


def outcomes(method, draw, priors, seed):
    """Figures per prior; a method that is not told the prior is fitted once."""
    truth = np.concatenate([np.ones(draw.n_positive, dtype=bool), draw.truth])
    gamma = 1.0 / (draw.X.shape[1] * draw.X.var())
    found, learned, seconds = {}, None, None
    few = np.unique(np.concatenate([np.arange(draw.n_positive), np.arange(0, len(truth), 5)]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.fit(Task(draw.X[few], draw.y[few], draw.prior, gamma, truth[few], seed))
            for kind, prior in priors.items():
                if learned is None or method.uses_prior:
                    started = time.perf_counter()
                    learned = method.fit(Task(draw.X, draw.y, prior, gamma, truth, seed))
                    seconds = time.perf_counter() - started
                scores, decided = learned.score(draw.X_test), learned.decide(draw.X_test)
                found[kind] = quality(scores, decided, draw.y_test, prior) | {"fit_s": seconds}
    except ImportError as error:
        return {"failed": f"not installed: {error.name or error}"}
    except Exception as error:
        # One method's refusal of one draw must not lose the others' figures.
        return found | {"failed": f"{type(error).__name__}: {error}"[:300]}
    return found


def run(names, methods, args, folder, path):
    """Measure every draw of every set; the file is written after each."""
    records = {}
    if args.resume and path.exists():
        records = json.loads(path.read_text())["sets"]
    report = {"machine": machine(), "sets": records}
    for number, name in enumerate(names, 1):
        for seed in range(args.first_draw, args.first_draw + args.draws):
            draws = records.setdefault(name, {})
            done = draws.get(str(seed), {"methods": {}})
            missing = [m for m in methods if m not in done["methods"]]
            if not missing:
                continue
            try:
                fresh = in_child(measure, folder, name, seed, missing, args.quick,
                                 limit=args.limit)  # fmt: skip
            except ChildFailed as failure:
                print(f"[{number}/{len(names)}] {name}, draw {seed}: {failure}", flush=True)
                continue
            draws[str(seed)] = fresh | {"methods": done["methods"] | fresh["methods"]}
            print(f"[{number}/{len(names)}] {name}, draw {seed}: prior {fresh['prior_true']:.3f}, "
                  f"estimated {fresh['prior_estimated']:.3f}", flush=True)  # fmt: skip
            for method in missing:
                print(f"    {method:<28} {sentence(fresh['methods'][method])}", flush=True)
            write_json(path, report)
    return report


def sentence(found):
    text = "   ".join(
        f"{kind} prior: accuracy {r['accuracy']:.3f}, cut {r['accuracy_cut']:.3f}, AUC "
        f"{r['auc']:.3f}, F1 {r['f1']:.3f}, {r['fit_s']:.2f} s"
        for kind, r in found.items()
        if kind in PRIORS
    )
    return f"{text} {found['failed']}" if "failed" in found else text


# -- the report --------------------------------------------------------------------------------


def table_of_means(records, kind, key):
    """Names of sets and methods, and the mean over draws, shape (sets, methods)."""
    sets = list(records)
    measured = {
        m for draws in records.values() for draw in draws.values() for m in draw["methods"]
    }
    methods = [m for m in METHODS if m in measured]
    values = np.full((len(sets), len(methods)), np.nan)
    for i, name in enumerate(sets):
        for j, method in enumerate(methods):
            found = [draw["methods"].get(method, {}).get(kind, {}).get(key)
                     for draw in records[name].values()]  # fmt: skip
            # A mean over fewer draws than the others' would compare different problems.
            if found and all(value is not None for value in found):
                values[i, j] = np.mean(found)
    return sets, methods, values


def ranks(values):
    """Mean rank of each column, 1 the greatest; ties share."""
    from scipy.stats import rankdata

    return np.mean([rankdata(-row) for row in values], axis=0)


def complete_methods(records, kind):
    """Indices of methods with figures on every set."""
    _, methods, values = table_of_means(records, kind, "accuracy")
    return methods, [j for j in range(len(methods)) if np.isfinite(values[:, j]).all()]


def summary(records, kind):
    """One row per method that has figures on every set."""
    methods, complete = complete_methods(records, kind)
    tables = {key: table_of_means(records, kind, key)[2] for key in [*QUALITIES, "fit_s"]}
    ranked = [j for j in complete if METHODS[methods[j]].group != "bound"]
    rank = {key: dict(zip(ranked, ranks(tables[key][:, ranked]), strict=True))
            for key in ("accuracy", "accuracy_cut", "auc")}  # fmt: skip
    rows = []
    for j in complete:
        means = [f"{tables[key][:, j].mean():.4f}" for key in QUALITIES]
        mean_ranks = [f"{rank[key][j]:.1f}" if j in ranked else None for key in rank]
        seconds = float(np.median(tables["fit_s"][:, j]))
        rows.append([methods[j], METHODS[methods[j]].group, *means, *mean_ranks, seconds])
    return sorted(rows, key=lambda row: -float(row[2]))


def promises(records, kind):
    """Ours against the best peer by mean accuracy, with the standard error over sets."""
    methods, complete = complete_methods(records, kind)
    rows = []
    for key in ("accuracy", "accuracy_cut", "auc"):
        values = table_of_means(records, kind, key)[2]
        peers = [j for j in complete if METHODS[methods[j]].group == "peer"]
        if not peers:
            continue
        best = max(peers, key=lambda j: values[:, j].mean())
        for j in complete:
            if METHODS[methods[j]].group != "ours":
                continue
            difference = values[:, j] - values[:, best]
            error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else 0
            mean = difference.mean()
            wins = f"{np.sum(difference > 0)} of {len(difference)}"
            rows.append([QUALITIES[key], methods[j], methods[best], f"{mean:+.4f}",
                         f"{error:.4f}", wins, mean >= -_WORTH, mean > 0])  # fmt: skip
    return rows


def per_set(records, kind, key):
    sets, methods, values = table_of_means(records, kind, key)
    rows = []
    for i, name in enumerate(sets):
        draws = records[name].values()
        true, estimated = (np.mean([d[f"prior_{k}"] for d in draws]) for k in PRIORS)
        cells = [None if np.isnan(v) else f"{v:.3f}" for v in values[i]]
        rows.append([name, f"{true:.3f}", f"{estimated:.3f}", *cells])
    return markdown_table(["set", "prior", "estimated", *methods], rows)


def failures(records):
    """Why methods are missing, once each."""
    found = {}
    for name, draws in records.items():
        for draw in draws.values():
            for method, outcome in draw["methods"].items():
                if "failed" in outcome:
                    found.setdefault((method, outcome["failed"]), []).append(name)
    return [f"* {method}: {reason} ({len(names)} draws: {', '.join(sorted(set(names)))})"
            for (method, reason), names in found.items()]  # fmt: skip


# Of ours, only the default takes part in the ranks that documents show.
TITLES = {
    "PUEnsemble, default": "PUEnsemble()",
    "PUEnsemble": "Gaussian kernels only",
    "PUEnsemble, trees": "trees only",
    "tuned forest, prior's cut": "random forest cut at the prior",
}


def hindsight(records):
    """Accuracy for both priors and AUC of the best method of each draw, by its test rows."""
    best = {key: [] for key in (("true", "accuracy"), ("estimated", "accuracy"), ("true", "auc"))}
    for draws in records.values():
        for draw in draws.values():
            found = [f for m, f in draw["methods"].items() if METHODS[m].group != "bound"]
            for (kind, key), values in best.items():
                values.append(max(f[kind][key] for f in found if kind in f))
    return [float(np.mean(values)) for values in best.values()]


def default_entry(records, info):
    """The default compared with others, for the results file; None if it wasn't measured."""
    figures, complete = {}, complete_methods(records, "true")[1]
    for kind in PRIORS:
        _, methods, accuracy = table_of_means(records, kind, "accuracy")
        auc = table_of_means(records, kind, "auc")[2]
        ranked = [j for j in complete if METHODS[methods[j]].group == "peer"]
        ranked += [j for j in complete if methods[j] == "PUEnsemble, default"]
        rank = dict(zip(ranked, map(float, ranks(accuracy[:, ranked])), strict=True))
        for j in complete:
            figures.setdefault(methods[j], {})[kind] = (
                accuracy[:, j].mean(), auc[:, j].mean(), rank.get(j)
            )  # fmt: skip
    if "PUEnsemble, default" not in figures:
        return None
    rows = [
        [TITLES.get(method, method), *(float(found[kind][0]) for kind in PRIORS),
         float(found["true"][1]), *(found[kind][2] for kind in PRIORS)]
        for method, found in figures.items()
        if METHODS[method].group == "peer" or method in TITLES
    ]  # fmt: skip
    rows.sort(key=lambda row: (row[0] not in TITLES.values(), -row[1]))
    rows.append(["best of these for each draw, in hindsight", *hindsight(records), None, None])
    draws = sorted({seed for draws in records.values() for seed in draws})
    return entry(
        "pu-default",
        ["accuracy, true prior", "accuracy, estimated prior", "ROC AUC", "rank, true prior",
         "rank, estimated prior"],
        rows, unit="accuracy, ROC AUC, mean rank by accuracy", label="method",
        formats=[".3f", ".3f", ".3f", ".1f", ".1f"], program="python benchmarks pu_peers",
        hardware=f"{info['cores']} cores, {info['processor']}",
        note=f"{len(records)} sets, draws {', '.join(draws)}; ranks are among PUEnsemble() and "
        "the methods that aren't ours",
    )  # fmt: skip


def write_report(report, stem, out):
    records = {name: draws for name, draws in report["sets"].items() if draws}
    if not records:
        sys.exit("nothing was measured.")
    found = default_entry(records, report["machine"])
    if found:
        write_json(out / f"{stem}-entries.json", {"entries": [found]})
    n_draws = sorted({len(draws) for draws in records.values()})
    picture = draw_dots(records, out / f"{stem}.png")
    text = [
        "# PU learning on real sets: ours and the peers",
        machine_line(report["machine"]),
        "```\n" + __doc__.split("\n\n", 2)[2].strip("\n") + "\n```",
        f"{len(records)} sets, {' or '.join(map(str, n_draws))} draws each.",
        f"![{picture.stem}]({picture.name})",
    ]
    for kind in PRIORS:
        text += [
            f"## Means over sets, {kind} prior",
            markdown_table(
                ["method", "", *QUALITIES.values(), "rank, accuracy", "rank, cut", "rank, AUC",
                 "median seconds"],
                summary(records, kind),
            ),
            f"### Ours minus the best peer, {kind} prior",
            markdown_table(
                ["by", "ours", "best peer", "mean difference", "standard error", "sets ahead",
                 "within one point", "ahead"],
                promises(records, kind),
            ),
        ]  # fmt: skip
    for kind in PRIORS:
        for key in ("accuracy", "auc"):
            text += [f"## {QUALITIES[key]} per set, {kind} prior", per_set(records, kind, key)]
    reasons = failures(records)
    if reasons:
        text += ["## Not measured", "\n".join(reasons)]
    lines = ["set,draw,method,prior," + ",".join([*QUALITIES, "fit_s"])]
    lines += [
        f'"{name}",{seed},"{method}",{kind},'
        + ",".join("" if r[key] is None else f"{r[key]:.6g}" for key in [*QUALITIES, "fit_s"])
        for name, draws in records.items()
        for seed, draw in draws.items()
        for method, found in draw["methods"].items()
        for kind, r in found.items()
        if kind in PRIORS
    ]
    write_text(out / f"{stem}.csv", "\n".join(lines) + "\n")
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .csv, .json, {picture.name}")


def draw_dots(records, path):
    """Per method a dot for every set and a bar at the mean; true prior above, estimated below."""
    fig, axes = figure(2, 2, figsize=(9.5, 8.5), sharex="col", sharey="row", squeeze=False)
    groups = {"ours": COLOURS[0], "peer": COLOURS[1], "bound": COLOURS[4]}
    for row, kind in zip(axes, PRIORS, strict=True):
        methods, complete = complete_methods(records, kind)
        accuracy = table_of_means(records, kind, "accuracy")[2]
        complete = sorted(complete, key=lambda j: accuracy[:, j].mean())
        for ax, key in zip(row, ("accuracy", "auc"), strict=True):
            values = table_of_means(records, kind, key)[2]
            for place, j in enumerate(complete):
                colour = groups[METHODS[methods[j]].group]
                ax.plot(values[:, j], np.full(len(values), place), "o", color=colour, alpha=0.25,
                        markersize=4, markeredgewidth=0)  # fmt: skip
                ax.plot(values[:, j].mean(), place, "|", color=colour, markersize=14,
                        markeredgewidth=3)  # fmt: skip
            ax.set_yticks(range(len(complete)), [methods[j] for j in complete], fontsize=8)
            ax.set_title(f"{kind} prior" if key == "accuracy" else "")
    for ax, title in zip(axes[1], ("test accuracy, own decisions", "AUC"), strict=True):
        ax.set_xlabel(title)
    fig.suptitle("100 positives, 3000 unlabelled rows: dots are sets, bars their mean")
    save_figure(fig, path)
    return path


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--methods", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--slow", action="store_true", help="with the methods that take minutes")
    parser.add_argument("--draws", type=int, default=5, help="draws per set")
    parser.add_argument("--first-draw", type=int, default=0, help="number of the first draw")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for one draw")
    parser.add_argument("--resume", action="store_true", help="keep what the file has already")
    parser.add_argument("--report-only", action="store_true", help="tables and pictures again")
    parser.add_argument("--list", action="store_true", help="print the names")
    args = parser.parse_args()
    chosen = lambda names, patterns: [  # noqa: E731
        name for name in names if any(fnmatch(name, pattern) for pattern in patterns)
    ]
    names, methods = chosen(REAL_SETS, args.sets), chosen(METHODS, args.methods)
    methods = [method for method in methods if args.slow or not METHODS[method].slow]
    if args.list:
        print("\n".join(["sets:", *REAL_SETS, "", "methods:", *METHODS]))
        return
    if not names or not methods:
        sys.exit("no set or no method is called that; see --list.")
    if args.quick:
        names, args.draws = names[-4:], min(args.draws, 2)
    stem = "pu-peers-quick" if args.quick else "pu-peers"
    path = Path(args.out) / f"{stem}.json"
    if args.report_only:
        report = json.loads(path.read_text())
    else:
        folder = data_folder(args, sorted({REAL_SETS[name].file for name in names}))
        report = run(names, methods, args, folder, path)
    write_report(report, stem, Path(args.out))


if __name__ == "__main__":
    main()
