"""What a convex machine says of training rows when it has not been trained on them."""

import copy

import numpy as np

from ..gram import equal_rows
from ..problem import Penalty, RowPenalties

# The penalty of a row that may have no part.
_NOTHING = Penalty.linear(0.0, 0.0, 0.0, 1)


def decisions_without(stream, places):
    """Decisions about rows at places on the path, by the machines of all rows but the one."""
    rows = stream.rows.at(stream.on_path)

    def tell(k, a, h, multiplier, mass, inner):
        return stream.formulation.decision(rows, k, a, h, multiplier, mass)

    return _values_without(stream, places, tell)


def sums_without(stream, places):
    """The same of ``scale * sum_j a_j K(x_j, x)``, with variables a that the machine has."""

    def tell(k, a, h, multiplier, mass, inner):
        return inner / stream.formulation.unit(mass)

    return _values_without(stream, places, tell)


def _values_without(stream, places, tell):
    """What ``tell`` says about rows, from a path on which they have no part. Exact.

    A row with a variable of zero has no part in its own machine. Without any other one the
    solution is that of a linear system; where that finds none, the row moves to zero along a copy
    of the path.
    """
    weight = stream.rows["weight"][places]
    copies = equal_rows(stream.rows.rows(places))
    if copies is not None:  # equal rows of one weight have equal values
        of = np.unique(weight, return_inverse=True)[1] * len(copies.first) + copies.of
        _, first, of = np.unique(of, return_index=True, return_inverse=True)
        if len(first) < len(places):
            return _values_without(stream, places[first], tell)[of]
    values = np.empty(len(places))
    where = np.searchsorted(stream.on_path, places)
    path, formulation = copy.deepcopy(stream.path), stream.formulation
    for w in np.unique(weight):
        mass = stream.mass - float(w)
        if formulation.moves_slopes:
            stream.move_to(path, mass)
        elif formulation.moves_total:
            path.move(total=formulation.total(mass))
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


def _idle_values(tell, path, where, mass):
    """Values at rows with a variable of zero."""
    if not len(where):
        return np.zeros(0)
    h, penalty = path.h, path.penalty
    a = penalty.rounded(path.a)
    if not penalty.between(a).any():
        # The multiplier is in the middle of an interval that depends on all other rows.
        return np.array([_value(tell, path, k, mass) for k in where.tolist()])
    shift = penalty.multiplier(a, h)
    h, multiplier = h - shift, path.multiplier + shift
    inner = path.inner(where, a)
    pairs = zip(where.tolist(), inner.tolist(), strict=True)
    return np.array([tell(k, a, h, multiplier, mass, own) for k, own in pairs])


def _solved_values(tell, path, where, mass):
    """Values at rows without which the solution is a linear system's; and which these are."""
    values, solved = np.zeros(len(where)), np.zeros(len(where), bool)
    if not len(where):
        return values, solved
    penalty = path.penalty
    if np.any(penalty.slope_left != penalty.slope_right):
        return values, solved
    a, h = penalty.rounded(path.a), path.h
    settled = penalty.multiplier(a, h)
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
    a, h, penalty = path.a, path.h, path.penalty
    others = np.arange(len(a)) != k
    left = penalty.take(others)
    shift = left.multiplier(left.rounded(a[others]), h[others])
    inner = float(path.inner(np.array([k]), a)[0])
    return tell(k, a, h - shift, path.multiplier + shift, mass, inner)
