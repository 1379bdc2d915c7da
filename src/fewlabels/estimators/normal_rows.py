"""Methods of machines of one class, whose threshold may be calibrated; each takes them as its own.

P-values and decisions compare the same numbers, and so they agree to the last bit. Rows that a
split holds out are rows of weight 0, with the mark "calibrates".
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._warn import warn
from ..fitted.conformal import DECIMALS
from ..streams.convex import ConvexStream
from ..streams.rows import HeldRows, read_indices
from ..training.calibration import (
    draw_held_out,
    held_out_marks,
    held_rows,
    is_split,
    scores_left_out,
)
from ..training.leave_one_out import decisions_without
from .rows import FitRows, check_weight, fit_rows

CALIBRATION = {
    "target_fpr": [Interval(Real, 0.0, 1.0, closed="neither"), None],
    "calibration": [StrOptions({"auto", "leave-one-out", "split"})],
}


# -- fitting -------------------------------------------------------------------------------------


def fit_calibrated(machine, X, sample_weight, callback):
    """Fit, on all rows or on those that are not held out, and set the threshold.

    A machine says how rows are fitted: ``_fit_rows(rows, callback, held_out)``.
    """
    rate = machine.target_fpr
    is_matrix = machine.kernel == "precomputed"
    if rate is not None and is_matrix and machine.calibration == "leave-one-out":
        raise ValueError(
            "calibration='leave-one-out' needs rows, and kernel='precomputed' has none; pass "
            "calibration='split', or rows and a kernel or a callable."
        )
    rows = fit_rows(machine, X, sample_weight)
    n = rows.everything.shape[0]
    if rate is None or not is_split(machine.calibration, is_matrix, n):
        machine._fit_rows(rows, callback, None)
        if rate is None:
            return machine
        if not is_split(machine.calibration, is_matrix, n, int(machine.n_support_.sum())):
            calibrated(machine)
            return machine
    held_out = draw_held_out(n, rate, machine._seed())
    machine._fit_rows(rows.without(held_out), callback, held_out)
    if is_matrix:  # which nobody keeps
        diagonal = np.diag(rows.everything)[held_out]
        score = machine.function_(rows.everything[held_out], diagonal=diagonal)
        _calibrate(machine, np.sort(machine._found.comparable(score)))
    calibrated(machine)
    return machine


def settle(machine, rows, held_out, formulation, problem, result, shift=None):
    """Keep what a fit has found, and its rows; the ``Solution``.

    A machine says what it is: ``_solution(X, numbers, problem, result, shift, unit)``.
    """
    unit = formulation.unit(float(rows.weights.sum()))
    solution = machine._solution(rows.X, rows.indices, problem, result, shift, unit)
    stream = None
    if machine.kernel != "precomputed":
        marks = {} if held_out is None else {"calibrates": held_out}
        stream = ConvexStream(
            formulation,
            solution.function.kernel,
            HeldRows(rows.everything, weight=rows.spread(rows.weights), **marks),
            (rows.spread(result.a), result.multiplier),
            shift=shift,
            n_steps=solution.n_iter,
            history=solution.history,
        )
    machine._hold(stream)
    machine._keep(solution)
    return solution


def describe(self):
    """The ``Solution`` where the stream stands."""
    stream = self._stream
    problem, result = stream.solution()
    rows, numbers = stream.rows.rows(stream.on_path), stream.numbers(stream.on_path)
    unit = stream.formulation.unit(stream.mass)
    return self._solution(rows, numbers, problem, result, stream.shift, unit)


# -- calibration ---------------------------------------------------------------------------------


def calibrated(machine):
    """The machine's ``Conformal``. What it takes is computed now, if need be."""
    found = machine._late.known("conformal", machine._version)
    if found is None:
        with machine._late.locked():
            found = machine._late.known("conformal", machine._version)
            if found is None:
                # This may begin the path of the rows: then the machine is another one.
                scores = _calibration_scores(machine)
                found = _calibrate(machine, scores)
    return found


def _calibrate(machine, scores):
    """Store the ``Conformal`` of a machine from its calibration scores."""
    found = machine._found.calibrated(scores)
    if found.rate is not None and not found.rank:
        _warn_of_few_rows(found.rate, len(scores))
    machine._late.put("conformal", machine._version, found)
    return found


def _calibration_scores(machine):
    stream = machine._stream
    if stream is None:
        raise ValueError(
            f"this {type(machine).__name__} was fitted without target_fpr and does not hold rows "
            "to leave out; pass target_fpr and fit it again."
        )
    if not stream.done:
        last = machine._late.last("conformal")
        if last is None:
            raise ValueError("an operation is on its way; call resume() first.")
        return last.scores
    marks = held_out_marks(stream)
    if marks is not None:
        rows = held_rows(stream, stream.rows.places[marks])
        return np.sort(machine._found.comparable(machine.function_(rows, n_jobs=machine.n_jobs)))
    if stream.path is None:
        n, n_support = machine.shape_fit_[0], int(machine.n_support_.sum())
        if machine.target_fpr is None and is_split(machine.calibration, False, n, n_support):
            raise ValueError(
                f"p-values of {n} rows with {n_support} support vectors need each of these "
                "to be left out in turn, as no rows were held out; pass target_fpr and fit "
                "again, or calibration='leave-one-out' if that may take its time."
            )
        stream = machine._ready_stream()
        machine._follow("fit", stream)
    solution = machine._found

    def score(rows):
        return solution.comparable(solution.function(rows, n_jobs=machine.n_jobs))

    return np.sort(scores_left_out(stream, solution.function.self_weight, score))


def _warn_of_few_rows(rate, n):
    fewest = int(np.ceil((1.0 - DECIMALS) / rate)) - 1
    least = 1.0 / (n + 1)
    digit = 10.0 ** (np.floor(np.log10(least)) - 1.0)
    least = digit * np.ceil((1.0 - DECIMALS) * least / digit)
    warn(
        f"target_fpr={rate:g} needs at least {fewest} calibration rows and there are {n}, so "
        "that no row will be rejected; pass more rows"
        + (f", or a target_fpr of at least {least:.2g}." if n else "."),
        UserWarning,
    )


def threshold(machine):
    """The score below which rows are rejected: calibrated, or the machine's own boundary."""
    solution = machine._found
    return solution.function.boundary if solution.rate is None else calibrated(machine).threshold


# -- what machines show --------------------------------------------------------------------------


def _intercept(self):
    solution = self._found
    moved = threshold(self) - solution.function.boundary
    return np.array([solution.intercept - moved])


def _is_calibrated(self):
    check_is_fitted(self)
    known = self._late.known("conformal", self._version) is not None
    return known or self._found.rate is not None


def _conformal(self):
    """The ``Conformal`` of a machine with ``target_fpr``, or whose p-values are known."""
    if not _is_calibrated(self):
        raise AttributeError(
            f"this {type(self).__name__} is not calibrated: pass target_fpr and fit it again, or "
            "call p_values once."
        )
    return calibrated(self)


def _scores(self):
    check_is_fitted(self)
    try:
        return calibrated(self).scores
    except ValueError as error:
        raise AttributeError(str(error)) from error


intercept_ = property(_intercept)
is_calibrated_ = property(_is_calibrated)
conformal_ = property(_conformal)
calibration_scores_ = property(_scores)


def decide(machine, X, **options):
    """The decision about rows, about the calibrated threshold if there is one."""
    return machine._value(X, **options) - threshold(machine)


def p_values(self, X, smoothed=False, **options) -> np.ndarray:
    """Conformal p-values: small for rows unlike the training rows.

    The share of rows, among those that calibrate and the row itself, that are at most as
    normal as it: ``(#{calibration_scores_ <= score} + 1) / (n_calibration + 1)``. If the
    training rows are normal, a new normal row has a p-value of at most t with a probability
    of at most t, for every t; see ``calibration`` for what is proven. With ``target_fpr``,
    ``predict`` gives -1 exactly where the p-value is at most ``target_fpr``. A machine
    fitted without it is calibrated by leaving out each of its rows, on the first call.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows; for ``kernel="precomputed"`` their kernel values against the training
        rows.
    smoothed : bool, default=False
        Break ties, the row's own with itself included, at random (``random_state``). The
        p-values of new normal rows are then uniform on (0, 1).
    **options
        What else ``decision_function`` takes.

    Returns
    -------
    ndarray of shape (n_samples,)
        In [1 / (n_calibration + 1), 1], or in (0, 1) when ``smoothed``.

    References
    ----------
    Vovk, V., Gammerman, A., Shafer, G. (2005). Algorithmic learning in a random world.
    Springer.

    Laxhammar, R., Falkman, G. (2015). Inductive conformal anomaly detection for sequential
    detection of anomalous sub-trajectories. Annals of Mathematics and Artificial
    Intelligence 74.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> normal = np.random.default_rng(0).normal(size=(199, 2))
    >>> SVDD(target_fpr=0.05).fit(normal).p_values([[0.0, 0.0], [6.0, 6.0]]).round(3)
    array([0.64 , 0.005])
    """
    rows = self._rows_to_score(X)
    conformal = calibrated(self)
    score = self.function_(rows, n_jobs=self.n_jobs, **options)
    uniform = np.random.default_rng(self._seed()).uniform(size=len(score)) if smoothed else None
    return conformal.p_values(score, uniform)


# -- updates -------------------------------------------------------------------------------------


@_fit_context(prefer_skip_nested_validation=True)
def partial_fit(self, X, y=None, sample_weight=None):
    """Add rows and follow the solution: what ``fit`` on all rows would give.

    The first call on a new machine is ``fit``. ``gamma_`` stays what it is.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        New rows. They become the last training rows.
    y : ignored
        For compatibility.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; rows of weight <= 0 are left out.

    Returns
    -------
    self : estimator
    """
    if not self.__sklearn_is_fitted__():
        return self.fit(X, y, sample_weight)
    return self._add(X, y, sample_weight)


def read_new(self, X, y, sample_weight):
    """Arguments of ``stream.add``. As large a share of new rows calibrates as did so far."""
    X = self._rows_to_score(X)
    new = FitRows(X, *check_weight(sample_weight, X))
    values = {"weight": new.spread(new.weights)}
    marks = held_out_marks(self._stream)
    if marks is not None:
        # The count of places is another one for every block.
        rng = np.random.default_rng([self._seed(), self._stream.rows.n_places])
        calibrates = rng.uniform(size=X.shape[0]) < marks.mean()
        values = {"weight": np.where(calibrates, 0.0, values["weight"]), "calibrates": calibrates}
    return {"X": X, **values}


def remembered(self):
    """With the threshold, and p-values where they are known."""
    if self._found.rate is not None:
        calibrated(self)
    return ["conformal"]


def leave_one_out_decisions(self, indices=None) -> np.ndarray:
    """``decision_function`` of training rows by the machines trained without them, exactly.

    Every value belongs to the machine of all rows but one. Nothing is trained: a support
    vector is forgotten and put back, and any other row is as it is.

    Parameters
    ----------
    indices : array-like of int, mask of shape (n_samples,) or None, default=None
        Training rows; None for all.

    Returns
    -------
    ndarray of shape (n_indices,)
    """
    stream = self._ready_stream()
    n = len(stream)
    indices = np.arange(n) if indices is None else read_indices(indices, n)
    stream.check_one_left_out(stream.rows.places[indices])
    self._follow("resume", stream)
    places = stream.rows.places[indices]
    out = ~stream.takes()[places]
    values = np.empty(len(places))
    values[~out] = decisions_without(stream, places[~out])
    if out.any():  # rows of weight 0 have no part in any machine
        function = self.function_
        values[out] = function(held_rows(stream, places[out])) - function.boundary
    return values
