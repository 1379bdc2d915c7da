"""The one-class SVM on a path: LIBSVM's duals, in [0, w], with the sum nu sum(w)."""

from __future__ import annotations

from ..problem import Penalty, one_class
from ..solvers.path import RowPenalties
from ._convex_path import ConvexPath


class OneClassPath(ConvexPath):
    """``ConvexPath`` of a OneClassSVM.

    ``min_b b'Kb/2``, ``sum b = nu sum(w)``, ``0 <= b_i <= w_i``: only the total moves with the
    number of rows.
    """

    def read(self, machine):
        self.nu = float(machine.nu)

    def unit(self, mass):
        return self.nu * mass

    def total(self, mass):
        return self.nu * mass

    def penalties(self, places, mass):
        weight = self.rows["weight"][places]
        return RowPenalties.convex(Penalty.linear(0.0, weight, 0.0, len(weight)))

    def path_multiplier(self, multiplier, mass):
        return self.unit(mass) * multiplier

    def problem(self, places, gram):
        return one_class(gram, self.nu, self.rows["weight"][places])

    def decision(self, k, a, h, multiplier, mass):
        return h[k]

    def score(self, k, inner, mass):
        """``score_samples``, by duals that sum to one."""
        return inner / self.unit(mass)
