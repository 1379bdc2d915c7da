"""How often monitors alarm on streams that don't change, and how soon on streams that do.

    python benchmarks/monitoring.py --data FOLDER --runs 1000

Part "unchanged": streams of Gaussian rows, of counts with ties, and of rows drawn with
replacement from six real sets, after 50, 200 or 1000 calibration rows. The scores are those of an
isolation forest fitted to other rows (real sets), or the numbers themselves. Reported is the share
of streams that ever alarm at alpha = 0.01 and 0.05, with 95 % intervals (Clopper and Pearson).

Part "changed": 2000 unchanged Gaussian rows, then a shift of the mean or of the spread. Rivals are
river's ADWIN, KSWIN and Page-Hinkley with their defaults, on the same scores, where river is
installed: share of streams with an alarm before the change, share with one within 1000 rows after
it, and the median delay.

Part "time": microseconds per row of one stream of a million rows, and memory.
"""

import time

import numpy as np
from common import (
    PeakMemory,
    machine,
    machine_line,
    markdown_table,
    options,
    write_json,
    write_text,
)  # fmt: skip
from scipy.stats import beta
from sklearn.ensemble import IsolationForest

from fewlabels.monitoring import Monitor

SETS = ("cardio", "satellite", "musk", "http", "magic_gamma", "shuttle")
CALIBRATION = (50, 200, 1000)
ALPHAS = (0.01, 0.05)
CHANGES = {
    "mean -1 sd": (-1.0, 1.0),
    "mean -0.5 sd": (-0.5, 1.0),
    "spread x 1.5": (0.0, 1.5),
    "spread x 0.6": (0.0, 0.6),
}
BEFORE, AFTER = 2000, 1000


class Given:
    """A model whose rows are their own scores."""

    def score_samples(self, X):
        return np.asarray(X)[:, 0]


def evidence(calibration, stream, seed):
    """Natural logarithms of the evidence after every row of a stream of scores."""
    monitor = Monitor(Given(), calibration[:, None], random_state=seed)
    return monitor.update_scores(stream).log_evidence


def sources(args):
    """What draws scores: a name and a function of a generator and a number of rows."""
    yield "Gaussian", lambda rng, n: rng.normal(size=n)
    yield "counts with ties", lambda rng, n: rng.poisson(3.0, size=n).astype(float)
    for name in SETS if args.data is not None else ():
        with np.load(args.data / f"adbench_{name}.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        rng = np.random.default_rng(0)
        rows = rng.permutation(np.flatnonzero(y == 0))[:4000]
        half = len(rows) // 2
        forest = IsolationForest(random_state=0).fit(X[rows[:half]])
        scores = forest.score_samples(X[rows[half:]])
        yield name, lambda rng, n, scores=scores: rng.choice(scores, n)


def interval(k, n):
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k / n:.2%} ({low:.2%} to {high:.2%})"


def unchanged(args):
    runs, rows = (6, 500) if args.quick else (args.runs, args.rows)
    table, totals = [], dict.fromkeys(ALPHAS, 0)
    for name, draw in sources(args):
        alarms = dict.fromkeys(ALPHAS, 0)
        for run in range(runs):
            rng = np.random.default_rng([run, len(name)])
            n = CALIBRATION[run % len(CALIBRATION)]
            highest = evidence(draw(rng, n), draw(rng, rows), run).max()
            for alpha in ALPHAS:
                alarms[alpha] += highest >= -np.log(alpha)
        table.append([name, runs, *(interval(alarms[alpha], runs) for alpha in ALPHAS)])
        totals = {alpha: totals[alpha] + alarms[alpha] for alpha in ALPHAS}
        print(*table[-1], sep="  ", flush=True)
    every = runs * len(table)
    table.append(["all", every, *(interval(totals[alpha], every) for alpha in ALPHAS)])
    head = ["stream", "streams", *(f"ever alarm at {alpha:g}" for alpha in ALPHAS)]
    return f"Unchanged streams of {rows} rows", head, table


def rivals():
    """Detectors of river: a name and a function that makes one."""
    try:
        from river import drift
    except ImportError:
        return {}
    return {"ADWIN": drift.ADWIN, "KSWIN": drift.KSWIN, "Page-Hinkley": drift.PageHinkley}


def first_alarms(detector, stream):
    """Numbers of the rows at which a detector of river reports a change."""
    found = []
    for k, value in enumerate(stream):
        detector.update(value)
        if detector.drift_detected:
            found.append(k)
    return np.array(found)


def changed(args):
    runs = 4 if args.quick else args.runs // 10
    table = []
    for name, (mean, spread) in CHANGES.items():
        found = {"fewlabels": []} | {rival: [] for rival in rivals()}
        for run in range(runs):
            rng = np.random.default_rng([run, 7])
            calibration = rng.normal(size=200)
            stream = rng.normal(size=BEFORE + AFTER)
            stream[BEFORE:] = mean + spread * stream[BEFORE:]
            log = evidence(calibration, stream, run)
            found["fewlabels"].append(np.flatnonzero(log >= np.log(100.0))[:1])
            for rival, make in rivals().items():
                found[rival].append(first_alarms(make(), np.r_[calibration, stream]) - 200)
        for method, alarms in found.items():
            early = np.mean([np.any((a >= 0) & (a < BEFORE)) for a in alarms])
            delays = [a[a >= BEFORE][0] - BEFORE for a in alarms if np.any(a >= BEFORE)]
            median = f"{np.median(delays):.0f}" if delays else "-"
            table.append([name, method, f"{early:.0%}", f"{len(delays) / runs:.0%}", median])
            print(*table[-1], sep="  ", flush=True)
    head = ["change", "method", "alarm before it", "alarm after it", "median delay, rows"]
    return f"Changed streams, {runs} each", head, table


def timing(args):
    rows = 20_000 if args.quick else 1_000_000
    rng = np.random.default_rng(0)
    monitor = Monitor(Given(), rng.normal(size=(1000, 1)))
    start = time.perf_counter()
    with PeakMemory() as memory:
        for _ in range(rows // 1000):
            monitor.update_scores(rng.normal(size=1000))
    seconds = time.perf_counter() - start
    line = [rows, f"{1e6 * seconds / rows:.1f}", f"{memory.extra / 1e6:.0f}"]
    print(*line, sep="  ", flush=True)
    return "Time", ["rows", "microseconds per row", "extra memory, MB"], [line]


PARTS = {"unchanged": unchanged, "changed": changed, "time": timing}


def main():
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="streams of every kind")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of an unchanged stream")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    args = parser.parse_args()
    info = machine()
    found = {name: PARTS[name](args) for name in args.parts}
    name = "monitoring-quick" if args.quick else "monitoring"
    tables = [
        f"## {title}\n\n{markdown_table(head, rows)}" for title, head, rows in found.values()
    ]
    write_text(args.out / f"{name}.md", "\n\n".join([machine_line(info), *tables]) + "\n")
    write_json(args.out / f"{name}.json", {"machine": info, **found})


if __name__ == "__main__":
    main()
