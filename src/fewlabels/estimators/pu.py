"""Support vector machine for positive and unlabelled rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._available import available_if
from ..class_prior.finding import check_prior
from ..kernels import SharedLeaves, Trees
from ..labels.arrays import check_classes
from ..labels.positive_unlabelled import read_more_labels
from ..problem.positive_unlabelled import DoubleHinge, weight_of_norm
from ..solvers import Status
from ..streams.positive_unlabelled import PUStream
from ..streams.rows import HeldRows
from ..training.curves import curve_with_prior
from ..training.positive_unlabelled.data import PUSettings
from ..training.positive_unlabelled.leave_one_out import unlabeled_left_out
from ..training.positive_unlabelled.losses import (
    double_hinge_solution,
    solve_double_hinge,
    solve_ramp,
)
from . import positive_unlabelled
from .calls import consistent, fitting
from .elsewhere.places import place_of
from .kernel_machine import COMMON, KernelMachine, shown
from .rows import FitRows, check_weight, warn_of_lost_digits
from .two_classes import PROBABILITY, TwoClassMachine

CONSTRAINTS: dict = {
    **COMMON,
    "kernel": [*COMMON["kernel"], StrOptions({Trees.name}), Trees, SharedLeaves],
    "prior": [StrOptions({"estimate"}), Real],
    "lam": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
    "loss": [StrOptions({"double-hinge", "ramp"})],
    "threshold": [StrOptions({"leave-one-out", "prior", "risk"})],
    "solver": [StrOptions({"auto", "decomposition", "usmo", "qp"})],
    "pos_label": "no_validation",
    "probability": PROBABILITY,
}


def _refuse_ramp(machine):
    if machine.loss == "ramp":
        raise ValueError(
            "loss='ramp' has many local minima, and updates are for machines with one; fit again, "
            "or use loss='double-hinge'."
        )
    return True


@dataclass(eq=False, repr=False)
class PUSVM(TwoClassMachine):
    r"""Support vector machine that learns from positive and unlabelled rows.

    Finds f(x) = <w, phi(x)> + b that minimises (Sansone et al. 2019, eq. (4))

    .. math:: \lambda \|w\|^2 + \pi \, E_P[\ell(f, +1) - \ell(f, -1)] + E_U[\ell(f, -1)],

    an unbiased estimate of the risk of a classifier of all rows. Unlabelled rows are not
    taken for negatives: pi tells how many of them are positive.

    Parameters
    ----------
    prior : "estimate" or float, default="estimate"
        Share of positives among the *unlabelled* rows, in (0, 1). "estimate" takes
        :func:`fewlabels.class_prior.estimate_prior`.
    lam : "auto" or float, default="auto"
        Weight lambda of the norm, > 0. Larger values give smoother functions. "auto" is
        ``0.15 / p`` with p the number (sum of weights) of positive rows, which keeps the
        cost ``c1 = prior / (2 lam p)`` of a positive row the same whatever their number.
    loss : {"double-hinge", "ramp"}, default="double-hinge"
        ``max(-z, max(0, (1 - z) / 2))``, which makes the problem convex, or
        ``min(1, max(0, (1 - z) / 2))``, which does not: then a local minimum is found
        by the concave-convex procedure, started from the hinge loss.
    threshold : {"leave-one-out", "prior", "risk"}, default="leave-one-out"
        Where the decision is zero. "prior": such that the share of unlabelled training
        rows predicted positive is as near the prior as ties allow. "leave-one-out": the
        same, but with every row scored as if it had not been trained on (span rule); best
        for new rows. "risk": where the risk is smallest (eq. (16)), which moves all rows
        to one side when lambda is large.
    kernel, gamma, degree, coef0
        As in :class:`SVDD`; and "trees", half Gaussian, half leaves that rows share in a forest
        grown on labelled against unlabelled rows (:class:`fewlabels.kernels.Trees`).
    solver : {"auto", "decomposition", "usmo", "qp"}, default="auto"
        "decomposition" (which "auto" takes) is exact and needs no n x n matrix. "usmo"
        is the paper's Algorithm 1 with its initialisation (double hinge only); with
        ``max_iter=0`` the initialisation alone. "qp" hands the problem (6), or the steps
        for the ramp, to Clarabel (``pip install fewlabels[qp]``) with its n x n matrix.
    tol : float, default=1e-3
        Bound on the violation of the optimality conditions (13), in units of f, > 0.
        "qp" uses at least 1e-10 on its own gap.
    max_iter : int, default=-1
        Limit on iterations, as the solver counts them; -1 for the solver's own limit.
    pos_label : value of y or None, default=None
        The positive class, where it is not the greater value of y.
    max_time, cache_size, max_steps, n_jobs
        As in :class:`SVDD`. ``max_time`` also bounds what estimating the prior takes, from fewer
        rows, and leaving rows out, for which a bound takes the place of the span rule.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from and of the prior's estimation.
        None means 0.
    verbose : bool, default=False
        Print a line per round.
    probability : {"isotonic", "sigmoid"} or None, default=None
        Whether there is ``predict_proba``, and its curve from decisions to probabilities, fitted
        without negatives to scores of rows left out, such that the mean over the unlabelled ones
        is the prior. "isotonic" is the mean of the best increasing function and the best sigmoid.
        Rows that ``predict`` marks get one half at least, all others one half at most.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabelled rows, given or estimated.
    lam_ : float
        The number that ``lam`` stood for.
    prior_interval_ : tuple of float or None
        Confidence interval of an estimated prior.
    classes_ : ndarray of shape (2,)
        The mark of unlabelled rows (also the prediction for negatives) and the positive
        class, in the coding of y.
    support_, support_vectors_, history_, fit_status_, gamma_
        As of :class:`SVDD`.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients: ``decision_function(x) = dual_coef_ @ K(support_vectors_, x) +
        intercept_``. c1 for positive rows, -sigma for unlabelled ones (eq. (7)).
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias, for the chosen threshold.
    risk_intercept_ : float
        Bias that minimises the risk: the mean over rows between breakpoints (eq. (16)),
        or the middle of the interval that optimality leaves when there is none.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training rows: the positives' own, predictions for the others.
    objective_ : float
        Regularised risk (4) at the solution, with ``risk_intercept_``.
    duality_gap_ : float
        The objective is at most this far from the optimum; for the ramp loss, of the last
        convex step. NaN where the kernel matrix is not positive semi-definite.
    n_iter_ : int
        Iterations; pair steps of "decomposition" and "usmo".
    objectives_ : list of float or None
        For the ramp loss: the objective after each convex step.
    n_support_ : ndarray of shape (2,)
        Support vectors among the unlabelled rows and among the positive ones.
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Labelled positives are taken to be a random sample of all positives. Sample weights
    act as repetitions.

    References
    ----------
    Sansone, E., De Natale, F. G. B., Zhou, Z.-H. (2019). Efficient training for positive
    unlabeled learning. IEEE TPAMI 41.

    du Plessis, M. C., Niu, G., Sugiyama, M. (2015). Convex formulation for learning from
    positive and unlabeled data. ICML. (2014, NIPS, for the ramp loss.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import PUSVM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> model = PUSVM(prior=0.25).fit(X, y)
    >>> model.predict([[2.0, 2.0], [-2.0, -2.0]])
    array([1., 0.])
    """

    learns_from: ClassVar[str] = "positive"
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS

    prior: str | float = "estimate"
    lam: str | float = "auto"
    loss: str = "double-hinge"
    threshold: str = "leave-one-out"
    kernel: str | Callable = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    pos_label: Any = None
    max_time: float | None = None
    cache_size: float = 200
    max_steps: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False
    probability: str | None = None

    # -- fitting -------------------------------------------------------------------

    @fitting
    def fit(self, X, y, sample_weight=None, callback=None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two values, or one and missing ones (NaN, None). The greater value (or
            ``pos_label``) marks positive rows, the other one unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out. They act as repetitions, so that
            ``lam="auto"`` depends on their unit.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.
        """
        self._check_settings()
        place = place_of(self, X, sample_weight)
        if place is not None:
            from .elsewhere.positive_unlabelled import fit_pu_elsewhere, read_positive

            positive, classes = read_positive(self, y, X.shape[0])
            return fit_pu_elsewhere(self, place.marked(positive=positive), classes, callback)
        rows = positive_unlabelled.read(self, X, y, sample_weight)
        prior = positive_unlabelled.found_prior(self, rows)
        self._fit_rows(rows, prior, callback=callback)
        return self

    def path(self, X, y, *, lam=None, prior=None, sample_weight=None):
        """Fitted machines along a sequence of settings, each started from the one before.

        Changing lambda alone needs no new kernel value to start from; changing the prior
        needs few.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        lam, prior : array-like of float, default=None
            The settings, of equal length when both are given; None keeps this machine's
            own. Lambdas from large to small are fastest.

        Returns
        -------
        list of PUSVM
            One fitted machine per setting, in the order given.
        """
        machines = [
            clone(self).set_params(**setting) for setting in positive_unlabelled.zipped(lam, prior)
        ]
        return positive_unlabelled.fit_settings(machines, X, y, sample_weight)

    def _check_settings(self):
        check_prior(self.prior)
        if self.loss == "ramp" and self.solver == "usmo":
            raise ValueError(
                "solver='usmo' is for loss='double-hinge'; with loss='ramp' pass "
                "solver='decomposition' or 'qp'."
            )

    def _fit_rows(self, rows, prior, before=None, callback=None):
        """Solve; ``before`` is None or lambda and solution of a machine over the same rows."""
        self.prior_, self.prior_interval_ = prior
        data, is_ramp = rows.data, self.loss == "ramp"
        lam = weight_of_norm(self.lam, float(data.weight_positive.sum()))
        engine = self._settings(self.tol, 0.0, callback)
        settings = PUSettings(self.prior_, lam, self.solver, engine)
        if is_ramp:
            found = solve_ramp(data, settings)
        else:
            found = solve_double_hinge(data, settings, before)
        is_held = not is_ramp and self.kernel != "precomputed"
        solution = positive_unlabelled.described(self, rows, found, lam, is_held)
        self._hold(self._stream_of(rows, found.result, solution) if is_held else None)
        self._keep(solution)
        # USMO without iterations is asked for its start: a classifier of its own.
        is_start = self.solver == "usmo" and found.result.status is Status.MAX_ITER
        if not (is_start and self.max_iter == 0):
            self._report_status(found.result, self.tol, found.gap)
            warn_of_lost_digits(found.gram, found.result.a, 1.0, self.tol)
        return found

    def _stream_of(self, rows, result, solution):
        """The rows of a fit, and its solution."""
        formulation = DoubleHinge(self.prior_, solution.lam, follows=self.lam == "auto")
        a = np.zeros(rows.n)
        a[rows.numbers[rows.data.unlabeled]] = result.a
        return PUStream(
            formulation, rows.data.kernel, HeldRows(**rows.held), (a, result.multiplier),
            shift=rows.shift, n_steps=solution.n_iter, history=solution.history,
        )  # fmt: skip

    def score(self, X, y, sample_weight=None) -> float:
        """Area under the ROC curve of positive rows against all other rows.

        Searches such as ``GridSearchCV(PUSVM(), ...)`` maximise it. Its ranking of decision
        functions is that of the area against true negatives, see :func:`fewlabels.metrics.pu_auc`.
        (Accuracy would take unlabelled rows for negatives.) It doesn't depend on the threshold
        or on the prior: to choose these, pass ``scoring=make_pu_scorer(...)``. Where ``y`` holds
        true classes, it is the ordinary area.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Labels; rows of ``classes_[1]`` are positive.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            NaN, with a warning, without rows of both kinds.
        """
        from ..metrics.default_scores import positives_auc  # which takes its time

        decision = self._decision_in_memory(X)
        return positives_auc(y, decision, self.classes_[1], sample_weight)

    # -- what a fit has found ------------------------------------------------------

    transduction_ = property(positive_unlabelled.transduction)
    lam_ = shown("lam")
    risk_intercept_ = shown("risk_intercept")
    objectives_ = shown("objectives")

    @property
    @consistent
    def has_curve_(self):
        """Whether probabilities are asked for, and known without training again."""
        asked = self.probability is not None
        return super().has_curve_ or (asked and self._found.held_out is not None)

    # -- updates -------------------------------------------------------------------

    _FIXED = ("prior", "lam", "loss", *KernelMachine._FIXED)

    @available_if(_refuse_ramp)
    @fitting
    def partial_fit(self, X, y=None, classes=None, sample_weight=None) -> Self:
        """Add rows and follow the solution: what ``fit`` on all rows would give.

        The first call on a new machine is ``fit``. ``gamma_``, ``prior_`` and, under the linear
        kernel, the centre stay what they are; with ``lam="auto"`` lambda follows the number of
        positive rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``, but all rows may be of one kind; None when all are unlabelled.
        classes : array-like of shape (2,), default=None
            Not needed; refused when these are not ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        """
        if not self.__sklearn_is_fitted__():
            self.fit(X, y, sample_weight)
            check_classes(classes, self.classes_)
            return self
        self._ready_stream()
        check_classes(classes, self.classes_)
        return self._add(X, y, sample_weight)

    @consistent
    def leave_one_out_decisions(self, indices=None) -> np.ndarray:
        """f of training rows by the machines trained without them, exactly.

        With the bias of least risk (``risk_intercept_``), whatever ``threshold`` is, and the
        prior that all rows have. Nothing is trained: a row between breakpoints is forgotten and
        put back, and so is a positive one, which moves the whole machine and takes longer.

        Parameters
        ----------
        indices : array-like of int, mask of shape (n_samples,) or None, default=None
            Training rows; None for all.

        Returns
        -------
        ndarray of shape (n_indices,)
        """
        stream, places = self._leaving_out(indices)
        counts = stream.rows["weight"][places] > 0
        values = np.empty(len(places))
        values[counts] = stream.decisions_left_out(places[counts])
        if not counts.all():  # rows of weight 0 have no part in any machine
            values[~counts] = self.function_(stream.rows.rows(places[~counts]))
        return values

    def _ready_stream(self):
        check_is_fitted(self)
        _refuse_ramp(self)
        return super()._ready_stream()

    def _read_new(self, X, y, sample_weight):
        X = self._rows_to_score(X)
        new = FitRows(X, *check_weight(sample_weight, X))
        positive = read_more_labels(y, X.shape[0], self.classes_)
        return {"X": X, "weight": new.spread(new.weights), "positive": positive}

    def _describe(self):
        rows, found, lam = self._trained_now()
        warn_of_lost_digits(found.gram, found.result.a, 1.0, self.tol)
        return positive_unlabelled.described(self, rows, found, lam, True)

    def _trained_now(self):
        """Rows, solution and lambda where the stream stands."""
        rows, lam = self._stream.pu_rows(), self._stream.stated.lam
        problem, result = self._stream.solution(rows.data.gram)
        return rows, double_hinge_solution(problem, result, rows.data, lam), lam

    def _fit_curve(self):
        """The curve of the scores of rows left out."""
        held_out = self._found.held_out
        if held_out is None:
            if self._stream is None:
                raise ValueError(
                    f"this {type(self).__name__} holds neither its training rows nor a curve from "
                    "decisions to probabilities; call predict_proba once before the machine is "
                    "saved or its rows are released, or fit again."
                )
            rows, found, _ = self._trained_now()
            left_out = unlabeled_left_out(found, rows.data, self._deadline)
            held_out = positive_unlabelled.scores_left_out(
                self, rows, found, self.function_, left_out
            )
        curve = curve_with_prior(*held_out, self.prior_, self.probability)
        return replace(curve, agrees=True)

    # -- saving --------------------------------------------------------------------

    def _remembered(self):
        """The curve that is known, or follows from scores which a file does not hold."""
        if self.probability is None:
            return []
        if self._found.held_out is not None:
            self._computed(self._curve_name, self._fit_curve)
        return [self._curve_name]

    def _state(self):
        """With the curve that was asked for in place of the scores that it is fitted to."""
        if self._late is None or self.probability is None:
            return super()._state()
        self._remembered()
        state = super()._state()
        late = state["_late"]
        solution = replace(late.last("solution"), held_out=None)
        return {**state, "_late": late.with_value("solution", solution)}
