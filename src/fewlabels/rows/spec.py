"""The problem of a model over rows that are not in memory, and its solution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from .._typing import FloatArray, IntArray, RowMatrix
from ..kernels import centered
from ..kernels.base import Kernel, MappedKernel
from ..kernels.operators import GramOperator, LinearGram, RowMap, RowsGram
from ..problem import DualProblem
from ..problem.dual import Formulation
from ..problem.penalty import Penalty, check_costs
from ..solvers import Result, Settings
from ..solvers.engine.backend import NumpyBackend
from ..solvers.engine.engine import Engine
from ..solvers.engine.partition import Partition
from ..solvers.engine.rows import Rows
from ..solvers.run import Record, make_result
from .shards import Shard

if TYPE_CHECKING:
    from .source import ShardedSource


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


class SolvedProblem(NamedTuple):
    """The solution of a model's problem, at rows ``X`` that users know by ``numbers``.

    Those are all rows that count. Or they are the support vectors alone, and ``all_rows`` the
    engine's ``Rows``: then ``problem`` and the variables and gradient of ``result`` are of the
    support vectors, and all else in ``result`` is of all rows.
    """

    X: RowMatrix
    numbers: IntArray
    problem: DualProblem
    result: Result
    all_rows: Rows | None = None


def solve_sharded(source: ShardedSource, spec: ProblemSpec, settings: Settings) -> SolvedProblem:
    """Solve the problem of a ``ProblemSpec`` over the rows of a source: ``SolvedProblem``."""
    rows = source.rows(spec)
    DualProblem.check_kernel_values(rows.scale * rows.facts.largest)
    rows.facts.extent.check(rows.total)
    settings = replace(settings, share=source.share, callback=source.with_usage(settings.callback))
    engine = Engine(rows, settings, Record(settings))
    status = engine.run(cold=True)
    rows.round_to_breakpoints()
    working = rows.fetch()
    ids = working.ids
    result = make_result(
        rows.totals(),
        rows.duality_gap,
        working.a,
        working.g,
        status,
        engine.record.n_iter,
        engine.record.history,
    )
    X = source.take(ids)
    problem = DualProblem(
        spec.gram(X), working.penalty, rows.total, scale=rows.scale, ridge=working.ridge
    )
    return SolvedProblem(X, source.numbers(ids), problem, result, rows)
