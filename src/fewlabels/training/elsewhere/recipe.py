"""The problem of a model over rows that are not in memory, and its solution."""

from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from ...gram import LinearGram, RowMap, RowsGram
from ...kernels import centered
from ...problem import DualProblem
from ...problem.penalty import check_costs
from ...solvers import Result
from ...solvers.engine.engine import Engine
from ...solvers.engine.partition import Partition
from ...solvers.engine.record import Record
from ...solvers.result import certified
from ..grams import rows_in_float64
from .moments import center_at, farthest
from .place import noted


@dataclass(frozen=True, eq=False)
class Recipe:
    """How rows, wherever they are, become a ``Partition`` of the problem of a model.

    ``formulation`` states it where all rows weigh ``mass``; ``row_map`` prepares rows (None for
    the linear kernel, for which ``shift`` is taken from them). A place sends it to its parts.
    """

    kernel: Any
    formulation: Any
    mass: float
    row_map: RowMap | None
    shift: np.ndarray | None
    n_jobs: int = 1
    # Of parts whose rows are all alike: penalties, ridges and diagonals by their number.
    _alike: dict = field(default_factory=dict, repr=False)

    @classmethod
    def over(cls, place, moments, kernel, formulation, mass, *, moves=True):
        """That of the rows of a place; ``moves`` where all rows may be moved."""
        row_map = shift = None
        if kernel.is_linear:
            shift = center_at(place, moments) if moves else None
        else:
            center = center_at(place, moments) if kernel.of_distance else None
            norm = farthest(place, center)
            few = rows_in_float64(kernel, formulation.fewest(mass))
            dtype = np.float64 if moments.n <= few else None
            more = np.count_nonzero(center) if place.is_sparse and center is not None else 0
            length = min(place.shape[1], moments.row_length + more)
            row_map = RowMap.known(kernel, center, norm, length, dtype)
        return cls(kernel, formulation, float(mass), row_map, shift, place.n_jobs_of_part)

    def stating(self, formulation):
        """The same rows in another formulation."""
        return replace(self, formulation=formulation, _alike={})

    def gram(self, X):
        """The operator of some rows in memory."""
        if self.row_map is None:
            return LinearGram(centered(X, self.shift), self.n_jobs)
        return RowsGram(self.row_map, X, self.n_jobs)

    def refined(self):
        """The same in float64."""
        row_map = None if self.row_map is None else self.row_map.refined()
        return replace(self, row_map=row_map)

    def partition(self, part, arrays=None):
        """The rows of a part, as the engine asks them."""
        gram, first = part.gram(self), part.first
        are_alike = part.weight is None and not part.marks and self.kernel.is_similarity
        known = self._alike.get(part.n) if are_alike else None
        if known is None:
            known = self.stated(part, gram.diagonal())
            if are_alike:
                self._alike[part.n] = known
        penalty, ridge = known
        return Partition(gram, penalty, ridge, self.formulation.scale, first, arrays=arrays)

    def stated(self, part, diagonal):
        """Penalties and ridges of the rows of a part, whose K_ii are known."""
        weight = np.ones(part.n) if part.weight is None else part.weight
        counts = weight > 0
        rows = {"weight": np.where(counts, weight, 1.0), "diagonal": diagonal, **part.marks}
        penalty, _ = self.formulation.stated(rows, self.mass)
        check_costs(penalty, np.abs(diagonal).max(initial=0.0))
        ridge = np.broadcast_to(self.formulation.ridge(rows), part.n) * 1.0
        if not counts.all():  # they stay at 0
            ends = [np.where(counts, end, 0.0) for end in penalty.arrays()[:3]]
            penalty = type(penalty).kinked(*ends, *penalty.arrays()[3:], part.n)
        return penalty, ridge

    def total(self):
        """Sum of the variables."""
        nothing = dict.fromkeys(("weight", "diagonal", "positive"), np.empty(0))
        return self.formulation.stated(nothing, self.mass)[1]


@dataclass(frozen=True, eq=False)
class Found:
    """A solution, at the rows whose variables are not zero: these ``rows``, and their ``ids``.

    ``problem`` and the variables and gradient of ``result`` are of these rows alone, all else in
    ``result`` of all rows, which are ``all_rows``.
    """

    X: Any
    ids: np.ndarray
    problem: DualProblem
    result: Result
    all_rows: Any


def solve_elsewhere(place, recipe, settings):
    """Solve the problem of a ``Recipe`` over the rows of a place: ``Found``."""
    rows = place.rows(recipe)
    DualProblem.check_size(rows.scale * rows.facts.largest)
    rows.facts.extent.check(rows.total)
    note = partial(noted, place, settings.callback)
    settings = replace(settings, share=place.share, callback=note)
    engine = Engine(rows, settings, Record(settings))
    status = engine.run(cold=True)
    rows.snap()
    ids = np.concatenate(rows.ask(methodcaller("used")))
    working = rows.fetch(ids)
    result = certified(
        rows.totals(), rows.duality_gap, working.a, working.g,
        status, engine.record.n_iter, engine.record.history,
    )  # fmt: skip
    X = place.take(ids)
    problem = DualProblem(
        recipe.gram(X), working.penalty, rows.total, scale=rows.scale, ridge=working.ridge
    )
    return Found(X, ids, problem, result, rows)
