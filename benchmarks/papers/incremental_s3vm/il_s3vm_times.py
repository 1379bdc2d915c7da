"""Time and error when 20 rows are added: Figures 3 and 4 of Gu et al. (2018), 2 and 3 of Yu et al.

grow:    seconds to add 10 labelled and 10 unlabelled rows at growing sizes: the path (virtual row
         kept, row by row and as one batch; IL-S3VM and IL-BCS3VM as printed, one batch), batch
         CCCP from scratch, at the default tolerance and with optimality conditions to 1e-6,
         annealed CCCP (the default) and NN-BB.
boxes:   errors on the unlabelled rows after that over several draws, Gaussian kernel.
batches: the same in one call, five sets, draws of their own: IL-S3VM and IL-BCS3VM as printed,
         S3VM's default, and batch training as the papers do it and with annealing.
         Seconds, steps, error, and how often ours and IL-BCS3VM end in different local minima.
         Needs the computer alone.
single:  one added row against batch CCCP from scratch to 1e-6 on as many rows, in one process;
         seconds of each of the rows (median, mean, largest).

C = 10, C* = 5 (section 5.1 of either). Each method runs in a process of its own on each problem.
The batch solution that a path starts from isn't in its time. A method that takes longer than
--limit is reported as such (ten times as long for batch training in part single). NN-BB shares its
time among the rows. --full adds sets and sizes. A new method is a function and a line in METHODS
of methods.py.
"""

from __future__ import annotations

import numpy as np
from shared.common import COLOURS, figure, group, markdown_table, mean, plain_ticks, save_figure
from shared.threads import limit_threads
from study import Case, Setting, Study

from . import data, times
from .il_s3vm_tables import KERNEL_TITLES
from .methods import METHODS

PARTS = ["grow", "boxes", "batches", "single"]
GROW = {"usps": [400, 800, 1600], "mushrooms": [1500, 6000], "cod_rna": [2500, 5000, 10000]}
GROW_FULL = {
    "madelon": [400, 800, 1200, 1600], "text": [400, 800, 1200, 1600],
    "usps": [400, 800, 1200, 1600], "mushrooms": [1500, 3000, 4500, 6000],
    "phishing": [1500, 3000, 4500, 6000], "w6a": [4000, 8000, 12000, 16000],
    "a9a": [3000, 6000, 9000, 12000], "ijcnn1": [5000, 10000, 20000, 40000],
    "cod_rna": [5000, 10000, 20000, 40000],
}  # fmt: skip
BOXES = {
    "madelon": 600, "text": 800, "usps": 800, "mushrooms": 1500, "phishing": 1500, "w6a": 2000,
    "cod_rna": 2000, "ijcnn1": 1500, "a9a": 1000,
}  # fmt: skip
BATCHES = {"usps": 800, "text": 800, "mushrooms": 1500, "phishing": 1500, "cod_rna": 2000}
BOX_METHODS = [
    "path", "path-block", "path-off", "path-paper", "cccp", "cccp-off", "annealed", "nn-bb",
]  # fmt: skip
BATCH_METHODS = {
    "path-off": "IL-S3VM as printed",
    "path-paper": "IL-BCS3VM as printed",
    "path-block": "S3VM, the default",
    "cccp-off": "batch training, no balancing (BL-S3VM)",
    "cccp": "batch training, balanced (BCS3VM)",
    "annealed": "batch training, annealed",
}
# Objectives that differ by more than this share belong to different local minima.
_SAME = 1e-6


def problems(options):
    """Part, set, size, kernel, draw and methods of all problems but those of single rows."""
    quick = options.quick
    sizes = GROW_FULL if options.full else {"usps": [300]} if quick else GROW
    kernels = list(data.KERNELS) if options.full else ["linear", "rbf"]
    for name, at in sizes.items():
        for kernel in kernels:
            for size in at:
                yield "grow", name, size, kernel, 0, list(METHODS)
    for part, sizes, methods in (
        ("boxes", BOXES, BOX_METHODS),
        ("batches", BATCHES, list(BATCH_METHODS)),
    ):
        for draw in range(options.draws):
            for name, size in sizes.items():
                yield part, name, 300 if quick else size, "rbf", draw, methods


def cases(options):
    limit_threads(options.threads)
    for part, name, size, kernel, draw, methods in problems(options):
        if (
            part in options.parts
            and name in options.sets
            and kernel in options.kernels
            and data.is_present(options.data, name)
        ):
            for method in methods:
                if method in options.methods:
                    key = {
                        "part": part,
                        "set": name,
                        "size": size,
                        "kernel": kernel,
                        "draw": draw,
                        "method": method,
                    }
                    yield Case(
                        key,
                        times.cell,
                        (options.data, *list(key.values())[1:], options.limit),
                        apart=True,
                        limit=120.0 + 3.0 * options.limit,
                    )
    size, rows = (1000, 20) if options.quick else (options.size, 200)
    for case, setting in times.SINGLE.items() if "single" in options.parts else ():
        if setting["set"] in options.sets and setting["kernel"] in options.kernels:
            limit = 10.0 * options.limit
            yield Case(
                {"part": "single", "case": case},
                times.single,
                (options.data, case, size, rows, limit),
                apart=True,
                limit=600.0 + 3.0 * limit,
            )


# -- the report ----------------------------------------------------------------------------------


def report(results):
    if single := results.where(part="single"):
        yield "## One row"
        yield markdown_table(
            ["case", *SINGLE_COLUMNS, "batch at 1e-3, s", "annealed, s"],
            [
                [*row, r["batch_s"], r["annealed_s"]]
                for r, row in zip(single, single_rows(single), strict=True)
            ],
        )
        draw_single(single, results.picture("single"))
    if grown := results.where(part="grow"):
        yield "## Seconds to add 20 rows"
        names = list(group(grown, "method"))
        rows = []
        for key, some in group(grown, "set", "kernel", "size").items():
            found = {r["method"]: r for r in some}
            rows.append([*key, *(_seconds(found.get(name)) for name in names)])
        titles = [METHODS[name][0] for name in names]
        yield markdown_table(["set", "kernel", "rows", *titles], rows)
        yield ratios(grown)
        draw_grow(grown, results.picture("grow"))
    if boxes := results.where(part="boxes"):
        yield "## Error on the unlabelled rows, %"
        names = list(group(boxes, "method"))
        rows = [
            [name, some[0]["size"], *(_errors(some, method) for method in names)]
            for name, some in group(boxes, "set").items()
        ]
        yield markdown_table(["set", "rows", *(METHODS[m][0] for m in names)], rows)
        draw_boxes(boxes, results.picture("boxes"))
    if batches := results.where(part="batches"):
        yield "## One batch of 20 rows"
        columns, rows, _ = batch_table(batches)
        yield markdown_table(["method", *columns], rows)
        yield minima(batches)


def _seconds(record):
    if record is None or "seconds" not in record:
        return None
    return ("" if record["finished"] else "> ") + f"{record['seconds']:.3g}"


def errors_of(records, method):
    return 100.0 * np.array(
        [r["error"] for r in records if r["method"] == method and "error" in r]
    )


def _errors(records, method):
    errors = errors_of(records, method)
    if not len(errors):
        return None
    return f"{errors.mean():.1f} ± {errors.std(ddof=min(1, len(errors) - 1)):.1f}"


def ratios(records):
    """Seconds of each method over those of the path, at the median problem of each kernel."""
    ours = {
        (r["set"], r["size"], r["kernel"]): r["seconds"]
        for r in records
        if r["method"] == "path" and r.get("finished")
    }
    rows = []
    for kernel, some in group(records, "kernel").items():
        row = [KERNEL_TITLES[kernel]]
        for name in METHODS:
            found = [
                r["seconds"] / ours[r["set"], r["size"], kernel]
                for r in some
                if r["method"] == name and "seconds" in r and (r["set"], r["size"], kernel) in ours
            ]
            row.append(
                f"{np.median(found):.3g} ({min(found):.3g} to {max(found):.3g})" if found else None
            )
        rows.append(row)
    titles = [title for title, _ in METHODS.values()]
    return "Seconds over those of the path, median (range) of the problems:\n\n" + markdown_table(
        ["kernel", *titles], rows
    )


def batch_table(records):
    """Columns, a row per method, and formats: means over draws, None where one wasn't finished."""
    sizes = {name: some[0]["size"] for name, some in group(records, "set").items()}
    rows = []
    for method, title in BATCH_METHODS.items():
        row = [title]
        for name in sizes:
            found = [r for r in records if r["set"] == name and r["method"] == method]
            whole = bool(found) and all(r.get("finished") for r in found)
            cells = [mean(found, key) if whole else None for key in ("seconds", "steps", "error")]
            row += [*cells[:2], None if cells[2] is None else 100 * cells[2]]
        rows.append(row)
    columns = [
        f"{name}, {n} rows: {w}" for name, n in sizes.items() for w in ("s", "steps", "error")
    ]
    return columns, rows, ["3g", ".0f", ".1f"] * len(sizes)


def minima(records):
    """In how many problems ours and IL-BCS3VM end in different local minima."""
    values = {(r["set"], r["draw"], r["method"]): r.get("objective") for r in records}
    pairs = [
        (ours, values.get((name, draw, "path-paper")))
        for (name, draw, method), ours in values.items()
        if method == "path-block"
    ]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    other = [(a, b) for a, b in pairs if abs(a - b) > _SAME * abs(b)]
    lower = sum(a < b for a, b in other)
    return (
        f"S3VM's default and IL-BCS3VM end in different local minima in {len(other)} of "
        f"{len(pairs)} problems, the default's lower in {lower} of these."
    )


SINGLE_COLUMNS = [
    "margin rows",
    "ms, median",
    "mean",
    "largest",
    "steps, mean",
    "violation",
    "batch, s",
    "times median",
    "times mean",
]


def single_rows(records):
    for r in records:
        ms, batch = np.array(r["milliseconds"]), 1e3 * r["batch_exact_s"]
        more = "" if r["batch_exact_finished"] else "> "
        yield [
            r["case"],
            r["margin_rows"],
            float(np.median(ms)),
            float(ms.mean()),
            float(ms.max()),
            float(np.mean(r["steps"])),
            f"{r['violation']:.0e}",
            r["batch_exact_s"],
            f"{more}{batch / np.median(ms):,.0f}",
            f"{more}{batch / ms.mean():,.0f}",
        ]


def entries(results):
    made = []
    if single := results.where(part="single"):
        made.append(
            results.entry(
                "s3vm-one-row",
                SINGLE_COLUMNS,
                list(single_rows(single)),
                label="set, kernel",
                unit="ms; s",
                formats=[",", "3g", "3g", "3g", ".1f", "", "3g", "", ""],
            )
        )
    if batches := results.where(part="batches"):
        columns, rows, formats = batch_table(batches)
        made.append(
            results.entry(
                "il-s3vm-batches",
                columns,
                rows,
                label="20 rows in one batch",
                unit="seconds; steps; error in %",
                formats=formats,
                note=minima(batches),
            )
        )
    return made


# -- pictures ------------------------------------------------------------------------------------


STYLES = {
    name: (COLOURS[k % len(COLOURS)], ("-", "--", ":")[k // len(COLOURS)])
    for k, name in enumerate(METHODS)
}


def panels_of(n, most, width, height):
    """A picture with so many panels."""
    columns = min(most, n)
    lines = -(-n // columns)
    fig, axes = figure(
        lines, columns, figsize=(width * columns + 0.5, height * lines + 1.0), squeeze=False
    )
    for axis in axes.flat[n:]:
        axis.set_visible(False)
    return fig, axes


def draw_grow(records, path):
    panels, shown = group(records, "set", "kernel"), {}
    fig, axes = panels_of(len(panels), 4, 3.6, 3.2)
    for axis, ((name, kernel), some) in zip(axes.flat, panels.items(), strict=False):
        for method, own in group([r for r in some if "seconds" in r], "method").items():
            size, seconds, finished = (
                np.array([r[key] for r in own]) for key in ("size", "seconds", "finished")
            )
            colour, style = STYLES[method]
            width = 2.5 if method == "path" else 1.3
            (line,) = axis.plot(size, seconds, style, color=colour, lw=width, marker="o", ms=3)
            axis.plot(size[~finished], seconds[~finished], "^", color=colour, ms=8)
            shown.setdefault(METHODS[method][0], line)
        axis.set_yscale("log")
        plain_ticks(axis.yaxis)
        axis.set_title(f"{name}, {KERNEL_TITLES[kernel]}")
        axis.set_xlabel("rows")
    for axis in axes[:, 0]:
        axis.set_ylabel("seconds for 20 rows")
    fig.legend(
        shown.values(), shown, loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    save_figure(fig, path)


def draw_boxes(records, path):
    panels = group(records, "set")
    fig, axes = panels_of(len(panels), 5, 2.8, 3.3)
    for axis, (name, some) in zip(axes.flat, panels.items(), strict=False):
        methods = [m for m in METHODS if len(errors_of(some, m))]
        boxes = axis.boxplot([errors_of(some, m) for m in methods], patch_artist=True, widths=0.6)
        for box, method in zip(boxes["boxes"], methods, strict=True):
            box.set(facecolor=STYLES[method][0], alpha=0.6)
        axis.set_xticks(range(1, len(methods) + 1), methods, rotation=60, ha="right", fontsize=8)
        axis.set_title(name)
    for axis in axes[:, 0]:
        axis.set_ylabel("error on unlabelled rows, %")
    save_figure(fig, path)


def draw_single(records, path):
    fig, axis = figure(figsize=(7.5, 4.2))
    for k, r in enumerate(records):
        ms, colour = np.sort(r["milliseconds"]), COLOURS[k % len(COLOURS)]
        share = (np.arange(len(ms)) + 1) / len(ms)
        axis.plot(
            ms,
            100 * share,
            color=colour,
            drawstyle="steps-post",
            label=f"{r['case']} ({r['margin_rows']} margin rows)",
        )
        marker = "o" if r["batch_exact_finished"] else ">"
        axis.plot(1e3 * r["batch_exact_s"], 100, marker, color=colour, ms=7, clip_on=False)
    axis.plot([], [], "o", color=COLOURS[4], label="batch CCCP to 1e-6, same rows")
    axis.set_xscale("log")
    plain_ticks(axis.xaxis)
    axis.set_xlabel("milliseconds for one row")
    axis.set_ylabel("% of the rows added")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    save_figure(fig, path)


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    data="required",
    choices={
        "parts": PARTS,
        "sets": list(data.SETS),
        "methods": list(METHODS),
        "kernels": list(data.KERNELS),
    },
    settings={
        "draws": Setting(4, "draws of the parts boxes and batches"),
        "size": Setting(10_000, "rows of the part single"),
        "full": Setting(False, "more sets, kernels and sizes"),
        "limit": Setting(6.0, "seconds per method"),
        "threads": Setting(None, "threads of the linear algebra library", int),
        "jobs": Setting(1, "problems at a time"),
    },
    quick={
        "sets": ["usps"],
        "methods": ["path", "path-block", "path-paper", "cccp"],
        "kernels": ["rbf"],
        "draws": 1,
    },
)
