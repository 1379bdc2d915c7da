"""A solution of rows that have changed, from a solution before: where a path would be long."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .._util.deadline import Deadline
from ..kernels import Kernel
from ..kernels.operators import GramOperator
from ..problem import DualProblem
from ..problem.dual import Formulation, find_missing_curvature
from ..rows.row_store import BREAKDOWNS, AnomalyMarks, RowStore, SavedStream, measure_violation
from ..solvers import Result, Status, solve_decomposition
from ..solvers.path import PathFollower
from ..solvers.run import HistoryEntry, certify

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


class RetrainedStream(SavedStream):
    """The part of a ``ConvexStream`` that does without its path."""

    # What a ``ConvexStream`` sets.
    stated: Formulation
    formulation: Formulation
    kernel: Kernel
    shift: FloatArray | None
    rows: RowStore
    marks: AnomalyMarks
    path: PathFollower | None
    # Places of the rows on the path, and which row of the path each is: None before the first.
    on_path: Any
    of: Any
    mass: Any
    stale: bool
    version: int
    done: bool
    cache_size: float
    n_jobs: int
    deadline: Deadline
    _start: tuple[FloatArray, float]
    _gradient: FloatArray
    _steps_before: int
    _history_before: list[HistoryEntry]

    @abstractmethod
    def _gram(self, places: IntArray) -> GramOperator:
        """Return exact kernel values of the rows at some places."""

    @abstractmethod
    def _rows_for_path(self) -> BoolArray:
        """Return the mask of the places whose rows belong on a path now."""

    @abstractmethod
    def _total_weight(self, places: IntArray) -> float:
        """Return how much the rows at places weigh together."""

    @abstractmethod
    def _sync_membership(self) -> None:
        """Note which rows have left the path."""

    @abstractmethod
    def _discard_path(self) -> None:
        """Let another path begin where this one ended."""

    @contextmanager
    def explain_breakdowns(self) -> Iterator[None]:
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

    def _has_curvature(self) -> bool:
        gram = self._gram(self.on_path)
        return not np.isnan(find_missing_curvature(gram, np.zeros(gram.n)))

    def _retrain(self) -> bool:
        """Solve near the last solution, and return whether that gave an exact one."""
        gradient, self._gradient = self._gradient, self._gradient[:0]
        if self.path is not None:
            self._sync_membership()
            gradient = (self.path.h + self.path.multiplier)[self.of]
            gradient /= self.formulation.unit(self.mass)
        self._discard_path()
        places, problem = self._current_problem()
        known = self._start[0]
        known = np.append(known, np.zeros(self.rows.n_places - len(known)))[places]
        start = known / self.formulation.unit(self.mass)
        self.done = False
        self.version += 1
        result = solve_near_start(
            problem,
            start,
            gradient if len(gradient) == len(places) else None,
            lambda chosen: self._gram(places[chosen]),
            self.deadline,
            self.cache_size,
        )
        if result is None:
            return False
        self._start_from_result(places, problem, result)
        self.done = True
        return True

    def _current_problem(self) -> tuple[IntArray, DualProblem]:
        """Return the places of the rows that belong on a path, and the problem over them."""
        self.marks.follow_current(self.on_path[:0])
        places = np.flatnonzero(self._rows_for_path())
        return places, self.stated.problem(self._gram(places), self.marks.at(places))

    def _start_from_result(
        self, places: IntArray, problem: DualProblem, result: Result, finished: bool = True
    ) -> None:
        """Store the Result over the rows at some places as the solution, and start of a path."""
        self._gradient, self._last_violation = result.gradient, measure_violation(problem, result)
        self.on_path, self.mass, self.stale = places, self._total_weight(places), False
        self._start = (
            self.rows.scatter(places, result.a) * self.formulation.unit(self.mass),
            self.formulation.path_multiplier(result.multiplier, self.mass),
        )
        entry = {"operation": "solve", "rows": len(places), "steps": result.n_iter, "flips": 0}
        self._history_before = [*self._history_before, {**entry, "finished": finished}]
        self._steps_before += result.n_iter

    def _violation_now(self) -> tuple[float, float]:
        path = self.path
        if path is None:
            return self._last_violation
        unit = self.formulation.unit(self.mass)
        if not self.is_relative and path.resolution <= self.tol * unit:
            return 0.0, 0.0
        return path.violation() / unit, path.size_of_terms / unit


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
