"""Fits and estimates, and what they report next to the hidden truth."""

from __future__ import annotations

import os
import time

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from fewlabels import fit_table
from fewlabels.baselines.methods import (
    compute_decision,
    positive_unlabelled_methods,
    semi_supervised_methods,
)
from fewlabels.class_prior import estimate_prior
from fewlabels.metrics import calibration_error

from .cases import N_UNLABELLED, Case, few_labels, labelled_positives, rows_of, table_of


def of_interval(value: float | None, low: float, high: float, truth: float) -> dict[str, float]:
    """An interval with its truth."""
    return {"value": value, "low": float(low), "high": float(high), "truth": float(truth)}


def run_prior(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    y = np.arange(len(X)) < case.n_labels
    found = estimate_prior(X, y, random_state=case.draw, n_jobs=1)
    share = truth[~y].mean()
    return {"intervals": {"prior": of_interval(found.prior, found.low, found.high, share)}}


def fitted(frame: pd.DataFrame, budget: float, **options: object) -> tuple[object, dict]:
    """A fit with a report, and the facts that its model file keeps, with seconds used."""
    since = time.perf_counter()
    found = fit_table(frame, "answer", time_budget=budget, **options)
    training = dict(found.metadata["training"])
    training["used"] = time.perf_counter() - since
    return found, training


def outcome(training: dict, budget: float) -> dict:
    """Verdict and seconds of a fit."""
    signal = training.get("signal") or {}
    facts = {"verdict": signal.get("outcome"), "seconds": training["used"] / max(budget, 1e-9)}
    facts["up_to"] = signal.get("up_to")
    for key in ("prior_contradiction", "notes"):
        facts[key] = training.get(key)
    return facts


def rank_of(ours: float, others: list[float]) -> float:
    """Rank of the delivered model among all methods, 1 if it is best; ties share a rank."""
    return (
        1.0
        + sum(o > ours + 1e-12 for o in others)
        + sum(abs(o - ours) < 1e-12 for o in others) / 2
    )


def run_positives(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    n_known = len(X) - int(N_UNLABELLED // case.repeats) * case.repeats
    y = np.where(np.arange(len(X)) < n_known, "yes", None)
    frame = table_of(X, y)
    found, training = fitted(frame, budget)
    hidden, free = truth[n_known:], slice(n_known, None)
    share, intervals = hidden.mean(), {}
    if training.get("prior_low") is not None:
        intervals["prior"] = of_interval(
            training["prior"], training["prior_low"], training["prior_high"], share
        )
    answers = found.predict(frame).iloc[free]
    marked = answers["positive"].to_numpy(dtype=bool) if "positive" in answers else None
    expected = training.get("expected") or {}
    if marked is not None and marked.any():
        precision, recall = hidden[marked].mean(), marked[hidden].mean() if hidden.any() else None
        for name, true in (("precision", precision), ("recall", recall)):
            if name in expected and true is not None:
                e = expected[name]
                intervals[name] = of_interval(e["value"], e["low"], e["high"], true)
    facts = outcome(training, budget) | {"intervals": intervals, "true_share": float(share)}
    scores = found.model.decision_function(frame.drop(columns="answer").iloc[free])
    if 0 < hidden.sum() < len(hidden):
        facts["ranking"] = roc_auc_score(hidden, scores)
        signal = training.get("signal") or {}
        if signal:
            implied = 1.0 - share / 2.0 - (1.0 - share) * (1.0 - facts["ranking"])
            intervals["held-out AUC"] = of_interval(
                signal["area"], signal["low"], signal["high"], implied
            )
        own = []
        for method in positive_unlabelled_methods(0):
            model = clone(method.estimator).fit(X, (np.arange(len(X)) < n_known).astype(int))
            own.append(roc_auc_score(hidden, compute_decision(model, X[free])))
        facts["rank"] = rank_of(facts["ranking"], own)
        facts["rivals"] = len(own)
    if "probability" in answers and answers["probability"].notna().any():
        facts["calibration"] = calibration_error(
            hidden.astype(int), answers["probability"].to_numpy(dtype=float)
        )
        top = np.argsort(-answers["probability"].to_numpy(dtype=float), kind="stable")[:20]
        facts["top"] = {
            "probability": float(answers["probability"].iloc[top].mean()),
            "truth": float(hidden[top].mean()),
        }
    return facts


def run_classes(case: Case, budget: float) -> dict:
    X, truth, is_known = few_labels(case, case.rng)
    y = np.where(is_known, np.where(truth, "yes", "no"), None)
    frame = table_of(X, y)
    found, training = fitted(frame, budget)
    answers = found.predict(frame)["label"].to_numpy(dtype=object)[~is_known]
    right = float(np.mean((answers == "yes") == truth[~is_known]))
    intervals = {}
    expected = training.get("expected") or {}
    if "accuracy" in expected:
        e = expected["accuracy"]
        intervals["accuracy"] = of_interval(e["value"], e["low"], e["high"], right)
    facts = outcome(training, budget) | {"intervals": intervals, "accuracy": right}
    own = []
    labels = np.where(is_known, truth.astype(int), -1)
    for method in semi_supervised_methods(0):
        rows = is_known if method.trains_on == "labels" else slice(None)
        model = clone(method.estimator).fit(X[rows], labels[rows])
        own.append(float(np.mean(model.predict(X[~is_known]) == truth[~is_known])))
    facts["rank"], facts["rivals"] = rank_of(right, own), len(own)
    return facts


def run_unlike(case: Case, budget: float) -> dict:
    rng = case.rng
    X, truth, is_known = few_labels(case, rng)
    batch, day = rng.integers(0, 8, len(X)), rng.integers(0, 400, len(X))
    if case.labels == "batch":
        batch[is_known] = 0
    if case.labels == "day":
        day[is_known] = rng.integers(0, 40, is_known.sum())
    X = X + 0.5 * rng.normal(size=(8, X.shape[1]))[batch]
    frame = table_of(X, np.where(is_known, np.where(truth, "yes", "no"), None))
    frame = frame.assign(batch=[f"B{k}" for k in batch], day=day)
    found, training = fitted(frame, budget)
    answers = found.predict(frame)["label"].to_numpy(dtype=object)[~is_known]
    right = float(np.mean((answers == "yes") == truth[~is_known]))
    unlike = training.get("labelled_rows") or {}
    facts = outcome(training, budget) | {"intervals": {}, "accuracy": right}
    return facts | {"unlike": unlike.get("unlike"), "column": unlike.get("column")}


def run_one_class(case: Case, budget: float) -> dict:
    rng = case.rng
    odd = rng.random(case.n_labels) < case.share
    X = np.repeat(rows_of(case, rng, odd), case.repeats, axis=0)
    frame = table_of(X, np.full(len(X), "normal"))
    options = {"clean": True} if case.labels == "clean" else {}
    found, training = fitted(frame, budget, **options)
    new = rows_of(case, rng, np.zeros(20_000, bool))
    scores = found.predict(table_of(new, None).drop(columns="answer"))["score"]
    rate = float(np.mean(scores < 0))
    intervals = {}
    for one in found.report.contents.findings.rates:
        if one.interval is not None and one.name.startswith("False alarm rate"):
            intervals["false alarms"] = of_interval(one.value, *one.interval, rate)
    return outcome(training, budget) | {"intervals": intervals, "rate": rate}


RUNS = {
    "prior": run_prior,
    "positives": run_positives,
    "classes": run_classes,
    "unlike": run_unlike,
    "one-class": run_one_class,
}


def run(case: Case, budget: float) -> dict:
    """Run a case and return its figures."""
    since = time.process_time()
    found = RUNS[case.part](case, budget)
    return {**found, "cpu": time.process_time() - since, "load": os.getloadavg()[0]}
