"""Markdown, CSV and picture of the streams."""

from __future__ import annotations

import csv
import io

from shared.common import COLOURS, figure, machine_line, markdown_table, plain_ticks, save_figure


def line(run):
    """One run in a line, for the progress."""
    title = f"{run['set']}, {run['kernel']}"
    if "failed" in run:
        return f"{title}: {run['failed']}"
    if "windows" in run:
        return (
            f"{title}: p50 {run['p50_ms']:.2f}, p99 {run['p99_ms']:.2f}, max {run['max_ms']:.0f} "
            f"ms, {run['peak_mb']:.0f} MB, violation {run['all_rows']['violation']:.1e}"
        )
    return f"{title}{', balanced' if run['balanced'] else ''}: violation {run['violation']:.1e}"


def report(results, stem):
    """The whole report."""
    parts = [
        "# Rows streamed into an S3VM",
        "C = 10, C* = 5. Violations of the optimality conditions are in units of f, computed in "
        "float64 from data and coefficients by code that shares nothing with the package. "
        f"{machine_line(results['machine'])}",
    ]
    if results["quick"]:
        parts.append("**Quick run:** short streams.")
    if results.get("stream", {}).get("runs"):
        parts += ["## Stream, with the balancing constraint",
                  _streams(results["stream"]["runs"]), f"![stream]({stem}.png)",
                  "Checkpoints, on a sample of the rows:",
                  _checks(results["stream"]["runs"])]  # fmt: skip
    if results.get("exact", {}).get("runs"):
        parts += ["## Rounding never repaired", _exact(results["exact"]["runs"])]
    return "\n\n".join(parts) + "\n"


def _name(run):
    width = f" {run['gamma']:g}" if "gamma" in run else ""
    return f"{run['set']}, {run['kernel']}{width}"


def _streams(runs):
    rows = []
    for run in runs:
        if "failed" in run:
            rows.append([_name(run), run["failed"], *["-"] * 15])
            continue
        added = run["rows"] - run["first"]
        rebuilt = run["rebuilt"]
        rows.append(
            [_name(run), run["rows"], run["labelled"], run["p50_ms"], run["mean_ms"],
             run["p99_ms"], run["max_ms"], run["steps"] / added, run["sign_changes"],
             run["windows"][-1]["margin_rows"], run["rss_before_mb"],
             run["windows"][-1]["rss_mb"], run["peak_mb"],
             f"{run['all_rows']['violation']:.1e}", f"{run['all_rows']['balance_off']:.1e}",
             f"{100 * run['all_rows']['error']:.1f}",
             f"{sum(r['replaced'] for r in rebuilt)} of {len(rebuilt)}, "
             f"{sum(r['seconds'] for r in rebuilt):.1f} s" if run["consolidate"] else "no"]
        )  # fmt: skip
    columns = ["set, kernel", "rows", "labelled", "ms per row, p50", "mean", "p99", "max",
               "steps per row", "sign changes", "margin rows", "memory at the start, MB",
               "at the end", "peak, MB", "violation, all rows", "balance off by", "error, %",
               "consolidate"]  # fmt: skip
    return markdown_table(columns, rows)


def _checks(runs):
    rows = [
        [_name(run), c["rows"], c["checked"], c["seconds"], f"{c['violation']:.1e}",
         f"{abs(c['sum']):.1e}", f"{100 * c['error']:.1f}"]
        for run in runs for c in run.get("checks", ())
    ]  # fmt: skip
    columns = ["set, kernel", "rows", "checked", "seconds", "violation", "sum a", "error, %"]
    return markdown_table(columns, rows)


def _exact(runs):
    rows = []
    for run in runs:
        if "failed" in run:
            rows.append([_name(run), run["failed"], *["-"] * 9])
            continue
        off = run["balance_off"]
        rows.append(
            [_name(run), run["balanced"], run["rows"], run["steps"], run["sign_changes"],
             run["margin_rows"], 1e3 * run["seconds"] / run["rows"], f"{run['violation']:.1e}",
             f"{run['f_off']:.1e}", f"{run['sum']:.1e}",
             "-" if off is None else f"{off:.1e}"]
        )  # fmt: skip
    worst = max((r["violation"] for r in runs if "failed" not in r), default=float("nan"))
    columns = ["set, kernel", "balanced", "rows", "steps", "sign changes", "margin rows",
               "ms per row, mean", "violation", "f carried along off by", "sum a",
               "balance off by"]  # fmt: skip
    return f"Worst violation: {worst:.1e}.\n\n" + markdown_table(columns, rows)


def as_csv(results):
    """Windows of the streams, one line each."""
    rows = [
        {"set": run["set"], "kernel": run["kernel"], **window}
        for run in results.get("stream", {}).get("runs", ())
        for window in run.get("windows", ())
    ]
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def draw_picture(runs, path):
    """Latency, memory and violation over the stream, a column per kernel."""
    runs = [run for run in runs if "failed" not in run]
    if not runs:
        return
    fig, axes = figure(3, len(runs), figsize=(5.2 * len(runs), 7.4), sharex=True, squeeze=False,
                       gridspec_kw={"height_ratios": [2, 1, 1]})  # fmt: skip
    for column, run in zip(axes.T, runs, strict=True):
        rows = [w["rows"] for w in run["windows"]]
        latency, memory, optimality = column
        for key, colour, words in (
            ("max_ms", COLOURS[4], "slowest of the window"),
            ("p99_ms", COLOURS[1], "99th percentile"), ("p50_ms", COLOURS[0], "median"),
        ):  # fmt: skip
            latency.plot(rows, [w[key] for w in run["windows"]], color=colour, label=words)
        latency.set_yscale("log")
        plain_ticks(latency.yaxis)
        latency.set_title(_name(run))
        latency.set_ylabel("ms per row")
        latency.legend(
            fontsize=8, loc="upper center", ncols=3, bbox_to_anchor=(0.5, -0.01), frameon=False
        )
        memory.plot(rows, [w["rss_mb"] for w in run["windows"]], color=COLOURS[0])
        memory.set_ylim(0, None)
        memory.set_ylabel("memory, MB")
        found = [(c["rows"], max(c["violation"], 1e-16)) for c in run["checks"]]
        optimality.plot(*zip(*found, strict=True), "o-", color=COLOURS[0], ms=4)
        optimality.axhline(1e-7, ls="--", color=COLOURS[4], lw=1)
        optimality.set_yscale("log")
        optimality.set_ylabel("violation")
        optimality.set_xlabel("rows")
    save_figure(fig, path)
