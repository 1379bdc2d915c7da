"""How many verdicts of a fit are right, where the truth is known but hidden from the fit.

noise   Tables of noise with 20, 60 and 200 labels: how often the permutation test finds a signal.
signal  Real sets: outcomes of the test by the true ROC AUC of the same model.
rivals  Real sets: which methods compare_with_baselines calls better or worse, and how many of
        these are better or worse on rows that no method has seen. Without an interval, the
        greater score would decide.
prior   Real sets, labelled at random and by their largest column: how often the report says that
        the estimated prior contradicts the labelled rows, by how far it is from the truth.

Sets are taken in turn for choosing rules ("chosen on") and for reporting ("shown on"). --fast
leaves out forests and graphs, and takes default settings.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.stats import norm
from shared.common import group
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from study import Case, Setting, Study

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
OUTCOMES = ("signal", "no signal", "too few labels")
PARTS, KINDS = ["noise", "signal", "rivals", "prior"], ["positives", "classes"]


def table(kind, n_labels, area, seed, n=500, columns=5):
    """Rows and labels; the first column separates the labelled kinds with this area."""
    rng = np.random.default_rng(seed)
    X, is_labelled = rng.normal(size=(n, columns)), np.arange(n) < n_labels
    positive = is_labelled if kind == "positives" else np.arange(n) % 2 == 1
    X[positive, 0] += np.sqrt(2.0) * norm.ppf(area)
    return X, np.where(is_labelled, positive, 0 if kind == "positives" else -1)


def half_of(name):
    return "chosen on" if SETS.index(name) % 2 == 0 else "shown on"


@lru_cache(maxsize=2)
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


def problem(folder, name, seed, kind, n_labels):
    """Rows, which are positive, and training rows, labels and test rows; None for too few."""
    X, positive = real(folder, name, seed)
    make = positives_of if kind == "positives" else lambda X, *rest: split_classes(*rest)
    found = make(X, positive, n_labels)
    return found and (X, positive, *found)


def fitted(kind, k, X, y, seconds):
    """A model of the problem; its settings are the defaults if there are no seconds to choose."""
    model = S3VM() if kind == "classes" else PUSVM(prior=0.3)
    if kind == "positives" and k % 3 == 0 and seconds:
        model = PUEnsemble(n_bags=15)
    return tune(model, X, y, time_budget=seconds, random_state=0) if seconds else model.fit(X, y)


def methods_of(kind, is_fast):
    """Baselines of a task."""
    make = positive_unlabelled_methods if kind == "positives" else semi_supervised_methods
    slow = "forest" if kind == "positives" else "several"
    return lambda seed: [one for one in make(seed) if not is_fast or slow not in one.name]


# -- measuring ---------------------------------------------------------------------------------


def measure_noise(kind, n_labels, seed, seconds):
    X, y = table(kind, n_labels, 0.5, 100 * n_labels + seed)
    return {"outcome": run_tests(fitted(kind, seed, X, y, seconds), X, y, ENDLESS).signal.outcome}


def measure_signal(folder, kind, name, n_labels, seconds):
    found = problem(folder, name, 0, kind, n_labels)
    if found is None:
        return []
    X, positive, train, y, test = found
    model = fitted(kind, SETS.index(name), X[train], y, seconds)
    signal = run_tests(model, X[train], y, ENDLESS).signal
    true = float(roc_auc_score(positive[test], model.decision_function(X[test])))
    return {"outcome": signal.outcome, "area": signal.area, "low": signal.low,
            "high": signal.high, "true": true}  # fmt: skip


def truths(model, kind, X, positive, train, y, test, methods):
    """The true score of every method by its name, fitted to all training rows."""
    ours = type(model).__name__
    if kind == "positives":
        scores = {ours: roc_auc_score(positive[test], model.decision_function(X[test]))}
        for method in methods:
            fit = clone(method.estimator).fit(X[train], y)
            scores[method.name] = roc_auc_score(positive[test], compute_decision(fit, X[test]))
        return scores
    scores = {ours: np.mean(model.predict(X[test]) == positive[test])}
    for method in methods:
        rows = y >= 0 if method.trains_on == "labels" else slice(None)
        fit = clone(method.estimator).fit(X[train][rows], y[rows])
        scores[method.name] = np.mean(fit.predict(X[test]) == positive[test])
    return scores


def measure_rivals(folder, kind, name, seed, n_labels, seconds, is_fast):
    """A record of each rival: the claim, and whether it is right."""
    found = problem(folder, name, seed, kind, n_labels)
    if found is None:
        return []
    X, positive, train, y, test = found
    of_positives.positive_unlabelled_methods = methods_of("positives", is_fast)
    of_classes.semi_supervised_methods = methods_of("classes", is_fast)
    model = fitted(kind, SETS.index(name), X[train], y, seconds)
    compared = compare_with_baselines(
        model, X[train], y, time_budget=2 * seconds or 600, random_state=0
    )
    rivals = methods_of(kind, is_fast)(0)
    if kind == "positives":
        rivals = of_positives.make_methods(model, 0, model.prior)
    true = truths(model, kind, X, positive, train, y, test, rivals)
    records = []
    for line in compared.differences.itertuples():
        apart = float(true[type(model).__name__] - true[line.name])
        records.append({
            "rival": line.name, "claim": "worse" if line.ahead else "better",
            "clear": bool(line.clear), "difference": line.difference, "low": line.low,
            "high": line.high, "true": apart,
            "right": bool(apart < 0 if line.ahead else apart > 0),
        })  # fmt: skip
    return records


def measure_prior(folder, name, seed, is_biased):
    X, positive = real(folder, name, seed)
    found = positives_of(X, positive, POSITIVES[0], is_biased)
    if not found:
        return []
    train, y, _ = found
    model = PUSVM().fit(X[train], y)
    tests = run_tests(model, X[train], y, ENDLESS)
    truth = float(positive[train][y == 0].mean())
    return {"estimate": model.prior_, "truth": truth, "reported": tests.contradiction is not None,
            "prior": "collapsed" if model.prior_ < truth / 3 else "others"}  # fmt: skip


def cases(options):
    seconds = 0.0 if options.fast else options.seconds
    for part in options.parts:
        if part == "prior":
            for seed in options.seeds:
                for name in options.sets:
                    for is_biased in (False, True):
                        key = {"part": part, "set": name, "seed": seed, "biased": is_biased}
                        yield Case(key, measure_prior, (options.data, name, seed, is_biased))
            continue
        for kind in options.kinds:
            key = {"part": part, "kind": kind}
            labels = POSITIVES if kind == "positives" else LABELS
            if part == "noise":
                for n_labels in (20, 60, 200):
                    for seed in range(options.repeats):
                        yield Case(key | {"labels": n_labels, "seed": seed}, measure_noise,
                                   (kind, n_labels, seed, seconds))  # fmt: skip
                continue
            for name in options.sets:
                more = {"set": name, "half": half_of(name)}
                if part == "signal":
                    for n_labels in labels:
                        yield Case(key | more | {"labels": n_labels}, measure_signal,
                                   (options.data, kind, name, n_labels, seconds))  # fmt: skip
                    continue
                n_labels = labels[SETS.index(name) // 2 % 2]
                for seed in options.seeds:
                    yield Case(
                        key | more | {"labels": n_labels, "seed": seed}, measure_rivals,
                        (options.data, kind, name, seed, n_labels, seconds, options.fast),
                    )  # fmt: skip


# -- the report --------------------------------------------------------------------------------


def outcome_rows(records, *fields):
    """How often each outcome was found."""
    for key, some in group(records, *fields).items():
        counts = [sum(r["outcome"].startswith(one) for r in some) for one in OUTCOMES]
        yield [", ".join(map(str, key)), *counts]


def claim_rows(records):
    for (half, kind), some in group(records, "half", "kind").items():
        clear = [r for r in some if r["clear"]]
        yield [f"{kind}, {half}", len(clear), sum(r["right"] for r in clear), len(some),
               sum(r["right"] for r in some)]  # fmt: skip


def prior_rows(records):
    return [[kind, len(some), sum(r["reported"] for r in some)]
            for kind, some in group(records, "prior").items()]  # fmt: skip


def strength(record):
    true = record["true"]
    return "below 0.6" if true < 0.6 else "0.6 to 0.7" if true < 0.7 else "0.7 or more"


def tables(results):
    """Label, columns and rows of each table."""
    signals = [{**r, "strength": strength(r)} for r in results.where(part="signal")]
    return (
        ("task, labels", OUTCOMES,
         list(outcome_rows(results.where(part="noise"), "kind", "labels"))),
        ("ROC AUC on unseen rows, sets", OUTCOMES,
         list(outcome_rows(signals, "strength", "half"))),
        ("verdicts", ["claims", "right", "by the greater score", "right"],
         list(claim_rows(results.where(part="rivals")))),
        ("class prior", ["estimates", "reported"], prior_rows(results.where(part="prior"))),
    )  # fmt: skip


def entries(results):
    names = ("verdicts-noise", "verdicts-signal", "verdicts", "collapsed-priors")
    units = ("tables", "tables", "claims", "estimates")
    return [results.entry(name, columns, rows, label=label, unit=unit)
            for name, unit, (label, columns, rows) in zip(names, units, tables(results),
                                                         strict=True) if rows]  # fmt: skip


STUDY = Study(
    __doc__, cases, entries=entries, data="required",
    choices={"parts": PARTS, "kinds": KINDS, "sets": SETS},
    settings={
        "seeds": Setting([0], "seeds of the parts rivals and prior"),
        "repeats": Setting(20, "tables of noise"),
        "seconds": Setting(10.0, "seconds of the choice of settings"),
        "fast": Setting(False, "default settings, no forests and graphs"),
    },
    quick={"sets": ["heart_statlog"], "repeats": 1, "fast": True},
)  # fmt: skip
