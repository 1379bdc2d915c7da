"""The convex problems of a positive-unlabelled machine by an interior-point solver."""

from __future__ import annotations

from dataclasses import replace

from ...solvers import REFERENCE_SOLVERS


def solve_by_qp(problem, engine, start=None):
    """A Result, which continues the history and iterations of ``start``."""
    solve, accuracy = REFERENCE_SOLVERS["qp"]
    options = {} if engine.max_iter < 0 else {"max_iter": engine.max_iter}
    result = solve(problem, tol=min(engine.tol, accuracy), **options)
    if start is None:
        return result
    return replace(
        result, history=start.history + result.history, n_iter=start.n_iter + result.n_iter
    )
