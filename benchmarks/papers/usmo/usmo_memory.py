"""USMO by rows and by memory: PUSVM(solver="usmo") with cache_size=1 and 200 MB.

100 labelled positives and n unlabelled rows of ten columns, a third of them positive; both classes
are Gaussian and overlap, so that many rows lie between breakpoints ("hard"). lambda = 0.01,
Gaussian kernel, the risk's threshold. Every fit runs in a fresh process that has fitted 400 rows
before. Memory is the high-water mark of resident memory during the fit minus what there was
before. Kernel evaluations are in units of n^2, of which a run that holds all rows needs one.
"""

from __future__ import annotations

import numpy as np
from shared.common import PeakMemory, markdown_table, timed
from study import Case, Setting, Study

_N_POSITIVE = 100


def rows(n):
    """Labelled positives and n unlabelled rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_N_POSITIVE + n, 10))
    X[: _N_POSITIVE + n // 3] += 0.7
    return X, np.r_[np.ones(_N_POSITIVE), np.zeros(n)]


def measure(n, cache, limit):
    """Seconds, megabytes, kernel evaluations per n^2, whole scans, the objective and its gap."""
    from fewlabels import PUSVM

    def model(cache):
        return PUSVM(
            1 / 3, lam=0.01, gamma=0.1, threshold="risk", solver="usmo", cache_size=cache,
            max_time=limit,
        )  # fmt: skip

    model(cache).fit(*rows(400))
    X, y = rows(n)
    with PeakMemory() as memory:
        seconds, fitted = timed(model(cache).fit, X, y)
    history = fitted.history_
    return {
        "seconds": seconds, "mb": memory.extra / 1e6,
        "evaluations": history[-1]["kernel_values"] / n**2,
        "scans": sum(one["scan"] == "whole" for one in history),
        "objective": fitted.objective_, "gap": fitted.duality_gap_,
        "finished": fitted.fit_status_ == 0,
    }  # fmt: skip


def cases(options):
    for n in options.sizes:
        for cache in options.caches:
            yield Case({"n": n, "cache": cache}, measure, (n, cache, options.limit), apart=True,
                       limit=2 * options.limit + 60)  # fmt: skip


COLUMNS = ["seconds", "MB", "kernel evaluations / n²", "whole scans", "objective", "gap"]


def lines(records):
    for r in records:
        label = f"{r['n']:,} rows, {r['cache']:g} MB" + ", out of time" * (not r["finished"])
        keys = ("seconds", "mb", "evaluations", "scans", "objective", "gap")
        yield [label, *(r[key] for key in keys)]


def report(results):
    yield markdown_table(["USMO, cache_size", *COLUMNS], lines(results.records))


def entries(results):
    return [results.entry("usmo-memory", COLUMNS, list(lines(results.records)),
                          label="USMO, cache_size", unit="as the columns say",
                          formats=["3g", ".1f", ".1f", "", ".6f", ".1e"])]  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries,
    settings={
        "sizes": Setting([1000, 2000, 4000, 8000, 16_000], "numbers of rows"),
        "caches": Setting([1.0, 200.0], "MB"), "limit": Setting(900.0, "seconds of a fit"),
    },
    quick={"sizes": [1000]},
)  # fmt: skip
