"""The engine: block decomposition of problem (P), coarse to fine, over rows that it never sees.

    minimise_a   1/2 a' Q a + sum_i phi_i(a_i)   subject to   sum_i a_i = total

The rows hold everything of their number; what the engine holds and what crosses is of the size
of a working set. Each round

1. rows *propose* a working set: those that violate optimality most in either direction, to
   which those that moved in the last round are added;
2. they are *fetched*, and the block of Q between them is formed in float64;
3. the block is solved by pair steps in compiled code, to a share of the violation;
4. all rows *update* their gradient with the columns of the variables that moved.

The largest array of kernel values is a working set's block, within ``cache_size``. A cold start
on many rows begins with a random sixth of them (``coarse.py``), which leaves little more to
evaluate than the columns of the final support vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ..._core.functions import Outcome, solve_block
from ..._typing import FloatArray, IntArray
from ...problem import Totals
from ..run import MAX_ROWS_SOLVED_WHOLE, Record, Settings, Status
from . import coarse
from .finish import Finish, advance_gradient
from .messages import Accuracy, BlockUpdate, WorkingSet
from .rows import Rows


class Precision:
    """Rounding error of the gradient from kernel values of some Accuracy.

    ``noise`` estimates its error, for independent errors of kernel values.
    """

    def __init__(self, accuracy: Accuracy) -> None:
        self.accuracy = accuracy
        self.noise = 0.0

    def _rounding(self, rows: Rows, spread: float) -> float:
        """Rounding in a product with columns; ``spread`` is the norm of sqrt(|K_jj|) coef_j."""
        return self.accuracy.error * rows.scale * math.sqrt(rows.facts.largest) * spread

    def mark_recomputed(self, rows: Rows) -> None:
        """The gradient was computed from the variables as they are."""
        self.noise = self._rounding(rows, rows.totals().rounding_scale)

    def add(self, rows: Rows, size: FloatArray, change: FloatArray) -> None:
        """Add the error that a change of some variables leaves in the gradient for good."""
        spread = math.sqrt(float(np.abs(size) @ np.square(change)))
        self.noise = math.hypot(self.noise, self._rounding(rows, spread))

    def is_stale(self, rows: Rows) -> bool:
        """Return whether a gradient computed again would have half the error."""
        return self._rounding(rows, rows.totals().rounding_scale) < 0.5 * self.noise


# Rounds without a relative decrease of the objective by this much, nor of the violation by
# a tenth, before giving up.
_IDLE_ROUNDS = 50
_NO_PROGRESS = 1e-14
# Rounds without a decrease of the violation, before giving up if the objective hardly falls.
_PLATEAU_ROUNDS = 150
# Pair steps that count as one more of these rounds.
_STEPS_PER_PLATEAU_ROUND = 5_000
# The objective hardly falls: by less than this share of the violation times the sum of the
# variables' sizes.
_PLATEAU_DECREASE = 0.1
# If rounding is this small a part of the violation, progress is slow but real,
_NEGLIGIBLE_NOISE = 1e-6
# and a round counts as this part of one.
_SLOW_ROUND = 0.25
# Times that a gradient computed afresh lets all counts begin again.
_RENEWALS = 20
# Rounds with a violation within the bound on rounding, before giving up.
_NOISY_ROUNDS = 30


class RoundProgress:
    """Return whether rounds still lead anywhere."""

    def __init__(self) -> None:
        self._renewed = 0
        self._begin()

    def _begin(self) -> None:
        self._best = self._closest = self._before = math.inf
        self._idle = self._noisy = 0
        self._plateau = 0.0

    def renew(self) -> None:
        """The gradient was computed afresh: another chance, as long as there were not many."""
        self._renewed += 1
        if self._renewed <= _RENEWALS:
            self._begin()

    def is_idle(self, totals: Totals, violation: float, noise: float, steps: int) -> bool:
        """Return whether neither the objective nor the violation has improved for some rounds."""
        # Less than rounding is no progress: of the objective, and of the gradient in it.
        objective = totals.objective
        rounding = _NO_PROGRESS * abs(objective) + 0.01 * noise * totals.reach
        better = not objective >= self._best - rounding
        closer = violation < 0.9 * self._closest
        self._idle = 0 if better or closer else self._idle + 1
        self._best = objective if better else self._best
        if closer:
            self._closest, self._before, self._plateau = violation, objective, 0
        is_slow = noise < _NEGLIGIBLE_NOISE * violation
        self._plateau += (_SLOW_ROUND if is_slow else 1.0) + steps / _STEPS_PER_PLATEAU_ROUND
        in_vain = False
        if self._plateau > _PLATEAU_ROUNDS:
            # What such a violation promises, and hardly anything of it has come. Each plateau is
            # judged by itself: the objective may have fallen far just after the closest round.
            in_vain = self._before - objective < _PLATEAU_DECREASE * self._closest * totals.reach
            self._before, self._plateau = objective, 0.0
        return self._idle >= _IDLE_ROUNDS or in_vain

    def is_noise(self, noise: float) -> bool:
        """Return whether rounds followed one whose violation was within the bound on rounding.

        The bound is pessimistic, so more rounds are worth trying, but not for ever. They may end
        at larger violations, as thousands of steps add rounding of their own.
        """
        self._noisy += self._closest <= 2.0 * noise
        return self._noisy > _NOISY_ROUNDS


# Pair steps in one compiled call: about a third of a second, so that a time limit, a
# callback or Ctrl-C never waits long.
_STEPS_PER_CALL = 50_000
# From so many rows on the first working set is larger; up to ``WHOLE`` all are one.
_MANY_ROWS = 20_000
# A round that leaves more than this share of the violation was slow; that alone makes no
# working set larger than this.
_SLOW = 0.5
_MODERATE = 1000
# Share of the violation to which a block is solved where the steps beyond ``Settings.share`` cost
# less than half of what it takes to update the rows.
_FURTHER = 1e-4
# Share of the memory that the working set's block may take.
_BLOCK_SHARE = 0.5
# Multiply-adds per kernel value from which stored columns beat evaluating again.
_WORTH_STORING = 48
# Accuracy of a block in float64.
_BLOCK_ACCURACY = Accuracy(error=4.5e-16, exact=True, cost=0.0)


class Stage(Enum):
    """The steps an engine takes in turn."""

    START = "a feasible point, from coarse to fine, and its gradient"
    BLOCKS = "rounds of pair steps, until the tolerance is reached"
    PRECISION = "a fresh gradient, or float64 kernel values"
    FINISH = "rounds that are solved exactly, until rounding alone is left"
    DONE = "a status says how it ended"


@dataclass(frozen=True)
class _Convergence:
    """State of a run: the violation, and what it must come down to."""

    violation: float
    tol: float
    goal: float  # the tolerance, less what rounding in the gradient may hide of the violation
    exact: float  # what an exact finish aims at
    trusted: bool  # whether rounding in the gradient is well below the tolerance


class Engine:
    """One run over some rows, with a start or without; ``record`` may be of an earlier one."""

    def __init__(self, rows: Rows, settings: Settings, record: Record) -> None:
        self.rows, self.settings, self.record = rows, settings, record
        self.status: Status | None = None
        self._precision = Precision(rows.facts.accuracy)
        self._progress = RoundProgress()
        self._finish = Finish(settings.polish)
        # Of the last round: its working set, and the violation before it.
        self._working: IntArray = np.empty(0, dtype=np.intp)
        self._violation_before = math.inf
        # That more precision is not to be had, and that nothing else would help.
        self._at_limit = self._stuck = False
        # For Ctrl-C: whether the rows are at a feasible point, but for an update on its way.
        self._feasible = True
        self._pending_update: BlockUpdate | None = None
        self._choose_sizes()

    def _choose_sizes(self) -> None:
        rows, settings, accuracy = self.rows, self.settings, self._precision.accuracy
        n = rows.n
        self._largest_block = int(min(n, math.sqrt(_BLOCK_SHARE * settings.cache_size / 8)))
        dear = accuracy.cost >= _WORTH_STORING
        if settings.block_size is not None:
            size = settings.block_size
        elif n <= min(MAX_ROWS_SOLVED_WHOLE, self._largest_block):
            size = n
        else:
            size = 1024 if n >= _MANY_ROWS else 128 if dear else 256
        self._block_size = min(size, n)
        # All rows in one working set are fetched once, with all kernel values in float64.
        self._is_whole = self._block_size == n
        self._whole: tuple[WorkingSet, FloatArray] | None = None
        if self._is_whole:
            self._precision.accuracy = _BLOCK_ACCURACY
        elif dear:
            rows.keep_columns((1.0 - _BLOCK_SHARE) * settings.cache_size)

    # -- stages --------------------------------------------------------------------------------

    def run(self, *, cold: bool) -> Status:
        """Go through the stages, ``cold`` where the rows have no start, to a Status.

        After Ctrl-C it is ``INTERRUPTED``; the rows are at a feasible point whatever happens.
        """
        stages = {
            Stage.START: lambda: self._start(cold),
            Stage.BLOCKS: self._solve_blocks,
            Stage.PRECISION: self._improve_precision,
            Stage.FINISH: self._solve_exactly,
        }
        stage = Stage.START
        try:
            while stage is not Stage.DONE:
                stage = stages[stage]()
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
            self._restore_feasible_point()
        assert self.status is not None
        return self.status

    def _start(self, cold: bool) -> Stage:
        rows = self.rows
        if cold:
            self._feasible = False
            rows.reset_to_feasible()
            if self.settings.coarse and self.settings.max_iter < 0 and rows.n >= coarse.SMALLEST:
                self._start_coarse()
            self._feasible = True
        if not rows.has_current_gradient():
            self._refresh()
        self._precision.mark_recomputed(rows)
        return Stage.BLOCKS

    def _start_coarse(self) -> None:
        """From the solution of a sample."""
        settings = replace(
            self.settings,
            tol=coarse.LOOSER * self.settings.tol,
            rtol=coarse.LOOSER * self.settings.rtol,
            max_time=max(0.0, self.record.seconds_left()),
            polish=0,
            callback=None,
        )
        sample = coarse.draw_sample(self.rows, self.settings.random_state)
        engine = Engine(sample, settings, Record(settings))
        if engine.run(cold=True) is Status.INTERRUPTED:
            raise KeyboardInterrupt
        sample.round_to_breakpoints()
        coarse.start_from_sample(self.rows, sample)
        self.record.continue_from(engine.record, sample.n_values())

    def _solve_blocks(self) -> Stage:
        found = self._measure()
        if found.violation <= found.goal:
            if not found.trusted and not self._at_limit:
                return Stage.PRECISION
            return Stage.FINISH
        limit = self.record.limit_reached()
        if limit is not None:
            return self._finish_run(found, limit)
        if found.violation <= 2.0 * self._precision.noise and not self._at_limit:
            return Stage.PRECISION
        return self._run_round(found)

    def _improve_precision(self) -> Stage:
        if self._precision.is_stale(self.rows):
            self._refresh()
            self._progress.renew()
        elif not self._is_whole and (refined := self.rows.refine()) is not None:
            self._precision.accuracy = refined
            self._refresh()
            self._progress = RoundProgress()
        elif self._stuck:
            return self._finish_run(self._measure(), Status.STALLED)
        else:
            self._at_limit = True
            return Stage.BLOCKS
        self._precision.mark_recomputed(self.rows)
        self._stuck = False
        return Stage.BLOCKS

    def _solve_exactly(self) -> Stage:
        found = self._measure()
        if found.violation > found.tol:
            return Stage.BLOCKS
        finish, n_between = self._finish, self.rows.totals().n_between
        extra = max(16, self._block_size // 2)
        if (
            not self._precision.accuracy.exact
            or not 2 <= n_between <= finish.largest
            or not (self._is_whole or n_between + extra <= self._largest_block)
            or finish.left <= 0
            or (finish.has_begun and found.violation <= found.exact)
            or self.record.limit_reached() is not None
        ):
            return self._finish_run(found, Status.CONVERGED)
        working, Q = self._fetch(lambda: _union_sorted(*self.rows.propose(extra // 2, n_between)))
        a, g = working.a.copy(), working.g.copy()
        limit = int(min(self.record.steps_left(), _STEPS_PER_CALL))
        steps = finish.solve(Q, working.penalty, a, g, found.exact, limit)
        n_moved = self._update(working, a, g)
        self._record_round(found, len(working), n_moved, steps)
        return Stage.FINISH if n_moved else self._finish_run(found, Status.CONVERGED)

    def _finish_run(self, found: _Convergence, status: Status) -> Stage:
        """Nothing is left to do; a tolerance that is met makes it a success."""
        self.status = Status.CONVERGED if found.violation <= found.tol else status
        return Stage.DONE

    def _measure(self) -> _Convergence:
        noise, settings = self._precision.noise, self.settings
        violation, tol, exact = self.rows.totals().compare_with_tolerance(
            settings.tol, settings.rtol, noise
        )
        # The violation and twice the rounding in the gradient together stay below tol.
        trusted = 2.0 * noise <= 0.5 * tol
        goal = tol - 2.0 * noise if trusted else tol
        return _Convergence(violation, tol, goal, exact, trusted)

    def _record_round(self, found: _Convergence, n_working: int, n_moved: int, steps: int) -> None:
        n_values = self.rows.n_values()
        self.record.add(found.violation, found.tol, n_working, n_moved, steps, n_values)

    # -- one round -----------------------------------------------------------------------------

    def _run_round(self, found: _Convergence) -> Stage:
        """Propose, fetch, solve, update."""
        working, Q = self._fetch(self._propose_working_set)
        share = 0.0 if self._is_whole else self.settings.share
        target = max(share * found.violation, 0.5 * found.goal)
        a, g = working.a.copy(), working.g.copy()
        limit = int(min(self.record.steps_left(), _STEPS_PER_CALL))
        steps, outcome = solve_block(Q, g, a, working.penalty, target, limit)
        if outcome is Outcome.DONE and not self._is_whole:
            # Another round costs more than some further steps.
            target = max(_FURTHER * found.violation, 0.5 * found.goal)
            limit = min(limit - steps, self.rows.n // 2)
            more, outcome = solve_block(Q, g, a, working.penalty, target, limit)
            steps += more
        if outcome is Outcome.UNBOUNDED:
            raise ValueError("the problem is unbounded below: a direction never ends.")
        g = advance_gradient(Q, working.a, a, working.g)
        n_moved = self._update(working, a, g)
        self._working = working.ids
        self._record_round(found, len(working), n_moved, steps)
        self._resize(len(working), n_moved, found.violation)
        noise = self._precision.noise
        totals = self.rows.totals()
        if steps == 0 or self._progress.is_idle(totals, found.violation, noise, steps):
            self._stuck = True
            return Stage.PRECISION
        if self._progress.is_noise(noise):
            return self._finish_run(self._measure(), Status.STALLED)
        return Stage.BLOCKS

    def _propose_working_set(self) -> IntArray:
        """Return half the rows that want up most, half those that want down most."""
        ids = _union_sorted(*self.rows.propose(self._block_size // 2))
        # Rows that count twice leave room for those that moved in the last round.
        places = np.minimum(np.searchsorted(ids, self._working), len(ids) - 1)
        kept = self._working[ids[places] != self._working]
        return _union_sorted(ids, kept[: self._block_size - len(ids)])

    def _fetch(self, choose: Callable[[], IntArray]) -> tuple[WorkingSet, FloatArray]:
        """Return a working set and its block of Q."""
        if self._whole is not None:
            return self._whole
        ids = np.arange(self.rows.n) if self._is_whole else choose()
        working = self.rows.fetch(ids)
        fetched = working, self.rows.block(working)
        self._whole = fetched if self._is_whole else None
        return fetched

    def _update(self, working: WorkingSet, a: FloatArray, g: FloatArray) -> int:
        """Tell the rows of a working set's new variables and gradient; how many moved."""
        change = a - working.a
        moved = np.flatnonzero(change)
        needed = moved[:0] if self._is_whole else moved
        self._pending_update = BlockUpdate(
            working.ids, a, g, working.columns.take(needed), change[needed]
        )
        self.rows.update(self._pending_update)
        self._pending_update = None
        if self._is_whole:
            assert self._whole is not None
            self._whole = replace(working, a=a, g=g), self._whole[1]
        self._precision.add(self.rows, working.size[needed], change[needed])
        self._at_limit = False
        return len(moved)

    def _resize(self, n_working: int, n_moved: int, violation: float) -> None:
        """Double a working set that is too small to settle: all of it moves, or in vain."""
        in_vain = violation > _SLOW * self._violation_before and n_working < _MODERATE
        self._violation_before = violation
        if not self._is_whole and (in_vain or n_moved > 0.75 * n_working):
            larger = min(2 * self._block_size, self._largest_block)
            self._block_size = max(self._block_size, larger)

    # -- gradient ------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Compute the gradient again."""
        if not self._is_whole:
            self.rows.refresh()
            return
        working, Q = self._fetch(self._propose_working_set)
        g = advance_gradient(Q, np.zeros(len(working)), working.a, 0.0)
        self._update(working, working.a, g)

    def _restore_feasible_point(self) -> None:
        """Bring the rows to a feasible point with its gradient, wherever Ctrl-C struck."""
        if not self._feasible:
            self.rows.reset_to_feasible()
        elif self._pending_update is not None:
            self.rows.assign(self._pending_update.ids, self._pending_update.a)
        if not self.rows.has_current_gradient():
            self.rows.refresh()


def _union_sorted(*arrays: IntArray) -> IntArray:
    """Return numbers that are in any of some arrays, once and in ascending order."""
    ids = np.sort(np.concatenate(arrays))
    first = np.ones(len(ids), bool)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]
