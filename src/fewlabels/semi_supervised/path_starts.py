"""Starts of an S3VM's path: at a solution, row by row, or at a small C*."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS
from ..kernels.base import Kernel
from ..kernels.operators import Expansion
from ..problem.penalty import RowPenalties
from ..solvers.path import PathFollower
from .problem import SemiSupervised

# C* at which its path begins, as a share of the final one.
_FIRST_C_STAR = 2.0**-9
# How far C* goes down to look for a better minimum near by.
_ANNEALING_SHARE = 1.0 / 8.0
# Variables whose sum misses zero by this share of them do not come from a solution.
_OFF_BALANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PathRows:
    """Rows that a path begins with (``label`` +1, -1, 0), and arguments of ``PathFollower``."""

    kernel: Kernel
    X: RowMatrix
    label: FloatArray
    weight: FloatArray
    class_objective: SemiSupervised
    options: dict[str, Any]

    def penalties(
        self, rows: IntArray | slice, class_objective: SemiSupervised | None = None
    ) -> RowPenalties:
        """RowPenalties of some of the rows."""
        class_objective = self.class_objective if class_objective is None else class_objective
        return class_objective.penalties(self.label[rows], self.weight[rows])

    @property
    def target(self) -> float | None:
        """Mean of f over the unlabelled rows; None for no constraint."""
        return self.class_objective.target(self.label, self.weight)


class Start(NamedTuple):
    """A point to begin at, not always a solution: variables, signs, virtual row, multiplier."""

    a: FloatArray
    sign: FloatArray  # of unlabelled rows; 0 where none is known
    virtual: float
    multiplier: float

    def at(self, places: IntArray) -> Start:
        """Return the start at some places; rows that came after it have no part."""
        a, sign, known = np.zeros(len(places)), np.zeros(len(places)), places < len(self.a)
        a[known], sign[known] = self.a[places[known]], self.sign[places[known]]
        return Start(a, sign, self.virtual, self.multiplier)

    def negative(self) -> Start:
        """Return the start of the negative function."""
        return Start(-self.a, -self.sign, -self.virtual, -self.multiplier)

    def saved(self) -> dict[str, Any]:
        """Return plain values, from which ``Start(**saved)`` makes it again."""
        return {**self._asdict(), "sign": np.where(self.sign < 0, -1, 1).astype(np.int8)}


def start_at_solution(rows: PathRows, start: Start) -> tuple[PathFollower, IntArray]:
    """A path that takes over a start and makes it exact, and its rows in the path's order."""
    free, n = rows.label == 0, len(rows.label)
    side = np.where(free, np.where(start.sign < 0, -1.0, 1.0), rows.label)
    cost = rows.class_objective.cost(rows.label, rows.weight)
    a = side * np.clip(side * start.a, 0.0, cost)
    virtual, target = start.virtual, rows.target
    sum_a, size = float(a.sum()), float(np.abs(a).sum())
    if target is not None and free.any():
        if abs(sum_a + virtual) > _OFF_BALANCE * size:
            virtual = -sum_a
    elif abs(sum_a) > _OFF_BALANCE * size:
        # The larger side gives way: from a sum of zero every problem can be reached.
        larger = a * sum_a > 0.0
        a[larger] *= 1.0 - abs(sum_a) / np.abs(a[larger]).sum()
        virtual = 0.0
    path = PathFollower(rows.kernel, **rows.options)
    path.load(
        rows.X,
        rows.penalties(slice(None)),
        a,
        start.multiplier,
        signs=np.where(free, side, 0).astype(int),
        virtual=virtual,
        target=target,
    )
    return path, np.arange(n)


def build_row_by_row(rows: PathRows) -> tuple[PathFollower, IntArray]:
    """Labelled rows, then the others one at a time, those first that f separates best."""
    path, given, free = _build_labelled(rows, rows.options["balance"])
    if len(free):
        expansion = Expansion(rows.kernel, rows.X[given], path.a, n_jobs=rows.options["n_jobs"])
        f = expansion(rows.X[free]) - path.multiplier
        free = free[np.argsort(-np.abs(f), kind="stable")]
        path.add(rows.X[free], rows.penalties(free), block=False)
    return path, np.concatenate([given, free])


def build_by_C_star(rows: PathRows) -> tuple[PathFollower, IntArray]:
    """Return all rows at a small C*, which then moves steadily to its value."""
    balance = rows.options["balance"]
    path, given, free = _build_labelled(rows, balance and "keep")
    if len(free):
        small = replace(rows.class_objective, C_star=_FIRST_C_STAR * rows.class_objective.C_star)
        path.add(rows.X[free], rows.penalties(free, small))
        path.move(np.arange(len(given), len(path)), rows.penalties(free))
    path.balance = balance
    return path, np.concatenate([given, free])


def anneal_path(path: PathFollower, class_objective: SemiSupervised, weight: FloatArray) -> bool:
    """Lower C* of unlabelled rows and raise it back; return whether that was completed."""
    free = np.flatnonzero(path.signs)
    for share in (_ANNEALING_SHARE, 1.0):
        level = replace(class_objective, C_star=share * class_objective.C_star)
        if not path.move(free, level.penalties(np.zeros(len(free)), weight)):
            return False
    return True


def _build_labelled(
    rows: PathRows, balance: str | None
) -> tuple[PathFollower, IntArray, IntArray]:
    """Return the model of the labelled rows, and which rows are of either kind."""
    given, free = np.flatnonzero(rows.label), np.flatnonzero(rows.label == 0)
    # To the end: the order of the others depends on it.
    options = {**rows.options, "balance": balance, "deadline": ENDLESS}
    path = PathFollower(rows.kernel, **options)
    path.add(rows.X[given], rows.penalties(given), target=rows.target)
    path.deadline = rows.options["deadline"]
    return path, given, free
