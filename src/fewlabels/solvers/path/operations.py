"""What a user's operations are made of: each changes the problem, and the path follows.

``apply(path)`` changes a ``PathEngine`` and returns operations that have to come next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...problem import RowPenalties
from . import _steps as st
from .balance import ROW

# Relative: sums and variables outside their intervals by less are a matter of rounding.
OUTSIDE = 1e-9


@dataclass(frozen=True, eq=False)
class Append:
    """Rows arrive, with variables of zero."""

    X: np.ndarray | sp.csr_array
    rows: RowPenalties
    total: float | None = None
    target: float | None = None

    def apply(self, path):
        state = path.state
        new = state.append(self.X, self.rows)
        path.correction.watch_diagonal(new)
        state.F[st.H, new] = state.product(new)
        path.virtual.change_mean(new[self.rows.symmetric], 1)
        path.start(self.total, self.target)
        path.placement.place(new)
        return ()


@dataclass(frozen=True, eq=False)
class Load:
    """A solution is taken over: rows strictly inside a segment are free."""

    X: np.ndarray | sp.csr_array
    rows: RowPenalties
    a: np.ndarray
    multiplier: float
    negative: np.ndarray  # mask of rows with the sign -1
    virtual: float = 0.0
    target: float | None = None

    def apply(self, path):
        state, placement, clock = path.state, path.placement, path.clock
        new = state.append(self.X, self.rows)
        path.correction.watch_diagonal(new)
        F, S = state.F, state.S
        for i in new[self.negative].tolist():
            st.flip(F, S, i)
        F[st.A, new] = self.a
        state.shift = -float(self.multiplier) / state.scale
        balanced = state.bordered and self.rows.symmetric.any()
        if balanced:
            state.gram.include(new[self.rows.symmetric])
            clock.target = clock.target if self.target is None else float(self.target)
            balanced = clock.target is not None
        if balanced:
            path.virtual.prepare(self.virtual)
        path.correction.refresh_h()
        found = np.empty(len(new), np.int64)
        st.adopt(F, S, new, found)
        inside = new[found == st.FREE]
        state.gram.prefetch(inside)
        if balanced:
            path.virtual.free()
        for i in inside.tolist():
            placement.free(i)
        placement.place(new[found == st.MOVING])
        path.correction.accept_total()
        path.correction.absorb()
        return ()


@dataclass(frozen=True, eq=False)
class Dismiss:
    """The variables of rows move to zero."""

    rows: np.ndarray
    total: float | None = None
    target: float | None = None

    def apply(self, path):
        state = path.state
        if path.virtual.is_last_of_mean(self.rows):
            return TakeOut(), self
        path.placement.withdraw(self.rows)
        path.virtual.change_mean(self.rows[state.S[st.SIGN, self.rows] != 0], -1)
        state.close_intervals(self.rows)
        path.start(self.total, self.target)
        path.placement.place(self.rows)
        return ()


@dataclass(frozen=True, eq=False)
class Drop:
    """Rows with variables of zero leave."""

    rows: np.ndarray

    def apply(self, path):
        path.placement.withdraw(self.rows)
        path.state.drop(self.rows)
        return ()


@dataclass(frozen=True, eq=False)
class Switch:
    """Rows get other penalties at once."""

    rows: np.ndarray
    penalties: RowPenalties
    total: float | None = None
    target: float | None = None

    def apply(self, path):
        rows, virtual = self.rows, path.virtual
        before, after = path.state.S[st.SIGN, rows] != 0, self.penalties.symmetric
        leaving, joining = rows[before & ~after], rows[~before & after]
        if not len(joining) and virtual.is_last_of_mean(leaving):
            return TakeOut(), self
        path.placement.withdraw(rows)
        virtual.change_mean(joining, 1)
        virtual.change_mean(leaving, -1)
        path.state.set_penalties(rows, self.penalties)
        path.start(self.total, self.target)
        path.placement.place(rows)
        return ()


@dataclass(frozen=True, eq=False)
class Move:
    """Penalties, the total and the balance target move steadily to new values."""

    rows: np.ndarray
    penalties: RowPenalties | None = None
    total: float | None = None
    target: float | None = None

    def apply(self, path):
        if self.penalties is not None:
            path.clock.begin_targets()
            path.state.set_targets(self.rows, self.penalties)
        path.start(self.total, self.target, self.penalties is not None)
        return ()


class Refresh:
    """h is computed afresh, and what rounding had left is corrected."""

    def apply(self, path):
        path.correction.start_over()
        return ()


class TakeOut:
    """The virtual row leaves the problem."""

    def apply(self, path):
        return (Dismiss(ROW), Drop(ROW)) if path.virtual.active else ()


class PutIn:
    """The virtual row returns."""

    def apply(self, path):
        path.virtual.put_in()
        return ()


# -- what callers ask for, checked before anything changes -------------------------------------


def checked_indices(indices, n):
    """Indices of some of n rows, each once; a mask is allowed."""
    indices = np.asarray(indices)
    if indices.dtype == bool:
        indices = np.flatnonzero(indices)
    indices = np.atleast_1d(indices)
    if len(indices) and (indices.min() < -n or indices.max() >= n):
        raise IndexError(f"row {indices[np.abs(indices).argmax()]} is not among {n} rows.")
    if len(np.unique(indices % max(1, n))) < len(indices):
        raise ValueError("the same row is named twice; name every row once.")
    return indices


def refuse_unreachable(low, up, total):
    """Refuse a sum that variables between ``low`` and ``up`` cannot have."""
    finite = np.abs(low[np.isfinite(low)]).sum(), np.abs(up[np.isfinite(up)]).sum()
    size = max(abs(total), *finite)
    if not low.sum() - OUTSIDE * size <= total <= up.sum() + OUTSIDE * size:
        raise ValueError(
            f"the variables could sum to [{low.sum():g}, {up.sum():g}] after this, but must "
            f"sum to {total:g}; keep more rows or change the total."
        )


def shares(now, then, n):
    """The way from one number to another in n steps; all None where there is no other."""
    if then is None:
        return [None] * n
    return [now + (then - now) * k / n for k in range(1, n)] + [then]
