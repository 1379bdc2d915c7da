"""The events of a path: in which direction it goes, what comes next, and what happens then.

All moves are linear between events: a free row meets a breakpoint, the h of a row at a breakpoint
reaches the end of its range, a moving row arrives. The non-convex part of a semi-supervised SVM
is one more event: an unlabelled row whose h (there: f) changes sign at its outer bound, or while
it moves, flips: its interval and slope change side and it moves on (Gu et al. 2018, section 3, in
one variable per row).
"""

from __future__ import annotations

import math

import numpy as np

from ..._core import path as st
from ..._typing import IntArray
from .clock import Clock
from .placement import RESIDUE, Factor, Placement
from .state import EPS, RowStates

# A row at a breakpoint has slipped past its range by this much, relative to the unit of h.
_SLIPPED = 1e-9
# Relative: rounding in a direction, and a sum that is zero.
_ROUNDING, _NO_SUM = 1e-13, 1e-12
# Imbalance of moving rows that no other row can take up, relative to the largest bound.
_LEFT_OVER = 1e-9
# A longer step lets rows that were ignored at this place count again.
_PROGRESS = 1e-9
# Steps of no length before ranges are widened at random,
_IDLE_STEPS = 200
# and more of them for every row that moves.
_IDLE_PER_ROW = 2
# How far ranges are widened, relative to the unit of h.
_WIDENING = 1e-7
# How often that is tried in one run.
_MAX_PERTURBATIONS = 20


class Events:
    """One event after another."""

    def __init__(
        self, state: RowStates, factor: Factor, clock: Clock, placement: Placement
    ) -> None:
        self.state, self.factor, self.clock, self.placement = state, factor, clock, placement
        self._idle = 0  # steps of no length in a row
        self.begin()

    def begin(self) -> None:
        """Begin another run."""
        self._perturbations = 0
        # Moving rows that wait until a cycle is broken.
        self._paused_rows: IntArray | None = None

    # -- the direction -----------------------------------------------------------------------

    def _direction(self, free: IntArray, moving: IntArray, used: IntArray) -> tuple[float, float]:
        """Fill D and GAMMA; the direction of shift, and the share of the clock that passes.

        Without free rows the directions of the moving ones are made to balance; where they all
        point the same way, ``shift`` moves until a row joins.
        """
        state, clock = self.state, self.clock
        F, lines, left = state.F, state.lines, self._time_for_step()
        total = -lines.set_directions(used, len(free), left, clock.total) + self._paused_sum(
            moving
        )
        if left:
            total += clock.total_target - clock.total - left * clock.sum_rate
        gamma = F[st.GAMMA, : state.n]
        if not len(free):
            if not self._balance(moving, total, left):
                F[st.D, moving] = 0.0
                gamma[:] = -np.sign(total)
                return -np.sign(total), 0.0
            shift = 0.0
        else:
            D = np.zeros(len(free))
            if len(moving):
                D -= state.gram.product_at(free, moving, F[st.D].take(moving))
            if left:
                if clock.penalties_move:
                    lines.subtract_slope_rates(free, left, D)
                if state.virtual_is_free:
                    D[state.S[st.POSITION, 0]] += clock.target_error()
                if clock.h_rate is not None:
                    D -= left * clock.h_rate[free]
            shift = self.factor.solve(D, total)
            F[st.D, free] = D
        gamma[:] = shift
        state.add_product(used, gamma)
        if left and clock.h_rate is not None:
            gamma += left * clock.h_rate
        return shift, left

    def _time_for_step(self) -> float:
        """Share of the clock that the next step may take.

        Penalties wait for moving rows: one that has just changed sign must be free to move away
        from where it did, or it would change back.
        """
        clock = self.clock
        return 0.0 if clock.penalties_move and self.placement.n_moving else clock.left

    def _paused_sum(self, moving: IntArray) -> float:
        """Stop the rows that wait; returns what their directions summed to."""
        if self._paused_rows is None:
            return 0.0
        waiting = moving[np.isin(moving, self._paused_rows)]
        if len(waiting) == len(moving):
            return 0.0
        D = self.state.F[st.D]
        total = float(D[waiting].sum())
        D[waiting] = 0.0
        return total

    def _balance(self, moving: IntArray, lack: float, left: float) -> bool:
        """Slow down the moving rows of one side so that the directions, which lack ``lack``, sum.

        Returns whether that was possible.
        """
        state, clock = self.state, self.clock
        d = state.F[st.D, moving]
        size = np.abs(d).sum() + abs(clock.total_target - clock.total)
        least = _NO_SUM * (size + abs(left * clock.sum_rate))
        if abs(lack) <= max(least, RESIDUE * state.largest_a, EPS * state.largest_bound):
            return True
        side = d < 0.0 if lack > 0.0 else d > 0.0
        total = float(d[side].sum())
        if abs(lack) >= abs(total) * (1.0 - _NO_SUM):
            return False
        d[side] *= 1.0 + lack / total
        state.F[st.D, moving] = d
        return True

    def _finish_remainder(self, moving: IntArray) -> None:
        """Let moving rows that lack a rounding of balance go straight to their breakpoints."""
        state = self.state
        F = state.F
        ends = [state.lines.find_next_breakpoint(i) for i in moving.tolist()]
        F[st.D, moving] = F[ends, moving] - F[st.A, moving]
        if not np.abs(F[st.D, moving]).sum() <= _LEFT_OVER * state.largest_bound:
            raise ArithmeticError("the path cannot keep the sum of its variables")
        F[st.GAMMA, : state.n] = 0.0
        state.add_product(moving, F[st.GAMMA, : state.n])

    # -- steps -------------------------------------------------------------------------------

    def step(self) -> None:
        """Go to the next event, and let it happen."""
        state, clock, factor, placement = self.state, self.clock, self.factor, self.placement
        lines, n = state.lines, state.n
        free, moving = factor.rows, placement.moving
        used = np.concatenate((free, moving))
        shift, left = self._direction(free, moving, used)
        size, largest = lines.measure_step(used, factor.corner)
        if not math.isfinite(size + shift):
            raise ArithmeticError("the path has lost its direction")
        # Rounding in GAMMA: the directions of free rows balance each other up to shift's.
        least, noise = _ROUNDING * (abs(shift) + largest * size), _ROUNDING * size
        limit, paced = 1.0 if left else st.FAR, left if clock.penalties_move else 0.0
        eta, code, which = lines.find_next_event(n, used, len(free), paced, limit, least, noise)
        if code == st.NONE and self._paused_rows is not None:
            self._paused_rows = None  # rows that wait would have balanced the others
            return
        if code == st.NONE:
            self._finish_remainder(moving)
            shift = 0.0
            eta, code, which = lines.find_next_event(n, used, len(free), 0.0, limit, 0.0, noise)
        if code == st.NONE:
            raise ArithmeticError("the path has no next event")
        state.n_steps += 1
        state.rounding += (eta * (size * largest + abs(shift))) ** 2
        progress = eta > _PROGRESS
        lines.advance(n, used, eta, progress)
        state.shift += eta * shift
        self._idle += 1
        if progress:
            self._idle, self._paused_rows = 0, None
        if left:
            clock.move_on(eta)
        self._handle_event(code, which, progress)
        placement.reach_breakpoints()
        n_rows = len(factor) + placement.n_moving
        if self._idle > (_IDLE_STEPS + _IDLE_PER_ROW * n_rows) * (1 + self._perturbations):
            self._perturb()

    def _handle_event(self, code: int, which: int, progress: bool) -> None:
        S, placement = self.state.S, self.placement
        if code in (st.FREE_LOW, st.FREE_HIGH):
            i = self.factor.rows[which]
            direction = 1 if code == st.FREE_HIGH else -1
            placement.hold_free(which, st.find_segment_end(S[st.REGION, i], direction))
        elif code in (st.RANGE_LOW, st.RANGE_HIGH):
            self._leave_breakpoint(which, 1 if code == st.RANGE_LOW else -1, progress)
        elif code == st.MEET:
            i = placement.stop(which)
            placement.free(i, -S[st.DIR, i], S[st.REGION, i])
        elif code == st.FLIP:
            self._flip(placement.stop(which))

    def _leave_breakpoint(self, i: int, direction: int, progress: bool) -> None:
        """The h of a row at a breakpoint has reached the end of its range."""
        state = self.state
        F, S = state.F, state.S
        end = F[st.LOW if direction > 0 else st.HIGH, i]
        self.clock.follow(i, -1.0)
        if S[st.SIGN, i] == direction and F[st.LO, i] < F[st.UP, i] and F[st.A, i] != 0.0:
            self._flip(i)
            return
        S[st.IGNORED, i] += not progress
        if abs(F[st.H, i] - end) > state.tol(_SLIPPED):
            self.placement.place(np.array([i]))
        else:
            self.placement.free(i, direction, state.lines.find_adjacent_region(i, direction))

    def _flip(self, i: int) -> None:
        self.state.lines.flip(i)
        self.state.n_flips += 1
        self.placement.place(np.array([i]))

    def pause_random_rows(self) -> None:
        """Let some moving rows wait, at random, until the others have made progress.

        Any speeds >= 0 lead to the end, but some lead to rows that join and leave again for ever
        smaller steps.
        """
        moving = self.placement.moving
        rng = np.random.default_rng(self.state.n_steps)
        self._paused_rows = moving[rng.random(len(moving)) < 0.5]

    def _perturb(self) -> None:
        """Break a cycle of steps of no length, at random.

        The ranges of rows at breakpoints are widened; they come back on the clock, by then at
        different times. Some moving rows wait: without free rows, one that has just changed sign
        can be pushed back by the others, and let them push it over again.
        """
        self._idle = 0
        self._perturbations += 1
        if self._perturbations > _MAX_PERTURBATIONS:
            raise ArithmeticError("the path is cycling")
        state = self.state
        self.clock.begin_targets()
        self.pause_random_rows()
        rng = np.random.default_rng([state.n_steps, 1])
        width = rng.uniform(0.5, 1.0, state.n) * state.tol(_WIDENING)
        state.lines.widen_ranges(state.n, width)
        self.clock.start(penalties=True)
