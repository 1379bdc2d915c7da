"""The concave-convex procedure (Yuille & Rangarajan 2002) over problems of the form (P)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .result import Status
from .warm import warm_start

# Outer steps; a handful is usual.
_MAX_STEPS = 100
# Decrease of the objective, relative to it, below which steps end.
_NO_PROGRESS = 1e-9


def solve_cccp(make_step, state, next_state, solve, value, *, start=None, max_steps=_MAX_STEPS):
    """A local minimum of a convex function minus a convex one.

    Every step replaces the concave part by its tangent, which ``state`` stands for, and
    solves the convex problem that is left, from the solution of the step before. It ends
    when the state stays the same; the objective of the whole problem never increases.

    Parameters
    ----------
    make_step : callable
        From a state to the step's DualProblem.
    state : ndarray of shape (n,)
        First state: per row, which piece of its concave part the tangent touches.
    next_state : callable
        From a Result to the state at its solution.
    solve : callable
        ``solve(problem, start)`` to a Result; ``start`` is None or a Result whose history
        and iterations it continues.
    value : callable
        From a Result to the objective of the whole problem.
    start : Result or None, default=None
        Where the first step starts.
    max_steps : int
        Limit on steps.

    Returns
    -------
    result : Result
        The last step's result, with the history and iterations of all steps.
    state : ndarray of shape (n,)
        The state that the last step was solved for.
    objectives : list of float
        Objective of the whole problem after every step.
    """
    objectives = []
    before = None
    for _ in range(max_steps):
        result = solve(make_step(state), start)
        objectives.append(value(result))
        if before is not None and objectives[-1] > objectives[-2]:
            # Less than the accuracy of a step is left to gain.
            objectives.pop()
            best, state = before
            told = {"status": result.status, "history": result.history, "n_iter": result.n_iter}
            return replace(best, **told), state, objectives
        following = next_state(result)
        slow = len(objectives) > 1 and (
            objectives[-2] - objectives[-1] <= _NO_PROGRESS * abs(objectives[-1])
        )
        if slow or not result.converged or np.array_equal(following, state):
            return result, state, objectives
        before = result, state
        start = warm_start(make_step(following), result.a, result.gradient)
        start = replace(start, history=result.history, n_iter=result.n_iter)
        state = following
    return replace(result, status=Status.MAX_ITER), before[1], objectives
