"""Solutions without one row each, from the solution with all rows, by linear algebra.

Problem (P) with linear penalties, ``minimise 1/2 a'Qa + p'a`` subject to ``sum a = s`` and
``lower <= a <= upper``, at an optimum with the free rows F. Row i is left out by holding a_i at
zero. While the sets of free and of bound rows stay what they are, its model follows from the
inverse of the optimality system over F,

    B = W - w w'/c,   W = Q_FF^-1,   w = W 1,   c = 1'w,

for a free row by the inverse's i-th column alone: ``a - B_i a_i / B_ii``. Where rows have to
change sides, those that violate their condition do so together, and the correction is a system
of as many rows as differ from F: a primal-dual active set method (Hintermueller, Ito, Kunisch
2002). Every answer is judged by the optimality conditions of all rows, from kernel values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from ..._typing import BoolArray, FloatArray, IntArray
from ..._util.threads import one_blas_thread

# Rows, their variables and gradients, what multipliers have grown by, and ``(Q a)_i``.
SolvedRows: TypeAlias = tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]

# Turns in which fewer rows are wrong than ever before have to come this often, else a row is
# given up: without a ridge and with a wide kernel the turns may go round in circles.
_PATIENCE = 3
# How many rows may differ from the free ones.
_MOST_CHANGED = 300
# Relative to the unit of a and of the gradient: what counts as a violation, and as an error.
_ON, _ERROR = 1e-13, 1e-11
# Reciprocal condition of Q_FF below which its inverse is not relied upon.
_LEAST_CONDITION = 1e-11
# Numbers in a block of answers (float64: 32 MB).
_AT_A_TIME = 4_000_000


class LeftOutSolver:
    """Solutions of a problem with one variable at zero each.

    ``columns(indices)`` are columns of Q without ``ridge``, the rest of its diagonal, shape
    (len(indices), n). ``a`` is a solution, with variables exactly at the bounds ``lower`` and
    ``upper`` that they have reached, ``gradient`` is ``(Q a)_i + p_i - multiplier``, and ``unit``
    the size of the terms that the gradient is summed from.
    """

    def __init__(
        self,
        columns: Callable[[IntArray], FloatArray],
        ridge: FloatArray,
        a: FloatArray,
        gradient: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        unit: float,
    ) -> None:
        self._columns, self.ridge, self.unit = columns, ridge, unit
        self.a, self.gradient, self.lower, self.upper = a, gradient, lower, upper
        self.n = len(a)
        # -1 at the lower bound, 0 free, 1 at the upper bound.
        self.side = np.where(a <= lower, -1, np.where(a >= upper, 1, 0)).astype(np.int8)
        self.free = np.flatnonzero(self.side == 0)
        self._place = np.full(self.n, -1)  # of a row's column
        self.Q = np.empty((0, self.n))
        self._fetch(np.flatnonzero(a != 0.0))
        self.possible = len(self.free) > 0 and self._invert()

    def _fetch(self, rows: IntArray) -> None:
        """Columns of rows whose variables are not zero."""
        missing = rows[self._place[rows] < 0]
        if len(missing):
            self._place[missing] = len(self.Q) + np.arange(len(missing))
            self.Q = np.concatenate([self.Q, self._columns(missing)])

    def _block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return Q, both of whose sides have columns here."""
        block = self.Q[np.ix_(self._place[rows], columns)]
        return block + np.where(rows[:, None] == columns, self.ridge[columns], 0.0)

    def _invert(self) -> bool:
        Q = self._block(self.free, self.free)
        norm = np.abs(Q).sum(axis=0).max()
        try:
            factor = cho_factor(Q, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return False
        condition, info = lapack.dpocon(factor[0], norm, uplo="L")
        if info or condition < _LEAST_CONDITION:
            return False
        W = cho_solve(factor, np.eye(len(self.free)), overwrite_b=True, check_finite=False)
        w = W.sum(axis=1)
        c = w.sum()
        self.w, self.c = w / c, c
        self.B = W - np.outer(w, self.w)
        return True

    # -- solving ---------------------------------------------------------------------------------

    def solve(self, rows: IntArray) -> Iterator[SolvedRows]:
        """Yield the solutions without each of ``rows``, whose variables are not zero.

        Yields, for b rows at a time that were solved: the rows, variables and gradients of shape
        (b, n), what each multiplier has grown by, and ``(Q a)_i`` of the row that is left out,
        summed afresh.
        """
        if not self.possible:
            return
        step = max(1, _AT_A_TIME // self.n)
        with one_blas_thread():
            for first in range(0, len(rows), step):
                yield from self._solve(rows[first : first + step])

    def _solve(self, rows: IntArray) -> Iterator[SolvedRows]:
        side = np.tile(self.side, (len(rows), 1))
        open_ = np.arange(len(rows))
        side[open_, rows] = -2  # held at zero
        fewest, age = np.full(len(rows), self.n), np.zeros(len(rows), int)
        for turn in itertools.count():
            step, shift, fine = self._steps(rows[open_], side[open_], turn)
            open_, step, shift = open_[fine], step[fine], shift[fine]
            if not len(open_):
                return
            a = self.a + step
            moved = np.flatnonzero(np.any(step != 0.0, axis=0))
            self._fetch(moved)
            change = step[:, moved] @ self.Q[self._place[moved]]
            gradient = self.gradient + change + self.ridge * step - shift[:, None]
            then = self._find_sides(side[open_], a, gradient)
            n_wrong = np.sum(then != side[open_], axis=1)
            wrong = n_wrong > 0
            exact = np.abs(np.where(then == 0, gradient, 0.0)).max(axis=1) <= _ERROR * self.unit
            done = ~wrong & exact
            if done.any():
                yield self._make_answer(rows[open_[done]], a[done], gradient[done], shift[done])
            side[open_] = then
            better = n_wrong < fewest[open_]
            age[open_] = np.where(better, 0, age[open_] + 1)
            fewest[open_] = np.minimum(fewest[open_], n_wrong)
            open_ = open_[wrong & (age[open_] < _PATIENCE)]
            if not len(open_):
                return

    def _make_answer(
        self, rows: IntArray, a: FloatArray, gradient: FloatArray, shift: FloatArray
    ) -> SolvedRows:
        a = np.clip(a, self.lower, self.upper)
        a[np.arange(len(rows)), rows] = 0.0
        inner = np.einsum("ij,ij->i", a, self.Q[self._place[rows]])
        return rows, a, gradient, shift, inner

    def _find_sides(self, side: IntArray, a: FloatArray, gradient: FloatArray) -> IntArray:
        """Return the side that every row belongs on, as far as its condition tells."""
        size, slack = _ON * np.abs(self.a).max(), 10 * _ON * self.unit
        then = side.copy()
        then[(side == 0) & (a < self.lower - size)] = -1
        then[(side == 0) & (a > self.upper + size)] = 1
        then[(side == -1) & (gradient < -slack)] = 0
        then[(side == 1) & (gradient > slack)] = 0
        return then

    def _steps(
        self, rows: IntArray, side: IntArray, turn: int
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return changes of a and of the multiplier for given sides; and which could be found."""
        step, shift = np.zeros(side.shape), np.zeros(len(rows))
        fine = np.ones(len(rows), bool)
        held = self.side[rows]
        if turn == 0:
            easy = np.flatnonzero(held == 0)
            i = np.searchsorted(self.free, rows[easy])
            own = self.B[i, i]
            alone = own <= _LEAST_CONDITION * self.B.diagonal().max()
            fine[easy[alone]] = False  # no other free row takes its place
            force = -self.a[rows[easy]] / np.where(alone, 1.0, own)
            step[np.ix_(easy, self.free)] = force[:, None] * self.B[i]
            step[easy, rows[easy]] = -self.a[rows[easy]]
            shift[easy] = -force * self.w[i]
            hard = np.flatnonzero(held != 0)
        else:
            hard = np.arange(len(rows))
        for k in hard.tolist():
            fine[k] = self._step(rows[k], side[k], step[k], shift[k : k + 1])
        return step, shift, fine

    def _step(self, i: int, side: IntArray, step: FloatArray, shift: FloatArray) -> bool:
        """Fill in the changes for one row, where rows differ from those that were free."""
        free, B, w, c = self.free, self.B, self.w, self.c
        leaving = np.flatnonzero(side[free] != 0)
        other = np.flatnonzero((side != self.side) & (self.side != 0))
        joining = other[side[other] == 0]
        jumping = other[side[other] != 0]
        if len(leaving) + len(joining) > _MOST_CHANGED or (
            len(leaving) == len(free) and not len(joining)
        ):
            return False
        self._fetch(np.append(joining, jumping))
        to = np.where(side > 0, self.upper, self.lower)
        to[i] = 0.0
        jump = to[jumping] - self.a[jumping]
        # Free rows answer to the rows that jump, ...
        push = jump @ self._block(jumping, free)
        base = -B @ push - w * jump.sum()
        base_shift = (w @ push) - jump.sum() / c
        # ... to forces on rows that leave, and to rows that join.
        Q_joining = self._block(joining, free)
        answer = B @ Q_joining.T + w[:, None]
        z, e = len(leaving), len(joining)
        system, right = np.empty((z + e, z + e)), np.empty(z + e)
        system[:z, :z] = B[np.ix_(leaving, leaving)]
        system[:z, z:] = -answer[leaving]
        system[z:, :z] = answer[leaving].T
        # Multiplier per joining variable: -(1 - w'q) / c, with w the normalised one.
        per_joining = Q_joining @ w - 1.0 / c
        system[z:, z:] = self._block(joining, joining) - Q_joining @ answer - per_joining
        right[:z] = to[free[leaving]] - self.a[free[leaving]] - base[leaving]
        right[z:] = (
            base_shift
            - self.gradient[joining]
            - Q_joining @ base
            - self._block(jumping, joining).T @ jump
        )
        try:
            solved = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return False
        force, joined = solved[:z], solved[z:]
        step[free] = base + B[:, leaving] @ force - answer @ joined
        step[free[leaving]] = to[free[leaving]] - self.a[free[leaving]]
        step[joining], step[jumping] = joined, jump
        shift[0] = base_shift - w[leaving] @ force + per_joining @ joined
        return True
