"""What a model has to state once: its problem, for the engine, the path and all others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray
from ..kernels.operators import GramOperator
from .dual import DualProblem
from .penalty import Penalty

# Numbers of rows by name: "weight" always, and what the model needs too.
RowArrays: TypeAlias = Mapping[str, AnyArray]


class Formulation(ABC):
    """A convex model as problem (P), stated in variables that suit rows that come and go.

    A model's own variables are ``a``, which for most models have the number of rows in their
    bounds. The statement is in ``b = unit(mass) a``, with ``mass`` the sum of the weights, chosen
    such that as few numbers as possible move when rows do. A path follows it as it stands
    (``penalty``, ``total``); ``problem`` divides by the unit, and is what an engine solves.

    Subclasses are frozen dataclasses that hold the model's parameters.
    """

    #: Factor of K in Q.
    scale = 1.0
    #: Whether moving all rows alike under the linear kernel changes nothing.
    moves_with_rows = True
    #: Whether rows need their K(x, x), as "diagonal".
    needs_diagonal = False

    @property
    def moves_total(self) -> bool:
        """bool: Whether the total depends on the mass."""
        return True

    @property
    def moves_slopes(self) -> bool:
        """bool: Whether the slopes depend on the mass."""
        return False

    @property
    def origin(self) -> float:
        """The number that a path subtracts from all slopes, per unit of the total."""
        return 0.0

    @abstractmethod
    def unit(self, mass: float) -> float:
        """Return the factor of the model's variables, > 0."""

    @abstractmethod
    def total(self, mass: float) -> float:
        """Sum of the variables ``b``."""

    @abstractmethod
    def penalty(self, rows: RowArrays, mass: float) -> Penalty:
        """Return penalties of the variables ``b`` of some rows, of all that weigh ``mass``."""

    def masses(self, rows: RowArrays) -> FloatArray:
        """How much each row adds to the mass."""
        return rows["weight"]

    def min_support(self, mass: float) -> float:
        """Share of the rows that are support vectors at least, as far as that is known."""
        return 1.0

    def ridge(self, rows: RowArrays) -> FloatArray | float:
        """Return the number that is added to the kernel's diagonal in Q, >= 0."""
        return 0.0

    def penalty_and_total(self, rows: RowArrays, mass: float) -> tuple[Penalty, float]:
        """Return penalties and the sum of the model's own variables ``a``."""
        unit, penalty = self.unit(mass), self.penalty(rows, mass)
        if unit != 1.0:
            penalty = penalty.scaled(1.0 / unit, 1.0 / unit)
        return penalty, self.total(mass) / unit

    def problem(
        self, gram: GramOperator, rows: RowArrays, mass: float | None = None
    ) -> DualProblem:
        """Return the model's problem over rows, in its own variables ``a``."""
        mass = float(np.sum(self.masses(rows))) if mass is None else mass
        penalty, total = self.penalty_and_total(rows, mass)
        return DualProblem(gram, penalty, total, scale=self.scale, ridge=self.ridge(rows))

    # -- on a path -------------------------------------------------------------------------------

    @abstractmethod
    def decision(
        self, rows: RowArrays, k: int, a: FloatArray, h: FloatArray, multiplier: float, mass: float
    ) -> float:
        """Return the decision of the other rows' model about the k-th row of a path.

        From a path on which that row has no part: variables, h and multiplier (such as a fit
        would choose), and the mass of the others.
        """

    def takes(self, rows: RowArrays) -> BoolArray:
        """Return the mask of the rows that have a variable."""
        return rows["weight"] > 0

    def on_path(self, rows: RowArrays) -> Formulation:
        """Return the formulation as a path over such rows follows it: with its own ``origin``."""
        return self

    def with_new_rows(self, rows: RowArrays) -> Formulation:
        """Return the formulation of a path that these rows join."""
        return self

    def path_multiplier(self, multiplier: float, mass: float) -> float:
        """Return the path's multiplier from the model's."""
        return self.unit(mass) * multiplier + self.total(mass) * self.origin

    def check_remaining(self, rows: RowArrays) -> None:
        """Refuse rows that leave no model."""
        if not np.any(self.takes(rows)):
            raise ValueError("no training row would be left; keep at least one.")
