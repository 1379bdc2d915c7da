"""What is known of the rows of a path: kernel matrix, penalties, variables, and counts."""

from __future__ import annotations

import numpy as np

from ..._core import path as st
from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ...kernels import Kernel
from ...kernels.operators.growing.matrices import BorderedGrowing, GrowingGram, make_growing
from ...kernels.operators.growing.stores import grow_array
from ...problem import Penalty, RowPenalties

# Rounding of h is relative to this.
EPS = 1.1e-16
# Rounding that h carries from step to step before it is computed afresh, in units of the rounding
# that this leaves.
_WORN = 1.0
_FEW = 64


class RowStates:
    """Rows and their numbers. Slopes, h and shift are the problem's, divided by ``scale``.

    ``F`` and ``S`` hold floats and integers of every row, see ``_core.path``: ``n`` rows, absent
    ones and, as row 0 if ``bordered``, the virtual row of the balancing constraint included.
    ``lines`` is both for the core.
    ``present`` are those that the user has added and not removed, in their order. ``gram`` exists
    once rows have arrived, ``shift`` is minus the multiplier, ``rounding`` the estimated
    variance of h by rounding, in squares of ``EPS``.
    """

    def __init__(
        self, kernel: Kernel, scale: float, bordered: bool, cache_size: float, n_jobs: int
    ) -> None:
        self.kernel, self.scale, self.bordered = kernel, scale, bordered
        self.cache_size, self.n_jobs = cache_size, n_jobs
        self._gram: GrowingGram | None = None
        self.F = np.zeros((st.N_FLOATS, 256))
        self.S = np.zeros((st.N_INTS, 256), np.int64)
        self.lines = st.Lines(self.F, self.S)
        self.n = int(bordered)
        self.present: IntArray = np.zeros(0, np.int64)
        self.shift = 0.0
        self.n_steps = self.n_flips = self.n_exchanges = 0
        self.rounding = 0.0
        self._ridged = False  # whether a row ever had a ridge
        # Sizes that tolerances are relative to: of slopes, bounds, a, and the rounding in h.
        self.unit = self.largest_bound = self.largest_a = self._floor = self._weighted = 0.0
        self.size_of_terms = 0.0
        if bordered:
            self.lines.release(0, st.ABSENT)

    @property
    def is_empty(self) -> bool:
        """Return whether no rows have arrived yet."""
        return self._gram is None

    @property
    def gram(self) -> GrowingGram:
        """The kernel matrix of the rows."""
        assert self._gram is not None
        return self._gram

    @property
    def bordered_gram(self) -> BorderedGrowing:
        """The kernel matrix of the rows and the virtual row."""
        assert isinstance(self._gram, BorderedGrowing)
        return self._gram

    # -- rows --------------------------------------------------------------------------------

    def append(self, X: RowMatrix, rows: RowPenalties) -> IntArray:
        """Add rows, absent so far; their numbers."""
        if self._gram is None:
            gram = make_growing(self.kernel, X, cache_size=self.cache_size, n_jobs=self.n_jobs)
            self._gram = BorderedGrowing(gram) if self.bordered else gram
        diagonal = self.gram.append(X)
        first, self.n = self.n, self.n + len(rows)
        new = np.arange(first, self.n)
        self.F, self.S = grow_array(self.F, self.n, axis=1), grow_array(self.S, self.n, axis=1)
        self.lines = st.Lines(self.F, self.S)
        self.F[:, first : self.n] = 0.0
        self.S[:, first : self.n] = 0
        self.F[st.ROOT, new] = np.sqrt(np.maximum(0.0, diagonal))
        self.S[st.STATUS, new] = st.ABSENT
        self.set_penalties(new, rows)
        self.present = np.append(self.present, new)
        return new

    def keep(self, kept: IntArray) -> IntArray:
        """Forget all rows but ``kept``; the new number of every row."""
        number = np.full(self.n, -1)
        number[kept] = np.arange(len(kept))
        self.gram.keep(kept)
        self.n, present = len(kept), number[self.present]
        F, S = (grow_array(x[:, kept], self.n + _FEW, axis=1) for x in (self.F, self.S))
        # At once: who reads an interrupted path must find every row's own variable.
        self.F, self.S, self.lines, self.present = F, S, st.Lines(F, S), present
        return number

    def drop(self, rows: IntArray) -> None:
        """Let rows be absent."""
        for i in rows.tolist():
            self.lines.release(i, st.ABSENT)
        self.F[st.A, rows] = 0.0
        self.present = self.without(rows)

    def are_symmetric(self, rows: IntArray) -> BoolArray:
        """Return which rows have the symmetric hinge: those that a balancing constraint holds."""
        return self.S[st.SIGN, rows] != 0

    def without(self, rows: IntArray) -> IntArray:
        """Return the present rows but ``rows``."""
        stays = np.ones(self.n, dtype=bool)
        stays[rows] = False
        return self.present[stays[self.present]]

    def set_penalties(self, rows: IntArray, penalties: RowPenalties) -> None:
        """Give rows other penalties, with the sign +1 for those with the symmetric hinge."""
        arrays = self._scale_penalty(penalties.penalty)
        for first in (st.LO, st.TARGET):
            self.F[first : first + st.N_PENALTY, rows] = arrays
        self.F[st.RATE : st.RATE + st.N_PENALTY, rows] = 0.0
        self.S[st.SIGN, rows] = penalties.symmetric
        more = penalties.ridge / self.scale - self.F[st.RIDGE, rows]
        if more.any():
            self._ridged = True
            self.F[st.RIDGE, rows] = penalties.ridge / self.scale
            self.F[st.H, rows] += more * self.F[st.A, rows]
            self.F[st.ROOT, rows] = np.sqrt(np.maximum(0.0, self.F[st.ROOT, rows] ** 2 + more))

    def set_targets(self, rows: IntArray, penalties: RowPenalties) -> None:
        """Set the penalties that rows will have when the clock has run out."""
        self.F[st.TARGET : st.TARGET + st.N_PENALTY, rows] = self._scale_penalty(penalties.penalty)
        for i in rows[self.S[st.SIGN, rows] < 0].tolist():
            self.lines.mirror(i, st.TARGET)

    def close_intervals(self, rows: IntArray) -> None:
        """Leave rows no value but zero."""
        for first in (st.LO, st.RATE, st.TARGET):
            self.F[first : first + st.N_ENDS, rows] = 0.0
        self.S[st.SIGN, rows] = 0

    def _scale_penalty(self, penalty: Penalty) -> FloatArray:
        arrays = np.array(penalty.padded(st.N_KINKS).arrays())
        arrays[st.N_ENDS :] /= self.scale
        bounds = np.abs(arrays[: st.N_ENDS])
        self.largest_bound = max(self.largest_bound, bounds[np.isfinite(bounds)].max(initial=0.0))
        self.unit = max(self.unit, float(np.abs(arrays[st.N_ENDS :]).max(initial=0.0)))
        return arrays

    # -- values ------------------------------------------------------------------------------

    def penalty_lines(self, first: int) -> FloatArray:
        """Penalties of the present rows in the lines from ``first`` on, in the user's units."""
        arrays = self.F[first : first + st.N_PENALTY, self.present]
        arrays[st.N_ENDS :] *= self.scale
        return arrays

    @property
    def virtual_is_free(self) -> bool:
        """Return whether the virtual row is among the free ones."""
        return self.bordered and self.S[st.STATUS, 0] == st.FREE

    def product(self, rows: IntArray) -> FloatArray:
        """h at some rows, from all variables."""
        support = np.flatnonzero(self.F[st.A, : self.n])
        return self.gram.product_at(rows, support, self.F[st.A, support]) + self.shift

    def refresh_h(self, border: bool = True) -> None:
        """h from a; ``border``: and the kernel values of the virtual row."""
        F, n = self.F, self.n
        if self.bordered and border:
            self.bordered_gram.refresh()
            F[st.ROOT, 0] = np.sqrt(max(0.0, self.bordered_gram.border[0]))
        support = np.flatnonzero(F[st.A, :n])
        a, h = F[st.A, support], F[st.H, :n]
        h[:] = self.shift
        self.gram.apply(support, a, h, hold=False)
        h[support] += F[st.RIDGE, support] * a
        self.rounding = 0.0

    def add_product(self, rows: IntArray, out: FloatArray) -> None:
        """``out += Q[:, rows] D[rows]``."""
        d = self.F[st.D].take(rows)
        self.gram.apply(rows, d, out)
        if self._ridged:
            out[rows] += self.F[st.RIDGE].take(rows) * d

    def measure(self, total: float) -> None:
        """Find the sizes that tolerances are relative to, for variables that sum to ``total``."""
        largest_a, root, weighted = self.lines.sizes(self.n)
        self.largest_a = max(largest_a, self.largest_a)
        self._weighted, self.size_of_terms = weighted, root * weighted
        self._floor = EPS * self.size_of_terms
        if not self.unit:
            self._floor = max(self._floor, EPS * root**2 * abs(total))

    def measure_slopes(self) -> None:
        """Find the largest slope of the rows that are there, at the end of an operation.

        Rows that have left may have had larger ones, for which other tolerances held.
        """
        rows = np.flatnonzero(self.S[st.STATUS, : self.n] != st.ABSENT)
        slopes = self.F[st.LO + st.N_ENDS : st.LO + st.N_PENALTY, rows]
        self.unit = float(np.abs(slopes).max(initial=0.0))

    def is_significant(self, change: float) -> bool:
        """Return whether a change of a variable, times its ROOT, exceeds the rounding in h."""
        return change > EPS * self._weighted

    def is_hidden_by_rounding(self, share: float) -> bool:
        """Return whether rounding in h is this share of the largest slope, or more."""
        return self.unit > 0.0 and self.tol(0.0) >= share * self.unit

    def must_refresh(self, relative: float) -> bool:
        """Return whether the rounding carried in h is worth computing h afresh."""
        return EPS * np.sqrt(self.rounding) > max(relative * self._size, _WORN * self._floor)

    @property
    def _size(self) -> float:
        return self.unit or self._floor / EPS or 1.0

    def tol(self, relative: float) -> float:
        """Return a tolerance of h, never below the rounding in it."""
        return max(relative * self._size, 10.0 * self._floor)
