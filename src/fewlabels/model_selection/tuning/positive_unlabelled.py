"""Settings of PUSVM and PUEnsemble by cross-validated scores that need no negatives."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone

from ...class_prior import split_labels
from ...estimators.positive_unlabelled import fit_settings, prior_of
from ...estimators.pu import PUSVM
from ...kernels.width import resolve_gamma
from ...metrics import make_pu_scorer
from ...problem.positive_unlabelled import weight_of_norm
from ...training.cross_fitting import Sample, cross_fit
from ..search import COSTS, SHARED, FoldSearch, has_gamma
from ..splitters import PUKFold
from .result import Curve
from .search import Plan, ended_early, quiet, quietly_settings

_SCORING, _IN_WORDS = "auc-risk", "AUC less the non-negative risk"
_FOLDS = 5
# Scores nearer than this are equal.
_TIE = 1e-12
# Around the width given, which comes first.
_AROUND = (1.0, 0.25, 4.0)


def tune_pu(estimator, X, y, weight, search):
    """The best of a grid by the score of held-out positive and unlabelled rows."""
    given = estimator.pos_label
    positive, classes = split_labels(y, given)
    counted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
    prior = prior_of(clone(estimator), X, y, weight)[0]
    labels = classes[positive.astype(np.intp)]
    folds = max(0, min(_FOLDS, positive[counted].sum(), (~positive[counted]).sum()))
    if folds < 2:
        reason = (
            "The settings are kept: cross-validation needs two positive and two unlabelled rows."
        )
        return _kept(reason)
    splitter = PUKFold(int(folds), shuffle=True, random_state=search.seed, pos_label=given)
    splits = [
        (counted[train], counted[test]) for train, test in splitter.split(counted, labels[counted])
    ]
    data = Sample(X, labels, weight, estimator.kernel == "precomputed"), splits, prior.prior
    if isinstance(estimator, PUSVM):
        table, settings = _search_svm(estimator, positive, data, search)
    else:
        table, settings = _search_ensemble(estimator, data, search)
    return _decided(table, settings, estimator, prior, search)


def _kept(reason):
    table = pd.DataFrame({"gamma": [np.nan], "score": [np.nan], "chosen": [True]})
    return Plan({}, reason, table, Curve("gamma", "score", [], "Held-out score"))


def _search_svm(estimator, positive, data, search):
    """Lambdas of a fold in one go, each started from the one before; widths one by one."""
    sample, splits, prior = data
    X, labels, weight, _ = sample
    size = float(positive.sum() if weight is None else weight[positive & (weight > 0)].sum())
    default = weight_of_norm(estimator.lam, size)
    lams = np.unique(np.r_[np.array(COSTS) / size, default])[::-1]
    gammas = _gammas(estimator, X, weight)
    scores = np.full((len(gammas), len(lams), len(splits)), np.nan)
    searches = []

    def evaluate(gamma, train, test):
        if len(searches) <= gammas.index(gamma):
            machine = PUSVM(**{name: getattr(estimator, name) for name in SHARED})
            machine.set_params(prior=prior, gamma=gamma, random_state=search.seed, verbose=False)
            searches.append(FoldSearch(machine, X, labels, weight, lams, _SCORING))
        with quiet():
            return searches[-1].scores(train, test)

    with search.running("PUSVM", len(gammas) * len(splits)):
        found = cross_fit(splits, evaluate, gammas, is_over=search.is_over, by_candidate=True)
        for place, fold, scored in found:
            scores[place, :, fold] = scored
            search.fits += len(lams)
            search.advance(f"best {np.nanmax(scores):.3f}")
    search.kernel_values += sum(one.kernel_values for one in searches)
    where = np.array([(g, k) for g in range(len(gammas)) for k in range(len(lams))])
    table = pd.DataFrame({"lam": lams[where[:, 1]], "gamma": np.array(gammas)[where[:, 0]]})
    table["given"] = (where[:, 0] == 0) & (table["lam"] == default)
    settings = []
    for g, k in where:
        setting = {"lam": float(lams[k])} if lams[k] != default else {}
        settings.append({**setting, **({"gamma": gammas[g]} if g else {})})
    return _scored(table, scores.reshape(len(table), -1)), settings


def _search_ensemble(estimator, data, search):
    """Widths around the one given, fold by fold."""
    (X, labels, weight, _), splits, prior = data
    gammas = _gammas(estimator, X, weight)
    score = make_pu_scorer(_SCORING, prior=prior)
    scores = np.full((len(gammas), len(splits)), np.nan)

    def evaluate(gamma, train, test):
        train_weight, test_weight = (
            (None, None) if weight is None else (weight[train], weight[test])
        )
        machine = search.fitted(
            estimator, X[train], labels[train], train_weight,
            prior=prior, gamma=gamma, **quietly_settings(estimator),
        )  # fmt: skip
        return score(machine, X[test], labels[test], sample_weight=test_weight)

    if len(gammas) > 1:
        with search.running("PUEnsemble", scores.size):
            for place, fold, scored in cross_fit(splits, evaluate, gammas, is_over=search.is_over):
                scores[place, fold] = scored
                search.advance()
    table = pd.DataFrame({"gamma": gammas, "given": np.arange(len(gammas)) == 0})
    return _scored(table, scores), [{"gamma": g} if k else {} for k, g in enumerate(gammas)]


def _gammas(estimator, X, weight):
    """Widths, the one given first; one meaningless 0 for kernels without."""
    if not has_gamma(estimator.kernel):
        return [0.0]
    counted = slice(None) if weight is None else weight > 0
    weight = None if weight is None else weight[counted]
    gamma = resolve_gamma(estimator.gamma, X[counted], weight)
    return [factor * gamma for factor in _AROUND] if gamma > 0 else [gamma]


def _scored(table, scores):
    """Means over the folds that all compared candidates have in common."""
    complete = np.isfinite(scores).all(axis=0)
    if complete.any():
        scores = scores[:, complete]
    n_folds = np.isfinite(scores).sum(axis=1)
    compared = scores[n_folds == n_folds.max()] if n_folds.max() else scores[:0]
    table["score"] = np.nan
    table["standard_error"] = np.nan
    table["folds"] = n_folds
    if len(compared):
        folds = n_folds.max()
        mean = compared[:, np.isfinite(compared).all(axis=0)]
        table.loc[n_folds == folds, "score"] = mean.mean(axis=1)
        table.loc[n_folds == folds, "standard_error"] = mean.std(axis=1) / np.sqrt(folds)
    return table


def _nearest_of_the_best(table, given):
    """Of the candidates with the best score the one nearest to what was given."""
    best = table[table["score"] >= table["score"].max() - _TIE]
    names = [name for name in ("gamma", "lam") if name in table]
    ratios = best[names] / table.loc[given, names]
    away = np.abs(np.log(ratios.where(ratios > 0.0, 1.0))).sum(axis=1)
    return int(away.idxmin())


def _decided(table, settings, estimator, prior, search):
    """The best candidate; the one given among equals."""
    given = int(np.argmax(table["given"]))
    table = table.drop(columns="given")
    scores = table["score"]
    if scores.notna().sum() < 2:
        reason = "The settings are kept: no other candidate was compared."
        if len(table) == 1:
            reason = (
                f"The settings are kept: kernel={estimator.kernel!r} leaves nothing to choose."
            )
        table["chosen"] = np.arange(len(table)) == given
        settings = [{}] * len(table)
        best = given
    else:
        best = _nearest_of_the_best(table, given)
        table["chosen"] = np.arange(len(table)) == best
        folds = int(table.loc[best, "folds"])
        is_given = "that of the settings given" if best == given else "the best"
        reason = (
            f"Held-out {_IN_WORDS} is {scores[best]:.3f}, {is_given} of {scores.notna().sum()} "
            f"candidates, over {folds} fold{'s' * (folds > 1)} of positive and unlabelled rows "
            f"with prior {prior.prior:.3g}"
        )
        if best == given:
            reason += "; none is better."
        elif np.isfinite(scores[given]):
            reason += f"; the settings given have {scores[given]:.3f}."
        else:
            reason += "."
    lines = ["gamma"] if "lam" in table and table["gamma"].nunique() > 1 else []
    x = "lam" if "lam" in table else "gamma"
    curve = Curve(x, "score", lines, "Held-out score of positive and unlabelled rows")

    def fit(machine, X, y, weight):
        # The prior was estimated once; it need not be again.
        fit_settings([machine], X, y, weight, prior=prior)

    fit = fit if isinstance(estimator, PUSVM) else None
    return Plan(settings[best], reason + ended_early(search), table, curve, None, fit)
