"""The base class of models of one class: a calibrated threshold, p-values, updates.

P-values and decisions compare the same numbers, and so they agree to the last bit. Rows that a
split holds out are rows of weight 0, with the mark "calibrates".
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Real
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import AnyArray, FloatArray, IntArray, MatrixLike, RowMatrix, VectorLike
from .._util.available import available_if
from .._util.messages import ref
from .._util.warn import warn
from ..base.kernel_estimator import KernelEstimator
from ..base.locking import consistent, exclusive, fitting, lock_of
from ..base.solution import OneClassSolution, RowStream, Solution
from ..base.stream import ConvexStream
from ..calibration.conformal import Conformal, row_numbers_of
from ..calibration.left_out_scores import (
    Redraw,
    draw_held_out,
    few_rows_message,
    held_out_marks,
    held_rows,
    is_split,
    left_out_decisions,
    normal_places,
    numbers_after,
    scores_left_out,
)
from ..data.labels.marks import read_anomalies, read_marks
from ..rows.device import backend_of
from ..rows.memory import MemorySource
from ..rows.problem import ProblemInMemory
from ..rows.row_store import RowStore, read_indices
from ..rows.source import RowSource
from ..rows.validation import check_weight, is_out_of_core, load_rows
from ..solvers import Result
from ..solvers.run import Callback
from .problem import OneClassFormulation
from .task import ONE_CLASS

#: Name of the share among a model's late values.
SHARE_OUTSIDE = "rows outside"
# The share that needs no warning where nothing bounds it.
_USUAL_SHARE = 0.1
# What a share may exceed its bound by, as a factor or in itself: boundary rows are within a
# tolerance.
_BOUND_FACTOR = 1.5
_BOUND_MARGIN = 0.02


def measure_share_outside(
    rows: RowSource, problem: ProblemInMemory, result: Result, rounding: float
) -> tuple[float, float]:
    """Return the share of normal training rows outside the boundary, and the bound on it.

    The solver's gradient holds their scores, so no kernel value is computed.

    Parameters
    ----------
    rows : RowSource
        The rows of the fit.
    problem : ProblemInMemory
        The model's problem.
    result : Result
        Its solution.
    rounding : float
        The distance from the boundary, in scores, that counts as on it.

    Returns
    -------
    tuple of float
        The share, by weight where rows are in memory, and its bound; 0 for no bound.
    """
    dual, formulation = problem.dual, cast(OneClassFormulation, problem.formulation)
    own = result.gradient - dual.ridge * result.a + dual.penalty.slopes[0]
    is_outside = formulation.unit(problem.mass) * (own - result.multiplier) < -rounding
    bound = formulation.min_support(rows.mass)
    if not rows.is_in_memory:  # only support vectors are here, and they are normal
        return float(is_outside.sum() / rows.n_counting), float(bound)
    masses = formulation.masses(cast(MemorySource, rows).numbers)
    return float(masses[is_outside].sum() / rows.mass), float(bound)


def problem_on_path(stream: ConvexStream) -> tuple[ProblemInMemory, Result]:
    """Return the problem of the rows on the path of a stream, and its present solution."""
    dual, result = stream.solution()
    problem = ProblemInMemory(
        X=stream.rows.rows(stream.on_path),
        numbers=stream.rows.numbers(stream.on_path),
        kernel=stream.kernel,
        dual=dual,
        formulation=stream.formulation,
        mass=stream.mass,
        shift=stream.shift,
    )
    return problem, result


def warn_of_rows_outside(model: Any) -> None:
    """Warn, once after a fit, if the boundary leaves out many more rows than were asked for."""
    with lock_of(model):
        late, version = model._cache, model._version
        found = None if late is None else late.peek(SHARE_OUTSIDE, version)
        if found is None:
            return
        late.store(SHARE_OUTSIDE, version, None)
    share, bound = found
    if share <= (max(_BOUND_FACTOR * bound, bound + _BOUND_MARGIN) if bound else _USUAL_SHARE):
        return
    allowed = f" ({ref(model.cost_name)} allows {100 * bound:.3g} %)" if bound else ""
    warn(
        f"{type(model).__name__} flags {100 * share:.3g} % of its training rows{allowed}, because "
        f"its boundary isn't set for a false alarm rate. Pass {ref('target_fpr', 0.05)} to flag "
        "about 5 % of new normal rows; scores rank rows either way.",
        UserWarning,
    )


# Training rows outside whose number differs from a rate: by chance once in so many fits, each way.
_CHANCE_LEVEL = 1e-3


class OutsideCount(NamedTuple):
    """How many of the rows ``counted`` are ``outside``; ``left_out``: each scored without itself.

    Otherwise the rows are scored by the model that was trained on them.
    """

    outside: int
    counted: int
    left_out: bool

    @property
    def share(self) -> float:
        """The share of rows outside."""
        return self.outside / self.counted if self.counted else float("nan")


def count_outside(model: Any, X: Any) -> OutsideCount:
    """Count the training rows outside, each scored as if it had been left out.

    Parameters
    ----------
    model : estimator
        A fitted one-class model.
    X : {ndarray, sparse}
        Rows it was trained on; scored where the model has no left-out scores of any.

    Returns
    -------
    Outside
        Of calibrated models the rows that calibrate; of others all rows of the model, if leaving
        each out is quick.
    """
    decisions = _find_left_out_decisions(model)
    left_out = decisions is not None
    if decisions is None:
        decisions = np.asarray(model.decision_function(X))
    return OutsideCount(int(np.count_nonzero(decisions < 0)), len(decisions), left_out)


def predict_left_out(model: Any, X: Any) -> NDArray[np.intp]:
    """Return 1 inside and -1 outside for the rows of a fit, scored as if left out where possible.

    These are all rows that calibrate. Rows that don't (confirmed anomalies, rows that a split
    trained on, those that weren't drawn) are judged by ``predict``.
    """
    labels = np.array(model.predict(X), dtype=np.intp)
    conformal = model.conformal_
    if conformal.rows is not None:
        labels[conformal.rows] = np.where(_calibration_decisions(conformal) >= 0, 1, -1)
    return labels


def _find_left_out_decisions(model: Any) -> FloatArray | None:
    """Return decisions about rows that were left out, without the order of these.

    None for no such.
    """
    if model.target_fpr is not None:
        return _calibration_decisions(model.conformal_)
    if not getattr(model, "holds_rows_", False) or model._learns_kernel:
        return None
    if is_split("auto", False, model.shape_fit_[0], int(np.sum(model.n_support_))):
        return None  # it would take long
    return model.leave_one_out_decisions()


def _calibration_decisions(conformal: Conformal) -> FloatArray:
    """Return decisions about the rows that calibrate; with a threshold of -inf all are inside."""
    return conformal.as_scored(conformal.scores) - conformal.threshold


# Scores of rows that a model was not trained on, what identifies each, and their numbers.
ScoredRows: TypeAlias = tuple[FloatArray, AnyArray | None, IntArray | None]

CALIBRATION = {
    "target_fpr": [Interval(Real, 0.0, 1.0, closed="neither"), None],
    "calibration": [StrOptions({"auto", "leave-one-out", "split"})],
}


class OneClassEstimator(OutlierMixin, KernelEstimator, ABC):
    """A model of one class: a subclass says how it is trained, and describes its solution."""

    task = ONE_CLASS
    has_own_threshold: ClassVar[bool] = True  # where no rate of false alarms is given
    takes_anomalies: ClassVar[bool] = True  # whether it learns from confirmed anomalies
    has_bags: ClassVar[bool] = False  # whether it is made of models of samples of the rows
    _solution_now: OneClassSolution
    # The share of the rows that a split holds out; None until that is known.
    _held_out_share = None
    # The seed and the count of the numbers that break ties.
    _tie_state = None

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        sample_weight: VectorLike | None = None,
        callback: Callback | None = None,
        anomalies: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows of the one class; for ``kernel="precomputed"`` the kernel matrix.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.
        anomalies : array-like of bool of shape (n_samples,), default=None
            Mask of confirmed anomalies: rows that should lie outside. They never calibrate
            ``target_fpr``. See ``C_anomaly`` and docs/guides/confirmed-anomalies.md.

        Returns
        -------
        self : estimator
        """
        with self._source(X, sample_weight, anomalies=anomalies) as rows:
            self._check_calibration(rows)
            if not self._is_split_before_training(rows):
                self._train(rows, callback)
                if not self._is_split_after_training(rows):
                    self._calibrate_or_reset()
                    return self
            self._train_on_part(rows, callback)
            self._calibrate_or_reset()
        return self

    def fit_predict(self, X: MatrixLike, y: object = None, **kwargs: Any) -> np.ndarray:
        """Fit to rows, and say which of them are outside.

        This is what ``fit(X).predict(X)`` gives, as in scikit-learn, unless that is misleading:
        a model may know its training rows by heart, or reject many of them, above all where rows
        have thousands of columns. If the share of rows outside differs from ``target_fpr`` by
        more than chance explains, each row is scored as if it had been left out.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        **kwargs
            What else :meth:`fit` takes.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            +1 inside, -1 outside.
        """
        labels = super().fit_predict(X, y, **kwargs)
        if self.target_fpr is None or not isinstance(labels, np.ndarray):
            return labels
        n, outside = len(labels), int(np.count_nonzero(labels < 0))
        few, many = binom.ppf([_CHANCE_LEVEL, 1.0 - _CHANCE_LEVEL], n, self.target_fpr)
        return labels if few <= outside <= many else predict_left_out(self, X)

    # -- updates ---------------------------------------------------------------------------------

    @fitting
    def partial_fit(
        self,
        X: MatrixLike,
        y: object = None,
        sample_weight: VectorLike | None = None,
        anomalies: VectorLike | None = None,
    ) -> Self:
        """Add rows and follow the solution: what ``fit`` on all rows would give.

        The first call on a new model is ``fit``. ``gamma_`` stays what it is.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        anomalies : array-like of bool of shape (n_samples,), default=None
            Mask of confirmed anomalies among the new rows.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight, anomalies=anomalies)
        return self._add(X, None, sample_weight, anomalies)

    @available_if(attrgetter("takes_anomalies"))
    @exclusive
    def relabel(self, indices: npt.ArrayLike, anomaly: npt.ArrayLike = True) -> Self:
        """Mark training rows as confirmed anomalies, or as normal rows: as ``fit`` would have.

        Parameters
        ----------
        indices : int, array-like of int, or mask of shape (n_samples,)
            Training rows.
        anomaly : bool or array-like of bool of shape (n_indices,), default=True
            True for confirmed anomalies, False for normal rows.
        """
        stream = cast(ConvexStream, self._ready_stream())
        chosen = read_indices(indices, len(stream))
        marks = read_marks(anomaly, len(chosen))
        redraw, after = self._make_redraw(), stream.marks.mask[stream.rows.alive]
        after[chosen] = marks
        options = {} if redraw is None else {"switching": redraw.after(after)}
        change = partial(stream.relabel, chosen, marks, **options)
        return self._run_update("relabel", stream, self.max_steps, change)

    # -- predictions -----------------------------------------------------------------------------

    def score_samples(self, X: MatrixLike, diagonal: VectorLike | None = None) -> np.ndarray:
        """Score of each row before the threshold: higher is more normal.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values with the training rows.
        diagonal : array-like of shape (n_samples,), default=None
            K(x, x) of these rows, needed only by an :class:`SVDD` with a precomputed kernel
            whose diagonal was not constant in training.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._evaluation(X, diagonal=diagonal)()

    def decision_function(self, X: MatrixLike, diagonal: VectorLike | None = None) -> np.ndarray:
        """``score_samples`` minus the threshold (``offset_``); positive inside.

        Parameters
        ----------
        X, diagonal
            As in :meth:`score_samples`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        with lock_of(self):
            threshold, values = self._threshold, self._evaluation(X, diagonal=diagonal)
        return values() - float(threshold)

    def predict(self, X: MatrixLike, diagonal: VectorLike | None = None) -> np.ndarray:
        """+1 inside or on the boundary, -1 outside.

        Parameters
        ----------
        X, diagonal
            As in :meth:`score_samples`.

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        decision = self.decision_function(X, diagonal)
        warn_of_rows_outside(self)
        backend = backend_of(decision)
        if backend is None:
            return np.where(decision >= 0, 1, -1).astype(np.intp)
        return backend.xp.where(decision >= 0, backend.array(1), backend.array(-1))

    def p_values(self, X: MatrixLike, smoothed: bool = False, **options: Any) -> np.ndarray:
        """Return conformal p-values: small for rows unlike the training rows.

        The share of rows, among those that calibrate and the row itself, that are at most as
        normal as it: ``(#{calibration_scores_ <= score} + 1) / (n_calibration + 1)``. If the
        training rows are normal, a new normal row has a p-value of at most t with a probability
        of at most t, for every t; see ``calibration`` for what is proven. With ``target_fpr``,
        ``predict`` gives -1 exactly where the p-value is at most ``target_fpr``. A model
        fitted without it is calibrated by leaving out each of its rows, on the first call.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values with the training rows.
        smoothed : bool, default=False
            Break ties at random, including the row's tie with itself. See Notes.
        **options
            What else ``decision_function`` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [1 / (n_calibration + 1), 1], or in (0, 1] when ``smoothed``.

        Notes
        -----
        With ``smoothed`` every row takes a random number of its own. With
        ``calibration="split"`` the p-value of a new normal row is then uniform; with
        "leave-one-out", and for an ensemble, approximately so. A new row ties with equal
        training rows there, which were scored without themselves and would else rank below it.

        The k-th row since ``fit`` takes the k-th random number of a generator seeded by
        ``random_state`` (None means 0; a RandomState is drawn from directly). The same calls give
        the same p-values again, rows scored one at a time get a single call's values, and updates
        don't restart the sequence; another ``random_state`` does. Copies and loaded models
        continue where the original was: give copies that score different rows other seeds if
        their p-values are to be combined.

        References
        ----------
        Laxhammar, R., Falkman, G. (2015), and Vovk et al. (2005): see docs/learn/error-rates.md.

        Examples
        --------
        >>> import numpy as np
        >>> from fewlabels import SVDD
        >>> normal = np.random.default_rng(0).normal(size=(199, 2))
        >>> SVDD(target_fpr=0.05).fit(normal).p_values([[0.0, 0.0], [6.0, 6.0]]).round(3)
        array([0.64 , 0.005])
        """
        with lock_of(self):
            rows = None if is_out_of_core(X) else self._rows_to_score(X)  # complains first
            conformal, values = self._get_conformal(), self._evaluation(X, **options)
        score, backend = values(), backend_of(X)
        score = score if backend is None else backend.numpy(score)
        if not smoothed:
            found = conformal.p_values(score)
        else:
            keys = None if conformal.keys is None else row_numbers_of(load_rows(X, rows))
            found = conformal.smoothed(score, self._draw_tie_breakers(len(score)), keys)
        return found if backend is None else backend.array(found)

    @consistent
    def leave_one_out_decisions(self, indices: npt.ArrayLike | None = None) -> np.ndarray:
        """``decision_function`` of training rows by the models trained without them, exactly.

        Every value belongs to the model of all rows but one. Nothing is trained: a support
        vector is forgotten and put back, and any other row is as it is.

        Parameters
        ----------
        indices : array-like of int, mask of shape (n_samples,) or None, default=None
            Training rows; None for all.

        Returns
        -------
        ndarray of shape (n_indices,)
        """
        stream, places = self._prepare_left_out(indices)
        return left_out_decisions(stream, places, self.function_)

    # -- what a fit has found --------------------------------------------------------------------

    @property
    def cost_name(self) -> str:
        """The parameter that sets the cost of leaving a row outside."""
        return "C"

    @property
    @consistent
    def intercept_(self) -> Any:
        threshold, solution = self._threshold, self._solution_now
        moved = threshold - solution.function.boundary
        return self._to_native(np.array([solution.intercept - moved]))

    @property
    @consistent
    def is_calibrated_(self) -> bool:
        self._check_is_fitted()
        known = self._fitted_values.peek("conformal", self._version) is not None
        return known or self._solution_now.rate is not None

    @property
    @consistent
    def conformal_(self) -> Conformal:
        """The ``Conformal`` of a model with ``target_fpr``, or whose p-values are known."""
        if not self.is_calibrated_:
            raise AttributeError(
                f"this {type(self).__name__} is not calibrated: pass target_fpr and fit it again, "
                "or call p_values once."
            )
        return self._get_conformal()

    @property
    def calibration_scores_(self) -> Any:
        self._check_is_fitted()
        try:
            return self._to_native(self._get_conformal().scores)
        except ValueError as error:
            raise AttributeError(str(error)) from error

    # -- how it is done --------------------------------------------------------------------------

    @abstractmethod
    def _describe_solution(self) -> Solution:
        """Return the ``Solution`` where the stream stands."""

    @abstractmethod
    def _train(self, rows: RowSource, callback: Callback | None) -> None:
        """State the problem of the rows of a source, solve it, and keep the solution."""

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: object,
        sample_weight: VectorLike | None,
        anomalies: VectorLike | None = None,
    ) -> dict[str, Any]:
        """Return arguments of ``stream.add``. Of a split's new rows some calibrate."""
        X = self._rows_to_score(X)
        new = MemorySource(X, *check_weight(sample_weight, X))
        anomaly, redraw = read_anomalies(anomalies, X.shape[0]), self._make_redraw()
        values = {"X": X, "weight": new.scatter(new.weights), "anomaly": anomaly}
        if redraw is not None:
            values["calibrates"] = redraw.among_new(X.shape[0], anomaly)
        return values

    def _attach_stream(self, stream: RowStream | None) -> None:
        super()._attach_stream(stream)
        self._held_out_share = self._tie_state = None

    def _removal_options(self, indices: IntArray) -> dict[str, IntArray]:
        """Return rows that change between calibration and training when others go."""
        redraw = self._make_redraw()
        return {} if redraw is None else {"switching": redraw.without(indices)}

    def _cached_names_to_keep(self) -> list[str]:
        if self._solution_now.rate is not None:
            self._get_conformal()
        return ["conformal"]

    # -- calibration -----------------------------------------------------------------------------

    def _check_calibration(self, rows: RowSource) -> None:
        """Refuse rows that leave-one-out calibration can't use."""
        if self.target_fpr is None or self.calibration != "leave-one-out":
            return
        if rows.is_matrix:
            raise ValueError(
                "calibration='leave-one-out' needs rows, and kernel='precomputed' has none; "
                "pass calibration='split', or rows and a kernel or a callable."
            )
        self._refuse_graph("target_fpr")

    def _is_split_before_training(self, rows: RowSource) -> bool:
        """Return whether calibration holds rows out, as far as that is known before training."""
        if self.target_fpr is None:
            return False
        must_split = self._learns_kernel or not rows.is_updatable
        return is_split(self.calibration, must_split, rows.shape[0])

    def _is_split_after_training(self, rows: RowSource) -> bool:
        """Return whether rows have to be held out after all, because the model uses so many."""
        if self.target_fpr is None:
            return False
        must_split = self._learns_kernel or not rows.is_updatable
        return is_split(self.calibration, must_split, rows.shape[0], int(self.n_support_.sum()))

    def _train_on_part(self, rows: RowSource, callback: Callback | None) -> None:
        """Train on some of the rows. The others calibrate."""
        assert self.target_fpr is not None
        drawn = draw_held_out(rows.shape[0], self.target_fpr, self._seed(), rows.anomalies)
        rest, held = rows.split(drawn)
        self._train(rest, callback)
        if held is not None:  # else the stream holds them
            score = self.function_(held[0], n_jobs=self.n_jobs, **held[1])
            self._calibrate(self._solution_now.comparable(score), rows=np.flatnonzero(drawn))

    def _refuse_graph(self, what: str) -> None:
        if self._learns_kernel:
            raise ValueError(
                f"{what}: leave-one-out scores don't give valid false alarm rates with a kernel "
                "that depends on all rows; fit with target_fpr and calibration='split' (or "
                "'auto')."
            )

    def _calibrate_or_reset(self) -> None:
        """Calibrate a model with ``target_fpr``; refused or interrupted, it is not fitted."""
        if self.target_fpr is None:
            return
        with self._discard_on_error(interrupted=True):
            self._get_conformal()

    def _keep(
        self, rows: RowSource, problem: ProblemInMemory, result: Result, solution: OneClassSolution
    ) -> None:
        """Keep the solution of a fit, and its rows where these can be updated."""
        stream = None
        if rows.is_updatable:
            in_memory = cast(MemorySource, rows)
            stream = ConvexStream(
                problem.formulation,
                problem.kernel,
                RowStore(in_memory.everything, **in_memory.marks),
                (in_memory.scatter(result.a), result.multiplier),
                shift=problem.shift,
                n_steps=solution.n_iter,
                history=solution.history,
            )
        self._attach_stream(stream)
        known = {}
        if solution.rate is None and not solution.is_point:  # which the fit warns of
            rounding = solution.function.rounding
            known[SHARE_OUTSIDE] = measure_share_outside(rows, problem, result, rounding)
        self._store_solution(solution, **known)
        if rows.backend is not None:
            self._backend = rows.backend
        if rows.held_out is not None:
            normal = slice(None) if rows.anomalies is None else ~rows.anomalies
            self._held_out_share = float(rows.held_out.mask[normal].mean())

    def _get_conformal(self) -> Conformal:
        """Return the model's ``Conformal``. What it takes is computed now, if need be."""
        with lock_of(self):
            found = self._fitted_values.peek("conformal", self._version)
            if found is None:
                # This may begin the path of the rows: then the solution is another one.
                found = self._calibrate(*self._scores_to_calibrate())
        return found

    def _calibrate(
        self, scores: FloatArray, keys: AnyArray | None = None, rows: IntArray | None = None
    ) -> Conformal:
        """Store the ``Conformal`` of scores of rows, with ``keys`` if they are trained on."""
        order = np.argsort(scores, kind="stable")
        keys = None if keys is None else keys[order]
        rows = None if rows is None else rows[order]
        found = replace(self._solution_now.calibrated(scores[order], keys), rows=rows)
        if found.rate is not None and not found.rank:
            warn(few_rows_message(found.rate, len(scores)), UserWarning)
        self._fitted_values.store("conformal", self._version, found)
        return found

    def _scores_to_calibrate(self) -> ScoredRows:
        stream = cast(ConvexStream | None, self._stream)
        if stream is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted without target_fpr and doesn't store its "
                "training rows; pass target_fpr and fit it again."
            )
        if not stream.done:
            last = self._fitted_values.latest("conformal")
            if last is None:
                raise ValueError("an update is unfinished; call resume() first.")
            return last.scores, last.keys, last.rows
        marks = held_out_marks(stream)
        if marks is None:
            self._refuse_graph("p-values")
        if marks is None and stream.path is None:
            n, n_support = self.shape_fit_[0], int(self.n_support_.sum())
            if self.target_fpr is None and is_split(self.calibration, False, n, n_support):
                raise ValueError(
                    f"p-values of {n} rows with {n_support} support vectors need leave-one-out "
                    "scores, which takes long; pass target_fpr and fit again, or "
                    "calibration='leave-one-out' to compute them anyway."
                )
            stream = cast(ConvexStream, self._ready_stream())
            self._run_update("fit", stream)
        solution = self._solution_now

        def score(rows: RowMatrix) -> FloatArray:
            return solution.comparable(solution.function(rows, n_jobs=self.n_jobs))

        if marks is not None:
            places = stream.rows.places[marks]
            return score(held_rows(stream, places)), None, np.flatnonzero(marks)
        tail = solution.function.tail / solution.scale
        own, deadline = solution.function.self_weight, self._deadline
        if not stream.done:
            deadline.cut.append(
                "calibration scores are from training rows, so more rows than target_fpr may be "
                "rejected (resume() continues)"
            )
            return score(held_rows(stream, normal_places(stream))), None, None
        fewest = 1 if solution.rate is None else int(np.ceil(1.0 / solution.rate))
        places, scores = scores_left_out(stream, own, score, tail, deadline, fewest)
        numbers = np.searchsorted(stream.rows.places, places)
        return scores, row_numbers_of(held_rows(stream, places)), numbers

    @property
    def _threshold(self) -> float:
        """The score below which rows are rejected: calibrated, or the model's own boundary."""
        solution = self._solution_now
        if solution.rate is None:
            return solution.function.boundary
        return self._get_conformal().threshold

    def _draw_tie_breakers(self, n: int) -> FloatArray:
        """Return the next n of the model's random numbers, in (0, 1]."""
        with lock_of(self):
            if isinstance(self.random_state, np.random.RandomState):
                return 1.0 - self.random_state.uniform(size=n)
            seed, used = self._seed(), 0
            if self._tie_state is not None and self._tie_state[0] == seed:
                used = self._tie_state[1]
            self._tie_state = seed, used + n
            return numbers_after(used, n, seed)

    def _make_redraw(self) -> Redraw | None:
        """Return the ``Redraw`` of one update; None without a split."""
        return Redraw.for_stream(
            cast(ConvexStream, self._stream), self._held_out_share, self._seed()
        )
