"""Support vector machine for positive and unlabelled rows."""

from dataclasses import dataclass, replace
from numbers import Real
from operator import methodcaller
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import AnyArray, ClassesLike, FloatArray, MatrixLike, SeedLike, VectorLike
from .._util.available import available_if
from .._util.messages import Message, ref
from .._util.threads import resolve_n_jobs
from ..base.kernel_estimator import COMMON, KernelEstimator, OutOfCoreSupport, solution_attr
from ..base.locking import consistent, fitting
from ..base.solution import (
    ROUNDING,
    Function,
    RowStream,
    describe_run,
    make_function,
    typical_terms,
)
from ..base.two_classes import PROBABILITY, TwoClassEstimator
from ..calibration.curve import Curve
from ..calibration.fit_curves import curve_with_prior, curve_with_priors
from ..class_prior.prior import Prior, check_prior
from ..data.labels.arrays import check_classes
from ..data.labels.positive_unlabelled import read_labels, read_more_labels
from ..kernels import KernelLike, SharedLeaves, Trees
from ..kernels.rows import row_products
from ..rows.device import backend_of
from ..rows.memory import MemorySource
from ..rows.row_store import RowStore
from ..rows.source import ShardedSource
from ..rows.validation import check_weight
from ..solvers import Result, Status
from ..solvers.run import Callback
from . import base
from .bounded_stream import BoundedPUStream
from .data import HeldOutScores, PUSettings, PUSolution, PUSVMFit
from .leave_one_out import score_unlabeled_left_out, shift_of_positives_left_out
from .problem import DoubleHinge, DoubleHingeOverAll, weight_of_norm
from .rows import PURows, PURowsBase, ShardedPURows, SupportRows
from .stream import PUStream
from .task import LOSSES, POSITIVE_UNLABELLED

CONSTRAINTS: dict[str, Any] = {
    **COMMON,
    "kernel": [*COMMON["kernel"], StrOptions({Trees.name}), Trees, SharedLeaves],
    "prior": [StrOptions({"estimate"}), Real],
    # Twice lambda is a number, too.
    "lam": [StrOptions({"auto"}), Interval(Real, 0.0, 1e300, closed="right")],
    "loss": [StrOptions(set(LOSSES))],
    "threshold": [StrOptions({"leave-one-out", "prior", "risk"})],
    "sampling": base.SAMPLING,
    "bias": [Interval(Real, 1.0, None, closed="left")],
    "solver": [StrOptions({"auto", "decomposition", "usmo", "qp"})],
    "pos_label": "no_validation",
    "probability": PROBABILITY,
}
# Rounding errors of kernel values are independent; a sum of them rarely is larger by this.
_NOISE_FACTOR = 8.0


@dataclass(eq=False, repr=False)
class PUSVM(TwoClassEstimator):
    r"""Support vector machine for positive and unlabelled rows.

    Use it if some rows of one class are labelled and the other rows may belong to it too: known
    fraud, relevant documents. It estimates how many unlabelled rows are positive and finds them.
    :class:`PUEnsemble` is usually more accurate and slower. Choose PUSVM if you need updates,
    a sparse model or a duality gap.

    It assumes that the labelled positives are a random sample of all positives, unless ``fit``
    gets their propensities. It minimises an unbiased estimate of the risk (Sansone et al. 2019,
    eq. (4)) of f(x) = <w, phi(x)> + b:

    .. math:: \lambda \|w\|^2 + \pi \, E_P[\ell(f, +1) - \ell(f, -1)] + E_U[\ell(f, -1)]

    Parameters
    ----------
    prior : "estimate" or float, default="estimate"
        Share of positives among the *unlabelled* rows, in (0, 1). "estimate" uses
        :func:`fewlabels.class_prior.estimate_prior`. Pass it if you know it.
    kernel : str, Manifold, Trees or callable, default="rbf"
        As in :class:`SVDD`. "trees" is half Gaussian and half the share of trees in which two
        rows reach the same leaf, in a forest grown on labelled against unlabelled rows
        (settings: :class:`fewlabels.kernels.Trees`).
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`SVDD`.
    lam : "auto" or float, default="auto"
        Regularisation strength, in (0, 1e300]. Larger is smoother. "auto" is ``0.15 / p`` with
        p the number (sum of weights) of positive rows.
    threshold : {"leave-one-out", "prior", "risk"}, default="leave-one-out"
        Where the decision is zero. "prior": the share of unlabelled training rows above it is
        the prior, up to ties. "leave-one-out": the same, with every row scored as if it hadn't
        been trained on (span rule), which is best for new rows. "risk": where the estimated
        risk is smallest (eq. (16)), which can put all rows on one side if ``lam`` is large.
    probability : {"isotonic", "sigmoid"} or None, default=None
        Enables ``predict_proba`` and sets its curve. The curve is fitted without negatives to
        leave-one-out scores, so that the mean over the unlabelled rows is the prior. "isotonic"
        averages the best increasing function and the best sigmoid. If the prior is given,
        probabilities agree with ``predict``. If it is estimated, they are averages over its
        distribution, so where the data leave it open, rows above the threshold may be below 0.5.
    pos_label : value of y or None, default=None
        The positive class, if it isn't the greater value of y.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        Where unlabelled rows come from, if ``fit`` gets propensities. "two-sample": a sample of
        their own, in which positives are as in the population. "one-sample": the rows that were
        left when some positives were labelled, so positives with large propensities are rare.
        A labelled row of propensity e then has weight (1 - e) / e instead of 1 / e, and an
        estimated prior follows from the propensities alone.
    bias : float, default=1.0
        Bound on selection bias, >= 1. The weight of each labelled row may be off by this factor
        either way, and the worst weights count: a labelled row with f > 0 weighs 1 / ``bias``, one
        with f < 0 weighs ``bias``. The problem stays convex. With ``bias > 1`` an update solves it
        afresh. See :func:`fewlabels.model_selection.bias_sensitivity`.
    loss : {"double-hinge", "ramp"}, default="double-hinge"
        "double-hinge" is ``max(-z, max(0, (1 - z) / 2))``, a convex problem. "ramp" is
        ``min(1, max(0, (1 - z) / 2))``, which limits the loss of wrong labels. It isn't convex:
        the concave-convex procedure finds a local minimum.
    degree, coef0
        As in :class:`SVDD`.
    max_time, cache_size, max_steps, n_jobs
        As in :class:`SVDD`. ``max_time`` also limits the estimate of the prior and the
        leave-one-out scores.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from and of the prior's estimate. None means
        0.
    tol : float, default=1e-3
        Bound on the violation of the optimality conditions (13), in units of f, > 0. "qp" uses
        at least 1e-10 on its own gap.
    max_iter : int, default=-1
        Limit on iterations, as the solver counts them; -1 for the solver's own limit.
    verbose : bool, default=False
        Print a line per round.
    solver : {"auto", "decomposition", "usmo", "qp"}, default="auto"
        "auto" is "decomposition", which is exact and needs no n x n matrix. "usmo" is the
        paper's Algorithm 1 (double hinge only); with ``max_iter=0`` its initialisation alone. It
        can be quicker where nearly every row is a support vector and a rough solution will do.
        "qp" is Clarabel (``pip install fewlabels[qp]``), with an n x n matrix.

    Attributes
    ----------
    prior_ : float
        Share of positives among the unlabelled rows, given or estimated.
    lam_ : float
        The value of ``lam`` used.
    prior_interval_ : tuple of float or None
        90 % interval of an estimated prior.
    prior_quantiles_ : ndarray of shape (32,) or None
        Quantiles of the estimate's distribution, at the middles of equal parts of (0, 1).
    propensity_weights_ : PropensityWeights or None
        How propensities became weights of the labelled rows: ``strength`` between 0 (equal
        weights) and 1 (inverse propensities), ``n_clipped``, ``effective_size``.
    classes_ : ndarray of shape (2,)
        The value that marks unlabelled rows (also predicted for negatives), and the positive
        class.
    support_, support_vectors_, history_, fit_status_, stop_reason_, gamma_
        As of :class:`SVDD`.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients:
        ``decision_function(x) = dual_coef_ @ K(support_vectors_, x) + intercept_``. c1 for
        positive rows, -sigma for unlabelled ones (eq. (7)).
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias, for the chosen threshold.
    risk_intercept_ : float
        Bias that minimises the risk: the mean over rows between breakpoints (eq. (16)), or the
        middle of the interval that optimality leaves if there are none.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training rows: given for the positives, predicted for the others.
    objective_ : float
        Regularised risk (4) at the solution, with ``risk_intercept_``.
    duality_gap_ : float
        Upper bound on how far the objective is from the optimum; for the ramp loss, the gap of the
        last convex step. NaN if the kernel matrix isn't positive semi-definite.
    n_iter_ : int
        Iterations; pair steps of "decomposition" and "usmo".
    objectives_ : list of float or None
        For the ramp loss: the objective after each convex step.
    n_support_ : ndarray of shape (2,)
        Support vectors among the unlabelled rows and among the positive ones.
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PUEnsemble : usually more accurate, slower.
    fewlabels.class_prior.estimate_prior : the prior and its interval alone.
    fewlabels.tune : chooses ``lam`` and ``gamma``.

    Notes
    -----
    If obvious positives were labelled first, the estimated prior is too small and
    ``prior_interval_`` doesn't show it, unless propensities are passed. Sample weights act as
    repetitions.

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

    task = POSITIVE_UNLABELLED
    _out_of_core = OutOfCoreSupport(
        {"solver": ("auto", "decomposition"), "loss": ("double-hinge",), "probability": (None,)}
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    prior: str | float = "estimate"
    lam: str | float = "auto"
    loss: str = "double-hinge"
    threshold: str = "leave-one-out"
    kernel: KernelLike = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    pos_label: object = None
    max_time: float | None = None
    cache_size: float = 200
    max_steps: int | None = None
    n_jobs: int | None = None
    random_state: SeedLike = None
    verbose: bool = False
    probability: str | None = None
    sampling: str = "two-sample"
    bias: float = 1.0
    _FIXED = ("prior", "lam", "loss", "sampling", "bias", *KernelEstimator._FIXED)

    @fitting
    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike | None = None,
        callback: Callback | None = None,
        *,
        propensity: VectorLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Two values, or one and missing ones (NaN, None, ""). The greater value (or
            ``pos_label``) marks positive rows, the other one unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out. They act as repetitions, so that
            ``lam="auto"`` depends on their unit.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.
        propensity : float or array-like of shape (n_samples,), default=None
            P(labelled | positive, x) of the labelled rows, in (0, 1]; values of other rows aren't
            used. A labelled row of propensity e counts 1 / e times. Weights beyond ten times the
            median are clipped, and all are shrunk towards equal ones as far as their variance
            outweighs the bias that they remove. Their sum doesn't change. With
            ``sampling="two-sample"`` only ratios of propensities matter.
        """
        self._check_settings()
        base.refuse_no_labels(self, y)
        with self._source(X, sample_weight, y=y) as source:
            rows: PURows | ShardedPURows
            if isinstance(source, ShardedSource):
                rows = self._read_sharded(source, y, propensity)
            else:
                rows = base.read_labelled_rows(self, cast(MemorySource, source), y, propensity)
            self._fit_rows(rows, base.find_prior_of(self, rows), callback=callback)
            if source.backend is not None:
                self._backend = source.backend
        return self

    def path(
        self,
        X: MatrixLike,
        y: VectorLike,
        *,
        lam: VectorLike | None = None,
        prior: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        propensity: VectorLike | None = None,
    ) -> list[Self]:
        """Fitted models along a sequence of settings, each started from the one before.

        Changing lambda alone needs no new kernel value to start from; changing the prior
        needs few.

        Parameters
        ----------
        X, y, sample_weight, propensity
            As in :meth:`fit`.
        lam, prior : array-like of float, default=None
            The settings, of equal length when both are given; None keeps this model's
            own. Lambdas from large to small are fastest.

        Returns
        -------
        list of PUSVM
            One fitted model per setting, in the order given.
        """
        models = [clone(self).set_params(**setting) for setting in base.zip_settings(lam, prior)]
        return base.fit_each_setting(models, X, y, sample_weight, propensity=propensity)

    # -- updates ---------------------------------------------------------------------------------

    @available_if(methodcaller("_check_updatable"))
    @fitting
    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        propensity: VectorLike | None = None,
    ) -> Self:
        """Add rows and follow the solution: what ``fit`` on all rows would give.

        The first call on a new model is ``fit``. ``gamma_``, ``prior_`` and, under the linear
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
        propensity : float or array-like of shape (n_samples,), default=None
            As in ``fit``, for the new labelled rows of a model that was fitted with propensities.
            ``propensity_weights_`` stays what it is.
        """
        if not self.__sklearn_is_fitted__():
            self.fit(X, cast(VectorLike, y), sample_weight, propensity=propensity)
            check_classes(classes, self.classes_)
            return self
        self._ready_stream()
        check_classes(classes, self.classes_)
        return self._add(X, y, sample_weight, propensity)

    # -- predictions -----------------------------------------------------------------------------

    def score(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None
    ) -> float:
        """ROC AUC of positive rows against all other rows.

        Searches such as ``GridSearchCV(PUSVM(), ...)`` maximise it. It ranks decision functions as
        the area against true negatives does, see :func:`fewlabels.metrics.pu_auc`. (Accuracy would
        take unlabelled rows for negatives.) It doesn't depend on the threshold or on the prior: to
        choose these, pass ``scoring=make_pu_scorer(...)``. Where ``y`` holds true classes, it is
        the ordinary area.

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
        return base.score_ranking(self, X, y, sample_weight)

    @consistent
    def leave_one_out_decisions(self, indices: npt.ArrayLike | None = None) -> np.ndarray:
        """f of training rows by the models trained without them, exactly.

        With the bias of least risk (``risk_intercept_``), whatever ``threshold`` is, and the
        prior that all rows have. Nothing is trained: a row between breakpoints is forgotten and
        put back, and so is a positive one, which moves the whole model and takes longer.

        Parameters
        ----------
        indices : array-like of int, mask of shape (n_samples,) or None, default=None
            Training rows; None for all.

        Returns
        -------
        ndarray of shape (n_indices,)
        """
        stream, places = self._prepare_left_out(indices)
        counts = stream.rows["weight"][places] > 0
        values = np.empty(len(places))
        values[counts] = stream.decide_left_out(places[counts])
        if not counts.all():  # rows of weight 0 have no part in any model
            values[~counts] = self.function_(stream.rows.rows(places[~counts]))
        return values

    # -- what a fit has found --------------------------------------------------------------------

    @property
    @consistent
    def has_curve_(self) -> bool:
        """bool: Whether probabilities are requested, and known without training again."""
        asked = self.probability is not None
        return super().has_curve_ or (asked and self._held_out is not None)

    @property
    def transduction_(self) -> AnyArray:
        return base.label_training_rows(self)

    lam_ = solution_attr("lam")
    risk_intercept_ = solution_attr("risk_intercept")
    objectives_ = solution_attr("objectives")

    # -- how it is done --------------------------------------------------------------------------

    def _describe_solution(self) -> PUSVMFit:
        stream = cast(PUStream | BoundedPUStream, self._stream)
        rows, found = stream.current_solution()
        return self._solution(rows, found, stream.stated.lam, True)

    def _read_new_rows(
        self,
        X: MatrixLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        propensity: VectorLike | None,
    ) -> dict[str, Any]:
        X = self._rows_to_score(X)
        new = MemorySource(X, *check_weight(sample_weight, X))
        positive = read_more_labels(y, X.shape[0], self.classes_)
        weights = getattr(self, "propensity_weights_", None)
        factor = base.new_row_factors(weights, propensity, positive)
        return {"X": X, "weight": new.scatter(new.weights), "positive": positive, **factor}

    def _check_updatable(self) -> bool:
        """True where the solution can follow its rows; else an error that says why not."""
        if not LOSSES[self.loss]:
            raise ValueError(
                Message(
                    f"{ref('loss', self.loss)} has many local minima and can't be updated; fit "
                    f"again, or use {ref('loss', 'double-hinge')}."
                )
            )
        if self.bias > 1.0 and self.max_steps is not None:
            raise ValueError(
                f"max_steps={self.max_steps} is for models with bias=1; an update with "
                f"bias={self.bias:g} solves the problem afresh. Pass max_steps=None."
            )
        return True

    def _ready_stream(self) -> RowStream:
        self._check_is_fitted()
        self._check_updatable()
        return super()._ready_stream()

    def _fit_curve(self) -> Curve:
        """Return the curve of the scores of rows left out."""
        held_out, stream = self._held_out, cast(PUStream | BoundedPUStream | None, self._stream)
        if held_out is None:
            if stream is None:
                raise ValueError(
                    f"this {type(self).__name__} has neither training rows nor calibrated "
                    "probabilities; call predict_proba once before you save the model or release "
                    "its rows, or fit again."
                )
            rows, found = stream.current_solution()
            left_out = score_unlabeled_left_out(found, rows.data, self._deadline)
            held_out = self._scores_left_out(rows, found, self.function_, left_out)
        positive, unlabeled = held_out
        kind, quantiles = self.probability, self.prior_quantiles_
        assert kind is not None
        if quantiles is not None:
            return curve_with_priors(positive, unlabeled, quantiles, kind)
        curve = curve_with_prior(positive, unlabeled, self.prior_, kind)
        return replace(curve, agrees=True)

    def _cached_names_to_keep(self) -> list[str]:
        """Return the curve that is known, or follows from scores which a file does not hold."""
        if self.probability is None:
            return []
        if self._held_out is not None:
            self._get_value(self._curve_name, self._fit_curve)
        return [self._curve_name]

    def _state(self) -> dict[str, Any]:
        """With the curve that was requested in place of the scores that it is fitted to."""
        if self._cache is None or self.probability is None:
            return super()._state()
        self._cached_names_to_keep()
        state = super()._state()
        late = state["_cache"]
        solution = replace(late.latest("solution"), held_out=None)
        return {**state, "_cache": late.with_value("solution", solution)}

    def _read_sharded(
        self, source: ShardedSource, y: VectorLike, propensity: VectorLike | None
    ) -> ShardedPURows:
        """Return the ``ShardedPURows`` of a source, and set the attributes that follow from it."""
        given = ["propensity"] * (propensity is not None) + ["bias"] * (self.bias > 1.0)
        if given:
            raise ValueError(
                f"{' and '.join(given)} needs rows in memory as a NumPy array, a sparse matrix or "
                "a data frame; pass a sample of the rows in one of these forms, or leave it out."
            )
        kernel = self._set_kernel(source)
        assert kernel is not None
        self.classes_, self.propensity_weights_ = self._mark_positive(source, y), None
        return ShardedPURows.from_source(source, kernel, self.lam, resolve_n_jobs(self.n_jobs))

    def _mark_positive(self, source: ShardedSource, y: VectorLike) -> AnyArray:
        """Mark the positive rows of a source, and return the classes."""
        backend = backend_of(y)
        y = y if backend is None else backend.numpy(y)
        positive, classes = read_labels(y, self.pos_label)
        if len(positive) != source.n:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{source.n}, {len(positive)}]"
            )
        source.add_marks(positive=positive)
        return classes

    def _check_settings(self) -> None:
        check_prior(self.prior)
        is_convex = LOSSES[self.loss]
        if not is_convex and self.solver == "usmo":
            raise ValueError(
                f"solver='usmo' is for loss='double-hinge'; with loss={self.loss!r} pass "
                "solver='decomposition' or 'qp'."
            )
        if self.bias > 1.0 and (not is_convex or self.solver == "usmo"):
            raise ValueError(
                f"bias={self.bias:g} is for loss='double-hinge' and solver='decomposition' or "
                "'qp'; pass these, or bias=1."
            )

    def _fit_rows(
        self,
        rows: PURows | ShardedPURows,
        prior: Prior,
        before: tuple[float, PUSolution] | None = None,
        callback: Callback | None = None,
    ) -> PUSolution:
        """Solve; ``before`` is None or lambda and solution of a model over the same rows."""
        self.prior_, self.prior_interval_, self.prior_quantiles_ = prior
        lam = weight_of_norm(self.lam, rows.weight_positive)
        engine = self._settings(self.tol, 0.0, callback)
        settings = PUSettings(
            self.prior_, lam, self.solver, engine, float(self.bias), self.loss, self.lam == "auto"
        )
        found, weighed, stated = rows.train(settings, before)
        is_held = stated is not None and self.kernel != "precomputed"
        solution = self._solution(weighed, found, lam, is_held)
        stream = None
        if stated is not None and is_held:
            stream = self._make_stream(stated, cast(PURows, weighed), found.result, solution)
        self._attach_stream(stream)
        self._store_solution(solution)
        # USMO without iterations gives its start: a classifier of its own.
        is_start = self.solver == "usmo" and found.result.status is Status.MAX_ITER
        if not (is_start and self.max_iter == 0):
            self._report_status(found.result, self.tol, found.gap)
        return found

    def _solution(
        self, rows: PURows | SupportRows, found: PUSolution, lam: float, is_held: bool
    ) -> PUSVMFit:
        """Return the function, cut where ``threshold`` says, and what follows from it."""
        data, gram, left_out = rows.data, found.gram, None
        has_curve = self.probability is not None
        if self.threshold == "leave-one-out" or (has_curve and not is_held):
            left_out = score_unlabeled_left_out(found, data, self._deadline)
        used = np.flatnonzero(found.coef)
        terms = typical_terms(data.diagonal(used), found.coef[used])
        rounding = ROUNDING * float(terms.sum())
        bias = float(found.bias)
        if self.threshold != "risk":
            noise = _NOISE_FACTOR * min(1.0, gram.value_error) * float(np.linalg.norm(terms))
            f = found.f if self.threshold == "prior" else left_out
            assert f is not None
            bias = -rows.find_cut(f, self.prior_, max(rounding, noise))
        function, places, support = make_function(
            data.kernel,
            gram,
            rows.X,
            found.coef,
            rows.numbers,
            bias=float(bias),
            shift=rows.shift,
            rounding=rounding,
        )
        held_out = None
        if has_curve and left_out is not None:
            held_out = self._scores_left_out(rows, found, function, left_out)
        moved = 0.0 if rows.shift is None else float(function.weights @ rows.shift)
        counts, run = rows.count_support(places), found.result
        return PUSVMFit(
            function=function,
            **describe_run(support, counts, run.n_iter, run.history, run.converged),
            objective=found.objective,
            duality_gap=found.gap,
            is_positive=rows.predict_rows(function, found.f + bias),
            lam=lam,
            risk_intercept=float(found.bias) - moved,
            objectives=found.objectives,
            held_out=held_out,
        )

    def _scores_left_out(
        self, rows: PURowsBase, found: PUSolution, function: Function, left_out: FloatArray
    ) -> HeldOutScores:
        """Return the scores to fit the curve to; unlabelled rows have theirs already."""
        data = rows.data
        if data.kernel.is_matrix:
            decision = row_products(data.X[data.positive], found.coef) + function.bias
        else:
            decision = function(rows.X[data.positive], n_jobs=self.n_jobs)
        decision = decision + shift_of_positives_left_out(found, data)
        unlabeled = left_out + function.bias
        return (decision, data.weight_positive), (unlabeled, data.weight_unlabeled)

    def _make_stream(
        self, stated: DoubleHinge, rows: PURows, result: Result, solution: PUSVMFit
    ) -> PUStream | BoundedPUStream:
        """Return the rows of a fit, and its solution."""
        is_bounded = self.bias > 1.0
        a = np.zeros(rows.n)
        a[rows.numbers if is_bounded else rows.numbers[rows.data.unlabeled]] = result.a
        assert rows.held is not None
        kernel, held, start = rows.data.kernel, RowStore(**rows.held), (a, result.multiplier)
        n_steps, history = solution.n_iter, solution.history
        if not is_bounded:
            return PUStream(
                stated, kernel, held, start, shift=rows.shift, n_steps=n_steps, history=history
            )
        assert isinstance(stated, DoubleHingeOverAll)
        return BoundedPUStream(
            stated, kernel, held, start, shift=rows.shift, n_steps=n_steps, history=history
        )

    @property
    def _held_out(self) -> HeldOutScores | None:
        """Scores of rows as if they had not been trained on, where they are known."""
        return cast(PUSVMFit, self._solution_now).held_out
