"""The concave-convex procedure (Yuille & Rangarajan 2002) over problems of the form (P).

And ``Steps``, by which several convex problems are one fit.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from .._typing import AnyArray
from ..kernels.operators import GramOperator
from ..problem import DualProblem
from .decomposition import is_whole, solve_decomposition, warm_start
from .run import MAX_ROWS_SOLVED_WHOLE, HistoryEntry, Result, Settings, Status

# The state of a step, such as a mask or an array of signs.
S = TypeVar("S", bound=AnyArray)

# Outer steps; a handful is usual.
_MAX_STEPS = 100
# Decrease of the objective, relative to it, below which steps end.
_NO_PROGRESS = 1e-9


def solve_cccp(
    make_step: Callable[[S], DualProblem],
    state: S,
    next_state: Callable[[Result], S],
    solve: Callable[[DualProblem, Result | None], Result],
    value: Callable[[Result], float],
    *,
    start: Callable[[DualProblem], Result | None] | None = None,
    max_steps: int = _MAX_STEPS,
) -> tuple[Result, S, list[float]]:
    """Return a local minimum of a convex function minus a convex one.

    Every step replaces the concave part by its tangent, which ``state`` means (per row, the
    piece of its concave part that the tangent touches), and solves the convex problem that is
    left, ``make_step(state)``, by ``solve(problem, start)`` from the Result of the step before. It
    ends when ``next_state`` of the Result is the same, or after ``max_steps``; ``value`` of the
    Result, the objective of the whole problem, never increases. ``start(problem)`` says
    where the first problem starts; None lets the solver choose.

    Returns the last Result, with the history and iterations of all steps, the state that it was
    solved for, and the objective after every step.
    """
    objectives: list[float] = []
    before: tuple[Result, S] | None = None
    problem = make_step(state)
    point = None if start is None else start(problem)
    for _ in range(max_steps):
        result = solve(problem, point)
        objectives.append(value(result))
        if before is not None and objectives[-1] > objectives[-2]:
            # Less than the accuracy of a step is left to gain.
            objectives.pop()
            best, state = before
            best = replace(
                best, status=result.status, history=result.history, n_iter=result.n_iter
            )
            return best, state, objectives
        following = next_state(result)
        slow = len(objectives) > 1 and (
            objectives[-2] - objectives[-1] <= _NO_PROGRESS * abs(objectives[-1])
        )
        if slow or not result.converged or np.array_equal(following, state):
            return result, state, objectives
        before = result, state
        problem = make_step(following)
        point = warm_start(problem, result.a, result.gradient)
        point = replace(point, history=result.history, n_iter=result.n_iter)
        state = following
    assert before is not None
    return replace(result, status=Status.MAX_ITER), before[1], objectives


class Steps:
    """The engine over the steps of one fit: one time limit, callback, count, Ctrl-C and stop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started = time.perf_counter()
        self.stop_asked = False
        self._values_seen = self._values_between = 0
        self._gram: GramOperator | None = None

    def solve(
        self, problem: DualProblem, start: Result | None, tol: float | None = None
    ) -> Result:
        """Return a Result; not converged when the whole fit has to stop."""
        # What the engine does not count: making the operator, and a start out of another solution.
        self._values_between = problem.gram.n_values - self._values_seen
        spent = time.perf_counter() - self.started
        settings = replace(
            self.settings,
            tol=self.settings.tol if tol is None else tol,
            max_time=max(0.0, self.settings.max_time - spent),
            callback=self._on_round,
        )
        if (
            self._gram is problem.gram
            and problem.n <= MAX_ROWS_SOLVED_WHOLE
            and is_whole(problem, settings)
        ):
            problem.gram.materialise()
        self._gram = problem.gram
        result = solve_decomposition(problem, start, settings)
        before = 0 if start is None else len(start.history)
        new_entries = [self._with_all_values(entry) for entry in result.history[before:]]
        if new_entries:
            result = replace(result, history=result.history[:before] + new_entries)
            self._values_seen = problem.gram.n_values
        if result.converged and self.stop_asked:
            return replace(result, status=Status.STOPPED)
        return result

    def _on_round(self, entry: HistoryEntry) -> bool:
        callback = self.settings.callback
        if callback is not None:
            counted = self._with_all_values(entry)
            self.stop_asked = bool(callback(counted)) or self.stop_asked
            # What it notes stays, in place of what is counted once.
            entry.update({**counted, "kernel_values": entry["kernel_values"]})
        return self.stop_asked

    def _with_all_values(self, entry: HistoryEntry) -> HistoryEntry:
        return {**entry, "kernel_values": entry["kernel_values"] + self._values_between}
