"""The problem of a model over the rows of a fit: stated where the rows are, and solved there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from .._typing import FloatArray, IntArray, RowMatrix
from ..kernels import centered
from ..kernels.base import Kernel, MappedKernel
from ..kernels.operators import GramOperator, LinearGram, RowMap, RowsGram
from ..problem import DualProblem
from ..problem.dual import Formulation
from ..problem.penalty import Penalty, check_costs
from ..solvers import Result, Settings, solve_decomposition
from ..solvers.engine.backend import NumpyBackend
from ..solvers.engine.engine import Engine
from ..solvers.engine.partition import Partition
from ..solvers.engine.rows import Rows
from ..solvers.run import Record, make_result
from .shards import Shard

if TYPE_CHECKING:
    from .source import ShardedSource

# Rows, evenly chosen, that the spread of all is estimated from.
_N_ROWS_FOR_SPREAD = 256


@dataclass(frozen=True, eq=False)
class ProblemSpec:
    """The recipe by which rows, wherever they are, become a ``Partition`` of a model's problem.

    ``formulation`` states it where all rows weigh ``mass``; ``row_map`` prepares rows (None for
    the linear kernel, for which ``shift`` is taken from them). A source sends it to its shards.
    """

    kernel: MappedKernel
    formulation: Formulation
    mass: float
    row_map: RowMap | None
    shift: FloatArray | None
    n_jobs: int = 1
    # Of shards whose rows are all alike: penalties, ridges and diagonals by their number.
    _alike: dict[int, tuple[Penalty, FloatArray]] = field(default_factory=dict, repr=False)

    @classmethod
    def for_source(
        cls,
        source: ShardedSource,
        kernel: Kernel,
        formulation: Formulation,
        mass: float,
        *,
        moves: bool = True,
    ) -> Self:
        """Return the problem over the rows of a source; ``moves`` if all rows may be shifted."""
        assert isinstance(kernel, MappedKernel)  # rows that are not in memory have no other
        row_map, shift, moments = None, None, source.moments
        if kernel.is_linear:
            shift = source.center() if moves else None
        else:
            center = source.center() if kernel.of_distance else None
            norm = source.farthest(center)
            more = int(np.count_nonzero(center)) if source.is_sparse and center is not None else 0
            length = min(source.shape[1], moments.row_length + more)
            row_map = RowMap.from_largest_norm(
                kernel,
                center,
                norm,
                length,
                source.shape[1],
                moments.n,
                formulation.min_support(mass),
            )
        return cls(kernel, formulation, float(mass), row_map, shift, source.n_jobs_of_shard)

    def with_formulation(self, formulation: Formulation) -> Self:
        """Return the spec of the same rows in another formulation."""
        return replace(self, formulation=formulation, _alike={})

    def gram(self, X: RowMatrix) -> GramOperator:
        """Return the operator of some rows in memory."""
        if self.row_map is None:
            return LinearGram(centered(X, self.shift), self.n_jobs)
        return RowsGram(self.row_map, X, self.n_jobs)

    def refined(self) -> Self:
        """Return the spec with kernel values in float64."""
        row_map = None if self.row_map is None else self.row_map.refined()
        return replace(self, row_map=row_map)

    def partition(self, shard: Shard, arrays: NumpyBackend | None = None) -> Partition:
        """Return the rows of a shard, as the engine asks them."""
        gram, first = shard.gram(self), shard.first
        are_alike = shard.weight is None and not shard.marks and self.kernel.is_similarity
        known = self._alike.get(shard.n) if are_alike else None
        if known is None:
            known = self.build_penalty(shard, gram.diagonal())
            if are_alike:
                self._alike[shard.n] = known
        penalty, ridge = known
        return Partition(gram, penalty, ridge, self.formulation.scale, first, arrays=arrays)

    def build_penalty(self, shard: Shard, diagonal: FloatArray) -> tuple[Penalty, FloatArray]:
        """Return penalties and ridges of the rows of a shard, whose K_ii are known."""
        weight = np.ones(shard.n) if shard.weight is None else shard.weight
        counts = weight > 0
        rows = {"weight": np.where(counts, weight, 1.0), "diagonal": diagonal, **shard.marks}
        penalty, _ = self.formulation.penalty_and_total(rows, self.mass)
        check_costs(penalty, np.abs(diagonal).max(initial=0.0))
        ridge = np.broadcast_to(self.formulation.ridge(rows), shard.n) * 1.0
        if not counts.all():  # they stay at 0
            penalty = penalty.zero_where(~counts)
        return penalty, ridge

    def total(self) -> float:
        """Sum of the variables."""
        nothing = dict.fromkeys(("weight", "diagonal", "positive"), np.empty(0))
        return self.formulation.penalty_and_total(nothing, self.mass)[1]


class ModelProblem(ABC):
    """The problem of a model over the rows of a source."""

    @abstractmethod
    def sample(self) -> tuple[GramOperator, float]:
        """Return the operator of a few of the rows, and the mean of all ridges."""

    @abstractmethod
    def solve(self, settings: Settings) -> tuple[ProblemInMemory, Result]:
        """Solve the problem; return it over the rows that its Result is about, and that."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemInMemory(ModelProblem):
    """The problem of a model over rows in memory, with a variable for each.

    Attributes
    ----------
    X : {ndarray, CSR array} of shape (n, d)
        The rows, as they were given.
    numbers : ndarray of shape (n,)
        The indices by which users know them.
    kernel : Kernel
        The kernel.
    dual : DualProblem
        The problem over these rows.
    formulation : Formulation
        What states it.
    mass : float
        The weight of all rows of the fit that count.
    shift : ndarray of shape (d,) or None
        What was taken from the rows first.
    all_rows : Rows or None
        Of a solution over shards, the engine's rows. The rows here are then the support vectors
        alone, and so are the variables and the gradient of the Result; all else in it is of all
        rows.
    """

    X: RowMatrix
    numbers: IntArray
    kernel: Kernel
    dual: DualProblem
    formulation: Formulation
    mass: float
    shift: FloatArray | None
    all_rows: Rows | None = None

    @property
    def unit(self) -> float:
        """The factor from the model's variables to the variables of the formulation."""
        return self.formulation.unit(self.mass)

    def sample(self) -> tuple[GramOperator, float]:
        gram = self.dual.gram
        return gram.take(choose_evenly(gram.n)), float(np.mean(self.dual.ridge))

    def solve(
        self, settings: Settings, start: Result | None = None
    ) -> tuple[ProblemInMemory, Result]:
        """Solve the problem, perhaps from an earlier Result."""
        return self, solve_decomposition(self.dual, start, settings)


@dataclass(frozen=True, eq=False)
class ShardedProblem(ModelProblem):
    """The problem of a model over the rows of a ``ShardedSource``, as a ``ProblemSpec`` says."""

    source: ShardedSource
    spec: ProblemSpec

    def sample(self) -> tuple[GramOperator, float]:
        source, spec = self.source, self.spec
        gram = spec.gram(source.take(choose_evenly(source.n)))
        ridge = spec.formulation.ridge({"weight": np.array([spec.mass / source.n_counting])})
        return gram, float(np.mean(ridge))

    def solve(self, settings: Settings) -> tuple[ProblemInMemory, Result]:
        source, spec = self.source, self.spec
        rows = source.rows(spec)
        DualProblem.check_kernel_values(rows.scale * rows.facts.largest)
        rows.facts.extent.check(rows.total)
        callback = source.with_usage(settings.callback)
        settings = replace(settings, share=source.share, callback=callback)
        engine = Engine(rows, settings, Record(settings))
        status = engine.run(cold=True)
        rows.round_to_breakpoints()
        working = rows.fetch()
        result = make_result(
            rows.totals(),
            rows.duality_gap,
            working.a,
            working.g,
            status,
            engine.record.n_iter,
            engine.record.history,
        )
        X = source.take(working.ids)
        dual = DualProblem(
            spec.gram(X), working.penalty, rows.total, scale=rows.scale, ridge=working.ridge
        )
        problem = ProblemInMemory(
            X=X,
            numbers=source.numbers(working.ids),
            kernel=spec.kernel,
            dual=dual,
            formulation=spec.formulation,
            mass=spec.mass,
            shift=spec.shift,
            all_rows=rows,
        )
        return problem, result


def choose_evenly(n: int) -> IntArray:
    """Return numbers of a few of n rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, _N_ROWS_FOR_SPREAD)).astype(np.intp))
