"""Markdown, CSV and picture of objectives and errors."""

from __future__ import annotations

import csv
import io

import numpy as np
from common import COLOURS, figure, machine_line, markdown_table, plain_ticks, save_figure

WAYS = ("batch", "streamed", "consolidated")
# Relative to the batch objective: what counts as equal.
_EQUAL = 1e-6


def _is_no_worse(record, way):
    batch = record["batch"]["objective"]
    return record[way]["objective"] <= batch + _EQUAL * abs(batch)


def line(record):
    """One case in a line, for the progress."""
    title = f"{record['set']} {record['kernel']} draw {record['draw']}"
    if "failed" in record:
        return f"{title}: {record['failed']}"
    found = [f"{way} {record[way]['objective']:.5g} ({100 * record[way]['error']:.1f} %)"
             for way in WAYS]  # fmt: skip
    return f"{title}: {', '.join(found)}, {record['seconds']:.0f} s"


def report(results, stem):
    """The whole report."""
    records = [r for r in results["records"] if "failed" not in r]
    failed = [r for r in results["records"] if "failed" in r]
    parts = [
        "# Streamed, consolidated and batch S3VMs",
        f"Defaults, at most {results['rows']} rows of a set, the same rows and labels for each "
        f"way. Errors are on the unlabelled rows. {machine_line(results['machine'])}",
    ]
    if results["quick"]:
        parts.append("**Quick run:** few sets and rows.")
    if records:
        parts += [_summary(records), f"![quality]({stem}.png)", "## Cases", _cases(records)]
    parts += [f"Not finished: {line(r)}." for r in failed]
    return "\n\n".join(parts) + "\n"


def _summary(records):
    rows = []
    for way in WAYS[1:]:
        ratio = [r[way]["objective"] / r["batch"]["objective"] for r in records]
        change = 100 * np.array([r[way]["error"] - r["batch"]["error"] for r in records])
        rows.append(
            [way, f"{sum(_is_no_worse(r, way) for r in records)} of {len(records)}",
             f"{np.median(ratio):.4f}", f"{max(ratio):.3f}", f"{change.mean():+.2f}",
             int(np.sum(change < -1)), int(np.sum(change > 1))]
        )  # fmt: skip
    columns = ["", "objective no worse than batch", "objective / batch, median", "largest",
               "error minus batch, points", "over 1 better", "over 1 worse"]  # fmt: skip
    replaced = sum(r["replaced"] for r in records)
    return markdown_table(columns, rows) + (
        f"\n\nconsolidate() found a better minimum than the stream's in {replaced} of "
        f"{len(records)} cases."
    )


def _cases(records):
    rows = [
        [r["set"], r["kernel"], r["draw"], r["rows"], r["labelled"],
         *(f"{r[way]['objective']:.6g}" for way in WAYS),
         *(f"{100 * r[way]['error']:.1f}" for way in WAYS),
         _is_no_worse(r, "consolidated"), r["steps"]]
        for r in records
    ]  # fmt: skip
    columns = ["set", "kernel", "draw", "rows", "labelled",
               *(f"objective, {way}" for way in WAYS), *(f"error %, {way}" for way in WAYS),
               "consolidated no worse", "steps of the stream"]  # fmt: skip
    return markdown_table(columns, rows)


def as_csv(records):
    """A line per case and way."""
    text = io.StringIO()
    columns = ["set", "kernel", "draw", "rows", "labelled", "way", "objective", "error",
               "violation", "seconds"]  # fmt: skip
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for r in records:
        if "failed" not in r:
            writer.writerows({**r, "way": way, **r[way]} for way in WAYS)
    return text.getvalue()


def draw_picture(records, path):
    """Objectives relative to batch, and errors against batch."""
    from matplotlib.ticker import LogLocator

    records = [r for r in records if "failed" not in r]
    fig, (left, right) = figure(1, 2, figsize=(14, 5), gridspec_kw={"width_ratios": [2.2, 1]})
    for way, colour, marker, fill, size in (
        ("streamed", COLOURS[1], "o", "none", 7), ("consolidated", COLOURS[0], "s", "full", 4),
    ):  # fmt: skip
        shown = {"color": colour, "fillstyle": fill, "ms": size, "label": way}
        ratio = [r[way]["objective"] / r["batch"]["objective"] for r in records]
        left.plot(range(len(records)), ratio, marker, **shown)
        error = [100 * r[way]["error"] for r in records]
        batch = [100 * r["batch"]["error"] for r in records]
        right.plot(batch, error, marker, **shown)
    left.axhline(1.0, color=COLOURS[4], lw=1)
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    left.margins(y=0.15)
    plain_ticks(left.yaxis)
    left.set_xticks(range(len(records)), [f"{r['set']}, {r['kernel']}" for r in records],
                    rotation=90, fontsize=6)  # fmt: skip
    left.set_ylabel("objective / that of batch")
    left.legend(frameon=False)
    top = 100 * max((r[way]["error"] for r in records for way in WAYS), default=0.5)
    right.plot([0, top], [0, top], "--", color=COLOURS[4], lw=1)
    right.set_xlabel("error of batch, %")
    right.set_ylabel("error, %")
    save_figure(fig, path)
