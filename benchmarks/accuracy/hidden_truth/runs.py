"""Fits and estimates, and what they report next to the hidden truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from fewlabels import fit_table
from fewlabels.class_prior import estimate_prior

from .cases import N_UNLABELLED, Case, few_labels, labelled_positives, rows_of, table_of


def of_interval(low: float, high: float, truth: float) -> dict[str, float]:
    """An interval with its truth."""
    return {"low": float(low), "high": float(high), "truth": float(truth)}


def run_prior(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    y = np.arange(len(X)) < case.n_labels
    found = estimate_prior(X, y, random_state=case.draw, n_jobs=1)
    share = truth[~y].mean()
    return {"intervals": {"prior": of_interval(found.low, found.high, share)}}


def fitted(frame: pd.DataFrame, budget: float, **options: object) -> tuple[object, dict]:
    """A fit with a report, and the facts that its model file keeps."""
    found = fit_table(frame, "answer", time_budget=budget, **options)
    return found, found.metadata["training"]


def run_positives(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    n_known = len(X) - int(N_UNLABELLED // case.repeats) * case.repeats
    y = np.where(np.arange(len(X)) < n_known, "yes", None)
    frame = table_of(X, y)
    found, training = fitted(frame, budget)
    hidden, free = truth[n_known:], slice(n_known, None)
    share, intervals = hidden.mean(), {}
    if training.get("prior_low") is not None:
        intervals["prior"] = of_interval(training["prior_low"], training["prior_high"], share)
    answers = found.predict(frame).iloc[free]
    marked = answers["positive"].to_numpy(dtype=bool) if "positive" in answers else None
    expected = training.get("expected") or {}
    if marked is not None and marked.any():
        precision, recall = hidden[marked].mean(), marked[hidden].mean() if hidden.any() else None
        for name, true in (("precision", precision), ("recall", recall)):
            if name in expected and true is not None:
                e = expected[name]
                intervals[name] = of_interval(e["low"], e["high"], true)
    if 0 < hidden.sum() < len(hidden) and (signal := training.get("signal")):
        scores = found.model.decision_function(frame.drop(columns="answer").iloc[free])
        implied = 1.0 - share / 2.0 - (1.0 - share) * (1.0 - roc_auc_score(hidden, scores))
        intervals["held-out AUC"] = of_interval(signal["low"], signal["high"], implied)
    return {"intervals": intervals}


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
        intervals["accuracy"] = of_interval(e["low"], e["high"], right)
    return {"intervals": intervals}


def run_one_class(case: Case, budget: float) -> dict:
    rng = case.rng
    odd = rng.random(case.n_labels) < case.share
    X = np.repeat(rows_of(case, rng, odd), case.repeats, axis=0)
    frame = table_of(X, np.full(len(X), "normal"))
    options = {"clean": True} if case.labels == "clean" else {}
    found, _ = fitted(frame, budget, **options)
    new = rows_of(case, rng, np.zeros(20_000, bool))
    scores = found.predict(table_of(new, None).drop(columns="answer"))["score"]
    rate = float(np.mean(scores < 0))
    intervals = {}
    for one in found.report.contents.findings.rates:
        if one.interval is not None and one.name.startswith("False alarm rate"):
            intervals["false alarms"] = of_interval(*one.interval, rate)
    return {"intervals": intervals}


RUNS = {
    "prior": run_prior,
    "positives": run_positives,
    "classes": run_classes,
    "one-class": run_one_class,
}
