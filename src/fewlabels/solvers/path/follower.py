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

from collections import deque

import numpy as np

from ..._threads import one_blas_thread
from ...problem import Penalty, RowPenalties
from . import _steps as st
from . import operations as op
from .engine import PathEngine
from .one_less import OneLess, values_without

# Estimated rounding in h, in its unit, from which h is computed afresh.
_REFRESH_AT = 1e-9
_OPERATIONS_KEPT = 1000


class PathFollower:
    """An optimum of problem (P) that follows its rows.

    Every operation states what changes, and then follows the path of optima to the changed
    problem. The result satisfies the optimality conditions to rounding. For convex
    penalties it is the solution; with unlabelled rows (``RowPenalties.unlabelled``) it is a
    local minimum of the semi-supervised machine (Gu et al. 2018).

    Parameters
    ----------
    kernel : kernel object
        See ``fewlabels.kernels``.
    scale : float, default=1.0
        Factor of K in Q, > 0.
    total : float, default=0.0
        Right-hand side of the equality.
    balance : {None, "keep", "paper"}, default=None
        Whether the mean of h over the rows with the symmetric hinge is held at ``set_target``, by
        a virtual row. "keep" leaves it in the problem for ever; "paper" takes it out before
        rows change and puts it back afterwards (Yu et al. 2019, Algorithms 1 to 3).
    cache_size : float, default=200e6
        Bytes for kernel columns.
    n_jobs : int, default=1
        Threads.
    refresh_at : float, default=1e-9
        Estimated rounding error of h, in units of the largest slope, at which ``refresh``
        is called at the end of an operation; infinity for never.

    Attributes
    ----------
    n_steps, n_flips, n_exchanges : int
        Steps so far, sign changes of rows with the symmetric hinge, exchanges of dependent rows.
    history : list of dict
        One entry per operation, the newest 1000: its name, the rows and the steps and flips
        it took.
    finished : bool
        Whether the path of the last operation has been followed to its end.
    broken : bool
        Whether an operation ended in an exception, as when it was interrupted. The variables
        can be read (``a``, ``signs``, ``multiplier``), to start another path from; operations
        raise an ArithmeticError.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import RBF
    >>> from fewlabels.solvers.path import PathFollower, RowPenalties
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + np.repeat([[-2.0], [2.0]], 20, axis=0)
    >>> path = PathFollower(RBF(gamma=0.1))
    >>> path.add(X[[0, 39]], RowPenalties.labelled([-1, 1], C=10.0))
    True
    >>> path.add(X[1:39], RowPenalties.unlabelled(C_star=5.0, n=38), block=False)
    True
    >>> int((path.h > 0).sum()), path.violation() < 1e-10
    (20, True)
    >>> path.remove([5, 7])
    True
    """

    def __init__(
        self, kernel, *, scale=1.0, total=0.0, balance=None, cache_size=200e6, n_jobs=1,
        refresh_at=_REFRESH_AT,
    ):  # fmt: skip
        if balance not in (None, "keep", "paper"):
            raise ValueError(f"balance={balance!r} is not known; pass None, 'keep' or 'paper'.")
        if not scale > 0:
            raise ValueError(f"scale={scale!r} is not allowed; pass a number > 0.")
        self.scale = float(scale)
        self.engine = PathEngine(
            kernel, self.scale, total, balance, cache_size, n_jobs, refresh_at
        )
        self._state = self.engine.state
        self.broken = False
        self._history = deque(maxlen=_OPERATIONS_KEPT)

    # -- what others read -------------------------------------------------------------------

    def __len__(self):
        return len(self._state.present)

    def _values(self, line):
        return self._state.F[line, self._state.present]

    @property
    def a(self):
        """The variables, shape (n_rows,)."""
        return self._values(st.A)

    @property
    def h(self):
        """``(Q a)_i - multiplier``, shape (n_rows,): a support vector machine's f."""
        return self.scale * self._values(st.H)

    @property
    def multiplier(self):
        """Multiplier of the equality; f has the intercept ``-multiplier``."""
        return -self.scale * self._state.shift

    @property
    def signs(self):
        """Current sign of rows with the symmetric hinge, 0 for the others."""
        return self._state.S[st.SIGN, self._state.present]

    @property
    def virtual(self):
        """Variable of the virtual row of the balancing constraint."""
        return float(self._state.F[st.A, 0]) if self._state.bordered else 0.0

    @property
    def balance(self):
        """How the balancing constraint is kept; "keep" and "paper" may be exchanged."""
        return self.engine.virtual.balance

    @balance.setter
    def balance(self, balance):
        self.engine.virtual.balance = balance

    @property
    def n_margin(self):
        """Rows strictly inside a segment."""
        return len(self.engine.factor)

    @property
    def n_values(self):
        """Kernel values evaluated so far."""
        return 0 if self._state.gram is None else self._state.gram.n_values

    @property
    def n_steps(self):
        return self._state.n_steps

    @property
    def n_flips(self):
        return self._state.n_flips

    @property
    def n_exchanges(self):
        return self._state.n_exchanges

    @property
    def finished(self):
        return self.engine.at_end

    @property
    def history(self):
        return list(self._history)

    def _penalty_line(self):
        return st.TARGET if self.engine.clock.penalties_move else st.LO

    @property
    def penalty(self):
        """Penalty of every row at the end of the path, for its current sign."""
        return Penalty(*self._state.penalty_lines(self._penalty_line()))

    @property
    def resolution(self):
        """Violations below this may be rounding; known without looking at the rows."""
        return self.scale * self._state.tol(0.0)

    def violation(self):
        """Largest violation of an optimality condition, from the h that is carried along."""
        state = self._state
        rows = np.append(0, state.present) if self.engine.virtual.active else state.present
        return self.scale * st.violation(state.F, state.S, rows, self._penalty_line())

    # -- operations ---------------------------------------------------------------------------

    def add(self, X, rows, *, block=True, total=None, target=None, max_steps=None):
        """Add rows.

        Parameters
        ----------
        X : ndarray or CSR array of shape (b, d)
            New rows; of a precomputed kernel their values, shape (b, n_rows + b).
        rows : RowPenalties
            Their penalties.
        block : bool, default=True
            Whether all rows move at once; False adds one after the other.
        total, target : float or None
            New right-hand side of the equality, and of the balancing constraint.
        max_steps : int or None
            Steps after which to pause; ``run`` goes on.

        Returns
        -------
        bool
            Whether the end of the path is reached.
        """
        n = X.shape[0]
        if n != len(rows):
            raise ValueError(
                f"X has {n} rows and rows has {len(rows)} penalties; they must be equal."
            )
        self._check_reachable(total, added=rows)
        if block or n <= 1:
            operations = [op.Append(X, rows, total, target)]
        else:
            # The total and the target move along, a share with every row.
            clock = self.engine.clock
            totals = op.shares(clock.total_target, total, n)
            targets = op.shares(target if clock.target is None else clock.target, target, n)
            operations = [
                op.Append(X[i : i + 1], rows.take([i]), totals[i], targets[i]) for i in range(n)
            ]
        return self._operate("add", n, operations, max_steps)

    def load(
        self, X, rows, a, multiplier, *, signs=None, virtual=0.0, target=None, max_steps=None
    ):  # fmt: skip
        """Start from a solution that another solver found, exact or nearly so.

        The rest of the way is a path too, from the problem that the given point solves
        exactly; so the result is exact whatever the other solver's tolerance was.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, d)
            All rows; there must be none yet.
        rows : RowPenalties
            Their penalties.
        a : ndarray of shape (n,)
            Variables, inside their intervals.
        multiplier : float
            Multiplier of the equality.
        signs : ndarray of int of shape (n,), optional
            Signs of rows with the symmetric hinge; 0 elsewhere. Missing, those of ``a``.
        virtual : float, default=0.0
            Variable of the virtual row of the balancing constraint.
        target : float or None
            Balance target.
        max_steps : int or None
            As in ``add``.
        """
        if len(self):
            raise ValueError(f"load needs an empty path; this one has {len(self)} rows.")
        self._check_reachable(None, added=rows)
        a = np.asarray(a, dtype=float)
        negative = rows.symmetric & ((a if signs is None else np.asarray(signs)) < 0)
        low, up = rows.penalty.lower, rows.penalty.upper
        low, up = np.where(negative, -up, low), np.where(negative, -low, up)
        near = op.OUTSIDE * np.abs(a).max(initial=0.0)
        if np.any(a < low - near) or np.any(a > up + near):
            raise ValueError("the variables to load do not lie in their intervals.")
        load = op.Load(X, rows, np.clip(a, low, up), multiplier, negative, virtual, target)
        return self._operate("load", len(rows), [load], max_steps, virtual_stays=True)

    def remove(self, indices, *, total=None, target=None, max_steps=None):
        """Remove rows; the others are renumbered as by ``numpy.delete``.

        Parameters
        ----------
        indices : array of int
            Rows.
        total, target, max_steps
            As in ``add``.

        Returns
        -------
        bool
            Whether the end of the path is reached. Rows are numbered anew once it is.
        """
        rows = self._numbers(indices)
        self._check_reachable(total, gone=rows)
        operations = [op.Dismiss(rows, total, target), op.Drop(rows)]
        return self._operate("remove", len(rows), operations, max_steps)

    def change(self, indices, rows, *, total=None, target=None, max_steps=None):
        """Give rows other penalties at once, as a label that is given or taken back.

        Rows whose condition no longer holds move; compare ``move``.

        Parameters
        ----------
        indices : array of int
            Rows.
        rows : RowPenalties
            Their new penalties.
        total, target, max_steps
            As in ``add``.
        """
        numbers = self._numbers(indices)
        self._check_reachable(total, added=rows, gone=numbers)
        switch = op.Switch(numbers, rows, total, target)
        return self._operate("change", len(numbers), [switch], max_steps)

    def move(self, indices=None, rows=None, *, total=None, target=None, max_steps=None):
        """Move penalties, the total or the balance target steadily to new values.

        The path of optima for everything in between is followed: a regularisation path.
        Rows at a bound that moves go with it.

        Parameters
        ----------
        indices : array of int or None
            Rows whose penalties move; None for none.
        rows : RowPenalties or None
            Their penalties at the end. Ridges cannot be moved.
        total, target, max_steps
            As in ``add``.
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
        move = op.Move(numbers, rows, total, target)
        return self._operate("move", len(numbers), [move], max_steps)

    def set_total(self, total, *, max_steps=None):
        """Move the right-hand side of the equality."""
        return self.move(total=total, max_steps=max_steps)

    def set_target(self, target, *, max_steps=None):
        """Move the mean of h over the rows with the symmetric hinge; needs ``balance``."""
        return self.move(target=target, max_steps=max_steps)

    def scale_slopes(self, factor, *, total=None, max_steps=None):
        """Multiply every slope by ``factor`` along a path, as if the kernel were divided by it."""
        rows = self._scaled(factor)
        return self.move(np.arange(len(self)), rows, total=total, max_steps=max_steps)

    def _scaled(self, factor):
        if self.signs.any():
            raise ValueError("slopes of a symmetric hinge are fixed; move its cost instead.")
        ridge = self.scale * self._values(st.RIDGE)
        return RowPenalties.convex(self.penalty.scaled(1.0, factor), ridge)

    def refresh(self):
        """Compute h afresh and correct the solution for the rounding that was in it.

        Returns
        -------
        bool
            True: the end of the path is reached.
        """
        return self._operate("refresh", len(self), [op.Refresh()], virtual_stays=True)

    # -- without one row ----------------------------------------------------------------------

    def leave_one_out(self, indices=None, *, total=None, factor=1.0):
        """Values of rows under the solution of the problem without them, exactly.

        A row with ``a = 0`` has no part in its own value. Every other one is taken out of a
        copy; this path stays as it is.

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
        if self.signs.any() or self._state.bordered:
            raise ValueError(
                "leaving rows out is exact for convex machines only; with unlabelled rows the "
                "local minimum depends on the way there."
            )
        rows = self._state.present
        numbers = rows if indices is None else self._numbers(indices)
        self._check_reachable(total, gone=numbers[:1])
        move = op.Move(rows, None if factor == 1.0 else self._scaled(factor), total)
        with one_blas_thread():
            return self.scale * values_without(self.engine, numbers, move)

    def one_less(self, a, h, penalty, unit):
        """``OneLess`` of the present rows, from their solution; see there.

        For penalties without kinks, which have no sign of their own to flip.
        """
        rows, gram = self._state.present, self._state.gram

        def columns(indices):
            return self.scale * gram.columns(rows[indices])[:, rows]

        return OneLess(
            columns, self.scale * self._values(st.RIDGE), a, h + penalty.slope_right,
            penalty.lower, penalty.upper, unit,
        )  # fmt: skip

    def inner(self, indices, a):
        """``sum_j a_j scale K_ij`` over the present rows, summed afresh, at some of them."""
        used, rows = np.flatnonzero(a), self._state.present
        return self.scale * self._state.gram.product_at(rows[indices], rows[used], a[used])

    # -- how operations run ---------------------------------------------------------------------

    def run(self, max_steps=None):
        """Go on with the operations under way.

        Parameters
        ----------
        max_steps : int or None, default=None
            Steps after which to pause; the state is valid and ``run`` goes on from it.

        Returns
        -------
        bool
            Whether the end is reached.
        """
        self._check_whole()
        try:
            with one_blas_thread():
                return self.engine.run(max_steps)
        except BaseException:
            self.broken = True  # perhaps in the middle of a step
            raise

    def _check_whole(self):
        if self.broken:
            raise ArithmeticError(
                "an operation of this path ended in an exception; start another path, from its "
                "variables (see load)."
            )

    def _operate(self, name, n_rows, operations, max_steps=None, virtual_stays=False):
        self._check_whole()
        steps, flips = self.n_steps, self.n_flips
        if self.balance == "paper" and not virtual_stays:
            operations = [op.TakeOut(), *operations, op.PutIn()]
        self.engine.queue(operations)
        done = False
        try:
            done = self.run(max_steps)
        finally:
            taken = {"steps": self.n_steps - steps, "flips": self.n_flips - flips}
            entry = {"operation": name, "rows": n_rows, **taken}
            self._history.append({**entry, "margin": self.n_margin, "finished": done})
        return done

    def _numbers(self, indices):
        """Rows of the state from the user's indices."""
        return self._state.present[op.checked_indices(indices, len(self))]

    def _check_reachable(self, total, added=None, gone=None):
        """Refuse what has no solution, before anything changes."""
        state, clock = self._state, self.engine.clock
        if state.bordered and (
            self.engine.virtual.n_mean or (added is not None and added.symmetric.any())
        ):
            return  # the virtual row takes up any sum
        if total is None and gone is None and added is not None:
            if np.all(added.penalty.lower <= 0.0) and np.all(added.penalty.upper >= 0.0):
                return  # the new rows may stay at zero
        total = clock.total_target if total is None else float(total)
        first = self._penalty_line()
        kept = state.present if gone is None else np.setdiff1d(state.present, gone)
        low, up = state.F[first, kept], state.F[first + 2, kept]
        if added is not None:
            low = np.append(low, added.penalty.lower)
            up = np.append(up, added.penalty.upper)
        op.refuse_unreachable(low, up, total)
