"""Thresholds of the charts for repeated alarms, by simulation on uniform p-values.

    python benchmarks chart_thresholds [--streams 10000] [--rows 100000]

While nothing changes, smoothed p-values are independent and uniform, whatever the data and the
model. So the number of rows until a chart alarms has one distribution for all data, and its mean
can be simulated once for all. Many streams run side by side, and every first passage of every
threshold is kept.

The mean run length of a threshold is the mean number of rows within the first ``SETTLED`` ones,
plus, for streams that last longer, rows per alarm after them. Streams that end without an alarm
count with the rows they had: after a while alarms come at a constant rate.

Writes chart-thresholds.md and chart-thresholds.json, and prints the table that
``src/fewlabels/monitoring/charts.py`` holds: natural logarithms of the thresholds whose mean
run length is the one set, raised by one standard error of the simulation.
"""

import numpy as np
from shared.common import machine, machine_line, markdown_table, options, write_json, write_text

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


def literal(found):
    """The table as it stands in the source."""
    lines = [f"RUN_LENGTHS = {tuple(RUN_LENGTHS)}", "LOG_THRESHOLDS = {"]
    for name, values in found.items():
        lines.append(f"    {name!r}: {tuple(round(level, 4) for level, _ in values)},")
    return "\n".join([*lines, "}"])


def main():
    parser = options(__doc__)
    parser.add_argument("--streams", type=int, default=8000, help="streams side by side")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of each")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    streams, rows = (200, 2000) if args.quick else (args.streams, args.rows)
    passages = simulate(streams, rows, args.seed)
    found = {name: thresholds(one, rows) for name, one in passages.items()}
    lines = [
        [name, setting, None if one is None else float(np.exp(one[0])), one and one[1]]
        for name, values in found.items()
        for setting, one in zip(RUN_LENGTHS, values, strict=True)
    ]
    head = ["chart", "run length", "threshold", "standard error"]
    cells = [[str(c) if c is None else f"{c:.4g}" if isinstance(c, float) else str(c) for c in row]
             for row in lines]  # fmt: skip
    info, suffix = machine(), "-quick" if args.quick else ""
    text = f"{machine_line(info)}\n\n{markdown_table(head, cells)}\n"
    write_text(args.out / f"chart-thresholds{suffix}.md", text)
    facts = {"machine": info, "columns": head, "rows": lines}
    write_json(args.out / f"chart-thresholds{suffix}.json", facts)
    if not args.quick:
        print(literal(found))


if __name__ == "__main__":
    main()
