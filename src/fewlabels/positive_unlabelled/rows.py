"""Rows of a PUSVM: what training makes of them, in memory or in shards.

In memory the positive rows have no variables. In shards there is one problem over all rows, in
which these are fixed; rows left out are predicted from the support vectors alone, and the prior,
if it has to be estimated, comes from a sample.
"""

from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Self

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..base.solution import Function
from ..kernels import Kernel, centered
from ..rows.problem import ProblemSpec, ShardedProblem
from ..rows.row_store import RowStore
from ..rows.shards import Shard, choose_rows, get_weights
from ..rows.source import ShardedSource
from ..solvers.engine.messages import Histogram
from ..solvers.engine.rows import Rows as EngineRows
from .data import PUData, PUSettings, PUSolution
from .problem import DoubleHinge, DoubleHingeOverAll, weight_of_norm
from .scores import quantile_cut
from .task import LOSSES
from .training import solution_over_all, solve_bounded, solve_double_hinge, solve_ramp

# Rows of either kind that the prior is estimated from, or checked with.
_MAX_POSITIVE_ROWS = 5_000
_MAX_UNLABELLED_ROWS = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class PURowsBase:
    """Rows ``X`` of ``data`` as they were given, and what users call them: ``numbers``.

    ``shift`` was taken from all rows under the linear kernel.
    """

    data: PUData
    X: np.ndarray
    numbers: np.ndarray
    shift: np.ndarray | None

    def count_support(self, places: IntArray) -> IntArray:
        """Return how many of the support vectors are unlabelled, and positive."""
        among = np.isin(places, self.data.positive, assume_unique=True)
        return np.array([np.sum(~among), np.sum(among)], dtype=np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class PURows(PURowsBase):
    """All rows, in memory.

    They are ``n``, and numbers are -1 for rows that are leaving; ``others`` are rows that do not
    count; ``held`` has all rows with weights and marks, as a stream holds them, or None where one
    does; ``propensity`` belongs to the positive rows of ``data``, if they were given.
    """

    n: int
    others: np.ndarray
    X_others: np.ndarray
    others_positive: np.ndarray
    held: dict[str, RowMatrix] | None = None
    propensity: np.ndarray | None = None

    @classmethod
    def from_row_store(
        cls, held: RowStore, places: IntArray, data: PUData, shift: FloatArray | None
    ) -> Self:
        """Of ``RowStore``, where ``data`` are of the rows at some places and no others count."""
        others = np.setdiff1d(held.places, places, assume_unique=True)
        return cls(
            data=data,
            X=held.rows(places),
            numbers=held.numbers(places),
            n=len(held),
            shift=shift,
            others=held.numbers(others),
            X_others=held.rows(others),
            others_positive=held["positive"][others],
        )

    @property
    def weight_positive(self) -> float:
        """Of the positive rows together."""
        return float(self.data.weight_positive.sum())

    def for_prior(self, seed: int) -> PUData:
        """``PUData`` to estimate the prior from."""
        return self.data

    def train(
        self, settings: PUSettings, before: tuple[float, PUSolution] | None = None
    ) -> tuple[PUSolution, Self, DoubleHinge | None]:
        """Return the ``PUSolution`` with some ``PUSettings``, and the rows as it weighs them.

        And the formulation that updates follow, None where they can't. ``before``: lambda and
        PUSolution of a model over the same rows, to start from.
        """
        if not LOSSES[settings.loss]:
            return solve_ramp(self.data, settings), self, None
        if settings.bias > 1.0:
            found, data, bounded = solve_bounded(self.data, settings, settings.follows)
            return found, replace(self, data=data), bounded
        stated = DoubleHinge(settings.prior, settings.lam, settings.follows)
        return solve_double_hinge(self.data, settings, before), self, stated

    def find_cut(self, f: FloatArray, share: float, rounding: float) -> float:
        """Return the cut of f, at the unlabelled rows, that leaves a share of them above."""
        return quantile_cut(f, self.data.weight_unlabeled, share, rounding)

    def predict_rows(self, function: Function, decision: FloatArray) -> BoolArray:
        """Return a mask of rows labelled or predicted positive, by ``decision`` if they count."""
        is_positive = np.ones(self.n, dtype=bool)
        there = self.numbers[self.data.unlabeled]
        is_positive[there[there >= 0]] = decision[there >= 0] > function.rounding
        if len(self.others):
            is_positive[self.others] = (function(self.X_others) > 0) | self.others_positive
        return is_positive


@dataclass(frozen=True, eq=False, kw_only=True)
class SupportRows(PURowsBase):
    """The support vectors among rows in shards, of which ``all_rows`` are the engine's."""

    all_rows: EngineRows

    def find_cut(self, f: FloatArray, share: float, rounding: float) -> float:
        """Return the cut as ``PURows`` does: f of the other rows is minus their gradient."""
        numbers = self.numbers[self.data.unlabeled]
        return cut_of_rows(self.all_rows, numbers, -f, share, rounding)

    def predict_rows(self, function: Function, decision: FloatArray) -> None:
        """No row but those in memory."""
        return None


class ReadLabels:
    """The question for the rows ``ids`` that are in a shard: weights and labels."""

    def __init__(self, ids: IntArray) -> None:
        self.ids = ids

    def __call__(self, shard: Shard) -> tuple[FloatArray, BoolArray]:
        own = shard.local_places(self.ids)
        return get_weights(shard)[own], shard.marks["positive"][own]


def summarise_labels(shard: Shard) -> tuple[float, float, IntArray]:
    """The question for the weights of positive rows and of the others, and who the former are."""
    weight, positive = get_weights(shard), shard.marks["positive"]
    numbers = shard.first + np.flatnonzero(positive & (weight > 0))
    others = weight[~positive & (weight > 0)]
    return float(weight[positive & (weight > 0)].sum()), float(others.sum()), numbers


@dataclass(frozen=True, eq=False)
class ShardedPURows:
    """Rows of a ``ShardedSource`` with the mark "positive"."""

    source: ShardedSource
    spec: ProblemSpec  # for any prior
    weight_positive: float
    positive: np.ndarray  # numbers of the positive rows
    n_jobs: int

    @classmethod
    def from_source(
        cls, source: ShardedSource, kernel: Kernel, lam: str | float, n_jobs: int
    ) -> Self:
        """Return the rows of a source with what follows from them; ``lam`` is the parameter."""
        weights, others, numbers = zip(*source.call_all(summarise_labels), strict=True)
        weight_positive, mass = sum(weights), sum(others)
        if not weight_positive > 0 or not mass > 0:
            raise ValueError(
                "sample_weight leaves one class only; give some positive rows and some unlabelled "
                "rows a weight > 0."
            )
        formulation = DoubleHingeOverAll(0.5, weight_of_norm(lam, weight_positive))
        # Under the linear kernel rows are moved, as for other models.
        spec = ProblemSpec.for_source(source, kernel, formulation, mass)
        return cls(source, spec, weight_positive, np.concatenate(numbers), n_jobs)

    def for_prior(self, seed: int) -> PUData:
        """``PUData`` of some rows of either kind."""
        chosen = self.positive[choose_rows(len(self.positive), _MAX_POSITIVE_ROWS, seed)]
        some = choose_rows(self.source.n, _MAX_UNLABELLED_ROWS, seed)
        parts = zip(*self.source.call_all(ReadLabels(some)), strict=True)
        weight, positive = map(np.concatenate, parts)
        return self._make_data(np.union1d(chosen, some[~positive & (weight > 0)]))[0]

    def _make_data(self, ids: IntArray) -> tuple[PUData, RowMatrix]:
        """Return some rows as ``PUData``, and as they were given."""
        X = self.source.take(ids)
        parts = zip(*self.source.call_all(ReadLabels(ids)), strict=True)
        weight, positive = map(np.concatenate, parts)
        centred = centered(X, self.spec.shift)
        given = None if np.all(weight == 1.0) else weight
        return PUData(centred, positive, given, self.spec.kernel, self.n_jobs), X

    def train(
        self, settings: PUSettings, before: object = None
    ) -> tuple[PUSolution, SupportRows, None]:
        """Train as ``PURows`` does; the rows are ``SupportRows``, which can't be updated."""
        lam = settings.lam
        formulation = DoubleHingeOverAll(settings.prior, lam, weight_positive=self.weight_positive)
        spec = self.spec.with_formulation(formulation)
        problem, result = ShardedProblem(self.source, spec).solve(settings.engine)
        data, X = self._make_data(problem.numbers)
        found = solution_over_all(problem.dual, result, data, lam)
        assert problem.all_rows is not None
        rows = SupportRows(
            all_rows=problem.all_rows,
            data=data,
            X=X,
            numbers=problem.numbers,
            shift=self.spec.shift,
        )
        return found, rows, None


# Intervals that a range of decisions is divided into.
_N_INTERVALS = 1024
# Rows whose decisions are gathered at most.
_MAX_ROWS_GATHERED = 100_000


def cut_of_rows(
    rows: EngineRows, ids: IntArray, g: FloatArray, share: float, rounding: float
) -> float:
    """``quantile_cut`` of minus the gradient of ``Rows``, which is ``g`` at the rows ``ids``.

    Rows weigh as much as their intervals are wide, and those without a width nothing.
    """

    def histogram(edges: FloatArray) -> Histogram:
        return Histogram.combined(rows.call_all(methodcaller("histogram", edges, ids, g)))

    whole = histogram(np.empty(0))
    low, high = whole.least, np.nextafter(whole.most, np.inf)
    target, weight = share * float(whole.weight[0]), float(whole.weight[0])
    below, count = 0.0, int(whole.rows[0])
    while count > _MAX_ROWS_GATHERED and high - low > 8.0 * rounding:
        edges = np.linspace(low, high, _N_INTERVALS + 1)
        found = histogram(edges)
        # Those with an interval beside them, in case that the cut is at its end.
        up_to = np.cumsum(found.weight)
        place = int(np.clip(np.searchsorted(up_to, target), 1, _N_INTERVALS))
        first, last = max(1, place - 1), min(_N_INTERVALS, place + 1)
        inside = int(found.rows[first : last + 1].sum())
        if inside == count:
            break
        low, high, below, count = edges[first - 1], edges[last], float(up_to[first - 1]), inside
    cut = _cut_between(rows, (low, high), (ids, g), (below, weight, share), rounding)
    if cut is None:  # rows that are alike reach beyond
        cut = _cut_between(rows, (-np.inf, np.inf), (ids, g), (0.0, weight, share), rounding)
        assert cut is not None
    return cut


def _cut_between(
    rows: EngineRows,
    ends: tuple[float, float],
    known: tuple[IntArray, FloatArray],
    weights: tuple[float, float, float],
    rounding: float,
) -> float | None:
    """Return the cut among rows between two ends; None where it is not well inside."""
    below, weight, share = weights
    parts = zip(*rows.call_all(methodcaller("within", *ends, *known)), strict=True)
    values, width = (np.concatenate(part) for part in parts)
    above = weight - below - float(width.sum())
    is_all = not np.isfinite(ends[0])
    if not is_all:
        if not len(values):
            return None
        values = np.concatenate([[ends[0]], values, [ends[1]]])
        width = np.concatenate([[below], width, [max(0.0, above)]])
    cut = quantile_cut(-values, width, share, rounding)
    inner = np.sort(values)[1:-1]
    if is_all or (inner[0] < -cut < inner[-1]):
        return cut
    return None
