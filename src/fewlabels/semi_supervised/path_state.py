"""What a path of an S3VM stands at: rows, path, start, the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from ..kernels import centered
from ..kernels.base import Kernel
from ..kernels.operators import Expansion
from ..problem.penalty import RowPenalties
from ..rows.row_store import RowStore
from ..solvers.path import PathFollower
from ..solvers.run import HistoryEntry
from .path_starts import Start
from .problem import SemiSupervised

# Decisions of unlabelled rows this small may have either sign.
_ZERO_DECISION = 1e-9
NONE: IntArray = np.zeros(0, np.int64)
# In place of the label of a row that is gone, or not on the path.
ABSENT = 2.0
# A rebuild is due when as many rows came, went or changed as this share of those at the last one.
_DUE_SHARE = 0.5
# It is also due from this smaller share on, ...
_DUE_SHARE_IF_GROWN = 0.05
# ... if the value of (1) for a unit of cost has grown by this factor.
_DUE_GROWTH = 1.05


class PathSolution(NamedTuple):
    """The function that a path stands at: values at places, shape (n_places,).

    ``coef`` has the virtual row's part spread over the rows it is the mean of. ``f`` is NaN for
    rows that the path has not reached; on the boundary, where a row may be on either side, it has
    the sign that the path gives it.
    """

    a: FloatArray
    coef: FloatArray
    f: FloatArray
    virtual: float
    multiplier: float

    def at(self, places: IntArray) -> PathSolution:
        """Return the solution at some places."""
        return self._replace(a=self.a[places], coef=self.coef[places], f=self.f[places])


class PathState(NamedTuple):
    """All that changes, replaced at once: an interruption leaves the old state or the new one.

    Only ``path`` changes by itself. ``path_labels`` are labels at all places, those that the path
    follows, ``ABSENT`` for rows that it doesn't have; ``on_path`` are places in the path's order.
    Rows that join or leave it do so with a delay under ``balance_update="paper"``. ``start`` is
    where the next path begins, at all places, while there is none.
    """

    version: int
    class_objective: SemiSupervised
    kernel: Kernel
    rows: RowStore  # with labels +1, -1, and 0 for none
    shift: FloatArray | None
    path: PathFollower | None = None
    start: Start | None = None
    done: bool = True
    path_labels: AnyArray = NONE
    on_path: IntArray = NONE
    pending_adds: IntArray = NONE
    pending_removals: IntArray = NONE
    stale: bool = False  # whether costs have yet to move
    n_rebuilt: int = 0
    n_changed: int = 0
    consolidated: bool = False  # whether a better minimum was looked for, at the last rebuild
    value_rebuilt: float = np.nan  # of (1), a unit of price; NaN until the next operation ends
    steps: int = 0  # of earlier paths
    flips: int = 0
    iterations: int = 0  # of batch trainings
    lost: float = 0.0  # the violation of a start at which rounding ended training
    history: tuple[HistoryEntry, ...] = ()

    @classmethod
    def without_path(
        cls,
        class_objective: SemiSupervised,
        kernel: Kernel,
        rows: RowStore,
        shift: FloatArray | None,
        *,
        version: int = 0,
        **known: Any,
    ) -> PathState:
        """Over rows that no path follows so far."""
        known = {"n_rebuilt": len(rows), **known}
        path_labels = np.full(rows.n_places, ABSENT)
        return cls(version, class_objective, kernel, rows, shift, path_labels=path_labels, **known)

    def target_labels(self) -> FloatArray:
        """Return labels at all places that a path has to follow; ``ABSENT`` where no row is."""
        rows = self.rows
        return rows["label"] if rows.has_all_rows else np.where(rows.alive, rows["label"], ABSENT)

    def with_path_labels(self, places: IntArray, label: FloatArray | float) -> FloatArray:
        """``path_labels`` once the path follows other labels at some places."""
        path_labels = self.path_labels.copy()
        path_labels[places] = label
        return path_labels

    def current_solution(self, n_jobs: int) -> PathSolution:
        """Return the function at every place."""
        path, rows = self.path, self.rows
        if self.start is not None:
            return self._solution_at_start(n_jobs)
        n = rows.n_places
        a, coef, f = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        if path is None:
            labels = np.unique(rows["label"][rows.alive & (rows["label"] != 0)])
            multiplier = -float(labels[0]) if len(labels) else 0.0
            return PathSolution(a, coef, np.full(n, -multiplier), 0.0, multiplier)
        on_path, in_mean, h = self.on_path, path.signs != 0, path.h
        a[on_path] = path.a
        coef[on_path] = path.a + in_mean * (path.virtual / max(1, in_mean.sum()))
        f[on_path] = h
        at_zero = in_mean & (np.abs(h) <= _ZERO_DECISION)
        f[on_path[at_zero]] = path.signs[at_zero] * np.finfo(float).tiny
        return PathSolution(a, coef, f, path.virtual, path.multiplier)

    def _solution_at_start(self, n_jobs: int) -> PathSolution:
        """Return the function of the start."""
        start, rows = self.start, self.rows
        assert start is not None
        places, label, weight = rows.places, rows["label"], rows["weight"]
        a = np.zeros(rows.n_places)
        a[: len(start.a)] = start.a
        a[~rows.alive] = 0.0
        coef, f = a.copy(), np.full(len(a), np.nan)
        free = places[label[places] == 0]
        if self.target() is not None and len(free):
            coef[free] += start.virtual * weight[free] / weight[free].sum()
        support = np.flatnonzero(coef)
        f[places] = -start.multiplier
        if len(support):
            expansion = Expansion(
                self.kernel, self.kernel_rows(support), coef[support], n_jobs=n_jobs
            )
            f[places] += expansion(self.kernel_rows(places))
        return PathSolution(a, coef, f, start.virtual, start.multiplier)

    def is_due(self, value: Callable[[], float], by_itself: bool = False) -> bool:
        """Return whether enough has changed for another rebuild; ``value`` gives the value of (1).

        ``by_itself``: also for the first time after batch training, which tries one way only.
        """
        share = self.n_changed / max(2, self.n_rebuilt)
        if not _DUE_SHARE_IF_GROWN <= share < _DUE_SHARE:
            return share >= _DUE_SHARE
        by_itself = by_itself and not self.consolidated
        return by_itself or bool(value() > _DUE_GROWTH * self.value_rebuilt)

    def target(self) -> float | None:
        """Return the mean of f over the unlabelled rows; None for no constraint."""
        rows = self.rows
        known = np.flatnonzero(rows.alive & (rows["label"] != 0))
        return self.class_objective.target(rows["label"][known], rows["weight"][known])

    def penalties(self, places: IntArray) -> RowPenalties:
        """RowPenalties of the rows at some places."""
        return self.class_objective.penalties(
            self.rows["label"][places], self.rows["weight"][places]
        )

    def kernel_rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places, as the kernel sees them."""
        return centered(self.rows.rows(places), self.shift)

    def start_from_path(self) -> Start:
        """Return a start where the path stands."""
        path, n = self.path, self.rows.n_places
        assert path is not None
        a, sign = np.zeros(n), np.zeros(n)
        if len(path) == len(self.on_path):
            a[self.on_path], sign[self.on_path] = path.a, path.signs
        numbers = np.append(a, [path.virtual, path.multiplier])
        numbers[~np.isfinite(numbers)] = 0.0
        return Start(numbers[:-2], sign, float(numbers[-2]), float(numbers[-1]))

    def plain_start(self, n_jobs: int) -> dict[str, Any] | None:
        """Return the path's position, or start, as plain values; None before there is a label."""
        if self.start is not None:
            start = self.start_at(self.rows.places)
        elif self.path is not None:
            at = self.current_solution(n_jobs).at(self.rows.places)
            start = Start(at.a, at.f, at.virtual, at.multiplier)
        else:
            return None
        sign = np.where(start.sign < 0, -1, 1).astype(np.int8)
        numbers = {"virtual": float(start.virtual), "multiplier": float(start.multiplier)}
        return {"a": start.a, "sign": sign, **numbers}

    def start_at(self, places: IntArray) -> Start:
        """Return the start at some places; rows that came after it have no part."""
        start = self.start
        assert start is not None
        a, sign, known = np.zeros(len(places)), np.zeros(len(places)), places < len(start.a)
        a[known], sign[known] = start.a[places[known]], start.sign[places[known]]
        return Start(a, sign, start.virtual, start.multiplier)

    def renumbered(self, rows: RowStore, place: IntArray) -> PathState:
        """Return the state where rows have moved to the places ``place``; -1 for removed rows."""
        kept = np.flatnonzero(place >= 0)
        return self._replace(
            rows=rows,
            start=self.start and self.start_at(kept),
            on_path=place[self.on_path],
            path_labels=self.path_labels[kept],
        )

    def with_rows(self, rows: RowStore, n_changed: int = 0) -> PathState:
        """Return the state with changed rows or labels, which the path has yet to follow."""
        new = np.full(rows.n_places - len(self.path_labels), ABSENT)
        return self._replace(
            version=self.version + 1,
            rows=rows,
            n_changed=self.n_changed + n_changed,
            path_labels=np.append(self.path_labels, new),
        )


def both_classes(label: AnyArray) -> bool:
    """Return whether both classes are among some labels."""
    return bool(np.any(label > 0) and np.any(label < 0))
