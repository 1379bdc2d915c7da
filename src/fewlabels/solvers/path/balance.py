"""The balancing constraint: the mean of h over rows with a hat loss has a target.

Its multiplier is the variable of a virtual row ``phi(x_0) = mean of phi``, free of bounds (Yu et
al. 2019, eq. (13)). When rows join or leave the mean, u rows becoming u', the function stays
exactly the same with ``a_0 u' / u`` for the virtual row and ``-+ a_0 / u`` added to the variable
of every row that joins or leaves; they travel from there.
"""

from __future__ import annotations

import numpy as np

from . import _steps as st
from .engine import PathEngine


class Balance(PathEngine):
    """Operations on the virtual row, which has index 0."""

    def __init__(self):
        super().__init__()
        self.has_target = False

    @property
    def n_hats(self):
        """Rows in the mean."""
        return 0 if self.gram is None or not self.bordered else self.gram.n_mean

    def _active(self):
        return self.S[st.STATUS, 0] != st.DEAD

    def _aim(self, target):
        if not self.bordered:
            raise ValueError("there is no balancing constraint; create the path with balance.")
        self.balance_target, self.has_target = target, True
        if not self._active() and self.balance == "keep":
            self._enter_virtual()

    def _enter_virtual(self):
        """Let the virtual row join M where its condition holds; its target moves on the clock."""
        if not (self.has_target and self.n_hats) or self._active():
            return
        F = self.F
        self._virtual_row()
        F[st.SL : st.SR + 1, 0] = -F[st.H, 0]
        self._join(0, 2, 1)

    def _virtual_row(self):
        """The virtual row without weight, as a free variable."""
        F, n = self.F, self.n
        support = np.flatnonzero(F[st.A, :n])
        F[st.A, 0] = 0.0
        F[st.H, 0] = self.gram.border[support] @ F[st.A, support] + self.shift
        F[[st.LO, st.KINK, st.UP], 0] = -np.inf, -np.inf, np.inf
        F[st.ROOT, 0] = np.sqrt(max(0.0, self.gram.border[0]))

    def _take_out(self):
        """Let the variable of the virtual row travel to zero, out of the problem."""
        if not self._active():
            return
        self._withdraw(np.array([0]))
        self.F[st.LO : st.UP + 1, 0] = 0.0
        self._place(np.array([0]))
        self._pending.insert(0, ("_is_out", ()))

    def _is_out(self):
        self._withdraw(np.array([0]))
        st.unrest(self.F, self.S, 0, st.DEAD)

    def _put_in(self):
        """Let the virtual row, without weight, travel until the mean is on target."""
        if not (self.has_target and self.n_hats) or self._active():
            return
        self._virtual_row()
        self.F[st.SL : st.SR + 1, 0] = -self.balance_target
        self._place(np.array([0]))

    def _join_mean(self, slots):
        self._change_mean(slots, 1)

    def _leave_mean(self, slots):
        self._change_mean(slots, -1)

    def _leaves_no_mean(self, slots):
        """Whether the mean would be of no rows, with the virtual row still in the problem."""
        leaving = int(np.sum(self.S[st.SIGN, slots] != 0))
        return self._active() and 0 < leaving == self.n_hats

    def _change_mean(self, slots, sign):
        b, u = len(slots), self.n_hats
        if not b:
            return
        F, active = self.F, self._active()
        if active:
            free = self.S[st.STATUS, 0] == st.FREE
            self._withdraw(np.array([0]))
        (self.gram.include if sign > 0 else self.gram.exclude)(slots)
        if not active:
            if sign > 0 and self.balance == "keep":
                self._enter_virtual()
            return
        weight, v = F[st.A, 0], u + sign * b
        F[st.A, 0] = weight * v / u
        F[st.A, slots] -= sign * weight / u
        h = F[st.H, slots].sum()
        before = F[st.H, 0]
        F[st.H, 0] = (u * before + sign * h) / v
        F[st.SL : st.SR + 1, 0] -= F[st.H, 0] - before
        F[st.ROOT, 0] = np.sqrt(max(0.0, self.gram.border[0]))
        if free:
            self._join(0, 2, 1)
        else:
            self._place(np.array([0]))
