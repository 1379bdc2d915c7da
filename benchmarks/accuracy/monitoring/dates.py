"""When a change began: how often the 90 % interval holds the first changed row.

Three Gaussian columns, of which one changes at row 600. The model is a OneClassSVM of 500 rows.
Rows are compared with the scores that calibrated the model, or with 300 other rows.
"""

import numpy as np

from fewlabels import OneClassSVM
from fewlabels.monitoring import Monitor

BEGINS, ROWS, AFTER, BLOCK = 600, 3000, 200, 25
CHANGES = {
    "mean + 0.5 sd": (1.0, 0.5),
    "mean + 1 sd": (1.0, 1.0),
    "spread x 1.35": (1.35, 0.0),
    "spread x 1.7": (1.7, 0.0),
}


def run(lines, streams):
    """Add a line per stream and change: intervals at the alarm and ``AFTER`` rows later."""
    for seed in range(streams):
        rng = np.random.default_rng([7, seed])
        model = OneClassSVM(nu=0.05, target_fpr=0.05).fit(rng.normal(size=(500, 3)))
        calibrations = {"model": "model", "300 rows": rng.normal(size=(300, 3))}
        for change, (factor, shift) in CHANGES.items():
            X = rng.normal(size=(ROWS, 3))
            X[BEGINS:, 0] = X[BEGINS:, 0] * factor + shift
            for name, calibration in calibrations.items():
                key = {"change": change, "calibration": name, "run": seed}
                if not lines.has(**key):
                    found = followed(Monitor(model, calibration, random_state=seed), X)
                    lines.add(**key, **found)


def followed(monitor, X):
    """The alarm and the intervals; no intervals without an alarm after the change."""
    at = []
    for start in range(0, len(X), BLOCK):
        monitor.update(X[start : start + BLOCK])
        if monitor.alarm_ is None:
            continue
        if monitor.alarm_ < BEGINS:
            break
        if not at or start + BLOCK > monitor.alarm_ + AFTER:
            found = monitor.change()
            at.append([int(found.interval[0]), int(found.began), int(found.interval[1])])
        if len(at) == 2:
            break
    return {"alarm": None if monitor.alarm_ is None else int(monitor.alarm_), "at": at}


def table(lines):
    """Rows of a table: a change and a calibration each, and all together."""
    rows = []
    for change in CHANGES:
        for name in ("model", "300 rows"):
            rows.append(
                [f"{change}, {name}", *_cells(lines.where(change=change, calibration=name))]
            )
    return [*rows, ["all", *_cells(lines.rows)]]


def _cells(group):
    seen = [row["at"] for row in group if len(row["at"]) == 2]
    if not seen:
        return [0, None, None, None, None]
    at, later = np.array(seen).transpose(1, 0, 2)
    holds = [float(np.mean((x[:, 0] <= BEGINS) & (x[:, 2] >= BEGINS))) for x in (at, later)]
    early = float(np.mean(later[:, 1] < BEGINS / 2))
    return [len(seen), *holds, early, float(np.median(later[:, 2] - later[:, 0] + 1))]
