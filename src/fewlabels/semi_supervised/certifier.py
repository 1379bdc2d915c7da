"""What an S3VM shows: the function of a fit or of a stream, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from ..base.solution import (
    Certificate,
    ClassFunctions,
    Function,
    Solution,
    describe_run,
    estimate_rounding,
    make_function,
)
from ..calibration.curve import class_of
from ..data.labels.semi_supervised import class_indices
from ..kernels import centered
from ..kernels.base import Kernel
from ..kernels.operators import BorderedGram, GramOperator, LinearGram, LinearSourceGram, make_gram
from ..rows.memory import MemorySource
from ..rows.shards import stack_rows
from ..rows.source import RowSource, ShardedSource
from .class_path import History
from .data import S3VMData, S3VMSolution
from .stream import S3VMStream, number_entries

# Steps, history, and whether it converged.
SolverRun: TypeAlias = tuple[int, History, bool]


@dataclass(frozen=True)
class Certifier:
    """Describes what trainings and streams have come to, as values.

    ``offset`` is what the class ratio has added to f, a number or one for every class, or None;
    a path that rounding keeps above ``tol`` hasn't converged.
    """

    kernel: Kernel
    n_classes: int
    offset: float | FloatArray | None = None
    tol: float = 1e-3
    n_jobs: int | None = None

    def with_offset(self, decision: FloatArray, sign: float = 1.0) -> FloatArray:
        """Values of f of all functions, the last dimension, with (or, by sign, without) offset."""
        return decision if self.offset is None else decision + sign * self.offset

    def solution(
        self,
        gram: GramOperator,
        X: RowMatrix,
        coefs: list[FloatArray],
        biases: list[float],
        numbers: IntArray,
        label: AnyArray,
        run: SolverRun,
        shift: FloatArray | None,
    ) -> Solution:
        """Return the ``Solution`` with the coefficients of every function.

        ``gram`` is over the rows ``X``, which are as they were given and have ``numbers`` and a
        ``label``; ``run`` are steps, history and whether it converged.
        """
        sizes = [estimate_rounding(gram.diagonal(), coef) for coef in coefs]
        several = len(coefs) > 1
        function, places, support = make_function(
            self.kernel,
            gram,
            X,
            np.stack(coefs),
            numbers,
            shift=shift,
            rounding=np.array(sizes) if several else sizes[0],
            bias=np.array(biases) if several else biases[0],
        )
        kinds = class_indices(label[places], self.n_classes)
        counts = [np.sum(kinds == place) for place in range(self.n_classes)]
        return Solution(function=function, **describe_run(support, counts, *run))

    def certificate(
        self,
        objectives: Sequence[float],
        violations: Sequence[float],
        decision: FloatArray,
        function: Function | ClassFunctions,
        label: AnyArray,
    ) -> Certificate:
        """Return the ``Certificate`` from decisions about all training rows, a column each."""
        if len(objectives) == 1:
            positive = np.where(label, label > 0, decision[:, 0] > function.rounding)
            return Certificate(objectives[0], violations[0], positive)
        chosen = np.where(label, class_indices(label, self.n_classes), class_of(decision))
        return Certificate(np.array(objectives), np.array(violations), chosen)

    # -- batch training -------------------------------------------------------------------------

    def describe_training(
        self,
        found: list[S3VMSolution],
        data: list[S3VMData],
        rows: RowSource,
        label: AnyArray,
        shift: FloatArray | None,
    ) -> Solution:
        """Return the ``Solution`` of batch trainings on a ``RowSource``."""
        if isinstance(rows, ShardedSource):
            return self._describe_training_on_shards(found, data, rows, label, shift)
        assert isinstance(rows, MemorySource)
        coefs = [one.coefficients(each.result.a) for one, each in zip(data, found, strict=True)]
        biases = [-float(one.result.multiplier) for one in found]
        gram, run = data[0].gram, combine_runs(found)
        return self.solution(gram, rows.X, coefs, biases, rows.indices, label, run, shift)

    def _describe_training_on_shards(
        self,
        found: list[S3VMSolution],
        data: list[S3VMData],
        rows: ShardedSource,
        label: AnyArray,
        shift: FloatArray | None,
    ) -> Solution:
        """Return the ``Solution`` with the linear kernel: support vectors alone are fetched.

        The mean of the unlabelled rows, which a balancing constraint makes a part of the
        function, is a support vector of its own: the last one, with the number -1.
        """
        results, n = [one.result for one in found], rows.n
        coefs = np.stack([result.a[:n] for result in results])
        ids = np.flatnonzero(coefs.any(axis=0))
        X, coefs, numbers, label = rows.take(ids), coefs[:, ids], ids, label[ids]
        if data[0].target is not None:
            bordered = data[0].gram
            assert isinstance(bordered, BorderedGram)
            assert isinstance(bordered.inner, LinearSourceGram)
            mean = bordered.inner.sum_rows(data[0].unlabeled, data[0].share)
            mean = (mean if shift is None else mean + shift)[None].astype(X.dtype)
            X = stack_rows([X, type(X)(mean)]) if rows.is_sparse else np.concatenate([X, mean])
            coefs = np.column_stack([coefs, [result.a[-1] for result in results]])
            numbers, label = np.append(ids, -1), np.append(label, 0)
        biases = [-float(result.multiplier) for result in results]
        gram, run = LinearGram(centered(X, shift)), combine_runs(found)
        return self.solution(gram, X, list(coefs), biases, numbers, label, run, shift)

    def certificate_of(
        self,
        found: list[S3VMSolution],
        function: Function | ClassFunctions,
        rows: RowSource,
        label: AnyArray,
    ) -> Certificate:
        """Its ``Certificate``; ``label`` are the labels of all rows."""
        decision = np.empty((len(label), len(found)))
        decision[rows.indices] = self.with_offset(np.column_stack([one.f for one in found]))
        if rows.kept is not None:
            assert isinstance(rows, MemorySource)
            out = np.setdiff1d(np.arange(len(label)), rows.kept)
            of_others = function(rows.everything[out], n_jobs=self.n_jobs)
            decision[out] = of_others.reshape(len(out), -1)
        objectives, violations = [one.objective for one in found], [one.violation for one in found]
        return self.certificate(objectives, violations, decision, function, label)

    # -- streams --------------------------------------------------------------------------------

    def current_solution(self, stream: S3VMStream) -> Solution:
        """Return the ``Solution`` where the paths of a stream stand."""
        known = np.concatenate([stream.places, stream.pending_removals])
        solutions = [path.current_solution().at(known) for path in stream.paths]
        support = np.flatnonzero(np.any([at.coef for at in solutions], axis=0))
        numbers = np.where(np.arange(len(known)) < len(stream), np.arange(len(known)), -1)
        of_gram = support if len(support) else np.arange(len(known))
        gram = make_gram(stream.kernel, stream.kernel_rows(known[of_gram]), dtype=np.float64)
        converged = stream.done and not stream.rounding_violation(self.tol)
        biases = self.with_offset(np.array([-float(at.multiplier) for at in solutions]))
        return self.solution(
            gram,
            stream.rows(known[support]),
            [at.coef[support] for at in solutions],
            biases.tolist(),
            numbers[support],
            stream.label(known[support]),
            (stream.n_iter, stream.history, converged),
            stream.shift,
        )

    def certificate_at(
        self, stream: S3VMStream, function: Function | ClassFunctions
    ) -> Certificate:
        """Return the ``Certificate`` where they stand.

        ``function`` belongs to the ``Solution``.
        """
        solutions, places = [path.current_solution() for path in stream.paths], stream.places
        f = np.column_stack([at.f[places] for at in solutions])
        waiting = np.flatnonzero(np.isnan(f).any(axis=1))
        if len(waiting):
            values = function(stream.rows(places[waiting]), n_jobs=self.n_jobs)
            values = self.with_offset(values.reshape(len(waiting), -1), -1.0)
            for column, at in enumerate(solutions):
                unknown = np.isnan(f[waiting, column])
                at.f[places[waiting[unknown]]] = values[unknown, column]
                f[:, column] = at.f[places]
        found = [path.certificate(at) for path, at in zip(stream.paths, solutions, strict=True)]
        objectives, violations = zip(*found, strict=True)
        return self.certificate(
            objectives, violations, self.with_offset(f), function, stream.label(places)
        )

    def decisions_at(self, stream: S3VMStream) -> FloatArray:
        """f at the training rows, a column for every function; NaN where a path has yet to go."""
        each = [path.current_solution().f[stream.places] for path in stream.paths]
        return self.with_offset(each[0] if len(each) == 1 else np.stack(each, axis=1))


def combine_runs(found: list[S3VMSolution]) -> SolverRun:
    """Return steps, history and whether all converged, of the trainings of every function."""
    results = [one.result for one in found]
    history = results[0].history
    if len(found) > 1:
        history = number_entries(result.history for result in results)
    return sum(r.n_iter for r in results), history, all(r.converged for r in results)
