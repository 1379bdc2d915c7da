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


def distinct(stream, places):
    """Of equal rows of one weight at some places, one each; which of these every row is."""
    copies = equal_rows(stream.rows.rows(places))
    if copies is None:
        return places, np.arange(len(places))
    weight = np.unique(stream.rows["weight"][places], return_inverse=True)[1]
    numbers = weight * len(copies.first) + copies.of
    _, first, of = np.unique(numbers, return_index=True, return_inverse=True)
    return places[first], of


def _values_without(stream, places, tell):
    """What ``tell`` says about rows, from a path on which they have no part. Exact.

    A row with a variable of zero has no part in its own machine. Without any other one the
    solution is that of a linear system; where that finds none, the row moves to zero along a copy
    of the path. Equal rows of one weight have equal values, and any of them will do.
    """
    if not len(places):
        return np.zeros(0)
    places, given = distinct(stream, places)
    weight = stream.rows["weight"][places]
    values = np.empty(len(places))
    where = np.searchsorted(stream.on_path, places)
    alike, group = distinct(stream, stream.on_path)
    group = None if len(alike) == len(group) else group
    path, formulation = copy.deepcopy(stream.path), stream.formulation
    for w in np.unique(weight):
        mass = stream.mass - float(w)
        if formulation.moves_slopes:
            stream.move_to(path, mass)
        elif formulation.moves_total:
            path.move(total=formulation.total(mass))
        here = np.flatnonzero(weight == w)
        if group is not None:
            where[here] = _easiest(path.a, group)[group[where[here]]]
        is_idle = path.a[where[here]] == 0.0
        idle, left = here[is_idle], here[~is_idle]
        values[idle] = _idle_values(tell, path, where[idle], mass)
        values[left], solved = _solved_values(tell, path, where[left], mass, group)
        for i in left[~solved].tolist():
            one = where[[i]]
            penalties = stream.penalties(stream.on_path[one], mass)
            path.change(one, RowPenalties.convex(_NOTHING, penalties.ridge))
            values[i] = _value(tell, path, where[i], mass)
            path.change(one, penalties)
    return values[given]


def _easiest(a, group):
    """Of each group of equal rows one with a variable of zero, or else the largest."""
    order = np.lexsort((-a, a != 0.0, group))
    return order[np.unique(group[order], return_index=True)[1]]


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


def _solved_values(tell, path, where, mass, group):
    """Values at rows without which the solution is a linear system's; and which these are.

    Rows of a ``group`` are one with their variables together, but for those to be left out.
    """
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
    alone = np.arange(len(where))
    if group is None:
        one_less = path.one_less(a, h, penalty, unit)
        rows_of, of, share = where, slice(None), 1.0
    else:
        numbers = len(where) + group
        numbers[where] = alone
        of = np.unique(numbers, return_inverse=True)[1]
        one_less = path.one_less(a, h, penalty, unit, of)
        rows_of, share = alone, 1.0 / np.bincount(of)[of]
    place = np.full(len(a), -1)
    place[rows_of] = alone
    for rows, others, gradient, shift, inner in one_less.solve(rows_of):
        for i, k in enumerate(place[rows].tolist()):
            there = gradient[i][of] - slope, multiplier + float(shift[i])
            values[k] = tell(where[k], others[i][of] * share, *there, mass, float(inner[i]))
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
