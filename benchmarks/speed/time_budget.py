"""Seconds that ``fewlabels fit`` takes as a process, beside the time budget that it was given.

    python benchmarks time_budget [--budgets 0 5 20 60] [--tables NAME ...] [--keep FOLDER]

A budget of B seconds is kept if the process ends in 1.2 B + 3 seconds. With a budget of 0 all rows
are learnt from, so that the time is that of one fit. Run it on a machine that does nothing else;
the first of all fits, which is not counted, fills caches.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def clusters(rng, n, width, n_classes, labelled):
    """Gaussian clusters, some rows of which have the name of their own as label."""
    centres = rng.normal(0, 2, (n_classes, width))
    of_class = rng.integers(0, n_classes, n)
    label = np.full(n, "", object)
    for place in rng.choice(n, labelled, replace=False):
        label[place] = f"c{of_class[place]}"
    return centres[of_class] + rng.normal(size=(n, width)), label


def positives(rng, n, width, labelled):
    """A tenth of the rows is positive, and few of these are labelled."""
    is_positive = rng.random(n) < 0.1
    X = rng.normal(size=(n, width))
    X[is_positive, :5] += 1.2
    label = np.full(n, "", object)
    label[rng.choice(np.flatnonzero(is_positive), labelled, replace=False)] = "pos"
    return X, label


def one_class(rng, n, width):
    """Rows of three clusters without labels."""
    return clusters(rng, n, width, 3, 0)[0], None


TABLES = {
    "one class, 128 x 5": lambda rng: one_class(rng, 128, 5),
    "few labels, 500 x 10": lambda rng: clusters(rng, 500, 10, 2, 20),
    "20 classes, 5 000 x 20": lambda rng: clusters(rng, 5_000, 20, 20, 300),
    "30 classes, 20 000 x 30": lambda rng: clusters(rng, 20_000, 30, 30, 1_500),
    "one class, 50 000 x 20": lambda rng: one_class(rng, 50_000, 20),
    "positives, 100 000 x 30": lambda rng: positives(rng, 100_000, 30, 508),
    "positives, 200 000 x 50": lambda rng: positives(rng, 200_000, 50, 1_000),
}


def written(name, folder):
    """The table as a file, and the options that name its target."""
    path = folder / f"{name.replace(' ', '-').replace(',', '')}.csv"
    X, label = TABLES[name](np.random.default_rng(0))
    if not path.exists():
        table = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(X.shape[1])])
        if label is not None:
            table["label"] = label
        table.to_csv(path, index=False)
    return path, [] if label is None else ["--target", "label"]


def timed(path, options, budget):
    """Seconds of the process, and what it said."""
    command = [sys.executable, "-m", "fewlabels", "fit", path, "-o", path.with_suffix(".model")]
    since = time.perf_counter()
    done = subprocess.run(
        [*map(str, command), "--time-budget", f"{budget:g}", *options],
        capture_output=True, text=True,
    )  # fmt: skip
    return time.perf_counter() - since, done


def main():
    """Print a line per table and budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", nargs="+", type=float, default=[0, 5, 20, 60])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        for name in ("one class, 128 x 5", "few labels, 500 x 10"):
            timed(*written(name, folder), 5.0)
        print(f"{'table':26} {'asked':>6} {'used':>7} {'allowed':>8}")
        for name in asked.tables:
            path, options = written(name, folder)
            for budget in asked.budgets:
                used, done = timed(path, options, budget)
                allowed = 1.2 * budget + 3.0
                sample = "allows for" in done.stderr
                told = "" if used <= allowed or not budget else "  too long"
                told += "  a sample" if sample else ""
                told += f"  exit code {done.returncode}" if done.returncode else ""
                print(f"{name:26} {budget:6g} {used:7.1f} {allowed:8.1f}{told}", flush=True)


if __name__ == "__main__":
    main()
