"""Rows without labels: against known anomalies, or what can be said without any."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr
from sklearn.base import clone
from sklearn.model_selection import KFold

from ..tuning.neighbors import far_from_neighbors
from .methods import one_class_methods
from .run import Method, run
from .scores import Scores

_FOLDS, _REPEATS = 5, 2
_MOST_ROWS, _MOST_OTHER = 4000, 4000
# The rate asked for where the machine has none.
_TARGET_FPR = 0.05
# Rows shown that methods disagree on.
_SHOWN = 20


def compare_one_class(machine, rows, known_other, trim, search, rng):
    """Scores where there are known anomalies; agreement and disagreements in any case."""
    n = rows.X.shape[0]
    kept, told = np.arange(n), ""
    if n > _MOST_ROWS:
        kept = np.sort(rng.choice(n, _MOST_ROWS, replace=False))
        told = f" All methods saw a sample of {_MOST_ROWS} rows of {n}."
    if len(kept) < 2 * _FOLDS:
        return None, f"{len(kept)} rows are too few to hold any out; 10 are needed", None, None
    seed = rng.randint(2**31 - 1)
    splits = []
    for repeat in range(_REPEATS):
        folds = KFold(_FOLDS, shuffle=True, random_state=(seed + repeat) % (2**31 - 1))
        splits += [(kept[a], kept[b]) for a, b in folds.split(kept)]
    methods = [Method(type(machine).__name__, machine), *one_class_methods(seed)]
    asked = getattr(machine, "target_fpr", None) or _TARGET_FPR

    def evaluate(method, fold, train, test):
        others = () if known_other is None else (known_other,)
        encoded, held, *other = rows.encoded(fold, train, test, *others)
        estimator = clone(method.estimator)
        if method is methods[0]:
            estimator.set_params(verbose=False)
            weight = ~far_from_neighbors(encoded, trim) if trim else None
            estimator.fit(encoded, sample_weight=None if weight is None else weight.astype(float))
            outside = estimator.predict(held) < 0
        else:
            estimator.fit(encoded)
            cut = np.quantile(estimator.score_samples(encoded), asked)
            outside = None
        score = estimator.score_samples(held)
        outside = score < cut if outside is None else outside
        return score, outside, *(estimator.score_samples(part) for part in other)

    runs = run(methods, splits, evaluate, search)
    found = Scores(methods, runs)
    if not found.running:
        return found, "", None, None
    if known_other is not None:
        _against(found, runs)
        n_other = known_other.shape[0]
        found.protocol = (
            f"Area under the ROC curve of held-out rows against {n_other} known anomalies, which "
            f"are never trained on: {len(found.folds)} folds ({_FOLDS} parts, shuffled anew each "
            f"time).{told}"
        )
    else:
        found.protocol = (
            f"{len(found.folds)} folds ({_FOLDS} parts, shuffled anew each time). Without known "
            "anomalies there is no score: false alarms on held-out rows, and how much methods "
            f"agree.{told}"
        )
    return found, "", *_agreement(found, runs, splits, asked, n)


def _against(found, runs):
    """Areas by fold, and what the choice of anomalies adds to their errors.

    All folds share the anomalies, whose share of the variance is that of each one's own area
    (DeLong et al. 1988).
    """
    areas, placements = [], []
    for k in found.running:
        values = []
        for fold in found.folds:
            normal, _, other = runs.outputs[k][fold]
            ordered = np.sort(normal)
            below = np.searchsorted(ordered, other, side="left")
            up_to = np.searchsorted(ordered, other, side="right")
            values.append(1.0 - (below + up_to) / (2.0 * len(ordered)))
        areas.append([v.mean() for v in values])
        placements.append(np.mean(values, axis=0))
    placements = np.array(placements)
    n_other = placements.shape[1]

    def spread(values):
        if n_other < 2:
            return np.full(len(values), np.inf)
        return values.std(axis=1, ddof=1) / np.sqrt(n_other)

    found.fill_folds(
        np.array(areas), 1.0 / (_FOLDS - 1), spread(placements), spread(placements - placements[0])
    )


def _agreement(found, runs, splits, asked, n):
    """Tables of false alarms and rank correlations, and of the rows most disagreed on."""
    ranks = np.full((len(found.running), n), np.nan)
    alarms = np.zeros(len(found.running))
    counts = np.zeros(n)
    for fold in found.folds:
        counts[splits[fold][1]] += 1
    for i, k in enumerate(found.running):
        total = np.zeros(n)
        for fold in found.folds:
            score, outside = runs.outputs[k][fold][:2]
            total[splits[fold][1]] += (rankdata(score) - 0.5) / len(score)
            alarms[i] += outside.mean() / len(found.folds)
        ranks[i] = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    seen = np.flatnonzero(counts)
    ranks = ranks[:, seen]
    names = [found.methods[k].name for k in found.running]
    agreement = pd.DataFrame(
        {
            "name": names,
            "false_alarms": alarms,
            "asked": asked,
            "rank_correlation": [_correlation(ranks[0], r) for r in ranks],
        }
    )
    if len(ranks) < 2:
        return agreement, None
    others = ranks[1:].mean(axis=0)
    worst = np.argsort(-np.abs(ranks[0] - others), kind="stable")[:_SHOWN]
    disagreements = pd.DataFrame(
        {"row": seen[worst], "ours": ranks[0, worst], "baselines": others[worst]}
    )
    return agreement, disagreements


def _correlation(a, b):
    """Spearman's rank correlation; NaN where all rows are alike."""
    return float(spearmanr(a, b)[0]) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan
