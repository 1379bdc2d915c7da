"""What a convex model says of training rows when it has not been trained on them."""

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..kernels.rows import equal_rows
from ..problem import Penalty, RowPenalties
from ..rows.row_store import AnomalyMarks, RowStore
from ..solvers.path.follower import PathFollower

# Relative to its interval: a share of a variable this near a breakpoint is on it.
_ON = 1e-14
# The penalty of a row that may have no part.
_NOTHING = Penalty.linear(0.0, 0.0, 0.0, 1)
# Weights of rows and masks of anomalies, by name.
RowNumbers: TypeAlias = dict[str, FloatArray]


class LeftOutRow(NamedTuple):
    """Row k of a path, and the solution without it."""

    rows: RowNumbers
    k: int
    a: FloatArray  # variables
    h: FloatArray  # gradient
    multiplier: float
    mass: float
    inner: float  # sum_j a_j K(x_j, x_k)


RowEvaluation: TypeAlias = Callable[[LeftOutRow], float]


class LeftOutFormulation(Protocol):
    """A formulation of a convex model, as far as its mass and decisions go."""

    @property
    def moves_slopes(self) -> bool: ...

    @property
    def moves_total(self) -> bool: ...

    def masses(self, rows: RowNumbers) -> FloatArray: ...

    def total(self, mass: float) -> float: ...

    def unit(self, mass: float) -> float: ...

    def decision(
        self,
        rows: RowNumbers,
        k: int,
        a: FloatArray,
        h: FloatArray,
        multiplier: float,
        mass: float,
    ) -> float: ...


class LeftOutStream(Protocol):
    """The rows of a convex model and the path of its solution, for leaving rows out."""

    @property
    def formulation(self) -> LeftOutFormulation: ...

    rows: RowStore
    marks: AnomalyMarks
    path: PathFollower | None
    of: IntArray
    on_path: IntArray
    mass: float
    version: int

    def explain_breakdowns(self) -> AbstractContextManager[None]: ...

    def move_to(self, path: PathFollower, mass: float) -> bool: ...

    def merge_rows(self) -> RowNumbers: ...

    def penalties(self, rows: RowNumbers, mass: float) -> RowPenalties: ...

    def takes(self) -> BoolArray: ...

    def check_removable(self, places: IntArray) -> None: ...


def decisions_without(stream: LeftOutStream, places: IntArray) -> FloatArray:
    """Decide about rows at places on the path, each by the model of all other rows."""

    def decide(row: LeftOutRow) -> float:
        return stream.formulation.decision(*row[:-1])

    with stream.explain_breakdowns():
        return _values_without(stream, places, decide)


def sums_without(stream: LeftOutStream, places: IntArray) -> FloatArray:
    """Return ``sum_j a_j K(x_j, x)`` in units of the mass, each by the model of all other rows."""

    def scale_sum(row: LeftOutRow) -> float:
        return row.inner / stream.formulation.unit(row.mass)

    with stream.explain_breakdowns():
        return _values_without(stream, places, scale_sum)


def distinct(stream: LeftOutStream, places: IntArray) -> tuple[IntArray, IntArray]:
    """Take one of equal rows of one weight at some places; return which of these every row is.

    A normal row and an anomaly are never equal.
    """
    copies = equal_rows(stream.rows.rows(places))
    if copies is None:
        return places, np.arange(len(places))
    numbers = np.zeros(len(places), np.intp)
    for values in _weights_and_masses(stream, places):
        numbers = numbers * len(places) + np.unique(values, return_inverse=True)[1]
    numbers = np.unique(numbers, return_inverse=True)[1] * len(copies.first) + copies.of
    _, first, of = np.unique(numbers, return_index=True, return_inverse=True)
    return places[first], of


def _weights_and_masses(stream: LeftOutStream, places: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return weights of rows at some places, and how much of each counts towards the mass."""
    rows = stream.marks.at(places)
    return rows["weight"], stream.formulation.masses(rows)


def _values_without(
    stream: LeftOutStream, places: IntArray, evaluate_left_out: RowEvaluation
) -> FloatArray:
    """Evaluate rows exactly on a path on which they have no part.

    The path has equal rows as one, and without one of them that weighs less. A row with a variable
    of zero, or one that fits into what is left of its row, has no part in its own model. Without
    any other one the solution solves a linear system; where that has none, the row's penalty
    changes along a copy of the path. Equal rows of one weight have equal values.
    """
    if not len(places):
        return np.zeros(0)
    places, given = distinct(stream, places)
    where = stream.of[stream.on_path.searchsorted(places)]
    values, path = np.empty(len(places)), copy.deepcopy(stream.path)
    assert path is not None
    formulation, (weight, part) = stream.formulation, _weights_and_masses(stream, places)
    for w, own in sorted(set(zip(weight.tolist(), part.tolist(), strict=True))):
        mass = stream.mass - own
        if formulation.moves_slopes:
            stream.move_to(path, mass)
        elif formulation.moves_total:
            path.move(total=formulation.total(mass))
        here = np.flatnonzero((weight == w) & (part == own))
        without = _RowsLeftOut(stream, path, where[here], w, mass, evaluate_left_out)
        is_idle = without.is_idle
        values[here[is_idle]] = without.idle_values()
        solved, found = without.solved_values()
        values[here[solved]] = found
        left = ~is_idle
        left[solved] = False
        for i in np.flatnonzero(left).tolist():
            values[here[i]] = without.followed_value(i)
    return values[given]


class _RowsLeftOut:
    """Rows of a path, each to be looked at without a row of weight ``w`` that is part of it.

    ``where`` are their numbers on the path, and ``left`` what then is left of them: numbers by
    name; ``is_copy`` says which have anything left.
    """

    def __init__(
        self,
        stream: LeftOutStream,
        path: PathFollower,
        where: IntArray,
        w: float,
        mass: float,
        evaluate_left_out: RowEvaluation,
    ) -> None:
        self.stream, self.path, self.where, self.w = stream, path, where, w
        self.mass, self.evaluate_left_out = mass, evaluate_left_out
        self.rows = stream.merge_rows()
        self.left = self._rows_at(where, np.maximum(0.0, self.rows["weight"][where] - w))
        self.is_copy = self.left["weight"] > 0.0
        self.is_idle = self._find_idle()

    def _rows_at(self, where: IntArray, weight: FloatArray) -> RowNumbers:
        return {name: value[where] for name, value in self.rows.items()} | {"weight": weight}

    def _find_idle(self) -> BoolArray:
        """Mark the rows without which the solution stays as it is."""
        path, where = self.path, self.where
        is_idle = path.a[where] == 0.0
        before, copies = path.penalty, np.flatnonzero(self.is_copy & ~is_idle)
        if not len(copies):
            return is_idle
        a = before.rounded(path.a)
        between = before.between(a)
        others = between.sum() > between[where[copies]]
        left = {name: value[copies] for name, value in self.left.items()}
        after = self.stream.penalties(left, self.mass)
        fits = before.take(where[copies]).fits_into(after.penalty, a[where[copies]])
        is_idle[copies] = others & fits & (after.ridge == 0.0)
        return is_idle

    def idle_values(self) -> FloatArray:
        """Return values at the rows that are idle."""
        path, where = self.path, self.where[self.is_idle]
        if not len(where):
            return np.zeros(0)
        h, penalty = path.h, path.penalty
        a = penalty.rounded(path.a)
        if not penalty.between(a).any():
            # The multiplier is in the middle of an interval that depends on all other rows.
            alone = ~self.is_copy[self.is_idle]
            pairs = zip(where.tolist(), alone.tolist(), strict=True)
            return np.array([self._value(k, is_alone) for k, is_alone in pairs])
        shift = penalty.multiplier(a, h)
        h, multiplier = h - shift, path.multiplier + shift
        inner = path.inner(where, a)
        return np.array(
            [
                self.evaluate_left_out(
                    LeftOutRow(self.rows, k, a, h, multiplier, self.mass, inner_k)
                )
                for k, inner_k in zip(where.tolist(), inner.tolist(), strict=True)
            ]
        )

    def solved_values(self) -> tuple[IntArray, FloatArray]:
        """Return rows without which the solution solves a linear system, and values there.

        Each of the rows that are not idle stands there as what is left of it and what is not.
        """
        path, penalty = self.path, self.path.penalty
        tried = np.flatnonzero(~self.is_idle)
        if not len(tried) or not penalty.is_linear:
            return tried[:0], np.zeros(0)
        a, h = penalty.rounded(path.a), path.h
        settled = penalty.multiplier(a, h)
        h, multiplier = h - settled, path.multiplier + settled
        unit = float(np.abs(penalty.slopes[-1]).max() + np.abs(h).max() + abs(multiplier))
        copies = tried[self.is_copy[tried]]
        split = self.where[copies]
        numbers = np.append(np.arange(len(a)), split)
        rows = self._rows_at(numbers, np.append(self.rows["weight"], np.full(len(split), self.w)))
        rows["weight"][split] = self.left["weight"][copies]
        parts = self.stream.penalties(rows, self.mass)
        a, h = self._split_variables(a, parts, split), h[numbers]
        one_less = path.one_less(a, h, parts.penalty, unit, numbers, parts.ridge)
        place = np.full(len(numbers), -1)
        out = self.where[tried]
        out[self.is_copy[tried]] = len(path) + np.arange(len(split))
        place[out] = np.arange(len(tried))
        out = out[a[out] != 0.0]
        solved, values, slope = [], [], parts.penalty.slopes[-1]
        for some, others, gradient, shift, inner in one_less.solve(out):
            for i, k in enumerate(some.tolist()):
                solved.append(tried[place[k]])
                row = LeftOutRow(
                    rows=rows,
                    k=k,
                    a=others[i],
                    h=gradient[i] - slope,
                    multiplier=multiplier + float(shift[i]),
                    mass=self.mass,
                    inner=float(inner[i]),
                )
                values.append(self.evaluate_left_out(row))
        return np.array(solved, dtype=np.intp), np.array(values)

    def _split_variables(self, a: FloatArray, parts: RowPenalties, split: IntArray) -> FloatArray:
        """Return variables of rows, and of both ``parts`` of those that are split."""
        together = a[split]
        if parts.ridge.any():
            mine = together * (self.w / self.rows["weight"][split])
        else:
            lower, upper = parts.penalty.lower[split], parts.penalty.upper[split]
            mine = together - np.clip(together, lower, upper)
        a = np.append(a, mine)
        a[split] = together - mine
        return parts.penalty.rounded(a, _ON)

    def followed_value(self, i: int) -> float:
        """Follow the path on which the penalty of one row changes; return the value there."""
        path, one = self.path, self.where[[i]]
        is_alone = not self.is_copy[i]
        before = self.stream.penalties(self._rows_at(one, self.rows["weight"][one]), self.mass)
        left = {name: value[[i]] for name, value in self.left.items()}
        after = RowPenalties.convex(_NOTHING, before.ridge)
        path.change(one, after if is_alone else self.stream.penalties(left, self.mass))
        rows = self.rows
        if not is_alone:
            rows = rows | {"weight": rows["weight"].copy()}
            rows["weight"][one] = left["weight"]
        value = self._value(one[0], is_alone, rows)
        path.change(one, before)
        return value

    def _value(self, k: int, is_alone: bool, rows: RowNumbers | None = None) -> float:
        """Return the value at a row; if it ``is_alone``, find the multiplier without it."""
        path = self.path
        a, h, penalty = path.a, path.h, path.penalty
        others = np.arange(len(a)) != k if is_alone else np.ones(len(a), bool)
        left = penalty.take(others)
        shift = left.multiplier(left.rounded(a[others]), h[others])
        inner = float(path.inner(np.array([k]), a)[0])
        rows = self.rows if rows is None else rows
        row = LeftOutRow(rows, int(k), a, h - shift, path.multiplier + shift, self.mass, inner)
        return self.evaluate_left_out(row)
