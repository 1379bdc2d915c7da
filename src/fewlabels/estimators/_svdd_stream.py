"""The ball on a path: alpha itself, or alpha in units of its bound where that moves."""

from __future__ import annotations

import numpy as np

from ..kernels import RBF
from ..problem import Penalty, svdd_linear, svdd_squared
from ..solvers.path import RowPenalties
from ._convex_path import ConvexPath


class SVDDPath(ConvexPath):
    """``ConvexPath`` of an SVDD.

    With a given C nothing depends on the number of rows. With nu, C = 1 / (nu sum(w)), and
    ``b = alpha / C`` solves ``min b'Kb - sum b_i K_ii / C``, ``sum b = 1 / C``,
    ``0 <= b_i <= w_i``: total and slopes move, no bound does.
    """

    scale = 2.0

    def read(self, machine):
        self.squared = machine.slack == "squared"
        self.C, self.nu = float(machine.C), machine.nu
        diagonal = self._diagonal(self.rows.X)
        self.rows["diagonal"] = diagonal
        # Taken from all slopes: where K(x, x) is large and varies little, they would be large.
        self.middle = float(diagonal.mean())
        self.moves_total = self.nu is not None
        # As with every kernel of distances, where K(x, x) is constant.
        self.constant = bool(np.all(diagonal == self.middle))
        self.moves_slopes = self.moves_total and not self.constant

    def _diagonal(self, X):
        return self.kernel.diagonal(X if self.shift is None else X - self.shift)

    def add(self, X, weight, **values):
        diagonal = self._diagonal(X)
        self.constant = self.constant and bool(np.all(diagonal == self.middle))
        self.moves_slopes = self.moves_total and not self.constant
        return super().add(X, weight, diagonal=diagonal, **values)

    def check_left(self, left):
        super().check_left(left)
        if self.squared or self.nu is not None:
            return
        mass = float(self.rows["weight"][left].sum())
        if self.C * mass < 1.0 - 1e-12:
            raise ValueError(
                f"C={self.C:g} with slack='linear' leaves no solution for rows that weigh "
                f"{mass:g} together: C times the sum of weights must be at least 1; keep more "
                "rows, or fit again with a larger C, or nu."
            )

    def unit(self, mass):
        return 1.0 if self.nu is None else self.nu * mass

    def total(self, mass):
        return self.unit(mass)

    def penalties(self, places, mass):
        weight, diagonal = self.rows["weight"][places], self.rows["diagonal"][places]
        slope = self.unit(mass) * (self.middle - diagonal)
        if self.squared:
            penalty = Penalty.linear(0.0, np.inf, slope, len(places))
            return RowPenalties.convex(penalty, 1.0 / (2.0 * self.C * weight))
        upper = weight if self.nu is not None else self.C * weight
        return RowPenalties.convex(Penalty.linear(0.0, upper, slope, len(places)))

    def path_multiplier(self, multiplier, mass):
        return self.unit(mass) * (multiplier + self.middle)

    def problem(self, places, gram):
        weight = self.rows["weight"][places]
        if self.squared:
            return svdd_squared(gram, self.C, weight)
        C = self.C if self.nu is None else 1.0 / (self.nu * weight.sum())
        return svdd_linear(gram, C, weight)

    def decision(self, k, a, h, multiplier, mass):
        unit = self.unit(mass)
        ridge = 0.0
        if self.squared:
            ridge = 1.0 / (2.0 * self.C * self.rows["weight"][self.on_path])
        smooth = (h + multiplier - ridge * a) / unit  # 2 K alpha
        center_norm = 0.5 * float(a @ smooth) / unit
        radius_squared = max(0.0, center_norm - multiplier / unit + self.middle)
        diagonal = self.rows["diagonal"][self.on_path[k]]
        return radius_squared - (diagonal - smooth[k] + center_norm)

    def score(self, k, inner, mass):
        """``score_samples``, by duals that sum to one."""
        diagonal = 0.0 if isinstance(self.kernel, RBF) else self.rows["diagonal"][self.on_path[k]]
        return inner / self.unit(mass) - diagonal
