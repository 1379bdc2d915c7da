"""What the machine would say of a row had it never seen it."""

from __future__ import annotations

import copy

import numpy as np

from . import _steps as st
from .operations import Dismiss


def values_without(engine, rows, move):
    """h of every row under the solution without it.

    Parameters
    ----------
    engine : PathEngine
        A convex problem at its end, without a balancing constraint.
    rows : ndarray of int
        Rows of its state.
    move : Move
        To the penalties and the total for one row less.
    """

    def after(engine, operation):
        # The kernel matrix, whose columns are dear, is that of the original: no row is dropped.
        other = copy.deepcopy(engine, {id(engine.state.gram): engine.state.gram})
        other.queue([operation])
        other.run()
        return other

    base = after(engine, move)
    values = base.state.F[st.H, rows]
    for k in np.flatnonzero(base.state.F[st.A, rows]).tolist():
        i = rows[k]
        values[k] = after(base, Dismiss(np.array([i]))).state.F[st.H, i]
    return values
