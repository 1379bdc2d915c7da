"""Support vector machine for positive and unlabelled rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ..solvers import Status
from ..training.positive_unlabelled.double_hinge import solve_double_hinge
from ..training.positive_unlabelled.leave_one_out import unlabeled_left_out
from ..training.positive_unlabelled.ramp import solve_ramp
from ..training.positive_unlabelled.scores import quantile_cut
from ..training.positive_unlabelled.settings import PUSettings, weight_of_norm
from ._probability import PROBABILITY
from ._probability_pu import PUProbability
from ._pu_machine import PUMachine
from ._pu_updates import PUStreaming

# Attributes that do not depend on prior, lambda or loss.
_FOUND_IN_READING = (
    "classes_", "shape_fit_", "gamma_", "n_features_in_", "feature_names_in_",
    "_kept", "_sparse", "_shift",
)  # fmt: skip


class PUSVM(PUProbability, PUStreaming, PUMachine):
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
        price ``c1 = prior / (2 lam p)`` of a positive row the same whatever their number.
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
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        Kernel. A callable gets two arrays of rows and returns the matrix of values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=1.0
        Independent term of "poly" and "sigmoid".
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
    max_time : float or None, default=None
        Limit on the seconds of a fit ("decomposition", "usmo").
    cache_size : float, default=200
        Memory for kernel columns and working sets, in MB, > 0.
    max_steps : int or None, default=None
        Steps of the path after which ``partial_fit`` and ``forget`` pause, with a warning;
        :meth:`resume` goes on. None for no limit.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from and of the prior's estimation.
        None means 0.
    verbose : bool, default=False
        Print a line per round.
    probability : {"isotonic", "sigmoid"} or None, default=None
        Whether there is ``predict_proba``, and its curve from decisions to probabilities, fitted
        without negatives to scores of rows left out, such that the mean over the unlabelled ones
        is the prior. "isotonic" is the mean of the best increasing function and the best sigmoid.

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
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training rows.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        Support vectors; empty for a precomputed kernel.
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
        The objective is at most this far from the optimum. For the ramp loss, of the
        last convex step.
    n_iter_ : int
        Iterations; pair steps of "decomposition" and "usmo".
    history_ : list of dict
        One entry per outer round.
    objectives_ : list of float or None
        For the ramp loss: the objective after each convex step.
    fit_status_ : int
        0 when the tolerance was reached, 1 otherwise (a warning was given).
    gamma_ : float
        The coefficient that ``gamma`` stood for; 0 for kernels without one.
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

    _parameter_constraints: dict = {  # noqa: RUF012
        "prior": [StrOptions({"estimate"}), Real],
        "lam": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"double-hinge", "ramp"})],
        "threshold": [StrOptions({"leave-one-out", "prior", "risk"})],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "solver": [StrOptions({"auto", "decomposition", "usmo", "qp"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "pos_label": "no_validation",
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "probability": PROBABILITY,
    }

    def __init__(
        self,
        prior="estimate",
        lam="auto",
        loss="double-hinge",
        threshold="leave-one-out",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        solver="auto",
        tol=1e-3,
        max_iter=-1,
        pos_label=None,
        max_time=None,
        cache_size=200,
        max_steps=None,
        n_jobs=None,
        random_state=None,
        verbose=False,
        probability=None,
    ):
        self.prior = prior
        self.lam = lam
        self.loss = loss
        self.threshold = threshold
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.max_time = max_time
        self.cache_size = cache_size
        self.max_steps = max_steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.probability = probability

    # -- fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
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

        Returns
        -------
        self : PUSVM
        """
        self._check_settings()
        data = self._read(X, y, sample_weight)
        self._set_prior(data)
        self._report(self._fit_data(data, None, callback), stacklevel=5)
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
        settings = _zipped(lam, prior)
        machines = [clone(self).set_params(**setting) for setting in settings]
        for machine in machines:
            machine._validate_params()
            machine._check_settings()
        data = before = None
        for machine in machines:
            if data is None:
                data = machine._read(X, y, sample_weight)
            else:
                machine._copy_reading(machines[0])
            first = machines[0] if machine.prior == "estimate" else None
            machine._set_prior(data, first)
            found = machine._fit_data(data, before, None)
            machine._report(found, stacklevel=4)
            before = machine.lam_, found
        return machines

    def _check_settings(self):
        self._check_prior()
        if self.loss == "ramp" and self.solver == "usmo":
            raise ValueError(
                "solver='usmo' is for loss='double-hinge'; with loss='ramp' pass "
                "solver='decomposition' or 'qp'."
            )

    def _copy_reading(self, other):
        for name in (
            "classes_",
            "shape_fit_",
            "gamma_",
            "_kept",
            "_sparse",
            "_shift",
            "n_features_in_",
        ):
            setattr(self, name, getattr(other, name))
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    def _fit_data(self, data, before, callback):
        """Solve; ``before`` is None or lambda and solution of a machine over the same rows."""
        self._stream = None
        self.lam_ = weight_of_norm(self.lam, float(data.weight_positive.sum()))
        settings = PUSettings(
            self.prior_, self.lam_, self.loss, self.solver, self.threshold,
            self._settings(self.tol, 0.0, callback),
        )  # fmt: skip
        if self.loss == "ramp":
            found = solve_ramp(data, settings)
        else:
            found = solve_double_hinge(data, settings, before)
        self._store_machine(data, found)
        if self.loss == "double-hinge":
            self._hold_data(data, found.result.multiplier)
        return found

    def _report(self, found, stacklevel):
        # USMO without iterations is asked for its start: a classifier of its own.
        is_start = self.solver == "usmo" and found.result.status is Status.MAX_ITER
        if not (is_start and self.max_iter == 0):
            self._report_status(found.result, self.tol, stacklevel)

    def _store_machine(self, data, found):
        self.objectives_ = found.objectives  # None for the convex loss
        self.objective_, self.duality_gap_ = found.objective, found.gap
        bias = float(found.bias)
        support = self._store_function(data.rows, found.coef, found.result, found.gram)
        among = np.isin(support, data.positive, assume_unique=True)
        self.n_support_ = np.array([np.sum(~among), np.sum(among)], dtype=np.int32)
        self._store_bias(bias)
        self.risk_intercept_ = float(self.intercept_[0])
        self._curve, left_out = {}, None
        held_later = self.loss == "double-hinge" and self.kernel != "precomputed"
        has_curve = self.probability is not None
        if self.threshold == "leave-one-out" or (has_curve and not held_later):
            left_out = unlabeled_left_out(found, data)
        if self.threshold != "risk":
            f = found.f if self.threshold == "prior" else left_out
            rounding = max(self._rounding, self._noise(found.gram, found.coef))
            bias = -quantile_cut(f, data.weight_unlabeled, self.prior_, rounding)
            self._store_bias(bias)
        if has_curve and left_out is not None:
            self._curve = self._scores_left_out(data, found, left_out)
        self._store_transduction(data, found.f + bias)


def _zipped(lam, prior):
    """The settings of a path, one dict each."""
    given = {"lam": lam, "prior": prior}
    given = {k: np.asarray(v, dtype=float) for k, v in given.items() if v is not None}
    shapes = {v.shape for v in given.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1 or shapes == {(0,)}:
        shown = ", ".join(f"{name} of shape {v.shape}" for name, v in given.items()) or "neither"
        raise ValueError(
            f"a path needs lam, prior or both as non-empty sequences of equal length; got {shown}."
        )
    columns = [v.tolist() for v in given.values()]
    return [dict(zip(given, values, strict=True)) for values in zip(*columns, strict=True)]
