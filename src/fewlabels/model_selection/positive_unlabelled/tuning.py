"""Settings of PUSVM and PUEnsemble by cross-validated scores that need no negatives."""

from __future__ import annotations

import time
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..._typing import FloatArray, MatrixLike, RowMatrix, VectorLike
from ...calibration.cross_fitting import Sample
from ...class_prior.prior import Prior
from ...data.labels.positive_unlabelled import split_labels
from ...kernels.parameters import resolve_gamma
from ...metrics import make_pu_scorer
from ...positive_unlabelled.base import PUEstimator, find_prior_for_fit, fit_each_setting
from ...positive_unlabelled.problem import weight_of_norm
from ...positive_unlabelled.pu_ensemble import PUEnsemble, choose_kernels
from ...positive_unlabelled.pusvm import PUSVM
from ...rows.grouped_folds import Split, kinds_of_groups, splits_counted_once, take_groups
from ..splitters import PUKFold
from ..tuning.result import SETTINGS_KEPT, Decision, SearchCurve
from ..tuning.search import Search, Trial, make_trials, quiet
from .search import COSTS, SHARED, LambdaScorer, has_gamma

_SCORING = "auc-risk"
_SCORING_IN_WORDS = "ROC AUC minus the non-negative risk"
_FOLDS = 5
# Scores nearer than this are equal.
_TIE = 1e-12
# What all lambdas of a fold cost, in fits of all rows.
_COST_OF_PATH = 2.0
# Folds that kernels are compared on, at least.
_MIN_FOLDS_OF_KERNELS = 3
# What is said of the choice among all settings, and among kernels: another one, the one given.
_RANK_IN_WORDS = (
    ("the best", "with the given settings, the best"),
    ("the best", "with the kernel for such rows, the best"),
)
_NONE_BETTER = ("; none is better.", "; none is better by more than a standard error.")
# Around the width given, which comes first.
_WIDTH_FACTORS = (1.0, 0.25, 4.0)


# Parameters to set, without those that are as given.
Settings: TypeAlias = dict[str, Any]


def tune_positive_unlabelled(
    estimator: PUEstimator, X: RowMatrix, y: VectorLike, weight: FloatArray | None, search: Search
) -> Decision:
    """Return the best of a grid by the score of held-out positive and unlabelled rows."""
    positive, classes = split_labels(y, estimator.pos_label)
    counted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
    prior = find_prior_for_fit(clone(estimator), X, y, weight)[0]
    labels = classes[positive.astype(np.intp)]
    is_matrix = estimator.kernel == "precomputed"
    groups = None if is_matrix else search.group_rows(X, positive.astype(int) - 1)
    groups = take_groups(groups, counted)
    of_groups = kinds_of_groups(positive[counted], groups)
    folds = max(0, min(_FOLDS, of_groups.sum(), (~of_groups).sum()))
    if folds < 2:
        table = pd.DataFrame({"gamma": [np.nan], "score": [np.nan], "chosen": [True]})
        why = f"{SETTINGS_KEPT} cross-validation needs two positive and two unlabelled rows."
        return Decision({}, why, table, SearchCurve("gamma", "score", [], "Held-out score"))
    splitter = PUKFold(
        int(folds), shuffle=True, random_state=search.seed, pos_label=estimator.pos_label
    )
    splits = splitter.split(counted, labels[counted], groups)
    splits = splits_counted_once(splits, positive[counted], groups)
    splits = [(counted[a], counted[b]) for a, b in splits]
    sample = Sample(X, labels, weight, is_matrix)
    data = sample, splits, prior.prior, search
    if isinstance(estimator, PUEnsemble) and estimator.kernel == "auto":
        search.note_duration(search.expected)
        table, settings = _list_kernels(estimator, X, weight)
        scores = _score_ensemble_settings(estimator, settings, *data)
        best = _find_better_kernel(scores, settings)
        return _decide(_add_scores(table, scores), settings, estimator, prior, best)
    gammas = _list_gammas(estimator, X, weight)
    if isinstance(estimator, PUSVM):
        search.note_duration(_COST_OF_PATH * search.expected)
        size = float(positive.sum() if weight is None else weight[positive & (weight > 0)].sum())
        default = weight_of_norm(estimator.lam, size)
        lams = np.unique(np.r_[np.array(COSTS) / size, default])[::-1]
        scores = _score_svm(estimator, gammas, lams, *data)
        grid = {"lam": np.tile(lams, len(gammas)), "gamma": np.repeat(gammas, len(lams))}
    else:
        default, grid = None, {"gamma": np.array(gammas)}
        search.note_duration(search.expected)
        scores = _score_ensemble_settings(estimator, [{"gamma": gamma} for gamma in gammas], *data)
    table, given = pd.DataFrame(grid), {"lam": default, "gamma": gammas[0]}
    settings = [
        {name: value for name, value in candidate.items() if value != given[name]}
        for candidate in table.to_dict("records")
    ]
    return _decide(_add_scores(table, scores), settings, estimator, prior)


def _score_svm(
    estimator: PUEstimator,
    gammas: list[float],
    lams: FloatArray,
    sample: Sample,
    splits: list[Split],
    prior: float,
    search: Search,
) -> FloatArray:
    """Return scores on folds: lambdas in one go, each started from the last, width by width."""
    scores = np.full((len(gammas), len(lams), len(splits)), np.nan)
    model = PUSVM(**{name: getattr(estimator, name) for name in SHARED})
    model.set_params(prior=prior, random_state=search.seed, verbose=False)
    widths = [
        LambdaScorer(clone(model).set_params(gamma=gamma), sample, lams, _SCORING)
        for gamma in gammas
    ]
    # Width by width, as the folds of one share its kernel values.
    trials = sorted(make_trials(widths, splits), key=attrgetter("place"))
    for trial, scored in search.run("PUSVM", trials, _score_lambdas, describe=_describe_best):
        scores[trial.place, :, trial.fold] = scored
    return scores.reshape(-1, len(splits))


def _score_lambdas(trial: Trial[LambdaScorer], search: Search) -> list[float]:
    """Return scores of one fold, one per lambda."""
    since = time.perf_counter()
    with quiet():
        scores, n_values = trial.candidate.score_fold(trial.train, trial.test)
    search.note_duration(time.perf_counter() - since)
    search.fits += len(scores)
    search.kernel_values += n_values
    return scores


def _describe_best(scored: list[tuple[Trial[LambdaScorer], list[float]]]) -> str:
    return f"best {np.nanmax([scores for _, scores in scored]):.3f}"


def _list_kernels(
    estimator: PUEstimator, X: RowMatrix, weight: FloatArray | None
) -> tuple[pd.DataFrame, list[Settings]]:
    """Return table and settings of kernels, starting with the one used without a search.

    Gaussian kernels come with several widths.
    """
    counted = slice(None) if weight is None else weight > 0
    gammas = _list_gammas(estimator, X, weight)
    lines: list[Settings] = []
    settings: list[Settings] = []
    for kernel in choose_kernels(X[counted]):
        for gamma in gammas if kernel == "rbf" else gammas[:1]:
            lines.append({"kernel": kernel, "gamma": gamma})
            changed = {"kernel": kernel} | ({"gamma": gamma} if gamma != gammas[0] else {})
            settings.append(changed if settings else {})
    return pd.DataFrame(lines), settings


def _find_better_kernel(scores: FloatArray, settings: list[Settings]) -> int:
    """Return the place of a kernel that beats the first by more than a standard error, or 0."""
    done = np.isfinite(scores)
    folds = np.flatnonzero(done[0])
    compared = [k for k in range(1, len(settings)) if done[k, folds].all()]
    if len(folds) < _MIN_FOLDS_OF_KERNELS or not compared:
        return 0
    apart = scores[:, folds] - scores[0, folds]
    best = max(compared, key=lambda k: apart[k].mean())
    error = apart[best].std(ddof=1) / np.sqrt(len(folds))
    return best if apart[best].mean() > error else 0


def _score_ensemble_settings(
    estimator: PUEstimator,
    settings: list[Settings],
    sample: Sample,
    splits: list[Split],
    prior: float,
    search: Search,
) -> FloatArray:
    """Return scores of settings, fold by fold; none if there is just one."""
    scores = np.full((len(settings), len(splits)), np.nan)
    if len(settings) > 1:
        score = partial(_score_ensemble, estimator, sample, prior)
        for trial, scored in search.run("PUEnsemble", make_trials(settings, splits), score):
            scores[trial.place, trial.fold] = scored
    return scores


def _score_ensemble(
    estimator: PUEstimator, sample: Sample, prior: float, trial: Trial[Settings], search: Search
) -> float | None:
    X, y, weight = sample.X, sample.y, sample.weight
    train, test = trial.train, trial.test
    weigh = (lambda rows: None) if weight is None else weight.__getitem__
    settings = {**trial.candidate, "prior": prior}
    model = search.fit_clone(estimator, X[train], y[train], weigh(train), **settings)
    if model is None:
        return None
    score = make_pu_scorer(_SCORING, prior=prior)
    return score(model, X[test], y[test], sample_weight=weigh(test))


def _list_gammas(estimator: PUEstimator, X: RowMatrix, weight: FloatArray | None) -> list[float]:
    """Return the widths, the given one first; just 0 for kernels without a width."""
    if not has_gamma("rbf" if estimator.kernel == "auto" else estimator.kernel):
        return [0.0]
    counted = slice(None) if weight is None else weight > 0
    weight = None if weight is None else weight[counted]
    gamma = resolve_gamma(estimator.gamma, X[counted], weight)
    return [factor * gamma for factor in _WIDTH_FACTORS] if gamma > 0 else [gamma]


def _add_scores(table: pd.DataFrame, scores: FloatArray) -> pd.DataFrame:
    """Add means over the folds that all compared candidates have in common."""
    complete = np.isfinite(scores).all(axis=0)
    if complete.any():
        scores = scores[:, complete]
    done = np.isfinite(scores)
    folds = done.sum(axis=1)
    table[["score", "standard_error"]] = np.nan
    table["folds"] = folds
    compared = (folds == folds.max()) & (folds > 0)
    if compared.any():
        mean = scores[compared][:, done[compared].all(axis=0)]
        table.loc[compared, "score"] = mean.mean(axis=1)
        table.loc[compared, "standard_error"] = mean.std(axis=1) / np.sqrt(folds.max())
    return table


def _choose_nearest_of_best(table: pd.DataFrame, given: int) -> int:
    """Return the candidate with the best score that is nearest to the given one."""
    best = table[table["score"] >= table["score"].max() - _TIE]
    names = [name for name in ("gamma", "lam") if name in table]
    ratios = best[names] / table.loc[given, names]
    away = np.abs(np.log(ratios.where(ratios > 0.0, 1.0))).sum(axis=1)
    return int(away.idxmin())


def _decide(
    table: pd.DataFrame,
    settings: list[Settings],
    estimator: PUEstimator,
    prior: Prior,
    best_kernel: int | None = None,
) -> Decision:
    """Return the best candidate; the given one among equals, or ``best_kernel`` if it is known."""
    scores, given = table["score"], settings.index({})
    best, compared = given, scores.notna().sum()
    if len(table) == 1:
        reason = f"{SETTINGS_KEPT} kernel={estimator.kernel!r} leaves no settings to choose."
    elif compared < 2:
        reason = f"{SETTINGS_KEPT} no other candidate was compared."
    else:
        best = _choose_nearest_of_best(table, given) if best_kernel is None else best_kernel
        folds = int(table.loc[best, "folds"])
        of_given = f"; the given settings have {scores[given]:.3f}." * pd.notna(scores[given])
        reason = (
            f"Held-out {_SCORING_IN_WORDS} is {scores[best]:.3f}, "
            f"{_RANK_IN_WORDS[best_kernel is not None][best == given]} of {compared} "
            f"candidates, over {folds} fold{'s' * (folds > 1)} of positive and unlabelled rows "
            f"with prior {prior.prior:.3g}"
            f"{_NONE_BETTER[best_kernel is not None] if best == given else of_given or '.'}"
        )
    table["chosen"] = np.arange(len(table)) == best
    lines = ["gamma"] if "lam" in table and table["gamma"].nunique() > 1 else []
    lines = ["kernel"] if "kernel" in table else lines
    x = "lam" if "lam" in table else "gamma"
    curve = SearchCurve(x, "score", lines, "Held-out score of positive and unlabelled rows")

    def fit_with_prior(
        model: PUSVM, X: MatrixLike, y: VectorLike, weight: VectorLike | None
    ) -> None:
        # The prior was estimated once; it need not be again.
        fit_each_setting([model], X, y, weight, prior=prior)

    fit = fit_with_prior if isinstance(estimator, PUSVM) else None
    return Decision(settings[best], reason, table, curve, None, fit)
