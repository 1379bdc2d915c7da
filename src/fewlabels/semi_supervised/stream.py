"""Training rows of an S3VM that come, go and change their labels, and the paths over them.

Rows are held once, at *places* that stay until all paths are done with them. Two classes have one
path; several have one for each, against the rest, which sees the same rows with labels +1 and -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.deadline import Deadline
from ..base.solution import Certificate, ClassFunctions, Function, Solution, TrainingRows
from ..data.labels.semi_supervised import one_vs_rest_labels
from ..kernels.base import Kernel
from ..kernels.operators import make_gram
from ..rows.row_store import BREAKDOWNS, PlainState, RowStore, make_labelled_store
from .class_path import NONE, ClassPath, History, PathOptions, both_classes
from .description import SupportRows, build_certificate, build_solution
from .problem import SemiSupervised


class S3VMStream(PlainState):
    """Rows, labels and weights of an S3VM, and the paths of its functions, which follow them.

    Labels are +1 and -1, or 1, 2, ... of several classes; 0 for none. ``paths`` are the
    ``ClassPath`` of every function. They hold the rows, and are replaced together when rows
    change, so that an interruption leaves the old rows or the new ones.

    ``class_objectives`` has one for each function; all paths share the ``options``; ``names``
    are what messages call the classes, where there are several. ``shift``, of shape (d,) or None,
    is taken from all rows before the kernel sees them. Operations stop at the ``deadline``.
    """

    # Set before each operation; paths go by their own tolerance.
    tol: float

    def __init__(
        self,
        kernel: Kernel,
        class_objectives: Sequence[SemiSupervised],
        options: PathOptions,
        X: RowMatrix,
        label: AnyArray,
        weight: FloatArray | None = None,
        shift: FloatArray | None = None,
        names: Sequence[object] | None = None,
    ) -> None:
        self.names = None if names is None else list(names)
        self.options = options
        store = make_labelled_store(X, label, weight)
        labels = _path_labels(store, len(class_objectives))
        self.paths = tuple(
            ClassPath(options, class_objective, kernel, store, label, shift, n_rebuilt=len(store))
            for class_objective, label in zip(class_objectives, labels, strict=True)
        )
        self._first_version = 0  # to which every path adds its changes

    # -- what others read -----------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.store)

    @property
    def store(self) -> RowStore:
        """The rows, which all paths share; not to be changed."""
        return self.paths[0].rows

    @property
    def places(self) -> IntArray:
        """Places of the training rows, in their order."""
        return self.store.places

    @property
    def kernel(self) -> Kernel:
        """The kernel of all paths."""
        return self.paths[0].kernel

    @property
    def shift(self) -> FloatArray | None:
        """FloatArray | None: Vector that is subtracted from all rows before kernels see them."""
        return self.paths[0].shift

    @property
    def cache_size(self) -> float:
        """Bytes for kernel columns of all paths together, from their next beginning on."""
        return self.options.cache_size * len(self.paths)

    @cache_size.setter
    def cache_size(self, cache_size: float) -> None:
        self.options.cache_size = cache_size / len(self.paths)

    @property
    def n_jobs(self) -> int:
        """Threads."""
        return self.options.n_jobs

    @n_jobs.setter
    def n_jobs(self, n_jobs: int) -> None:
        self.options.n_jobs = n_jobs

    @property
    def deadline(self) -> Deadline:
        """When operations of all paths stop."""
        return self.options.deadline

    @deadline.setter
    def deadline(self, deadline: Deadline) -> None:
        self.options.deadline = deadline

    @property
    def version(self) -> int:
        return self._first_version + sum(path.version for path in self.paths)

    # Of all paths together.

    @property
    def done(self) -> bool:
        """bool: Whether all paths are at their ends."""
        return all(path.done for path in self.paths)

    @property
    def has_path(self) -> bool:
        """bool: Whether all paths have begun."""
        return all(path.has_path for path in self.paths)

    @property
    def ready(self) -> bool:
        """bool: Whether every function has labels of both kinds."""
        return all(path.ready for path in self.paths)

    @property
    def due(self) -> bool:
        """bool: Whether a better minimum is likely for one of the functions."""
        return any(path.ready and path.due for path in self.paths)

    @property
    def due_by_itself(self) -> bool:
        """bool: Whether a better minimum is likely and the search costs little."""
        return any(path.ready and path.due_by_itself for path in self.paths)

    @property
    def n_steps(self) -> int:
        """Steps of all paths."""
        return sum(path.n_steps for path in self.paths)

    @property
    def n_flips(self) -> int:
        """Sign changes of all paths."""
        return sum(path.n_flips for path in self.paths)

    @property
    def n_iter(self) -> int:
        """Iterations of all trainings."""
        return sum(path.n_iter for path in self.paths)

    @property
    def pending_removals(self) -> IntArray:
        """Places of rows on their way out of some path."""
        pending_removals = [path.pending_removals for path in self.paths]
        return (
            pending_removals[0]
            if len(pending_removals) == 1
            else np.unique(np.concatenate(pending_removals))
        )

    @property
    def history(self) -> History:
        """Entries of all paths, in the order of these; of several each with its number."""
        histories = [path.history for path in self.paths]
        return histories[0] if len(histories) == 1 else number_entries(histories)

    def rounding_violation(self, tol: float) -> float:
        """Return the violation where rounding keeps a path above ``tol``, else 0."""
        return max(path.rounding_violation(tol) for path in self.paths)

    def label(self, places: IntArray) -> AnyArray:
        """Return labels of rows at some places."""
        return self.store["label"][places]

    def rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places, as the user gave them."""
        return self.store.rows(places)

    def kernel_rows(self, places: IntArray) -> RowMatrix:
        """Return rows at some places, as the kernel sees them."""
        return self.paths[0].kernel_rows(places)

    def training_rows(self) -> TrainingRows:
        """``TrainingRows``."""
        arrays = self.store.state()
        kind = np.int8 if len(self.paths) == 1 else np.int64
        return TrainingRows(arrays["X"], arrays["weight"], arrays["label"].astype(kind))

    # -- operations -----------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse weights that the paths cannot hold."""
        self.paths[0].class_objective.check_weight(*self.paths[0].training_labels)

    def check_new(self, label: AnyArray, weight: FloatArray | None = None) -> None:
        """Refuse weights of rows to be added."""
        store = self.store
        weight = np.ones(len(label)) if weight is None else weight
        unlabelled = store.alive & (store["label"] == 0)
        one = np.argmax(unlabelled) if unlabelled.any() else NONE  # all of them weigh the same
        self.paths[0].class_objective.check_weight(
            np.append(store["label"][one], label), np.append(store["weight"][one], weight)
        )

    def add(self, X: RowMatrix, label: AnyArray, weight: FloatArray | None = None) -> None:
        """Add rows; labelled ones join the paths first."""
        weight = np.ones(len(label)) if weight is None else weight
        self.check_new(label, weight)
        store = self.store.copy()
        store.append(X, label=label, weight=weight)
        self._replace_rows(store, n_changed=len(label))

    def remove(self, indices: IntArray) -> None:
        """Remove rows; every class must keep a label once it has one."""
        store = self.store.copy()
        places = store.places[indices]
        store.drop(places)
        self._check_labels(store["label"][store.alive], "forget these rows")
        self._replace_rows(store, n_changed=len(places))

    def relabel(self, indices: IntArray, label: AnyArray) -> None:
        """Give rows other labels, 0 for none."""
        store, kept = self.store.copy(), self.places
        places, before = kept[indices], store["label"]
        new = before.copy()
        new[places] = label
        self._check_labels(new[kept], "take back or change these labels")
        self.paths[0].class_objective.check_weight(new[kept], store["weight"][kept])
        store["label"] = new
        self._replace_rows(store, n_changed=int(np.sum(new[places] != before[places])))

    def _replace_rows(
        self,
        store: RowStore,
        *,
        n_changed: int = 0,
        place: IntArray | None = None,
        shift: FloatArray | None = None,
    ) -> None:
        """Hold other rows from now on, which the paths will follow; see ``with_rows``."""
        self.paths = tuple(
            path.with_rows(store, label, n_changed=n_changed, place=place, shift=shift)
            for path, label in zip(self.paths, _path_labels(store, len(self.paths)), strict=True)
        )

    def _check_labels(self, label: AnyArray, what: str) -> None:
        if not len(label):
            raise ValueError("no training row would be left; keep at least one.")
        if self.names is None:
            if not both_classes(label) and self.ready:
                raise ValueError(
                    f"cannot {what}: labels of only one class would remain; label a row of the "
                    "other class first."
                )
            return
        before = self.label(self.places)
        for number, name in enumerate(self.names, start=1):
            if np.any(before == number) and not np.any(label == number):
                raise ValueError(
                    f"cannot {what}: no labelled row of the class {name} would remain; label "
                    "another one first, or fit without this class."
                )

    def reprice(self, C: float, C_star: float) -> None:
        """Let costs move steadily to other values."""
        for path in self.paths:
            path.reprice(C, C_star)

    def widen(self, n_columns: int) -> None:
        """Give all rows more columns, of zeros: the functions stay the same."""
        store, shift = self.store.copy(), self.shift
        store.widen(n_columns)
        if shift is not None:
            shift = np.pad(shift, (0, n_columns - len(shift)))
        for path in self.paths:
            path.stop()
        self._replace_rows(store, shift=shift)

    def with_classes(
        self, names: Sequence[object], before: IntArray, class_objective: SemiSupervised
    ) -> Self:
        """Another stream of the same rows, at rest, with those classes that are new in ``names``.

        ``before`` are the places of the classes so far among the names; the functions of new ones
        minimise ``class_objective``.
        """
        store, first = self.store.copy(), self.paths[0]
        number, old = np.zeros(store.n_places), store["label"]
        paths_so_far: tuple[ClassPath, ...]
        if len(before) == 2:
            number[old < 0], number[old > 0] = before + 1
            paths_so_far = first.mirrored(class_objective), first
        else:
            number[old > 0] = (before + 1)[old[old > 0].astype(np.intp) - 1]
            paths_so_far = self.paths
        known = dict(zip(before.tolist(), paths_so_far, strict=True))
        store["label"] = number
        other = type(self).__new__(type(self))
        other.names, other.options = list(names), self.options
        self.options.cache_size *= len(self.paths) / len(names)
        kernel, shift = first.kernel, first.shift
        other.paths = tuple(
            known[k].with_rows(store, label)
            if k in known
            else ClassPath(
                self.options, class_objective, kernel, store, label, shift, n_rebuilt=len(store)
            )
            for k, label in enumerate(_path_labels(store, len(names)))
        )
        other._first_version = 1 + self.version
        return other

    # -- the paths ------------------------------------------------------------------------------

    def begin_paths(self) -> None:
        """Begin the paths whose start is known, where that is possible."""
        for path in self.paths:
            if path.has_start:
                with suppress(*BREAKDOWNS):  # the operation will try again
                    path.begin()

    def compact(self) -> None:
        """Free the places of rows that are gone, once there are many and nothing is on its way."""
        if not self.done:
            return
        store = self.store.copy()
        place = store.compact()
        if place is not None:
            self._replace_rows(store, place=place)

    def mark_rebuilt(self, consolidated: bool = False) -> None:
        """Count changes from now on."""
        for path in self.paths:
            path.mark_rebuilt(consolidated)

    # -- saving ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return rows once, and where each path stands, as plain values."""
        rows = self.training_rows()
        unit = np.all(rows.weight == 1.0)
        return {
            "names": self.names,
            "X": rows.X,
            "label": rows.label,
            "weight": None if unit else rows.weight,
            "shift": self.shift,
            "version": self._first_version,
            "parts": [path.saved() for path in self.paths],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts, self.names = state["parts"], state["names"]
        self.options = PathOptions.restored(parts[0]["parameters"])
        store = make_labelled_store(state["X"], state["label"], state["weight"])
        self.paths = tuple(
            ClassPath.restored(saved, self.options, store, label, state["shift"])
            for saved, label in zip(parts, _path_labels(store, len(parts)), strict=True)
        )
        self._first_version = state["version"]

    # -- as values ------------------------------------------------------------------------------

    def describe(self, offset: float | FloatArray, tol: float) -> Solution:
        """Return the ``Solution`` where the paths stand, with an ``offset`` that is added to f.

        A path that rounding keeps above ``tol`` hasn't converged.
        """
        known = np.concatenate([self.places, self.pending_removals])
        solutions = [path.current_solution().at(known) for path in self.paths]
        support = np.flatnonzero(np.any([at.coef for at in solutions], axis=0))
        numbers = np.where(np.arange(len(known)) < len(self), np.arange(len(known)), -1)
        of_gram = support if len(support) else np.arange(len(known))
        gram = make_gram(self.kernel, self.kernel_rows(known[of_gram]), dtype=np.float64)
        places, converged = known[support], self.done and not self.rounding_violation(tol)
        biases = np.array([-float(at.multiplier) for at in solutions]) + offset
        return build_solution(
            self.kernel,
            gram,
            SupportRows(self.rows(places), numbers[support], self.label(places), self.shift),
            [at.coef[support] for at in solutions],
            biases.tolist(),
            (self.n_iter, self.history, converged),
        )

    def certify(
        self, function: Function | ClassFunctions, offset: float | FloatArray
    ) -> Certificate:
        """Return the ``Certificate`` of the paths' ``function``, once it has an ``offset``."""
        solutions, places = [path.current_solution() for path in self.paths], self.places
        f = np.column_stack([at.f[places] for at in solutions])
        waiting = np.flatnonzero(np.isnan(f).any(axis=1))
        if len(waiting):
            values = function(self.rows(places[waiting]), n_jobs=self.n_jobs)
            values = values.reshape(len(waiting), -1) - offset
            for column, at in enumerate(solutions):
                unknown = np.isnan(f[waiting, column])
                at.f[places[waiting[unknown]]] = values[unknown, column]
                f[:, column] = at.f[places]
        certified = [path.certificate(at) for path, at in zip(self.paths, solutions, strict=True)]
        return build_certificate(certified, f + offset, function, self.label(places))

    def decisions(self) -> FloatArray:
        """f at the rows, a column for every function; NaN where a path has yet to go."""
        each = [path.current_solution().f[self.places] for path in self.paths]
        return each[0] if len(each) == 1 else np.stack(each, axis=1)


def number_entries(histories: Iterable[History]) -> History:
    """Histories of the functions of several classes as one, each entry with its function."""
    return [{**entry, "class": place} for place, one in enumerate(histories) for entry in one]


def _path_labels(store: RowStore, n_paths: int) -> list[FloatArray]:
    """Return the labels at all places as each path sees them: +1, -1, and 0 for none."""
    return one_vs_rest_labels(store["label"], max(2, n_paths))
