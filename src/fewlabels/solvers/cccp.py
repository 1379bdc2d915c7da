"""The concave-convex procedure (Yuille & Rangarajan 2002) over problems of the form (P)."""

from dataclasses import replace

import numpy as np

from .decomposition import warm_start
from .run import Status

# Outer steps; a handful is usual.
_MAX_STEPS = 100
# Decrease of the objective, relative to it, below which steps end.
_NO_PROGRESS = 1e-9


def solve_cccp(make_step, state, next_state, solve, value, *, start=None, max_steps=_MAX_STEPS):
    """A local minimum of a convex function minus a convex one.

    Every step replaces the concave part by its tangent, which ``state`` means (per row, the
    piece of its concave part that the tangent touches), and solves the convex problem that is
    left, ``make_step(state)``, by ``solve(problem, start)`` from the Result of the step before. It
    ends when ``next_state`` of the Result is the same, or after ``max_steps``; ``value`` of the
    Result, the objective of the whole problem, never increases.

    Returns the last Result, with the history and iterations of all steps, the state that it was
    solved for, and the objective after every step.
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
            outcome = {"status": result.status, "history": result.history, "n_iter": result.n_iter}
            return replace(best, **outcome), state, objectives
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
