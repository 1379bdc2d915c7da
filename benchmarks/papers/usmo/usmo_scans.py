"""USMO scan by scan: Figure 1 of Sansone et al. (2019), on one of their sets.

    FEWLABELS_DATA=/path/to/data python benchmarks usmo_scans
    python benchmarks usmo_scans --data FOLDER --out FOLDER [--set krvskp] [--kernel gaussian]

The paper's settings (lambda = 0.01, a fifth of the positives labelled; papers/usmo/protocol.py); it
doesn't say which set its figure is from. Seconds and steps of every scan of all rows and of every scan
of the non-bound ones, and how far the dual objective is above its last value. Kernel rows aren't kept
(cache_size=1), as in the paper. Seconds are the fastest of five runs.

Writes usmo_scans.png, and usmo_scans.json with an entry of results.json.
"""  # noqa: E501

from __future__ import annotations

import numpy as np
from papers.usmo import protocol
from results import entry, write
from shared.common import COLOURS, data_folder, figure, machine, options, save_figure

from fewlabels import PUSVM


def main():
    parser = options(__doc__)
    parser.add_argument("--set", default="krvskp", choices=list(protocol.PRIORS), dest="name")
    parser.add_argument("--kernel", default="gaussian", choices=list(protocol.KERNELS))
    args = parser.parse_args()
    name = "heart" if args.quick else args.name
    folder = data_folder(args, [f"usmo_{name}"])
    scans = measure(protocol.draw(folder, name, 0), args.kernel)
    draw_picture(scans, args.out / "usmo_scans.png")
    info = machine()
    one = entry(
        "usmo-scans", ["seconds", "steps", "dual objective above the last"],
        [[f"{k}, {scan['scan']}", scan["seconds"], scan["steps"], scan["above"]]
         for k, scan in enumerate(scans, 1)],
        label=f"scan ({name}, {args.kernel} kernel)", unit="seconds; steps; objective",
        formats=["3g", ",", "3g"], program="python benchmarks usmo_scans",
        hardware=f"{info['cores']} cores, {info['processor']}",
    )  # fmt: skip
    for row in one["rows"]:
        print(*row, sep=" | ")
    write([one], args.out, "usmo_scans", quick=args.quick)


def measure(data, kernel):
    """Kind, seconds, steps and objective of every scan."""
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


if __name__ == "__main__":
    main()
