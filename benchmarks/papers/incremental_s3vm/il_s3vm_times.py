"""Time and error when 20 rows are added: Figures 3 and 4 of Gu et al. (2018), 2 and 3 of Yu et al.

batches: 10 labelled and 10 unlabelled rows in one call, Gaussian kernel, five sets, several
         draws: IL-S3VM and IL-BCS3VM as printed, S3VM's default, and batch training as the papers
         do it and with annealing. Seconds, steps, error on the unlabelled rows, and how often ours
         and IL-BCS3VM end in different local minima. Needs an idle computer.
single:  one added row against batch CCCP from scratch to 1e-6 on as many rows, in one process;
         seconds of each of the rows (median, mean, largest).

C = 10, C* = 5 (section 5.1 of either). Each method runs in a process of its own on each problem.
The batch solution that a path starts from isn't in its time. A method that takes longer than
--limit is reported as such (ten times as long for batch training in part single). A new
method is a function and a line in METHODS of methods.py.
"""

from __future__ import annotations

import numpy as np
from shared.common import group, mean
from shared.threads import limit_threads
from study import Case, Setting, Study

from . import data, times
from .methods import METHODS

PARTS = ["batches", "single"]
BATCHES = {"usps": 800, "text": 800, "mushrooms": 1500, "phishing": 1500, "cod_rna": 2000}
# Objectives that differ by more than this share belong to different local minima.
_SAME = 1e-6


def cases(options):
    limit_threads(options.threads)
    for draw in range(options.draws) if "batches" in options.parts else ():
        for name in [n for n in options.sets if n in BATCHES]:
            for method in METHODS if data.is_present(options.data, name) else ():
                size = 300 if options.quick else BATCHES[name]
                yield Case(
                    {"part": "batches", "set": name, "size": size, "draw": draw, "method": method},
                    times.cell, (options.data, name, size, "rbf", draw, method, options.limit),
                    apart=True, limit=120.0 + 3.0 * options.limit,
                )  # fmt: skip
    size, rows = (1000, 20) if options.quick else (options.size, 200)
    for case, setting in times.SINGLE.items() if "single" in options.parts else ():
        if setting["set"] in options.sets:
            limit = 10.0 * options.limit
            yield Case(
                {"part": "single", "case": case}, times.single,
                (options.data, case, size, rows, limit), apart=True, limit=600.0 + 3.0 * limit,
            )  # fmt: skip


# -- the report ----------------------------------------------------------------------------------


def batch_table(records):
    """Columns, a row per method, and formats: means over draws, None where one wasn't finished."""
    sizes = {name: some[0]["size"] for name, some in group(records, "set").items()}
    rows = []
    for method in METHODS:
        row = [method]
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
        (ours, values.get((name, draw, "IL-BCS3VM as printed")))
        for (name, draw, method), ours in values.items()
        if method == "S3VM, the default"
    ]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    other = [(a, b) for a, b in pairs if abs(a - b) > _SAME * abs(b)]
    lower = sum(a < b for a, b in other)
    return (
        f"S3VM's default and IL-BCS3VM end in different local minima in {len(other)} of "
        f"{len(pairs)} problems, the default's lower in {lower} of these."
    )


SINGLE_COLUMNS = ["margin rows", "ms, median", "mean", "largest", "steps, mean", "violation",
                  "batch, s", "times median", "times mean"]  # fmt: skip


def single_rows(records):
    for r in records:
        ms, batch = np.array(r["milliseconds"]), 1e3 * r["batch_exact_s"]
        more = "" if r["batch_exact_finished"] else "> "
        yield [
            r["case"], r["margin_rows"], float(np.median(ms)), float(ms.mean()), float(ms.max()),
            float(np.mean(r["steps"])), f"{r['violation']:.0e}", r["batch_exact_s"],
            f"{more}{batch / np.median(ms):,.0f}", f"{more}{batch / ms.mean():,.0f}",
        ]  # fmt: skip


def entries(results):
    made = []
    if single := results.where(part="single"):
        made.append(results.entry(
            "s3vm-one-row", SINGLE_COLUMNS, list(single_rows(single)), label="set, kernel",
            unit="ms; s", formats=[",", "3g", "3g", "3g", ".1f", "", "3g", "", ""],
        ))  # fmt: skip
    if batches := results.where(part="batches"):
        columns, rows, formats = batch_table(batches)
        made.append(results.entry(
            "il-s3vm-batches", columns, rows, label="20 rows in one batch", formats=formats,
            unit="seconds; steps; error in %", note=minima(batches),
        ))  # fmt: skip
    return made


STUDY = Study(
    __doc__, cases, entries=entries, data="required",
    choices={"parts": PARTS, "sets": [*BATCHES, "ijcnn1"]},
    settings={
        "draws": Setting(4, "draws of the part batches"),
        "size": Setting(10_000, "rows of the part single"),
        "limit": Setting(6.0, "seconds per method"),
        "threads": Setting(None, "threads of the linear algebra library", int),
        "jobs": Setting(1, "problems at a time"),
    },
    quick={"sets": ["usps"], "draws": 1},
)  # fmt: skip
