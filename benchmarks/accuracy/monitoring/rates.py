"""Streams that don't change: how often monitors alarm, and how far apart charts do."""

from functools import lru_cache

import numpy as np
from scipy.stats import beta, chi2
from shared.common import group
from sklearn.ensemble import IsolationForest
from study import Case

from fewlabels.monitoring import Monitor

SETS = ("cardio", "satellite", "musk", "http", "magic_gamma", "shuttle")
CALIBRATION = (50, 200, 1000)
ALPHAS = (0.01, 0.05)
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


@lru_cache
def source(folder, name):
    """Return a function of a generator and a number of rows that draws scores."""
    if name == "Gaussian":
        return lambda rng, n: rng.normal(size=n)
    if name == "counts with ties":
        return lambda rng, n: rng.poisson(3.0, size=n).astype(float)
    with np.load(folder / f"adbench_{name}.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    rows = np.random.default_rng(0).permutation(np.flatnonzero(y == 0))[:4000]
    half = len(rows) // 2
    forest = IsolationForest(random_state=0).fit(X[rows[:half]])
    scores = forest.score_samples(X[rows[half:]])
    return lambda rng, n: rng.choice(scores, n)


def unchanged(folder, name, run, rows):
    """The highest evidence of a stream."""
    rng, draw = np.random.default_rng([run, SEEDS[name]]), source(folder, name)
    n = CALIBRATION[run % len(CALIBRATION)]
    monitor = watch(draw(rng, n), run)
    highest = monitor.update_scores(draw(rng, rows)).log_evidence.max()
    return {"calibration": n, "rows": rows, "highest": float(highest)}


def run_lengths(folder, name, setting, chart, alarms):
    """Alarms of a chart that begins anew, on one long stream."""
    rng, draw = np.random.default_rng([setting, SEEDS[name]]), source(folder, name)
    rows = alarms * setting
    monitor = watch(draw(rng, 200), SEEDS[name], run_length=setting, chart=chart)
    at = np.flatnonzero(monitor.update_scores(draw(rng, rows)).alarms)
    lengths = np.diff(at, prepend=-1).astype(float)
    return {"rows": rows, "alarms": len(at), "sum": lengths.sum(),
            "squares": (lengths**2).sum()}  # fmt: skip


def cases(options):
    names = [name for name in SEEDS if name not in SETS or options.data is not None]
    if "unchanged" in options.parts:
        rows = 500 if options.quick else options.rows
        for name in names:
            for run in range(options.runs):
                yield Case({"part": "unchanged", "source": name, "run": run}, unchanged,
                           (options.data, name, run, rows))  # fmt: skip
    for name in names if "lengths" in options.parts else ():
        for setting in RUN_LENGTHS:
            for chart in CHARTS:
                key = {"part": "lengths", "source": name, "setting": setting, "chart": chart}
                alarms = 5 if options.quick else ALARMS[setting]
                yield Case(key, run_lengths, (options.data, name, setting, chart, alarms))


# -- tables ----------------------------------------------------------------------------------


def share(k, n):
    """A share with its exact 95 % interval (Clopper and Pearson)."""
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return k / n, float(low), float(high)


def mean_length(rows, alarms, total, squares):
    """Rows per alarm with a 95 % interval; ``total`` and ``squares`` sum up complete lengths."""
    if alarms < 2:
        return np.inf, 2.0 * rows / chi2.ppf(0.95, 2), np.inf
    mean = rows / alarms
    error = 1.96 * np.sqrt(max(0.0, squares / alarms - (total / alarms) ** 2) / (alarms - 1))
    return mean, float(mean - error), float(mean + error)


def tables(results):
    """Arguments of the entries."""
    if found := results.where(part="unchanged"):
        yield _unchanged_table(found)
    if found := results.where(part="lengths"):
        yield _lengths_table(found)


def _unchanged_table(found):
    table, groups = [], group(found, "source")
    for n, some in sorted(group(found, "calibration").items()):
        groups[f"all, {n} calibration rows"] = some
    groups["all"] = found
    for name, some in groups.items():
        cells = []
        for alpha in ALPHAS:
            k = sum(row["highest"] >= -np.log(alpha) for row in some)
            value, low, high = share(k, len(some))
            cells += [value, f"{low:.2%}–{high:.2%}"]
        table.append([name, len(some), *cells])
    head = ["streams", "alarm at 0.01", "95 % interval", "alarm at 0.05", "95 % interval, 0.05"]
    return "monitoring", head, table, {
        "label": "unchanged streams", "formats": [",", ".2%", "", ".2%", ""],
        "unit": f"share of unchanged streams of {found[0]['rows']} rows that ever alarm",
    }  # fmt: skip


def _lengths_table(found):
    table = []
    for (chart, setting), some in group(found, "chart", "setting").items():
        total = [sum(row[key] for row in some) for key in ("rows", "alarms", "sum", "squares")]
        mean, low, high = mean_length(*total)
        table.append([
            f"{chart}, {setting}", total[0], int(total[1]), mean if np.isfinite(mean) else None,
            f"{low:,.0f}–{high:,.0f}" if np.isfinite(high) else f"above {low:,.0f}",
            min(row["rows"] / max(1, row["alarms"]) for row in some),
        ])  # fmt: skip
    head = ["rows", "alarms", "rows per alarm", "95 % interval", "least of a source"]
    return "monitoring-lengths", head, table, {
        "label": "chart, run_length", "formats": [",", ",", ",.0f", "", ",.0f"],
        "unit": "rows between alarms on unchanged streams, all sources together",
    }  # fmt: skip
