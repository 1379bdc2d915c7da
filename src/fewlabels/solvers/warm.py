"""A start for a problem from the solution of a similar one."""

from __future__ import annotations

import numpy as np

from .coarse import repaired
from .result import Result, Status

# Changes below this share of the largest variable are none.
_ROUNDING = 1e-12


def warm_start(problem, a, gradient):
    """A feasible point near ``a``, with its gradient.

    Variables outside their intervals go to the nearest end; what the sum then lacks goes
    to the rows nearest to a threshold.

    Parameters
    ----------
    problem : DualProblem
        The problem to start on.
    a : ndarray of shape (n,)
        Solution of a similar problem over the same rows.
    gradient : ndarray of shape (n,)
        ``Q a``, with this problem's Q.

    Returns
    -------
    Result
        What ``solve_decomposition`` takes as a start. Only columns of variables that had
        to move are evaluated.
    """
    gradient = gradient.copy()
    # On the breakpoints exactly: else rows next to one would be solved for again.
    at = problem.snapped(np.clip(a, problem.penalty.lower, problem.penalty.upper))
    _advance(problem, a, at, gradient)
    # A sum that is right to rounding stays as it is.
    if not problem.is_feasible(at, rtol=1e-12):
        moved = repaired(problem, at, gradient - problem.ridge * at)
        _advance(problem, at, moved, gradient)
        at = moved
    return Result(at, gradient, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)


def _advance(problem, before, after, gradient):
    """``gradient`` from ``Q before`` to ``Q after``, in place, by the cheaper way."""
    rounding = _ROUNDING * float(np.abs(after).max(initial=0.0))
    moved = np.flatnonzero(np.abs(after - before) > rounding)
    if len(moved) <= np.count_nonzero(after):
        problem.add_product(moved, (after - before)[moved], gradient)
    else:
        gradient[:] = problem.gradient(after)
