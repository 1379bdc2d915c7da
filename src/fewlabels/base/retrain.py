"""A solution of rows that have changed, from a solution before: where a path would be long."""

from contextlib import contextmanager

import numpy as np

from ..problem import DualProblem
from ..problem.dual import curvature_missing
from ..rows.row_store import BREAKDOWNS, SavedStream, reached
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


def trained(problem, deadline, cache_size):
    """The Result of the batch solver from its own start, as near as rounding lets it come."""
    result = solve_decomposition(
        problem, tol=_EXACT, cache_size=cache_size, max_time=deadline.left()
    )
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


class AfreshStream(SavedStream):
    """The part of a ``ConvexStream`` that does without its path."""

    @contextmanager
    def judging_kernel(self):
        """Refuse a kernel under which a path breaks down because it isn't an inner product."""
        try:
            yield
        except BREAKDOWNS as error:
            if self._has_curvature():
                raise ValueError(
                    "models without a row are lost to rounding, because kernel values are so "
                    "large. Scale the columns, and check for outliers."
                ) from error
            raise ValueError(
                "leave-one-out scores and updates need a positive semi-definite kernel, and this "
                "one isn't. Use another kernel, or calibration='split' for calibrated thresholds."
            ) from error

    def _has_curvature(self):
        gram = self._gram(self.on_path)
        return not np.isnan(curvature_missing(gram, np.zeros(gram.n)))

    def _solve_afresh(self):
        """Take over a new exact solution near the last one; whether there is one."""
        gradient, self._gradient = self._gradient, self._gradient[:0]
        if self.path is not None:
            self._notice()
            gradient = (self.path.h + self.path.multiplier)[self.of]
            gradient /= self.formulation.unit(self.mass)
        self._begin_again()
        places, problem = self._present_problem()
        known = self._start[0]
        known = np.append(known, np.zeros(self.rows.n_places - len(known)))[places]
        start = known / self.formulation.unit(self.mass)
        self.done = False
        self.version += 1
        result = solved_afresh(
            problem,
            start,
            gradient if len(gradient) == len(places) else None,
            lambda chosen: self._gram(places[chosen]),
            self.deadline,
            self.cache_size,
        )
        if result is None:
            return False
        self._take_over(places, problem, result)
        self.done = True
        return True

    def _present_problem(self):
        """Places of the rows that belong on a path, and the model's problem over them."""
        self.marks.turn(self.on_path[:0])
        places = np.flatnonzero(self._wanted())
        return places, self.stated.problem(self._gram(places), self.marks.at(places))

    def _take_over(self, places, problem, result, finished=True):
        """Let the Result over the rows at some places be the solution, and start of a path."""
        self._gradient, self._trained = result.gradient, reached(problem, result)
        self.on_path, self.mass, self.stale = places, self._mass_of(places), False
        self._start = (
            self.rows.spread(places, result.a) * self.formulation.unit(self.mass),
            self.formulation.path_multiplier(result.multiplier, self.mass),
        )
        entry = {"operation": "solve", "rows": len(places), "steps": result.n_iter, "flips": 0}
        self._history_before = [*self._history_before, {**entry, "finished": finished}]
        self._steps_before += result.n_iter

    def _reached(self):
        path = self.path
        if path is None:
            return self._trained
        unit = self.formulation.unit(self.mass)
        if not self.is_relative and path.resolution <= self.tol * unit:
            return 0.0, 0.0
        return path.violation() / unit, path.size_of_terms / unit


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
