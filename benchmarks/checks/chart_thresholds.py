"""Thresholds of the charts for repeated alarms, by simulation on uniform p-values.

While nothing changes, smoothed p-values are independent and uniform, whatever the data and the
model. So the number of rows until a chart alarms has one distribution for all data, and its mean
can be simulated once for all. Many streams run side by side, and every first passage of every
threshold is kept.

The mean run length of a threshold is the mean number of rows within the first ``SETTLED`` ones,
plus, for streams that last longer, rows per alarm after them. Streams that end without an alarm
count with the rows they had: after a while alarms come at a constant rate.

The report has the table of ``src/fewlabels/monitoring/charts.py``: natural logarithms of the
thresholds whose mean run length is the one set, raised by one standard error of the simulation.
"""

from __future__ import annotations

import numpy as np
from shared.common import group, markdown_table
from study import Case, Setting, Study

from fewlabels.monitoring import martingales as bets

RUN_LENGTHS = [
    round(base * 10**power) for power in range(1, 6) for base in (1, 2, 5)
] + [1_000_000]  # fmt: skip
LEVELS = np.arange(-1.0, 16.0, 0.02)  # natural logarithms of thresholds
SETTLED = 20_000


class Growths:
    """The bettors of many streams at once; ``growths`` has a row per bettor."""

    def __init__(self, streams):
        self._mixtures = [
            (densities, np.full((n, streams), 1.0 / n))
            for densities, n in ((_linear, 5), (_powers, 7))
        ]
        self._counts = np.full((streams, bets.BINS), bets.PRIOR)
        self._total = bets.PRIOR * bets.BINS
        self._each = np.arange(streams)
        self.growths = np.empty((3, streams))

    def step(self, p):
        for k, (densities, weights) in enumerate(self._mixtures):
            densities(p, weights)
            total = weights.sum(axis=0, out=self.growths[k])
            weights *= (1.0 - bets.JUMP) / total
            weights += bets.JUMP / len(weights)
        place = self._each, (p * bets.BINS).astype(int)
        np.multiply(self._counts[place], bets.BINS / self._total, out=self.growths[2])
        self._counts *= bets.KEEP
        self._counts += bets.ADD
        self._counts[place] += 1.0
        self._total = bets.KEEP * self._total + bets.BINS * bets.ADD + 1.0
        return self.growths


def _linear(p, weights):
    d = p - 0.5
    for k in (0, 1, 3, 4):
        weights[k] *= 1.0 + (k - 2.0) * d


def _powers(p, weights):
    for first, q in ((0, p), (3, 1.0 - p)):
        a = 1.0 / np.sqrt(np.sqrt(q))
        for k, factor in enumerate((0.75, 0.5, 0.25)):
            weights[first + k] *= factor * a ** (k + 1) if k else factor * a


class Passages:
    """Rows at which the statistics of many streams reach each level for the first time."""

    def __init__(self, streams, rows):
        self.rows = np.full((len(LEVELS), streams), rows + 1, dtype=np.int32)
        self._next = np.zeros(streams, dtype=int)  # the lowest level not reached yet
        self._height = np.full(streams, np.exp(LEVELS[0]))

    def add(self, row, statistic):
        for k in np.flatnonzero(statistic >= self._height):
            reached = int(np.searchsorted(LEVELS, np.log(statistic[k]), "right"))
            self.rows[self._next[k] : reached, k] = row
            self._next[k] = reached
            self._height[k] = np.exp(LEVELS[reached]) if reached < len(LEVELS) else np.inf


def simulate(streams, rows, seed):
    """First passages of both charts, by name."""
    rng, new_bettors = np.random.default_rng(seed), Growths(streams)
    pools = {name: np.zeros((3, streams)) for name in ("cusum", "shiryaev-roberts")}
    found = {name: Passages(streams, rows) for name in pools}
    for row in range(1, rows + 1):
        growths = new_bettors.step(np.maximum(rng.random(streams), 2.0**-60))
        np.maximum(pools["cusum"], 1.0, out=pools["cusum"])
        pools["shiryaev-roberts"] += 1.0
        for name, values in pools.items():
            values *= growths
            found[name].add(row, values.sum(axis=0) / 3.0)
    return {name: one.rows for name, one in found.items()}


def mean_run_lengths(passages, rows):
    """The mean run length of each level, and its relative standard error; NaN without alarms."""
    n, early = passages.shape[1], min(SETTLED, rows // 2)
    first = np.minimum(passages, early)
    last = passages > early
    alarms = (last & (passages <= rows)).sum(axis=1)
    later = ((np.minimum(passages, rows) - early) * last).sum(axis=1)
    with np.errstate(all="ignore"):
        rest = np.where(alarms > 0, last.mean(axis=1) * later / alarms, later / n)
        means = first.mean(axis=1) + rest
        means[(passages <= rows).sum(axis=1) < 30] = np.nan
        error = np.hypot(first.std(axis=1) / np.sqrt(n), rest / np.sqrt(np.maximum(alarms, 1)))
        return means, error / means


def thresholds(passages, rows):
    """For each run length: the level, raised by a standard error, and that error."""
    means, errors = mean_run_lengths(passages, rows)
    use = np.isfinite(means)
    found = []
    for setting in RUN_LENGTHS:
        if not means[use].min() < setting < means[use].max():
            found.append(None)
            continue
        error = float(np.interp(np.log(setting), np.log(means[use]), errors[use]))
        wanted = np.log(setting) + np.log1p(error)
        found.append((float(np.interp(wanted, np.log(means[use]), LEVELS[use])), error))
    return found


def measure(streams, rows, seed):
    """Logarithm of the threshold of each chart and run length, with its relative error."""
    records = []
    for name, passages in simulate(streams, rows, seed).items():
        for setting, one in zip(RUN_LENGTHS, thresholds(passages, rows), strict=True):
            level, error = one or (None, None)
            records.append({"chart": name, "run_length": setting, "log_threshold": level,
                            "error": error})  # fmt: skip
    return records


def cases(options):
    streams, rows = options.streams, options.rows
    key = {"streams": streams, "rows": rows, "seed": options.seed}
    yield Case(key, measure, (streams, rows, options.seed))


def report(results):
    columns = ["chart", "run_length", "log_threshold", "error"]
    yield markdown_table(columns, [[r[key] for key in columns] for r in results.records])
    lines = [f"RUN_LENGTHS = {tuple(RUN_LENGTHS)}", "LOG_THRESHOLDS = {"]
    for name, some in group(results.records, "chart").items():
        levels = tuple(r["log_threshold"] and round(r["log_threshold"], 4) for r in some)
        lines.append(f"    {name!r}: {levels},")
    yield "\n".join(["```python", *lines, "}", "```"])


STUDY = Study(
    __doc__, cases, report,
    settings={
        "streams": Setting(8000, "streams side by side"), "rows": Setting(100_000, "rows of each"),
        "seed": Setting(1, "seed"),
    },
    quick={"streams": 200, "rows": 2000},
)  # fmt: skip
