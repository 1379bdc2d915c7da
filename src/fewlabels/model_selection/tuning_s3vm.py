"""Settings of S3VM by cross-validation over the labelled rows, the others kept in training."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from ..estimators._s3vm_data import read_semi_labels
from ..estimators._validation import resolve_gamma
from .splitters import LabeledKFold
from .tuning_result import Curve
from .tuning_search import Plan, ended_early, quietly_settings

_FOLDS = 5
# Fewer labels of a class than this cannot tell settings apart.
_FEWEST = 8
# Folds are repeated until about so many labels were predicted.
_PREDICTIONS, _MOST_REPEATS = 100, 3
# Around the width given, which comes first; and C* as a share of the one given.
_AROUND = (1.0, 0.5, 2.0, 0.25, 4.0)
_SOFTER = 0.02
_CURVE = Curve("gamma", "accuracy", ["machine", "C_star"], "Held-out labelled rows")


def tune_s3vm(estimator, X, y, weight, search):
    """The best of a grid where it is better than what was given by more than chance."""
    label, _, _ = read_semi_labels(y, estimator.unlabeled)
    if weight is not None:
        label = np.where(weight > 0, label, np.nan)
    fewest = int(min(np.sum(label > 0), np.sum(label < 0)))
    candidates = _candidates(estimator, X, weight)
    table = pd.DataFrame(candidates)
    if fewest < _FEWEST:
        warnings.warn(
            f"a class has {fewest} labelled row(s): too few to compare settings by (tune asks "
            f"for {_FEWEST} per class), so S3VM keeps its own.",
            UserWarning,
            stacklevel=4,
        )
        table = table[:1].assign(accuracy=np.nan, chosen=True)
        reason = f"The settings are kept: {fewest} labelled row(s) of a class cannot tell more."
        return Plan({}, reason, table, _CURVE)
    right, converged = _hits(estimator, X, label, weight, candidates, search)
    return _decided(estimator, candidates, table, right, converged, label, weight, search)


def _candidates(estimator, X, weight):
    """Settings as rows of a table, those given first, the likeliest to be better next."""
    kernel, C, C_star = estimator.kernel, estimator.C, estimator.C_star
    counted = slice(None) if weight is None else weight > 0
    widths = [np.nan]
    if kernel in ("rbf", "poly", "sigmoid"):
        by_norms = estimator.gamma == "distance" and kernel != "rbf"
        gamma = "scale" if by_norms else estimator.gamma
        width = resolve_gamma(gamma, X[counted], None if weight is None else weight[counted])
        widths = [factor * width for factor in _AROUND]
    kinds = [(kernel, width) for width in widths]
    if kernel == "rbf":
        kinds.append(("linear", np.nan))
    shown = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "callable")
    rows = []
    for soft in (1.0, _SOFTER):
        rows += [("S3VM", k, width, C_star * soft) for k, width in kinds]
    rows += [("SVM, labels alone", k, width, np.nan) for k, width in kinds]
    return [
        {
            "machine": machine,
            "kernel": k if isinstance(k, str) else shown,
            "gamma": width,
            "C": C,
            "C_star": c,
        }
        for machine, k, width, c in rows
    ]


def _settings(estimator, candidate, first):
    """Parameters to set, without those that are as given."""
    if candidate is first:
        return {}
    settings = {}
    if candidate["kernel"] != first["kernel"]:
        settings["kernel"] = candidate["kernel"]
    elif candidate["gamma"] != first["gamma"] and np.isfinite(candidate["gamma"]):
        settings["gamma"] = float(candidate["gamma"])
    if candidate["machine"] == "S3VM" and candidate["C_star"] != first["C_star"]:
        settings["C_star"] = float(candidate["C_star"])
    return settings


def _hits(estimator, X, label, weight, candidates, search):
    """Which held-out labels were predicted, NaN where none was: (candidates, folds, rows)."""
    coded = np.where(label == 0, np.nan, label > 0)
    rows = np.flatnonzero(~np.isnan(label))
    labelled = int(np.sum(np.abs(label[rows])))
    repeats = int(np.clip(np.ceil(_PREDICTIONS / labelled), 1, _MOST_REPEATS))
    splitter = LabeledKFold(
        _FOLDS, shuffle=True, n_repeats=repeats, random_state=search.seed, unlabeled=None
    )
    splits = [(rows[a], rows[b]) for a, b in splitter.split(rows, coded[rows])]
    right = np.full((len(candidates), len(splits), len(label)), np.nan)
    converged = np.ones(len(candidates), dtype=bool)
    silent = quietly_settings(estimator)
    pairwise = estimator.kernel == "precomputed"
    with search.running("S3VM", right.shape[0] * right.shape[1]):
        for fold, (train, test) in enumerate(splits):
            for place, candidate in enumerate(candidates):
                if search.is_over():
                    break
                used = train
                if candidate["machine"] != "S3VM":
                    used = train[~np.isnan(coded[train])]
                machine = search.fitted(
                    estimator,
                    X[np.ix_(used, used)] if pairwise else X[used],
                    coded[used],
                    None if weight is None else weight[used],
                    unlabeled=None,
                    **silent,
                    **_settings(estimator, candidate, candidates[0]),
                )
                if machine is None:
                    break
                held = X[np.ix_(test, used)] if pairwise else X[test]
                right[place, fold, test] = machine.predict(held) == coded[test]
                converged[place] &= machine.fit_status_ == 0
                search.advance()
    return right, converged


def _decided(estimator, candidates, table, right, converged, label, weight, search):
    """Compare over the folds that every candidate has; prefer what was given."""
    done = np.isfinite(right).any(axis=2)
    folds = done.all(axis=0) if done.all(axis=0).any() else done[0] & (done.sum(axis=0) > 1)
    compared = done[:, folds].all(axis=1) if folds.any() else np.zeros(len(candidates), bool)
    table["accuracy"] = table["standard_error"] = np.nan
    table["gain"] = table["gain_error"] = np.nan
    table["folds"] = done.sum(axis=1)
    table["converged"] = converged
    table["chosen"] = table.index == 0
    if compared.sum() < 2:
        reason = "The settings are kept: no other candidate was compared."
        return Plan({}, reason + ended_early(search), table, _CURVE)
    seen = np.isfinite(right[0][folds]).any(axis=0)
    per_row = np.nanmean(right[compared][:, folds][:, :, seen], axis=1)
    share = np.ones(seen.sum()) if weight is None else weight[seen]
    share = share / share.sum()
    gain = per_row - per_row[0]
    table.loc[compared, "accuracy"] = per_row @ share
    table.loc[compared, "standard_error"] = _error(per_row, share)
    table.loc[compared, "gain"] = gain @ share
    table.loc[compared, "gain_error"] = _error(gain, share)
    semi = (table["machine"] == "S3VM") & compared
    clear = semi & (table["gain"] > table["gain_error"])
    best = int(table.loc[clear, "accuracy"].idxmax()) if clear.any() else 0
    table["chosen"] = table.index == best
    settings = _settings(estimator, candidates[best], candidates[0])
    reason = _in_words(table, semi, best, int(folds.sum()), int(seen.sum()), settings)
    return Plan(settings, reason + ended_early(search), table, _CURVE)


def _error(values, share):
    """Standard error of the weighted mean over rows."""
    apart = values - (values @ share)[:, None]
    return np.sqrt((apart**2) @ share**2)


def _in_words(table, semi, best, folds, rows, settings):
    accuracy = table["accuracy"]
    told = f"{folds} folds of {rows} labelled rows, the unlabelled ones kept in training"
    if settings:
        reason = (
            f"Held-out accuracy is {accuracy[best]:.3f}, {table['gain'][best]:.3f} +- "
            f"{table['gain_error'][best]:.3f} above the settings given: the best of "
            f"{semi.sum()} candidates over {told}."
        )
    else:
        reason = (
            f"The settings are kept: over {told}, none of the {semi.sum() - 1} others is better "
            f"than their accuracy of {accuracy[0]:.3f} by more than a standard error."
        )
    alone = accuracy[(table["machine"] != "S3VM") & accuracy.notna()]
    if len(alone):
        helps = accuracy[best] > alone.max()
        comparison = (
            f"The best SVM of the labels alone has {alone.max():.3f}: the unlabelled rows "
            f"{'help' if helps else 'do not help here, and an SVM is the simpler machine'}."
        )
        reason = f"{reason} {comparison}"
    return reason
