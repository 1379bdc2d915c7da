"""Whether columns without information are found out, and whether intervals of a precision hold.

How often a signal is found on noise and at a given area, by number of labels, for positives and a
pile and for a few labels of two classes; how often settings of S3VM are called clearly better on
noise; and held-out precisions of PUSVM on real sets (FEWLABELS_DATA) and noise against the truth.
Sets are taken in turn for choosing rules
("chosen on") and for showing them ("shown on").
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, tune
from fewlabels._deadline import ENDLESS
from fewlabels.report.held_out import cross_fit_positive
from fewlabels.report.intervals import precision_interval
from fewlabels.report.testing import tested


def find_signal(machine, X, y):
    """The permutation test of a machine with its settings."""
    return tested(machine.fit(X, y), X, y, ENDLESS).signal


SETS = """australian clean1_musk diabetes heart_statlog house_votes ionosphere liver_disorders
spectf adbench_breastw adbench_cardio adbench_landsat adbench_letter adbench_magic_gamma
adbench_pageblocks adbench_satellite adbench_spambase adbench_vowels adbench_waveform adbench_wdbc
adbench_annthyroid mushrooms phishing cod_rna ijcnn1 a9a bank_additional usmo_krvskp chapelle_g50c
usps madelon usmo_isolet poker_hand_train cbcl_faces w8a shuttle mnist ssl_coil2 ssl_usps
usmo_heart usmo_liverdisorders""".split()
ROWS, MOST_LABELS = 600, 60


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
                holds = sum(one.low <= area <= one.high for one in found)
                print(
                    f"{kind:11}  {area:4}  {n_labels:6}  {sum(f.found for f in found):3} of "
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


def real(name, seed=0):
    """Rows of a set, and which are positive."""
    with np.load(Path(os.environ["FEWLABELS_DATA"]) / f"{name}.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    X = X.reshape(len(X), -1)
    values, counts = np.unique(y, return_counts=True)
    positive = y <= np.median(y) if len(values) > 2 else y == values[np.argmin(counts)]
    positive = ~positive if positive.mean() > 0.6 else positive
    kept = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    X, positive = X[kept], positive[kept]
    X = X[:, X.std(axis=0) > 0][:, :60]
    return StandardScaler().fit_transform(X), positive


def held_out_precision(X, positive):
    """Signal, estimate of the precision with its interval, and the truth of the rows marked."""
    known = np.flatnonzero(positive)
    known = known[: min(MOST_LABELS, len(known) // 2)]
    y = np.zeros(len(X), dtype=int)
    y[known] = 1
    signal = find_signal(PUSVM(), X, y)
    if not signal.found:
        return signal, None
    machine = PUSVM().fit(X, y)
    held = cross_fit_positive(machine, X, y, ENDLESS)
    labelled, above = y[held.rows] == 1, held.scores > 0
    found = int(np.sum(above & labelled)), int(np.sum(labelled))
    marked = int(np.sum(above & ~labelled)), int(np.sum(~labelled))
    is_marked = (machine.decision_function(X) > 0) & (y == 0)
    if not marked[0] or not is_marked.any():
        return signal, None
    estimate = min(1.0, machine.prior_ * found[0] / found[1] / (marked[0] / marked[1]))
    interval = precision_interval(machine.prior_, machine.prior_interval_, found, marked)
    return signal, (estimate, *interval, float(positive[is_marked].mean()))


def precision(sets):
    """Estimates of the precision against the truth, set by set."""
    tables = [(name, *real(name)) for name in SETS[:sets]]
    for seed in range(sets // 2):
        rng = np.random.default_rng(seed)
        tables.append((f"noise {seed}", rng.normal(size=(ROWS, 5)), rng.random(ROWS) < 0.2))
    right = {}
    print("set                  area   estimate  interval       truth")
    for k, (name, X, positive) in enumerate(tables):
        signal, told = held_out_precision(X, positive)
        half = "chosen on" if k % 2 == 0 else "shown on"
        if told is None:
            print(f"{name:20} {signal.area:5.2f}  none claimed", flush=True)
            continue
        estimate, low, high, truth = told
        right.setdefault((name.startswith("noise"), half), []).append(low <= truth <= high)
        print(
            f"{name:20} {signal.area:5.2f}  {estimate:8.2f}  {low:.2f} to {high:.2f}   {truth:.2f}"
            f"  {half}{'' if low <= truth <= high else '  OUTSIDE'}", flush=True,
        )  # fmt: skip
    for (is_noise, half), holds in sorted(right.items()):
        print(f"{'noise' if is_noise else 'real'}, {half}: {sum(holds)} of {len(holds)} hold")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sets", type=int, default=40, help="real sets; half as many of noise")
    parser.add_argument("--only", choices=["power", "settings", "precision"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for part, run in (("power", power), ("settings", settings)):
        if options.only in (None, part):
            run(options.repeats)
    if options.only in (None, "precision") and "FEWLABELS_DATA" in os.environ:
        precision(options.sets)
