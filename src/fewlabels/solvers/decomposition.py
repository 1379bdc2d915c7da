"""The engine over rows in memory: a problem in, a certified result out."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import FloatArray, VectorLike
from ..problem import DualProblem
from .engine.engine import Engine
from .engine.partition import Partition
from .engine.rows import Rows
from .equal_rows import merge_equal_rows
from .run import Record, Result, Settings, Status, make_result
from .small_problems import is_whole, solve_whole


def solve_decomposition(
    problem: DualProblem,
    start: VectorLike | Result | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Result:
    """Solve problem (P) by block decomposition.

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
    smaller = merge_equal_rows(problem)
    if smaller is not None:
        if start is not None:
            _check_start(start.a if isinstance(start, Result) else start, problem)
        start = smaller.to_merged(start)
        return smaller.to_whole(solve_decomposition(smaller.problem, start, settings))
    a: FloatArray | None
    gradient: FloatArray | None
    if isinstance(start, Result):
        a, gradient = _check_start(start.a, problem), start.gradient
        record = Record(settings, start)
    else:
        a = None if start is None else _check_start(start, problem)
        gradient, record = None, Record(settings)
    if is_whole(problem, settings):
        found, final = solve_whole(
            problem, problem.feasible_start() if a is None else a, settings, record
        )
        if found is not None:
            if final:
                return found
            a, gradient = found.a, found.gradient
    rows = make_memory_rows(problem, a, gradient)
    engine = Engine(rows, settings, record)
    status = engine.run(cold=a is None)
    rows.round_to_breakpoints()
    return make_result(
        rows.totals(),
        rows.duality_gap,
        *collect_variables(rows),
        status,
        engine.record.n_iter,
        engine.record.history,
    )


def _check_start(start: VectorLike, problem: DualProblem) -> FloatArray:
    """Return a feasible start as a new array."""
    a = np.array(start, dtype=float)
    if a.shape != (problem.n,):
        raise ValueError(f"the start has shape {a.shape}; the problem has {problem.n} variables.")
    if not problem.is_feasible(a):
        raise ValueError(
            "the start is not feasible: every a_i must lie in its interval and "
            f"they must sum to {problem.total:g} (here {a.sum():g})."
        )
    return a


def make_memory_rows(
    problem: DualProblem,
    a: FloatArray | None = None,
    gradient: FloatArray | None = None,
    parts: int = 1,
) -> Rows:
    """Return the ``Rows`` of a problem, perhaps at a feasible ``a`` with its ``gradient`` Q a.

    The number of ``parts`` makes no difference but for rounding.
    """
    edges = sorted({problem.n * k // parts for k in range(parts + 1)})
    partitions = []
    for first, last in pairwise(edges):
        part = slice(first, last)
        partition = Partition(
            problem.gram.part(first, last),
            problem.penalty if len(edges) == 2 else problem.penalty.take(part),
            problem.ridge[part],
            problem.scale,
            first,
        )
        if a is not None:
            part_gradient = None if gradient is None else np.array(gradient[part])
            partition.start(np.array(a[part]), part_gradient)
        partitions.append(partition)
    return Rows(partitions, problem.total, problem.scale)


def collect_variables(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Return all variables and their gradient, of rows in memory."""
    a = [partition.a for partition in rows.partitions]
    g = [partition.g for partition in rows.partitions]
    return (a[0], g[0]) if len(a) == 1 else (np.concatenate(a), np.concatenate(g))


def warm_start(problem: DualProblem, a: FloatArray, gradient: FloatArray) -> Result:
    """Return a feasible point near ``a``, the solution of a similar problem over the same rows.

    Variables outside their intervals go to the nearest end; what the sum then lacks goes to the
    rows nearest to a threshold. ``gradient`` is ``Q a`` with this problem's Q: only columns of
    variables that had to move are evaluated for the Result, which can be started from.
    """
    smaller = merge_equal_rows(problem)
    if smaller is not None:
        start = Result(a, gradient, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)
        start = smaller.to_merged_result(start)
        return smaller.to_whole(warm_start(smaller.problem, start.a, start.gradient))
    rows = make_memory_rows(problem, a, gradient)
    rows.clip()
    # On the breakpoints exactly: else rows next to one would be solved for again.
    rows.round_to_breakpoints()
    # A sum that is right to rounding stays as it is.
    if not rows.totals().is_feasible(problem.total, rtol=1e-12):
        rows.repair()
    rows.advance()
    return Result(*collect_variables(rows), 0.0, np.nan, np.inf, np.inf, Status.STOPPED, 0)


def repair_sum(problem: DualProblem, a: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the nearest point to ``a`` with the right sum, as ``warm_start`` finds it."""
    rows = make_memory_rows(problem, a, gradient)
    rows.repair()
    return collect_variables(rows)[0]
