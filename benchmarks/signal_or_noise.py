"""Whether columns without information are found out.

How often a signal is found on noise and at a given area, by number of labels, for positives and a
pile and for a few labels of two classes; and how often settings of S3VM are called clearly better
on noise.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm

from fewlabels import PUSVM, S3VM, tune
from fewlabels._util.deadline import ENDLESS
from fewlabels.report.evidence.model_tests import run_tests


def find_signal(machine, X, y):
    """The permutation test of a model with its settings."""
    return run_tests(machine.fit(X, y), X, y, ENDLESS).signal


def table(kind, n_labels, area, seed, n=500, columns=5):
    """Rows and labels; the first column tells the labelled kinds apart with this area."""
    rng = np.random.default_rng(seed)
    X, is_labelled = rng.normal(size=(n, columns)), np.arange(n) < n_labels
    positive = is_labelled if kind == "pile" else np.arange(n) % 2 == 1
    X[positive, 0] += np.sqrt(2.0) * norm.ppf(area)
    return X, np.where(is_labelled, positive, 0 if kind == "pile" else -1)


def power(repeats):
    """How often a signal is found, in tables of a situation, an area and a number of labels."""
    print("situation    area  labels  found in  interval holds the area  CPU s")
    for kind, machine in (("pile", PUSVM()), ("two classes", S3VM())):
        for area in (0.5, 0.6, 0.65, 0.7):
            for n_labels in (20, 60, 200):
                started = time.process_time()
                found = [
                    find_signal(machine, *table(kind, n_labels, area, 100 * n_labels + seed))
                    for seed in range(repeats)
                ]
                seconds = (time.process_time() - started) / repeats
                n_beats = sum(one.beats_chance for one in found)
                holds = sum(one.low <= area <= one.high for one in found)
                print(
                    f"{kind:11}  {area:4}  {n_labels:6}  {n_beats:3} of "
                    f"{repeats}  {holds:3} of {repeats}  {seconds:.2f}", flush=True,
                )  # fmt: skip


def settings(repeats):
    """How often settings of S3VM are called clearly better than the defaults on noise."""
    print("labels  other settings chosen  called clearly better")
    for n_labels in (24, 60):
        clear, chosen = 0, 0
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(150, 5)), np.full(150, -1)
            y[:n_labels] = np.arange(n_labels) % 2
            found = tune(S3VM(), X, y, time_budget=600).tuning_
            clear += bool(found.candidates.loc[found.candidates["chosen"], "clear"].any())
            chosen += bool(found.chosen)
        print(f"{n_labels:6}  {chosen:3} of {repeats}  {clear:3} of {repeats}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", choices=["power", "settings"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for part, run in (("power", power), ("settings", settings)):
        if options.only in (None, part):
            run(options.repeats)
