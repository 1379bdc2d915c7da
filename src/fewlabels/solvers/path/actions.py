"""What operations are made of: each action changes the problem, and a path follows."""

from __future__ import annotations

import numpy as np

from ...gram.growing.border import BorderedGrowing
from ...gram.growing.columns import make_growing
from ...gram.growing.rows import grown
from . import _steps as st
from .balance import Balance
from .settle import Settle

# Dead rows are removed from all arrays when they are this share of all.
_DEAD_SHARE = 0.25
_FEW = 64


class Actions(Balance, Settle):
    """Rows come, leave, and get other penalties."""

    def _append(self, X, rows, total, target):
        slots = self._take_in(X, rows)
        F, first = self.F, slots[0]
        support = np.flatnonzero(F[st.A, :first])
        F[st.H, slots] = self.gram.product_at(slots, support, F[st.A, support]) + self.shift
        if self.bordered:
            self._join_mean(slots[rows.symmetric])
        self._set_clock(total, target)
        self._place(slots)

    def _take_in(self, X, rows):
        """Add rows to all arrays, without a place yet."""
        if self.gram is None:
            self.gram = make_growing(
                self.kernel, X, cache_size=self.cache_size, n_jobs=self.n_jobs
            )
            if self.bordered:
                self.gram = BorderedGrowing(self.gram)
        diagonal = self.gram.append(X)
        first, self.n = self.n, self.n + len(rows)
        slots = np.arange(first, self.n)
        self.F, self.S = grown(self.F, self.n, axis=1), grown(self.S, self.n, axis=1)
        F, S = self.F, self.S
        F[:, slots] = 0.0
        S[:, slots] = 0
        self._set_penalties(slots, rows)
        F[st.ROOT, slots] = np.sqrt(np.maximum(0.0, diagonal + F[st.RIDGE, slots]))
        S[st.STATUS, slots] = st.DEAD
        self._alive = np.append(self._alive, slots)
        self._watch_corner(slots)
        return slots

    def _dismiss(self, slots, total, target):
        if self.bordered and self._leaves_no_mean(slots):
            self._pending[:0] = [("_take_out", ()), ("_dismiss", (slots, total, target))]
            return
        self._withdraw(slots)
        if self.bordered:
            self._leave_mean(slots[self.S[st.SIGN, slots] != 0])
        self.S[st.SIGN, slots] = 0
        self.F[st.LO : st.UP + 1, slots] = 0.0
        self.F[st.TARGET : st.TARGET + 3, slots] = 0.0
        self.F[st.RATE : st.RATE + 3, slots] = 0.0
        self._set_clock(total, target)
        self._place(slots)

    def _drop(self, slots):
        for i in slots.tolist():
            self._withdraw(np.array([i]))
            st.unrest(self.F, self.S, i, st.DEAD)
        self.F[st.A, slots] = 0.0
        self._alive = np.setdiff1d(self._alive, slots, assume_unique=True)

    def _compact(self):
        """Forget dead rows in all arrays once there are many."""
        n_dead = self.n - self.bordered - len(self._alive)
        if n_dead <= max(_FEW, _DEAD_SHARE * self.n):
            return
        kept = np.append(0, self._alive) if self.bordered else self._alive
        place = np.full(self.n, -1)
        place[kept] = np.arange(len(kept))
        self.gram.keep(kept)
        self.n, alive = len(kept), place[self._alive]
        F, S = (grown(x[:, kept], self.n + _FEW, axis=1) for x in (self.F, self.S))
        # At once: who reads an interrupted path must find every row's own variable.
        self.F, self.S, self._alive = F, S, alive
        self.members[: self.n_members] = place[self._members()]
        self.travellers[: self.n_travellers] = place[self._travellers()]
        if self.drift is not None:
            self.drift = self.drift[kept]

    def _switch(self, slots, rows, total, target):
        S = self.S
        leaving = (S[st.SIGN, slots] != 0) & ~rows.symmetric
        joining = (S[st.SIGN, slots] == 0) & rows.symmetric
        if self.bordered and not joining.any() and self._leaves_no_mean(slots[leaving]):
            self._pending[:0] = [("_take_out", ()), ("_switch", (slots, rows, total, target))]
            return
        self._withdraw(slots)
        if self.bordered:
            self._join_mean(slots[joining])
            self._leave_mean(slots[leaving])
        old_ridge = self.F[st.RIDGE, slots].copy()
        self._set_penalties(slots, rows)
        more = self.F[st.RIDGE, slots] - old_ridge
        self.F[st.H, slots] += more * self.F[st.A, slots]
        self.F[st.ROOT, slots] = np.sqrt(np.maximum(0.0, self.F[st.ROOT, slots] ** 2 + more))
        self._set_clock(total, target)
        self._place(slots)

    def _move(self, slots, rows, total, target):
        if rows is None:
            self._set_clock(total, target)
            return
        self._begin_targets()
        arrays = np.array(rows.penalty.arrays())
        arrays[3:] /= self.scale
        turned = self.S[st.SIGN, slots] < 0
        arrays[:, turned] = -arrays[[2, 2, 0, 3, 4]][:, turned]
        self.F[st.TARGET : st.TARGET + 5, slots] = arrays
        self._note_unit(arrays)
        self._set_clock(total, target, move=True)

    def _set_penalties(self, slots, rows):
        arrays = np.array(rows.penalty.arrays())
        arrays[3:] /= self.scale
        self.F[st.LO : st.SR + 1, slots] = arrays
        self.F[st.TARGET : st.TARGET + 5, slots] = arrays
        self.F[st.RATE : st.RATE + 5, slots] = 0.0
        self.F[st.RIDGE, slots] = rows.ridge / self.scale
        self.S[st.SIGN, slots] = rows.symmetric
        self._note_unit(arrays)

    def _note_unit(self, arrays):
        bounds = np.abs(arrays[:3])
        self.largest_bound = max(self.largest_bound, bounds[np.isfinite(bounds)].max(initial=0.0))
        self.unit = max(self.unit, float(np.abs(arrays[3:]).max(initial=0.0)))
