"""Small problems whole: one working set, pair steps and an exact finish in compiled code.

A problem of up to a thousand rows, two thousand where few of them are met, is one working set.
What a fit costs is then everything around the steps, so only what few rows need is done here: of
Q, the rows that steps meet. What cannot be finished this way (many solutions that are equal,
rounding that hides the tolerance) continues in the engine.
"""

import math

import numpy as np

from .._core import block
from .._core.block import EXACT, GatheredRows, Outcome, StepLimits, add_products
from .._typing import FloatArray, IntArray, RowMatrix
from ..kernels import Kernel
from ..kernels.operators import GramOperator, make_gram
from ..problem import DualProblem, Penalty
from .run import (
    MAX_LAZY_SHARE,
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
# Rounding in float64 kernel values, which a block always has.
_ROUNDING = 4.5e-16


def is_whole(problem: DualProblem, settings: Settings) -> bool:
    """Return whether a problem is solved here: few rows, and no limit that may cut a run short."""
    return (
        2
        <= problem.n
        <= (MAX_ROWS_SOLVED_LAZILY if supports_lazy_rows(problem.gram) else MAX_ROWS_SOLVED_WHOLE)
        and 8 * problem.n**2 <= _BLOCK_SHARE * settings.cache_size
        and (settings.block_size is None or settings.block_size >= problem.n)
        and settings.max_iter < 0
        and settings.max_time > _MIN_SECONDS
    )


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
    if problem.n > MAX_ROWS_SOLVED_WHOLE and np.count_nonzero(a) > MAX_LAZY_SHARE * problem.n:
        return None, False
    run = SmallProblemRun(problem, a, settings, record)
    try:
        final = run.solve_small()
    except KeyboardInterrupt:
        run.status, final = Status.INTERRUPTED, True
        run.refresh()
    return run.result(final), final


def max_rows_in_float64(kernel: Kernel, min_support: float = 1.0) -> int:
    """Up to how many rows kernel values are float64, as many as are solved whole.

    ``fewest`` is the share of the rows that have to be used, see ``Formulation``.
    """
    few_are_evaluated = kernel.is_mapped and kernel.is_similarity and min_support <= MAX_LAZY_SHARE
    return MAX_ROWS_SOLVED_LAZILY if few_are_evaluated else MAX_ROWS_SOLVED_WHOLE


def make_training_gram(
    kernel: Kernel,
    X: RowMatrix,
    n_jobs: int = 1,
    *,
    float64: bool = False,
    min_support: float = 1.0,
) -> GramOperator:
    """Return the operator of a kernel over training rows, in float64 where these are few."""
    dtype, exact = np.float64 if float64 else None, max_rows_in_float64(kernel, min_support)
    return make_gram(kernel, X, dtype=dtype, n_jobs=n_jobs, exact=exact)


class LazyRows:
    """The rows of Q that steps have met, each evaluated with some that they may meet next.

    Row p of ``Q`` belongs to variable ``here[p]``, and ``place`` says p. ``whole``: all of Q is
    there from the beginning, in its order.
    """

    def __init__(self, problem: DualProblem, used: IntArray) -> None:
        self.problem, n = problem, problem.n
        self.diagonal = problem.diagonal()
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
        steps, ended = 0, block.MISSING
        work, budget = block.workspace(len(a), limits.largest), limits.budget
        while ended == block.MISSING:
            count = len(self.row_ids)
            if count > max(n_gathered, len(submatrix)):
                submatrix, n_gathered = np.empty((2 * count, 2 * count)), 0
            rows = GatheredRows(
                self.Q, self.row_ids, self.row_position, submatrix, n_gathered, self.diagonal
            )
            left = limits._replace(max_steps=limits.max_steps - steps, budget=budget)
            done, budget, ended = block.take_steps(rows, g, a, pieces, wanted, left, work)
            steps, n_gathered = steps + done, count
            if ended == block.MISSING and not self.evaluate_rows(wanted[wanted >= 0]):
                return steps, budget, Outcome.SINGULAR
        return steps, budget, Outcome(ended)

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
        """Return the violation, tolerance, and what rounding leaves.

        Rounding is counted in the multiplier and in the gradient.
        """
        totals = self.totals
        noise = self._error * totals.rounding_scale
        tol = max(self.settings.tol, self.settings.rtol * totals.level)
        return totals.violation, tol, max(EXACT * totals.level, 4.0 * noise), noise

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
