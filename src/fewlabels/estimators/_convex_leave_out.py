"""What a convex machine decides about training rows when it has not been trained on them."""

from __future__ import annotations

import copy

import numpy as np

from ..problem import Penalty
from ..solvers.path import RowPenalties
from ._convex_path import settled_shift, snapped


def decisions_without(stream, places, tell=None):
    """Decisions about rows on the path by the machines of all rows but the one in question.

    Exact: a row with a variable of zero has no part in its own machine; any other one travels to
    zero along a copy of the path, and back.

    Parameters
    ----------
    stream : ConvexPath
        At its end.
    places : ndarray of int of shape (m,)
        Rows on the path.
    tell : callable or None
        What to tell of a row, with the arguments of ``stream.decision``; None for that.

    Returns
    -------
    ndarray of shape (m,)
    """
    tell = stream.decision if tell is None else tell
    values = np.empty(len(places))
    where = np.searchsorted(stream.on_path, places)
    weight = stream.rows["weight"][places]
    path = copy.deepcopy(stream.path)
    for w in np.unique(weight):
        mass = stream.mass - float(w)
        if stream.moves_slopes:
            stream.move_to(path, mass)
        elif stream.moves_total:
            path.set_total(stream.total(mass))
        here = np.flatnonzero(weight == w)
        idle = here[path.a[where[here]] == 0.0]
        values[idle] = _idle_values(tell, path, where[idle], mass)
        for i in np.setdiff1d(here, idle, assume_unique=True).tolist():
            one = np.array([where[i]])
            penalties = stream.penalties(places[[i]], mass)
            path.change(one, RowPenalties.convex(_NOTHING, penalties.ridge))
            values[i] = _value(tell, path, where[i], mass)
            path.change(one, penalties)
    return values


# The penalty of a row that may have no part.
_NOTHING = Penalty.linear(0.0, 0.0, 0.0, 1)


def _idle_values(tell, path, where, mass):
    """Values at rows with a variable of zero."""
    h, penalty = path.h, Penalty(*path.penalty_arrays())
    a = snapped(path.a, penalty)
    between = (a > penalty.lower) & (a < penalty.upper) & (a != penalty.kink)
    if not between.any():
        # The multiplier is in the middle of an interval that depends on all other rows.
        return np.array([_value(tell, path, k, mass) for k in where.tolist()])
    shift = settled_shift(a, h, penalty)
    h, multiplier = h - shift, path.multiplier + shift
    return np.array([tell(k, a, h, multiplier, mass) for k in where.tolist()])


def _value(tell, path, k, mass):
    """Value at a row with a variable of zero, that no other row's multiplier depends on."""
    a, h, penalty = path.a, path.h, Penalty(*path.penalty_arrays())
    others = np.arange(len(a)) != k
    shift = settled_shift(a[others], h[others], penalty.take(others))
    return tell(k, a, h - shift, path.multiplier + shift, mass)


def decisions_without_positives(stream, places):
    """The same about positive rows of a PUPath."""
    path = copy.deepcopy(stream.path)
    values = np.empty(len(places))
    for i, place in enumerate(places.tolist()):
        other = stream.without_positive(place)
        other.move_to(path, stream.mass)
        values[i] = other.decision_at(place, path)
    return values
