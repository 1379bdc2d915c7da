"""One-class SVM: scikit-learn's estimator on this library's engine."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils._param_validation import Interval

from .._typing import FloatArray, SeedLike
from .._util.threads import resolve_n_jobs
from ..base.kernel_estimator import COMMON, KernelEstimator, OutOfCoreSupport
from ..base.solution import (
    OneClassSolution,
    describe_run,
    largest_term,
    make_function,
    score_limits,
)
from ..base.stream import ConvexStream
from ..kernels import KernelLike
from ..rows.problem import ProblemInMemory
from ..rows.source import RowSource
from ..solvers import Result, Status
from ..solvers.run import Callback
from .base import CALIBRATION, OneClassEstimator, problem_on_path
from .problem import ANOMALY_COST, OneClass

# The share of the scores' range from which a tolerance is refined.
_MAX_TOL_SHARE_OF_RANGE = 0.5
# Share of the largest score that is rounding.
_ROUNDING = 1e-13


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(OneClassEstimator):
    r"""One-class support vector machine, a drop-in for scikit-learn's class.

    Use it in place of ``sklearn.svm.OneClassSVM``: parameters, attributes and results are the
    same, and large fits are faster. It adds ``target_fpr``, p-values and exact updates. In new
    code, :class:`SVDDEnsemble` or :class:`SVDD` is usually the better choice.

    .. math:: \min_\alpha \tfrac12 \alpha' K \alpha \quad\text{subject to}\quad
              0 \le \alpha_i \le w_i,\; \sum_i \alpha_i = \nu \sum_i w_i

    For confirmed anomalies :math:`-C_{anomaly} w_i \le \alpha_i \le 0` instead, and
    :math:`\sum_i w_i` is over normal rows.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of training rows outside and lower bound on the share of
        support vectors, in (0, 1]. It doesn't control new rows; ``target_fpr`` does.
    target_fpr : float or None, default=None
        Share of new normal rows that may be rejected, in (0, 1), as in :class:`SVDD`.
    kernel : str, Manifold, Isolation or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid" or "precomputed". "manifold" uses the neighbour graph
        of the rows (settings: :class:`fewlabels.kernels.Manifold`), and "isolation" adapts to
        density (:class:`fewlabels.kernels.Isolation`). A callable takes two arrays of rows and
        returns the matrix of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", >= 0. Larger is narrower. "scale" is
        ``1 / (n_features * X.var())`` and "auto" is ``1 / n_features``.
    degree : int, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=0.0
        Independent term of "poly" and "sigmoid".
    C_anomaly : float, default=10.0
        Cost of slack of a confirmed anomaly (``fit(X, anomalies=mask)``) as a multiple of that
        of a normal row, > 0: its alpha lies in ``[-C_anomaly w_i, 0]``.
    calibration : {"auto", "leave-one-out", "split"}, default="auto"
        How ``target_fpr`` is measured, as in :class:`SVDD`.
    tol : float, default=1e-3
        Bound on the KKT violation of the decision function, > 0, as in LIBSVM, or a tenth of it
        relative to ``offset_`` if that is larger. If the bound is more than half the range of
        the training scores, the solver continues to ``tol`` times the range, as far as rounding
        allows.
    max_time : float or None, default=None
        Limit on the seconds of a fit. Leave-one-out scores come on top.
    max_iter : int, default=-1
        Limit on pair steps; -1 for none.
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
        Limit on the steps of one update, as in :class:`SVDD`.
    shrinking : bool, default=True
        Accepted for compatibility, without effect.

    Attributes
    ----------
    support_, support_vectors_, duality_gap_, fit_status_, stop_reason_, gamma_
        As of :class:`SVDD`.
    dual_coef_ : ndarray or CSR of shape (1, n_SV)
        alpha of the support vectors; they sum to ``nu`` times the sum of weights.
        Confirmed anomalies have negative ones.
    coef_ : ndarray or CSR of shape (1, n_features)
        Weights of the linear kernel.
    intercept_ : ndarray of shape (1,)
        ``decision_function(x) = dual_coef_ @ K(support_vectors_, x) + intercept_``.
    offset_ : ndarray of shape (1,)
        ``-intercept_``; ``decision_function = score_samples - offset_``. -inf if ``target_fpr``
        is so small that no row can be rejected.
    objective_ : float
        Value of the problem above.
    n_iter_ : int
        Pair steps.
    history_ : list of dict
        One entry per round of the engine.
    calibration_scores_ : ndarray of shape (n_calibration,)
        As of :class:`SVDD`, of ``score_samples`` over the sum of ``dual_coef_``.
    n_support_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SVDD : finds the same boundary with ``kernel="rbf"`` and linear slack.
    SVDDEnsemble : for training rows that may contain anomalies.

    Notes
    -----
    ``score_samples`` is ``sum_j dual_coef_j K(x_j, x)``, the score before the threshold.

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

    _out_of_core = OutOfCoreSupport(
        {"calibration": ("split", "auto")}, only_with={"calibration": "target_fpr"}
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "shrinking": ["boolean"],
        **CALIBRATION,
        "C_anomaly": [Interval(Real, 1e-300, None, closed="left")],
    }

    kernel: KernelLike = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    nu: float = 0.5
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    max_time: float | None = None
    max_steps: int | None = None
    n_jobs: int | None = None
    random_state: SeedLike = None
    target_fpr: float | None = None
    calibration: str = "auto"
    C_anomaly: float = ANOMALY_COST
    _FIXED = ("nu", "C_anomaly", *KernelEstimator._FIXED)

    # -- what a fit has found --------------------------------------------------------------------

    @property
    def dual_coef_(self) -> Any:
        function = self.function_
        coef = function.dual_coef
        return _as_csr(coef) if sp.issparse(function.vectors) else self._to_native(coef)

    @property
    def cost_name(self) -> str:
        return "nu"

    @property
    def offset_(self) -> Any:
        return self._to_native(np.array([self._threshold]))

    @property
    def coef_(self) -> Any:
        """Weights of the linear kernel, shape (1, n_features)."""
        weights = self._weights()
        return _as_csr(weights) if sp.issparse(self.function_.vectors) else weights

    # -- how it is done --------------------------------------------------------------------------

    def _describe_solution(self) -> OneClassSolution:
        return self._solution(*problem_on_path(cast(ConvexStream, self._stream)))

    def _train(self, rows: RowSource, callback: Callback | None) -> None:
        kernel, formulation = self._set_kernel(rows), self._formulation(rows.mass)
        assert kernel is not None
        problem = rows.build_problem(kernel, formulation, resolve_n_jobs(self.n_jobs))
        tol = self.tol / max(1.0, formulation.unit(rows.mass))
        solved, result = problem.solve(self._settings(tol, 0.1 * self.tol, callback))
        if solved.all_rows is None:  # scores of all rows are known
            result = self._refine(solved, result, tol, callback)
        solution = self._solution(solved, result)
        self._keep(rows, solved, result, solution)
        self._report_status(result, tol, solution.duality_gap)

    def _refine(
        self, problem: ProblemInMemory, result: Result, tol: float, callback: Callback | None
    ) -> Result:
        """Solve the problem further where ``tol`` is a large part of the scores' range.

        Under a very wide kernel all scores are nearly the same, and what ``tol`` allows could
        reorder them. Without convergence, as when rounding is in the way, the result stays.
        """
        tol = max(tol, 0.1 * self.tol * abs(result.multiplier))
        spread = float(result.gradient.max() - result.gradient.min())
        if tol <= _MAX_TOL_SHARE_OF_RANGE * spread or not result.converged or self.max_iter >= 0:
            return result
        finer = max(self.tol * spread, _ROUNDING * float(np.abs(result.gradient).max()), 1e-300)
        if finer >= tol:
            return result
        _, refined = problem.solve(self._settings(finer, 0.0, callback), start=result)
        is_better = refined.converged or refined.status is Status.INTERRUPTED
        return refined if is_better else result

    def _formulation(self, mass: float) -> OneClass:
        nu = float(self.nu)
        if not 1e-140 < nu * mass < 1e140:
            raise ValueError(
                f"nu times the sum of weights is {nu * mass:.3g}, whose square is out of "
                "range; scale the weights, or raise nu."
            )
        return OneClass(nu, float(self.C_anomaly))

    def _solution(self, problem: ProblemInMemory, result: Result) -> OneClassSolution:
        """From duals that sum to one back to LIBSVM's."""
        unit, dual, kernel = problem.unit, problem.dual, problem.kernel
        coef, offset = unit * result.a, unit * result.multiplier
        size = float(np.abs(coef).sum()) * largest_term(dual.gram.diagonal())
        function, _, support = make_function(
            kernel,
            dual.gram,
            problem.X,
            coef,
            problem.numbers,
            **score_limits(kernel, size, offset, coef),
        )
        return OneClassSolution(
            function=function,
            **describe_run(
                support, [len(support)], result.n_iter, result.history, result.converged
            ),
            objective=unit**2 * result.objective,
            duality_gap=unit**2 * dual.supported_gap(result),
            intercept=-offset,
            scale=float(function.coef.sum()),
            size=size,
            rate=self.target_fpr,
        )


def _as_csr(values: FloatArray) -> sp.csr_array | sp.csr_matrix:
    """Return a CSR array or matrix, whichever scikit-learn's ``sparse_interface`` asks for."""
    interface = get_config().get("sparse_interface", "spmatrix")  # new in scikit-learn 1.9
    return sp.csr_array(values) if interface == "sparray" else sp.csr_matrix(values)
