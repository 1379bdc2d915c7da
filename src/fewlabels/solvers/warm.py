"""A start for a problem from the solution of a similar one."""

import numpy as np

from .engine.memory import collected, memory_rows
from .equal_rows import merged
from .result import Result, Status


def warm_start(problem, a, gradient):
    """A feasible point near ``a``, the solution of a similar problem over the same rows.

    Variables outside their intervals go to the nearest end; what the sum then lacks goes to the
    rows nearest to a threshold. ``gradient`` is ``Q a`` with this problem's Q: only columns of
    variables that had to move are evaluated for the Result, which can be started from.
    """
    smaller = merged(problem)
    if smaller is not None:
        start = Result(a, gradient, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)
        start = smaller.gathered(start)
        return smaller.shared(warm_start(smaller.problem, start.a, start.gradient))
    rows = memory_rows(problem, a, gradient)
    rows.begin()
    rows.clip()
    # On the breakpoints exactly: else rows next to one would be solved for again.
    rows.snap()
    # A sum that is right to rounding stays as it is.
    if not rows.totals().is_feasible(problem.total, rtol=1e-12):
        rows.repair()
    rows.advance()
    return Result(*collected(rows), 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)


def repaired(problem, a, gradient):
    """The nearest point to ``a`` with the right sum, as ``warm_start`` finds it."""
    rows = memory_rows(problem, a, gradient)
    rows.repair()
    return collected(rows)[0]
