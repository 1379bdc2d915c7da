"""Rows in memory: a problem in, a certified result out.

A problem of up to a thousand rows, two thousand where steps meet few of them, is one working set
of compiled code (``SmallProblemRun``). What a fit costs is then everything around the steps, so
only what few rows need is done here: of Q, the rows that steps meet. What cannot be finished this
way (many solutions that are equal, rounding that hides the tolerance) continues in the engine, as
do larger problems.

Equal rows are solved as one row with their penalties together (``merge_equal_rows``). Only the sum
of the variables of equal rows matters to K. Where their slopes are the same, what the best way of
sharing it out costs is again such a penalty: breakpoints add up. So do the inverses of ridges,
where breakpoints are in that ratio.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._core import functions as core
from .._core.functions import GatheredRows, Outcome, StepLimits, add_products
from .._typing import FloatArray, IntArray, VectorLike
from ..kernels.operators import GramOperator, PrecomputedGram
from ..kernels.operators.rows import MAX_LAZY_SHARE
from ..kernels.rows import DuplicateRows
from ..problem import DualProblem, Penalty
from ..problem.penalty import group_sums
from .engine.engine import Engine
from .engine.partition import Partition
from .engine.rows import Rows
from .run import (
    MAX_ROWS_SOLVED_LAZILY,
    MAX_ROWS_SOLVED_WHOLE,
    Record,
    Result,
    Settings,
    Status,
    make_result,
)

# The share of the memory that the matrix of all rows may take.
_BLOCK_SHARE = 0.5
# Pair steps in one compiled call, about a third of a second.
_STEPS_PER_CALL = 50_000
# Compiled calls before the engine continues, which notices when nothing improves.
_MAX_CALLS = 10
# What Newton steps may cost, in units of ``finish_block``.
_NEWTON_BUDGET = 60.0
# Variables of a Newton step.
_MAX_NEWTON_VARIABLES = 512
# Limits of fewer seconds are for the engine, which looks at the clock more often.
_MIN_SECONDS = 5.0
# Q of fewer rows is evaluated at once,
_MIN_LAZY_ROWS = 300
# and also if the start uses more than this share of the rows.
_MAX_USED_SHARE = 0.3
# Rows of Q that are evaluated together, at most.
_MAX_ROWS_AT_A_TIME = 32
# Multiply-adds per kernel value from which all values are formed once, if a start uses many rows.
_WORTH_FORMING = 48
# Rows of such a matrix at most: pair steps go through all of them.
_MAX_ROWS_FORMED = 4096
# Rounding in float64 kernel values, which a block always has.
_ROUNDING = 4.5e-16


def is_whole(problem: DualProblem, settings: Settings) -> bool:
    """Return whether a problem is solved here: few rows, and no limit that may cut a run short."""
    most = MAX_ROWS_SOLVED_LAZILY if supports_lazy_rows(problem.gram) else MAX_ROWS_SOLVED_WHOLE
    return (
        2 <= problem.n
        and (problem.n <= most or problem.gram.matrix is not None)
        and _fits_whole(problem, settings)
        and (settings.block_size is None or settings.block_size >= problem.n)
        and settings.max_iter < 0
        and settings.max_time > _MIN_SECONDS
    )


def _fits_whole(problem: DualProblem, settings: Settings) -> bool:
    """Return whether there is room for a matrix of all rows."""
    return 8 * problem.n**2 <= _BLOCK_SHARE * settings.cache_size


def _form_matrix_if_cheaper(problem: DualProblem, a: FloatArray, settings: Settings) -> int:
    """Form all kernel values once, where these are dear and a start ``a`` uses many; their number.

    Blocks, one after the other, would evaluate them several times.
    """
    gram, uses_many = problem.gram, np.count_nonzero(a) > MAX_LAZY_SHARE * problem.n
    before = gram.n_values
    if uses_many and gram.value_cost >= _WORTH_FORMING and _fits_whole(problem, settings):
        gram.materialise()
    return gram.n_values - before


def supports_lazy_rows(gram: GramOperator) -> bool:
    """Return whether kernel values are evaluated as steps meet them."""
    # Where Q is not positive semi-definite, all rows look for a good stationary point.
    dear = gram.dtype == np.float64 and 0.0 < gram.value_cost < np.inf
    return dear and gram.matrix is None and gram.is_inner_product


def solve_whole(
    problem: DualProblem, a: FloatArray, settings: Settings, record: Record
) -> tuple[Result | None, bool]:
    """From a feasible ``a`` as far as compiled code goes: a Result, and whether it is final.

    None in its place where so many rows are used at once that this is for the engine.
    """
    uses_many = np.count_nonzero(a) > MAX_LAZY_SHARE * problem.n
    if problem.n > MAX_ROWS_SOLVED_WHOLE and uses_many and problem.gram.matrix is None:
        return None, False
    run = SmallProblemRun(problem, a, settings, record)
    try:
        final = run.solve_small()
    except KeyboardInterrupt:
        run.status, final = Status.INTERRUPTED, True
        run.refresh()
    if not final:
        run.lazy_rows.hand_over()
    return run.result(final), final


class LazyRows:
    """The rows of Q that steps have met, each evaluated with some that they may meet next.

    Row p of ``Q`` belongs to variable ``here[p]``, and ``place`` says p. ``whole``: all of Q is
    there from the beginning, in its order.
    """

    def __init__(self, problem: DualProblem, used: IntArray) -> None:
        self.problem, n = problem, problem.n
        self.diagonal = problem.diagonal
        some = (
            n >= _MIN_LAZY_ROWS
            and len(used) <= _MAX_USED_SHARE * n
            and supports_lazy_rows(problem.gram)
        )
        self.whole = not some
        if self.whole:
            self.Q = problem.matrix()
            self.row_ids = self.row_position = np.arange(n)
        else:
            self.Q = np.empty((n, n))
            self._row_order, self.row_position = np.empty((2, n), np.intp)
            self.row_ids = self._row_order[:0]
            self._has_ridge = problem.ridge.any()
            self._evaluate(used)

    def _evaluate(self, rows: IntArray) -> None:
        before, count = len(self.row_ids), len(self.row_ids) + len(rows)
        new = self.problem.gram.columns(rows, self.Q[before:count])
        if self.problem.scale != 1.0:
            new *= self.problem.scale
        if self._has_ridge:
            new[np.arange(len(rows)), rows] += self.problem.ridge[rows]
        self._row_order[before:count] = rows
        self.row_position[rows] = np.arange(before, count)
        self.row_ids = self._row_order[:count]

    def evaluate_rows(self, rows: IntArray) -> bool:
        """Evaluate ``rows`` of Q.

        False, and nothing is done, where there are none, or where so many have been that blocks of
        them are faster.
        """
        n = len(self.Q)
        if not len(rows) or (n > MAX_ROWS_SOLVED_WHOLE and len(self.row_ids) > MAX_LAZY_SHARE * n):
            return False
        self._evaluate(rows)
        return True

    def take_steps(
        self,
        g: FloatArray,
        a: FloatArray,
        penalty: Penalty,
        limits: StepLimits,
    ) -> tuple[int, float, Outcome]:
        """``solve_block``, then ``finish_block`` unless ``largest`` is 0, of all variables.

        Their gradient ``g`` is Q a, and is computed afresh in between. Where steps come first, the
        ``goal`` is a thirteenth digit of the multiplier, if that is more. Returns what
        ``finish_block`` does.
        """
        pieces = penalty.pieces
        wanted = np.empty(0 if self.whole else _MAX_ROWS_AT_A_TIME, np.int64)
        # Pair steps go through the columns of the rows that are there: these together, as they
        # come.
        submatrix, n_gathered = np.empty((0, 0)), len(a) if self.whole else 0
        steps, ended = 0, core.MISSING
        work, budget = core.workspace(len(a), limits.largest), limits.budget
        while ended == core.MISSING:
            count = len(self.row_ids)
            if count > max(n_gathered, len(submatrix)):
                submatrix, n_gathered = np.empty((2 * count, 2 * count)), 0
            rows = GatheredRows(
                self.Q, self.row_ids, self.row_position, submatrix, n_gathered, self.diagonal
            )
            left = limits._replace(max_steps=limits.max_steps - steps, budget=budget)
            done, budget, ended = core.take_steps(rows, g, a, pieces, wanted, left, work)
            steps, n_gathered = steps + done, count
            if ended == core.MISSING and not self.evaluate_rows(wanted[wanted >= 0]):
                return steps, budget, Outcome.SINGULAR
        return steps, budget, Outcome(ended)

    def hand_over(self) -> None:
        """Leave all kernel values to the operator where these are dear, and most are here."""
        gram, Q = self.problem.gram, self.Q
        is_cheap = gram.value_cost < _WORTH_FORMING
        if is_cheap or gram.matrix is not None or 2 * len(self.row_ids) < len(Q):
            return
        if not self.whole:
            missing = np.ones(len(Q), bool)
            missing[self.row_ids] = False
            self._evaluate(np.flatnonzero(missing))
            Q = Q[self.row_position]
        gram.matrix = Q if self.problem.scale == 1.0 else Q / self.problem.scale
        np.fill_diagonal(gram.matrix, gram.diagonal())  # without the ridge

    def product(self, a: FloatArray) -> FloatArray:
        """Return Q a, where no other variables than those that are here are used."""
        return add_products(self.Q, a[self.row_ids], np.zeros(len(a)))


class SmallProblemRun:
    """Pair steps and Newton steps over all rows of one problem."""

    def __init__(
        self, problem: DualProblem, a: FloatArray, settings: Settings, record: Record
    ) -> None:
        self.problem, self.settings = problem, settings
        self.a, self.penalty = a, problem.penalty
        self.status = Status.CONVERGED
        self.record = record
        self._values_before = problem.gram.n_values
        self.lazy_rows = LazyRows(problem, a.nonzero()[0])
        self._error = _ROUNDING * math.sqrt(problem.scale * problem.largest)
        self.refresh()

    def refresh(self) -> None:
        """The gradient afresh: many small steps leave more rounding in it than one product."""
        self.g = self.lazy_rows.product(self.a)
        self.totals = self.problem.survey(self.a, self.g)

    def _n_values(self) -> int:
        return self.problem.gram.n_values - self._values_before

    def measure(self) -> tuple[float, float, float, float]:
        """Return the violation, the tolerance, and what rounding leaves.

        Rounding is counted in the violation and in the gradient.
        """
        noise, settings = self._error * self.totals.rounding_scale, self.settings
        return *self.totals.compare_with_tolerance(settings.tol, settings.rtol, noise), noise

    def solve_small(self) -> bool:
        """Pair steps, then Newton steps. Whether nothing is left to do."""
        n, largest = self.problem.n, min(_MAX_NEWTON_VARIABLES, self.settings.polish)
        for _ in range(_MAX_CALLS):
            violation, tol, exact, noise = self.measure()
            if not 4.0 * noise <= tol:  # nor NaN
                return False
            held = violation <= tol
            # A tolerance relative to the multiplier is known once pair steps have come near it.
            known = held or tol <= self.settings.tol
            limits = StepLimits(
                tol=0.5 * tol,
                max_steps=0 if held else _STEPS_PER_CALL,
                goal=exact if held else 4.0 * noise,
                largest=largest if known else 0,
                budget=_NEWTON_BUDGET,
            )
            steps, left, outcome = self.lazy_rows.take_steps(self.g, self.a, self.penalty, limits)
            if outcome is Outcome.UNBOUNDED:
                raise ValueError("the problem is unbounded below: a direction never ends.")
            self.a = self.problem.round_to_breakpoints(self.a)
            self.refresh()
            if held:
                self.record.n_iter += steps
            else:
                self.record.add(violation, tol, n, n, steps, self._n_values())
            limit, (violation, tol, exact, _) = self.record.limit_reached(), self.measure()
            finished = left < _NEWTON_BUDGET and (
                outcome is not Outcome.DONE or violation <= exact
            )
            if violation <= tol and (held or finished or not largest):
                return outcome is not Outcome.SINGULAR
            if violation > tol and limit is Status.STOPPED:
                self.status = limit
                return True
            moves = steps and outcome in (Outcome.DONE, Outcome.STEP_LIMIT)
            if violation > tol and (held or not moves):
                return False  # rounding is in the way, or has led astray
            if limit is Status.MAX_TIME:
                return False
        return False

    def result(self, final: bool) -> Result:
        """Return the state reached, certified when it is final."""
        record = self.record
        if final:
            return make_result(
                self.totals,
                lambda m: self.problem.duality_gap(self.a, self.g, m),
                self.a,
                self.g,
                self.status,
                record.n_iter,
                record.history,
            )
        record.values_before += self._n_values()
        a = self.problem.round_to_breakpoints(self.a)
        return Result(
            a, self.g, 0.0, np.nan, np.inf, np.inf, Status.STOPPED, record.n_iter, record.history
        )


# Slopes, and breakpoints times ridges, that differ by this share of the largest are equal.
_SLOPE_ROUNDING = 1e-13
# Kinds of penalties that equal rows may have; rows of more kinds stay by themselves.
_MOST_KINDS = 8


def merge_equal_rows(problem: DualProblem) -> MergedProblem | None:
    """Return the ``MergedProblem`` of a problem; None where no rows are known to be equal."""
    if problem.gram.copies is None:
        return None
    copies = _split_by_kind(problem, problem.gram.copies)
    return MergedProblem(problem, copies) if len(copies.first) < problem.n else None


class MergedProblem:
    """A ``problem`` over distinct rows: with the objective, violation and gap of the whole."""

    def __init__(self, whole: DualProblem, copies: DuplicateRows) -> None:
        self.whole, self.copies = whole, copies
        first, ridge = copies.first, whole.ridge
        if ridge.any():
            with np.errstate(divide="ignore"):
                ridge = 1.0 / group_sums(copies, 1.0 / ridge)
        else:
            ridge = ridge[first]
        self.problem = DualProblem(
            whole.gram.take(first),
            whole.penalty.merge_equal_rows(copies),
            whole.total,
            whole.scale,
            ridge,
        )

    def to_merged(self, start: VectorLike | Result | None) -> FloatArray | Result | None:
        """Return a start of the whole problem, as one of this."""
        if start is None:
            return None
        if isinstance(start, Result):
            return self.to_merged_result(start)
        return self._group_sums(np.asarray(start, dtype=float))

    def to_merged_result(self, start: Result) -> Result:
        """Return a Result of the whole problem, as a start of this."""
        a, first, together = start.a, self.copies.first, self._group_sums(start.a)
        gradient = start.gradient[first] - self.whole.ridge[first] * a[first]
        return replace(start, a=together, gradient=gradient + self.problem.ridge * together)

    def _group_sums(self, a: FloatArray) -> FloatArray:
        p = self.problem.penalty
        return np.clip(group_sums(self.copies, a), p.lower, p.upper)

    def to_whole(self, result: Result) -> Result:
        """Return a Result of this problem, as one of the whole.

        At most one of several equal rows lies between breakpoints; with a ridge, all have a part.
        """
        of, p, ridge = self.copies.of, self.whole.penalty, self.whole.ridge
        a = p.share_out(result.a, self.copies)
        if ridge.any():
            with np.errstate(divide="ignore"):
                part = (result.a * self.problem.ridge)[of] / ridge
            a = np.where(ridge > 0.0, np.clip(part, p.lower, p.upper), a)
        return replace(result, a=a, gradient=result.gradient[of])


def _split_by_kind(problem: DualProblem, copies: DuplicateRows) -> DuplicateRows:
    """Return the copies whose penalties have the same slopes, and breakpoints in one ratio."""
    p, ridge, n = problem.penalty, problem.ridge, problem.n
    slopes = list(p.slopes)
    marks = [is_bent & (kink < 0.0) for kink, is_bent, _ in p.iterate_kinks()]
    marks.append(p.upper <= 0.0)
    if ridge.any():
        marks.append(ridge > 0.0)
        with np.errstate(invalid="ignore"):  # an end of 0 or inf is in any ratio
            slopes += [np.nan_to_num(end * ridge) for end in p.ends]
    slopes = [values for values in slopes if values.min() < values.max()]
    marks = [values for values in marks if values.any() and not values.all()]
    tolerances = [_SLOPE_ROUNDING * float(np.abs(values).max()) for values in slopes]
    first_equal, place = np.arange(n), np.empty(len(copies.first), np.intp)
    remaining = np.flatnonzero(np.isfinite(p.lower))
    for _ in range(_MOST_KINDS):
        if not len(remaining):
            break
        of = copies.of[remaining]
        place[of[::-1]] = remaining[::-1]
        first_alike = place[of]
        same = np.ones(len(remaining), bool)
        for values, tolerance in zip(slopes, tolerances, strict=True):
            same &= np.abs(values[remaining] - values[first_alike]) <= tolerance
        for mark in marks:
            same &= mark[remaining] == mark[first_alike]
        first_equal[remaining[same]] = first_alike[same]
        remaining = remaining[~same]
    return DuplicateRows.by_first(first_equal)


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
    if problem.n <= _MAX_ROWS_FORMED:
        begin = problem.feasible_start() if a is None else a
        record.values_before += _form_matrix_if_cheaper(problem, begin, settings)
    if is_whole(problem, settings):
        found, final = solve_whole(problem, begin, settings, record)
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
    gram = problem.gram
    if gram.matrix is not None:
        gram = PrecomputedGram(gram.matrix, gram.n_jobs)
    partitions = []
    for first, last in pairwise(edges):
        part = slice(first, last)
        partition = Partition(
            gram.part(first, last),
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
