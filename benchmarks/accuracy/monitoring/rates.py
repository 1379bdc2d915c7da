"""Streams that don't change: how often monitors alarm, and how far apart charts do."""

import numpy as np
from sklearn.ensemble import IsolationForest

from fewlabels.monitoring import Monitor

SETS = ("cardio", "satellite", "musk", "http", "magic_gamma", "shuttle")
CALIBRATION = (50, 200, 1000)
RUN_LENGTHS = (500, 5000)
CHARTS = ("shiryaev-roberts", "cusum")
# Alarms to expect on one source; those of a CUSUM chart are less regular.
ALARMS = {500: 500, 5000: 100}
# Seeds of the sources, all different.
SEEDS = {
    "Gaussian": 8, "counts with ties": 16, "cardio": 6, "satellite": 9, "musk": 4, "http": 42,
    "magic_gamma": 11, "shuttle": 7,
}  # fmt: skip


class Given:
    """A model whose rows are their own scores."""

    def score_samples(self, X):
        return np.asarray(X)[:, 0]


def watch(calibration, seed, **options):
    return Monitor(Given(), calibration[:, None], random_state=seed, **options)


def sources(folder):
    """What draws scores: a name and a function of a generator and a number of rows."""
    yield "Gaussian", lambda rng, n: rng.normal(size=n)
    yield "counts with ties", lambda rng, n: rng.poisson(3.0, size=n).astype(float)
    for name in SETS if folder is not None else ():
        with np.load(folder / f"adbench_{name}.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        rng = np.random.default_rng(0)
        rows = rng.permutation(np.flatnonzero(y == 0))[:4000]
        half = len(rows) // 2
        forest = IsolationForest(random_state=0).fit(X[rows[:half]])
        scores = forest.score_samples(X[rows[half:]])
        yield name, lambda rng, n, scores=scores: rng.choice(scores, n)


def unchanged(lines, folder, runs, rows):
    """The highest evidence of each stream."""
    for name, draw in sources(folder):
        for run in range(runs):
            if lines.has(source=name, run=run):
                continue
            rng = np.random.default_rng([run, SEEDS[name]])
            n = CALIBRATION[run % len(CALIBRATION)]
            monitor = watch(draw(rng, n), run)
            highest = monitor.update_scores(draw(rng, rows)).log_evidence.max()
            lines.add(source=name, run=run, calibration=n, rows=rows, highest=highest)
        print("unchanged", name, flush=True)


def run_lengths(lines, folder, quick):
    """Alarms of the charts that begin anew, on one long stream per source."""
    for name, draw in sources(folder):
        for setting in RUN_LENGTHS:
            for chart in CHARTS:
                if lines.has(source=name, setting=setting, chart=chart):
                    continue
                rng = np.random.default_rng([setting, SEEDS[name]])
                rows = (5 if quick else ALARMS[setting]) * setting
                monitor = watch(draw(rng, 200), SEEDS[name], run_length=setting, chart=chart)
                at = np.flatnonzero(monitor.update_scores(draw(rng, rows)).alarms)
                lengths = np.diff(at, prepend=-1)
                lines.add(
                    source=name, setting=setting, chart=chart, rows=rows, alarms=len(at),
                    sum=lengths.sum(), squares=(lengths.astype(float) ** 2).sum(),
                )  # fmt: skip
        print("run lengths", name, flush=True)
