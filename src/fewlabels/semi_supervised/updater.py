"""How an S3VM follows its rows: paths where they lead on, batch training where they don't."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import FloatArray
from .._util.deadline import Deadline
from .._util.warn import warn
from ..base.status import report_status, warn_of_rounding
from ..kernels.operators import GramOperator, make_gram
from ..problem.dual import find_missing_curvature
from ..rows.row_store import BREAKDOWNS
from ..solvers import Status
from .branching import Search, describe_unproven, search_near_last
from .class_path import BuildPath, ClassPath
from .data import S3VMSolution
from .path_starts import build_by_C_star, build_row_by_row
from .sign_relaxation import SignSolution
from .stream import S3VMStream
from .trainer import Trainer, was_stopped

# Strategies of ``consolidate`` that build a path, instead of training at once.
_BUILDS: dict[str, BuildPath] = {"C_star": build_by_C_star, "row-by-row": build_row_by_row}


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """Outcome of batch training besides functions: objectives, a bound and the cost.

    ``objectives`` come from the last batch training of each function. Nothing is below
    ``bound`` while rows and labels stay: a number, or one for each of several functions (NaN
    where unknown), or None. ``n_nodes`` is None before there was a search over all signs.
    """

    objectives: tuple[list[float], ...]
    bound: float | FloatArray | None = None
    n_nodes: int | None = None

    @classmethod
    def from_solutions(cls, found: Sequence[S3VMSolution]) -> Self:
        """Return the record of the ``S3VMSolution`` of every function."""
        record = cls(tuple(one.objectives for one in found))
        bounds: list[float | FloatArray | None] = [one.lower_bound for one in found]
        n_nodes = sum(one.n_nodes for one in found)
        if len(found) > 1:
            known = np.array(bounds, dtype=float)
            bounds = [None if np.isnan(known).all() else known]
        if bounds[0] is None:
            return record
        return replace(record, bound=bounds[0], n_nodes=n_nodes)

    def with_training(self, place: int, found: S3VMSolution) -> TrainingRecord:
        """With another batch training of one function."""
        record = self.with_objectives(place, found.objectives)
        if len(self.objectives) == 1:
            if found.lower_bound is None:
                return replace(record, bound=None)
            return replace(record, bound=found.lower_bound, n_nodes=found.n_nodes)
        known = (
            np.full(len(self.objectives), np.nan)
            if self.bound is None
            else np.array(self.bound, dtype=float)
        )
        known[place] = np.nan if found.lower_bound is None else found.lower_bound
        if np.isnan(known).all():
            return replace(record, bound=None)
        return replace(record, bound=known, n_nodes=found.n_nodes + (self.n_nodes or 0))

    def with_objectives(self, place: int, objectives: list[float]) -> Self:
        """With other objectives of one function."""
        before, after = self.objectives[:place], self.objectives[place + 1 :]
        return replace(self, objectives=(*before, objectives, *after))

    def with_search(self, n_nodes: int) -> Self:
        """With so many more problems."""
        return replace(self, n_nodes=(self.n_nodes or 0) + n_nodes)

    def bounded_by(self, bound: float | FloatArray | None) -> Self:
        """With the better one of two bounds of one problem; None for none."""
        known = [one for one in (bound, self.bound) if one is not None]
        best = None if not known else np.fmax.reduce(np.array(known, dtype=float))
        return replace(self, bound=best)

    def without_bound(self) -> Self:
        """Return the record after rows, labels or costs have changed."""
        return self if self.bound is None else replace(self, bound=None)

    def with_functions(self, n: int, places: Iterable[int]) -> Self:
        """Return the record of ``n`` functions, with those so far at ``places``."""
        objectives: list[list[float]] = [[] for _ in range(n)]
        for place, own in zip(places, self.objectives, strict=True):
            objectives[place] = own
        return replace(self, objectives=tuple(objectives))


@dataclass
class Updater:
    """Lets the paths of a stream follow their rows, and keeps the ``record`` of trainings.

    ``begins_by_training`` says whether paths begin at the outcome of batch training, else row by
    row. It lives for one call, in which rows stay what they are.
    """

    name: str  # of the estimator
    stream: S3VMStream
    make_trainer: Callable[[], Trainer]
    record: TrainingRecord
    tol: float
    deadline: Deadline
    begins_by_training: bool = True

    @cached_property
    def trainer(self) -> Trainer:
        """The ``Trainer``, which most updates have no need of."""
        return self.make_trainer()

    def catch_up(self, name: str, max_steps: int | None = None) -> bool:
        """Let all paths follow their rows; return whether they have reached their ends."""
        stream, done = self.stream, True
        last = stream.n_steps + (max_steps or 0)
        for place, path in enumerate(stream.paths):
            left = None if max_steps is None else max(0, last - stream.n_steps)
            done &= self._follow(path, place, name, left)
        if done:
            stream.compact()
        # Training has said so itself.
        paths = [path for path in stream.paths if done and path.has_path]
        rough = max((path.rounding_violation(self.tol) for path in paths), default=0.0)
        if rough:
            warn_of_rounding(name, rough)
        return done

    def _follow(self, path: ClassPath, place: int, name: str, max_steps: int | None) -> bool:
        try:
            begun = path.has_path or path.has_start
            if not begun and self.begins_by_training and path.ready:
                found = self.train(path)
                self.record = self.record.with_training(place, found)
                path.mark_rebuilt()
            return path.run(max_steps)
        except BREAKDOWNS as error:
            self._train_again(path, place, name, error)
            return True

    def _train_again(self, path: ClassPath, place: int, name: str, error: Exception) -> None:
        """After a breakdown: a minimum from the last signs, or else from scratch.

        Should no path begin there either, the batch solution stands until the next operation.
        """
        warn(
            f"exact path following failed during {name} ({error}); batch training continued "
            "from the last state. Scaling the columns may prevent this.",
            ConvergenceWarning,
        )
        signs = path.last_signs()
        for sign in [None] if signs is None else [signs, None]:
            found = self.train(path, sign)
            self.record = self.record.with_training(place, found)
            if found.result.status is Status.STALLED:
                break  # by rounding, which ends other paths and trainings as well
            with suppress(*BREAKDOWNS):
                path.begin()
                break

    def train(self, path: ClassPath, signs_before: FloatArray | None = None) -> S3VMSolution:
        """Return the ``S3VMSolution`` of batch training, at which the path will begin."""
        data = path.training_data(partial(self.trainer.shared_gram, path.kernel))
        (found,) = self.trainer.train([data], signs_before=signs_before)
        path.start_from(found, done=not was_stopped(found.result))
        warn_of_training(self.name, [found], data.gram, self.tol, self.deadline)
        return found

    def retrain(self, new_path: ClassPath, strategy: str) -> S3VMSolution | None:
        """Begin a path that is ``fresh``; the ``S3VMSolution`` of its training, if any."""
        if strategy not in ("batch", "one-sided"):
            new_path.begin(_BUILDS[strategy])
            return None
        signs = None if strategy == "batch" else choose_one_side(*new_path.training_labels)
        found = self.train(new_path, signs)
        new_path.begin()
        return found

    def search_near_newest(self, path: ClassPath, n_neighbors: int) -> Search:
        """Return the ``SignSearch`` around the newest row.

        The path continues from better signs.
        """
        places = path.rows.places
        gram = make_gram(
            path.kernel,
            path.kernel_rows(places),
            dtype=np.float64,
            n_jobs=self.stream.n_jobs,
        )
        label, weight = path.training_labels
        search = search_near_last(
            gram,
            path.class_objective,
            label,
            weight,
            path.current_solution().at(places),
            n_neighbors,
            self.trainer.settings(),
        )
        self.record = self.record.with_search(search.n_nodes)
        if search.solution is not None:
            assert isinstance(search.solution, SignSolution)
            path.restart_from(search.solution)
        return search


def choose_one_side(label: FloatArray, weight: FloatArray) -> FloatArray:
    """Return signs of rows, those without a label on the side of most labels.

    0 for labelled ones.
    """
    return np.where(label == 0, 1.0 if label @ weight > 0 else -1.0, 0.0)


def warn_of_training(
    name: str, found: Sequence[S3VMSolution], gram: GramOperator, tol: float, deadline: Deadline
) -> None:
    """Warn when the tolerance was not reached, or the global minimum is not proven.

    ``found`` are the ``S3VMSolution`` of every function, over the rows of ``gram``.
    """
    worst = next((one for one in found if not one.result.converged), found[0])
    message = describe_unproven(worst)
    if message is None:
        gaps = [find_missing_curvature(gram, one.result.a) for one in found]
        report_status(name, worst.result, tol, float(np.sum(gaps)), deadline)
    else:
        warn(message, ConvergenceWarning)
