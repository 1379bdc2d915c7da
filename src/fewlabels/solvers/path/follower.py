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
from typing import Any, TypeAlias

import numpy as np

from ..._core import path as st
from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix, VectorLike
from ..._util.deadline import ENDLESS, Deadline
from ..._util.threads import one_blas_thread
from ...kernels import Kernel
from ...problem import Penalty, RowPenalties
from ..run import HistoryEntry
from .clock import Clock
from .events import Events
from .left_out import LeftOutSolver
from .placement import Factor, Placement
from .state import RowStates
from .virtual_row import ROW, VirtualRow

# Rows by the numbers that users know them by.
RowIndices: TypeAlias = IntArray | Sequence[int] | int | slice
# A method that changes the problem, and its arguments. It returns those that must come next.
Operation: TypeAlias = tuple[Any, ...]

_OPERATIONS_KEPT = 1000
# Relative: sums and variables outside their intervals by less are a matter of rounding.
_OUTSIDE = 1e-9
# Relative to the unit of h: a violation that the check at the end of a path corrects.
_VIOLATION = 1e-10
# Checks of one path at most.
_MAX_CHECKS = 8
# The check in whose place h is computed afresh.
_RECOMPUTING_CHECK = 3
# Steps of one run, for every row and for so many more: after each _LONG of them some moving rows
# wait, and from _ENDLESS on the run is taken for endless, as rounding can be larger than the
# steps. Avalanches and whole paths take a few per row.
_LONG = 1
_ENDLESS = 50
_MORE_ROWS = 1000
# Rounding in h, in units of the largest slope, that hides where rows stand at the end of a path,
_MAX_ROUNDING_AT_END = 0.5
# and on the way, where that takes more than _LONG steps.
_MAX_ROUNDING_ON_LONG_PATHS = 1e-3
# Absent rows are removed from all arrays when they are this share of all,
_MAX_ABSENT_SHARE = 0.25
# and more than so many.
_MIN_ABSENT_ROWS = 64
# Relative to the unit of h: nothing to correct.
_NOTHING = 1e-14


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
        rows change and puts it back afterwards (Yu et al. 2019, Algorithms 1 to 3). The
        attribute may be set to the other of the two between operations.
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
        self.scale, self.balance, self.refresh_at = float(scale), balance, refresh_at
        self.deadline = deadline
        self.broken = False
        self._state = RowStates(kernel, self.scale, balance is not None, cache_size, n_jobs)
        self._factor = Factor()
        self._clock = Clock(self._state, total)
        self._placement = Placement(self._state, self._factor, self._clock)
        self._virtual_row = VirtualRow(self._state, self._clock, self._placement)
        self._events = Events(self._state, self._factor, self._clock, self._placement)
        self._queued: list[Operation] = []
        self._history: deque[HistoryEntry] = deque(maxlen=_OPERATIONS_KEPT)

    # -- what others read -------------------------------------------------------------------

    n_steps = property(attrgetter("_state.n_steps"), doc="Steps so far.")
    n_flips = property(attrgetter("_state.n_flips"), doc="Sign changes of rows so far.")
    n_exchanges = property(attrgetter("_state.n_exchanges"), doc="Exchanges of rows so far.")

    @property
    def finished(self) -> bool:
        """Return whether the path is at its end and no operation waits."""
        return self._is_at_end and not self._queued

    @property
    def _is_at_end(self) -> bool:
        """Return whether every row stands on its staircase and nothing moves."""
        return self._placement.n_moving == 0 and self._clock.left == 0.0

    def __len__(self) -> int:
        return len(self._state.present)

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
    def n_margin(self) -> int:
        return len(self._factor)

    @property
    def n_values(self) -> int:
        return 0 if self._state.is_empty else self._state.gram.n_values

    @property
    def history(self) -> list[HistoryEntry]:
        return list(self._history)

    def _penalty_line(self) -> int:
        return st.TARGET if self._clock.penalties_move else st.LO

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
        rows = np.append(0, state.present) if self._virtual_row.is_active else state.present
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
        sizes = block if isinstance(block, list) else [n] if block or n <= 1 else [1] * n
        if len(sizes) == 1:
            operations = [(self._add_rows, X, rows, total, target)]
        else:
            targets, totals = self._targets(target, n), self._totals(total, rows)
            parts = np.split(np.arange(n), np.cumsum(sizes)[:-1])
            operations = [
                (self._add_rows, X[part], rows.take(part), totals[part[-1]], targets[part[-1]])
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
        load = self._load_solution, X, rows, a, multiplier, negative, virtual, target
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
                (self._move_to_zero, (total, part_target)),
                (self._drop_rows, ()),
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
        parts, targets = self._parts(np.arange(len(numbers)), block, total, target)
        operations = [
            (self._change_penalties, numbers[part], rows.take(part), total, part_target)
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
            if np.any(rows.symmetric != state.are_symmetric(numbers)):
                raise ValueError(
                    "move cannot turn a symmetric hinge into a convex penalty, or back; "
                    "use change."
                )
            if np.any(rows.ridge / self.scale != state.F[st.RIDGE, numbers]):
                raise ValueError("move cannot change ridges; use change.")
        self._check_reachable(total, added=rows, gone=None if rows is None else numbers)
        move = self._move_targets, numbers, rows, total, target
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
        return self._run_operation("refresh", len(self), [(self._recompute,)], virtual_stays=True)

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
                last = np.inf if max_steps is None else self._state.n_steps + max_steps
                begun = renewed = False
                while self._follow(last):
                    if self._queued and begun and self.deadline.is_over():
                        return False
                    if self._queued:
                        begun = True
                        change, *arguments = self._queued.pop(0)
                        self._queued[:0] = change(*arguments) or ()
                    elif not renewed and self._must_refresh():
                        self._recompute()
                        renewed = True
                    else:
                        self._compact()
                        return True
                return False
        except BaseException:
            self.broken = True  # perhaps in the middle of a step
            raise

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
            insert = self._virtual_row.insert
            operations = [(self._remove_virtual_row,), *operations, (insert,)]
        if self.finished:
            # Rounding is relative to what there was when the operation began.
            self._state.largest_a = 0.0
            self._state.measure(self._clock.total_target)
        self._queued.extend(operations)
        done = False
        try:
            done = self.run(max_steps)
        finally:
            taken = {"steps": self.n_steps - steps, "flips": self.n_flips - flips}
            entry = {"operation": name, "rows": n_rows, **taken}
            self._history.append({**entry, "margin": self.n_margin, "finished": done})
        return done

    def _check_not_broken(self) -> None:
        if self.broken:
            raise ArithmeticError(
                "an operation of this path raised an exception; start another path from its "
                "variables (see load)."
            )

    def _must_refresh(self) -> bool:
        """Return whether h has to be computed afresh, for the rows that an operation has left."""
        self._state.measure_slopes()
        return self._state.must_refresh(self.refresh_at)

    def _follow(self, last: float) -> bool:
        """Follow the path to its end; returns whether that is reached within ``last`` steps."""
        if self._is_at_end:
            return True
        state, step = self._state, self._events.step
        state.measure(self._clock.total_target)
        self._events.begin()
        n_rows, first = state.n + _MORE_ROWS, state.n_steps
        long = first + _LONG * n_rows
        for look in range(_MAX_CHECKS):
            while not self._is_at_end:
                if state.n_steps >= last or self.deadline.is_over():
                    return False
                if state.n_steps >= first + _ENDLESS * n_rows:
                    raise ArithmeticError("the path does not end")
                if state.n_steps >= long:
                    self._refuse_rounding(_MAX_ROUNDING_ON_LONG_PATHS)
                    self._events.pause_random_rows()
                    long += _LONG * n_rows
                step()
            if look == _RECOMPUTING_CHECK:
                # Rounding in h may be all there is: a row whose f has to be 0 goes to and fro.
                self._recompute()
            elif not self._check_conditions():
                return True
        raise ArithmeticError("the path does not converge")

    def _check_conditions(self) -> bool:
        """Let rows on the wrong side move, and correct free ones off their slope.

        Returns whether there was anything to do.
        """
        state = self._state
        self._refuse_rounding(_MAX_ROUNDING_AT_END)
        tol = state.tol(_VIOLATION)
        found, error = state.lines.check(state.n, tol)
        if len(found):
            self._placement.place(found)
        if error > tol:
            self._absorb_errors()
        return len(found) > 0 or error > tol

    def _refuse_rounding(self, most: float) -> None:
        """End a path whose conditions are hidden by rounding: steps would lead nowhere."""
        self._state.measure(self._clock.total_target)  # variables may have grown on the way
        if self._state.is_hidden_by_rounding(most):
            raise ArithmeticError("rounding is as large as the margin")

    def _compact(self) -> None:
        """Forget absent rows in all arrays once there are many."""
        state = self._state
        n_absent = state.n - state.bordered - len(state.present)
        if n_absent <= max(_MIN_ABSENT_ROWS, _MAX_ABSENT_SHARE * state.n):
            return
        kept = np.append(0, state.present) if state.bordered else state.present
        self._placement.renumber(state.keep(kept))

    # -- changes of the problem, which the path then follows ------------------------------------

    def _add_rows(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        total: float | None = None,
        target: float | None = None,
    ) -> None:
        """Add rows, with variables of zero."""
        state = self._state
        new = state.append(X, rows)
        self._placement.watch_diagonal(new)
        state.F[st.H, new] = state.product(new)
        self._virtual_row.change_mean(new[rows.symmetric], 1)
        self._start_clock(total, target)
        self._placement.place(new)

    def _load_solution(
        self,
        X: RowMatrix,
        rows: RowPenalties,
        a: FloatArray,
        multiplier: float,
        negative: BoolArray,
        virtual: float = 0.0,
        target: float | None = None,
    ) -> None:
        """Add rows with their variables: those strictly inside a segment are free.

        ``negative`` is the mask of rows with the sign -1.
        """
        state, placement, clock = self._state, self._placement, self._clock
        new = state.append(X, rows)
        placement.watch_diagonal(new)
        for i in new[negative].tolist():
            state.lines.flip(i)
        state.F[st.A, new] = a
        state.shift = -float(multiplier) / state.scale
        balanced = state.bordered and bool(rows.symmetric.any())
        if balanced:
            state.bordered_gram.change_mean(new[rows.symmetric], 1)
            clock.target = clock.target if target is None else float(target)
            balanced = clock.target is not None
        if balanced:
            self._virtual_row.prepare(virtual)
        state.refresh_h(border=False)
        found = state.lines.hold_at_breakpoints(new)
        inside = new[found == st.FREE]
        state.gram.block(inside[:1], inside)  # evaluates their columns together
        if balanced:
            self._virtual_row.free()
        for i in inside.tolist():
            placement.free(i)
        placement.place(new[found == st.MOVING])
        self._correct()

    def _move_to_zero(
        self, rows: IntArray, total: float | None = None, target: float | None = None
    ) -> tuple[Operation, ...]:
        """Let the variables of rows move to zero, and the rows leave the mean."""
        state = self._state
        if self._virtual_row.is_last_of_mean(rows):
            return (self._remove_virtual_row,), (self._move_to_zero, rows, total, target)
        self._placement.unplace(rows)
        self._virtual_row.change_mean(rows[state.are_symmetric(rows)], -1)
        state.close_intervals(rows)
        self._start_clock(total, target)
        self._placement.place(rows)
        return ()

    def _drop_rows(self, rows: IntArray) -> None:
        """Drop rows with variables of zero."""
        self._placement.unplace(rows)
        self._state.drop(rows)

    def _change_penalties(
        self,
        rows: IntArray,
        penalties: RowPenalties,
        total: float | None = None,
        target: float | None = None,
    ) -> tuple[Operation, ...]:
        """Give rows other penalties at once."""
        virtual = self._virtual_row
        before, after = self._state.are_symmetric(rows), penalties.symmetric
        leaving, joining = rows[before & ~after], rows[~before & after]
        if not len(joining) and virtual.is_last_of_mean(leaving):
            again = self._change_penalties, rows, penalties, total, target
            return (self._remove_virtual_row,), again
        self._placement.unplace(rows)
        virtual.change_mean(joining, 1)
        virtual.change_mean(leaving, -1)
        self._state.set_penalties(rows, penalties)
        self._start_clock(total, target)
        self._placement.place(rows)
        return ()

    def _move_targets(
        self,
        rows: IntArray,
        penalties: RowPenalties | None = None,
        total: float | None = None,
        target: float | None = None,
    ) -> None:
        """Let penalties, the total and the balance target move steadily to new values."""
        if penalties is not None:
            self._clock.begin_targets()
            self._state.set_targets(rows, penalties)
        self._start_clock(total, target, penalties is not None)

    def _remove_virtual_row(self) -> tuple[Operation, ...]:
        """Let the virtual row leave the problem."""
        if not self._virtual_row.is_active:
            return ()
        self._virtual_row.move_to_zero()
        return ((self._drop_rows, ROW),)

    def _start_clock(
        self, total: float | None, target: float | None, penalties: bool = False
    ) -> None:
        """Start towards new values of the total, the balance target, and the penalties."""
        if target is not None:
            self._virtual_row.set_target(target)
        if self.balance == "keep":
            self._virtual_row.enter()
        self._clock.start(total, penalties)

    # -- against rounding, and from starts that are only nearly optimal -------------------------

    def _absorb_errors(self) -> None:
        """Make the state optimal by a shift of slopes, and let the clock take that back.

        A state that misses its conditions by a little is the exact optimum for slopes that differ
        by as much: a correction without tolerance, where what comes in the way is an event.
        """
        state = self._state
        self._clock.begin_targets()
        state.lines.shift_slopes(state.n, state.tol(_NOTHING))
        self._clock.start(penalties=True)

    def _recompute(self) -> None:
        """Compute h and the factor afresh, and start a correction of what they show."""
        state = self._state
        if state.is_empty:
            return
        state.refresh_h()
        self._placement.refactor()
        if state.virtual_is_free:
            state.F[st.SL : st.SR + 1, 0] = -state.F[st.H, 0]
        self._correct()
        self._clock.left = 1.0

    def _correct(self) -> None:
        """Take the sum of the variables as it is, and correct from there."""
        self._clock.total = float(self._state.F[st.A, : self._state.n].sum())
        self._absorb_errors()

    # -- arguments of operations ----------------------------------------------------------------

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
        now = self._clock.target
        return _interpolate(target if now is None else now, target, n)

    def _totals(self, total: float | None, rows: RowPenalties) -> list[float | None]:
        """Return the total after each of some rows that are added one after the other."""
        totals = _interpolate(self._clock.total_target, total, len(rows))
        if total is not None and not self._accepts_any_sum(rows):
            low, up = (np.cumsum(ends)[-len(rows) :] for ends in self._intervals(rows))
            totals[:-1] = np.clip(np.array(totals, dtype=float), low, up)[:-1].tolist()
        return totals

    def _accepts_any_sum(self, added: RowPenalties | None = None) -> bool:
        """Return whether the virtual row takes up any sum of the others, once rows were added."""
        return self._state.bordered and (
            self._virtual_row.n_mean > 0 or (added is not None and bool(added.symmetric.any()))
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
        total = self._clock.total_target if total is None else float(total)
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
