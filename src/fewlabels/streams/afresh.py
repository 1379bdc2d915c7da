"""A solution of rows that have changed, from a solution before: where a path would be long."""

import numpy as np

from ..problem import DualProblem
from ..solvers import Status, solve_decomposition
from ..solvers.run import certify

# Violations in units of the gradient. Newton steps often finish a rough solution to rounding.
_ROUGH, _EXACT = 1e-3, 1e-10
# Rows that are solved first: support vectors and the rows nearest to becoming one.
_NEAR, _MOST, _ROUNDS = 256, 1024, 3


def solved_afresh(problem, start, gradient, gram_of, deadline, cache_size):
    """The Result of the batch solver, exact to rounding; None where a path has to do it.

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
    solve = _Solver(deadline, cache_size)
    a = _feasible(problem, start)
    if a is None:
        return None
    result = None
    for _ in range(_ROUNDS):
        near = _near(problem, a, gradient)
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


class _Solver:
    """The batch solver, to rounding."""

    def __init__(self, deadline, cache_size):
        self._deadline, self._cache_size = deadline, cache_size

    def __call__(self, problem, result):
        for tol in (_ROUGH, _EXACT):
            result = solve_decomposition(
                problem,
                result,
                tol=tol,
                cache_size=self._cache_size,
                max_time=self._deadline.left(),
            )
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if not result.converged:
                return None
            if self.is_exact(problem, result):
                break
        return result

    @staticmethod
    def is_exact(problem, result):
        return result.violation <= _EXACT * problem.largest


def _feasible(problem, start):
    """Variables near ``start`` that the problem allows; None if there are none by rounding."""
    a = problem.penalty.rounded(start)
    positive = a > 0.0
    size = float(a[positive].sum())
    if size > 0.0:  # let the other rows carry what a row has lost
        a[positive] *= max(0.0, problem.total - float(a[~positive].sum())) / size
        a = problem.penalty.rounded(a)
    a = problem.penalty.filled(a, problem.total - float(a.sum()))
    return a if problem.is_feasible(a) else None


def _near(problem, a, gradient):
    """Rows to solve first, ascending; None where these would be too many or all."""
    used = a != 0.0
    n = np.count_nonzero(used) + _NEAR
    if n > min(_MOST, problem.n // 2):
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
