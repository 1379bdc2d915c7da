"""What the machine would say of a row had it never seen it."""

from __future__ import annotations

import numpy as np

from . import _steps as st
from .engine import PathEngine
from .one_less import OneLess

_NUMBERS = (
    "n_members", "shift", "total", "total_target", "left", "moving", "drift_sum", "n_steps",
    "n_flips", "n_exchanges", "rounding", "corner",
)  # fmt: skip


class LeaveOneOut(PathEngine):
    """Forget a row, read its value, restore."""

    def leave_one_out(self, indices=None, *, total=None, factor=1.0):
        """Values of rows under the solution of the problem without them, exactly.

        A row with ``a = 0`` is its own witness. Every other one is forgotten, read and
        restored; the state afterwards is bit for bit that before.

        Parameters
        ----------
        indices : array of int or None, default=None
            Rows; None for all.
        total : float or None, default=None
            Right-hand side of the equality for one row less, where it depends on their number.
        factor : float, default=1.0
            Factor of the slopes for one row less.

        Returns
        -------
        ndarray of shape (len(indices),)
            ``h_i`` without row i.
        """
        if not self.finished:
            raise ValueError("the path is not at its end; call run first.")
        if (self.S[st.SIGN, self._alive] != 0).any() or self.bordered:
            raise ValueError(
                "leaving rows out is exact for convex machines only; with unlabelled rows the "
                "local minimum depends on the way there."
            )
        slots = self._alive if indices is None else self._slots(indices)
        self._check_reachable(total, gone=slots[:1])
        before, history = self._snapshot(), self._history.copy()
        try:
            if factor != 1.0:
                self.scale_slopes(factor, total=total)
            elif total is not None:
                self.set_total(total)
            base = self._snapshot()
            values = np.empty(len(slots))
            for k, i in enumerate(slots.tolist()):
                values[k] = self.F[st.H, i]
                if self.F[st.A, i] != 0.0:
                    self._dismiss(np.array([i]), None, None)
                    self.run()
                    values[k] = self.F[st.H, i]
                    self._restore(base)
        finally:
            self._restore(before)
            self._history = history
        return self.scale * values

    def one_less(self, a, h, penalty, unit):
        """``OneLess`` of the present rows, from their solution; see there.

        For penalties without kinks, which have no sign of their own to flip.
        """
        rows = self._alive

        def columns(indices):
            return self.scale * self.gram.columns(rows[indices])[:, rows]

        return OneLess(
            columns, self.scale * self.F[st.RIDGE, rows], a, h + penalty.slope_right,
            penalty.lower, penalty.upper, unit,
        )  # fmt: skip

    def inner(self, indices, a):
        """``sum_j a_j scale K_ij`` over the present rows, summed afresh, at some of them."""
        used = np.flatnonzero(a)
        rows = self._alive
        return self.scale * self.gram.product_at(rows[indices], rows[used], a[used])

    def _snapshot(self):
        n, m = self.n, self.n_members
        return {
            "F": self.F[:, :n].copy(),
            "S": self.S[:, :n].copy(),
            "members": self.members[:m].copy(),
            "L": self.L[:m, :m].copy(),
            "numbers": {name: getattr(self, name) for name in _NUMBERS},
        }

    def _restore(self, state):
        n, m = self.n, len(state["members"])
        self.F[:, :n], self.S[:, :n] = state["F"], state["S"]
        self.members[:m], self.L[:m, :m] = state["members"], state["L"]
        self.n_travellers, self.drift, self._pending = 0, None, []
        for name, value in state["numbers"].items():
            setattr(self, name, value)
