"""A solution of rows that have changed, from a solution before: where a path would be long."""

from collections.abc import Callable

import numpy as np

from .._typing import FloatArray, IntArray
from .._util.deadline import Deadline
from ..kernels.operators import GramOperator
from ..problem import DualProblem
from ..solvers import Result, Status, solve_decomposition
from ..solvers.run import certify

# Violations in units of the gradient. Newton steps often finish a rough solution to rounding.
_ROUGH_VIOLATION = 1e-3
_EXACT_VIOLATION = 1e-10
# Rows that are solved first, beside the support vectors: those nearest to becoming one.
_N_NEAR_ROWS = 256
# Rows to solve first, support vectors included, and how often other rows may be added.
_MAX_ROWS_TO_SOLVE_FIRST = 1024
_MAX_ROUNDS = 3


def solve_near_start(
    problem: DualProblem,
    start: FloatArray,
    gradient: FloatArray | None,
    gram_of: Callable[[IntArray], GramOperator],
    deadline: Deadline,
    cache_size: float,
) -> Result | None:
    """Return the Result of the batch solver, exact to rounding; None if a path has to do it.

    The rows near the boundary are solved alone at first. All rows then show whether others take
    part; if so, the solver continues with all.

    Parameters
    ----------
    problem : DualProblem
        The present problem.
    start : ndarray of shape (n,)
        Variables of the problem before. The present intervals and sum may exclude them.
    gradient : ndarray of shape (n,) or None
        About ``Q start``, to find rows near the boundary.
    gram_of : callable
        Gives the GramOperator of the rows with some indices.
    deadline : Deadline
    cache_size : float
        Bytes for kernel values.
    """
    if not problem.gram.is_inner_product:  # a path finds out whether there is a solution
        return None
    solve = _ExactSolver(deadline, cache_size)
    a = _make_feasible(problem, start)
    if a is None:
        return None
    result = None
    for _ in range(_MAX_ROUNDS):
        near = _find_rows_to_solve_first(problem, a, gradient)
        if near is None:
            break
        part = DualProblem(
            gram_of(near),
            problem.penalty.take(near),
            problem.total,
            scale=problem.scale,
            ridge=np.broadcast_to(problem.ridge, problem.n)[near],
        )
        found = solve(part, a[near])
        if found is None:
            return None
        a = np.zeros(problem.n)
        a[near] = found.a
        gradient = problem.gradient(a)
        result = certify(problem, a, gradient, found.status, found.n_iter, found.history)
        if solve.is_exact(problem, result):
            return result
    return solve(problem, a if result is None else result)


def solve_to_rounding(problem: DualProblem, deadline: Deadline, cache_size: float) -> Result:
    """Return the Result of the batch solver from its own start, as exact as rounding allows."""
    result = solve_decomposition(
        problem, tol=_EXACT_VIOLATION, cache_size=cache_size, max_time=deadline.left()
    )
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


class _ExactSolver:
    """The batch solver, to rounding."""

    def __init__(self, deadline: Deadline, cache_size: float) -> None:
        self._deadline, self._cache_size = deadline, cache_size

    def __call__(self, problem: DualProblem, start: FloatArray | Result) -> Result | None:
        for tol in (_ROUGH_VIOLATION, _EXACT_VIOLATION):
            found = solve_decomposition(
                problem,
                start,
                tol=tol,
                cache_size=self._cache_size,
                max_time=self._deadline.left(),
            )
            if found.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if not found.converged:
                return None
            if self.is_exact(problem, found):
                break
            start = found
        return found

    @staticmethod
    def is_exact(problem: DualProblem, result: Result) -> bool:
        return result.violation <= _EXACT_VIOLATION * problem.largest


def _make_feasible(problem: DualProblem, start: FloatArray) -> FloatArray | None:
    """Return variables near ``start`` that the problem allows; None if rounding leaves none."""
    a = problem.penalty.rounded(start)
    positive = a > 0.0
    size = float(a[positive].sum())
    if size > 0.0:  # let the other rows carry what a row has lost
        a[positive] *= max(0.0, problem.total - float(a[~positive].sum())) / size
        a = problem.penalty.rounded(a)
    a = problem.penalty.filled(a, problem.total - float(a.sum()))
    return a if problem.is_feasible(a) else None


def _find_rows_to_solve_first(
    problem: DualProblem, a: FloatArray, gradient: FloatArray | None
) -> IntArray | None:
    """Return the rows to solve first, ascending; None where these would be too many or all."""
    used = a != 0.0
    n = np.count_nonzero(used) + _N_NEAR_ROWS
    if n > min(_MAX_ROWS_TO_SOLVE_FIRST, problem.n // 2):
        return None
    gradient = problem.gradient(a) if gradient is None else gradient
    penalty = problem.penalty
    free = used & (a > penalty.lower) & (a < penalty.upper)
    middle = np.median((gradient + penalty.slopes[-1])[free if free.any() else used])
    # How far each row is from wanting to move up (or down, where it can only do that).
    room = np.where(
        penalty.upper > 0.0,
        gradient + penalty.slopes[-1] - middle,
        middle - gradient - penalty.slopes[0],
    )
    room[used] = -np.inf
    return np.sort(np.argpartition(room, n)[:n])
