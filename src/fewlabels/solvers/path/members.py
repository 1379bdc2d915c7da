"""State of a path; the members and the factor of their kernel matrix."""

from __future__ import annotations

import numpy as np

from ...gram.growing.rows import grown
from . import _factor
from . import _steps as st

# A row depends on the members when its Schur complement is this share of its diagonal entry.
_DEPENDENT = 1e-13
_EPS = 1.1e-16


class Members:
    """State of a path, and the rows strictly inside a segment with their factor.

    Attributes
    ----------
    F, S : ndarray of shape (lines, capacity)
        Floats and integers of every row, see ``_steps``.
    n : int
        Rows, dead ones and the virtual one included.
    shift : float
        Minus the multiplier.
    total, total_target : float
        Sum of a now and when the clock has run out.
    left : float
        Share of the clock that is left; 0 when nothing moves by itself.
    """

    def __init__(self):
        self.F = np.zeros((st.N_FLOATS, 256))
        self.S = np.zeros((st.N_INTS, 256), np.int64)
        self.n = 0
        self.gram = None
        self.shift = 0.0
        self.total = self.total_target = 0.0
        self.left = 0.0
        self.moving = False  # whether penalties move, not only the total
        self.balance_target = 0.0  # of the virtual row's h, when it is a member
        self.drift = None  # direction of h from rows that rest on moving breakpoints
        self.drift_sum = 0.0
        self.members = np.zeros(64, np.int64)
        self.n_members = 0
        self.L = np.zeros((64, 64))
        self.corner = 1.0
        self.travellers = np.zeros(64, np.int64)
        self.n_travellers = 0
        self.unit = 0.0  # largest slope
        self.largest_a = self.floor = self.largest_bound = 0.0
        self.bordered = False
        self.n_steps = self.n_flips = self.n_exchanges = 0
        self.rounding = 0.0
        self.idle = self.shakes = 0  # steps of no length in a row, and cures for them

    def __getstate__(self):
        # Without the room for more rows.
        n, m, k = self.n, self.n_members, self.n_travellers
        state = self.__dict__.copy()
        state.update(
            F=self.F[:, :n].copy(), S=self.S[:, :n].copy(), L=self.L[:m, :m].copy(),
            members=self.members[:m].copy(), travellers=self.travellers[:k].copy(),
        )  # fmt: skip
        return state

    # -- small views -----------------------------------------------------------------------

    def _members(self):
        return self.members[: self.n_members]

    def _travellers(self):
        return self.travellers[: self.n_travellers]

    @property
    def finished(self):
        """Whether every row stands on its staircase and nothing moves."""
        return self.n_travellers == 0 and self.left == 0.0

    def _measure(self):
        """Sizes that tolerances are relative to: of a, and the rounding in h."""
        a, root = np.abs(self.F[st.A, : self.n]), self.F[st.ROOT, : self.n]
        largest = float(root.max(initial=0.0))
        self.largest_a = max(float(a.max(initial=0.0)), self.largest_a)
        # No BLAS: it would wake threads for every operation.
        self.floor = _EPS * largest * float(np.sum(a * root))
        if not self.unit:
            self.floor = max(self.floor, _EPS * largest**2 * abs(self.total_target))

    def _tol(self, relative):
        """A tolerance of h, never below the rounding in it."""
        unit = self.unit or self.floor / _EPS or 1.0
        return max(relative * unit, 10.0 * self.floor)

    # -- members ---------------------------------------------------------------------------

    def _join(self, k, region, direction):
        """Row k, on a flat, joins M. If it depends on M, others leave first, or it rests."""
        st.unrest(self.F, self.S, k, st.FREE)
        self.S[st.REGION, k] = region
        while True:
            m = self.n_members
            if m >= len(self.L):
                larger = np.zeros((m + m // 2 + 64, m + m // 2 + 64))
                larger[:m, :m] = self.L[:m, :m]
                self.L = larger
                self.members = grown(self.members, len(self.L))
            column = self.gram.block(self._members(), np.array([k]))[:, 0] + self.corner
            entry = self.F[st.ROOT, k] ** 2 + self.corner
            if _factor.append(self.L, m, column, entry, _DEPENDENT):
                self.members[m] = k
                self.S[st.PLACE, k] = m
                self.n_members = m + 1
                return
            if not self._exchange(k, direction):
                return

    def _leave(self, p):
        """The p-th member leaves M; the caller gives it another status."""
        m = self.n_members
        _factor.delete(self.L, m, p)
        self.members[p : m - 1] = self.members[p + 1 : m]
        self.n_members = m - 1
        self.S[st.PLACE, self.members[p : m - 1]] -= 1

    def _rest(self, i):
        st.rest(self.F, self.S, i)
        self._follow(i, 1.0)

    def _follow(self, i, sign):
        """Row i begins (or stops, sign -1) to rest on a breakpoint that moves."""
        rate = sign * self.F[st.D, i]
        if self.drift is not None and rate != 0.0:
            i = np.array([i])
            self.gram.apply(i, np.array([rate]), self.drift)
            self.drift[i] += rate * self.F[st.RIDGE, i]
            self.drift_sum += rate

    def _exchange(self, k, direction):
        """Move a_k and M along the direction that leaves every h alone.

        Row k on a flat depends on M. Returns True once a member has met a breakpoint and left,
        False when k itself came to one, where it rests.
        """
        F, S = self.F, self.S
        self.n_exchanges += 1
        members, row = self._members(), np.array([k])
        F[st.D, k] = direction
        F[st.D, members], shift = self._solve(
            -self.gram.block(members, row)[:, 0] * direction, -float(direction)
        )
        gamma = np.full(self.n, shift)
        moving = np.append(members, k)
        self._apply(moving, gamma)
        eta, who, end = np.inf, -1, 0
        for p, i in enumerate([*members.tolist(), k]):
            d = F[st.D, i]
            if d != 0.0:
                end_line = st.segment_ends(F, i, S[st.REGION, i])[int(d > 0)]
                x = max(0.0, (F[end_line, i] - F[st.A, i]) / d)
                if x < eta or (x == eta and abs(d) > abs(F[st.D, moving[who]])):
                    eta, who, end = x, p, end_line
        if not np.isfinite(eta):
            raise ValueError("the problem is unbounded below: a direction never ends.")
        F[st.A, moving] += eta * F[st.D, moving]
        F[st.H, : self.n] += eta * gamma
        self.shift += eta * shift
        F[st.D, k] = 0.0
        i = moving[who]
        F[st.A, i] = F[end, i]
        if i == k:
            self._rest(k)
            return False
        self._leave(who)
        self._rest(i)
        return True

    def _solve(self, rhs, total):
        """Directions of the members and of ``shift``.

        ``Q_MM d + shift = rhs`` and ``sum d = total``, by the factor of Q_MM + c 1 1'.
        """
        m = self.n_members
        x = np.empty((2, m))
        x[0] = rhs + self.corner * total
        x[1] = 1.0
        _factor.solve(self.L, m, x)
        shift = (x[0].sum() - total) / x[1].sum()
        return x[0] - shift * x[1], shift

    def _apply(self, rows, out):
        """``out += Q[:, rows] D[rows]``."""
        d = self.F[st.D, rows]
        self.gram.apply(rows, d, out)
        out[rows] += self.F[st.RIDGE, rows] * d
