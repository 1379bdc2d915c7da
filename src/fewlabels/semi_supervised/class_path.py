"""The path of one function of an S3VM: two classes have one, several have one for each class.

Rows change at once; the path may lag behind when its steps are limited. So it compares the labels
that it follows with those that rows have, and each operation takes it nearer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from ..kernels import centered
from ..kernels.base import Kernel
from ..kernels.operators import Expansion, GramOperator
from ..problem.penalty import RowPenalties
from ..rows.row_store import RowStore, run_until_current
from ..solvers import Result, Status
from ..solvers.path import PathFollower
from ..solvers.run import HistoryEntry
from . import path_starts
from .data import S3VMData, S3VMSolution
from .path_starts import Start
from .problem import SemiSupervised
from .sign_relaxation import SignSolution

# Entries of rounds and operations.
History: TypeAlias = list[HistoryEntry]
# Builds a path over rows: the path, and its rows in its order.
BuildPath: TypeAlias = Callable[[path_starts.PathRows], tuple[PathFollower, IntArray]]

_HISTORY_KEPT = 1000
_SAVED_OPTIONS = ("balance_update", "cache_size", "n_jobs", "path_order")
# Decisions of unlabelled rows this small may have either sign.
_ZERO_DECISION = 1e-9
NONE: IntArray = np.zeros(0, np.int64)
# In place of the label of a row that is gone, or not on the path.
_ABSENT = 2.0
# A rebuild is due when as many rows came, went or changed as this share of those at the last one.
_DUE_SHARE = 0.5
# It is also due from this smaller share on, ...
_DUE_SHARE_IF_GROWN = 0.05
# ... if the value of (1) for a unit of cost has grown by this factor.
_DUE_GROWTH = 1.05


@dataclass
class PathOptions:
    """Options that all paths of a stream share; they hold the same object.

    ``cache_size`` are the bytes for kernel columns of each path, and operations stop at the
    ``deadline``. Rows of an update change as a block, or "one-by-one" in their order.
    """

    balance_update: str = "keep"
    cache_size: float = 200e6
    n_jobs: int = 1
    path_order: str = "block"
    deadline: Deadline = ENDLESS

    def saved(self) -> dict[str, Any]:
        """Return the options that a saved path keeps, by name."""
        return {name: getattr(self, name) for name in _SAVED_OPTIONS}

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> Self:
        """Return the options from the parameters of a saved path."""
        return cls(**{name: saved[name] for name in _SAVED_OPTIONS})


class PathSolution(NamedTuple):
    """The current function of a path: values at places, shape (n_places,).

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


@dataclass(frozen=True, eq=False)
class ClassPath:
    """A function of an S3VM, and the path that follows the rows which others change.

    Nobody sets an attribute alone: ``_set`` replaces all of them at once, so that an interruption
    leaves the old state or the new one. Only ``path`` changes by itself.

    ``rows`` are the rows of the stream, which all of its paths share; ``label`` has +1, -1, and 0
    for none, at all their places. ``path_labels`` are the labels that the path follows; it doesn't
    have rows marked ``_ABSENT``, or at places beyond the last. ``on_path`` are places in the
    path's order. Rows join or leave with a delay under ``balance_update="paper"``: those at
    ``pending_adds`` and ``pending_removals`` have yet to do so. ``start`` is where the next path
    begins, while there is none.
    """

    options: PathOptions
    class_objective: SemiSupervised  # what is minimised
    kernel: Kernel
    rows: RowStore
    label: FloatArray
    shift: FloatArray | None
    n_rebuilt: int  # rows at the last rebuild
    version: int = 0  # goes up with every change
    path: PathFollower | None = None
    start: Start | None = None
    done: bool = True  # whether the path has caught up
    path_labels: AnyArray = field(default_factory=lambda: NONE)
    on_path: IntArray = field(default_factory=lambda: NONE)
    pending_adds: IntArray = field(default_factory=lambda: NONE)
    pending_removals: IntArray = field(default_factory=lambda: NONE)
    stale: bool = False  # whether costs have yet to move
    n_changed: int = 0
    consolidated: bool = False  # whether a better minimum was looked for, at the last rebuild
    value_rebuilt: float = np.nan  # of (1), a unit of cost; NaN until the next operation ends
    steps_before: int = 0  # of earlier paths
    flips_before: int = 0
    iterations: int = 0  # of batch trainings
    lost: float = 0.0  # the violation of a start at which rounding ended training
    history_before: tuple[HistoryEntry, ...] = ()

    def _set(self, **changes: Any) -> None:
        """Change attributes, all at once."""
        state = {**vars(self), "version": self.version + 1, **changes}
        object.__setattr__(self, "__dict__", state)

    # -- what others read -----------------------------------------------------------------------

    @property
    def has_path(self) -> bool:
        return self.path is not None

    @property
    def has_start(self) -> bool:
        """bool: Whether it is known where the next path begins."""
        return self.start is not None

    @property
    def training_labels(self) -> tuple[FloatArray, FloatArray]:
        """Labels and weights of the training rows."""
        places = self.rows.places
        return self.label[places], self.rows["weight"][places]

    @property
    def ready(self) -> bool:
        """bool: Whether both classes have a label."""
        return both_classes(self.label[self.rows.places])

    @property
    def due(self) -> bool:
        """bool: Whether enough has changed since the last rebuild for another."""
        return self._is_due(by_itself=False)

    @property
    def due_by_itself(self) -> bool:
        """bool: Like ``due``, or the first time after batch training, which tries one way only."""
        return self._is_due(by_itself=True)

    def _is_due(self, by_itself: bool) -> bool:
        share = self.n_changed / max(2, self.n_rebuilt)
        if not _DUE_SHARE_IF_GROWN <= share < _DUE_SHARE:
            return share >= _DUE_SHARE
        by_itself = by_itself and not self.consolidated
        return by_itself or bool(self._value() > _DUE_GROWTH * self.value_rebuilt)

    def _value(self) -> float:
        """Return the value of (1) for a unit of cost; NaN on the way."""
        value, _ = self.certificate(self.current_solution())
        return value / self.class_objective.cost(*self.training_labels).sum()

    # Of this path and those before; iterations and history of batch trainings too.

    @property
    def n_steps(self) -> int:
        return self.steps_before + (0 if self.path is None else self.path.n_steps)

    @property
    def n_flips(self) -> int:
        return self.flips_before + (0 if self.path is None else self.path.n_flips)

    @property
    def n_iter(self) -> int:
        return self.iterations + self.n_steps

    @property
    def history(self) -> History:
        entries = [] if self.path is None else self.path.history
        return [*self.history_before, *entries][-_HISTORY_KEPT:]

    def rounding_violation(self, tol: float) -> float:
        """The violation at the end of the path where rounding keeps it above ``tol``, else 0."""
        path = self.path
        if not self.done or (path is not None and path.resolution <= tol):
            return 0.0
        violation = self.lost if path is None else path.violation()
        return violation if violation > tol else 0.0

    def kernel_rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places, as the kernel sees them."""
        return centered(self.rows.rows(places), self.shift)

    def current_solution(self) -> PathSolution:
        """Return the function at every place, a ``PathSolution``."""
        path, rows = self.path, self.rows
        if self.start is not None:
            return self._solution_at_start(self.start)
        n = rows.n_places
        a, coef, f = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        if path is None:
            labels = np.unique(self.label[rows.alive & (self.label != 0)])
            multiplier = -float(labels[0]) if len(labels) else 0.0
            return PathSolution(a, coef, np.full(n, -multiplier), 0.0, multiplier)
        on_path, in_mean, h = self.on_path, path.signs != 0, path.h
        a[on_path] = path.a
        coef[on_path] = path.a + in_mean * (path.virtual / max(1, in_mean.sum()))
        f[on_path] = h
        at_zero = in_mean & (np.abs(h) <= _ZERO_DECISION)
        f[on_path[at_zero]] = path.signs[at_zero] * np.finfo(float).tiny
        return PathSolution(a, coef, f, path.virtual, path.multiplier)

    def _solution_at_start(self, start: Start) -> PathSolution:
        """Return the function of the start."""
        rows, label, places = self.rows, self.label, self.rows.places
        weight = rows["weight"]
        a = np.zeros(rows.n_places)
        a[: len(start.a)] = start.a
        a[~rows.alive] = 0.0
        coef, f = a.copy(), np.full(len(a), np.nan)
        free = places[label[places] == 0]
        if self._target() is not None and len(free):
            coef[free] += start.virtual * weight[free] / weight[free].sum()
        support = np.flatnonzero(coef)
        f[places] = -start.multiplier
        if len(support):
            expansion = Expansion(
                self.kernel, self.kernel_rows(support), coef[support], n_jobs=self.options.n_jobs
            )
            f[places] += expansion(self.kernel_rows(places))
        return PathSolution(a, coef, f, start.virtual, start.multiplier)

    def certificate(self, solution: PathSolution) -> tuple[float, float]:
        """Return the value of (1) and the largest violation of its optimality conditions."""
        places, class_objective = self.rows.places, self.class_objective
        label, weight = self.training_labels
        known = np.concatenate([places, self.pending_removals])
        norm = float(solution.coef[known] @ (solution.f[known] + solution.multiplier))
        f, free = solution.f[places], np.flatnonzero(label == 0)
        target = self._target() if len(free) and both_classes(label) else None
        worst = class_objective.violation(label, weight, solution.a[places], f, target)
        return class_objective.objective(label, weight, norm, f), worst

    def training_data(self, make_gram: Callable[[RowMatrix], GramOperator]) -> S3VMData:
        """Return the training rows for batch training.

        ``make_gram`` makes an operator over rows.
        """
        rows = self.kernel_rows(self.rows.places)
        return S3VMData.from_gram(make_gram(rows), self.class_objective, *self.training_labels)

    def _target(self) -> float | None:
        """Return the mean of f over the unlabelled rows; None for no constraint."""
        known = np.flatnonzero(self.rows.alive & (self.label != 0))
        return self.class_objective.target(self.label[known], self.rows["weight"][known])

    def _penalties(self, places: IntArray) -> RowPenalties:
        return self.class_objective.penalties(self.label[places], self.rows["weight"][places])

    # -- what changes ---------------------------------------------------------------------------

    def reprice(self, C: float, C_star: float) -> None:
        """Let costs move steadily to other values."""
        class_objective = replace(self.class_objective, C=float(C), C_star=float(C_star))
        self._set(class_objective=class_objective, stale=self.has_path)

    def run(self, max_steps: int | None = None) -> bool:
        """Let the path catch up. Returns whether it has, within ``max_steps``.

        After an exception there is no path but a start for another one.
        """
        self._set()  # what was known of the function is no longer so
        try:
            if not self.has_path:
                if not self.ready:
                    return True
                self.begin()
            path = self.path
            assert path is not None
            done = run_until_current(path, self._next, max_steps, self.options.deadline)
            self._sync_membership()
            self._set(done=done)
            if done and np.isnan(self.value_rebuilt):
                self._set(value_rebuilt=self._value())
        except BaseException:
            self.stop()
            raise
        return self.done

    def _next(self, max_steps: int | None) -> bool | None:
        """Start the operation that takes the path nearer to the rows; None if it is there.

        In blocks labelled rows join before others. Rows join before others leave.
        """
        self._sync_membership()
        path, n_places, on_path = self.path, self.rows.n_places, self.on_path
        assert path is not None
        path_labels = np.full(n_places, _ABSENT)
        path_labels[: len(self.path_labels)] = self.path_labels
        target_labels = self._target_labels()
        differ = np.flatnonzero(target_labels != path_labels)
        if not len(differ) and not self.stale:
            return None
        budget: dict[str, Any] = {"target": self._target(), "max_steps": max_steps}
        if not len(differ):
            self._set(stale=False, pending_removals=NONE)
            return path.move(np.arange(len(on_path)), self._penalties(on_path), **budget)
        budget["block"] = self.options.path_order == "block"
        new = differ[path_labels[differ] == _ABSENT]
        gone = differ[target_labels[differ] == _ABSENT]
        if len(new):
            if budget["block"]:
                new, budget["block"] = self._in_blocks(new, target_labels[new] != 0)
            places, pending = new, {"pending_adds": new}
        elif len(gone):
            places, pending = gone, {"pending_removals": gone}
        else:
            places, pending = differ, {"pending_removals": NONE}
        path_labels[places] = target_labels[places]
        self._set(path_labels=path_labels, **pending)
        if len(new):
            return path.add(self.kernel_rows(new), self._penalties(new), **budget)
        indices = np.full(n_places, -1)
        indices[on_path] = np.arange(len(on_path))
        if len(gone):
            return path.remove(indices[gone], **budget)
        return path.change(indices[differ], self._penalties(differ), **budget)

    def _target_labels(self) -> FloatArray:
        """Return labels at all places that a path has to follow; ``_ABSENT`` where no row is."""
        rows = self.rows
        return self.label if rows.has_all_rows else np.where(rows.alive, self.label, _ABSENT)

    def _in_blocks(
        self, new: IntArray, is_labelled: BoolArray
    ) -> tuple[IntArray, bool | list[int]]:
        """Return new rows that join now, and in which blocks: labelled ones first, by themselves.

        Where that would take out the balancing constraint and put it back twice, all join now.
        """
        known, others = new[is_labelled], new[~is_labelled]
        if not len(known) or not len(others):
            return new, True
        if self.options.balance_update == "keep":
            return known, True
        return np.concatenate([known, others]), [len(known), len(others)]

    def _sync_membership(self) -> None:
        """Note which of the rows that join or leave have done so, the first ones of several.

        Where they are many, or ``balance_update="paper"``, some do so later.
        """
        path, on_path = self.path, self.on_path
        assert path is not None
        if len(path) == len(on_path):
            return
        if len(self.pending_adds):
            joined = len(path) - len(on_path)
            self._set(
                on_path=np.append(on_path, self.pending_adds[:joined]),
                pending_adds=self.pending_adds[joined:],
                pending_removals=NONE,
            )
        else:
            n_gone = len(on_path) - len(path)
            stays = np.ones(self.rows.n_places, bool)
            stays[self.pending_removals[:n_gone]] = False
            self._set(
                on_path=on_path[stays[on_path]], pending_removals=self.pending_removals[n_gone:]
            )

    def mark_rebuilt(self, consolidated: bool = False) -> None:
        """Count changes from now on."""
        self._set(
            n_rebuilt=len(self.rows), n_changed=0, value_rebuilt=np.nan, consolidated=consolidated
        )

    # -- where a path begins and ends -----------------------------------------------------------

    def begin(self, build: BuildPath | None = None) -> None:
        """Begin the path at its start, or else ``build`` one (None: row by row)."""
        places, options = self.rows.places, self.options
        label, weight = self.training_labels
        self.class_objective.check_weight(label, weight)
        arguments = {
            "balance": None if self.class_objective.balance is False else options.balance_update,
            "deadline": options.deadline,
            "cache_size": options.cache_size,
            "n_jobs": options.n_jobs,
        }
        rows = path_starts.PathRows(
            self.kernel, self.kernel_rows(places), label, weight, self.class_objective, arguments
        )
        if self.start is not None:
            path, order = path_starts.start_at_solution(rows, self.start.at(places))
        else:
            self.mark_rebuilt()
            path, order = (build or path_starts.build_row_by_row)(rows)
        # Rows that a deadline has kept out join later.
        here, later = order[: len(path)], order[len(path) :]
        self._set(
            path=path,
            path_labels=self._target_labels().copy(),
            on_path=places[here],
            pending_adds=places[later],
            start=None,
            stale=False,
            done=path.finished,
        )

    def start_from(self, found: S3VMSolution, done: bool = True) -> None:
        """Let the path begin at the outcome of a batch training of the training rows."""
        is_lost = found.result.status is Status.STALLED
        self._set(
            lost=found.violation if is_lost else 0.0,
            start=self._start_from_result(found.result, found.sign),
            iterations=self.iterations + found.result.n_iter,
            history_before=(*self.history_before, *found.result.history),
            done=done,
        )

    def _start_from_result(self, result: Result | SignSolution, sign: FloatArray) -> Start:
        n, places = len(self.rows), self.rows.places
        a, signs = np.zeros(self.rows.n_places), np.ones(self.rows.n_places)
        a[places], signs[places] = result.a[:n], sign
        virtual = float(result.a[n]) if len(result.a) > n else 0.0
        return Start(a, signs, virtual, float(result.multiplier))

    def current_start(self) -> Start | None:
        """Return where another path would begin, at all places; None if nothing is known of it."""
        path, n = self.path, self.rows.n_places
        if path is None:
            return self.start
        a, sign = np.zeros(n), np.zeros(n)
        if len(path) == len(self.on_path):
            # A row that was labelled, and has yet to change on the path, has no sign there.
            side = np.where(path.h < 0.0, -1, 1)
            a[self.on_path] = path.a
            sign[self.on_path] = np.where(path.signs == 0, side, path.signs)
        numbers = np.append(a, [path.virtual, path.multiplier])
        numbers[~np.isfinite(numbers)] = 0.0
        return Start(numbers[:-2], sign, float(numbers[-2]), float(numbers[-1]))

    def last_signs(self) -> FloatArray | None:
        """Return signs of the training rows where the path was given up; None without a start.

        0 for rows that have a label, or came after it.
        """
        if self.start is None:
            return None
        label, _ = self.training_labels
        return np.where(label == 0, self.start.at(self.rows.places).sign, 0.0)

    def stop(self) -> None:
        """Give up the path. The next one starts from its position."""
        if not self.has_path:
            self._set(done=False)
            return
        self._sync_membership()
        self._set(
            start=self.current_start(),
            path=None,
            done=False,
            stale=False,
            path_labels=NONE,
            on_path=NONE,
            pending_adds=NONE,
            pending_removals=NONE,
            steps_before=self.n_steps,
            flips_before=self.n_flips,
            history_before=tuple(self.history),
        )

    def restart_from(self, solution: SignSolution) -> None:
        """Begin another path of the same rows at a SignSolution."""
        other = self.new_path()
        other._set(start=other._start_from_result(solution, solution.sign))
        other.begin()
        other._set(
            n_rebuilt=self.n_rebuilt, n_changed=self.n_changed, value_rebuilt=self.value_rebuilt
        )
        self.replace_with(other)

    def replace_with(self, other: ClassPath) -> None:
        """Continue as another path of these rows does."""
        self._set(**{**vars(other), "version": self.version + 1})

    # -- other paths ----------------------------------------------------------------------------

    def with_rows(
        self,
        rows: RowStore,
        label: FloatArray,
        *,
        n_changed: int = 0,
        place: IntArray | None = None,
        shift: FloatArray | None = None,
    ) -> ClassPath:
        """Return the path over changed rows or labels, which it has yet to follow.

        It replaces this one. ``place`` are the new places of rows that have moved, -1 for removed
        ones; ``shift`` is taken from rows with more columns.
        """
        changes: dict[str, Any] = {"rows": rows, "label": label}
        if shift is not None:
            changes["shift"] = shift
        if place is not None:
            kept = np.flatnonzero(place >= 0)
            changes["start"] = None if self.start is None else self.start.at(kept)
            changes["on_path"] = place[self.on_path]
            changes["path_labels"] = self.path_labels[kept[kept < len(self.path_labels)]]
        return replace(
            self, version=self.version + 1, n_changed=self.n_changed + n_changed, **changes
        )

    def new_path(self, kernel: Kernel | None = None) -> ClassPath:
        """Return a path of the same rows that hasn't begun, perhaps under another kernel."""
        return ClassPath(
            self.options,
            self.class_objective,
            self.kernel if kernel is None else kernel,
            self.rows,
            self.label,
            self.shift,
            n_rebuilt=len(self.rows),
            steps_before=self.n_steps,
            flips_before=self.n_flips,
            iterations=self.iterations,
            history_before=tuple(self.history),
        )

    def mirrored(self, class_objective: SemiSupervised) -> ClassPath:
        """Return the path of the other class, which starts at the negative of this function."""
        start = self.current_start()
        return ClassPath(
            self.options,
            class_objective,
            self.kernel,
            self.rows,
            -self.label,
            self.shift,
            n_rebuilt=self.n_rebuilt,
            start=None if start is None else start.negative(),
            n_changed=self.n_changed,
            value_rebuilt=self.value_rebuilt,
        )

    def annealed(self) -> ClassPath:
        """Return a path for which C* went down from here, and back.

        Only one of the two may continue.
        """
        if self.path is None:
            raise ArithmeticError("no path has begun")
        path = self.path.copy()
        path.deadline = self.options.deadline
        weight = self.rows["weight"][self.on_path[path.signs != 0]]
        done = path_starts.anneal_path(path, self.class_objective, weight)
        return replace(self, path=path, done=done)

    # -- saving ---------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Return counts and where the next path starts, as plain values; without rows and path."""
        class_objective, start = self.class_objective, self.current_start()
        costs = {name: getattr(class_objective, name) for name in ("C", "C_star", "balance")}
        return {
            "kernel": self.kernel,
            "parameters": {**costs, **self.options.saved()},
            "start": None if start is None else start.at(self.rows.places).saved(),
            "done": self.done,
            "version": self.version,
            "steps": self.n_steps,
            "flips": self.n_flips,
            "iterations": int(self.iterations),
            "rows_at_training": int(self.n_rebuilt),
            "changed_since": int(self.n_changed),
            "value_at_training": float(self.value_rebuilt),
            "consolidated": self.consolidated,
            "history": json.dumps(self.history, default=float),
        }

    @classmethod
    def restored(
        cls,
        saved: dict[str, Any],
        options: PathOptions,
        rows: RowStore,
        label: FloatArray,
        shift: FloatArray | None,
    ) -> Self:
        """Return the path that was ``saved``, over its rows."""
        start, parameters = saved["start"], saved["parameters"]
        return cls(
            options,
            SemiSupervised(*(parameters[name] for name in ("C", "C_star", "balance"))),
            saved["kernel"],
            rows,
            label,
            shift,
            n_rebuilt=saved["rows_at_training"],
            version=saved["version"],
            start=None if start is None else Start(**start),
            done=saved["done"],
            n_changed=saved["changed_since"],
            consolidated=saved["consolidated"],
            value_rebuilt=saved["value_at_training"],
            steps_before=saved["steps"],
            flips_before=saved["flips"],
            iterations=saved["iterations"],
            history_before=tuple(json.loads(saved["history"])),
        )


def both_classes(label: AnyArray) -> bool:
    """Return whether both classes are among some labels."""
    return bool(np.any(label > 0) and np.any(label < 0))
