"""USMO scan by scan: Figure 1 of Sansone et al. (2019), on one of their sets.

The paper's settings (lambda = 0.01, a fifth of the positives labelled; protocol.py); it doesn't
say which set its figure is from. Seconds and steps of every scan of all rows and of every scan of
the non-bound ones, and how far the dual objective is above its last value. Kernel rows aren't kept
(cache_size=1), as in the paper. Seconds are the fastest of five runs.
"""

from __future__ import annotations

import numpy as np
from shared.common import COLOURS, figure, group, save_figure
from study import Case, Study

from fewlabels import PUSVM

from . import protocol


def measure(folder, name, kernel):
    """Kind, seconds, steps and objective of every scan."""
    data = protocol.draw(folder, name, 0)
    model = PUSVM(
        prior=data.prior, lam=0.01, threshold="risk", solver="usmo", cache_size=1, n_jobs=1,
        **protocol.KERNELS[kernel],
    )  # fmt: skip
    runs = [model.fit(data.X, data.labelled.astype(int)).history_ for _ in range(5)]
    times = np.min([np.diff([0.0, *(e["seconds"] for e in run)]) for run in runs], axis=0)
    decrease = np.array([e["decrease"] for e in runs[0]])
    above = decrease.sum() - np.cumsum(decrease)
    return [
        {"scan": e["scan"], "seconds": float(s), "steps": e["steps"], "above": float(max(0.0, v))}
        for e, s, v in zip(runs[0], times, above, strict=True)
    ]


def cases(options):
    for name in options.sets if options.is_restricted or options.quick else ["krvskp"]:
        for kernel in options.kernels:
            yield Case({"set": name, "kernel": kernel}, measure, (options.data, name, kernel))


COLUMNS = ["seconds", "steps", "dual objective above the last"]


def lines(scans):
    return [[f"{k}, {r['scan']}", r["seconds"], r["steps"], r["above"]]
            for k, r in enumerate(scans, 1)]  # fmt: skip


def report(results):
    for (name, kernel), scans in group(results.records, "set", "kernel").items():
        yield f"![{name}, {kernel} kernel]({results.picture(f'{name}-{kernel}').name})"
        draw_picture(scans, results.picture(f"{name}-{kernel}"))


def entries(results):
    return [
        results.entry("usmo-scans", COLUMNS, lines(scans), unit="seconds; steps; objective",
                      label=f"scan ({name}, {kernel} kernel)", formats=["3g", ",", "3g"])
        for (name, kernel), scans in group(results.records, "set", "kernel").items()
        if kernel == "gaussian"
    ]  # fmt: skip


def draw_picture(scans, path):
    """Seconds of the scans, and the objective after each."""
    fig, (left, right) = figure(1, 2, figsize=(9, 3.4))
    k = np.arange(1, len(scans) + 1)
    whole = np.array([scan["scan"] == "whole" for scan in scans])
    for kind, colour, label in (
        (whole, COLOURS[0], "all rows"),
        (~whole, COLOURS[1], "non-bound"),
    ):
        seconds = np.array([scan["seconds"] for scan in scans])
        left.plot(k[kind], seconds[kind], "o", color=colour, label=label)
        above = np.array([scan["above"] for scan in scans])
        right.plot(k[kind], above[kind], "o", color=colour)
    left.set(xlabel="scan", ylabel="seconds", yscale="log")
    right.set(xlabel="scan", ylabel="dual objective above the last")
    right.set_yscale("symlog", linthresh=1e-6)
    left.legend(frameon=False)
    save_figure(fig, path)


STUDY = Study(
    __doc__, cases, report, entries, data="required",
    choices={"sets": list(protocol.PRIORS), "kernels": list(protocol.KERNELS)},
    quick={"sets": ["heart"]},
)  # fmt: skip
