"""Fits and their floor: the time that the kernel columns of the support vectors take alone.

A fit that knew its support vectors would still evaluate n x n_SV kernel values, once. What that
takes is the floor: the support vectors' sum of kernel values over all training rows. The table has
the medians of both, in turn in one process, and the kernel values that the fit evaluated.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

from shared.common import markdown_table
from speed.before_after import WORK
from study import Case, Setting, Study

NAMES = [name for name in WORK if name.startswith(("small", "one-class-", "svdd"))]
NAMES.remove("one-class-one-row-5k")


def model_and_rows(name):
    """The fitted model that a piece of work fits again and again, and its rows."""
    make, *args = WORK[name]
    once, _ = make(*args)
    cells = dict(
        zip(once.__code__.co_freevars, (c.cell_contents for c in once.__closure__), strict=True)
    )
    return once, cells["model"], cells["X"]


def measure(name, seconds):
    """Milliseconds of a fit and of its floor."""
    once, model, X = model_and_rows(name)
    once()
    fits, floors, until = [], [], time.perf_counter() + seconds
    while not fits or time.perf_counter() < until:
        for times, call in ((fits, once), (floors, partial(model.decision_function, X))):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
    n, n_sv = len(X), len(model.support_)
    fit, floor = statistics.median(fits), statistics.median(floors)
    values = model.history_[-1]["kernel_values"] / (n * n_sv)
    return {"rows": n, "support vectors": n_sv, "ms": 1e3 * fit, "floor, ms": 1e3 * floor,
            "ratio": fit / floor, "values over the floor's": values}  # fmt: skip


def cases(options):
    for name in options.fits:
        yield Case({"fit": name}, measure, (name, options.seconds))


def report(results):
    columns = list(results.records[0])
    yield markdown_table(columns, [list(r.values()) for r in results.records])


STUDY = Study(
    __doc__,
    cases,
    report,
    choices={"fits": NAMES},
    settings={"seconds": Setting(3.0, "of repeated fits")},
    quick={"fits": ["small-100", "one-class-2k"], "seconds": 0.1},
)
