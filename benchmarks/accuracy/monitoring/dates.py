"""When a change began: how often the 90 % interval holds the first changed row.

Three Gaussian columns, of which one changes at row 600. The model is a OneClassSVM of 500 rows.
Rows are compared with the scores that calibrated the model, or with 300 other rows.
"""

import numpy as np
from shared.common import group
from study import Case

from fewlabels import OneClassSVM
from fewlabels.monitoring import Monitor

BEGINS, ROWS, AFTER, BLOCK = 600, 3000, 200, 25
CHANGES = {
    "mean + 0.5 sd": (1.0, 0.5),
    "mean + 1 sd": (1.0, 1.0),
    "spread x 1.35": (1.35, 0.0),
    "spread x 1.7": (1.7, 0.0),
}


def measure(seed):
    """A record per change and calibration: intervals at the alarm and ``AFTER`` rows later."""
    rng, records = np.random.default_rng([7, seed]), []
    model = OneClassSVM(nu=0.05, target_fpr=0.05).fit(rng.normal(size=(500, 3)))
    calibrations = {"model": "model", "300 rows": rng.normal(size=(300, 3))}
    for change, (factor, shift) in CHANGES.items():
        X = rng.normal(size=(ROWS, 3))
        X[BEGINS:, 0] = X[BEGINS:, 0] * factor + shift
        for name, calibration in calibrations.items():
            found = followed(Monitor(model, calibration, random_state=seed), X)
            records.append({"change": change, "calibration": name, **found})
    return records


def cases(options):
    for seed in range(2 if options.quick else 100) if "dates" in options.parts else ():
        yield Case({"part": "dates", "run": seed}, measure, (seed,))


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


def tables(results):
    """Arguments of the entry."""
    found = results.where(part="dates")
    if not found:
        return
    rows = [[f"{change}, {name}", *_cells(some)]
            for (change, name), some in group(found, "change", "calibration").items()]  # fmt: skip
    head = ["streams with an alarm", "at the alarm", "200 rows later", "far too early", "width"]
    yield "monitoring-dates", head, [*rows, ["all", *_cells(found)]], {
        "label": "change at row 600, calibration", "formats": [",", ".0%", ".0%", ".0%", ",.0f"],
        "unit": "share of 90 % intervals that hold the first changed row; share of changes dated "
        "before row 300; median width in rows, 200 rows after the alarm",
    }  # fmt: skip


def _cells(records):
    seen = [row["at"] for row in records if len(row["at"]) == 2]
    if not seen:
        return [0, None, None, None, None]
    at, later = np.array(seen).transpose(1, 0, 2)
    holds = [float(np.mean((x[:, 0] <= BEGINS) & (x[:, 2] >= BEGINS))) for x in (at, later)]
    early = float(np.mean(later[:, 1] < BEGINS / 2))
    return [len(seen), *holds, early, float(np.median(later[:, 2] - later[:, 0] + 1))]
