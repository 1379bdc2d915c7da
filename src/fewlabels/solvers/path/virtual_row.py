"""The balancing constraint: the mean of h over rows with the symmetric hinge has a target.

Its multiplier is the variable of a virtual row ``phi(x_0) = mean of phi``, free of bounds (Yu et
al. 2019, eq. (13)). When rows join or leave the mean, u rows becoming u', the function stays
exactly the same with ``a_0 u' / u`` for the virtual row and ``-+ a_0 / u`` added to the variable
of every row that joins or leaves; these move on from there.
"""

from __future__ import annotations

import numpy as np

from ..._core import path as st
from ..._typing import IntArray
from .clock import Clock
from .placement import Placement
from .state import RowStates

#: The virtual row, as an array of rows.
ROW = np.array([0])


class VirtualRow:
    """Row 0 of a path with a balancing constraint."""

    def __init__(self, state: RowStates, clock: Clock, placement: Placement) -> None:
        self.state, self.clock, self.placement = state, clock, placement

    @property
    def n_mean(self) -> int:
        """Rows in the mean."""
        state = self.state
        return state.bordered_gram.n_mean if state.bordered and not state.is_empty else 0

    @property
    def is_active(self) -> bool:
        """Return whether the virtual row is part of the problem."""
        return self.state.bordered and self.state.S[st.STATUS, 0] != st.ABSENT

    def set_target(self, target: float) -> None:
        """Set the target, which then moves on the clock."""
        if not self.state.bordered:
            raise ValueError("this path has no balancing constraint; create it with balance.")
        self.clock.target = float(target)

    def enter(self) -> None:
        """Let the row become part of the problem at once, free, if it can be."""
        if self._can_enter():
            self.prepare()
            self.free()

    def _can_enter(self) -> bool:
        return self.clock.target is not None and self.n_mean > 0 and not self.is_active

    def prepare(self, a: float = 0.0) -> None:
        """Make row 0 a variable without bounds, of value ``a``, that is not in the problem yet."""
        F, gram = self.state.F, self.state.bordered_gram
        support = np.flatnonzero(F[st.A, : self.state.n])
        F[st.H, 0] = gram.border[support] @ F[st.A, support] + self.state.shift
        F[st.A, 0], F[st.LO : st.UP, 0], F[st.UP, 0] = a, -np.inf, np.inf
        self._follow_diagonal()

    def free(self) -> None:
        """Let the row become free where it is: its target moves from there to the true one."""
        F = self.state.F
        F[st.SL : st.SR + 1, 0] = -F[st.H, 0]
        self.placement.free(0)

    def move_to_zero(self) -> None:
        """Let the row's variable move to zero."""
        self.placement.unplace(ROW)
        self.state.close_intervals(ROW)
        self.placement.place(ROW)

    def insert(self) -> None:
        """Let the row, without weight, move until the mean is on target."""
        if self._can_enter():
            self.prepare()
            assert self.clock.target is not None
            self.state.F[st.SL : st.SR + 1, 0] = -self.clock.target
            self.placement.place(ROW)

    def is_last_of_mean(self, rows: IntArray) -> bool:
        """Return whether the mean would be of no rows without these, with row 0 in the problem."""
        leaving = np.count_nonzero(self.state.are_symmetric(rows))
        return self.is_active and 0 < leaving == self.n_mean

    def change_mean(self, rows: IntArray, sign: int) -> None:
        """Let rows join the mean (sign 1) or leave it (sign -1)."""
        state = self.state
        if not (state.bordered and len(rows)):
            return
        F, u, is_active = state.F, self.n_mean, self.is_active
        if is_active:
            was_free = state.virtual_is_free
            self.placement.unplace(ROW)
        state.bordered_gram.change_mean(rows, sign)
        if not is_active:
            return
        a, h, v = F[st.A, 0], F[st.H, 0], u + sign * len(rows)
        F[st.A, 0] = a * v / u
        F[st.A, rows] -= sign * a / u
        F[st.H, 0] = (u * h + sign * F[st.H, rows].sum()) / v
        F[st.SL : st.SR + 1, 0] -= F[st.H, 0] - h
        self._follow_diagonal()
        if was_free:
            self.placement.free(0)
        else:
            self.placement.place(ROW)

    def _follow_diagonal(self) -> None:
        self.state.F[st.ROOT, 0] = np.sqrt(max(0.0, self.state.bordered_gram.border[0]))
