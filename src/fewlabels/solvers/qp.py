"""A general interior point code (Clarabel) on problem (P): the independent reference.

    minimise_a   1/2 a' Q a + sum_i phi_i(a_i)   subject to   sum_i a_i = total

phi_i has slope ``left_i`` below ``kink_i`` and ``right_i >= left_i`` above it, so up to a
constant it is ``left_i a_i + (right_i - left_i) (a_i - kink_i)_+``. One more variable
``t_i >= (a_i - kink_i)_+`` per kink inside the interval makes the problem a quadratic
programme that is the same problem, not an approximation:

    minimise_{a, t}   1/2 a' Q a + left' a + (right - left)' t
    subject to        sum(a) = total,   lower <= a <= upper,   t >= 0,   t >= a - kink

Clarabel gets Q as an explicit n x n matrix: O(n^2) memory, O(n^3) per iteration. For
SVDD this is the paper's QP-SVDD, on its eqs. (7)-(8) and (3)-(4).
"""

import time
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import FloatArray, IntArray
from .._util.extras import require
from ..problem import DualProblem, Penalty
from .decomposition import repair_sum
from .run import Result, Status, certify

# Rounding in a kernel matrix, relative to its largest diagonal entry.
_ROUNDING = 1e-9
# A sum that is right to this share of its terms is left alone.
_EXACT_SUM = 1e-13


def solve_qp(
    problem: DualProblem,
    *,
    tol: float = 1e-10,
    max_iter: int = 200,
    max_time: float = np.inf,
    verbose: bool = False,
) -> Result:
    """Solve (P), of a positive semi-definite Q, by Clarabel.

    ``tol`` bounds its duality gap (absolute and relative) and feasibility. The Result is feasible:
    variables that complementarity places on a bound or kink are put there exactly, and the sum is
    restored. ``n_iter`` counts interior point iterations, ``history`` has one entry for the whole
    solve, and the status is ``STALLED`` when Clarabel only reached its reduced accuracy.
    """
    clarabel = _import_clarabel()
    Q = problem.block(np.arange(problem.n))
    _check_convex(Q)
    started = time.perf_counter()
    program = _QuadraticProgram(problem)
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    settings.max_iter = max_iter
    if np.isfinite(max_time):
        settings.time_limit = max_time
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    solver = clarabel.DefaultSolver(
        program.quadratic(Q),
        program.linear,
        program.matrix,
        program.right_hand_side,
        [
            clarabel.ZeroConeT(program.n_equalities),
            clarabel.NonnegativeConeT(program.n_inequalities),
        ],
        settings,
    )
    solution = solver.solve()
    status = _to_status(clarabel, solution.status)
    a = program.feasible(np.asarray(solution.x), np.asarray(solution.z), Q)
    gradient = Q @ a
    entry = {
        "round": 1,
        "violation": problem.survey(a, gradient).violation,
        "solver_status": str(solution.status),
        "seconds": time.perf_counter() - started,
    }
    return certify(problem, a, gradient, status, solution.iterations, [entry])


class _QuadraticProgram:
    """(P) as ``1/2 x'Px + q'x``, ``A_1 x = b_1``, ``A_2 x <= b_2`` with x = (a, t)."""

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem
        p, n = problem.penalty, problem.n
        self.n = n
        self.fixed = np.flatnonzero(p.lower == p.upper)
        moving = p.lower < p.upper
        # Variables with a kink inside their interval: as often as they have one.
        self.kinked, self.kinks, rise = _collect_kinks(p)
        self.at_lower = np.flatnonzero(moving & np.isfinite(p.lower))
        self.at_upper = np.flatnonzero(moving & np.isfinite(p.upper))
        n_kinks = len(self.kinked)

        self.linear = np.concatenate([p.first_slope, rise])

        def picks(rows: IntArray, sign: float = 1.0, width: int = n) -> sp.csr_array:
            shape = (len(rows), width)
            return sp.csr_array((np.full(len(rows), sign), (np.arange(len(rows)), rows)), shape)

        extra = np.arange(n_kinks)
        blocks = [
            [sp.csr_array(np.ones((1, n))), None],
            [picks(self.fixed), None],
            [picks(self.at_lower, -1.0), None],
            [picks(self.at_upper), None],
            [picks(self.kinked), picks(extra, -1.0, n_kinks)],
            [None, picks(extra, -1.0, n_kinks)],
        ]
        if not n_kinks:
            blocks = [[row[0]] for row in blocks[:4]]
        self.matrix = sp.csc_matrix(sp.block_array(blocks))
        self.right_hand_side = np.concatenate(
            [
                [problem.total],
                p.lower[self.fixed],
                -p.lower[self.at_lower],
                p.upper[self.at_upper],
                self.kinks,
                np.zeros(n_kinks),
            ]
        )
        self.n_equalities = 1 + len(self.fixed)
        self.n_inequalities = len(self.right_hand_side) - self.n_equalities

    def quadratic(self, Q: FloatArray) -> sp.csc_matrix:
        """Return the upper triangle of the matrix of the objective."""
        P = sp.csc_matrix(np.triu(Q))
        P.resize(len(self.linear), len(self.linear))
        return P

    def feasible(self, x: FloatArray, z: FloatArray, Q: FloatArray) -> FloatArray:
        """Put variables on their bounds and kinks where the multipliers say so."""
        problem, p, n = self.problem, self.problem.penalty, self.n
        slack = self.right_hand_side - self.matrix @ x
        active = z > slack
        edges = np.cumsum(
            [self.n_equalities, len(self.at_lower), len(self.at_upper), len(self.kinked)]
        )
        _, low, high, below, above = np.split(active, edges)
        a = np.clip(x[:n], p.lower, p.upper)
        a[self.at_lower[low]] = p.lower[self.at_lower[low]]
        a[self.at_upper[high]] = p.upper[self.at_upper[high]]
        # On a kink t_i >= a_i - kink_i and t_i >= 0 both hold with equality.
        is_on = below & above
        a[self.kinked[is_on]] = self.kinks[is_on]
        between = p.between(a)
        missing = problem.total - a.sum()
        if between.any():
            moved = a[between] + missing / between.sum()
            if (moved > p.lower[between]).all() and (moved < p.upper[between]).all():
                a[between] = moved
        if abs(problem.total - a.sum()) <= _EXACT_SUM * max(1.0, float(np.abs(a).sum())):
            return a
        return repair_sum(problem, a, Q @ a)


def _collect_kinks(penalty: Penalty) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return variables, kinks and rises of the slope there, of all kinks inside intervals."""
    found = [(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))]
    for kink, is_bent, rise in penalty.iterate_kinks():
        rows = np.flatnonzero(is_bent)
        found.append((rows, kink[rows], rise[rows]))
    rows, kinks, rises = map(np.concatenate, zip(*found, strict=True))
    return rows, kinks, rises


def _import_clarabel() -> Any:
    require("solver='qp'", "clarabel")
    import clarabel

    return clarabel


def _check_convex(Q: FloatArray) -> None:
    """Refuse a Q that is further from positive semi-definite than rounding explains."""
    nudged = Q.copy()
    nudged[np.diag_indices_from(Q)] += _ROUNDING * (np.abs(np.diagonal(Q)).max() or 1.0)
    try:
        np.linalg.cholesky(nudged)
    except np.linalg.LinAlgError:
        raise ValueError(
            "solver='qp' needs a positive semi-definite kernel matrix, and this one is not; "
            "use another kernel or solver='decomposition'."
        ) from None


def _to_status(clarabel: ModuleType, status: object) -> Status:
    solver_status = clarabel.SolverStatus
    if status in (solver_status.DualInfeasible, solver_status.AlmostDualInfeasible):
        raise ValueError("the problem is unbounded below: a direction never ends.")
    if status in (solver_status.PrimalInfeasible, solver_status.AlmostPrimalInfeasible):
        raise ValueError("the problem is infeasible: no variables satisfy the constraints.")
    return {
        str(solver_status.Solved): Status.CONVERGED,
        str(solver_status.MaxIterations): Status.MAX_ITER,
        str(solver_status.MaxTime): Status.MAX_TIME,
    }.get(str(status), Status.STALLED)
