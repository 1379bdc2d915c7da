"""Rows arrive, leave and change, and the solution of problem (P) follows exactly."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..._threads import one_blas_thread
from ...problem import Penalty
from ...problem.row_penalties import RowPenalties
from . import _steps as st
from .actions import Actions
from .leave_one_out import LeaveOneOut

# Estimated rounding in h, in its unit, from which h is computed afresh.
_REFRESH_AT = 1e-9
_OPERATIONS_KEPT = 1000


class PathFollower(Actions, LeaveOneOut):
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
        Whether the mean of h over the rows with a hat loss is held at ``set_target``, by a
        virtual row. "keep" leaves it in the problem for ever; "paper" takes it out before
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
        Steps so far, sign changes of rows with a hat loss, exchanges of dependent rows.
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
        super().__init__()
        if balance not in (None, "keep", "paper"):
            raise ValueError(f"balance={balance!r} is not known; pass None, 'keep' or 'paper'.")
        if not scale > 0:
            raise ValueError(f"scale={scale!r} is not allowed; pass a number > 0.")
        self.kernel = kernel
        self.scale = float(scale)
        self.total = self.total_target = float(total)
        self.balance = balance
        self.bordered = balance is not None
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.refresh_at = refresh_at
        self.broken = False
        self._history = deque(maxlen=_OPERATIONS_KEPT)
        self._alive = np.zeros(0, np.int64)
        self._pending = []
        if self.bordered:
            self.n = 1
            st.unrest(self.F, self.S, 0, st.DEAD)

    # -- what others read -------------------------------------------------------------------

    def __len__(self):
        return len(self._alive)

    @property
    def a(self):
        """The variables, shape (n_rows,)."""
        return self.F[st.A, self._alive]

    @property
    def h(self):
        """``(Q a)_i - multiplier``, shape (n_rows,): a support vector machine's f."""
        return self.scale * self.F[st.H, self._alive]

    @property
    def multiplier(self):
        """Multiplier of the equality; f has the intercept ``-multiplier``."""
        return -self.scale * self.shift

    @property
    def signs(self):
        """Current sign of rows with a hat loss, 0 for the others."""
        return self.S[st.SIGN, self._alive]

    @property
    def virtual(self):
        """Variable of the virtual row of the balancing constraint."""
        return float(self.F[st.A, 0]) if self.bordered else 0.0

    @property
    def n_margin(self):
        """Rows strictly inside a segment."""
        return self.n_members

    @property
    def n_values(self):
        """Kernel values evaluated so far."""
        return 0 if self.gram is None else self.gram.n_values

    @property
    def history(self):
        return list(self._history)

    def penalty_arrays(self):
        """Lower end, kink, upper end and both slopes of every row, shape (5, n_rows)."""
        first = st.TARGET if self.moving else st.LO
        arrays = self.F[first : first + 5, self._alive].copy()
        arrays[3:] *= self.scale
        return arrays

    @property
    def resolution(self):
        """Violations below this may be rounding; known without looking at the rows."""
        return self.scale * self._tol(0.0)

    def violation(self):
        """Largest violation of an optimality condition, from the h that is carried along."""
        F = self.F
        rows = self._alive
        if self.bordered and self.S[st.STATUS, 0] != st.DEAD:
            rows = np.append(0, rows)
        a, h = F[st.A, rows], F[st.H, rows]
        first = st.TARGET if self.moving else st.LO
        low, kink, up, left, right = F[first : first + 5, rows]
        to_right = np.where(a >= up, np.inf, np.where(a >= kink, right, left))
        to_left = np.where(a <= low, -np.inf, np.where(a <= kink, left, right))
        outside = np.maximum(low - a, a - up).max(initial=0.0)
        if outside > 0.0:
            return np.inf
        wrong_side = np.maximum(0.0, -self.S[st.SIGN, rows] * h).max(initial=0.0)
        worst = np.maximum(h + to_left, -(h + to_right)).max(initial=0.0)
        return self.scale * max(0.0, float(worst), float(wrong_side))

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
            Whether all rows travel at once; False adds one after the other.
        total, target : float or None
            New right-hand side of the equality, and of the balancing constraint.
        max_steps : int or None
            Steps after which to pause; ``run`` goes on.

        Returns
        -------
        bool
            Whether the end of the path is reached.
        """
        if X.shape[0] != len(rows):
            raise ValueError(
                f"X has {X.shape[0]} rows and rows has {len(rows)} penalties; they must be equal."
            )
        self._check_reachable(total, added=rows)
        if block or X.shape[0] <= 1:
            parts = [(X, rows)]
        else:
            parts = [(X[i : i + 1], rows.take([i])) for i in range(X.shape[0])]
        n_parts, actions = len(parts), []
        for k, part in enumerate(parts):
            # The total and the target move along, a share with every row.
            actions.append(("_append", (*part, *self._share(total, target, k + 1, n_parts))))
        return self._operate("add", X.shape[0], actions, max_steps)

    def _share(self, total, target, k, n):
        def between(now, then):
            return None if then is None else then if k == n else now + (then - now) * k / n

        before = self.balance_target if self.has_target else target
        return between(self.total_target, total), between(before, target)

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
            Signs of rows with a hat loss; 0 elsewhere. Missing, those of ``a``.
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
        if signs is None:
            signs = np.where(a < 0.0, -1, 1)
        low, up = rows.penalty.lower, rows.penalty.upper
        turned = rows.symmetric & (np.asarray(signs) < 0)
        low, up = np.where(turned, -up, low), np.where(turned, -low, up)
        size = np.abs(a).max(initial=0.0)
        if np.any(a < low - 1e-9 * size) or np.any(a > up + 1e-9 * size):
            raise ValueError("the variables to load do not lie in their intervals.")
        state = (X, rows, np.clip(a, low, up), multiplier, turned, virtual, target)
        return self._operate("load", len(rows), [("_load", state)], max_steps, around=False)

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
        slots = self._slots(indices)
        self._check_reachable(total, gone=slots)
        actions = [("_dismiss", (slots, total, target)), ("_drop", (slots,))]
        return self._operate("remove", len(slots), actions, max_steps)

    def change(self, indices, rows, *, total=None, target=None, max_steps=None):
        """Give rows other penalties at once, as a label that is given or taken back.

        Rows whose condition no longer holds travel; compare ``move``.

        Parameters
        ----------
        indices : array of int
            Rows.
        rows : RowPenalties
            Their new penalties.
        total, target, max_steps
            As in ``add``.
        """
        slots = self._slots(indices)
        self._check_reachable(total, added=rows, gone=slots)
        return self._operate(
            "change", len(slots), [("_switch", (slots, rows, total, target))], max_steps
        )

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
        slots = np.zeros(0, np.int64) if indices is None else self._slots(indices)
        if rows is not None:
            if np.any(rows.symmetric != (self.S[st.SIGN, slots] != 0)):
                raise ValueError("move cannot turn a hat loss into a convex one; use change.")
            if np.any(rows.ridge / self.scale != self.F[st.RIDGE, slots]):
                raise ValueError("move cannot change ridges; use change.")
            self._check_reachable(total, added=rows, gone=slots)
        else:
            self._check_reachable(total)
        return self._operate(
            "move", len(slots), [("_move", (slots, rows, total, target))], max_steps
        )

    def set_total(self, total, *, max_steps=None):
        """Move the right-hand side of the equality."""
        return self.move(total=total, max_steps=max_steps)

    def set_target(self, target, *, max_steps=None):
        """Move the mean of h over the rows with a hat loss; needs ``balance``."""
        return self.move(target=target, max_steps=max_steps)

    def scale_slopes(self, factor, *, total=None, max_steps=None):
        """Multiply every slope by ``factor`` along a path.

        A kernel scaled by 1 / factor has the same optimum: this moves ``scale``, and with
        duals in units of their bound the number of rows or the price of their loss.
        """
        arrays = self.penalty_arrays()
        if (self.signs != 0).any():
            raise ValueError("slopes of a hat loss are fixed; move its price instead.")
        arrays[3:] *= factor
        rows = RowPenalties.convex(Penalty(*arrays), self.F[st.RIDGE, self._alive] * self.scale)
        return self.move(np.arange(len(self)), rows, total=total, max_steps=max_steps)

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
        last = None if max_steps is None else self.n_steps + max_steps
        try:
            with one_blas_thread():
                while True:
                    budget = None if last is None else last - self.n_steps
                    if not super().run(budget):
                        return False
                    if self._pending:
                        name, arguments = self._pending.pop(0)
                        getattr(self, name)(*arguments)
                    elif not self._refresh_if_due():
                        self._compact()
                        return True
        except BaseException:
            self.broken = True  # perhaps in the middle of a step
            raise

    def _check_whole(self):
        if self.broken:
            raise ArithmeticError(
                "an operation of this path ended in an exception; start another path, from its "
                "variables (see load)."
            )

    def _operate(self, name, n_rows, actions, max_steps, around=True):
        self._check_whole()
        steps, flips = self.n_steps, self.n_flips
        if self.finished and not self._pending:
            # Rounding is relative to what there was when the operation began.
            self.largest_a = 0.0
            self._measure()
        if around and self.balance == "paper":
            actions = [("_take_out", ()), *actions, ("_put_in", ())]
        self._pending.extend(actions)
        done = False
        try:
            done = self.run(max_steps)
        finally:
            self._history.append(
                {
                    "operation": name,
                    "rows": n_rows,
                    "steps": self.n_steps - steps,
                    "flips": self.n_flips - flips,
                    "margin": self.n_members,
                    "finished": done,
                }
            )
        return done

    def _refresh_if_due(self):
        error = 1e-16 * np.sqrt(self.rounding)
        if not error > self._tol(self.refresh_at):
            return False
        self._settle()
        return True

    def _slots(self, indices):
        indices = np.asarray(indices)
        if indices.dtype == bool:
            indices = np.flatnonzero(indices)
        indices = np.atleast_1d(indices)
        n = len(self)
        if len(indices) and (indices.min() < -n or indices.max() >= n):
            raise IndexError(f"row {indices[np.abs(indices).argmax()]} is not among {n} rows.")
        slots = self._alive[indices]
        if len(np.unique(slots)) < len(slots):
            raise ValueError("the same row is named twice; name every row once.")
        return slots

    def _check_reachable(self, total, added=None, gone=None):
        """Refuse what has no solution, before anything changes."""
        if self.bordered and (self.n_hats or (added is not None and added.symmetric.any())):
            return  # the virtual row takes up any sum
        if total is None and gone is None and added is not None:
            if np.all(added.penalty.lower <= 0.0) and np.all(added.penalty.upper >= 0.0):
                return  # the new rows may stay at zero
        total = self.total_target if total is None else float(total)
        first = st.TARGET if self.moving else st.LO
        kept = self._alive if gone is None else np.setdiff1d(self._alive, gone)
        low, up = self.F[first, kept], self.F[first + 2, kept]
        if added is not None:
            low = np.append(low, added.penalty.lower)
            up = np.append(up, added.penalty.upper)
        size = max(
            abs(total), np.abs(low[np.isfinite(low)]).sum(), np.abs(up[np.isfinite(up)]).sum()
        )
        if not low.sum() - 1e-9 * size <= total <= up.sum() + 1e-9 * size:
            raise ValueError(
                f"the variables could sum to [{low.sum():g}, {up.sum():g}] after this, but must "
                f"sum to {total:g}; keep more rows or change the total."
            )
