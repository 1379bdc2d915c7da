"""Settings of S3VM by cross-validation over the labelled rows, the others kept in training."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import clone

from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix, VectorLike
from ..._util.threads import resolve_n_jobs
from ..._util.warn import warn
from ...class_prior import label_shift
from ...class_prior.label_ratio import compare_label_ratio
from ...data.labels.semi_supervised import shares_by_code
from ...kernels import centered, kind_of, make_kernel
from ...kernels.operators import make_gram
from ...kernels.parameters import choose_gamma_rule, resolve_gamma
from ...kernels.rows import find_shift
from ...semi_supervised.s3vm import S3VM
from ..positive_unlabelled.search import has_gamma
from ..tuning.result import SETTINGS_KEPT, Decision, SearchCurve, UnlabeledRows
from ..tuning.search import Search, Trial, make_trials
from .labelled_rows import MIN_LABELS_PER_CLASS, MIN_LEAD_IN_ERRORS, LabelledRows

# Of tables where settings make no difference, in so many one may be called clearly better.
_LEVEL_OF_CLEAR = 0.05
# Around the width given, which comes first; and C* as a share of the one given.
_WIDTH_FACTORS = (1.0, 0.5, 2.0, 0.25, 4.0)
_SOFTER_FACTOR = 0.02
_LABELS_ONLY = "SVM, labels only"
CURVE = SearchCurve("gamma", "accuracy", ["model", "kernel", "C_star"], "Held-out labelled rows")


# A row of the table of candidates.
Candidate: TypeAlias = dict[str, Any]


def tune_semi_supervised(
    estimator: S3VM, X: RowMatrix, y: VectorLike, weight: FloatArray | None, search: Search
) -> Decision:
    """Return the best of a grid if it is better than the given settings beyond chance."""
    rows = LabelledRows.read(estimator, X, y, weight, search)
    candidates = _make_candidates(estimator, X, weight)
    if not rows.can_compare:
        fewest = int(rows.sizes.min())
        warn(
            f"a class has only {fewest} labelled row(s), too few to compare settings (tune "
            f"needs {MIN_LABELS_PER_CLASS} per class), so S3VM keeps its defaults.",
            UserWarning,
        )
        table = pd.DataFrame(candidates[:1]).assign(accuracy=np.nan, chosen=True)
        reason = (
            f"{SETTINGS_KEPT} with {fewest} labelled row(s) of a class, no comparison is possible."
        )
        return Decision({}, reason, table, CURVE)
    trial = _HeldOutPredictions(
        _with_known_ratio(estimator, rows, y, search), rows, candidates[0], search
    )
    search.note_duration(search.expected)
    trial.run(candidates)
    # Folds that all candidates have, or else the first, by which some can be compared.
    done = trial.done
    common = np.asarray(done.all(axis=0))
    if not common.any() and done[:, 0].sum() > 1:
        common[0] = True
    if common.any() and not search.is_over():
        # Once more with the unlabelled rows speaking softly, at the best width.
        hits = np.nansum(trial.right[:, common], axis=(1, 2))
        hits[[candidate["model"] == _LABELS_ONLY for candidate in candidates]] = -1
        softer = dict(candidates[int(np.argmax(hits))])
        softer["C_star"] *= _SOFTER_FACTOR
        trial.run([softer])
        if trial.done[-1, common].all():
            candidates.append(softer)
    return _decide(candidates, trial, common, weight)


def _with_known_ratio(estimator: S3VM, rows: LabelledRows, y: VectorLike, search: Search) -> S3VM:
    """Return the estimator with the shares of the classes, estimated once from all labels."""
    classes, counted, weight = rows.classes, rows.counted, rows.weight
    if isinstance(estimator.balance, Mapping):
        balance = shares_by_code(estimator.balance, classes, np.arange(float(len(classes))))
        estimator = clone(estimator).set_params(balance=balance)
    if estimator.class_ratio is not None:
        found = label_shift(
            rows.X,
            y,
            estimator.class_ratio,
            n_bootstrap=2,
            unlabeled=estimator.unlabeled,
            sample_weight=weight,
            random_state=search.seed,
        )
        return clone(estimator).set_params(class_ratio=found.shares)
    if not isinstance(estimator.balance, str):
        return estimator
    settings: dict[str, Any] = {"balance": True}
    if estimator.kernel != "precomputed":
        mass = np.ones(len(counted)) if weight is None else np.asarray(weight, dtype=float)
        X = (sp.csr_array(rows.X) if sp.issparse(rows.X) else np.asarray(rows.X))[counted]
        judged = compare_label_ratio(X, rows.place[counted], mass[counted], classes, search.seed)
        settings |= {"class_ratio": judged.shares} if judged.is_contradicted else {}
    return clone(estimator).set_params(**settings)


def _make_candidates(estimator: S3VM, X: RowMatrix, weight: FloatArray | None) -> list[Candidate]:
    """Return settings as rows of a table, the given ones first, the likeliest to win next."""
    kernel, C, C_star = estimator.kernel, estimator.C, estimator.C_star
    counted = slice(None) if weight is None else weight > 0
    widths = [np.nan]
    if has_gamma(kernel):
        gamma = choose_gamma_rule(kind_of(kernel), estimator.gamma)
        width = resolve_gamma(gamma, X[counted], None if weight is None else weight[counted])
        widths = [factor * width for factor in _WIDTH_FACTORS]
    shown = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "callable")
    kinds = [(shown, width) for width in widths] + [("linear", np.nan)] * (kernel == "rbf")
    return [
        {"model": model, "kernel": kind, "gamma": width, "C": C, "C_star": price}
        for model, price in (("S3VM", C_star), (_LABELS_ONLY, np.nan))
        for kind, width in kinds
    ]


def _changed_settings(candidate: Candidate, first: Candidate) -> dict[str, Any]:
    """Return the parameters to set, without those that are as given."""
    names = ("kernel",) if candidate["kernel"] != first["kernel"] else ("gamma",)
    names += ("C_star",) * (candidate["model"] != _LABELS_ONLY)
    alone = {"C_star": 0.0, "balance": False} if candidate["model"] == _LABELS_ONLY else {}
    return alone | {
        name: candidate[name]
        for name in names
        if candidate[name] == candidate[name] and candidate[name] != first[name]  # not NaN
    }


def _kernel_key(candidate: Candidate) -> tuple[str, str]:
    """Return the key of kernel values; widths may be NaN, which is equal to nothing."""
    return candidate["kernel"], repr(candidate["gamma"])


class _HeldOutPredictions:
    """Predictions on folds of the labelled rows; ``right`` is (candidates, folds, rows)."""

    def __init__(
        self, estimator: S3VM, data: LabelledRows, first: Candidate, search: Search
    ) -> None:
        self.search, self.coded = search, data.coded
        self.rows = np.flatnonzero(data.counted)
        self.splits = data.split(self.rows, search.seed)
        self.right = np.empty((0, len(self.splits), len(self.coded)))
        self.converged: list[bool] = []
        self.models = _CandidateModels(estimator, data, first)

    @property
    def done(self) -> BoolArray:
        """Return which folds of which candidates have predictions."""
        return np.asarray(np.isfinite(self.right).any(axis=2))

    def run(self, candidates: list[Candidate]) -> None:
        """Append the hits of candidates, and whether all their fits converged."""
        right = np.full((len(candidates), *self.right.shape[1:]), np.nan)
        converged = [True] * len(candidates)
        for candidate in candidates:
            self.models.decide_storage(candidate)
        trials = make_trials(candidates, self.splits)
        for trial, scored in self.search.run("S3VM", trials, self.models.predict_held_out):
            predicted, has_converged = scored
            tested = self.rows[trial.test]
            right[trial.place, trial.fold, tested] = predicted == self.coded[tested]
            converged[trial.place] &= has_converged
        self.right = np.concatenate([self.right, right])
        self.converged += converged


class _CandidateModels:
    """Models of candidates on folds, which share kernel values where they are on one computer."""

    def __init__(self, estimator: S3VM, data: LabelledRows, first: Candidate) -> None:
        self.estimator, self.first = estimator, first
        self.X, self.coded, self.weight = data.X, data.coded, data.weight
        self.rows = np.flatnonzero(data.counted)
        # By kernel and width; None where memory is short.
        self.values: dict[tuple[str, str], FloatArray | None] = {}
        self.bytes_left = 1e6 * estimator.cache_size
        self.has_stored_values: dict[tuple[str, str], bool] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the state without values, which a worker evaluates again."""
        return {**vars(self), "values": {}}

    def decide_storage(self, candidate: Candidate) -> None:
        """Decide whether all kernel values of a candidate are held."""
        key = _kernel_key(candidate)
        if key in self.has_stored_values:
            return
        n, model = len(self.rows), self.estimator
        # A path needs the rows, and so do trees, which grow on the labels of each fold.
        needs_rows = model.solver == "path" or kind_of(model.kernel).learns == "labels"
        fits = 8 * n**2 <= self.bytes_left and not needs_rows
        self.has_stored_values[key] = fits or model.kernel == "precomputed"
        if fits and model.kernel != "precomputed":
            self.bytes_left -= 8 * n**2

    def predict_held_out(
        self, trial: Trial[Candidate], search: Search
    ) -> tuple[FloatArray, bool] | None:
        """Return held-out predictions and whether the fit converged; None if the time is over."""
        candidate, train, test = trial.candidate, trial.train, trial.test
        if candidate["model"] == _LABELS_ONLY:
            train = train[~np.isnan(self.coded[self.rows[train]])]
        key = _kernel_key(candidate)
        if key not in self.values:
            has_stored_values = self.has_stored_values[key]
            self.values[key] = (
                self._kernel_values(candidate, search) if has_stored_values else None
            )
        values = self.values[key]
        used, tested = self.rows[train], self.rows[test]
        settings = _changed_settings(candidate, self.first)
        if values is None:
            X, held_out = self.X[used], self.X[tested]
        else:
            X, held_out = values[np.ix_(train, train)], values[np.ix_(test, train)]
            settings["kernel"] = "precomputed"
        weight = None if self.weight is None else self.weight[used]
        model = search.fit_clone(
            self.estimator, X, self.coded[used], weight, unlabeled=None, **settings
        )
        if model is None:
            return None
        return model.predict(held_out), model.fit_status_ == 0

    def _kernel_values(self, candidate: Candidate, search: Search) -> FloatArray:
        """Return all kernel values of a candidate, for all its folds."""
        n, model = len(self.rows), self.estimator
        if model.kernel == "precomputed":
            return self.X if n == len(self.coded) else self.X[np.ix_(self.rows, self.rows)]
        X = self.X[self.rows]
        kind = model.kernel if candidate["kernel"] == self.first["kernel"] else "linear"
        kernel = make_kernel(kind, candidate["gamma"], model.degree, model.coef0, X)
        shift = find_shift(kernel, X)
        n_jobs = resolve_n_jobs(model.n_jobs)
        gram = make_gram(kernel, centered(X, shift), n_jobs=n_jobs, min_support=1.0)
        values = gram.block(np.arange(n))
        search.kernel_values += gram.n_values
        return values


def _decide(
    candidates: list[Candidate],
    trial: _HeldOutPredictions,
    folds: BoolArray,
    weight: FloatArray | None,
) -> Decision:
    """Compare over the common folds; prefer what was given."""
    n = len(candidates)
    right, done = trial.right[:n], trial.done[:n]
    compared = done[:, folds].all(axis=1) & folds.any()
    table = pd.DataFrame(candidates)
    table[["accuracy", "standard_error", "gain", "gain_error"]] = np.nan
    table["folds"] = done.sum(axis=1)
    table["converged"] = trial.converged[:n]
    table["chosen"], table["clear"] = table.index == 0, False
    if compared.sum() < 2:
        reason = f"{SETTINGS_KEPT} no other candidate was compared."
        return Decision({}, reason, table, CURVE)
    seen = np.isfinite(right[0][folds]).any(axis=0)
    per_row = np.nanmean(right[compared][:, folds][:, :, seen], axis=1)
    share = np.ones(seen.sum()) if weight is None else weight[seen]
    share = share / share.sum()
    gain = per_row - per_row[0]
    apart = per_row - (per_row @ share)[:, None]
    table.loc[compared, "accuracy"] = per_row @ share
    table.loc[compared, "standard_error"] = np.sqrt(apart**2 @ share**2)
    table.loc[compared, "gain"] = (gain @ share).round(12)
    # As McNemar's test has it: under no difference, the mean is known to be zero.
    table.loc[compared, "gain_error"] = np.sqrt(gain**2 @ share**2)
    clear = compared & (table["gain"] > MIN_LEAD_IN_ERRORS * table["gain_error"])
    best = int(table.loc[clear, "accuracy"].idxmax()) if clear.any() else 0
    table["chosen"] = table.index == best
    # As many candidates were compared, so much farther one must be ahead to be called better.
    beyond_chance = (
        norm.ppf(1.0 - _LEVEL_OF_CLEAR / max(1, compared.sum() - 1)) * table["gain_error"]
    )
    table["clear"] = compared & (table["gain"] > beyond_chance)
    settings = _changed_settings(candidates[best], candidates[0])
    n_folds = int(folds.sum())
    folds_words = (
        f"{n_folds} fold{'s' * (n_folds > 1)} of {seen.sum()} labelled rows, with the unlabelled "
        "rows used for training"
    )
    accuracy = table["accuracy"]
    if settings:
        reason = (
            f"Held-out accuracy is {accuracy[best]:.3f}, {table['gain'][best]:.3f} +- "
            f"{table['gain_error'][best]:.3f} above the given "
            f"settings{'' if table['clear'][best] else ', perhaps by chance'}: the best of "
            f"{compared.sum()} candidates over {folds_words}."
        )
    else:
        reason = (
            f"{SETTINGS_KEPT} over {folds_words}, none of the {compared.sum() - 1} others is "
            f"better than their accuracy of {accuracy[0]:.3f} by more than "
            f"{MIN_LEAD_IN_ERRORS:g} standard errors."
        )
    unlabeled = _measure_gain(table, per_row, np.flatnonzero(compared), share, best)
    if unlabeled is not None:
        reason += f" {unlabeled}"
    return Decision(settings, reason, table, CURVE, unlabeled=unlabeled)


def _measure_gain(
    table: pd.DataFrame, per_row: FloatArray, compared: IntArray, share: FloatArray, best: int
) -> UnlabeledRows | None:
    """Return the gain from unlabelled rows: the choice against its kernel, or the best other."""
    used, accuracy = table["model"][best] != _LABELS_ONLY, table["accuracy"][compared]
    others = accuracy[(table["model"][compared] == _LABELS_ONLY) == used]
    if others.empty:
        return None
    keys = [_kernel_key(table.loc[k]) for k in others.index]
    same = _kernel_key(table.loc[best])
    other = others.index[keys.index(same)] if same in keys else others.idxmax()
    pair = (best, other) if used else (other, best)
    with_them, without = (per_row[int(np.flatnonzero(compared == k)[0])] for k in pair)
    apart = with_them - without
    # As if one label more had been predicted differently: agreement of few is no proof.
    error = float(np.sqrt(apart**2 @ share**2 + np.mean(share) ** 2))
    return UnlabeledRows.from_error(float(apart @ share), error, bool(used))
