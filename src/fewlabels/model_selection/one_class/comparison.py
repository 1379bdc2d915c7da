"""Rows without labels: against known anomalies, or what can be said without any."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr
from sklearn.base import clone
from sklearn.model_selection import KFold

from ..._typing import FloatArray, IntArray, RowMatrix
from ...baselines.candidates import Candidates, candidate_methods
from ...baselines.methods import (
    ComparedMethod,
    compute_normality,
    methods_to_compare,
    one_class_methods,
)
from ...one_class.base import OneClassEstimator
from ...rows.grouped_folds import Split, WholeGroups, count_once
from ...rows.neighbors import far_from_neighbors
from ..comparison.folds import (
    MOST_ROWS,
    NO_CHANGE_EXPECTED,
    ComparedRows,
    Scores,
    folds_in_words,
    run,
)
from ..comparison.method_comparison import MethodComparison
from ..tuning.result import left_out_share
from ..tuning.search import Search

_FOLDS = 5
_REPEATS = 2
# The rate asked for where the model has none.
_TARGET_FPR = 0.05
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
# Without known anomalies the comparison ends when so many rows were held out, or all of them.
_MIN_HELD_OUT_ROWS = 1500
_ENOUGH_ROWS = "enough rows were held out to count false alarms and to compare ranks"
# Rows shown that methods disagree on.
_MAX_SHOWN_DISAGREEMENTS = 20


def compare(
    model: OneClassEstimator,
    rows: ComparedRows,
    search: Search,
    rng: np.random.RandomState,
    *,
    known_other: RowMatrix | None = None,
    class_names: Sequence[str] | None = None,
    candidates: Candidates,
) -> MethodComparison:
    """Score methods if there are known anomalies; add agreement and disagreements anyway."""
    measure = f"{model.task.score}, held-out rows against known anomalies"
    if known_other is None:
        measure = "none: without known anomalies detectors cannot be ranked"
    comparison = MethodComparison(model.task, measure, is_ranked=known_other is not None)
    trim = left_out_share(model)
    n = rows.X.shape[0]
    kept, sampled = np.arange(n), ""
    if n > MOST_ROWS:
        kept = np.sort(rng.choice(n, MOST_ROWS, replace=False))
        sampled = f" All methods used a sample of {MOST_ROWS} rows of {n}."
    rows.find_groups()
    n_different = len(count_once(kept, np.zeros(n), rows.groups))
    if n_different < 2 * _FOLDS:
        few = f"{n_different} rows are too few to hold any out; at least 10 are needed"
        return replace(comparison, why_not=few)
    seed = rng.randint(2**31 - 1)
    splits = []
    for repeat in range(_REPEATS):
        folds = KFold(_FOLDS, shuffle=True, random_state=(seed + repeat) % (2**31 - 1))
        splits += rows.splits(WholeGroups(folds), kept, np.zeros(n, int))
    own = candidate_methods(candidates, model.task, seed)
    methods = methods_to_compare(model, [*one_class_methods(seed), *own])
    target_fpr = getattr(model, "target_fpr", None) or _TARGET_FPR

    def evaluate(
        method: ComparedMethod, fold: int, train: IntArray, test: IntArray
    ) -> tuple[Any, ...]:
        others = () if known_other is None else (known_other,)
        encoded, held, *other = rows.encode(fold, train, test, *others)
        estimator = clone(method.estimator)
        if method is methods[0]:
            weights = {}
            if trim:
                weights["sample_weight"] = (~far_from_neighbors(encoded, trim)).astype(float)
            outside = estimator.fit(encoded, **weights).predict(held) < 0
            score = estimator.score_samples(held)
        else:
            cut = np.quantile(compute_normality(estimator.fit(encoded), encoded), target_fpr)
            score = compute_normality(estimator, held)
            outside = score < cut
        return score, outside, *(compute_normality(estimator, part) for part in other)

    def find_stop_reason(scores: Scores) -> str:
        if known_other is None:
            held = sum(len(splits[fold][1]) for fold in scores.folds)
            is_pass = len(scores.folds) >= _FOLDS
            return _ENOUGH_ROWS if is_pass or held >= _MIN_HELD_OUT_ROWS else ""
        if len(scores.folds) % _FOLDS:
            return ""
        _fill_areas(scores)
        return NO_CHANGE_EXPECTED if scores.is_decided(_FOLDS, len(splits)) else ""

    def finish(scores: Scores) -> None:
        if not scores.running:
            return
        folds = f"{folds_in_words(scores.folds)} ({_FOLDS} parts, reshuffled each time)."
        if known_other is not None:
            _fill_areas(scores)
            scores.protocol = (
                f"ROC AUC of held-out rows against {known_other.shape[0]} known anomalies, which "
                f"are never used for training: {folds}{sampled}"
            )
        else:
            scores.protocol = (
                f"{folds} Without known anomalies there is no score. The table has false alarm "
                f"rates on held-out rows and rank correlations.{sampled}"
            )
        scores.agreement, scores.disagreements = _compare_ranks(scores, splits, target_fpr, n)

    scores = run(methods, splits, evaluate, search, find_stop_reason=find_stop_reason, every=1)
    return replace(comparison, scores=scores, finish=finish)


def _fill_areas(scores: Scores) -> None:
    """Fill in areas by fold, and the error that anomalies share (DeLong et al. 1988)."""
    areas, means = [], []
    for k in scores.running:
        values = []
        for fold in scores.folds:
            normal, _, other = scores.outputs[k][fold]
            ordered = np.sort(normal)
            below, up_to = (np.searchsorted(ordered, other, side=side) for side in _SIDES)
            values.append(1.0 - (below + up_to) / (2.0 * len(ordered)))
        areas.append([v.mean() for v in values])
        means.append(np.mean(values, axis=0))
    placements = np.array(means)
    n_other = placements.shape[1]
    spread, of_difference = (
        v.std(axis=1, ddof=1) / np.sqrt(n_other) if n_other > 1 else np.inf
        for v in (placements, placements - placements[0])
    )
    scores.fill_folds(np.array(areas), 1.0 / (_FOLDS - 1), spread, of_difference)


def _compare_ranks(
    scores: Scores, splits: list[Split], target_fpr: float, n: int
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return tables of false alarms and rank correlations, and of the most disputed rows."""
    total, counts = np.zeros((len(scores.running), n)), np.zeros(n)
    alarms = np.zeros(len(scores.running))
    for fold in scores.folds:
        test = splits[fold][1]
        counts[test] += 1
        for i, k in enumerate(scores.running):
            score, outside = scores.outputs[k][fold][:2]
            total[i, test] += (rankdata(score) - 0.5) / len(score)
            alarms[i] += outside.mean() / len(scores.folds)
    seen = np.flatnonzero(counts)
    ranks = total[:, seen] / counts[seen]
    agreement = pd.DataFrame(
        {
            "name": [scores.methods[k].name for k in scores.running],
            "false_alarms": alarms,
            "asked": target_fpr,
            "rank_correlation": [_correlate_ranks(ranks[0], r) for r in ranks],
        }
    )
    if len(ranks) < 2:
        return agreement, None
    others = ranks[1:].mean(axis=0)
    worst = np.argsort(-np.abs(ranks[0] - others), kind="stable")[:_MAX_SHOWN_DISAGREEMENTS]
    return agreement, pd.DataFrame(
        {"row": seen[worst], "ours": ranks[0, worst], "baselines": others[worst]}
    )


def _correlate_ranks(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation; NaN if all rows are alike."""
    return float(spearmanr(a, b)[0]) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan
