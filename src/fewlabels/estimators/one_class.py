"""One-class SVM: scikit-learn's estimator on this library's engine."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..fitted import OneClassSolution
from ..fitted.solution import rounding_of_scores
from ..problem.one_class import OneClass
from . import normal_rows
from .constraints import COMMON
from .kernel_machine import function_of, largest_value
from .updatable import UpdatableMachine


class OneClassSVM(OutlierMixin, UpdatableMachine):
    r"""One-class support vector machine, a drop-in for scikit-learn's class.

    Finds the function of smallest norm in the kernel's space that puts most rows above
    an offset:

    .. math:: \min_\alpha \tfrac12 \alpha' K \alpha \quad\text{subject to}\quad
              0 \le \alpha_i \le w_i,\; \sum_i \alpha_i = \nu \sum_i w_i

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        Kernel. A callable gets two arrays of rows and returns the matrix of values.
    degree : int, default=3
        Degree of "poly", >= 0.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    tol : float, default=1e-3
        Bound on the KKT violation of the decision function, as in LIBSVM, or on a tenth
        of it relative to ``offset_`` where that is larger (many rows make ``offset_``
        large, and LIBSVM's absolute rule meaninglessly strict). > 0.
    nu : float, default=0.5
        Upper bound on the share of training errors and lower bound on the share of
        support vectors, in (0, 1].
    shrinking : bool, default=True
        Accepted for compatibility; the engine chooses its working sets itself.
    cache_size : float, default=200
        Memory for kernel columns and working sets, in MB, > 0.
    verbose : bool, default=False
        Print a line per round.
    max_iter : int, default=-1
        Limit on pair steps; -1 for none.
    max_time : float or None, default=None
        Limit on the seconds of a fit.
    max_steps : int or None, default=None
        Steps of the path after which ``partial_fit`` and ``forget`` pause, with a warning;
        :meth:`resume` goes on. None for no limit.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from; it does not change the
        solution beyond ``tol``. None means 0.
    target_fpr : float or None, default=None
        Share of new normal rows that may be rejected, in (0, 1): the threshold is then set by
        conformal calibration instead of the problem above. See ``calibration``,
        :meth:`p_values` and docs/error-rates.md.
    calibration : {"auto", "leave-one-out", "split"}, default="auto"
        What ``target_fpr`` is measured on. "leave-one-out": every row, as the machine of
        all others scores it, exactly; all rows are trained on, and the rate is approximate.
        "split": up to half of the rows, drawn by ``random_state``, which then have no part
        in training; the probability that a new normal row is rejected is at most
        ``target_fpr``, for exchangeable rows of any distribution. "auto" leaves out up to
        1000 rows, or 10 000 with at most 1000 support vectors, and splits beyond.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training rows.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        Support vectors; empty for a precomputed kernel.
    dual_coef_ : ndarray or CSR of shape (1, n_SV)
        alpha of the support vectors; they sum to ``nu`` times the sum of weights.
    coef_ : ndarray or CSR of shape (1, n_features)
        Weights of the linear kernel.
    intercept_ : ndarray of shape (1,)
        ``decision_function(x) = dual_coef_ @ K(support_vectors_, x) + intercept_``.
    offset_ : ndarray of shape (1,)
        ``-intercept_``; ``decision_function = score_samples - offset_``. -inf when
        ``target_fpr`` is so small that no row can be rejected.
    objective_ : float
        Value of the problem above.
    duality_gap_ : float
        The objective is at most this far from the optimum.
    n_iter_ : int
        Pair steps.
    history_ : list of dict
        One entry per round of the engine.
    fit_status_ : int
        0 when the tolerance was reached, 1 otherwise (a warning was given).
    gamma_ : float
        The coefficient that ``gamma`` stood for; 0 for kernels without one.
    calibration_scores_ : ndarray of shape (n_calibration,)
        ``score_samples`` over the sum of ``dual_coef_``, of the rows that calibrate and by
        machines that were not trained on them, in ascending order. Without ``target_fpr``
        computed when first asked for.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Sample weights act as repetitions exactly, in ``gamma="scale"`` too. Time is about
    the evaluation of ``n_samples * n_SV`` kernel values; memory is ``cache_size`` plus a
    few arrays of the size of the data.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson (2001). Estimating the support of
    a high-dimensional distribution. Neural Computation 13(7).

    Examples
    --------
    >>> from fewlabels import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **COMMON,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "shrinking": ["boolean"],
        **normal_rows.CALIBRATION,
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        max_time=None,
        max_steps=None,
        n_jobs=None,
        random_state=None,
        target_fpr=None,
        calibration="auto",
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.max_steps = max_steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.target_fpr = target_fpr
        self.calibration = calibration

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, callback=None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Training rows; for ``kernel="precomputed"`` the kernel matrix.
        y : ignored
            For compatibility.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.

        Returns
        -------
        self : OneClassSVM
        """
        return normal_rows.fit_calibrated(self, X, sample_weight, callback)

    def _fit_rows(self, rows, callback, held_out):
        self._set_gamma(rows)
        formulation, weight = OneClass(float(self.nu)), rows.weights
        mass = float(weight.sum())
        problem = formulation.problem(self._gram(rows.X), {"weight": weight}, mass)
        tol = self.tol / formulation.unit(mass)
        result = self._solve(problem, tol, 0.1 * self.tol, callback)
        normal_rows.settle(self, rows, held_out, formulation, problem, result)
        self._report_status(result, tol)

    def _solution(self, X, numbers, problem, result, shift, unit):
        """From duals that sum to one back to LIBSVM's."""
        coef, kernel, gram = unit * result.a, self._make_kernel(), problem.gram
        offset, size = unit * result.multiplier, float(np.abs(coef).sum()) * largest_value(gram)
        function, _, support = function_of(
            kernel, gram, X, coef, numbers,
            boundary=offset, rounding=rounding_of_scores(kernel, size, offset),
        )  # fmt: skip
        return OneClassSolution(
            function=function,
            support=support,
            n_support=np.array([len(support)], dtype=np.int32),
            n_iter=max(1, int(result.n_iter)),
            history=result.history,
            converged=result.converged,
            objective=unit**2 * result.objective,
            duality_gap=unit**2 * result.duality_gap,
            intercept=-offset,
            scale=float(function.coef.sum()),
            size=size,
            rate=self.target_fpr,
        )

    # -- what a fit has found ------------------------------------------------------------------

    intercept_ = normal_rows.intercept_
    conformal_ = normal_rows.conformal_
    is_calibrated_ = normal_rows.is_calibrated_
    calibration_scores_ = normal_rows.calibration_scores_
    _remembered = normal_rows.remembered

    @property
    def offset_(self):
        return np.array([normal_rows.threshold(self)])

    @property
    def dual_coef_(self):
        function = self.function_
        return sp.csr_matrix(function.coef) if sp.issparse(function.vectors) else function.coef

    @property
    def coef_(self):
        """Weights of the linear kernel, shape (1, n_features)."""
        check_is_fitted(self)
        function = self.function_
        if function.weights is None:
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = function.weights[None, :]
        return sp.csr_matrix(weights) if sp.issparse(function.vectors) else weights

    # -- updates -------------------------------------------------------------------------------

    _FIXED = ("nu", *UpdatableMachine._FIXED)
    partial_fit = normal_rows.partial_fit
    leave_one_out_decisions = normal_rows.leave_one_out_decisions
    _read_new = normal_rows.read_new
    _describe = normal_rows.describe

    # -- evaluating ----------------------------------------------------------------------------

    p_values = normal_rows.p_values

    def decision_function(self, X) -> np.ndarray:
        """Signed distance to the boundary, up to a factor; positive inside.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return normal_rows.decide(self, X)

    def score_samples(self, X) -> np.ndarray:
        """``sum_j dual_coef_j K(x_j, x)``: the score before the threshold.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._value(X)

    def predict(self, X) -> np.ndarray:
        """+1 inside or on the boundary, -1 outside.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of intp of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
