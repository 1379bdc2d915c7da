"""Support vector data description: the smallest ball around one class."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import OutlierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ..problem import svdd_linear, svdd_squared
from ..solvers import REFERENCE_SOLVERS
from ._base import KernelMachine
from ._conformal import ConformalStreaming
from ._svdd_stream import SVDDPath

# Rows that the spread is estimated from.
_SAMPLE = 256
# What tol = 1 means, as a share of the total variance: a row's slack is a small share of
# it, and its sign decides on which side of the ball the row is.
_SHARE = 0.01
# Share of the kernel values below which a spread or a squared radius is rounding.
_ROUNDING = 1e-13
# Norm of the centre, as a share of what it is the difference of, below which it is computed anew.
_LOST = 1e-6


class SVDD(ConformalStreaming, OutlierMixin, KernelMachine):
    r"""Support vector data description (one class, exact).

    The smallest ball in the kernel's feature space that holds most rows. With squared
    slack (Zheng 2018, eqs. (5)-(8)):

    .. math:: \min_{R, c, \xi} R^2 + C \sum_i w_i \xi_i^2 \quad\text{subject to}\quad
              \|\phi(x_i) - c\|^2 \le R^2 + \xi_i

    and with linear slack (eqs. (1)-(4), Tax & Duin) :math:`C \sum_i w_i \xi_i`,
    :math:`\xi_i \ge 0`.

    Parameters
    ----------
    C : float, default=2.0
        Price of slack, > 0. Smaller values let more rows lie outside.
    nu : float or None, default=None
        With ``slack="linear"`` only, and in place of C: ``C = 1 / (nu sum(w))``; an
        upper bound on the share of rows outside, in (0, 1].
    slack : {"squared", "linear"}, default="squared"
        How rows outside are charged.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        Kernel. A callable gets two arrays of rows and returns the matrix of values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``. The paper's sigma
        is ``gamma = 1 / (2 sigma^2)``.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=1.0
        Independent term of "poly" and "sigmoid".
    solver : str, default="auto"
        "auto", "decomposition", "lagrangian", "projected", "interior-point" or "qp".
        "decomposition" (which "auto" takes) is exact and needs no n x n matrix.
        "lagrangian" is the paper's Algorithm 1, "projected" its eq. (25),
        "interior-point" solves its (13), "qp" hands (7)-(8) or (3)-(4) to Clarabel
        (``pip install fewlabels[qp]``). These four form the whole kernel matrix. The
        first three are for squared slack; they replace ``sum(alpha) = 1`` by a penalty,
        and their alpha is scaled to sum to 1 afterwards.
    tol : float, default=1e-3
        "decomposition": bound on the KKT violation, that is on errors of squared
        distances, as a share of one hundredth of the rows' total variance in feature
        space (which is at most 1 for "rbf").
        The other solvers are references and use at least their own accuracy: the
        paper's 1e-5 on the norm of the last step ("lagrangian", "projected"), 1e-10 on
        complementarity or the gap ("interior-point", "qp"). > 0.
    max_iter : int, default=-1
        Limit on iterations, as the solver counts them; -1 for the solver's own limit
        (none for "decomposition", the paper's 3000 for "lagrangian").
    max_time : float or None, default=None
        Limit on the seconds of a fit ("decomposition").
    cache_size : float, default=200
        Memory for kernel columns and working sets, in MB, > 0.
    max_steps : int or None, default=None
        Steps of the path after which ``partial_fit`` and ``forget`` pause, with a warning;
        :meth:`resume` goes on. None for no limit.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from; it does not change the
        solution beyond ``tol``. None means 0.
    verbose : bool, default=False
        Print a line per round.
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
    dual_coef_ : ndarray of shape (1, n_SV)
        alpha of the support vectors; they sum to 1: the centre is
        ``sum_i alpha_i phi(x_i)``.
    radius_ : float
        Radius R of the ball, in feature space.
    offset_ : float
        ``score_samples`` on the ball (``-radius_**2`` unless ``kernel="rbf"``), or where
        ``target_fpr`` puts the threshold; -inf when no row can be rejected.
        ``decision_function = score_samples - offset_``.
    intercept_ : ndarray of shape (1,)
        b of eq. (17): ``decision_function(x) = 2 sum_i alpha_i K(x_i, x) - K(x, x) + b``.
    objective_ : float
        Value of the dual, eq. (7) or (3).
    duality_gap_ : float
        The objective is at most this far from the optimum.
    n_iter_ : int
        Iterations; pair steps of "decomposition".
    history_ : list of dict
        One entry per outer round.
    fit_status_ : int
        0 when the tolerance was reached, 1 otherwise (a warning was given).
    gamma_ : float
        The coefficient that ``gamma`` stood for; 0 for kernels without one.
    calibration_scores_ : ndarray of shape (n_calibration,)
        ``2 sum_i alpha_i K(x_i, x) - K(x, x)`` (``kernel="rbf"``: without K(x, x), which is 1)
        of the rows that calibrate, by machines that were not trained on them, in ascending
        order. Without ``target_fpr`` computed when first asked for.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Sample weights act as repetitions exactly, in ``gamma="scale"`` too. With an RBF
    kernel and linear slack the ball is scikit-learn's one-class SVM with the same
    ``nu``. A very small C with squared slack makes the ball shrink to a point
    (``radius_ = 0``): every row is then outside, but scores still rank rows.

    References
    ----------
    Zheng, S. (2018). A fast iterative algorithm for support vector data description.
    International Journal of Machine Learning and Cybernetics.

    Tax, D. M. J., Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> normal = np.random.default_rng(0).normal(size=(200, 2))
    >>> SVDD().fit(normal).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), None],
        "slack": [StrOptions({"squared", "linear"})],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "solver": [StrOptions({"auto", "decomposition", *REFERENCE_SOLVERS})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        **ConformalStreaming._CONFORMAL_CONSTRAINTS,
    }

    def __init__(
        self,
        C=2.0,
        nu=None,
        slack="squared",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        solver="auto",
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size=200,
        max_steps=None,
        n_jobs=None,
        random_state=None,
        verbose=False,
        target_fpr=None,
        calibration="auto",
    ):
        self.C = C
        self.nu = nu
        self.slack = slack
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.max_steps = max_steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.target_fpr = target_fpr
        self.calibration = calibration

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, callback=None) -> Self:
        """Fit the ball.

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

        Returns
        -------
        self : SVDD
        """
        return self._fit_calibrated(X, sample_weight, callback)

    def _fit_rows(self, X, sample_weight, callback, marks):
        given = X
        X, weight = self._prepare(X, sample_weight)
        self._diagonal_value = None
        # The ball moves with the rows: under the linear kernel too, centre them first.
        self._shift = None
        if self.kernel == "linear" and not self._sparse:
            self._shift = X.mean(axis=0, dtype=np.float64)
        gram = self._gram(self._shifted(X))
        problem = self._problem(gram, weight)
        if self.solver in REFERENCE_SOLVERS:
            result = self._solve_by_reference(problem, callback)
            tol = self.tol
        else:
            tol = self._absolute_tol(problem)
            result = self._solve(problem, tol, 0.0, callback)
        self._store_ball(X, problem, result)
        self._warn_of_a_point(result)
        self._hold(self._all_rows(X, given), weight, result.multiplier, **marks)
        self._report_status(result, tol, stacklevel=7)

    def _shifted(self, X):
        return X if self._shift is None else X - self._shift

    def _absolute_tol(self, problem):
        """``tol`` in units of the gradient, from the total variance in feature space.

        Estimated from a sample. Unlike K(x, x) it does not change when all rows move.
        """
        gram = problem.gram
        sample = np.unique(np.linspace(0, gram.n - 1, min(gram.n, _SAMPLE)).astype(np.intp))
        block = gram.block(sample)
        size = float(np.abs(np.diag(block)).mean())
        spread = float(np.diag(block).mean() - block.mean())
        rounding = _ROUNDING * (size + float(problem.ridge.mean()))
        return max(_SHARE * self.tol * spread, rounding, 1e-300)

    def _problem(self, gram, weight):
        """This machine as problem (P)."""
        if self.slack == "squared":
            if self.nu is not None:
                raise ValueError(
                    "nu is defined for slack='linear' only; pass slack='linear', or C."
                )
            return svdd_squared(gram, self.C, weight)
        mass = gram.n if weight is None else weight.sum()
        C = self.C if self.nu is None else 1.0 / (self.nu * mass)
        if C * mass < 1.0 - 1e-12:
            raise ValueError(
                f"C={C:g} leaves no solution for {gram.n} rows with slack='linear': C times "
                f"the sum of weights must be at least 1; pass C >= {1.0 / mass:.3g}, or nu."
            )
        return svdd_linear(gram, C, weight)

    def _solve_by_reference(self, problem, callback):
        if self.slack == "linear" and self.solver != "qp":
            raise ValueError(
                f"solver={self.solver!r} is for slack='squared'; with slack='linear' pass "
                "solver='decomposition' or 'qp'."
            )
        solve, accuracy = REFERENCE_SOLVERS[self.solver]
        options = {} if self.max_iter < 0 else {"max_iter": self.max_iter}
        if self.solver != "qp":
            options["callback"] = self._reporter(callback)
        result = solve(problem, tol=min(self.tol, accuracy), **options)
        # The penalised problem's vector only nearly sums to one; a ball needs it exactly.
        return getattr(result, "feasible", result)

    def _store_ball(self, X, problem, result):
        """Radius and offset: R^2 = a'Ka - multiplier (a row on the sphere tells)."""
        a = result.a
        support = self._store(X, a, result, problem.gram)
        smooth = result.gradient - problem.ridge * a  # 2 K a
        self._center_norm = 0.5 * float(a @ smooth)
        if _LOST * float(a @ (problem.ridge * a)) > self._center_norm:
            # Rows so close together, or C so small, that the difference has no digits left.
            self._center_norm = problem.gram.quadratic(support, a[support])
        radius_squared = self._center_norm - result.multiplier
        variance = float(a @ problem.gram.diagonal()) - self._center_norm
        self._is_point = radius_squared < 0.0 and variance > 1e-9 * self._decision_size
        radius_squared = max(radius_squared, 0.0)
        self.radius_ = float(np.sqrt(radius_squared))
        self.dual_coef_ = a[support][None, :]
        constant = self.radius_**2 - self._center_norm
        if self._shift is not None:
            # From centred rows back to the rows as given.
            center = self.dual_coef_[0] @ self.support_vectors_
            constant += float(self._shift @ self._shift - 2.0 * (center @ self._shift))
        self._store_own(self._own_offset, np.array([constant]))
        self.objective_ = result.objective
        self.duality_gap_ = result.duality_gap
        if self.kernel == "precomputed":
            diagonal = problem.gram.diagonal()
            if np.ptp(diagonal) <= 1e-9 * max(1.0, np.abs(diagonal).max()):
                self._diagonal_value = float(diagonal.mean())

    def _warn_of_a_point(self, result):
        if result.converged and self._is_point:
            warnings.warn(
                f"the ball shrank to a point (radius 0): C={self.C:g} is so small that slack "
                "is cheaper than a radius. Every row counts as outside, scores still rank "
                "rows; raise C for a ball.",
                ConvergenceWarning,
                stacklevel=7,
            )

    # -- updates -------------------------------------------------------------------

    _SHOWN = ConformalStreaming._SHOWN | {"radius_", "_center_norm", "_is_point"}
    _FIXED = ("C", "nu", "slack", *ConformalStreaming._FIXED)

    def _make_path(self, rows, start):
        return SVDDPath(self, rows, start)

    def _store_stream(self, stream):
        problem, result = stream.solution()
        self._number(stream.numbers(stream.on_path))
        self._store_ball(stream.rows.rows(stream.on_path), problem, result)

    # -- evaluating ----------------------------------------------------------------

    def score_samples(self, X, diagonal=None) -> np.ndarray:
        """How near a row is to the centre, in feature space: higher is more normal.

        Minus the squared distance to the centre. For ``kernel="rbf"`` without the terms of it
        that are the same for every row, ``2 sum_i alpha_i K(x_i, x)``: of rows beyond a narrow
        kernel's reach, whose squared distances are equal to all digits, this still tells which
        is farther.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.
        diagonal : array-like of shape (n_samples,), default=None
            K(x, x) of these rows, needed only for a precomputed kernel whose diagonal
            was not constant in training.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._score(self._rows_to_score(X), diagonal)

    def _options_of(self, matrix, held_out):
        return {"diagonal": np.diag(matrix)[held_out]}

    def _self_kernel(self, X, diagonal):
        if diagonal is not None:
            diagonal = np.asarray(diagonal, dtype=float)
            if diagonal.shape != (X.shape[0],):
                raise ValueError(
                    f"diagonal has shape {diagonal.shape}; it needs one K(x, x) per row, "
                    f"shape ({X.shape[0]},)."
                )
            return diagonal
        if self.kernel != "precomputed":
            return self._kernel.diagonal(X)
        if self._diagonal_value is None:
            raise ValueError(
                "the precomputed kernel matrix of training had a varying diagonal, so K(x, x) "
                "of new rows is needed: pass diagonal=..."
            )
        return np.full(X.shape[0], self._diagonal_value)

    def decision_function(self, X, diagonal=None) -> np.ndarray:
        """``radius_**2`` minus the squared distance to the centre; positive inside.

        With ``target_fpr`` the calibrated threshold takes the place of ``radius_**2``:
        ``score_samples - offset_``.

        Parameters
        ----------
        X, diagonal
            As in :meth:`score_samples`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(self._rows_to_score(X), diagonal=diagonal)

    _unit = 1.0

    @property
    def _level(self):
        """The part of a score that is the machine's and not the row's."""
        return 0.0 if self.kernel == "rbf" else -self._center_norm

    @property
    def _own_offset(self):
        on_ball = -(self.radius_**2)
        return 1.0 + self._center_norm + on_ball if self.kernel == "rbf" else on_ball

    def _score(self, X, diagonal=None):
        X = self._shifted(X)
        score = 2.0 * self._sum(X, self._shifted(self.support_vectors_), self.dual_coef_[0])
        if self.kernel != "rbf":
            score = score - self._self_kernel(X, diagonal) - self._center_norm
        return self._on_boundary(score)

    def predict(self, X, diagonal=None) -> np.ndarray:
        """+1 inside or on the ball, -1 outside.

        Parameters
        ----------
        X, diagonal
            As in :meth:`score_samples`.

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        return np.where(self.decision_function(X, diagonal) >= 0, 1, -1)
