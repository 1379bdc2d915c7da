"""Rows arrive, leave and change, and the solution of problem (P) follows exactly.

    minimise_a   1/2 a' Q a + sum_i phi_i(a_i)   subject to   sum_i a_i = total,   Q = K + ridge

With ``h_i = (Q a)_i + shift`` (shift is minus the multiplier of the equality) a row is optimal
when (a_i, -h_i) lies on the staircase of the slopes of phi_i. Rows that do not, because they
arrived, leave, or got another penalty, *move*: their a_i goes towards the staircase while the
*free* rows, those strictly inside a segment, change such that their h stays, and rows at
breakpoints wait. All is linear between events (``events``). Penalties, the total and the balance
target may move too, on a clock (``clock``).
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from ..._core import path as st
from ..._typing import FloatArray, IntArray, RowMatrix, VectorLike
from ..._util.deadline import ENDLESS, Deadline
from ..._util.threads import one_blas_thread
from ...kernels import Kernel
from ...problem import Penalty, RowPenalties
from ..run import HistoryEntry
from .engine import Operation, PathEngine
from .left_out import LeftOutSolver

# Rows by the numbers that users know them by.
RowIndices: TypeAlias = IntArray | Sequence[int] | int | slice

_OPERATIONS_KEPT = 1000
# Relative: sums and variables outside their intervals by less are a matter of rounding.
_OUTSIDE = 1e-9


class PathFollower:
    """An optimum of problem (P), kept while rows and costs change.

    Every operation states what changes, and then follows the path of optima to the changed
    problem. The result satisfies the optimality conditions to rounding. For convex
    penalties it is the solution; with unlabelled rows (``RowPenalties.unlabelled``) it is a
    local minimum of the semi-supervised model (Gu et al. 2018).

    Operations answer whether they have come to their end, which after ``max_steps`` steps they
    may not have: ``run`` continues. They may come with a new ``total``, the right-hand side of the
    equality, and a new ``target`` of the balancing constraint.

    Parameters
    ----------
    kernel : kernel object
        See ``fewlabels.kernels``.
    scale : float, default=1.0
        Factor of K in Q, > 0.
    total : float, default=0.0
        Right-hand side of the equality.
    balance : {None, "keep", "paper"}, default=None
        Whether the mean of h over the rows with the symmetric hinge is held at a target, by
        a virtual row. "keep" leaves it in the problem for ever; "paper" takes it out before
        rows change and puts it back afterwards (Yu et al. 2019, Algorithms 1 to 3).
    cache_size : float, default=200e6
        Bytes for kernel columns.
    n_jobs : int, default=1
        Threads.
    refresh_at : float, default=1e-9
        Estimated rounding error of h, in units of the largest slope, at which ``refresh``
        is called at the end of an operation; infinity for never.
    deadline : Deadline
        When operations stop as they do after ``max_steps`` steps.

    Attributes
    ----------
    a, h : ndarray of shape (n_rows,)
        The variables, and ``(Q a)_i - multiplier``: a support vector machine's f.
    multiplier : float
        Multiplier of the equality; f has the intercept ``-multiplier``.
    signs : ndarray of int of shape (n_rows,)
        Current sign of rows with the symmetric hinge, 0 for the others.
    penalty : Penalty
        Penalty of every row at the end of the path, for its current sign.
    virtual : float
        Variable of the virtual row of the balancing constraint.
    n_margin, n_values : int
        Rows strictly inside a segment, and kernel values evaluated so far.
    n_steps, n_flips, n_exchanges : int
        Steps so far, sign changes of rows with the symmetric hinge, exchanges of dependent rows.
    history : list of dict
        One entry per operation, the newest 1000: its name, the rows and the steps and flips
        it took.
    finished : bool
        Whether the path of the last operation has been followed to its end.
    resolution : float
        Violations below this may be rounding.
    broken : bool
        Whether an operation ended in an exception, as when it was interrupted. The variables
        can be read (``a``, ``signs``, ``multiplier``), to start another path from; operations
        raise an ArithmeticError.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        scale: float = 1.0,
        total: float = 0.0,
        balance: str | None = None,
        cache_size: float = 200e6,
        n_jobs: int = 1,
        refresh_at: float = 1e-9,
        deadline: Deadline = ENDLESS,
    ) -> None:
        if balance not in (None, "keep", "paper"):
            raise ValueError(f"balance={balance!r} is not known; pass None, 'keep' or 'paper'.")
        if not scale > 0:
            raise ValueError(f"scale={scale!r} is not allowed; pass a number > 0.")
        self.scale = float(scale)
        self.engine = PathEngine(
            kernel, self.scale, total, balance, cache_size, n_jobs, refresh_at
        )
        self.deadline = deadline
        self._state = self.engine.state
        self.broken = False
        self._history: deque[HistoryEntry] = deque(maxlen=_OPERATIONS_KEPT)

    # -- what others read -------------------------------------------------------------------

    n_steps = property(attrgetter("_state.n_steps"), doc="Steps so far.")
    n_flips = property(attrgetter("_state.n_flips"), doc="Sign changes of rows so far.")
    n_exchanges = property(attrgetter("_state.n_exchanges"), doc="Exchanges of rows so far.")
    finished = property(
        attrgetter("engine.is_idle"), doc="Whether the last operation is complete."
    )

    def __len__(self) -> int:
        return len(self._state.present)

    @property
    def deadline(self) -> Deadline:
        return self.engine.deadline

    @deadline.setter
    def deadline(self, deadline: Deadline) -> None:
        self.engine.deadline = deadline

    def _values(self, line: int) -> FloatArray:
        return self._state.F[line, self._state.present]

    @property
    def a(self) -> FloatArray:
        return self._values(st.A)

    @property
    def h(self) -> FloatArray:
        return self.scale * self._values(st.H)

    @property
    def multiplier(self) -> float:
        return -self.scale * self._state.shift

    @property
    def signs(self) -> IntArray:
        return self._state.S[st.SIGN, self._state.present]

    @property
    def virtual(self) -> float:
        return float(self._state.F[st.A, 0]) if self._state.bordered else 0.0

    @property
    def balance(self) -> str | None:
        """How the balancing constraint is kept; "keep" and "paper" may be exchanged."""
        return self.engine.virtual.balance

    @balance.setter
    def balance(self, balance: str | None) -> None:
        self.engine.virtual.balance = balance

    @property
    def n_margin(self) -> int:
        return len(self.engine.factor)

    @property
    def n_values(self) -> int:
        return 0 if self._state.is_empty else self._state.gram.n_values

    @property
    def history(self) -> list[HistoryEntry]:
        return list(self._history)

    def _penalty_line(self) -> int:
        return st.TARGET if self.engine.clock.penalties_move else st.LO

    @property
    def penalty(self) -> Penalty:
        return Penalty.from_arrays(self._state.penalty_lines(self._penalty_line()))

    @property
    def resolution(self) -> float:
        return self.scale * self._state.tol(0.0)

    @property
    def size_of_terms(self) -> float:
        """A bound on the terms that h is summed from."""
        return self.scale * self._state.size_of_terms

    def violation(self) -> float:
        """Largest violation of an optimality condition, from the h that is carried along."""
        state = self._state
        rows = np.append(0, state.present) if self.engine.virtual.is_active else state.present
        return self.scale * state.lines.violation(rows, self._penalty_line())

    # -- operations ---------------------------------------------------------------------------

    def add(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        *,
        block: bool | list[int] = True,
        total: float | None = None,
        target: float | None = None,
        max_steps: int | None = None,
    ) -> bool:
        """Add rows: all at once, one after the other if not ``block``, or in blocks of some sizes.

        The total and the target go a share of their way with every block, the total as far as the
        rows so far can reach it.

        Parameters
        ----------
        X : ndarray or CSR array of shape (b, d)
            New rows; of a precomputed kernel their values, shape (b, n_rows + b).
        rows : RowPenalties
            Their penalties.
        """
        n = X.shape[0]
        if n != len(rows):
            raise ValueError(
                f"X has {n} rows and rows has {len(rows)} penalties; they must be equal."
            )
        self._check_reachable(total, added=rows)
        append = self.engine.append
        sizes = block if isinstance(block, list) else [n] if block or n <= 1 else [1] * n
        if len(sizes) == 1:
            operations = [(append, X, rows, total, target)]
        else:
            targets, totals = self._targets(target, n), self._totals(total, rows)
            parts = np.split(np.arange(n), np.cumsum(sizes)[:-1])
            operations = [
                (append, X[part], rows.take(part), totals[part[-1]], targets[part[-1]])
                for part in parts
            ]
        return self._run_operation("add", n, operations, max_steps)

    def load(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        a: VectorLike,
        multiplier: float,
        *,
        signs: VectorLike | None = None,
        virtual: float = 0.0,
        target: float | None = None,
        max_steps: int | None = None,
    ) -> bool:
        """Start from a solution that another solver found, exact or nearly so.

        The rest of the way is a path too, from the problem that the given point solves
        exactly; so the result is exact whatever the other solver's tolerance was.

        Parameters
        ----------
        X, rows
            All rows, as in ``add``; there must be none yet.
        a : ndarray of shape (n,)
            Variables, inside their intervals.
        multiplier, virtual : float
            Multiplier of the equality, variable of the virtual row.
        signs : ndarray of int of shape (n,), optional
            Signs of rows with the symmetric hinge; 0 elsewhere. Missing, the signs of ``a``.
        """
        if len(self):
            raise ValueError(f"load needs an empty path; this one has {len(self)} rows.")
        self._check_reachable(None, added=rows)
        a = np.asarray(a, dtype=float)
        negative = rows.symmetric & ((a if signs is None else np.asarray(signs)) < 0)
        low, up = rows.penalty.lower, rows.penalty.upper
        low, up = np.where(negative, -up, low), np.where(negative, -low, up)
        near = _OUTSIDE * np.abs(a).max(initial=0.0)
        if np.any(a < low - near) or np.any(a > up + near):
            raise ValueError("the variables to load do not lie in their intervals.")
        a = np.clip(a, low, up)
        load = self.engine.load, X, rows, a, multiplier, negative, virtual, target
        return self._run_operation("load", len(rows), [load], max_steps, virtual_stays=True)

    def remove(
        self,
        indices: RowIndices,
        *,
        block: bool = True,
        total: float | None = None,
        target: float | None = None,
        max_steps: int | None = None,
    ) -> bool:
        """Remove rows; at the end the others are renumbered as by ``numpy.delete``.

        Not as a ``block`` they leave one after the other, in the order of ``indices``, which is
        for a ``total`` that stays.
        """
        rows = self._numbers(indices)
        self._check_reachable(total, gone=rows)
        parts, targets = self._parts(rows, block, total, target)
        operations = [
            (operation, part, *ends)
            for part, part_target in zip(parts, targets, strict=True)
            for operation, ends in (
                (self.engine.dismiss, (total, part_target)),
                (self.engine.drop, ()),
            )
        ]
        return self._run_operation("remove", len(rows), operations, max_steps)

    def change(
        self,
        indices: RowIndices,
        rows: RowPenalties,
        *,
        block: bool = True,
        total: float | None = None,
        target: float | None = None,
        max_steps: int | None = None,
    ) -> bool:
        """Give rows other penalties at once, as a label that is given or taken back.

        Rows whose condition no longer holds move; compare ``move``. ``block`` as in ``remove``.
        """
        numbers = self._numbers(indices)
        self._check_reachable(total, added=rows, gone=numbers)
        switch = self.engine.switch
        parts, targets = self._parts(np.arange(len(numbers)), block, total, target)
        operations = [
            (switch, numbers[part], rows.take(part), total, part_target)
            for part, part_target in zip(parts, targets, strict=True)
        ]
        return self._run_operation("change", len(numbers), operations, max_steps)

    def move(
        self,
        indices: RowIndices | None = None,
        rows: RowPenalties | None = None,
        *,
        total: float | None = None,
        target: float | None = None,
        max_steps: int | None = None,
    ) -> bool:
        """Move penalties, the total or the balance target steadily to new values.

        The path of optima for everything in between is followed: a regularisation path.
        Rows at a bound that moves go with it. ``rows`` are the penalties that the rows
        ``indices`` have at the end; ridges cannot be moved.
        """
        numbers = np.zeros(0, np.int64) if indices is None else self._numbers(indices)
        if rows is not None:
            state = self._state
            if np.any(rows.symmetric != (state.S[st.SIGN, numbers] != 0)):
                raise ValueError(
                    "move cannot turn a symmetric hinge into a convex penalty, or back; "
                    "use change."
                )
            if np.any(rows.ridge / self.scale != state.F[st.RIDGE, numbers]):
                raise ValueError("move cannot change ridges; use change.")
        self._check_reachable(total, added=rows, gone=None if rows is None else numbers)
        move = self.engine.move, numbers, rows, total, target
        return self._run_operation("move", len(numbers), [move], max_steps)

    def copy(self) -> PathFollower:
        """Return a copy that shares the kernel matrix, whose columns are expensive.

        Penalties, totals and targets of the two may go different ways, but as soon as rows are
        added to the one or removed from it, the other is of no use.
        """
        state = self._state
        return copy.deepcopy(self, {} if state.is_empty else {id(state.gram): state.gram})

    def refresh(self) -> bool:
        """Compute h afresh and correct the solution for the rounding that was in it."""
        return self._run_operation(
            "refresh", len(self), [(self.engine.recompute,)], virtual_stays=True
        )

    # -- without one row ----------------------------------------------------------------------

    def one_less(
        self,
        a: FloatArray,
        h: FloatArray,
        penalty: Penalty,
        unit: float,
        rows: IntArray | None = None,
        ridge: FloatArray | None = None,
    ) -> LeftOutSolver:
        """``LeftOutSolver`` of the present rows, from their solution; see there.

        For penalties without kinks, which have no sign of their own to flip. With ``rows``
        everything given, ``ridge`` included, belongs to present rows with these numbers, some of
        which may occur twice.
        """
        present, gram = self._state.present, self._state.gram
        if rows is None:
            ridge = self.scale * self._values(st.RIDGE)
        numbers = present if rows is None else present[rows]

        def columns(indices: IntArray) -> FloatArray:
            return self.scale * np.ascontiguousarray(gram.block(numbers, numbers[indices]).T)

        assert ridge is not None
        gradient = h + penalty.slopes[-1]
        return LeftOutSolver(columns, ridge, a, gradient, penalty.lower, penalty.upper, unit)

    def inner(self, indices: IntArray, a: FloatArray) -> FloatArray:
        """``sum_j a_j scale K_ij`` over the present rows, summed afresh, at some of them."""
        used, rows = np.flatnonzero(a), self._state.present
        return self.scale * self._state.gram.product_at(rows[indices], rows[used], a[used])

    # -- how operations run ---------------------------------------------------------------------

    def run(self, max_steps: int | None = None) -> bool:
        """Continue with the operations under way; whether their end is reached.

        After ``max_steps`` the state is valid, and another ``run`` continues from it.
        """
        self._check_not_broken()
        try:
            with one_blas_thread():
                return self.engine.run(max_steps)
        except BaseException:
            self.broken = True  # perhaps in the middle of a step
            raise

    def _check_not_broken(self) -> None:
        if self.broken:
            raise ArithmeticError(
                "an operation of this path raised an exception; start another path from its "
                "variables (see load)."
            )

    def _run_operation(
        self,
        name: str,
        n_rows: int,
        operations: list[Operation],
        max_steps: int | None = None,
        virtual_stays: bool = False,
    ) -> bool:
        self._check_not_broken()
        steps, flips = self.n_steps, self.n_flips
        if self.balance == "paper" and not virtual_stays:
            operations = [
                (self.engine.remove_virtual_row,),
                *operations,
                (self.engine.insert_virtual_row,),
            ]
        self.engine.queue(operations)
        done = False
        try:
            done = self.run(max_steps)
        finally:
            taken = {"steps": self.n_steps - steps, "flips": self.n_flips - flips}
            entry = {"operation": name, "rows": n_rows, **taken}
            self._history.append({**entry, "margin": self.n_margin, "finished": done})
        return done

    def _numbers(self, indices: RowIndices) -> IntArray:
        """Return rows of the state from the user's indices."""
        numbers = np.atleast_1d(self._state.present[indices])
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError("the same row is named twice; name every row once.")
        return numbers

    def _parts(
        self, rows: IntArray, block: bool, total: float | None, target: float | None
    ) -> tuple[list[IntArray], list[float | None]]:
        """Return rows that change at a time, and the balance target after each part."""
        if block or len(rows) <= 1:
            return [rows], [target]
        if total is not None:
            raise ValueError(
                f"rows that change one after the other keep the total; pass block=True with "
                f"total={total!r}, or leave the total out."
            )
        return [rows[[i]] for i in range(len(rows))], self._targets(target, len(rows))

    def _targets(self, target: float | None, n: int) -> list[float | None]:
        """Return the balance target after each of ``n`` rows that change one after the other."""
        now = self.engine.clock.target
        return _interpolate(target if now is None else now, target, n)

    def _totals(self, total: float | None, rows: RowPenalties) -> list[float | None]:
        """Return the total after each of some rows that are added one after the other."""
        totals = _interpolate(self.engine.clock.total_target, total, len(rows))
        if total is not None and not self._accepts_any_sum(rows):
            low, up = (np.cumsum(ends)[-len(rows) :] for ends in self._intervals(rows))
            totals[:-1] = np.clip(np.array(totals, dtype=float), low, up)[:-1].tolist()
        return totals

    def _accepts_any_sum(self, added: RowPenalties | None = None) -> bool:
        """Return whether the virtual row takes up any sum of the others, once rows were added."""
        return self._state.bordered and (
            self.engine.virtual.n_mean > 0 or (added is not None and bool(added.symmetric.any()))
        )

    def _intervals(
        self, added: RowPenalties | None = None, gone: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the intervals of the variables once rows have been added, or are gone."""
        state, first = self._state, self._penalty_line()
        kept = state.present if gone is None else state.without(gone)
        low, up = state.F[first, kept], state.F[first + st.N_ENDS - 1, kept]
        if added is not None:
            low = np.append(low, added.penalty.lower)
            up = np.append(up, added.penalty.upper)
        return low, up

    def _check_reachable(
        self, total: float | None, added: RowPenalties | None = None, gone: IntArray | None = None
    ) -> None:
        """Refuse what has no solution, before anything changes."""
        if self._accepts_any_sum(added):
            return
        if total is None and gone is None and added is not None:
            if np.all(added.penalty.lower <= 0.0) and np.all(added.penalty.upper >= 0.0):
                return  # the new rows may stay at zero
        total = self.engine.clock.total_target if total is None else float(total)
        _refuse_unreachable(*self._intervals(added, gone), total)


def _refuse_unreachable(low: FloatArray, up: FloatArray, total: float) -> None:
    """Refuse a sum that variables between ``low`` and ``up`` cannot have."""
    finite = np.abs(low[np.isfinite(low)]).sum(), np.abs(up[np.isfinite(up)]).sum()
    size = max(abs(total), *finite)
    if not low.sum() - _OUTSIDE * size <= total <= up.sum() + _OUTSIDE * size:
        raise ValueError(
            f"the variables could sum to [{low.sum():g}, {up.sum():g}] after this, but must "
            f"sum to {total:g}; keep more rows or change the total."
        )


def _interpolate(now: float | None, then: float | None, n: int) -> list[float | None]:
    """Return the way from one number to another in n steps; all None where there is no other."""
    if then is None:
        return [None] * n
    assert now is not None
    return [*(now + (then - now) * k / n for k in range(1, n)), then]
