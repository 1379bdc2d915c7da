"""Batch training of an S3VM: from rows with labels to a solution for every function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import FloatArray, RowMatrix
from .._util.deadline import Deadline
from .._util.warn import warn
from ..base.solution import Certificate, ClassFunctions, Function, Solution
from ..base.status import report_status
from ..data.labels.semi_supervised import one_vs_rest_labels
from ..kernels import centered
from ..kernels.base import Kernel
from ..kernels.operators import (
    BorderedGram,
    GramOperator,
    LinearGram,
    LinearSourceGram,
    PrecomputedGram,
    RepeatedGram,
    make_gram,
)
from ..problem.dual import find_missing_curvature
from ..rows.memory import MemorySource
from ..rows.shards import stack_rows
from ..rows.source import RowSource, ShardedSource
from ..solvers import Result, Settings, Status
from ..solvers.run import Callback, HistoryEntry
from .arguments import check_weights
from .branching import describe_unproven, train
from .class_path import ClassPath
from .data import S3VMData, S3VMProblem, S3VMSettings, S3VMSolution
from .description import SolverRun, SupportRows, build_certificate, build_solution
from .stream import number_entries

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48


@dataclass
class Trainer:
    """Trains an S3VM on all rows at once, and keeps the ``record`` of what it has trained.

    ``name`` is the estimator's, for warnings. ``engine(callback)`` gives the ``Settings`` of the
    engine, with the time that is left now until the ``deadline``; kernel values within
    ``cache_size`` bytes may be held. A ``source`` that is not in memory reports what rounds have
    cost, and no sample is taken to begin with. See ``S3VMSettings`` for the others.
    """

    name: str
    engine: Callable[[Callback | None], Settings]
    tol: float
    deadline: Deadline
    record: TrainingRecord
    cache_size: float = 200e6
    n_jobs: int = 1
    options: S3VMSettings = field(default_factory=S3VMSettings)
    source: RowSource | None = None
    _shared: dict[int, tuple[Kernel, GramOperator]] = field(
        default_factory=dict, init=False, repr=False
    )

    def train(self, problem: S3VMProblem, callback: Callback | None = None) -> S3VMTraining:
        """Train every function of a problem."""
        rows = problem.rows
        if rows.is_updatable and not any(one.uses_unlabelled for one in problem.class_objectives):
            assert isinstance(rows, MemorySource)
            rows = rows.exclude(problem.label == 0)
        weight = rows.weights
        check_weights(weight)
        labels = one_vs_rest_labels(problem.label[rows.indices], problem.n_classes)
        gram = rows.gram(problem.kernel, problem.shift, self.gram)
        data = S3VMData.for_classes(gram, problem.class_objectives, labels, weight)
        return S3VMTraining(problem, rows, data, self.train_functions(data, callback), self.n_jobs)

    def train_path(self, path: ClassPath, signs_before: FloatArray | None = None) -> S3VMSolution:
        """Train one function on the rows of its path, which will begin at the outcome."""
        data = path.training_data(partial(self.shared_gram, path.kernel))
        (found,) = self.train_functions([data], signs_before=signs_before)
        path.start_from(found, done=not was_stopped(found.result))
        self.report_status([found], data.gram)
        return found

    def train_functions(
        self,
        several: Sequence[S3VMData],
        callback: Callback | None = None,
        signs_before: FloatArray | None = None,
    ) -> list[S3VMSolution]:
        """Return the ``S3VMSolution`` of every ``S3VMData``, within one limit of time."""
        if len(several) == 1:
            return [train(several[0], self.settings(callback), signs_before)]
        found: list[S3VMSolution] = []
        started = time.perf_counter()
        for number, data in enumerate(several):
            settings = self.settings(callback and partial(_call_numbered, callback, number))
            left = settings.engine.max_time - (time.perf_counter() - started)
            if any(was_stopped(one.result) for one in found):
                left = 0.0  # the others only begin
            engine = replace(settings.engine, max_time=max(0.0, left))
            found.append(train(data, replace(settings, engine=engine)))
        return found

    def report_status(self, found: Sequence[S3VMSolution], gram: GramOperator) -> None:
        """Warn when the tolerance was not reached, or the global minimum is not proven.

        ``found`` are the ``S3VMSolution`` of every function, over the rows of ``gram``.
        """
        worst = find_worst(found)
        message = describe_unproven(worst)
        if message is None:
            gap = float(np.sum([find_missing_curvature(gram, one.result.a) for one in found]))
            report_status(self.name, worst.result, self.tol, gap, self.deadline)
        else:
            warn(message, ConvergenceWarning)

    def settings(self, callback: Callback | None = None) -> S3VMSettings:
        """Return ``S3VMSettings`` with the time that is left."""
        engine = self.engine(callback)
        if isinstance(self.source, ShardedSource):
            callback_with_usage = self.source.with_usage(engine.callback)
            engine = replace(engine, coarse=False, callback=callback_with_usage)
        return replace(self.options, engine=engine, callback=callback)

    def gram(self, kernel: Kernel, X: RowMatrix) -> GramOperator:
        """Return K over rows, all at once where that is cheaper: training solves many problems."""
        gram = make_gram(kernel, X, n_jobs=self.n_jobs, min_support=1.0)
        inner = gram.inner if isinstance(gram, RepeatedGram) else gram
        if inner.value_cost < _WORTH_HOLDING or 8 * inner.n**2 > self.cache_size:
            return gram
        held = PrecomputedGram(inner.block(np.arange(inner.n)), inner.n_jobs)
        held.n_values, held.is_inner_product = inner.n_values, inner.is_inner_product
        if inner is gram:
            return held
        assert gram.copies is not None
        return RepeatedGram(held, gram.copies)

    def shared_gram(self, kernel: Kernel, X: RowMatrix) -> GramOperator:
        """``gram``, the same again for the same kernel: functions of classes have equal rows."""
        known = self._shared.get(id(kernel))
        if known is None:
            known = self._shared[id(kernel)] = kernel, self.gram(kernel, X)
        return known[1]


@dataclass(frozen=True, eq=False)
class S3VMTraining:
    """Batch training of every function of a ``problem``.

    ``rows`` are those that were trained on: all that count, or the labelled ones where the others
    change nothing. ``data`` and ``solutions`` are over these, of every function.
    """

    problem: S3VMProblem
    rows: RowSource
    data: list[S3VMData]
    solutions: list[S3VMSolution]
    n_jobs: int

    @property
    def status(self) -> Status:
        """Why training stopped, of the first function that didn't converge."""
        return find_worst(self.solutions).result.status

    @property
    def gram(self) -> GramOperator:
        """K over the rows that were trained on."""
        return self.data[0].gram

    @cached_property
    def on_all_rows(self) -> list[S3VMSolution]:
        """The ``S3VMSolution`` of every function, over all rows that count."""
        rows = self.problem.rows
        if self.rows is rows:
            return self.solutions
        assert isinstance(rows, MemorySource)
        known = np.flatnonzero(self.problem.label[rows.indices])
        f = self.solution.function(rows.X, n_jobs=self.n_jobs).reshape(rows.n_counting, -1)
        return [
            one.extend_to_all(known, own) for one, own in zip(self.solutions, f.T, strict=True)
        ]

    @cached_property
    def solution(self) -> Solution:
        """The ``Solution``, in which support vectors are rows that were trained on."""
        if isinstance(self.rows, ShardedSource):
            return self._solution_on_shards(self.rows)
        assert isinstance(self.rows, MemorySource)
        problem, numbers = self.problem, self.rows.indices
        support = SupportRows(self.rows.X, numbers, problem.label[numbers], problem.shift)
        coefs = [
            data.coefficients(one.result.a)
            for data, one in zip(self.data, self.solutions, strict=True)
        ]
        return build_solution(
            problem.kernel, self.gram, support, coefs, self._biases, combine_runs(self.solutions)
        )

    def certificate(
        self, function: Function | ClassFunctions, offset: float | FloatArray
    ) -> Certificate:
        """Return the ``Certificate`` of the solution's ``function``, once it has an ``offset``."""
        rows, label = self.problem.rows, self.problem.label
        found = self.on_all_rows
        decision = np.empty((len(label), len(found)))
        decision[rows.indices] = np.column_stack([one.f for one in found]) + offset
        if rows.kept is not None:
            assert isinstance(rows, MemorySource)
            out = np.setdiff1d(np.arange(len(label)), rows.kept)
            of_others = function(rows.everything[out], n_jobs=self.n_jobs)
            decision[out] = of_others.reshape(len(out), -1)
        certified = [(one.objective, one.violation) for one in found]
        return build_certificate(certified, decision, function, label)

    @property
    def _biases(self) -> list[float]:
        return [-float(one.result.multiplier) for one in self.solutions]

    def _solution_on_shards(self, rows: ShardedSource) -> Solution:
        """Return the ``Solution`` with the linear kernel: support vectors alone are fetched.

        The mean of the unlabelled rows, which a balancing constraint makes a part of the
        function, is a support vector of its own: the last one, with the number -1.
        """
        problem, data = self.problem, self.data[0]
        results, shift = [one.result for one in self.solutions], problem.shift
        coefs = np.stack([result.a[: rows.n] for result in results])
        ids = np.flatnonzero(coefs.any(axis=0))
        X, coefs, numbers = rows.take(ids), coefs[:, ids], ids
        label = problem.label[rows.indices][ids]
        if data.target is not None:
            bordered = data.gram
            assert isinstance(bordered, BorderedGram)
            assert isinstance(bordered.inner, LinearSourceGram)
            mean = bordered.inner.sum_rows(data.unlabeled, data.share)
            mean = (mean if shift is None else mean + shift)[None].astype(X.dtype)
            X = stack_rows([X, type(X)(mean)]) if rows.is_sparse else np.concatenate([X, mean])
            coefs = np.column_stack([coefs, [result.a[-1] for result in results]])
            numbers, label = np.append(ids, -1), np.append(label, 0)
        gram, support = LinearGram(centered(X, shift)), SupportRows(X, numbers, label, shift)
        run = combine_runs(self.solutions)
        return build_solution(problem.kernel, gram, support, list(coefs), self._biases, run)


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


def find_worst(found: Sequence[S3VMSolution]) -> S3VMSolution:
    """Return the first solution that didn't converge, or else the first one."""
    return next((one for one in found if not one.result.converged), found[0])


def combine_runs(found: list[S3VMSolution]) -> SolverRun:
    """Return steps, history and whether all converged, of the trainings of every function."""
    results = [one.result for one in found]
    history = results[0].history
    if len(found) > 1:
        history = number_entries(result.history for result in results)
    return sum(r.n_iter for r in results), history, all(r.converged for r in results)


def _call_numbered(callback: Callback, number: int, entry: HistoryEntry) -> object:
    return callback({**entry, "class": number})


def was_stopped(result: Result) -> bool:
    """Return whether a limit or the user ended training; rounding doesn't count."""
    return not result.converged and result.status is not Status.STALLED
