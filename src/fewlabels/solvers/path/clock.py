"""What moves by itself along a path: the total, the balance target, and penalties."""

from __future__ import annotations

import numpy as np

from ..._core import path as st
from ..._typing import FloatArray
from .state import RowStates


class Clock:
    """Totals, targets and penalties that reach their new values together.

    ``left`` is the share of the way that is left, 0 when nothing moves; ``total`` the sum of the
    variables now, and ``target`` the mean of h over the rows with the symmetric hinge at the end
    (None for no constraint). Through the variables at breakpoints that move, h changes by
    ``drift`` over the whole clock (None when no breakpoint moves), and the sum by ``drift_sum``.
    """

    def __init__(self, state: RowStates, total: float) -> None:
        self.state = state
        self.left = 0.0
        self.total = self.total_target = float(total)
        self.target: float | None = None
        self.penalties_move = False
        self.h_rate: FloatArray | None = None
        self.sum_rate = 0.0

    def begin_targets(self) -> None:
        """Let the targets of all penalties be where they are, unless they move already."""
        if not self.penalties_move:
            F, n = self.state.F, self.state.n
            F[st.TARGET : st.TARGET + st.N_PENALTY, :n] = F[st.LO : st.SR + 1, :n]

    def start(self, total: float | None = None, penalties: bool = False) -> None:
        """Start towards the targets of the total, of the balance, and of penalties that move."""
        if total is not None:
            self.total_target = float(total)
        if penalties or self.penalties_move:
            self._set_rates()
            self.left = 1.0
        elif self.total != self.total_target or self.target_error() != 0.0:
            self.left = 1.0

    def target_error(self) -> float:
        """Return how far h of the virtual row is from its target; 0 where that row is not free."""
        return self.target + self.state.F[st.SR, 0] if self.state.virtual_is_free else 0.0

    def _set_rates(self) -> None:
        state = self.state
        F, n = state.F, state.n
        first = int(state.bordered)  # the virtual row's slope has a target of its own
        now, then = F[st.LO : st.SR + 1, first:n], F[st.TARGET : st.TARGET + st.N_PENALTY, first:n]
        rates = F[st.RATE : st.RATE + st.N_PENALTY, first:n]
        rates[:] = 0.0
        np.subtract(then, now, out=rates, where=then != now)
        self.penalties_move = True
        state.lines.hold_all(n)
        self.h_rate, self.sum_rate = None, 0.0
        if rates[: st.N_ENDS].any():
            along = (state.S[st.STATUS, :n] == st.AT_BREAKPOINT) & (F[st.D, :n] != 0.0)
            rows = np.flatnonzero(along)
            self.h_rate, self.sum_rate = np.zeros(n), float(F[st.D, rows].sum())
            state.add_product(rows, self.h_rate)

    def follow(self, i: int, sign: float = 1.0) -> None:
        """Row i begins to go with its breakpoint, or stops (sign -1)."""
        if self.h_rate is None:
            return
        rate = sign * self.state.F[st.D, i]
        if rate != 0.0:
            row = np.array([i])
            self.state.gram.apply(row, np.array([rate]), self.h_rate)
            self.h_rate[i] += rate * self.state.F[st.RIDGE, i]
            self.sum_rate += rate

    def move_on(self, eta: float) -> None:
        """Let the share ``eta`` of what is left pass."""
        state = self.state
        over = eta >= 1.0 or eta * self.left >= self.left  # an event may come just then
        passed = self.left if over else eta * self.left
        self.left = 0.0 if over else self.left - passed
        if over:
            self.total = self.total_target
        else:
            self.total += eta * (self.total_target - self.total)
        if state.virtual_is_free:
            assert self.target is not None
            slope = state.F[st.SR, 0] - eta * self.target_error()
            state.F[st.SL : st.SR + 1, 0] = -self.target if over else slope
        if self.penalties_move:
            state.lines.move_penalties(state.n, self.left, passed)
            if over:
                self._stop()

    def _stop(self) -> None:
        state = self.state
        state.F[st.RATE : st.RATE + st.N_PENALTY, : state.n] = 0.0
        self.penalties_move, self.h_rate, self.sum_rate = False, None, 0.0
        state.lines.hold_all(state.n)
