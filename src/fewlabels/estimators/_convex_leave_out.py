"""What a convex machine decides about training rows when it has not been trained on them."""

from __future__ import annotations

import copy

import numpy as np

from ..problem import Penalty
from ..solvers.path import RowPenalties
from ._convex_path import settled_shift, snapped


def decisions_without(stream, places, scores=False):
    """Decisions about rows on the path by the machines of all rows but the one in question.

    Exact: a row with a variable of zero has no part in its own machine. Without any other one
    the solution is that of a linear system, where the rows that change sides are found in a few
    turns; where they are not, the row travels to zero along a copy of the path, and back.

    Parameters
    ----------
    stream : ConvexPath
        At its end.
    places : ndarray of int of shape (m,)
        Rows on the path.
    scores : bool
        Return what ``stream.score`` tells of the rows instead.

    Returns
    -------
    ndarray of shape (m,)
    """

    def tell(k, a, h, multiplier, mass, inner):
        return stream.score(k, inner, mass) if scores else stream.decision(
            k, a, h, multiplier, mass
        )  # fmt: skip

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
        is_idle = path.a[where[here]] == 0.0
        idle, left = here[is_idle], here[~is_idle]
        values[idle] = _idle_values(tell, path, where[idle], mass)
        values[left], solved = _solved_values(tell, path, where[left], mass)
        for i in left[~solved].tolist():
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
    if not len(where):
        return np.zeros(0)
    h, penalty = path.h, Penalty(*path.penalty_arrays())
    a = snapped(path.a, penalty)
    between = (a > penalty.lower) & (a < penalty.upper) & (a != penalty.kink)
    if not between.any():
        # The multiplier is in the middle of an interval that depends on all other rows.
        return np.array([_value(tell, path, k, mass) for k in where.tolist()])
    shift = settled_shift(a, h, penalty)
    h, multiplier = h - shift, path.multiplier + shift
    inner = path.inner(where, a)
    pairs = zip(where.tolist(), inner.tolist(), strict=True)
    return np.array([tell(k, a, h, multiplier, mass, own) for k, own in pairs])


def _solved_values(tell, path, where, mass):
    """Values at rows without which the solution is a linear system's; and which these are."""
    values, solved = np.zeros(len(where)), np.zeros(len(where), bool)
    if not len(where):
        return values, solved
    penalty = Penalty(*path.penalty_arrays())
    if np.any(penalty.slope_left != penalty.slope_right):
        return values, solved
    a, h = snapped(path.a, penalty), path.h
    settled = settled_shift(a, h, penalty)
    h, multiplier = h - settled, path.multiplier + settled
    slope = penalty.slope_right
    unit = float(np.abs(slope).max() + np.abs(h).max() + abs(multiplier))
    place = np.empty(len(a), np.intp)
    place[where] = np.arange(len(where))
    for rows, others, gradient, shift, inner in path.one_less(a, h, penalty, unit).solve(where):
        for i, k in enumerate(rows.tolist()):
            there = gradient[i] - slope, multiplier + float(shift[i])
            values[place[k]] = tell(k, others[i], *there, mass, float(inner[i]))
        solved[place[rows]] = True
    return values, solved


def _value(tell, path, k, mass):
    """Value at a row with a variable of zero, that no other row's multiplier depends on."""
    a, h, penalty = path.a, path.h, Penalty(*path.penalty_arrays())
    others = np.arange(len(a)) != k
    shift = settled_shift(a[others], h[others], penalty.take(others))
    inner = float(path.inner(np.array([k]), a)[0])
    return tell(k, a, h - shift, path.multiplier + shift, mass, inner)


def decisions_without_positives(stream, places):
    """The same about positive rows of a PUPath."""
    path = copy.deepcopy(stream.path)
    values = np.empty(len(places))
    for i, place in enumerate(places.tolist()):
        other = stream.without_positive(place)
        other.move_to(path, stream.mass)
        values[i] = other.decision_at(place, path)
    return values
