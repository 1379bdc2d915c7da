"""Settings of S3VM by cross-validation over the labelled rows, the others kept in training."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from ..._threads import resolve_n_jobs
from ...kernels import KERNELS, make_kernel
from ...kernels.width import resolve_gamma
from ...labels.semi_supervised import read_semi_labels
from ...training.cross_fitting import cross_fit
from ...training.grams import gram_over, shift_of
from ..splitters import LabeledKFold
from .result import Curve
from .search import Plan, ended_early, quietly_settings

_FOLDS = 5
# Fewer labels of a class than this cannot tell settings apart.
_FEWEST = 8
# Folds are repeated until about so many labels were predicted.
_PREDICTIONS, _MOST_REPEATS = 100, 3
# How many standard errors a setting must be ahead of the one given: among several, one of no
# merit often is ahead by one.
_CLEAR = 1.5
# Around the width given, which comes first; and C* as a share of the one given.
_AROUND = (1.0, 0.5, 2.0, 0.25, 4.0)
_SOFTER = 0.02
_ALONE = "SVM, labels alone"
_CURVE = Curve("gamma", "accuracy", ["machine", "kernel", "C_star"], "Held-out labelled rows")


def tune_s3vm(estimator, X, y, weight, search):
    """The best of a grid where it is better than what was given by more than chance."""
    label, _, _ = read_semi_labels(y, estimator.unlabeled)
    if weight is not None:
        label = np.where(weight > 0, label, np.nan)
    fewest = int(min(np.sum(label > 0), np.sum(label < 0)))
    candidates = _candidates(estimator, X, weight)
    if fewest < _FEWEST:
        warnings.warn(
            f"a class has {fewest} labelled row(s): too few to compare settings by (tune asks "
            f"for {_FEWEST} per class), so S3VM keeps its own.",
            UserWarning,
            stacklevel=4,
        )
        table = pd.DataFrame(candidates[:1]).assign(accuracy=np.nan, chosen=True)
        reason = f"The settings are kept: {fewest} labelled row(s) of a class cannot tell more."
        return Plan({}, reason, table, _CURVE)
    trial = _Trial(estimator, X, label, weight, candidates[0], search)
    right, converged = trial.run(candidates)
    folds = _common_folds(right)
    if folds.any() and not search.is_over():
        # Once more with the unlabelled rows speaking softly, at the best width.
        softer = dict(candidates[_best(right[:, folds], candidates)])
        softer["C_star"] *= _SOFTER
        more, ended_well = trial.run([softer])
        if np.isfinite(more[0][folds]).any(axis=1).all():
            candidates.append(softer)
            right = np.concatenate([right, more])
            converged = np.concatenate([converged, ended_well])
    return _decided(candidates, right, converged, folds, weight, search)


def _candidates(estimator, X, weight):
    """Settings as rows of a table, those given first, the likeliest to be better next."""
    kernel, C, C_star = estimator.kernel, estimator.C, estimator.C_star
    counted = slice(None) if weight is None else weight > 0
    widths = [np.nan]
    if not callable(kernel) and "gamma" in KERNELS[kernel].takes:
        by_norms = estimator.gamma == "distance" and not KERNELS[kernel].is_similarity
        gamma = "scale" if by_norms else estimator.gamma
        width = resolve_gamma(gamma, X[counted], None if weight is None else weight[counted])
        widths = [factor * width for factor in _AROUND]
    shown = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "callable")
    kinds = [(shown, width) for width in widths]
    if kernel == "rbf":
        kinds.append(("linear", np.nan))
    return [
        {"machine": machine, "kernel": kind, "gamma": width, "C": C, "C_star": price}
        for machine, price in (("S3VM", C_star), (_ALONE, np.nan))
        for kind, width in kinds
    ]


def _common_folds(right):
    """Folds that all candidates have, or else the first, by which some can be compared."""
    done = np.isfinite(right).any(axis=2)
    folds = done.all(axis=0)
    if not folds.any() and done[:, 0].sum() > 1:
        folds[0] = True
    return folds


def _best(right, candidates):
    """The S3VM with the most hits, the first of equals."""
    hits = np.nansum(right, axis=(1, 2))
    hits[[candidate["machine"] == _ALONE for candidate in candidates]] = -1
    return int(np.argmax(hits))


def _settings(candidate, first):
    """Parameters to set, without those that are as given."""
    if candidate is first:
        return {}
    settings = {}
    if candidate["kernel"] != first["kernel"]:
        settings["kernel"] = candidate["kernel"]
    elif candidate["gamma"] != first["gamma"] and np.isfinite(candidate["gamma"]):
        settings["gamma"] = float(candidate["gamma"])
    if candidate["machine"] != _ALONE and candidate["C_star"] != first["C_star"]:
        settings["C_star"] = float(candidate["C_star"])
    return settings


class _Trial:
    """Folds of the labelled rows, and what candidates predict there."""

    def __init__(self, estimator, X, label, weight, first, search):
        self.estimator, self.X, self.weight = estimator, X, weight
        self.first, self.search = first, search
        self.coded = np.where(label == 0, np.nan, label > 0)
        rows = np.flatnonzero(~np.isnan(label))
        n_labelled = int(np.sum(np.abs(label[rows])))
        repeats = int(np.clip(np.ceil(_PREDICTIONS / n_labelled), 1, _MOST_REPEATS))
        splitter = LabeledKFold(
            _FOLDS, shuffle=True, n_repeats=repeats, random_state=search.seed, unlabeled=None
        )
        y = self.coded[rows]
        self.rows = rows
        self.splits = list(splitter.split(rows, y))
        self.values = {}  # by kernel and width
        self.room = 1e6 * estimator.cache_size

    def run(self, candidates):
        """Hits of shape (candidates, folds, rows), NaN where nothing was predicted."""
        right = np.full((len(candidates), len(self.splits), len(self.coded)), np.nan)
        converged = np.ones(len(candidates), dtype=bool)
        fits = cross_fit(self.splits, self._fit, candidates, is_over=self.search.is_over)
        with self.search.running("S3VM", len(candidates) * len(self.splits)):
            for place, fold, fitted in fits:
                if fitted is not None:
                    predicted, has_converged = fitted
                    tested = self.rows[self.splits[fold][1]]
                    right[place, fold, tested] = predicted == self.coded[tested]
                    converged[place] &= has_converged
                    self.search.advance()
        return right, converged

    def _fit(self, candidate, train, test):
        """Predictions of held-out rows and whether the fit converged; None out of time."""
        if candidate["machine"] == _ALONE:
            train = train[~np.isnan(self.coded[self.rows[train]])]
        values = self._values(candidate)
        held = values is not None
        used = self.rows[train]
        settings = {**quietly_settings(self.estimator), **_settings(candidate, self.first)}
        if held:
            settings["kernel"] = "precomputed"
        machine = self.search.fitted(
            self.estimator,
            values[np.ix_(train, train)] if held else self.X[used],
            self.coded[used],
            None if self.weight is None else self.weight[used],
            unlabeled=None,
            **settings,
        )
        if machine is None:
            return None
        tested = values[np.ix_(test, train)] if held else self.X[self.rows[test]]
        return machine.predict(tested), machine.fit_status_ == 0

    def _values(self, candidate):
        """All kernel values of a candidate, for all its folds; None where memory is short."""
        key = candidate["kernel"], candidate["gamma"]
        if key not in self.values:
            self.values[key] = self._evaluated(candidate)
        return self.values[key]

    def _evaluated(self, candidate):
        n = len(self.rows)
        if self.estimator.kernel == "precomputed":
            return self.X if n == len(self.coded) else self.X[np.ix_(self.rows, self.rows)]
        if 8 * n**2 > self.room or self.estimator.solver == "path":  # which needs the rows
            return None
        self.room -= 8 * n**2
        machine, X = self.estimator, self.X[self.rows]
        kind = machine.kernel if candidate["kernel"] == self.first["kernel"] else "linear"
        kernel = make_kernel(kind, candidate["gamma"], machine.degree, machine.coef0)
        shift = shift_of(kernel, X)
        gram = gram_over(kernel, X if shift is None else X - shift, resolve_n_jobs(machine.n_jobs))
        values = gram.block(np.arange(n))
        self.search.kernel_values += gram.n_values
        return values


def _decided(candidates, right, converged, folds, weight, search):
    """Compare over the common folds; prefer what was given."""
    done = np.isfinite(right).any(axis=2)
    compared = done[:, folds].all(axis=1) if folds.any() else np.zeros(len(candidates), bool)
    table = pd.DataFrame(candidates)
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
    apart = per_row - (per_row @ share)[:, None]
    table.loc[compared, "standard_error"] = np.sqrt(apart**2 @ share**2)
    table.loc[compared, "gain"] = (gain @ share).round(12)
    # As McNemar's test has it: under no difference, the mean is known to be zero.
    table.loc[compared, "gain_error"] = np.sqrt(gain**2 @ share**2)
    semi = (table["machine"] != _ALONE) & compared
    clear = semi & (table["gain"] > _CLEAR * table["gain_error"])
    best = int(table.loc[clear, "accuracy"].idxmax()) if clear.any() else 0
    table["chosen"] = table.index == best
    settings = _settings(candidates[best], candidates[0])
    reason = _in_words(table, semi, best, int(folds.sum()), int(seen.sum()), settings)
    return Plan(settings, reason + ended_early(search), table, _CURVE)


def _in_words(table, semi, best, folds, rows, settings):
    accuracy = table["accuracy"]
    plural = "s" * (folds > 1)
    told = f"{folds} fold{plural} of {rows} labelled rows, the unlabelled ones kept in training"
    if settings:
        reason = (
            f"Held-out accuracy is {accuracy[best]:.3f}, {table['gain'][best]:.3f} +- "
            f"{table['gain_error'][best]:.3f} above the settings given: the best of "
            f"{semi.sum()} candidates over {told}."
        )
    else:
        reason = (
            f"The settings are kept: over {told}, none of the {semi.sum() - 1} others is better "
            f"than their accuracy of {accuracy[0]:.3f} by more than {_CLEAR:g} standard errors."
        )
    alone = accuracy[(table["machine"] == _ALONE) & accuracy.notna()]
    if len(alone):
        helps = accuracy[best] > alone.max()
        comparison = (
            f"The best SVM of the labels alone has {alone.max():.3f}: the unlabelled rows "
            f"{'help' if helps else 'do not help here, and an SVM is the simpler machine'}."
        )
        reason = f"{reason} {comparison}"
    return reason
