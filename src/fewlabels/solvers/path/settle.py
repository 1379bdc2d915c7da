"""The clock, fresh gradients, and starts from solutions that are only nearly optimal.

A state that misses its optimality conditions by a little is the exact optimum of a problem
whose slopes differ by as much. Following the path from there to the true slopes is a
correction that needs no tolerance: whatever breakpoint comes in the way is an event.
"""

from __future__ import annotations

import numpy as np

from . import _steps as st
from .engine import _SHAKES, PathEngine

# The constant of the factor follows the mean of the diagonal within this factor.
_STALE = 16.0
# Relative to the unit of h: nothing to correct.
_NOTHING = 1e-14
# Relative to the unit of h: by how much ranges are widened to break a cycle.
_WIDENED = 1e-7


class Settle(PathEngine):
    """Moves of penalties on the clock, and what is built on them."""

    def __init__(self):
        super().__init__()
        self.held = None  # travellers that wait until a cycle is broken
        self.diagonal_sum = 0.0  # over all rows since the constant of the factor was chosen

    def _begin_targets(self):
        """The targets of all rows are where they stand, unless the clock runs already."""
        if not self.moving:
            self.F[st.TARGET : st.TARGET + 5, : self.n] = self.F[st.LO : st.SR + 1, : self.n]

    def _set_clock(self, total=None, target=None, move=False):
        """Start the clock towards new values of the total, the balance target, the penalties."""
        if total is not None:
            self.total_target = float(total)
        if target is not None:
            self._aim(float(target))
        if move or self.moving:
            self._set_rates()
            self.left = 1.0
        elif self.total != self.total_target or self._off_target():
            self.left = 1.0

    def _off_target(self):
        free = self.bordered and self.S[st.STATUS, 0] == st.FREE
        return free and -self.F[st.SR, 0] != self.balance_target

    def _set_rates(self):
        F, n = self.F, self.n
        now, then = F[st.LO : st.SR + 1, :n], F[st.TARGET : st.TARGET + 5, :n]
        differ = now != then
        F[st.RATE : st.RATE + 5, :n] = 0.0
        F[st.RATE : st.RATE + 5, :n][differ] = then[differ] - now[differ]
        if self.bordered:  # its slope has a target of its own
            F[st.RATE : st.RATE + 5, 0] = 0.0
            F[st.TARGET : st.TARGET + 5, 0] = F[st.LO : st.SR + 1, 0]
        self.moving = True
        st.rest_again(F, self.S, n)
        riding = np.flatnonzero((self.S[st.STATUS, :n] == st.REST) & (F[st.D, :n] != 0.0))
        self.drift, self.drift_sum = None, 0.0
        if differ[:3].any():
            self.drift = np.zeros(n)
            self._apply(riding, self.drift)
            self.drift_sum = float(F[st.D, riding].sum())

    def _absorb(self):
        """Shift slopes until the state is optimal, and start the clock to the true ones."""
        F, S, n = self.F, self.S, self.n
        self._begin_targets()
        status, h = S[st.STATUS, :n], F[st.H, :n]
        a, low, kink, up, left, right = F[[st.A, st.LO, st.KINK, st.UP, st.SL, st.SR], :n]
        to_right = np.where(a >= up, np.inf, np.where(a >= kink, right, left))
        to_left = np.where(a <= low, -np.inf, np.where(a <= kink, left, right))
        at_rest = np.maximum(0.0, -h - to_right) + np.minimum(0.0, -h - to_left)
        inside = -h - np.where(S[st.REGION, :n] == 1, left, right)
        miss = np.where(status == st.FREE, inside, np.where(status == st.REST, at_rest, 0.0))
        miss[np.abs(miss) <= self._tol(_NOTHING)] = 0.0
        F[st.SL : st.SR + 1, :n] += miss
        self._set_clock(move=True)

    def _shake(self):
        """Break a cycle of steps of no length, at random.

        The ranges of rows at rest are widened; they come back on the clock, by then at different
        times. Some travellers wait: without members, one that has just changed sign can be
        pushed back by the others, and let them push it over again. Any speeds >= 0 lead to the
        end.
        """
        self.idle = 0
        self.shakes += 1
        if self.shakes > _SHAKES:
            raise ArithmeticError("the path goes round in circles")
        F, n = self.F, self.n
        self._begin_targets()
        rng = np.random.default_rng(self.n_steps)
        travellers = self._travellers()
        self.held = travellers[rng.random(len(travellers)) < 0.5]
        width = rng.uniform(0.5, 1.0, n) * self._tol(_WIDENED)
        width[self.S[st.STATUS, :n] != st.REST] = 0.0
        at_low, at_up = F[st.A, :n] <= F[st.LO, :n], F[st.A, :n] >= F[st.UP, :n]
        F[st.SL, :n] += np.where(at_low, width, -width)
        F[st.SR, :n] += np.where(at_up, -width, width)
        self._set_clock(move=True)

    def _fresh(self):
        """h computed again from a."""
        F, n = self.F, self.n
        if self.bordered and self.gram is not None:
            self.gram.refresh()
            F[st.ROOT, 0] = np.sqrt(max(0.0, self.gram.border[0]))
        support = np.flatnonzero(F[st.A, :n])
        h = np.full(n, self.shift)
        a = F[st.A, support]
        self.gram.apply(support, a, h, hold=False)
        h[support] += F[st.RIDGE, support] * a
        F[st.H, :n] = h
        self.rounding = 0.0

    def _factor_again(self):
        """Make the factor of the members afresh, with a constant for today's rows."""
        rows = np.arange(self.n)[self.S[st.STATUS, : self.n] < st.DEAD]
        diagonal = self.F[st.ROOT, rows] ** 2
        self.corner = float(diagonal.mean()) if len(rows) and diagonal.any() else 1.0
        self.diagonal_sum = self.corner * self.n
        members = self._members().copy()
        self.n_members = 0
        for i in members.tolist():
            self._join(i, self.S[st.REGION, i], 1)

    def _watch_corner(self, new):
        """Keep the constant of the factor in step with the diagonal of the rows."""
        self.diagonal_sum += float((self.F[st.ROOT, new] ** 2).sum())
        mean = self.diagonal_sum / max(1, self.n)
        if mean > 0 and not self.corner / _STALE <= mean <= self.corner * _STALE:
            self._factor_again()

    def _settle(self):
        """Correct what rounding has left: fresh h and factor, exact correction of the rest."""
        if self.gram is None:
            return
        self._fresh()
        self._factor_again()
        F = self.F
        if self.bordered and self.S[st.STATUS, 0] == st.FREE:
            F[st.SL : st.SR + 1, 0] = -F[st.H, 0]
        self.total = float(F[st.A, : self.n].sum())
        self._absorb()
        self.left = 1.0

    def _load(self, X, rows, a, multiplier, turned, virtual, target):
        """Take over a solution: members are the rows strictly inside a segment."""
        slots = self._take_in(X, rows)
        F, S = self.F, self.S
        for i in slots[turned].tolist():
            st.mirror(F, S, i)
        F[st.A, slots] = a
        self.shift = -float(multiplier) / self.scale
        if self.bordered and rows.symmetric.any():
            self.gram.include(slots[rows.symmetric])
            if target is not None:
                self.balance_target, self.has_target = float(target), True
                self._virtual_row()
                F[st.A, 0] = virtual
        self._fresh()
        flip = S[st.SIGN, slots] * F[st.H, slots] < 0.0
        low, kink, up = F[st.LO : st.UP + 1, slots]
        rests = (a == low) | (a == kink) | (a == up)
        inside = np.flatnonzero(~rests & ~flip)
        self.gram.prefetch(slots[inside])
        for i in slots[np.flatnonzero(rests & ~flip)].tolist():
            st.rest(F, S, i)
        if self.bordered and self.has_target and self.n_hats:
            F[st.SL : st.SR + 1, 0] = -F[st.H, 0]
            self._join(0, 2, 1)
        for i in slots[inside].tolist():
            self._join(i, 1 if F[st.A, i] < F[st.KINK, i] else 2, 1)
        self._place(slots[flip])
        self.total = float(F[st.A, : self.n].sum())
        self._absorb()

    def refresh(self):
        """Compute h afresh and correct the solution for the rounding that was in it.

        Returns
        -------
        bool
            True: the end of the path is reached.
        """
        return self._operate("refresh", len(self), [("_settle", ())], None, around=False)
