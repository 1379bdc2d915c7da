"""The engine over rows in memory: a problem in, a certified result out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .engine.engine import Engine
from .engine.memory import collected, memory_rows
from .engine.record import Record
from .result import Result, certified
from .settings import Settings


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
    settings = Settings() if settings is None else settings
    settings = replace(settings, **changes) if changes else settings
    record = None
    if isinstance(start, Result):
        record = Record(settings, start.n_iter, start.history)
        rows = memory_rows(problem, start.a, start.gradient)
    elif start is not None:
        rows = memory_rows(problem, _variables(start, problem.n))
    else:
        rows = memory_rows(problem)
    if start is not None and not (totals := rows.totals()).is_feasible(problem.total):
        raise ValueError(
            "the start is not feasible: every a_i must lie in its interval and "
            f"they must sum to {problem.total:g} (here {totals.sum:g})."
        )
    engine = Engine(rows, settings, record)
    status = engine.run(cold=start is None)
    rows.snap()
    return certified(
        rows.totals(), rows.duality_gap, *collected(rows),
        status, engine.record.n_iter, engine.record.history,
    )  # fmt: skip


def _variables(start, n):
    a = np.array(start, dtype=float)
    if a.shape != (n,):
        raise ValueError(f"the start has shape {a.shape}; the problem has {n} variables.")
    return a
