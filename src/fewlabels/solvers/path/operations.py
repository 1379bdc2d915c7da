"""What a user's operations are made of: each changes the problem, and the path follows.

Each takes the ``PathEngine`` first, changes its problem, and returns operations that have to come
next, if any. One that waits is a tuple of the function and its other arguments.
"""

import numpy as np

from ..._core import path as st
from .balance import ROW

# Relative: sums and variables outside their intervals by less are a matter of rounding.
OUTSIDE = 1e-9


def append(path, X, rows, total=None, target=None):
    """Rows arrive, with variables of zero."""
    state = path.state
    new = state.append(X, rows)
    path.watch_diagonal(new)
    state.F[st.H, new] = state.product(new)
    path.virtual.change_mean(new[rows.symmetric], 1)
    path.start(total, target)
    path.placement.place(new)


def load(path, X, rows, a, multiplier, negative, virtual=0.0, target=None):
    """A solution is taken over: rows strictly inside a segment are free.

    ``negative`` is the mask of rows with the sign -1.
    """
    state, placement, clock = path.state, path.placement, path.clock
    new = state.append(X, rows)
    path.watch_diagonal(new)
    for i in new[negative].tolist():
        state.lines.flip(i)
    state.F[st.A, new] = a
    state.shift = -float(multiplier) / state.scale
    balanced = state.bordered and rows.symmetric.any()
    if balanced:
        state.gram.change_mean(new[rows.symmetric], 1)
        clock.target = clock.target if target is None else float(target)
        balanced = clock.target is not None
    if balanced:
        path.virtual.prepare(virtual)
    state.refresh_h(border=False)
    found = state.lines.adopt(new)
    inside = new[found == st.FREE]
    state.gram.block(inside[:1], inside)  # evaluates their columns together
    if balanced:
        path.virtual.free()
    for i in inside.tolist():
        placement.free(i)
    placement.place(new[found == st.MOVING])
    path.correct()


def dismiss(path, rows, total=None, target=None):
    """The variables of rows move to zero."""
    state = path.state
    if path.virtual.is_last_of_mean(rows):
        return (take_out,), (dismiss, rows, total, target)
    path.placement.withdraw(rows)
    path.virtual.change_mean(rows[state.S[st.SIGN, rows] != 0], -1)
    state.close_intervals(rows)
    path.start(total, target)
    path.placement.place(rows)
    return ()


def drop(path, rows):
    """Rows with variables of zero leave."""
    path.placement.withdraw(rows)
    path.state.drop(rows)


def switch(path, rows, penalties, total=None, target=None):
    """Rows get other penalties at once."""
    virtual = path.virtual
    before, after = path.state.S[st.SIGN, rows] != 0, penalties.symmetric
    leaving, joining = rows[before & ~after], rows[~before & after]
    if not len(joining) and virtual.is_last_of_mean(leaving):
        return (take_out,), (switch, rows, penalties, total, target)
    path.placement.withdraw(rows)
    virtual.change_mean(joining, 1)
    virtual.change_mean(leaving, -1)
    path.state.set_penalties(rows, penalties)
    path.start(total, target)
    path.placement.place(rows)
    return ()


def move(path, rows, penalties=None, total=None, target=None):
    """Penalties, the total and the balance target move steadily to new values."""
    if penalties is not None:
        path.clock.begin_targets()
        path.state.set_targets(rows, penalties)
    path.start(total, target, penalties is not None)


def take_out(path):
    """The virtual row leaves the problem."""
    return ((dismiss, ROW), (drop, ROW)) if path.virtual.active else ()


def put_in(path):
    """The virtual row returns."""
    path.virtual.put_in()


# -- what callers ask for, checked before anything changes -------------------------------------


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
