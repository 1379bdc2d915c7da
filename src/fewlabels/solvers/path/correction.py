"""Against rounding, and from starts that are only nearly optimal: an exact correction.

A state that misses its optimality conditions by a little is the exact optimum of a problem
whose slopes differ by as much. Following the path from there to the true slopes is a
correction that needs no tolerance: whatever breakpoint comes in the way is an event.
"""

from __future__ import annotations

import numpy as np

from . import _steps as st

# The constant of the factor follows the mean of the diagonal within this factor.
_STALE = 16.0
# Relative to the unit of h: nothing to correct.
_NOTHING = 1e-14


class Correction:
    """Fresh gradients, a fresh factor, and the way back to the conditions."""

    def __init__(self, state, clock, placement):
        self.state, self.clock, self.placement = state, clock, placement
        self._diagonal_sum = 0.0  # over all rows since the constant of the factor was chosen

    @property
    def rounding(self):
        """Estimated rounding in h."""
        return 1e-16 * np.sqrt(self.state.rounding)

    def absorb(self):
        """Shift slopes until the state is optimal, and start the clock towards the true ones."""
        state = self.state
        self.clock.begin_targets()
        st.shift_slopes(state.F, state.S, state.n, state.tol(_NOTHING))
        self.clock.start(penalties=True)

    def start_over(self):
        """Compute h and the factor afresh, and start a correction of what they show."""
        state = self.state
        if state.gram is None:
            return
        self.refresh_h()
        self._refactor()
        if state.virtual_is_free:
            state.F[st.SL : st.SR + 1, 0] = -state.F[st.H, 0]
        self.accept_total()
        self.absorb()
        self.clock.left = 1.0

    def accept_total(self):
        """Take the sum of the variables as they are."""
        self.clock.total = float(self.state.F[st.A, : self.state.n].sum())

    def refresh_h(self):
        """h from a."""
        state = self.state
        F, n = state.F, state.n
        if state.bordered:
            state.gram.refresh()
            F[st.ROOT, 0] = np.sqrt(max(0.0, state.gram.border[0]))
        support = np.flatnonzero(F[st.A, :n])
        a, h = F[st.A, support], F[st.H, :n]
        h[:] = state.shift
        state.gram.apply(support, a, h, hold=False)
        h[support] += F[st.RIDGE, support] * a
        state.rounding = 0.0

    def watch_diagonal(self, new):
        """Keep the constant of the factor in step with the diagonal of the rows."""
        state, corner = self.state, self.placement.factor.corner
        self._diagonal_sum += float((state.F[st.ROOT, new] ** 2).sum())
        mean = self._diagonal_sum / max(1, state.n)
        if mean > 0 and not corner / _STALE <= mean <= corner * _STALE:
            self._refactor()

    def _refactor(self):
        """Make the factor afresh, with a constant for today's rows."""
        state = self.state
        rows = np.flatnonzero(state.S[st.STATUS, : state.n] != st.ABSENT)
        diagonal = state.F[st.ROOT, rows] ** 2
        corner = float(diagonal.mean()) if diagonal.any() else 1.0
        self._diagonal_sum = corner * state.n
        self.placement.refactor(corner)
