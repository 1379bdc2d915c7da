"""How an S3VM trains, and what it shows: functions that the class takes as its methods."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warn import warn
from ...fitted import Solution
from ...fitted.solution import ROUNDING, Certificate
from ...gram import PrecomputedGram, make_gram
from ...problem.semi_supervised import SemiSupervised
from ...training.semi_supervised.branching import (
    unproven,
)
from ...training.semi_supervised.data import S3VMSettings
from ..kernel_machine import function_of, largest_value

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48


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
    if gram.value_cost < _WORTH_HOLDING or 8 * gram.n**2 > 1e6 * self.cache_size:
        return gram
    held = PrecomputedGram(gram.block(np.arange(gram.n)), gram.n_jobs)
    held.n_values = gram.n_values
    return held


def keep_bound(self, found):
    """What a batch training says of the global minimum."""
    self._lower_bound = found.lower_bound
    if found.lower_bound is not None:
        self.n_nodes_ = found.n_nodes


def warn_of_training(self, found):
    """Warn when the tolerance was not reached, or the global minimum is not proven."""
    message = unproven(found)
    if message is None:
        self._report_status(found.result, self.tol)
    else:
        warn(message, ConvergenceWarning)


def solution_of(self, gram, X, coef, numbers, label, **options):
    """The ``Solution`` with these coefficients of rows."""
    about = {name: options.pop(name) for name in ("n_iter", "history", "converged")}
    rounding = ROUNDING * (float(np.abs(coef).sum()) * largest_value(gram))
    function, places, support = function_of(
        self._make_kernel(), gram, X, coef, numbers, rounding=rounding, **options
    )
    label = label[places]
    return Solution(
        function=function,
        support=support,
        n_support=np.array([np.sum(label < 0), np.sum(label > 0)], dtype=np.int32),
        n_iter=max(1, int(about["n_iter"])),
        history=about["history"],
        converged=bool(about["converged"]),
    )


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
    return self._solution(
        gram, stream.rows(known[support]), at.coef[support], numbers[support],
        stream.label(known[support]), bias=-float(at.multiplier), shift=stream.shift,
        n_iter=stream.n_iter, history=stream.history,
        converged=stream.done and not stream.lost_to_rounding(self.tol),
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
