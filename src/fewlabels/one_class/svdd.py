"""Support vector data description: the smallest ball around one class."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, SeedLike
from .._util.messages import Message, ref
from .._util.threads import resolve_n_jobs
from .._util.warn import warn
from ..base.kernel_estimator import COMMON, KernelEstimator, OutOfCoreSupport, solution_attr
from ..base.solution import (
    OneClassSolution,
    describe_run,
    largest_term,
    make_function,
    score_limits,
)
from ..base.stream import ConvexStream
from ..kernels import Deformed, Kernel, KernelLike
from ..kernels.operators import GramOperator
from ..rows.problem import ModelProblem, ProblemInMemory
from ..rows.source import RowSource
from ..solvers import REFERENCE_SOLVERS, Result, check_solver_options
from ..solvers.run import Callback, check_gap
from .base import CALIBRATION, OneClassEstimator, problem_on_path
from .problem import LinearSlackBall, SquaredSlackBall

# What tol = 1 means, as a share of the total variance: a row's slack is a small share of
# it, and its sign decides on which side of the ball the row is.
_SHARE_OF_VARIANCE = 0.01
# Share of the kernel values below which a spread or a squared radius is rounding.
_ROUNDING = 1e-13
# Norm of the centre, as a share of what it is the difference of, below which it is computed anew.
_MIN_SHARE_OF_NORM = 1e-6


@dataclass(eq=False, repr=False)
class SVDD(OneClassEstimator):
    r"""Support vector data description: the smallest ball around one class.

    Use it if all training rows are normal and you want to know which new rows don't belong.
    Set ``target_fpr`` to choose the false alarm rate, and let :func:`fewlabels.tune` choose
    the other settings. If some training rows may be anomalies, use :class:`SVDDEnsemble`.
    If you know some anomalies, pass them with ``fit(X, anomalies=mask)``.

    The ball lies in the kernel's feature space. With squared slack (Zheng 2018, eqs. (5)-(8))
    it solves

    .. math:: \min_{R, c, \xi} R^2 + C \sum_i w_i \xi_i^2 \quad\text{subject to}\quad
              \|\phi(x_i) - c\|^2 \le R^2 + \xi_i

    and with linear slack (eqs. (1)-(4), Tax and Duin 2004) the same with
    :math:`C \sum_i w_i \xi_i` and :math:`\xi_i \ge 0`. The solution is exact.

    Parameters
    ----------
    target_fpr : float or None, default=None
        Share of new normal rows that may be rejected, in (0, 1). Conformal calibration then
        sets the threshold. None keeps the boundary of the ball. See ``calibration``,
        :meth:`p_values` and docs/learn/error-rates.md.
    kernel : str, Manifold, Isolation or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid" or "precomputed". "manifold" uses the neighbour graph
        of the rows (settings: :class:`fewlabels.kernels.Manifold`), and "isolation" adapts to
        density (:class:`fewlabels.kernels.Isolation`). A callable takes two arrays of rows and
        returns the matrix of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. Larger is narrower. "scale" is
        ``1 / (n_features * X.var())`` and "auto" is ``1 / n_features``. The paper's sigma is
        ``gamma = 1 / (2 sigma^2)``.
    C : float, default=2.0
        Cost of slack, > 0. Smaller values let more rows lie outside.
    nu : float or None, default=None
        With ``slack="linear"`` only, instead of ``C``: an upper bound on the share of training
        rows outside, in (0, 1]. Sets ``C = 1 / (nu sum(w))``.
    slack : {"squared", "linear"}, default="squared"
        How the cost of a row outside grows with its distance.
    C_anomaly : float or None, default=None
        Cost of slack of a confirmed anomaly (``fit(X, anomalies=mask)``), > 0, in the units of
        C; with ``nu`` a multiple of the cost of a normal row. None means 10 times the cost of a
        normal row. With squared slack, an anomaly inside the ball costs ``C_anomaly`` times the
        square of how far inside it is.
    calibration : {"auto", "leave-one-out", "split"}, default="auto"
        How ``target_fpr`` is measured. "leave-one-out" scores every row by the model of all
        others, exactly. All rows train, and the rate is approximate. "split" holds out up to
        half of the rows, drawn by ``random_state``. The probability that a new normal row is
        rejected is then at most ``target_fpr`` for exchangeable rows. "auto" uses leave-one-out
        up to 1000 rows, or 10 000 with at most 1000 support vectors, and a split beyond.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=1.0
        Independent term of "poly" and "sigmoid".
    tol : float, default=1e-3
        Bound on the KKT violation, > 0: on errors of squared distances, as a share of one
        hundredth of the rows' variance in feature space. With another solver than "decomposition":
        on the duality gap, as a share of that variance. "lagrangian" and "projected" stop by
        their paper's rule with ``epsilon = tol / 100``, which doesn't ensure it: see
        ``fit_status_``.
    max_time : float or None, default=None
        Limit on the seconds of a fit or an update. The model reached by then can be used, and a
        warning says what was cut short. :meth:`resume` finishes an update.
    max_iter : int, default=-1
        Limit on iterations, as the solver counts them. -1 is the solver's own limit: none for
        "decomposition", the paper's 3000 for "lagrangian".
    cache_size : float, default=200
        Memory for kernel columns and working sets, in MB, > 0.
    n_jobs : int or None, default=None
        Threads; None uses every core.
    random_state : int, RandomState or None, default=None
        Seed of the sample that a large fit starts from. It doesn't change the solution beyond
        ``tol``. None means 0.
    verbose : bool, default=False
        Print a line per round.
    max_steps : int or None, default=None
        Limit on the steps of one ``partial_fit`` or ``forget``. The update then pauses with a
        warning, and :meth:`resume` finishes it. None for no limit.
    solver : str, default="auto"
        "auto", "decomposition", "lagrangian", "projected", "interior-point" or "qp". "auto" is
        "decomposition", which is exact and needs no n x n matrix. The others are references
        that need it (docs/internals/solvers.md).
    solver_options : dict or None, default=None
        What the papers' solvers are run with, as in Zheng (2018), sections 3 and 4.1. "rho": the
        penalty, > 0 (200). "epsilon": the stopping rule, > 0 (``tol / 100``; "interior-point":
        1e-10). "rate" of "lagrangian": gamma of (16) times C, in (0, 1) (0.95). "step" of
        "projected": the step of (25) as a share of the largest that surely converges, in (0, 1)
        (0.95).

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training rows.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        Support vectors; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_SV)
        alpha of the support vectors; they sum to 1: the centre is ``sum_i alpha_i phi(x_i)``.
        Confirmed anomalies have negative ones.
    radius_ : float
        Radius R of the ball, in feature space.
    offset_ : float
        ``score_samples`` on the ball (``-radius_**2`` unless ``kernel="rbf"``), or the
        threshold set by ``target_fpr``; -inf if no row can be rejected.
        ``decision_function = score_samples - offset_``.
    intercept_ : ndarray of shape (1,)
        b of eq. (17): ``decision_function(x) = 2 sum_i alpha_i K(x_i, x) - K(x, x) + b``.
    objective_ : float
        Value of the dual, eq. (7) or (3).
    duality_gap_ : float
        Upper bound on how far the objective is from the optimum. NaN, with a warning, if the
        kernel matrix isn't positive semi-definite.
    n_iter_ : int
        Iterations; pair steps of "decomposition".
    history_ : list of dict
        One entry per outer round.
    fit_status_ : int
        0 if the tolerance was reached, otherwise 1 (with a warning), also if a solver's own rule
        was met.
    stop_reason_ : str
        Why ``fit`` ended: "converged", "max_iter", "max_time", "stalled" (by rounding), "stopped"
        (by the callback), "interrupted" (by Ctrl-C), or "inexact" where a solver's own rule was
        met but not the tolerance.
    gamma_ : float
        The value of ``gamma`` used; 0 for kernels without one.
    calibration_scores_ : ndarray of shape (n_calibration,)
        ``2 sum_i alpha_i K(x_i, x) - K(x, x)`` (``kernel="rbf"``: without K(x, x), which is 1)
        of the calibration rows, by models that weren't trained on them, in ascending order.
        Without ``target_fpr`` they are computed when first needed.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SVDDEnsemble : for training rows that may contain anomalies.
    OneClassSVM : the same boundary with ``kernel="rbf"`` and linear slack.
    fewlabels.tune : chooses the settings.

    Notes
    -----
    ``decision_function`` is ``radius_**2`` minus the squared distance to the centre, and
    ``score_samples`` is the same without the threshold. For ``kernel="rbf"``,
    ``score_samples`` leaves out terms that are equal for all rows, so that rows far beyond the
    kernel's reach can still be ranked.

    Sample weights act as repetitions, in ``gamma="scale"`` too. If C is very small and slack is
    squared, the ball shrinks to a point (``radius_ = 0``). Every row is then outside, but
    scores still rank rows.

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
    >>> model = SVDD(target_fpr=0.05).fit(normal)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> model.p_values([[6.0, 6.0]]) < 0.05
    array([ True])

    Update the model without training again:

    >>> model.partial_fit([[0.1, 0.2]]).forget([3]).predict([[6.0, 6.0]])
    array([-1])
    """

    _out_of_core = OutOfCoreSupport(
        {"solver": ("auto", "decomposition"), "calibration": ("split", "auto")},
        only_with={"calibration": "target_fpr"},
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "C": [Interval(Real, 1e-300, None, closed="left")],
        "nu": [Interval(Real, 1e-300, 1.0, closed="both"), None],
        "slack": [StrOptions({"squared", "linear"})],
        "solver": [StrOptions({"auto", "decomposition", *REFERENCE_SOLVERS})],
        "solver_options": [dict, None],
        **CALIBRATION,
        "C_anomaly": [Interval(Real, 1e-300, None, closed="left"), None],
    }

    C: float = 2.0
    nu: float | None = None
    slack: str = "squared"
    kernel: KernelLike = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 1.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    cache_size: float = 200
    max_steps: int | None = None
    n_jobs: int | None = None
    random_state: SeedLike = None
    verbose: bool = False
    target_fpr: float | None = None
    calibration: str = "auto"
    C_anomaly: float | None = None
    solver_options: dict[str, Any] | None = None
    _FIXED = ("C", "nu", "slack", "C_anomaly", *KernelEstimator._FIXED)

    # -- what a fit has found --------------------------------------------------------------------

    dual_coef_ = property(lambda self: self._to_native(0.5 * self.function_.dual_coef))

    @property
    def cost_name(self) -> str:
        """The parameter that sets the cost of slack."""
        return "C" if self.slack == "squared" else "nu"

    radius_ = solution_attr("radius")

    offset_ = property(lambda self: self._threshold)

    # -- how it is done --------------------------------------------------------------------------

    def _describe_solution(self) -> OneClassSolution:
        return self._solution(*problem_on_path(cast(ConvexStream, self._stream)))

    def _train(self, rows: RowSource, callback: Callback | None) -> None:
        if self.solver_options:
            check_solver_options(self.solver, self.solver_options)
        kernel = self._set_kernel(rows)
        assert kernel is not None
        _refuse_low_rank(kernel)
        formulation = self._formulation(rows)
        problem = rows.build_problem(kernel, formulation, resolve_n_jobs(self.n_jobs))
        tol = self._tolerance(*problem.sample())
        if self.solver in REFERENCE_SOLVERS:
            tol /= _SHARE_OF_VARIANCE
            solved, result = self._solve_by_reference(rows, problem, tol, callback)
        else:
            solved, result = problem.solve(self._settings(tol, 0.0, callback))
        solution = self._solution(solved, result)
        self._keep(rows, solved, result, solution)
        if solution.is_point and result.converged:
            self._warn_of_point()
        self._report_status(result, tol, solution.duality_gap)

    def _warn_of_point(self) -> None:
        warn(
            f"the radius is 0, because {ref('C', self.C)} is so small that slack costs less "
            "than a larger radius. Every row counts as outside, but scores still rank rows; "
            "raise C.",
            ConvergenceWarning,
        )

    def _tolerance(self, sample: GramOperator, ridge: float) -> float:
        # In units of the gradient, from the total variance in feature space, which unlike
        # K(x, x) does not change when all rows move.
        block = sample.block(np.arange(sample.n))
        size = float(np.abs(np.diag(block)).mean())
        spread = float(np.diag(block).mean() - block.mean())
        return max(_SHARE_OF_VARIANCE * self.tol * spread, _ROUNDING * (size + ridge), 1e-300)

    def _formulation(self, rows: RowSource) -> SquaredSlackBall | LinearSlackBall:
        if self.slack == "squared":
            if self.nu is not None:
                raise ValueError(
                    Message(
                        f"nu is defined for {ref('slack', 'linear')} only; pass "
                        f"{ref('slack', 'linear')}, or C."
                    )
                )
            return SquaredSlackBall(float(self.C), C_anomaly=self._anomaly_cost())
        formulation = LinearSlackBall(float(self.C), nu=self.nu, C_anomaly=self._anomaly_cost())
        if not formulation.has_solution(rows.mass):
            raise ValueError(
                Message(
                    f"{ref('C', self.C)} leaves no solution for {rows.n_counting} rows with "
                    f"{ref('slack', 'linear')}: C times the sum of weights must be at least 1; "
                    f"pass C >= {1.0 / rows.mass:.3g}, or nu."
                )
            )
        return formulation

    def _anomaly_cost(self) -> float | None:
        return None if self.C_anomaly is None else float(self.C_anomaly)

    def _solve_by_reference(
        self, rows: RowSource, problem: ModelProblem, tol: float, callback: Callback | None
    ) -> tuple[ProblemInMemory, Result]:
        """Solve by a reference solver; converged: the gap is at most ``tol``."""
        if rows.anomaly is not None and self.solver != "qp":
            raise ValueError(
                f"solver={self.solver!r} doesn't take confirmed anomalies; pass "
                "solver='decomposition' or 'qp'."
            )
        if self.slack == "linear" and self.solver != "qp":
            raise ValueError(
                f"solver={self.solver!r} is for slack='squared'; with slack='linear' pass "
                "solver='decomposition' or 'qp'."
            )
        limits: dict[str, Any] = {} if self.max_iter < 0 else {"max_iter": self.max_iter}
        if self.solver != "qp":
            limits["callback"] = self._reporter(callback)
        in_memory = cast(ProblemInMemory, problem)
        reference = REFERENCE_SOLVERS[self.solver]
        result = reference.run(in_memory.dual, self.tol, self.solver_options, **limits)
        # The penalised problem's vector only nearly sums to one; a ball needs it exactly.
        result = getattr(result, "feasible", result)
        # Their own rule doesn't say how far the optimum is: the gap does.
        return in_memory, check_gap(result, in_memory.dual.supported_gap(result), tol)

    def _solution(self, problem: ProblemInMemory, result: Result) -> OneClassSolution:
        """R^2 = a'Ka - multiplier (a row on the sphere tells)."""
        dual, shift, a = problem.dual, problem.shift, result.a
        gram, kernel, diagonal = dual.gram, problem.kernel, dual.gram.diagonal()
        smooth = result.gradient - dual.ridge * a  # 2 K a
        center_norm = 0.5 * float(a @ smooth)
        if _MIN_SHARE_OF_NORM * float(a @ (dual.ridge * a)) > center_norm:
            # Rows so close together, or C so small, that the difference has no digits left.
            center_norm = gram.quadratic(np.flatnonzero(a), a[a != 0])
        radius_squared = center_norm - result.multiplier
        size = float(np.abs(a).sum()) * largest_term(diagonal)
        variance = float(a @ diagonal) - center_norm
        is_point = radius_squared < 0.0 and variance > 1e-9 * size
        radius = float(np.sqrt(max(radius_squared, 0.0)))
        boundary = -(radius**2)
        if kernel.is_similarity:  # scores are without what is the same for all rows
            boundary, self_weight, bias = 1.0 + center_norm + boundary, 0.0, 0.0
        else:
            self_weight, bias = 1.0, -center_norm
        function, _, support = make_function(
            kernel,
            gram,
            problem.X,
            2.0 * a,
            problem.numbers,
            bias=bias,
            self_weight=self_weight,
            shift=shift,
            **score_limits(kernel, size, boundary, a),
            diagonal=_constant_diagonal(diagonal) if self.kernel == "precomputed" else None,
        )
        intercept = radius**2 - center_norm
        if shift is not None:
            # From centred rows back to the rows as given.
            center = 0.5 * function.coef[0] @ function.vectors
            intercept += float(shift @ shift - 2.0 * (center @ shift))
        return OneClassSolution(
            function=function,
            **describe_run(
                support, [len(support)], result.n_iter, result.history, result.converged
            ),
            objective=result.objective,
            duality_gap=dual.supported_gap(result),
            intercept=intercept,
            size=size,
            rate=self.target_fpr,
            radius=radius,
            is_point=is_point,
        )


def _constant_diagonal(diagonal: FloatArray) -> float | None:
    """Return K(x, x) where that is the same for all rows, else None."""
    alike = np.ptp(diagonal) <= 1e-9 * max(1.0, np.abs(diagonal).max())
    return float(diagonal.mean()) if alike else None


def _refuse_low_rank(kernel: Kernel) -> None:
    """Refuse a kernel that vanishes far from the rows, where SVDD would accept rows."""
    if isinstance(kernel, Deformed) and kernel.is_low_rank:
        raise ValueError(
            f"a manifold kernel with {len(kernel.factor)} landmarks vanishes far from the "
            "rows, so SVDD would accept rows there; raise n_landmarks to the number of rows, "
            "pass kernel=Manifold().with_rows(some of the rows), or use OneClassSVM."
        )
