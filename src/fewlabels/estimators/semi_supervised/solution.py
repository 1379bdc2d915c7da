"""How an S3VM trains, what it shows, and what its probabilities are fitted to."""

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._warn import warn
from ...fitted import Solution
from ...fitted.solution import ROUNDING, Certificate
from ...gram import PrecomputedGram, RepeatedGram, make_gram
from ...problem.convexity import curvature_missing
from ...problem.semi_supervised import SemiSupervised
from ...training.cross_fitting import Sample, left_out_scores
from ...training.curves import curve_of_labels
from ...training.row_order import row_keys
from ...training.semi_supervised.branching import unproven
from ...training.semi_supervised.data import S3VMSettings
from ..kernel_machine import function_of, largest_value, run_by

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48
# Machines of a cross-fit.
_FOLDS = 5


def problem_of(self):
    return SemiSupervised(float(self.C), float(self.C_star), self.balance)


def training_of(self, callback):
    """How batch training is done."""
    return S3VMSettings(
        engine=self._settings(self.tol, 0.0, callback),
        annealing=self.annealing,
        branching=self.solver == "branch-and-bound",
        max_nodes=self.max_nodes,
        callback=callback,
    )


def held_gram(self, X):
    """K over rows, all at once where that is cheaper: training solves many problems."""
    gram = self._gram(X)
    inner = gram if gram.copies is None else gram.inner
    if inner.value_cost < _WORTH_HOLDING or 8 * inner.n**2 > 1e6 * self.cache_size:
        return gram
    held = PrecomputedGram(inner.block(np.arange(inner.n)), inner.n_jobs)
    held.n_values, held.is_inner_product = inner.n_values, inner.is_inner_product
    return held if inner is gram else RepeatedGram(held, gram.copies)


def keep_bound(self, found):
    """What a batch training says of the global minimum."""
    self._lower_bound = found.lower_bound
    if found.lower_bound is not None:
        self.n_nodes_ = found.n_nodes


def warn_of_training(self, found, gram):
    """Warn when the tolerance was not reached, or the global minimum is not proven."""
    message = unproven(found)
    if message is None:
        self._report_status(found.result, self.tol, curvature_missing(gram, found.result.a))
    else:
        warn(message, ConvergenceWarning)


def solution_of(self, gram, X, coef, numbers, label, run, **options):
    """The ``Solution`` with these coefficients; ``run`` are iterations, history, success."""
    rounding = ROUNDING * (float(np.abs(coef).sum()) * largest_value(gram))
    function, places, support = function_of(
        self._make_kernel(), gram, X, coef, numbers, rounding=rounding, **options
    )
    counts = np.sum(label[places] < 0), np.sum(label[places] > 0)
    return Solution(function=function, **run_by(support, counts, *run))


def certificate_of(self, found, function, rows, label):
    """``Certificate`` of a fit; ``label`` are those of all rows."""
    decision = np.empty(len(label))
    decision[rows.indices] = found.f
    if rows.kept is not None:
        out = np.setdiff1d(np.arange(len(label)), rows.kept)
        decision[out] = function(rows.everything[out], n_jobs=self.n_jobs)
    positive = np.where(label, label > 0, decision > function.rounding)
    return Certificate(found.objective, found.violation, positive)


def describe(self):
    stream = self._stream
    known = np.concatenate([stream.places, stream.leaving])
    at = stream.standing().at(known)
    support = np.flatnonzero(at.coef)
    numbers = np.where(np.arange(len(known)) < len(stream), np.arange(len(known)), -1)
    of_gram = support if len(support) else np.arange(len(known))
    gram = make_gram(stream.kernel, stream.kernel_rows(known[of_gram]), dtype=np.float64)
    converged = stream.done and not stream.lost_to_rounding(self.tol)
    return solution_of(
        self, gram, stream.rows(known[support]), at.coef[support], numbers[support],
        stream.label(known[support]), (stream.n_iter, stream.history, converged),
        bias=-float(at.multiplier), shift=stream.shift,
    )  # fmt: skip


def certify_stream(self):
    """The ``Certificate`` where the stream stands."""
    stream, at, function = self._stream, self._stream.standing(), self.function_
    places = stream.places
    waiting = places[np.isnan(at.f[places])]
    if len(waiting):
        at.f[waiting] = function(stream.rows(waiting), n_jobs=self.n_jobs)
    label = stream.label(places)
    positive = np.where(label, label > 0, at.f[places] > function.rounding)
    return Certificate(*stream.certificate(at), positive)


def warn_doubtful(classes):
    warn(
        f"y has two values only, {classes[0]} and {classes[1]}: both are taken for classes "
        "and no row for unlabelled. Pass unlabeled=None to say so, or NaN for unlabelled "
        "rows.",
        UserWarning,
    )


# -- probabilities --------------------------------------------------------------------------------


def fit_curve(self):
    sample = self._sample if self._stream is None else sample_of_stream(self)
    if sample is None:
        raise ValueError(
            f"this {type(self).__name__} holds neither its training rows nor a curve from "
            "decisions to probabilities; call predict_proba once before the machine is "
            "saved, or fit again."
        )
    label, weight = sample.y, sample.weight
    free, scores = np.flatnonzero(label == 0), left_out_decisions(self, sample)
    known = np.isfinite(scores)
    balance, share, unlabeled = problem_of(self).balance, None, None
    if not isinstance(balance, bool) and len(free) and -1.0 < balance < 1.0:
        # The share of positives that this mean stands for.
        share = 0.5 * (1.0 + float(balance))
        unlabeled = decisions_of(self, sample, free), weight[free]
    return curve_of_labels(
        scores[known], label[known] > 0, weight[known], self.probability, unlabeled, share
    )


def decisions_of(self, sample, rows):
    """f at some rows of a sample of the training rows."""
    X = sample.X[rows]
    if sample.pairwise and self._kept is not None:
        X = np.zeros((len(rows), self.shape_fit_[0]))
        X[:, self._kept] = sample.X[rows]
    return self.function_(X, n_jobs=self.n_jobs)


def sample_of_stream(self):
    stream = self._stream
    if not stream.ready:
        raise ValueError(
            "predict_proba needs labels of both classes, and so far there are not; pass "
            "labels to partial_fit or relabel."
        )
    if stream.has_path and not stream.done:
        raise ValueError("an operation is on its way; call resume() before predict_proba.")
    places = stream.places
    return Sample(stream.rows(places), stream.label(places), stream.weight(places))


def left_out_decisions(self, sample):
    """Decisions about labelled rows by machines that were trained without them.

    Five machines, each trained on all unlabelled rows and four fifths of the labelled rows
    of either class, as ``solver="auto"`` trains. Folds depend on the values of rows alone,
    and equal rows are in one. NaN for unlabelled rows, and for one that is, with its copies,
    the only one of its class.
    """
    settings = {"solver": "auto", "unlabeled": None, "verbose": False}
    if self.gamma_:
        settings["gamma"] = self.gamma_
    labels, fold = sample.y, _folds(sample)
    sample = sample._replace(y=np.where(labels == 0, np.nan, labels))
    tested = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
    splits = [(np.setdiff1d(np.arange(len(fold)), test), test) for test in tested]

    def score(train, test):
        machine = sample.fit(clone(self).set_params(**settings), train)
        return machine.decision_function(sample.rows(test, train))

    return left_out_scores(len(fold), splits, score)


def _folds(sample):
    """Fold of each row, -1 for those that are never left out."""
    keys, fold, before = row_keys(sample.X), np.full(len(sample.y), -1), 0
    for side in (-1.0, 1.0):
        rows = np.flatnonzero(sample.y == side)
        distinct, group = np.unique(keys[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % _FOLDS
            before += len(distinct)
    return fold
