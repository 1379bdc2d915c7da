"""Table, text and pictures of the comparison with the peers; all words follow from results."""

from __future__ import annotations

import csv
import io

import numpy as np
from common import (
    COLOURS,
    figure,
    machine_line,
    markdown_table,
    save_figure,
    write_text,
)

from .compare import GIVEN, Results, ranks, standing, tally
from .methods import METHODS, STREAM

# Largest mean error that was promised for S3VM's defaults.
PROMISES = {"text, 50 labels": 0.075, "g50c, 50 labels": 0.07, "usps, 100 labels": 0.075}
_NO_WORSE = 1e-3  # relative difference of objectives that counts as none
_COMPETING = ("ours", "ours, tuned", "peer", "peer, tuned", "outside")
_PEERS = ("peer", "outside")
_COLUMNS = ["error", "seconds", "extra_mb", "objective", "chosen"]


def write_report(records, info, description, stem, out):
    """``STEM.md``, ``STEM.csv`` and ``STEM.png`` in the folder ``out``."""
    results = Results(records)
    draw(results, out / f"{stem}.png")
    blocks = [
        "# S3VM and its peers on real sets with few labels",
        machine_line(info["machine"]),
        f"{info['minutes']:.1f} minutes." if "minutes" in info else "",
        "```\n" + description.split("\n\n", 2)[2].strip("\n") + "\n```",
        f"![{stem}]({stem}.png)",
        "## In short",
        in_short(results),
        "## Promises",
        markdown_table(["promise", "measured", "kept"], promises(results)),
        "## All methods",
        markdown_table(
            ["method", "", "mean error %", "mean rank", "median seconds", "median extra MB",
             "sets"], summary(results),
        ),
        "Rank and mean error over all sets, for methods that have an error on every one of them.",
        *tallies(results),
        "## Error in %, mean over splits",
        error_table(results),
        "## Streams",
        streams(results),
        "## Settings",
        markdown_table(["method", "", "settings"], settings(results)),
        failures(results),
    ]  # fmt: skip
    write_text(out / f"{stem}.md", "\n\n".join(block for block in blocks if block) + "\n")
    write_text(out / f"{stem}.csv", as_csv(results))
    print(f"wrote {out / stem}.md, .csv, .png")


# -- text --------------------------------------------------------------------------------------


def in_short(results):
    """Where S3VM wins and where it does not, for its defaults and for the tuned one."""
    text = []
    for title, ours, groups in (
        ("S3VM at its defaults, against all others at theirs", "S3VM", _PEERS),
        ("S3VM with the linear kernel, against all others at their defaults", "S3VM, linear",
         _PEERS),
        ("S3VM with kernel and width of the cross-validated SVM, against the tuned ones",
         "S3VM, tuned", ("peer, tuned",)),
    ):  # fmt: skip
        if ours not in results.methods:
            continue
        lines = standing(results, ours, results.in_groups(*groups))
        if not lines:
            continue
        counts = [sum(place == kind for place, _ in lines) for kind in range(4)]
        text.append(
            f"**{title}.** Of {len(lines)} sets it is ahead of every one of them on {counts[0]}, "
            f"best on average but not clearly on {counts[1]}, worse than the best on average but "
            f"not clearly on {counts[2]}, clearly behind at least one on {counts[3]}.\n\n"
            + "\n".join(line for _, line in sorted(lines, key=lambda entry: entry[0]))
        )
    return "\n\n".join(text)


def promises(results):
    rows = []
    for name, bound in PROMISES.items():
        if name in results.sets and "S3VM" in results.methods:
            mean = results.mean(name, "S3VM")
            n = len(results.splits(name))
            promise = (
                f"{name}: mean error of the defaults over {n} splits at most {100 * bound:.1f} %"
            )
            rows.append([promise, f"{100 * mean:.2f} %", mean <= bound])
    pairs = stream_pairs(results)
    if pairs:
        share = np.mean([no_worse for *_, no_worse in pairs])
        rows.append([f"consolidate() no worse than batch in 9 of 10 of {len(pairs)} streams, by "
                     "the objective", f"{100 * share:.0f} %", share >= 0.9])  # fmt: skip
    return rows


def summary(results):
    competing = results.in_groups(*_COMPETING, complete=True)
    rank = dict(zip(competing, ranks(results.table(competing)), strict=True))
    rows = []
    for method in results.methods:
        group = GIVEN[method].group
        if group == "stream":
            continue
        errors = results.table([method])[:, 0]
        has = np.isfinite(errors)
        complete = has.all()
        medians = [
            np.nanmedian(np.concatenate([results.values(s, method, key) for s in results.sets]))
            for key in ("seconds", "extra_mb")
        ]
        rows.append([method, group, f"{100 * errors.mean():.2f}" if complete else None,
                     f"{rank[method]:.1f}" if method in rank else None,
                     float(medians[0]), round(float(medians[1])),
                     f"{has.sum()} of {len(has)}"])  # fmt: skip
    return sorted(rows, key=lambda row: float(row[2] or "inf"))


def tallies(results):
    """Wins and losses against each of the others."""
    blocks = []
    for ours in results.in_groups("ours", "ours, tuned"):
        if ours == "S3VM, no annealing":
            continue
        rows = []
        for other in results.in_groups(*_COMPETING, "bound"):
            found = tally(results, ours, other) if other != ours else None
            if found:
                rows.append([other, GIVEN[other].group, *found[:3], f"{found[3]:+.2f}"])
        blocks += [
            f"## {ours}: sets ahead, level, behind",
            markdown_table(
                ["against", "", "ahead", "level", "behind", "its error minus ours, points"], rows
            ),
        ]
    return blocks


def error_table(results):
    """Methods down, sets across; the smallest error of a set that is no bound in bold."""
    methods = [m for m in results.methods if GIVEN[m].group != "stream"]
    table = 100 * results.table(methods)
    allowed = np.array([GIVEN[m].group in _COMPETING for m in methods])
    best = [np.nanmin(row[allowed]) if np.isfinite(row[allowed]).any() else None for row in table]
    rows = []
    for j, method in enumerate(methods):
        cells = []
        for i, value in enumerate(table[:, j]):
            text = partly(results, results.sets[i], method) if np.isnan(value) else f"{value:.1f}"
            if np.isfinite(value) and allowed[j] and round(value, 1) == round(best[i], 1):
                text = f"**{text}**"
            cells.append(text)
        rows.append([method, *cells])
    heads = [f"{name} ({len(results.splits(name))})" for name in results.sets]
    note = "Heads: number of splits. Cells in brackets: over the first of them only."
    return markdown_table(["method", *heads], rows) + "\n\n" + note


def partly(results, name, method):
    """Mean error over the splits that there are, in brackets; None without any."""
    errors = results.values(name, method)
    return f"({100 * np.nanmean(errors):.1f})" if np.isfinite(errors).any() else None


def stream_pairs(results):
    """(set, split, batch, streamed, consolidated, no worse) of streams with a batch beside."""
    pairs = []
    for name in results.sets:
        for split in results.splits(name):
            batch, streamed, consolidated = (
                results.of.get((name, split, method)) for method in ("S3VM", *STREAM)
            )
            if batch and streamed and consolidated:
                bound = batch["objective"] + _NO_WORSE * abs(batch["objective"])
                no_worse = consolidated["objective"] <= bound
                pairs.append((name, split, batch, streamed, consolidated, no_worse))
    return pairs


def streams(results):
    """Objective and error of batch, streamed and consolidated machines side by side."""
    pairs = stream_pairs(results)
    if not pairs:
        return ""
    rows = []
    for name in results.sets:
        mine = [pair for pair in pairs if pair[0] == name]
        if not mine:
            continue
        mean = lambda k, key: np.mean([pair[k][key] for pair in mine])  # noqa: E731, B023
        ratio = lambda k: np.mean(  # noqa: E731
            [pair[k]["objective"] / pair[2]["objective"] for pair in mine]  # noqa: B023
        )
        rows.append([name, len(mine), *(f"{100 * mean(k, 'error'):.1f}" for k in (2, 3, 4)),
                     f"{ratio(3):.3f}", f"{ratio(4):.3f}", f"{sum(p[5] for p in mine)}",
                     *(mean(k, "seconds") for k in (2, 3, 4))])  # fmt: skip
    total = sum(pair[5] for pair in pairs)
    closer = np.mean([abs(p[4]["error"] - p[2]["error"]) <= 0.01 for p in pairs])
    head = (
        f"{METHODS['stream'].settings}. consolidate() ends no worse than batch (its objective at "
        f"most {100 * _NO_WORSE:g} % above) on {total} of {len(pairs)} streams; the errors of the "
        f"two are within one point on {100 * closer:.0f} %. Objectives are divided by batch's."
    )
    titles = ["set", "splits", "error %, batch", "streamed", "consolidated",
              "objective, streamed", "consolidated", "no worse", "seconds, batch",
              "streamed", "with consolidate"]  # fmt: skip
    return head + "\n\n" + markdown_table(titles, rows)


def settings(results):
    return [
        [name, method.group, method.settings]
        for name, method in METHODS.items()
        if any(given in results.methods for given in method.gives or (name,))
    ]


def failures(results):
    """Why results are missing, once each."""
    found = {}
    for r in results.records:
        reason = r.get("failed") or r.get("absent")
        if reason:
            found.setdefault((r["method"], reason), []).append(r["set"])
    lines = [
        f"* {method}: {reason} ({len(sets)} splits: {'; '.join(sorted(set(sets)))})"
        for (method, reason), sets in found.items()
    ]
    return "## Not measured\n\n" + "\n".join(lines) if lines else ""


def as_csv(results):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["set", "split", "method", "group", *_COLUMNS])
    for (name, split, method), r in results.of.items():
        writer.writerow([name, split, method, GIVEN[method].group,
                         *(f"{v:.6g}" if isinstance(v := r.get(c), float) else v
                           for c in _COLUMNS)])  # fmt: skip
    return text.getvalue()


# -- picture -----------------------------------------------------------------------------------

_SHOWN = {
    "S3VM, tuned": dict(color=COLOURS[0], marker="o", markersize=12, markerfacecolor="none"),
    "S3VM": dict(color=COLOURS[0], marker="o", markersize=7),
    "S3VM, no annealing": dict(color=COLOURS[0], marker="x", markersize=7),
    "SVM on the labels": dict(color=COLOURS[1], marker="s", markersize=6),
    "label spreading, kNN": dict(color=COLOURS[2], marker="^", markersize=7),
    "self-training": dict(color=COLOURS[3], marker="D", markersize=6),
    "SVM, all labels": dict(color="#222222", marker="|", markersize=14, markeredgewidth=2),
}


def draw(results, path):
    """Errors per set on the left; mean ranks of methods on the right."""
    fig, (left, right) = figure(1, 2, figsize=(13, 7.2), width_ratios=[1.6, 1])
    others = [m for m in results.in_groups(*_COMPETING) if m not in _SHOWN]
    places = range(len(results.sets))
    for k, method in enumerate(others):
        errors = 100 * results.table([method])[:, 0]
        left.plot(errors, places, "o", color="#bbbbbb", markersize=4, markeredgewidth=0,
                  label="all others" if k == 0 else None)  # fmt: skip
    for method, style in _SHOWN.items():
        if method in results.methods:
            errors = 100 * results.table([method])[:, 0]
            left.plot(errors, places, linestyle="none", label=method, **style)
    left.set_yticks(places, results.sets)
    left.invert_yaxis()
    left.set_xlim(left=0)
    left.set_xlabel("error on unlabelled rows, %")
    fig.legend(loc="outside lower center", fontsize=9, ncols=4)

    competing = results.in_groups(*_COMPETING, complete=True)
    rank = ranks(results.table(competing))
    order = np.argsort(rank)
    for place, j in enumerate(order):
        ours = GIVEN[competing[j]].group.startswith("ours")
        right.barh(place, rank[j], color=COLOURS[0] if ours else "#c4c4c4", height=0.7)
    right.set_yticks(range(len(order)), [competing[j] for j in order], fontsize=9)
    right.invert_yaxis()
    right.grid(axis="y", visible=False)
    right.set_xlabel("mean rank over sets (1 is best)")
    fig.suptitle("Few labels: error on the unlabelled rows, and ranks")
    save_figure(fig, path)
