"""The parts of a path, and operations that change its problem: each runs to its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from ..._core import path as st
from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..._util.deadline import ENDLESS
from ...kernels import Kernel
from ...problem import RowPenalties
from .clock import Clock
from .events import Events
from .placement import Factor, Placement
from .state import RowStates
from .virtual_row import ROW, VirtualRow

# A method of the engine and its arguments.
Operation: TypeAlias = tuple[Any, ...]

# Relative to the unit of h: a violation that the check at the end of a path corrects.
_VIOLATION = 1e-10
# Checks of one path at most.
_MAX_CHECKS = 8
# The check in whose place h is computed afresh.
_RECOMPUTING_CHECK = 3
# Steps of one run, for every row and for so many more: after each _LONG of them some moving rows
# wait, and from _ENDLESS on the run is taken for endless, as rounding can be larger than the
# steps. Avalanches and whole paths take a few per row.
_LONG = 1
_ENDLESS = 50
_MORE_ROWS = 1000
# Rounding in h, in units of the largest slope, that hides where rows stand at the end of a path,
_MAX_ROUNDING_AT_END = 0.5
# and on the way, where that takes more than _LONG steps.
_MAX_ROUNDING_ON_LONG_PATHS = 1e-3
# Absent rows are removed from all arrays when they are this share of all,
_MAX_ABSENT_SHARE = 0.25
# and more than so many.
_MIN_ABSENT_ROWS = 64
# The constant of the factor follows the mean of the diagonal within this factor.
_STALE = 16.0
# Relative to the unit of h: nothing to correct.
_NOTHING = 1e-14


class PathEngine:
    """A path from one optimum to another; for its parameters see ``PathFollower``."""

    def __init__(
        self,
        kernel: Kernel,
        scale: float,
        total: float,
        balance: str | None,
        cache_size: float,
        n_jobs: int,
        refresh_at: float,
    ) -> None:
        self.state = RowStates(kernel, scale, balance is not None, cache_size, n_jobs)
        self.factor = Factor()
        self.clock = Clock(self.state, total)
        self.placement = Placement(self.state, self.factor, self.clock)
        self.virtual = VirtualRow(self.state, self.clock, self.placement, balance)
        self.events = Events(self.state, self.factor, self.clock, self.placement)
        self.refresh_at = refresh_at
        self.deadline = ENDLESS
        self._queued: list[Operation] = []
        self._diagonal_sum = 0.0  # over all rows since the constant of the factor was chosen

    @property
    def is_idle(self) -> bool:
        """Return whether the path is at its end and no operation waits."""
        return self.is_at_end and not self._queued

    @property
    def is_at_end(self) -> bool:
        """Return whether every row stands on its staircase and nothing moves."""
        return self.placement.n_moving == 0 and self.clock.left == 0.0

    def queue(self, operations: Iterable[Operation]) -> None:
        """Let operations happen one after the other, once those before have come to their end."""
        if self.is_idle:
            # Rounding is relative to what there was when the operation began.
            self.state.largest_a = 0.0
            self.state.measure(self.clock.total_target)
        self._queued.extend(operations)

    def start(
        self, total: float | None = None, target: float | None = None, penalties: bool = False
    ) -> None:
        """Start the clock towards new values of the total, the balance target, the penalties."""
        if target is not None:
            self.virtual.set_target(target)
        self.clock.start(total, penalties)

    # -- operations: each changes the problem, and the path follows -----------------------------
    #
    # They return those that have to come next, if any. One that waits is a tuple of the method and
    # its arguments.

    def append(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        total: float | None = None,
        target: float | None = None,
    ) -> None:
        """Rows arrive, with variables of zero."""
        state = self.state
        new = state.append(X, rows)
        self.watch_diagonal(new)
        state.F[st.H, new] = state.product(new)
        self.virtual.change_mean(new[rows.symmetric], 1)
        self.start(total, target)
        self.placement.place(new)

    def load(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        a: FloatArray,
        multiplier: float,
        negative: BoolArray,
        virtual: float = 0.0,
        target: float | None = None,
    ) -> None:
        """A solution is taken over: rows strictly inside a segment are free.

        ``negative`` is the mask of rows with the sign -1.
        """
        state, placement, clock = self.state, self.placement, self.clock
        new = state.append(X, rows)
        self.watch_diagonal(new)
        for i in new[negative].tolist():
            state.lines.flip(i)
        state.F[st.A, new] = a
        state.shift = -float(multiplier) / state.scale
        balanced = state.bordered and bool(rows.symmetric.any())
        if balanced:
            state.bordered_gram.change_mean(new[rows.symmetric], 1)
            clock.target = clock.target if target is None else float(target)
            balanced = clock.target is not None
        if balanced:
            self.virtual.prepare(virtual)
        state.refresh_h(border=False)
        found = state.lines.hold_at_breakpoints(new)
        inside = new[found == st.FREE]
        state.gram.block(inside[:1], inside)  # evaluates their columns together
        if balanced:
            self.virtual.free()
        for i in inside.tolist():
            placement.free(i)
        placement.place(new[found == st.MOVING])
        self.correct()

    def dismiss(
        self, rows: IntArray, total: float | None = None, target: float | None = None
    ) -> tuple[Operation, ...]:
        """The variables of rows move to zero."""
        state = self.state
        if self.virtual.is_last_of_mean(rows):
            return (self.remove_virtual_row,), (self.dismiss, rows, total, target)
        self.placement.unplace(rows)
        self.virtual.change_mean(rows[state.S[st.SIGN, rows] != 0], -1)
        state.close_intervals(rows)
        self.start(total, target)
        self.placement.place(rows)
        return ()

    def drop(self, rows: IntArray) -> None:
        """Rows with variables of zero leave."""
        self.placement.unplace(rows)
        self.state.drop(rows)

    def switch(
        self,
        rows: IntArray,
        penalties: RowPenalties,
        total: float | None = None,
        target: float | None = None,
    ) -> tuple[Operation, ...]:
        """Rows get other penalties at once."""
        virtual = self.virtual
        before, after = self.state.S[st.SIGN, rows] != 0, penalties.symmetric
        leaving, joining = rows[before & ~after], rows[~before & after]
        if not len(joining) and virtual.is_last_of_mean(leaving):
            return (self.remove_virtual_row,), (self.switch, rows, penalties, total, target)
        self.placement.unplace(rows)
        virtual.change_mean(joining, 1)
        virtual.change_mean(leaving, -1)
        self.state.set_penalties(rows, penalties)
        self.start(total, target)
        self.placement.place(rows)
        return ()

    def move(
        self,
        rows: IntArray,
        penalties: RowPenalties | None = None,
        total: float | None = None,
        target: float | None = None,
    ) -> None:
        """Penalties, the total and the balance target move steadily to new values."""
        if penalties is not None:
            self.clock.begin_targets()
            self.state.set_targets(rows, penalties)
        self.start(total, target, penalties is not None)

    def remove_virtual_row(self) -> tuple[Operation, ...]:
        """The virtual row leaves the problem."""
        return ((self.dismiss, ROW), (self.drop, ROW)) if self.virtual.is_active else ()

    def insert_virtual_row(self) -> None:
        """The virtual row returns."""
        self.virtual.insert_virtual_row()

    # -- following ------------------------------------------------------------------------------

    def run(self, max_steps: int | None = None) -> bool:
        """Continue with the operations; returns whether the last one has come to its end."""
        last = np.inf if max_steps is None else self.state.n_steps + max_steps
        begun = renewed = False
        while self._follow(last):
            if self._queued and begun and self.deadline.is_over():
                return False
            if self._queued:
                begun = True
                change, *arguments = self._queued.pop(0)
                self._queued[:0] = change(*arguments) or ()
            elif not renewed and self._must_refresh():
                self.recompute()
                renewed = True
            else:
                self._compact()
                return True
        return False

    def _must_refresh(self) -> bool:
        """Return whether h has to be computed afresh, for the rows that an operation has left."""
        self.state.measure_slopes()
        return self.state.must_refresh(self.refresh_at)

    def _follow(self, last: float) -> bool:
        """Follow the path to its end; returns whether that is reached within ``last`` steps."""
        if self.is_at_end:
            return True
        state, step = self.state, self.events.step
        state.measure(self.clock.total_target)
        self.events.begin()
        n_rows, first = state.n + _MORE_ROWS, state.n_steps
        long = first + _LONG * n_rows
        for look in range(_MAX_CHECKS):
            while not self.is_at_end:
                if state.n_steps >= last or self.deadline.is_over():
                    return False
                if state.n_steps >= first + _ENDLESS * n_rows:
                    raise ArithmeticError("the path does not end")
                if state.n_steps >= long:
                    self._refuse_rounding(_MAX_ROUNDING_ON_LONG_PATHS)
                    self.events.pause_random_rows()
                    long += _LONG * n_rows
                step()
            if look == _RECOMPUTING_CHECK:
                # Rounding in h may be all there is: a row whose f has to be 0 goes to and fro.
                self.recompute()
            elif not self._check_conditions():
                return True
        raise ArithmeticError("the path does not converge")

    def _check_conditions(self) -> bool:
        """A last look: rows on the wrong side move, and free ones off their slope are corrected.

        Returns whether there was anything to do.
        """
        state = self.state
        self._refuse_rounding(_MAX_ROUNDING_AT_END)
        tol = state.tol(_VIOLATION)
        found, error = state.lines.check(state.n, tol)
        if len(found):
            self.placement.place(found)
        if error > tol:
            self.absorb_errors()
        return len(found) > 0 or error > tol

    def _refuse_rounding(self, most: float) -> None:
        """End a path whose conditions are hidden by rounding: steps would lead nowhere."""
        self.state.measure(self.clock.total_target)  # variables may have grown on the way
        if self.state.is_hidden_by_rounding(most):
            raise ArithmeticError("rounding is as large as the margin")

    def _compact(self) -> None:
        """Forget absent rows in all arrays once there are many."""
        state = self.state
        n_absent = state.n - state.bordered - len(state.present)
        if n_absent <= max(_MIN_ABSENT_ROWS, _MAX_ABSENT_SHARE * state.n):
            return
        kept = np.append(0, state.present) if state.bordered else state.present
        self.placement.renumber(state.keep(kept))

    # -- against rounding, and from starts that are only nearly optimal -------------------------

    def absorb_errors(self) -> None:
        """Make the state optimal by a shift of slopes, and let the clock take that back.

        A state that misses its conditions by a little is the exact optimum for slopes that differ
        by as much: a correction without tolerance, where what comes in the way is an event.
        """
        state = self.state
        self.clock.begin_targets()
        state.lines.shift_slopes(state.n, state.tol(_NOTHING))
        self.clock.start(penalties=True)

    def recompute(self) -> None:
        """Compute h and the factor afresh, and start a correction of what they show."""
        state = self.state
        if state.is_empty:
            return
        state.refresh_h()
        self._refactor()
        if state.virtual_is_free:
            state.F[st.SL : st.SR + 1, 0] = -state.F[st.H, 0]
        self.correct()
        self.clock.left = 1.0

    def correct(self) -> None:
        """Take the sum of the variables as it is, and correct from there."""
        self.clock.total = float(self.state.F[st.A, : self.state.n].sum())
        self.absorb_errors()

    def watch_diagonal(self, new: IntArray) -> None:
        """Keep the constant of the factor in step with the diagonal of the rows."""
        state, corner = self.state, self.factor.corner
        self._diagonal_sum += float((state.F[st.ROOT, new] ** 2).sum())
        mean = self._diagonal_sum / max(1, state.n)
        if mean > 0 and not corner / _STALE <= mean <= corner * _STALE:
            self._refactor()

    def _refactor(self) -> None:
        """Make the factor afresh, with a constant for today's rows."""
        state = self.state
        rows = np.flatnonzero(state.S[st.STATUS, : state.n] != st.ABSENT)
        diagonal = state.F[st.ROOT, rows] ** 2
        corner = float(diagonal.mean()) if diagonal.any() else 1.0
        self._diagonal_sum = corner * state.n
        self.placement.refactor(corner)
