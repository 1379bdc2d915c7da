"""Figures of one fit: seconds, memory, quality, and how far it is from the floor."""

from __future__ import annotations

import resource
import sys
import warnings

from shared.common import PeakMemory, fastest, timed


def measure_fit(fit, budget):
    """Seconds (the fastest of several calls), memory, warnings, and what ``fit()`` returned.

    ``extra_mb`` is the high-water mark of resident memory during the first call minus
    resident memory before it, ``peak_mb`` the mark itself: the process with its data.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with PeakMemory() as memory:
            first, fitted = timed(fit)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fits = fastest(fit, first=[first], budget=budget)
    return fitted, {
        "fit_s": seconds, "fits": fits, "extra_mb": memory.extra / 1e6,
        "peak_mb": peak / (1e6 if sys.platform == "darwin" else 1e3),
        "warnings": sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught}),
    }  # fmt: skip
