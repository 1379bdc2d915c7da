"""The engine over rows in memory: a problem in, a certified result out."""

from dataclasses import replace

import numpy as np

from .engine.engine import Engine
from .engine.memory import collected, memory_rows
from .engine.record import Record
from .equal_rows import merged
from .result import Result, certified
from .settings import Settings
from .whole import is_whole, solve_whole


def solve_decomposition(problem, start=None, settings=None, **changes):
    """Solve (P).

    Parameters
    ----------
    problem : DualProblem
        The problem.
    start : ndarray of shape (n,), Result, or None, default=None
        A feasible point, or an earlier Result to resume from (its gradient is then
        not computed again). None starts coarse to fine.
    settings : Settings or None
        Settings; keyword arguments replace single ones.

    Returns
    -------
    Result
        ``n_iter`` counts pair steps. After Ctrl-C the status is ``INTERRUPTED`` and the
        result is feasible, so that it can be used or resumed.
    """
    settings = settings or Settings()
    if changes:
        settings = replace(settings, **changes)
    smaller = merged(problem)
    if smaller is not None:
        if start is not None:
            _variables(start.a if isinstance(start, Result) else start, problem)
        start = smaller.gathered(start)
        return smaller.shared(solve_decomposition(smaller.problem, start, settings))
    gradient, record = None, Record(settings)
    if isinstance(start, Result):
        start, gradient, record = start.a, start.gradient, Record(settings, start)
    if start is not None:
        start = _variables(start, problem)
    if is_whole(problem, settings):
        a = problem.feasible_start() if start is None else start
        found, final = solve_whole(problem, a, settings, record)
        if final:
            return found
        if found is not None:
            start, gradient = found.a, found.gradient
    rows = memory_rows(problem, start, gradient)
    engine = Engine(rows, settings, record)
    status = engine.run(cold=start is None)
    rows.snap()
    return certified(
        rows.totals(), rows.duality_gap, *collected(rows),
        status, engine.record.n_iter, engine.record.history,
    )  # fmt: skip


def _variables(start, problem):
    """A feasible start as a new array."""
    a = np.array(start, dtype=float)
    if a.shape != (problem.n,):
        raise ValueError(f"the start has shape {a.shape}; the problem has {problem.n} variables.")
    if not problem.is_feasible(a):
        raise ValueError(
            "the start is not feasible: every a_i must lie in its interval and "
            f"they must sum to {problem.total:g} (here {a.sum():g})."
        )
    return a
