"""Path following for problem (P): the events between one optimum and another.

    minimise_a   1/2 a' Q a + sum_i phi_i(a_i)   subject to   sum_i a_i = total,   Q = K + ridge

With ``h_i = (Q a)_i + shift`` (shift is minus the multiplier of the equality) a row is optimal
when (a_i, -h_i) lies on the staircase of the slopes of phi_i. Rows that do not (because they
arrived, leave, or got another penalty) *travel*: their a_i moves towards the staircase while
the members M, those strictly inside a segment, move so that their h stays, and rows at
breakpoints wait. All moves are linear between *events*: a member meets a breakpoint, the h of a
waiting row reaches the end of its range, a traveller arrives. Penalties, the total and the
balance target may move too, on a *clock* that runs from 0 to 1.

The non-convex part of a semi-supervised SVM is one more event: an unlabelled row whose h (there:
f) changes sign at its outer bound, or while it travels, flips: its interval and slope change
side and it travels (Gu et al. 2018, section 3, in one variable per row).
"""

from __future__ import annotations

import math

import numpy as np

from ...gram.growing.rows import grown
from . import _steps as st
from .members import _EPS, Members

# Relative to the unit of h, or to the rounding in h where that is more: when a row stands on
# its staircase, when a row that waited has slipped past its range, when a last look finds a
# row wrong.
_ON, _ON_FLAT, _SLIPPED, _WRONG = 1e-11, 1e-12, 1e-9, 1e-10
# Relative: rounding in a direction, a breakpoint reached, a sum that is zero; and what is
# left of a variable as large as the largest one by rounding.
_ROUNDING, _REACHED, _NO_SUM, _DUST = 1e-13, 1e-13, 1e-12, 1e-14
# Imbalance of travellers that nobody can take up, relative to the largest bound.
_LEFT_OVER = 1e-9
# A longer step lets rows that were ignored at this place count again.
_PROGRESS = 1e-9
# Steps of no length, at all and for every row that moves, before ranges are widened at
# random; how often that is tried in one run.
_IDLE_STEPS, _IDLE_PER_ROW, _SHAKES = 200, 2, 20
# Steps of one run, for every row and for so many more, from which it is taken for endless:
# rounding can be larger than the steps. Avalanches and whole paths take a few per row.
_ENDLESS, _MORE_ROWS = 50, 1000
_SWEEPS = 8


class PathEngine(Members):
    """The loop over the events of a path. ``PathFollower`` has the operations."""

    # -- directions ------------------------------------------------------------------------

    def _direction(self):
        """Fill D and GAMMA; returns the direction of shift and whether only shift moves.

        Without members the travellers' directions are made to balance; where they all point
        the same way, ``shift`` moves until somebody joins.
        """
        F, m, left = self.F, self.n_members, self._clock()
        travellers, members = self._travellers(), self._members()
        k = len(travellers)
        total = -st.set_directions(F, self.S, travellers, k, left, self._cap()) + self._hold()
        if left:
            total += self.total_target - self.total - left * self.drift_sum
        gamma = F[st.GAMMA, : self.n]
        if m == 0:
            if not self._balance_directions(total):
                F[st.D, travellers] = 0.0
                gamma[:] = -np.sign(total)
                return -np.sign(total), True
            gamma[:] = 0.0
            shift = 0.0
        else:
            rhs = -self.gram.product_at(members, travellers, F[st.D, travellers])
            if self.moving:
                line = np.where(self.S[st.REGION, members] == 1, st.SL, st.SR)
                rhs -= left * F[st.RATE + line - st.LO, members]
            if left and self.bordered and self.S[st.STATUS, 0] == st.FREE:
                rhs[self.S[st.PLACE, 0]] += self.balance_target + F[st.SR, 0]
            if self.drift is not None:
                rhs -= left * self.drift[members]
            F[st.D, members], shift = self._solve(rhs, total)
            gamma[:] = shift
        self._apply(np.concatenate([members, travellers]), gamma)
        if self.drift is not None:
            gamma += left * self.drift[: self.n]
        return shift, False

    def _hold(self):
        """Stop the travellers that a cycle has put on hold; returns what their directions were."""
        if self.held is None:
            return 0.0
        travellers = self._travellers()
        held = travellers[np.isin(travellers, self.held)]
        if len(held) == len(travellers):
            return 0.0
        total = float(self.F[st.D, held].sum())
        self.F[st.D, held] = 0.0
        return total

    def _balance_directions(self, lack):
        """Scale the directions of travellers on one side so that their sum is right.

        ``lack`` is what the sum lacks. Returns whether that was possible.
        """
        rows = self._travellers()
        d = self.F[st.D, rows]
        size = np.abs(d).sum() + abs(self.total_target - self.total)
        least = _NO_SUM * (size + abs(self._clock() * self.drift_sum))
        if abs(lack) <= max(least, _DUST * self.largest_a, _EPS * self.largest_bound):
            return True
        side = d < 0.0 if lack > 0.0 else d > 0.0
        total = float(d[side].sum())
        if abs(lack) >= abs(total) * (1.0 - _NO_SUM):
            return False
        d[side] *= 1.0 + lack / total
        self.F[st.D, rows] = d
        return True

    def _sweep_dust(self):
        """Let travellers that nobody can balance go the last bit: their sum lacks rounding."""
        F, rows = self.F, self._travellers()
        lines = [st.next_breakpoint(F, self.S, i) for i in rows.tolist()]
        F[st.D, rows] = F[lines, rows] - F[st.A, rows]
        if not np.abs(F[st.D, rows]).sum() <= _LEFT_OVER * self.largest_bound:
            raise ArithmeticError("the path cannot keep the sum of its variables")
        F[st.GAMMA, : self.n] = 0.0
        self._apply(rows, F[st.GAMMA, : self.n])

    def _clock(self):
        """Share of the clock that the next step may take.

        Penalties wait for travellers: a row that has just changed sign must be free to move
        away from where it did, or it would change back.
        """
        return 0.0 if self.moving and self.n_travellers else self.left

    def _cap(self):
        """Speed of travellers towards infinity."""
        return abs(self.total) + np.abs(self.F[st.A, self._members()]).max(initial=0.0) or 1.0

    # -- the loop --------------------------------------------------------------------------

    def run(self, max_steps=None):
        """Follow the path to its end.

        Parameters
        ----------
        max_steps : int or None, default=None
            Steps after which to pause; the state is valid and ``run`` goes on from it.

        Returns
        -------
        bool
            Whether the end is reached.
        """
        if self.finished:
            return True
        last = np.inf if max_steps is None else self.n_steps + max_steps
        self._measure()
        self.shakes, self.held = 0, None
        endless = self.n_steps + _ENDLESS * (self.n + _MORE_ROWS)
        for _ in range(_SWEEPS):
            while not self.finished:
                if self.n_steps >= last:
                    return False
                self._step()
                if self.n_steps >= endless:
                    raise ArithmeticError("the path does not end")
                moving = self.n_members + self.n_travellers
                patience = _IDLE_STEPS + _IDLE_PER_ROW * moving
                if self.idle > patience * (1 + self.shakes):
                    self._shake()
            if not self._sweep():
                break
        return True

    def _step(self):
        F, S, n = self.F, self.S, self.n
        shift, shift_only = self._direction()
        left = 0.0 if shift_only else self._clock()
        members, travellers = self.members, self.travellers
        m, k = self.n_members, self.n_travellers
        used = np.concatenate([members[:m], travellers[:k]])
        # The factor is that of K + corner: its rounding is relative to both.
        root = np.sqrt(F[st.ROOT, used] ** 2 + self.corner)
        size, largest = float(np.abs(F[st.D, used]) @ root), root.max(initial=0.0)
        if not math.isfinite(size + shift):
            raise ArithmeticError("the path has lost its direction")
        # Rounding in GAMMA: the members' directions balance each other to that of shift.
        least = _ROUNDING * (abs(shift) + largest * size)
        if shift_only:
            m = 0
        limit = 1.0 if left else 1e300
        eta, code, which = st.next_event(
            F, S, n, members, m, travellers, k, left if self.moving else 0.0,
            limit, least, _ROUNDING * size,
        )  # fmt: skip
        if code == st.NONE:
            self._sweep_dust()
            shift = 0.0
            eta, code, which = st.next_event(
                F, S, n, members, m, travellers, k, 0.0, limit, 0.0, _ROUNDING * size
            )
        if code == st.NONE:
            raise ArithmeticError("the path has no next event")
        self.n_steps += 1
        self.rounding += (eta * (size * largest + abs(shift))) ** 2
        st.advance(F, S, n, members, m, travellers, k, eta)
        self.shift += eta * shift
        self.idle += 1
        if eta > _PROGRESS:
            S[st.IGNORED, :n] = 0
            self.idle, self.held = 0, None
        if left:
            self._move_clock(eta)
        self._happen(eta, code, which)
        self._arrivals()

    def _move_clock(self, eta):
        """Totals and penalties after the share ``eta`` of what is left of the clock."""
        over = eta >= 1.0 or eta * self.left >= self.left  # an event may come just then
        passed = self.left if over else eta * self.left
        self.left = 0.0 if over else self.left - passed
        if over:
            self.total = self.total_target
        else:
            self.total += eta * (self.total_target - self.total)
        if self.bordered and self.S[st.STATUS, 0] == st.FREE:
            step = 1.0 if over else eta
            self.F[st.SL : st.SR + 1, 0] -= step * (self.balance_target + self.F[st.SR, 0])
        if self.moving:
            st.move_penalties(self.F, self.S, self.n, self.left, passed)
            if over:
                self._stop_clock()

    def _stop_clock(self):
        self.F[st.RATE : st.RATE + 5, : self.n] = 0.0
        self.moving, self.drift, self.drift_sum = False, None, 0.0
        st.rest_again(self.F, self.S, self.n)

    def _happen(self, eta, code, which):
        """Carry out an event."""
        F, S = self.F, self.S
        if code in (st.MEMBER_LOW, st.MEMBER_HIGH):
            i = self.members[which]
            F[st.A, i] = F[st.segment_ends(F, i, S[st.REGION, i])[code - st.MEMBER_LOW], i]
            self._leave(which)
            self._rest(i)
        elif code in (st.REST_LOW, st.REST_HIGH):
            self._wake(which, code == st.REST_LOW, eta)
        elif code == st.MEET:
            i = self.travellers[which]
            self._remove_traveller(which)
            self._join(i, S[st.REGION, i], -S[st.DIR, i])
        elif code == st.FLIP:
            i = self.travellers[which]
            self._remove_traveller(which)
            st.mirror(F, S, i)
            self.n_flips += 1
            self._place(np.array([i]))

    def _wake(self, i, low, eta):
        """The h of a row at rest has reached the end of its range."""
        F, S = self.F, self.S
        end = F[st.LOW if low else st.HIGH, i]
        sign = S[st.SIGN, i]
        self._follow(i, -1.0)
        if sign and F[st.LO, i] < F[st.UP, i] and sign == (1 if low else -1) and F[st.A, i] != 0.0:
            st.mirror(F, S, i)
            self.n_flips += 1
            self._place(np.array([i]))
            return
        if eta <= _PROGRESS:
            S[st.IGNORED, i] += 1
        if abs(F[st.H, i] - end) > self._tol(_SLIPPED):
            self._place(np.array([i]))
            return
        direction = 1 if low else -1
        self._join(i, st.beside(F, i, direction), direction)

    def _remove_traveller(self, k):
        self.n_travellers -= 1
        self.travellers[k : self.n_travellers] = self.travellers[k + 1 : self.n_travellers + 1]

    def _arrivals(self):
        """Travellers that stand on their next breakpoint rest there or go on beyond it."""
        k = self.n_travellers
        if not k:
            return
        arrived = np.empty(k, np.int64)
        self.n_travellers, n_arrived = st.arrive(
            self.F, self.S, self.travellers, k, _REACHED, _DUST * self.largest_a,
            self._tol(_ON), arrived,
        )  # fmt: skip
        if self.drift is not None:
            for i in arrived[:n_arrived].tolist():
                self._follow(i, 1.0)

    def _place(self, rows):
        """Give rows that are not in M nor travel the status that their state asks for."""
        found = np.empty(len(rows), np.int64)
        st.place_all(self.F, self.S, rows, self._tol(_ON), self._tol(_ON_FLAT), found)
        for i, status in zip(rows.tolist(), found.tolist(), strict=True):
            if status == st.TRAVEL:
                self.travellers = grown(self.travellers, self.n_travellers + 1)
                self.travellers[self.n_travellers] = i
                self.n_travellers += 1
            elif status == st.REST:
                self._follow(i, 1.0)
            else:
                region = 1 if self.F[st.A, i] < self.F[st.KINK, i] else 2
                self._join(i, region, 1)

    def _withdraw(self, rows):
        """Take rows out of M, of the travellers and of those at rest, to be placed again."""
        status = self.S[st.STATUS]
        for i in rows.tolist():
            if status[i] == st.FREE:
                self._leave(self.S[st.PLACE, i])
            elif status[i] == st.REST:
                self._follow(i, -1.0)
            elif status[i] == st.TRAVEL:
                self._remove_traveller(int(np.flatnonzero(self._travellers() == i)[0]))
            status[i] = st.DEAD

    def _sweep(self):
        """A last look: rows on the wrong side travel, members off their slope are corrected.

        Returns whether there was anything to do.
        """
        self.S[st.IGNORED, : self.n] = 0
        found, tol = np.empty(self.n, np.int64), self._tol(_WRONG)
        count, error = st.sweep(self.F, self.S, self.n, tol, found)
        if count:
            self._place(found[:count].copy())
        if error > tol:
            self._absorb()
        return count > 0 or error > tol
