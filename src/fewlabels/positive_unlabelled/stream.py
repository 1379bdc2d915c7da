"""Positive and unlabelled rows that come and go."""

import copy
from typing import Any, cast

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from ..base.solution import TrainingRows
from ..base.stream import ConvexStream
from ..calibration.leave_one_out import decisions_without, distinct
from ..problem import RowPenalties
from ..problem.dual import RowArrays
from ..solvers.path import PathFollower
from .data import PUData, PUSolution, make_exact_expansion
from .problem import DoubleHinge, kinds
from .rows import PURows
from .training import double_hinge_solution

# Sums over positive rows are computed afresh once this share of them is left.
_MIN_SHARE_LEFT = 0.5


class PUStream(ConvexStream):
    """``ConvexStream`` of a ``DoubleHinge``; rows have the mark "positive".

    Positive rows are not on the path: when they come or go, the similarities of the others move,
    and lambda with ``lam="auto"``. A row's "sum" adds its kernel values with the positive
    rows, times their weights, and its "similarity" the mean. Where rows have a "factor", the
    weights of the positive ones are multiplied by it.
    """

    stated: DoubleHinge
    formulation: DoubleHinge
    derived_values = (*ConvexStream.derived_values, "sum", "similarity")
    is_relative = False
    # False while rows and sums change, and after Ctrl-C in between.
    _sums_are_known = True

    def _prepare(self) -> None:
        if self.on_path is None:
            self._recompute_sums()
        super()._prepare()

    # -- rows ------------------------------------------------------------------------------------

    def _weights(self, places: IntArray) -> FloatArray:
        """Return weights of positive rows."""
        weight, factor = self.rows["weight"][places], self.rows.get("factor")
        return weight if factor is None else weight * factor[places]

    def positives(self) -> IntArray:
        """Return places of the positive rows with a weight."""
        rows = self.rows
        return np.flatnonzero(rows.alive & rows["positive"] & (rows["weight"] > 0))

    def kinds(self) -> tuple[BoolArray, BoolArray]:
        return kinds(cast(RowArrays, self.rows))

    def add(self, X: RowMatrix, anomaly: BoolArray | None = None, **values: AnyArray) -> IntArray:
        """Add rows with their "weight", the mark "positive" and perhaps a "factor"."""
        self._repair_sums()
        weight, positive = values["weight"], values["positive"]
        zeros, before = np.zeros(X.shape[0]), self.positives()
        self._sums_are_known = False
        places = super().add(X, sum=zeros, similarity=zeros, **values)
        sums = self.rows["sum"].copy()
        sums[places] = self._weighted_sums(before, places)
        self._set_sums(sums)
        joining = places[positive & (weight > 0)]
        if len(joining):
            self._add_to_sums(joining, 1.0)
        self._sums_are_known = True
        return places

    def remove(self, indices: IntArray, switching: IntArray | None = None) -> IntArray:
        self._repair_sums()
        before = self.positives()
        self._sums_are_known = False
        places = super().remove(indices, switching)
        leaving = np.intersect1d(places, before)
        if len(leaving):
            self._add_to_sums(leaving, -1.0)
        self._sums_are_known = True
        return places

    def training_rows(self) -> TrainingRows:
        state = self.rows.state()
        return TrainingRows(state["X"], state["weight"], state["positive"].astype(np.int8))

    def run(self, max_steps: int | None = None) -> bool:
        self._repair_sums()
        return super().run(max_steps)

    # -- sums over the positive rows -------------------------------------------------------------

    def _sum(self, places: IntArray, coef: FloatArray, at: IntArray) -> FloatArray:
        """``sum_i coef_i K(x_i, x)`` over rows at ``places``, for the rows ``at``."""
        function = make_exact_expansion(self.kernel, self.kernel_rows(places), coef, self.n_jobs)
        return function(self.kernel_rows(at))

    def _weighted_sums(self, places: IntArray, at: IntArray) -> FloatArray:
        """Return sums of kernel values with the rows at ``places``, times their weights."""
        return self._sum(places, self._weights(places), at)

    def _set_sums(self, sums: FloatArray) -> None:
        self.rows["sum"] = sums
        self.rows["similarity"] = sums / self.positive_weight

    def _recompute_sums(self) -> None:
        positives = self.positives()
        self.positive_weight = float(self._weights(positives).sum())
        self._largest_weight = self.positive_weight
        self._set_sums(self._weighted_sums(positives, np.arange(self.rows.n_places)))

    def _add_to_sums(self, places: IntArray, sign: float) -> None:
        """Rows at ``places`` join the positive ones, or leave them."""
        self.positive_weight += sign * float(self._weights(places).sum())
        self._largest_weight = max(self._largest_weight, self.positive_weight)
        if self.positive_weight < _MIN_SHARE_LEFT * self._largest_weight:
            self._recompute_sums()
        else:
            change = sign * self._weighted_sums(places, np.arange(self.rows.n_places))
            self._set_sums(self.rows["sum"] + change)
        self._follow_positives()

    def _follow_positives(self) -> None:
        """Take slopes, and lambda with ``lam="auto"``, from the present positive rows."""
        self.stale = True
        self.stated = self.stated.with_positives(self.positive_weight)
        self.formulation = self.formulation.with_positives(self.positive_weight)

    def _repair_sums(self) -> None:
        """Prepare, and compute sums afresh where Ctrl-C came between rows and their sums."""
        self._prepare()
        if not self._sums_are_known:
            self._recompute_sums()
            self._follow_positives()
            self._sums_are_known = True

    # -- the model's solution --------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if not self._sums_are_known:
            self._repair_sums()
        return super().__getstate__()

    def current_pu_rows(self) -> PURows:
        """Return the rows that the present function is made of, as ``PURows``."""
        self._repair_sums()
        if self.path is not None:
            self._sync_membership()
        rows, positives = self.rows, self.positives()
        places, factor = np.union1d(self.on_path, positives), rows.get("factor")
        data = PUData(
            self.kernel_rows(places),
            rows["positive"][places],
            rows["weight"][places],
            self.kernel,
            self.n_jobs,
            float64=True,
            factor=None if factor is None else factor[positives],
        )
        data.similarity = rows["similarity"][self.on_path]
        data.similarity_positive = rows["similarity"][positives]
        return PURows.from_row_store(rows, places, data, self.shift)

    def current_solution(self) -> tuple[PURows, PUSolution]:
        """``PURows``, and what the present variables mean for them, as a ``PUSolution``."""
        rows = self.current_pu_rows()
        found = double_hinge_solution(*self.solution(rows.data.gram), rows.data, self.stated.lam)
        return rows, found

    def decide_left_out(self, places: IntArray) -> FloatArray:
        """Return decisions about rows with a weight by the models of all other rows."""
        positive, values = self.rows["positive"][places], np.empty(len(places))
        values[~positive] = decisions_without(self, places[~positive])
        if positive.any():
            path, (few, of) = copy.deepcopy(self._begun_path), distinct(self, places[positive])
            with self.explain_breakdowns():
                values[positive] = np.array([self._decide_without_positive(path, k) for k in few])[
                    of
                ]
        return values

    def _decide_without_positive(self, path: PathFollower, place: int) -> float:
        """The decision about one positive row, from a path that moves to where it is not."""
        rows, mass, one = self.rows, self.mass, np.array([place])
        left = self.positive_weight - float(self._weights(one)[0])
        formulation = self.formulation.with_positives(left)
        heads = self.heads
        where = np.append(heads, place)
        similarity = (rows["sum"][where] - self._weighted_sums(one, where)) / left
        numbers = self.merge_rows() | {"similarity": similarity[:-1]}
        penalties = RowPenalties.convex(formulation.penalty(numbers, mass))
        path.move(np.arange(len(path)), penalties, total=formulation.total(mass))
        a, h, penalty = path.a, path.h, path.penalty
        support = np.flatnonzero(a)
        inner = self._sum(heads[support], a[support], one)
        settled = path.multiplier + penalty.multiplier(penalty.rounded(a), h)
        own = {"similarity": similarity[-1:]}
        return formulation.decision(own, 0, None, inner - settled, None, mass)
