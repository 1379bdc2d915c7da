"""A weighted sum of kernel matrices over the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray, RealArray, VectorLike
from ..rows import DuplicateRows
from .base import Columns, GramOperator


class SumGram(GramOperator):
    """``K = sum_m weight[m] K_m``, with the operators ``members`` over the same rows.

    Weights are > 0, unless the sum ``is_inner_product`` whatever they are.

    >>> import numpy as np
    >>> from fewlabels.kernels.operators import make_gram
    >>> from fewlabels.kernels import RBF
    >>> X = np.array([[0.0], [1.0]])
    >>> gram = SumGram([make_gram(RBF(1.0), X), make_gram(RBF(2.0), X)], [0.25, 0.75])
    >>> gram.block(np.arange(2)).round(3)
    array([[1.   , 0.193],
           [0.193, 1.   ]])
    """

    def __init__(
        self,
        members: Sequence[GramOperator],
        weight: VectorLike,
        *,
        is_inner_product: bool = False,
    ) -> None:
        self.members = list(members)
        self.weight = np.asarray(weight, dtype=float)
        is_allowed = np.isfinite(self.weight) if is_inner_product else self.weight > 0.0
        if self.weight.shape != (len(self.members),) or not np.all(is_allowed):
            raise ValueError(
                f"weights {self.weight} are not allowed; pass one number > 0 per kernel matrix "
                f"(there are {len(self.members)})."
            )
        sizes = sorted({member.n for member in self.members})
        if len(sizes) != 1:
            raise ValueError(
                f"the kernel matrices have {sizes} rows; they must be over the same rows."
            )
        super().__init__(sizes[0], self.members[0].n_jobs)
        self._extra_values = 0
        self._diagonal = self._combine(member.diagonal() for member in self.members)
        self.value_cost = float(sum(member.value_cost for member in self.members))
        self.is_inner_product = is_inner_product or all(m.is_inner_product for m in self.members)
        self.dtype = np.result_type(*(member.dtype for member in self.members))
        self.value_error = self._bound_error()

    @property
    def n_values(self) -> int:
        """The sum of the members' counts."""
        return self._extra_values + sum(member.n_values for member in self.members)

    @n_values.setter
    def n_values(self, value: int) -> None:
        self._extra_values += value - self.n_values

    @property
    def copies(self) -> DuplicateRows | None:  # type: ignore[override]  # computed, where the base has a constant
        """The copies of the members, which are over the same rows."""
        return self.members[0].copies

    def diagonal(self) -> FloatArray:
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        return Columns(np.asarray(indices), tuple(m.gather(indices) for m in self.members))

    def values_of(self, columns: Columns) -> RealArray:
        total = np.zeros((len(columns), self.n), self.dtype)
        weights = self.weight.astype(self.dtype)
        for member, gathered, weight in zip(self.members, columns.values, weights, strict=True):
            _add_rows(total, weight, member.values_of(gathered))
        return total

    def block_of(self, columns: Columns) -> FloatArray:
        members = zip(self.members, columns.values, strict=True)
        return self._combine(member.block_of(gathered) for member, gathered in members)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        for weight, member, gathered in zip(
            self.weight, self.members, columns.values, strict=True
        ):
            member.add_columns(gathered, weight * coef, out)

    def take(self, indices: IntArray) -> SumGram:
        return self._with_members([member.take(indices) for member in self.members])

    def view_rows(self, indices: IntArray) -> SumGram:
        return self._with_members([member.view_rows(indices) for member in self.members])

    def refined(self) -> SumGram | None:
        refined = [member.refined() for member in self.members]
        if all(member is None for member in refined):
            return None
        members = [new or old for new, old in zip(refined, self.members, strict=True)]
        return self._with_members(members)

    def _combine(self, parts: Iterable[FloatArray]) -> FloatArray:
        total: Any = 0.0
        for weight, part in zip(self.weight, parts, strict=True):
            total = total + weight * part
        return total

    def _bound_error(self) -> float:
        """Return the largest mean of the members' errors, by their diagonals (Cauchy-Schwarz)."""
        weight = np.abs(self.weight)[:, None]
        errors = sum(weight * [m.value_error * np.abs(m.diagonal()) for m in self.members])
        sizes = weight * [np.abs(member.diagonal()) for member in self.members]
        # What members take from each other leaves their errors.
        size = sum(sizes) if np.all(self.weight > 0.0) else np.abs(self._diagonal)
        used = size > 0.0
        return float(np.max(errors[used] / size[used], initial=0.0))

    def _with_members(self, members: Sequence[GramOperator]) -> SumGram:
        return SumGram(members, self.weight, is_inner_product=self.is_inner_product)


def _add_rows(total: RealArray, weight: float, values: RealArray) -> None:
    """Add weighted values a column at a time, which stays in cache."""
    for row, column in zip(total, values, strict=True):
        row += weight * column
