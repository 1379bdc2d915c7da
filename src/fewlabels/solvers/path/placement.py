"""Where rows stand on their staircases: free, held at a breakpoint, or moving."""

from __future__ import annotations

import numpy as np

from ..._core import path as st
from ..._core.path import Triangle
from ..._typing import FloatArray, IntArray
from ...kernels.operators.growing.stores import grow_array
from .clock import Clock
from .state import RowStates

# Relative to the unit of h: when a row is at its breakpoint, and when on its segment.
_ON, _ON_SEGMENT = 1e-11, 1e-12
# Relative: a breakpoint is reached; what rounding leaves of a variable as large as the largest.
_REACHED, RESIDUE = 1e-13, 1e-14
# A row depends on the free ones when its Schur complement is this share of its diagonal entry.
_DEPENDENT = 1e-13
# The constant of the factor follows the mean of the diagonal within this factor.
_STALE = 16.0


class Factor:
    """The free rows, and the factor of their matrix with the constant ``corner`` added to it.

    Directions do not depend on the constant, as the equality fixes their sum; it makes the matrix
    definite where Q alone is so only for directions that sum to zero.
    """

    def __init__(self) -> None:
        self._rows = np.zeros(64, np.int64)
        self._triangle = Triangle(np.zeros((64, 64)))
        self.corner = 1.0
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def L(self) -> FloatArray:
        """Lower triangular in the first ``len(self)`` rows, with room for more."""
        return self._triangle.L

    @property
    def rows(self) -> IntArray:
        """The free rows, in the order of the factor; a view."""
        return self._rows[: self._n]

    def append(self, row: int, column: FloatArray, entry: float) -> bool:
        """Add a free row by its column of Q_MM and its diagonal entry.

        Returns False, and adds nothing, if it depends on the others.
        """
        m = self._n
        corner = self.corner
        if m >= len(self.L):
            larger = np.zeros((m + m // 2 + 64, m + m // 2 + 64))
            larger[:m, :m] = self.L[:m, :m]
            self._triangle, self._rows = Triangle(larger), grow_array(self._rows, len(larger))
        if not self._triangle.append(m, column + corner, entry + corner, _DEPENDENT):
            return False
        self._rows[m] = row
        self._n = m + 1
        return True

    def delete(self, p: int) -> None:
        """Remove the p-th free row."""
        m = self._n
        self._triangle.delete(m, p)
        self._rows[p : m - 1] = self._rows[p + 1 : m]
        self._n = m - 1

    def restart(self, corner: float) -> IntArray:
        """Remove all rows and choose another constant; returns the rows."""
        rows, self._n, self.corner = self.rows.copy(), 0, corner
        return rows

    def renumber(self, number: IntArray) -> None:
        """Give rows new numbers."""
        self._rows[: self._n] = number[self.rows]

    def solve(self, d: FloatArray, total: float) -> float:
        """Return directions in place of their right-hand side ``d``.

        See ``fl_factor_directions``.
        """
        return self._triangle.solve_directions(self._n, self.corner, d, total)


class Placement:
    """Rows become free, are held at breakpoints, or move."""

    def __init__(self, state: RowStates, factor: Factor, clock: Clock) -> None:
        self.state, self.factor, self.clock = state, factor, clock
        self._moving = np.zeros(64, np.int64)
        self.n_moving = 0
        self._diagonal_sum = 0.0  # over all rows since the constant of the factor was chosen

    @property
    def moving(self) -> IntArray:
        """The moving rows; a view."""
        return self._moving[: self.n_moving]

    def place(self, rows: IntArray) -> None:
        """Give rows that are neither free nor moving the status that their a and h ask for."""
        state = self.state
        found = state.lines.place(rows, state.tol(_ON), state.tol(_ON_SEGMENT))
        for i, status in zip(rows.tolist(), found.tolist(), strict=True):
            if status == st.MOVING:
                self._moving = grow_array(self._moving, self.n_moving + 1)
                self._moving[self.n_moving] = i
                self.n_moving += 1
            elif status == st.AT_BREAKPOINT:
                self.clock.follow(i)
            else:
                self.free(i)

    def unplace(self, rows: IntArray) -> None:
        """Take rows from where they are, to be placed again."""
        status = self.state.S[st.STATUS]
        for i in rows.tolist():
            if status[i] == st.FREE:
                self._leave(self.state.S[st.POSITION, i])
            elif status[i] == st.AT_BREAKPOINT:
                self.clock.follow(i, -1.0)
            elif status[i] == st.MOVING:
                self.stop(int(np.flatnonzero(self.moving == i)[0]))
            status[i] = st.ABSENT

    def hold(self, i: int) -> None:
        """Hold row i at the breakpoint where it is."""
        self.state.lines.hold(i)
        self.clock.follow(i)

    def hold_free(self, p: int, line: int) -> None:
        """Hold the p-th free row at the breakpoint in a line of F."""
        F, i = self.state.F, self.factor.rows[p]
        F[st.A, i] = F[line, i]
        self._leave(p)
        self.hold(i)

    def stop(self, k: int) -> int:
        """The k-th moving row moves no more; returns it."""
        i = self._moving[k]
        self.n_moving -= 1
        self._moving[k : self.n_moving] = self._moving[k + 1 : self.n_moving + 1]
        return i

    def reach_breakpoints(self) -> None:
        """Moving rows at their next breakpoint are held there or continue beyond it."""
        if not self.n_moving:
            return
        state, moving = self.state, self.moving.copy()
        F, before = state.F, state.F[st.A].take(moving)
        self.n_moving, arrived, missing = state.lines.arrive(
            self.moving, _REACHED, RESIDUE * state.largest_a, state.tol(_ON)
        )
        if state.is_significant(missing):  # h goes with the variables
            rates = F[st.D].take(moving)  # at moving breakpoints, of rows held there
            F[st.D, moving] = F[st.A].take(moving) - before
            state.add_product(moving, F[st.H, : state.n])
            F[st.D, moving] = rates
        if self.clock.h_rate is not None:
            for i in arrived.tolist():
                self.clock.follow(i)

    def free(self, i: int, direction: int = 1, region: int | None = None) -> None:
        """Row i, on a segment, becomes free; the segment on which it is when not given.

        Where it depends on the free rows, it moves in ``direction`` in exchange for them, and is
        held if it comes to a breakpoint first.
        """
        state, factor = self.state, self.factor
        F, S = state.F, state.S
        state.lines.release(i, st.FREE)
        S[st.REGION, i] = state.lines.find_adjacent_region(i, 1) if region is None else region
        row = np.array([i])
        while True:
            S[st.POSITION, i] = len(factor)
            column = state.gram.block(factor.rows, row)[:, 0]
            if factor.append(i, column, F[st.ROOT, i] ** 2):
                return
            if not self._exchange(i, column, direction):
                return

    def _leave(self, p: int) -> None:
        """The p-th free row is free no longer; the caller gives it another status."""
        self.factor.delete(p)
        self.state.S[st.POSITION, self.factor.rows[p:]] -= 1

    def _exchange(self, k: int, column: FloatArray, direction: int) -> bool:
        """Move a_k and the free rows along the direction that leaves every h alone.

        Row k on a segment depends on the free rows, with which its kernel values are ``column``.
        Returns True once one of these has met a breakpoint, False when k itself came to one;
        there it is held.
        """
        state, factor = self.state, self.factor
        F, n = state.F, state.n
        state.n_exchanges += 1
        rows, last = np.append(factor.rows, k), len(factor)
        D = column * -direction
        shift = factor.solve(D, -float(direction))
        F[st.D, rows] = np.append(D, direction)
        gamma = np.full(n, shift)
        state.add_product(rows, gamma)
        eta, which, line = state.lines.find_first_end(rows)
        if not np.isfinite(eta):
            raise ValueError("the problem is unbounded below: a direction never ends.")
        F[st.A, rows] += eta * F[st.D, rows]
        F[st.H, :n] += eta * gamma
        state.shift += eta * shift
        F[st.D, k] = 0.0
        if which < last:
            self.hold_free(which, line)
            return True
        F[st.A, k] = F[line, k]
        self.hold(k)
        return False

    def watch_diagonal(self, new: IntArray) -> None:
        """Keep the constant of the factor in step with the diagonal of the rows."""
        state, corner = self.state, self.factor.corner
        self._diagonal_sum += float((state.F[st.ROOT, new] ** 2).sum())
        mean = self._diagonal_sum / max(1, state.n)
        if mean > 0 and not corner / _STALE <= mean <= corner * _STALE:
            self.refactor()

    def refactor(self) -> None:
        """Make the factor afresh, with a constant for today's rows."""
        state = self.state
        rows = np.flatnonzero(state.S[st.STATUS, : state.n] != st.ABSENT)
        diagonal = state.F[st.ROOT, rows] ** 2
        corner = float(diagonal.mean()) if diagonal.any() else 1.0
        self._diagonal_sum = corner * state.n
        for i in self.factor.restart(corner).tolist():
            self.free(i, region=state.S[st.REGION, i])

    def renumber(self, number: IntArray) -> None:
        """Give rows new numbers."""
        self.factor.renumber(number)
        self._moving[: self.n_moving] = number[self.moving]
