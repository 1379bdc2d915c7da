"""What a semi-supervised SVM is trained on and with, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .._typing import FloatArray, IntArray
from ..kernels.base import Kernel
from ..kernels.operators import BorderedGram, GramOperator
from ..kernels.rows import DuplicateRows
from ..rows.source import RowSource
from ..solvers import Result, Settings
from ..solvers.decomposition import MergedProblem, merge_equal_rows
from ..solvers.run import Callback
from .problem import SemiSupervised


@dataclass(frozen=True)
class S3VMSettings:
    """Settings of batch training.

    The callback of ``engine`` gets convex steps, ``callback`` the entries of a search for the
    global minimum (``branching``), which ``max_nodes`` limits.
    """

    engine: Settings = field(default_factory=Settings)
    annealing: bool = True
    branching: bool = False
    max_nodes: int | str = "auto"
    callback: Callback | None = None


@dataclass(frozen=True, eq=False)
class S3VMProblem:
    """A fit's problem: the objective of every function, over rows with labels.

    Two classes have one function; several have one for each, against the rest. ``label`` has all
    rows, also those that don't count. The ``shift`` is taken from rows before the ``kernel``
    sees them.
    """

    class_objectives: list[SemiSupervised]
    kernel: Kernel
    rows: RowSource
    label: FloatArray
    shift: FloatArray | None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(2, len(self.class_objectives))


@dataclass(frozen=True, eq=False)
class S3VMData:
    """Rows of a semi-supervised SVM: labels +1, -1, or 0 for none, and weights > 0.

    With a ``target``, the mean of f over the unlabelled rows, ``gram`` is bordered by their mean.
    """

    class_objective: SemiSupervised
    label: FloatArray
    weight: FloatArray
    gram: GramOperator
    target: float | None

    @classmethod
    def from_gram(
        cls,
        gram: GramOperator,
        class_objective: SemiSupervised,
        label: FloatArray,
        weight: FloatArray,
    ) -> S3VMData:
        """Return the rows of ``gram``."""
        free = np.flatnonzero(label == 0)
        target = class_objective.target(label, weight) if len(free) else None
        if target is not None:
            gram = BorderedGram.mean_of(gram, free, weight[free])
        return cls(class_objective, label, weight, gram, target)

    @classmethod
    def for_classes(
        cls,
        gram: GramOperator,
        class_objectives: Sequence[SemiSupervised],
        labels: Sequence[FloatArray],
        weight: FloatArray,
    ) -> list[S3VMData]:
        """Return the rows of ``gram`` for several models, which share them and their mean."""
        first = cls.from_gram(gram, class_objectives[0], labels[0], weight)
        bounded = first.target is not None
        return [first] + [
            replace(
                first,
                class_objective=class_objective,
                label=label,
                target=class_objective.target(label, weight) if bounded else None,
            )
            for class_objective, label in zip(class_objectives[1:], labels[1:], strict=True)
        ]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.label)

    def distinct(self) -> DistinctRows | None:
        """Return the ``DistinctRows``; None where no rows are equal."""
        signs = np.ones(self.n)
        smaller = merge_equal_rows(
            self.class_objective.step(self.gram, self.label, self.weight, signs, self.target)
        )
        if smaller is None:
            return None
        copies, first = smaller.copies, smaller.copies.first
        rows = first[first < self.n]
        weight = np.bincount(copies.of[: self.n], self.weight).astype(np.float64, copy=False)
        gram, label = smaller.problem.gram, self.label[rows]
        data = S3VMData(self.class_objective, label, weight, gram, self.target)
        return DistinctRows(self, data, copies)

    @cached_property
    def unlabeled(self) -> IntArray:
        """Rows without a label."""
        return np.flatnonzero(self.label == 0)

    @cached_property
    def share(self) -> FloatArray:
        """Weights of the unlabelled rows, as shares."""
        weight = self.weight[self.unlabeled]
        return weight / weight.sum()

    def decision(self, result: Result) -> FloatArray:
        """f at the rows."""
        return result.gradient[: len(self.label)] - result.multiplier

    def coefficients(self, a: FloatArray) -> FloatArray:
        """Return coefficients of the rows.

        The virtual row's are spread over those it is the mean of.
        """
        coef = a[: len(self.label)].copy()
        if self.target is not None:
            coef[self.unlabeled] += a[-1] * self.share
        return coef

    def objective(self, result: Result, class_objective: SemiSupervised | None = None) -> float:
        """Return the value of (1) at the solution of a convex step."""
        class_objective = self.class_objective if class_objective is None else class_objective
        norm = float(result.a @ result.gradient)
        return class_objective.objective(self.label, self.weight, norm, self.decision(result))


@dataclass(frozen=True, eq=False, kw_only=True)
class S3VMSolution:
    """A local minimum of (1), with the ``result`` of the last convex step, virtual row included.

    ``f`` and ``sign`` are decisions and signs of the rows; ``objectives`` are values of (1) at the
    final C*. Nothing is below ``lower_bound`` (None: unknown), which took ``n_nodes`` problems to
    know.
    """

    result: Result
    f: FloatArray
    sign: FloatArray
    objective: float
    violation: float
    objectives: list[float]
    lower_bound: float | None = None
    n_nodes: int = 0

    def extend_to_all(self, known: IntArray, f: FloatArray) -> S3VMSolution:
        """This solution over the rows ``known`` as one over all, whose f is given."""
        f = f.copy()
        f[known] = self.f
        a = np.zeros(len(f))
        a[known] = self.result.a
        sign = np.where(f >= 0.0, 1.0, -1.0)
        sign[known] = self.sign
        gradient = f + float(self.result.multiplier)
        return replace(self, result=replace(self.result, a=a, gradient=gradient), f=f, sign=sign)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """``data`` over the distinct rows of a model, with their weights together."""

    whole: S3VMData
    data: S3VMData
    copies: DuplicateRows

    def to_whole(self, found: S3VMSolution) -> S3VMSolution:
        """Return an ``S3VMSolution`` over these rows, as one over all."""
        whole, of = self.whole, self.copies.of[: self.whole.n]
        sign = found.sign[of]
        step = whole.class_objective.step(
            whole.gram, whole.label, whole.weight, sign, whole.target
        )
        result = MergedProblem(step, self.copies).to_whole(found.result)
        return replace(found, result=result, f=found.f[of], sign=sign)
