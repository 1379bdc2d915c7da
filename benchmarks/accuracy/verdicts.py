"""How many verdicts of a fit are right, where the truth is known but hidden from the fit.

    python benchmarks verdicts --data FOLDER [--part noise signal rivals prior] [--sets 40]

noise   Tables of noise with 20, 60 and 200 labels: how often the permutation test says "signal".
signal  Real sets: outcomes of the test by the true ROC AUC of the same model.
rivals  Real sets: which methods compare_with_baselines calls better or worse, and how many of
        these are better or worse on rows that no method has seen.
prior   Real sets, labelled at random and by their largest column: how often the estimated prior
        is said to contradict the labelled rows, by how far it is from the truth.

Sets are taken in turn for choosing rules ("chosen on") and for reporting ("shown on").
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, PUEnsemble, tune
from fewlabels._util.deadline import ENDLESS
from fewlabels.baselines.methods import (
    compute_decision,
    positive_unlabelled_methods,
    semi_supervised_methods,
)
from fewlabels.model_selection import compare_with_baselines
from fewlabels.model_selection.positive_unlabelled import comparison as of_positives
from fewlabels.model_selection.semi_supervised import comparison as of_classes
from fewlabels.report.evidence.intervals import counted_interval
from fewlabels.report.evidence.model_tests import run_tests

SETS = """australian clean1_musk diabetes heart_statlog house_votes ionosphere liver_disorders
spectf adbench_breastw adbench_cardio adbench_landsat adbench_letter adbench_magic_gamma
adbench_pageblocks adbench_satellite adbench_spambase adbench_vowels adbench_waveform adbench_wdbc
adbench_annthyroid mushrooms phishing cod_rna ijcnn1 a9a bank_additional usmo_krvskp chapelle_g50c
usps madelon usmo_isolet poker_hand_train cbcl_faces w8a shuttle mnist ssl_coil2 ssl_usps
usmo_heart usmo_liverdisorders""".split()

ROWS, TRAIN = 1500, 400
# Labelled rows: of positives, and of two classes.
POSITIVES, LABELS = (40, 15), (40, 12)


# Without the methods that take long.
QUICK = False


def table(kind, n_labels, area, seed, n=500, columns=5):
    """Rows and labels; the first column separates the labelled kinds with this area."""
    rng = np.random.default_rng(seed)
    X, is_labelled = rng.normal(size=(n, columns)), np.arange(n) < n_labels
    positive = is_labelled if kind == "positives" else np.arange(n) % 2 == 1
    X[positive, 0] += np.sqrt(2.0) * norm.ppf(area)
    return X, np.where(is_labelled, positive, 0 if kind == "positives" else -1)


def halves(k):
    return "chosen on" if k % 2 == 0 else "shown on"


def real(folder, name, seed=0):
    """Rows of a set in a random order, and which are positive."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    X = X.reshape(len(X), -1)
    values, counts = np.unique(y, return_counts=True)
    positive = y <= np.median(y) if len(values) > 2 else y == values[np.argmin(counts)]
    positive = ~positive if positive.mean() > 0.6 else positive
    kept = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    X, positive = X[kept], positive[kept]
    X = X[:, X.std(axis=0) > 0][:, :60]
    return StandardScaler().fit_transform(X), positive


def positives_of(X, positive, n_labels, biased=False):
    """Training rows, labels and test rows; None where there are too few positives."""
    train = np.arange(min(TRAIN, len(X) // 2))
    test = np.arange(len(train), len(X))
    own = train[positive[train]]
    if len(own) < 1.5 * n_labels or not 2 <= positive[test].sum() < len(test):
        return None
    if biased:
        order = np.argsort(-X[own][:, np.argmax(np.abs(X[own].mean(axis=0)))], kind="stable")
        own = own[order]
    y = np.zeros(len(train), dtype=int)
    y[own[:n_labels]] = 1
    return train, y, test


def split_classes(positive, n_labels):
    train = np.arange(min(TRAIN, len(positive) // 2))
    test = np.arange(len(train), len(positive))
    if len(train) < 1.5 * n_labels:
        return None
    y = np.full(len(train), -1)
    y[:n_labels] = positive[:n_labels]
    if min(np.bincount(y[:n_labels], minlength=2)) < 2 or np.ptp(positive[test] * 1) == 0:
        return None
    return train, y, test


def problems(folder, sets, kinds, both, seeds=(0,)):
    """Real problems: name, half, kind, rows and labels, truth, test rows.

    With many and with few labels; or, unless ``both``, one of these in turn.
    """
    for seed, (k, name) in product(seeds, enumerate(SETS[:sets])):
        X, positive = real(folder, name, seed)
        places = (0, 1) if both else (k // 2 % 2,)
        for kind in kinds:
            for place in places:
                n_labels = (POSITIVES if kind == "positives" else LABELS)[place]
                found = (
                    positives_of(X, positive, n_labels)
                    if kind == "positives"
                    else split_classes(positive, n_labels)
                )
                if found:
                    yield name, halves(k), kind, n_labels, X, positive, found


def fitted(kind, k, X, y, seconds):
    """A model of the problem; its settings are the defaults if there are no seconds to choose."""
    machine = S3VM() if kind == "classes" else PUSVM(prior=0.3)
    if kind == "positives" and k % 3 == 0 and seconds:
        machine = PUEnsemble(n_bags=15)
    if not seconds:
        return machine.fit(X, y)
    return tune(machine, X, y, time_budget=seconds, random_state=0)


def pu_rivals(seed):
    return [
        one for one in positive_unlabelled_methods(seed) if "forest" not in one.name or not QUICK
    ]


def few_label_rivals(seed):
    return [one for one in semi_supervised_methods(seed) if "several" not in one.name or not QUICK]


def noise(repeats, seconds, kinds):
    print("situation    labels  outcomes  CPU s")
    for kind in kinds:
        for n_labels in (20, 60, 200):
            outcomes, started = Counter(), time.process_time()
            for seed in range(repeats):
                X, y = table(kind, n_labels, 0.5, 100 * n_labels + seed)
                found = run_tests(fitted(kind, seed, X, y, seconds), X, y, ENDLESS).signal
                outcomes[found.outcome] += 1
            cpu = (time.process_time() - started) / repeats
            print(f"{kind:11}  {n_labels:6}  {dict(outcomes)}  {cpu:.1f}", flush=True)


def signal(folder, sets, seconds, kinds):
    print("set  kind  labels  outcome  held-out area (interval)  true area")
    counts = Counter()
    for k, (name, half, kind, n_labels, X, positive, found) in enumerate(
        problems(folder, sets, kinds, True)
    ):
        train, y, test = found
        machine = fitted(kind, k, X[train], y, seconds)
        told = run_tests(machine, X[train], y, ENDLESS).signal
        true = roc_auc_score(positive[test], machine.decision_function(X[test]))
        worth = "true area < 0.6" if true < 0.6 else "0.6 to 0.7" if true < 0.7 else ">= 0.7"
        counts[half, kind, worth, told.outcome] += 1
        print(
            f"{name:20} {kind:9} {n_labels:3} {told.outcome:14} {told.area:.2f} "
            f"({told.low:.2f} to {told.high:.2f})  {true:.2f}  {half}", flush=True,
        )  # fmt: skip
    for key, count in sorted(counts.items()):
        print(*key, count, sep=" | ")


def truths(machine, kind, X, positive, train, y, test):
    """The true score of every method by its name, fitted to all training rows."""
    ours = type(machine).__name__
    if kind == "positives":
        scores = {ours: roc_auc_score(positive[test], machine.decision_function(X[test]))}
        for method in pu_rivals(0):
            model = clone(method.estimator).fit(X[train], y)
            scores[method.name] = roc_auc_score(positive[test], compute_decision(model, X[test]))
        return scores
    scores = {ours: np.mean(machine.predict(X[test]) == positive[test])}
    for method in few_label_rivals(0):
        rows = y >= 0 if method.trains_on == "labels" else slice(None)
        model = clone(method.estimator).fit(X[train][rows], y[rows])
        scores[method.name] = np.mean(model.predict(X[test]) == positive[test])
    return scores


def rivals(folder, sets, seconds, kinds, seeds, out):
    print("set  kind  labels  verdict: method, difference found, true difference")
    claims, before, written = {}, {}, []
    for k, (name, half, kind, n_labels, X, positive, found) in enumerate(
        problems(folder, sets, kinds, False, seeds)
    ):
        train, y, test = found
        machine = fitted(kind, k, X[train], y, seconds)
        compared = compare_with_baselines(
            machine, X[train], y, time_budget=2 * seconds or 600, random_state=0
        )
        true = truths(machine, kind, X, positive, train, y, test)
        ours = true[type(machine).__name__]
        for line in compared.differences.itertuples():
            apart = ours - true[line.name]
            where = "worse than" if line.ahead else "better than"
            is_right = apart < 0 if line.ahead else apart > 0
            # What the greater score says without an interval.
            before.setdefault((half, kind, where), []).append(is_right)
            written.append(
                {"set": name, "half": half, "kind": kind, "labels": n_labels, "rival": line.name,
                 "claim": where if line.clear else None, "difference": line.difference,
                 "low": line.low, "high": line.high, "true": apart, "right": bool(is_right)}
            )  # fmt: skip
            if line.clear:
                claims.setdefault((half, kind, where), []).append(is_right)
                print(
                    f"{name:20} {kind:9} {n_labels:3} {where} {line.name}: {line.difference:+.3f} "
                    f"({line.low:+.3f} to {line.high:+.3f}), {apart:+.3f} "
                    f"{'' if is_right else 'WRONG'}  {half}  {compared.folds} folds", flush=True,
                )  # fmt: skip
        print(f"{name:20} {kind:9} {n_labels:3} {compared.outcome}", flush=True)
        if out:
            out.write_text(json.dumps(written, indent=1))
    for key in sorted(before):
        right, was = claims.get(key, []), before[key]
        print(*key, f"{sum(right)} of {len(right)} claims right",
              f"({sum(was)} of {len(was)} by the greater score)", sep=" | ")  # fmt: skip
    right = [one for of_one in claims.values() for one in of_one]
    low, high = counted_interval(sum(right), len(right)) if right else (0.0, 1.0)
    print(f"all: {sum(right)} of {len(right)} claims right, 90 % interval {low:.3f} to {high:.3f}")


def prior(folder, sets, seeds):
    print("set  labelled  prior (interval)  truth  held-out area  contradicts the labels")
    counts = Counter()
    for seed, (k, name) in product(seeds, enumerate(SETS[:sets])):
        X, positive = real(folder, name, seed)
        for biased in (False, True):
            found = positives_of(X, positive, POSITIVES[0], biased)
            if not found:
                continue
            train, y, _ = found
            machine = PUSVM().fit(X[train], y)
            told = run_tests(machine, X[train], y, ENDLESS)
            truth = float(positive[train][y == 0].mean())
            off = "less than a third" if machine.prior_ < truth / 3 else "at least a third"
            counts[halves(k), off, told.contradiction is not None] += 1
            low, high = machine.prior_interval_
            print(
                f"{name:20} {'biased' if biased else 'random'} {machine.prior_:.3g} "
                f"({low:.2g} to {high:.2g})  {truth:.2f}  {told.signal.area:.2f}  "
                f"{told.contradiction}  {halves(k)}", flush=True,
            )  # fmt: skip
    for (half, off, said), count in sorted(counts.items()):
        print(f"{half} | estimate {off} of the truth | contradiction {said} | {count}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", nargs="+", default=["noise", "signal", "rivals", "prior"])
    parser.add_argument("--kinds", nargs="+", default=["positives", "classes"])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of rivals and prior")
    parser.add_argument("--out", type=Path, help="a file of JSON for what rivals compares")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="of the choice of settings")
    parser.add_argument("--train", type=int, default=TRAIN, help="training rows")
    parser.add_argument("--labels", type=int, help="labelled rows, in place of few and many")
    parser.add_argument("--quick", action="store_true", help="defaults, no forests or graphs")
    options = parser.parse_args()
    QUICK, TRAIN = options.quick, options.train
    if options.labels:
        POSITIVES = LABELS = (options.labels,) * 2
    if QUICK:
        options.seconds = 0.0
        of_positives.positive_unlabelled_methods, of_classes.semi_supervised_methods = (
            pu_rivals,
            few_label_rivals,
        )
    warnings.simplefilter("ignore")
    if "noise" in options.part:
        noise(options.repeats, options.seconds, options.kinds)
    if "signal" in options.part:
        signal(options.data, options.sets, options.seconds, options.kinds)
    if "rivals" in options.part:
        rivals(
            options.data, options.sets, options.seconds, options.kinds, options.seeds, options.out
        )
    if "prior" in options.part:
        prior(options.data, options.sets, options.seeds)
