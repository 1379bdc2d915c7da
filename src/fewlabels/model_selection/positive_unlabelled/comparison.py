"""Positive and unlabelled rows: held-out positives against held-out unlabelled rows."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from ...baselines.candidates import Candidates, candidate_methods
from ...baselines.methods import (
    ComparedMethod,
    compute_decision,
    methods_to_compare,
    positive_unlabelled_methods,
)
from ...class_prior import estimate_prior
from ...data.labels.positive_unlabelled import split_labels
from ...positive_unlabelled.base import PUEstimator, find_prior_for_fit
from ...positive_unlabelled.pu_ensemble import PUEnsemble
from ...positive_unlabelled.pusvm import PUSVM
from ...rows.grouped_folds import kinds_of_groups, take_groups
from ..comparison.folds import (
    NO_CHANGE_EXPECTED,
    ComparedRows,
    Scores,
    choose_rows,
    folds_in_words,
    run,
)
from ..comparison.method_comparison import MethodComparison
from ..splitters import PUKFold
from ..tuning.search import Search

_FOLDS = 5
_REPEATS = 4
# Most positive rows that take part.
_MAX_POSITIVE_ROWS = 1500
# The simple method that is smooth.
_SMOOTH_METHOD = "pu-logistic"
# The bound of the model that expects biased labels.
_BIAS_BOUND = 2.0
# Fits of one of our models, those for its threshold included.
_FITS_OF_OURS = 2
# Parameters that the model with bounded bias takes over.
_TUNED = ("kernel", "gamma", "degree", "coef0", "lam")


def compare(
    model: PUEstimator,
    rows: ComparedRows,
    search: Search,
    rng: np.random.RandomState,
    *,
    known_other: RowMatrix | None = None,
    class_names: Sequence[str] | None = None,
    candidates: Candidates,
) -> MethodComparison:
    """Score ours and the baselines."""
    rows_compared = "held-out positives against held-out unlabelled rows"
    comparison = MethodComparison(model.task, f"{model.task.score}, {rows_compared}")
    assert rows.y is not None  # the task takes labels
    positive, classes = split_labels(rows.y, model.pos_label)
    prior = _find_prior(model, rows, positive, classes)
    rows.find_groups(positive.astype(int) - 1)
    kept, sampled = choose_rows(positive, _MAX_POSITIVE_ROWS, "positive", rng)
    of_groups = kinds_of_groups(positive[kept], take_groups(rows.groups, kept))
    fewest = int(min(of_groups.sum(), (~of_groups).sum()))
    if fewest < 2:
        why_not = "a single positive or unlabelled row can't be held out; label more rows"
        return replace(comparison, why_not=why_not)
    folds = min(_FOLDS, fewest)
    splitter = PUKFold(
        folds, shuffle=True, n_repeats=_REPEATS, random_state=rng.randint(2**31 - 1)
    )
    mark = positive.astype(int)
    splits = rows.splits(splitter, kept, mark, mark)
    seed = rng.randint(2**31 - 1)
    own = candidate_methods(candidates, model.task, seed)
    methods = methods_to_compare(model, [*make_methods(model, seed, prior), *own], prior=prior)

    def evaluate(
        method: ComparedMethod, fold: int, train: IntArray, test: IntArray
    ) -> tuple[FloatArray, float, float]:
        encoded, held = rows.encode(fold, train, test)
        estimator = clone(method.estimator)
        if method is methods[0]:
            estimator.set_params(prior=prior, pos_label=None)
        estimator.fit(encoded, mark[train])
        decision = compute_decision(estimator, held)
        if method is methods[0]:
            called = decision > 0
        else:
            called = decision > np.quantile(decision[mark[test] == 0], 1.0 - prior)
        is_positive = mark[test] == 1
        recall, predicted = called[is_positive].mean(), called[~is_positive].mean()
        return compute_placements(decision, is_positive), recall, predicted

    ratio = 1.0 / (folds - 1)

    def fill(scores: Scores) -> None:
        values = np.full((len(scores.running), len(scores.folds), len(mark)), np.nan)
        for i, k in enumerate(scores.running):
            for j, fold in enumerate(scores.folds):
                values[i, j, splits[fold][1]] = scores.outputs[k][fold][0]
        seen = np.isfinite(values[0]).any(axis=0)
        scores.fill_placements(values[:, :, seen], positive[seen], ratio)

    def find_stop_reason(scores: Scores) -> str:
        fill(scores)
        return NO_CHANGE_EXPECTED if scores.is_decided(folds, len(splits)) else ""

    def finish(scores: Scores) -> None:
        common = scores.folds
        if scores.running:
            fill(scores)
        for k in scores.running:
            called = np.mean([scores.outputs[k][fold][1:] for fold in common], axis=0)
            recall, predicted = called
            accuracy = 1.0 - prior - predicted + 2.0 * prior * recall
            f1 = 2.0 * prior * recall / (prior + predicted)
            # Of few rows the estimates may lie beyond what there is.
            accuracy, f1 = np.clip((accuracy, f1), 0.0, 1.0)
            scores.notes[k] = f"expected accuracy {accuracy:.3f}, F1 {f1:.3f}"
        scores.protocol = (
            f"Held-out positive against held-out unlabelled rows, {folds_in_words(common)} "
            f"({folds} parts, reshuffled each time). The method with the larger ROC AUC here "
            "also has the larger one against negatives, for every prior: with the prior "
            f"{prior:.3g}, a perfect ranking has {1.0 - prior / 2:.3g}. Expected accuracy and F1 "
            "follow from the recall, the share of unlabelled rows predicted positive and the "
            "prior. Baselines mark the share that the prior implies. This assumes that the "
            f"labelled positives are a random sample of all positives.{sampled}"
        )

    # Those that may lead without a clear difference need many folds more than the others.
    first = 1 + max((k for k, m in enumerate(methods) if np.isfinite(m.folds_to_lead)), default=-1)
    scores = run(
        methods,
        splits,
        evaluate,
        search,
        find_stop_reason=find_stop_reason,
        every=folds,
        first=first,
    )
    return replace(comparison, scores=scores, finish=finish)


def make_methods(model: Any, seed: int, prior: float) -> list[ComparedMethod]:
    """Return the methods that a model is compared with, those that fit fast first.

    A smooth model (logistic regression), one that expects biased labels and the ensemble are
    delivered if their score is higher. They err on different tables, and if obvious rows were
    labelled first, the difference is rarely clear and no test of the labels can tell. In place of
    a PUSVM, which is only chosen if time is short, two folds are enough for that, else every row
    has to have been held out. Forests and the SVM have to be clearly better: of more candidates
    the best one is more often best by chance.
    """
    min_folds = 2 if isinstance(model, PUSVM) else _FOLDS
    first, *others = (
        method._replace(folds_to_lead=min_folds) if method.key == _SMOOTH_METHOD else method
        for method in positive_unlabelled_methods(seed)
    )
    options: dict[str, Any] = {"prior": prior, "random_state": seed}
    free: dict[str, Any] = {"fits": _FITS_OF_OURS, "folds_to_lead": min_folds}
    own = []
    if isinstance(model, PUSVM | PUEnsemble):
        options["n_jobs"] = model.n_jobs
        if getattr(model, "bias", 1.0) == 1.0:
            settings = {"bias": _BIAS_BOUND, **_tuned_settings(model)}
            bounded = PUSVM(**settings, **options)
            title = f"PUSVM with bounded bias ({_BIAS_BOUND:g})"
            own.append(
                ComparedMethod(title, bounded, "all", "pusvm", settings, title=title, **free)
            )
    if isinstance(model, PUSVM):
        ensemble = PUEnsemble(**options)
        own.append(ComparedMethod("PUEnsemble", ensemble, "all", "pu-ensemble", **free))
    return [first, *own, *others]


def _tuned_settings(model: Any) -> dict[str, Any]:
    """Return settings of a PUSVM that aren't the defaults and suit one with bounded bias too."""
    if not isinstance(model, PUSVM):
        return {}
    usual = PUSVM()
    return {
        name: getattr(model, name)
        for name in _TUNED
        if getattr(model, name) != getattr(usual, name)
    }


def compute_placements(decision: FloatArray, is_positive: BoolArray) -> FloatArray:
    """Return the share of rows of the other kind that each row is on the right side of.

    The mean over the positive rows, and that over the others, is the ROC AUC.
    """
    scores = np.empty(len(decision))
    for kind, sign in ((is_positive, 1.0), (~is_positive, -1.0)):
        own, others = sign * decision[kind], np.sort(sign * decision[~kind])
        below = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
        scores[kind] = below / (2.0 * len(others))
    return scores


def _find_prior(
    model: PUEstimator, rows: ComparedRows, positive: BoolArray, classes: AnyArray
) -> float:
    """Return the prior given, or a fitted model's, or an estimate."""
    if isinstance(model.prior, float | Real):
        return float(model.prior)
    if hasattr(model, "prior_"):
        return float(model.prior_)
    X = rows.X
    if rows.steps is not None:
        X = clone(rows.steps).fit_transform(X, rows.y)
    if hasattr(model, "method"):
        return estimate_prior(X, positive).prior
    labels = classes[positive.astype(np.intp)]
    return find_prior_for_fit(clone(model), X, labels)[0].prior
