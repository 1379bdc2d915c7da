"""Rows in memory, as a fit takes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from ..kernels import centered
from ..kernels.base import Kernel, MappedKernel
from ..kernels.operators import GramOperator, make_gram
from ..kernels.parameters import resolve_gamma
from ..kernels.rows import find_shift
from ..problem.dual import Formulation
from .problem import ProblemInMemory
from .source import FunctionRows, HeldOut, MakeGram, RowSource, check_width

NOTHING_LEFT = "Invalid input - all samples have zero or negative weights."


@dataclass(frozen=True, eq=False)
class MemorySource(RowSource):
    """Rows in memory, checked: dense or CSR, or a kernel matrix."""

    everything: RowMatrix  # all rows
    weight: FloatArray | None  # of the rows that count; None when they are all 1
    kept: IntArray | None  # indices of these, the rows of positive weight; None for all
    is_matrix: bool = False  # the rows of a kernel matrix
    anomalies: BoolArray | None = None  # mask of all rows; None without confirmed anomalies
    held_out: HeldOut | None = None  # of a split, whose rows do not count
    shape: tuple[int, int] = field(init=False)  # of all rows
    X: RowMatrix = field(init=False)  # the rows that count; of a matrix, their columns

    def __post_init__(self) -> None:
        X = self.everything
        if self.kept is not None:
            X = X[self.kept][:, self.kept] if self.is_matrix else X[self.kept]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "shape", self.everything.shape)

    # -- as a source of rows ---------------------------------------------------------------------

    is_in_memory = True

    @property
    def n_counting(self) -> int:
        return self.X.shape[0]

    @cached_property
    def mass(self) -> float:
        """Weight of all normal rows."""
        weights = self.weights if self.anomaly is None else self.weights[~self.anomaly]
        return float(weights.sum())

    @property
    def indices(self) -> IntArray:
        """Indices of the rows that count."""
        return np.arange(self.X.shape[0]) if self.kept is None else self.kept

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the rows that count."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight

    def gamma(self, rule: str | float) -> float:
        return resolve_gamma(rule, *self.normal())

    def check(self, kernel: Kernel, *, width: bool) -> None:
        kernel.check_powers(self.X)
        if width and isinstance(kernel, MappedKernel) and kernel.of_distance:
            check_width(kernel, self.X)

    def build_problem(
        self, kernel: Kernel, formulation: Formulation, n_jobs: int
    ) -> ProblemInMemory:
        shift = self.shift(kernel) if formulation.moves_with_rows else None
        min_support = formulation.min_support(self.mass)
        X = centered(self.X, shift)
        gram = make_gram(kernel, X, n_jobs=n_jobs, min_support=min_support)
        numbers = self.numbers
        if formulation.needs_diagonal:
            numbers = numbers | {"diagonal": gram.diagonal()}
        return ProblemInMemory(
            X=self.X,
            numbers=self.indices,
            kernel=kernel,
            dual=formulation.problem(gram, numbers, self.mass),
            formulation=formulation,
            mass=self.mass,
            shift=shift,
        )

    def shift(self, kernel: Kernel) -> FloatArray | None:
        return find_shift(kernel, self.X)

    def gram(self, kernel: Kernel, shift: FloatArray | None, make: MakeGram) -> GramOperator:
        return make(kernel, centered(self.X, shift))

    def split(self, mask: BoolArray) -> tuple[Self, FunctionRows | None]:
        held: FunctionRows | None = None
        if self.is_matrix:  # which nobody keeps
            held = self.everything[mask], {"diagonal": np.diag(self.everything)[mask]}
        own = HeldOut(mask, self.scatter(self.weights))
        return replace(self.exclude(mask), held_out=own), held

    @property
    def is_updatable(self) -> bool:
        return not self.is_matrix

    @cached_property
    def anomaly(self) -> BoolArray | None:
        """Mask of the confirmed anomalies among the rows that count; None without any."""
        if self.anomalies is None:
            return None
        mask = self.anomalies if self.kept is None else self.anomalies[self.kept]
        if mask.all():
            raise ValueError(
                "anomalies marks every weighted row as a confirmed anomaly, but a one-class "
                "model needs normal rows; pass at least one."
            )
        return mask if mask.any() else None

    # -- what only rows in memory have -----------------------------------------------------------

    @property
    def numbers(self) -> dict[str, AnyArray]:
        """Numbers of the rows that count, by name, as a ``Formulation`` takes them."""
        numbers: dict[str, AnyArray] = {"weight": self.weights}
        return numbers if self.anomaly is None else numbers | {"anomaly": self.anomaly}

    def normal(self) -> tuple[RowMatrix, FloatArray | None]:
        """Return normal rows that count, and their weights (None when they are all 1)."""
        if self.anomaly is None:
            return self.X, self.weight
        places = np.flatnonzero(~self.anomaly)
        return self.X[places], None if self.weight is None else self.weight[places]

    def scatter(self, values: FloatArray) -> FloatArray:
        """Return values of the rows that count, at all rows; 0 for the others."""
        if self.kept is None:
            return values
        everywhere = np.zeros(self.everything.shape[0])
        everywhere[self.kept] = values
        return everywhere

    @property
    def marks(self) -> dict[str, AnyArray]:
        """Arrays over all rows, by name, that a model needs to be updated."""
        marks: dict[str, AnyArray] = {"weight": self.scatter(self.weights)}
        if self.held_out is not None:
            marks = {"weight": self.held_out.weight, "calibrates": self.held_out.mask}
        return marks if self.anomalies is None else marks | {"anomaly": self.anomalies}

    def exclude(self, mask: BoolArray) -> Self:
        """Return the source where some of all rows do not count."""
        chosen = np.flatnonzero(~mask[self.indices])
        if not len(chosen):
            raise ValueError(NOTHING_LEFT)
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, weight=weight, kept=self.indices[chosen])
