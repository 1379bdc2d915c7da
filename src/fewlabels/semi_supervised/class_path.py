"""The path of one function of an S3VM: two classes have one, several have one for each class.

Rows change at once; the path may lag behind when its steps are limited. So it compares the labels
that it follows with those that rows have, and each operation takes it nearer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self, TypeAlias

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import ENDLESS, Deadline
from ..kernels.base import Kernel
from ..kernels.operators import GramOperator
from ..rows.row_store import RowStore, run_until_current
from ..solvers import Result, Status
from ..solvers.path import PathFollower
from ..solvers.run import HistoryEntry
from . import path_starts
from .data import S3VMData, S3VMSolution
from .path_starts import Start
from .path_state import ABSENT, NONE, PathSolution, PathState, both_classes
from .problem import SemiSupervised
from .sign_relaxation import SignSolution

# Entries of rounds and operations.
History: TypeAlias = list[HistoryEntry]
# Builds a path over rows: the path, and its rows in its order.
BuildPath: TypeAlias = Callable[[path_starts.PathRows], tuple[PathFollower, IntArray]]

_HISTORY_KEPT = 1000


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


class ClassPath:
    """A function of an S3VM, and the path that follows the rows which others change.

    ``state`` is a ``PathState``, whose rows have the labels +1, -1 and 0 for none.
    """

    def __init__(self, options: PathOptions, state: PathState) -> None:
        self.options, self._now = options, state

    def _set(self, **changes: Any) -> None:
        now = self._now
        self._now = now._replace(version=now.version + 1, **changes)

    # -- what others read -----------------------------------------------------------------------

    state = property(attrgetter("_now"))
    version = property(attrgetter("_now.version"))  # goes up with every change
    class_objective = property(attrgetter("_now.class_objective"))  # what is minimised
    kernel = property(attrgetter("_now.kernel"))
    rows = property(attrgetter("_now.rows"))  # not to be changed
    done = property(attrgetter("_now.done"))  # whether the path has caught up
    # Places of rows on their way out.
    pending_removals = property(attrgetter("_now.pending_removals"))

    @property
    def has_path(self) -> bool:
        return self._now.path is not None

    @property
    def has_start(self) -> bool:
        """bool: Whether it is known where the next path begins."""
        return self._now.start is not None

    @property
    def training_labels(self) -> tuple[FloatArray, FloatArray]:
        """Labels and weights of the training rows."""
        rows = self.rows
        return rows["label"][rows.places], rows["weight"][rows.places]

    @property
    def ready(self) -> bool:
        """bool: Whether both classes have a label."""
        return both_classes(self.rows["label"][self.rows.places])

    # Whether enough has changed since the last rebuild for another; or, by itself, for the first.
    due = property(lambda self: self._now.is_due(self._value))
    due_by_itself = property(lambda self: self._now.is_due(self._value, by_itself=True))

    def _value(self) -> float:
        """Return the value of (1) for a unit of cost; NaN on the way."""
        value, _ = self.certificate(self.current_solution())
        return value / self.class_objective.cost(*self.training_labels).sum()

    # Of this path and those before; iterations and history of batch trainings too.

    @property
    def n_steps(self) -> int:
        path = self._now.path
        return self._now.steps + (0 if path is None else path.n_steps)

    @property
    def n_flips(self) -> int:
        path = self._now.path
        return self._now.flips + (0 if path is None else path.n_flips)

    @property
    def n_iter(self) -> int:
        return self._now.iterations + self.n_steps

    @property
    def history(self) -> History:
        path = self._now.path
        entries = [] if path is None else path.history
        return [*self._now.history, *entries][-_HISTORY_KEPT:]

    def rounding_violation(self, tol: float) -> float:
        """The violation at the end of the path where rounding keeps it above ``tol``, else 0."""
        path = self._now.path
        if not self.done or (path is not None and path.resolution <= tol):
            return 0.0
        violation = self._now.lost if path is None else path.violation()
        return violation if violation > tol else 0.0

    def current_solution(self) -> PathSolution:
        """Return the function at every place, a ``PathSolution``."""
        return self._now.current_solution(self.options.n_jobs)

    def certificate(self, solution: PathSolution) -> tuple[float, float]:
        """Return the value of (1) and the largest violation of its optimality conditions."""
        places, class_objective = self.rows.places, self.class_objective
        label, weight = self.training_labels
        known = np.concatenate([places, self.pending_removals])
        norm = float(solution.coef[known] @ (solution.f[known] + solution.multiplier))
        f, free = solution.f[places], np.flatnonzero(label == 0)
        target = self._now.target() if len(free) and both_classes(label) else None
        worst = class_objective.violation(label, weight, solution.a[places], f, target)
        return class_objective.objective(label, weight, norm, f), worst

    def training_data(self, make_gram: Callable[[RowMatrix], GramOperator]) -> S3VMData:
        """Return the training rows for batch training.

        ``make_gram`` makes an operator over rows.
        """
        rows = self._now.kernel_rows(self.rows.places)
        return S3VMData.from_gram(make_gram(rows), self.class_objective, *self.training_labels)

    # -- what changes ---------------------------------------------------------------------------

    def with_rows(self, rows: RowStore, n_changed: int = 0) -> ClassPath:
        """Return the path over changed rows, which replaces this one."""
        return ClassPath(self.options, self._now.with_rows(rows, n_changed))

    def renumbered(self, rows: RowStore, place: IntArray) -> ClassPath:
        """Return the path with rows moved to the places ``place``, which replaces this one."""
        return ClassPath(self.options, self._now.renumbered(rows, place))

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
            path = self._now.path
            assert path is not None
            done = run_until_current(path, self._next, max_steps, self.options.deadline)
            self._sync_membership()
            self._set(done=done)
            if done and np.isnan(self._now.value_rebuilt):
                self._set(value_rebuilt=self._value())
        except BaseException:
            self._set(**self._without_path())
            raise
        return self.done

    def _next(self, max_steps: int | None) -> bool | None:
        """Start the operation that takes the path nearer to the rows; None if it is there.

        In blocks labelled rows join before others. Rows join before others leave.
        """
        self._sync_membership()
        now = self._now
        target_labels = now.target_labels()
        differ = np.flatnonzero(target_labels != now.path_labels)
        if not len(differ) and not now.stale:
            return None
        path, on_path = now.path, now.on_path
        assert path is not None
        budget: dict[str, Any] = {"target": now.target(), "max_steps": max_steps}
        if not len(differ):
            self._set(stale=False, pending_removals=NONE)
            return path.move(np.arange(len(on_path)), now.penalties(on_path), **budget)
        budget["block"] = in_blocks = self.options.path_order == "block"
        new = differ[now.path_labels[differ] == ABSENT]
        if len(new):
            if in_blocks:
                new, budget["block"] = self._in_blocks(new, target_labels[new] != 0)
            self._set(pending_adds=new, path_labels=now.with_path_labels(new, target_labels[new]))
            return path.add(now.kernel_rows(new), now.penalties(new), **budget)
        where = np.full(now.rows.n_places, -1)
        where[on_path] = np.arange(len(on_path))
        gone = differ[target_labels[differ] == ABSENT]
        if len(gone):
            self._set(pending_removals=gone, path_labels=now.with_path_labels(gone, ABSENT))
            return path.remove(where[gone], **budget)
        self._set(
            pending_removals=NONE, path_labels=now.with_path_labels(differ, target_labels[differ])
        )
        return path.change(where[differ], now.penalties(differ), **budget)

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
        now, path = self._now, self._now.path
        assert path is not None
        if len(path) == len(now.on_path):
            return
        if len(now.pending_adds):
            joined = len(path) - len(now.on_path)
            on_path = np.append(now.on_path, now.pending_adds[:joined])
            self._set(
                on_path=on_path, pending_adds=now.pending_adds[joined:], pending_removals=NONE
            )
        else:
            n_gone = len(now.on_path) - len(path)
            stays = np.ones(now.rows.n_places, bool)
            stays[now.pending_removals[:n_gone]] = False
            on_path = now.on_path[stays[now.on_path]]
            self._set(on_path=on_path, pending_removals=now.pending_removals[n_gone:])

    # -- where a path begins ----------------------------------------------------------------------

    def begin(self, build: BuildPath | None = None) -> None:
        """Begin the path where it is known to start, or build one, row by row if not told how."""
        now, places = self._now, self.rows.places
        label, weight = self.training_labels
        self.class_objective.check_weight(label, weight)
        options = {
            "balance": None
            if self.class_objective.balance is False
            else self.options.balance_update,
            "deadline": self.options.deadline,
            "cache_size": self.options.cache_size,
            "n_jobs": self.options.n_jobs,
        }
        rows = path_starts.PathRows(
            self.kernel, now.kernel_rows(places), label, weight, self.class_objective, options
        )
        if self.has_start:
            path, order = path_starts.start_at_solution(rows, now.start_at(places))
        else:
            self.mark_rebuilt()
            path, order = (build or path_starts.build_row_by_row)(rows)
        # Rows that a deadline has kept out join later.
        here, later = order[: len(path)], order[len(path) :]
        self._set(
            path=path,
            path_labels=now.target_labels().copy(),
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
            start=self._start(found.result, found.sign),
            iterations=self._now.iterations + found.result.n_iter,
            history=(*self._now.history, *found.result.history),
            done=done,
        )

    def _start(self, result: Result | SignSolution, sign: FloatArray) -> Start:
        rows = self.rows
        n, places = len(rows), rows.places
        a, signs = np.zeros(rows.n_places), np.ones(rows.n_places)
        a[places], signs[places] = result.a[:n], sign
        virtual = float(result.a[n]) if len(result.a) > n else 0.0
        return Start(a, signs, virtual, float(result.multiplier))

    def restart_from(self, solution: SignSolution) -> None:
        """Begin another path of the same rows at a SignSolution."""
        other = self.new_path()
        other._set(start=other._start(solution, solution.sign))
        other.begin()
        now = self._now
        other._set(
            n_rebuilt=now.n_rebuilt, n_changed=now.n_changed, value_rebuilt=now.value_rebuilt
        )
        self.replace_with(other)

    def last_signs(self) -> FloatArray | None:
        """Return signs of the training rows where the path was given up; None without a start."""
        return self._now.start_at(self.rows.places).sign if self.has_start else None

    def _without_path(self) -> dict[str, Any]:
        """Return the changes that drop the path. The next path starts from its position."""
        if not self.has_path:
            return {"done": False}
        self._sync_membership()
        return {
            "start": self._now.start_from_path(),
            "path": None,
            "done": False,
            "stale": False,
            "path_labels": np.full(self.rows.n_places, ABSENT),
            "on_path": NONE,
            "pending_adds": NONE,
            "pending_removals": NONE,
            "steps": self.n_steps,
            "flips": self.n_flips,
            "history": tuple(self.history),
        }

    def widened(self, rows: RowStore, n_columns: int) -> ClassPath:
        """Return the path with wider ``rows``, which replaces this one."""
        other, shift = ClassPath(self.options, self._now), self._now.shift
        if shift is not None:
            shift = np.pad(shift, (0, n_columns - len(shift)))
        other._set(**self._without_path())
        other._set(rows=rows, shift=shift)
        return other

    def new_path(self, kernel: Kernel | None = None) -> ClassPath:
        """Return a new path over the same rows, not begun, perhaps under another kernel."""
        now = self._now
        state = PathState.without_path(
            now.class_objective,
            now.kernel if kernel is None else kernel,
            now.rows,
            now.shift,
            steps=self.n_steps,
            flips=self.n_flips,
            iterations=now.iterations,
            history=tuple(self.history),
        )
        return ClassPath(self.options, state)

    def new_path_on(self, rows: RowStore, class_objective: SemiSupervised) -> ClassPath:
        """Return a path over other rows, that has not begun."""
        now = self._now
        state = PathState.without_path(class_objective, now.kernel, rows, now.shift, version=1)
        return ClassPath(self.options, state)

    def mirrored(self, rows: RowStore, class_objective: SemiSupervised) -> ClassPath:
        """Return the function of the other class, over ``rows``, where nothing is on its way."""
        now, other, places = self._now, self.new_path_on(rows, class_objective), self.rows.places
        plain, start = now.plain_start(self.options.n_jobs), None
        if plain is not None:
            a, sign = np.zeros((2, rows.n_places))
            a[places], sign[places] = -plain["a"], -plain["sign"]
            start = Start(a, sign, -plain["virtual"], -plain["multiplier"])
        other._set(
            start=start,
            n_rebuilt=now.n_rebuilt,
            n_changed=now.n_changed,
            value_rebuilt=now.value_rebuilt,
        )
        return other

    def annealed(self) -> ClassPath:
        """Return a path for which C* went down from here, and back.

        Only one of the two may continue.
        """
        if self._now.path is None:
            raise ArithmeticError("no path has begun")
        path = self._now.path.copy()
        other = ClassPath(self.options, self._now._replace(path=path))
        path.deadline = self.options.deadline
        weight = self.rows["weight"][self._now.on_path[path.signs != 0]]
        other._set(done=path_starts.anneal_path(path, self.class_objective, weight))
        return other

    def replace_with(self, other: ClassPath) -> None:
        """Stand where another path of these rows does."""
        self._now = other.state._replace(version=self._now.version + 1)

    def mark_rebuilt(self, consolidated: bool = False) -> None:
        """Count changes from now on."""
        self._set(
            n_rebuilt=len(self.rows), n_changed=0, value_rebuilt=np.nan, consolidated=consolidated
        )

    # -- saving ---------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Return counts and where the next path starts, as plain values; without rows and path."""
        now, options = self._now, self.options
        class_objective = {
            name: getattr(now.class_objective, name) for name in ("C", "C_star", "balance")
        }
        names = ("balance_update", "cache_size", "n_jobs", "path_order")
        return {
            "kernel": now.kernel,
            "parameters": {**class_objective, **{name: getattr(options, name) for name in names}},
            "start": now.plain_start(options.n_jobs),
            "done": self.done,
            "version": self.version,
            "steps": self.n_steps,
            "flips": self.n_flips,
            "iterations": int(now.iterations),
            "rows_at_training": int(now.n_rebuilt),
            "changed_since": int(now.n_changed),
            "value_at_training": float(now.value_rebuilt),
            "consolidated": now.consolidated,
            "history": json.dumps(self.history, default=float),
        }

    @classmethod
    def restored(
        cls, saved: dict[str, Any], options: PathOptions, rows: RowStore, shift: FloatArray | None
    ) -> Self:
        """Return the path that was ``saved``, over its rows."""
        start, parameters = saved["start"], saved["parameters"]
        class_objective = SemiSupervised(
            *(parameters[name] for name in ("C", "C_star", "balance"))
        )
        state = PathState.without_path(
            class_objective,
            saved["kernel"],
            rows,
            shift,
            version=saved["version"],
            start=None if start is None else Start(**{**start, "sign": start["sign"] * 1.0}),
            done=saved["done"],
            steps=saved["steps"],
            flips=saved["flips"],
            iterations=saved["iterations"],
            n_rebuilt=saved["rows_at_training"],
            n_changed=saved["changed_since"],
            value_rebuilt=saved["value_at_training"],
            consolidated=saved["consolidated"],
            history=tuple(json.loads(saved["history"])),
        )
        return cls(options, state)
