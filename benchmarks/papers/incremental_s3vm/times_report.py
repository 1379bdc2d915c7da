"""Markdown, CSV and pictures of times and errors."""

from __future__ import annotations

import csv
import io

import numpy as np
from shared.common import COLOURS, figure, machine_line, markdown_table, plain_ticks, save_figure

from .methods import METHODS
from .tables_report import KERNEL_TITLES

STYLES = {
    name: (COLOURS[k % len(COLOURS)], ("-", "--", ":")[k // len(COLOURS)])
    for k, name in enumerate(METHODS)
}


def report(results, stem):
    """The whole report."""
    parts = [
        "# S3VM when rows are added: time and error",
        "Gu et al. (2018), Figures 3 and 4, and Yu et al. (2019), Figures 2 and 3, which have no "
        "figures in numbers to put beside these: C = 10, C* = 5, Gaussian kernel with kappa = "
        "0.1; 10 labelled and 10 unlabelled rows are added. The batch solution that the path "
        "starts from is not in its time. Batch methods are warm in the sense that everything is "
        f"compiled. {machine_line(results['machine'])}",
    ]
    if results["quick"]:
        parts.append("**Quick run:** tiny sizes, nothing here is comparable.")
    if "single" in results:
        parts += ["## One row", _single(results["single"]["records"]),
                  f"![one row]({stem}-single.png)"]  # fmt: skip
    if "grow" in results:
        parts += ["## Seconds to add 20 rows", *_grow(results["grow"]["records"]),
                  f"![seconds]({stem}-grow.png)"]  # fmt: skip
    if "boxes" in results:
        parts += ["## Error on the unlabelled rows, %", _boxes(results["boxes"]["records"]),
                  f"![errors]({stem}-boxes.png)"]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def line(records):
    """Records of one problem in a line, for the progress."""
    return ", ".join(f"{r['method']} {_seconds(r)}" for r in records)


def single_line(record):
    """One case of part single in a line."""
    if "failed" in record:
        return record["failed"]
    ms = np.array(record["milliseconds"])
    return (
        f"{record['margin_rows']} margin rows, median {np.median(ms):.2f} ms, mean "
        f"{ms.mean():.2f} ms, batch to 1e-6 {record['batch_exact_s']:.1f} s"
    )


def _seconds(record):
    if "seconds" in record:
        return ("" if record["finished"] else "> ") + f"{record['seconds']:.3g}"
    return "not available" if "unavailable" in record else f"({record['failed']})"


def _single(records):
    rows = []
    for r in records:
        if "failed" in r:
            rows.append([r["case"], r["failed"], *["-"] * 13])
            continue
        ms = np.array(r["milliseconds"])
        median, mean = np.median(ms), ms.mean()
        batch = 1e3 * r["batch_exact_s"]
        more = "" if r["batch_exact_finished"] else "> "
        rows.append(
            [r["case"], r["rows"], r["margin_rows"], float(median), float(mean), float(ms.max()),
             f"{np.mean(r['steps']):.1f} ({max(r['steps'])})", f"{r['violation']:.1e}",
             f"{more}{r['batch_exact_s']:.3g}", f"{r['batch_exact_violation']:.1e}",
             f"{more}{batch / median:.0f}", f"{more}{batch / mean:.0f}",
             f"{r['batch_s']:.3g}", f"{1e3 * r['batch_s'] / median:.0f}",
             f"{r['annealed_s']:.3g}"]
        )  # fmt: skip
    columns = ["case", "rows", "margin rows", "ms per row, median", "mean", "largest",
               "steps, mean (largest)", "violation", "batch CCCP to 1e-6, s", "its violation",
               "times our median", "times our mean", "batch CCCP at 1e-3, s", "times our median",
               "annealed batch, s"]  # fmt: skip
    return markdown_table(columns, rows)


def _panels(records):
    return list(dict.fromkeys((r["set"], r["kernel"]) for r in records))


def _grow(records):
    yield (
        "`path` adds row by row with the balancing constraint, its optimality conditions hold "
        "to about 1e-12; CCCP reaches 1e-3, or 1e-6 where it says so. A time with > ran out of "
        "time; that of NN-BB with searches cut short."
    )
    names = [name for name in METHODS if any(r["method"] == name for r in records)]
    absent = {r["method"]: r["unavailable"] for r in records if "unavailable" in r}
    names = [name for name in names if name not in absent]
    rows = []
    for panel in _panels(records):
        for size in dict.fromkeys(r["size"] for r in records if (r["set"], r["kernel"]) == panel):
            found = {
                r["method"]: r
                for r in records
                if (r["set"], r["kernel"], r["size"]) == (*panel, size)
            }
            cells = [_seconds(found[m]) if m in found else "-" for m in names]
            rows.append([*panel, size, *cells])
    yield markdown_table(["set", "kernel", "rows", *(METHODS[m][0] for m in names)], rows)
    yield _ratios(records)
    yield _step_counts(records)
    for name, why in absent.items():
        yield f"{METHODS[name][0]}: {why}."


def _ratios(records):
    """Seconds of each method over those of the path, at the median problem of each kernel."""
    rows = []
    for kernel in dict.fromkeys(r["kernel"] for r in records):
        ours = {
            (r["set"], r["size"]): r["seconds"]
            for r in records
            if r["kernel"] == kernel and r["method"] == "path" and r.get("finished")
        }
        row = [KERNEL_TITLES[kernel]]
        for name in METHODS:
            ratios = [r["seconds"] / ours[r["set"], r["size"]] for r in records
                      if r["kernel"] == kernel and r["method"] == name and "seconds" in r
                      and (r["set"], r["size"]) in ours]  # fmt: skip
            row.append(
                f"{np.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"
                if ratios
                else "-"
            )
        rows.append(row)
    titles = [title for title, _ in METHODS.values()]
    return "Seconds over those of the path, median (range) of the problems:\n\n" + markdown_table(
        ["kernel", *titles], rows
    )


def _step_counts(records):
    """Steps of the path with the virtual row kept and as in Yu et al."""
    steps = {(r["set"], r["kernel"], r["size"], r["method"]): r.get("steps") for r in records}
    pairs = [
        (value, steps.get((*key[:3], "path-paper")))
        for key, value in steps.items()
        if key[3] == "path"
    ]
    pairs = [(kept, paper) for kept, paper in pairs if kept is not None and paper is not None]
    if not pairs:
        return "Steps of both balancing variants: no problem was finished by both."
    ratios = [paper / max(1, kept) for kept, paper in pairs]
    return (
        f"Steps for the 20 rows: fewer with the virtual row kept than as in Yu et al. in "
        f"{sum(kept < paper for kept, paper in pairs)} of {len(pairs)} problems, by a factor of "
        f"{np.median(ratios):.1f} at the median."
    )


def _boxes(records):
    methods = [name for name in METHODS if any(r["method"] == name and "error" in r
                                               for r in records)]  # fmt: skip
    rows = []
    for name in dict.fromkeys(r["set"] for r in records):
        row = [name, next(r["size"] for r in records if r["set"] == name)]
        for method in methods:
            errors = _errors(records, name, method)
            row.append(
                f"{errors.mean():.1f} ± {errors.std(ddof=min(1, len(errors) - 1)):.1f}"
                if len(errors)
                else "-"
            )
        rows.append(row)
    return markdown_table(["set", "rows", *(METHODS[m][0] for m in methods)], rows)


def _errors(records, name, method):
    return 100.0 * np.array(
        [r["error"] for r in records
         if r["set"] == name and r["method"] == method and "error" in r]
    )  # fmt: skip


def as_csv(results):
    """All records of grow and boxes, and the summary of single, one line each."""
    rows = []
    for part in ("grow", "boxes"):
        rows += [{"part": part, **r} for r in results.get(part, {}).get("records", [])]
    for r in results.get("single", {}).get("records", []):
        plain = {k: v for k, v in r.items() if not isinstance(v, list)}
        ms = r.get("milliseconds", [np.nan])
        rows.append({"part": "single", **plain, "median_ms": float(np.median(ms)),
                     "mean_ms": float(np.mean(ms)), "largest_ms": float(np.max(ms))})  # fmt: skip
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def draw_pictures(results, folder, stem):
    """One picture per part that was run; names of the files."""
    written = []
    for part, function in (("grow", _draw_grow), ("boxes", _draw_boxes), ("single", _draw_single)):
        if results.get(part, {}).get("records"):
            function(results[part]["records"], folder / f"{stem}-{part}.png")
            written.append(f"{stem}-{part}.png")
    return written


def _draw_grow(records, path):
    panels = _panels(records)
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    fig, axes = figure(lines, columns, figsize=(3.6 * columns + 0.5, 3.2 * lines + 1.4),
                       squeeze=False)  # fmt: skip
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    shown = {}
    for axis, panel in zip(axes.flat, panels, strict=False):
        for name, (title, _) in METHODS.items():
            found = sorted(
                (r["size"], r["seconds"], r["finished"]) for r in records
                if (r["set"], r["kernel"]) == panel and r["method"] == name and "seconds" in r
            )  # fmt: skip
            if not found:
                continue
            colour, style = STYLES[name]
            size, seconds, finished = map(np.array, zip(*found, strict=True))
            width = 2.5 if name == "path" else 1.3
            (line_,) = axis.plot(size, seconds, style, color=colour, lw=width, marker="o", ms=3)
            axis.plot(size[~finished], seconds[~finished], "^", color=colour, ms=8)
            shown.setdefault(title, line_)
        axis.set_yscale("log")
        plain_ticks(axis.yaxis)
        axis.set_title(f"{panel[0]}, {KERNEL_TITLES[panel[1]]}")
        axis.set_xlabel("rows")
    for axis in axes[:, 0]:
        axis.set_ylabel("seconds for 20 rows")
    fig.legend(shown.values(), shown, loc="outside lower center", ncols=min(4, columns + 1),
               frameon=False, fontsize=8)  # fmt: skip
    save_figure(fig, path)


def _draw_boxes(records, path):
    sets = list(dict.fromkeys(r["set"] for r in records))
    columns = min(5, len(sets))
    lines = -(-len(sets) // columns)
    fig, axes = figure(lines, columns, figsize=(2.8 * columns, 3.3 * lines), squeeze=False)
    for axis in axes.flat[len(sets) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, sets, strict=False):
        methods = [m for m in METHODS if len(_errors(records, name, m))]
        boxes = axis.boxplot(
            [_errors(records, name, m) for m in methods], patch_artist=True, widths=0.6
        )
        for box, method in zip(boxes["boxes"], methods, strict=True):
            box.set(facecolor=STYLES[method][0], alpha=0.6)
        axis.set_xticks(range(1, len(methods) + 1), methods, rotation=60, ha="right", fontsize=8)
        axis.set_title(name)
    for axis in axes[:, 0]:
        axis.set_ylabel("error on unlabelled rows, %")
    save_figure(fig, path)


def _draw_single(records, path):
    records = [r for r in records if "failed" not in r]
    fig, axis = figure(figsize=(7.5, 4.2))
    for k, r in enumerate(records):
        ms = np.sort(r["milliseconds"])
        share = (np.arange(len(ms)) + 1) / len(ms)
        colour = COLOURS[k % len(COLOURS)]
        axis.plot(ms, 100 * share, color=colour, drawstyle="steps-post",
                  label=f"{r['case']} ({r['margin_rows']} margin rows)")  # fmt: skip
        marker = "o" if r["batch_exact_finished"] else ">"
        axis.plot(1e3 * r["batch_exact_s"], 100, marker, color=colour, ms=7, clip_on=False)
    axis.plot([], [], "o", color=COLOURS[4], label="batch CCCP to 1e-6, same rows")
    axis.set_xscale("log")
    plain_ticks(axis.xaxis)
    axis.set_xlabel("milliseconds for one row")
    axis.set_ylabel("% of the rows added")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    save_figure(fig, path)
