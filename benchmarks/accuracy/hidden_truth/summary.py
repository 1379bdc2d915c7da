"""Coverage and width of the intervals of the cases that have run."""

from __future__ import annotations

import numpy as np
from shared.common import group

SIGNALS = ("none", "weak", "moderate", "strong")


def strength(area: float) -> str:
    """Signal of a case, in words."""
    return SIGNALS[int(np.searchsorted([0.5, 0.75, 0.89], area))]


def by_signal(found: list[dict]) -> list[list]:
    """Coverage and mean width of each quantity and kind of labels, with a column per signal."""
    intervals = [
        {
            "quantity": f"{one['part']}, {name}, {one['labels']}",
            "signal": strength(one["area"]),
            "holds": interval["low"] <= interval["truth"] <= interval["high"],
            "width": interval["high"] - interval["low"],
        }
        for one in found
        for name, interval in one["intervals"].items()
    ]
    rows = []
    for quantity, some in group(intervals, "quantity").items():
        cells = {
            signal: f"{np.mean([r['holds'] for r in own]):.2f} / "
            f"{np.mean([r['width'] for r in own]):.2f}"
            for signal, own in group(some, "signal").items()
        }
        rows.append([quantity, *(cells.get(signal) for signal in SIGNALS)])
    return rows
