"""Positive-unlabelled models as problem (P)."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import BoolArray, FloatArray
from ..kernels.operators import GramOperator
from ..problem.dual import DualProblem, Formulation, RowArrays
from ..problem.penalty import Penalty

# lambda times the number of positive rows: on real sets the best was between 0.1 and 0.2 (12 sets
# with 100 positives, 8 with 20 to 1000).
_AUTO_COST = 0.15


def weight_of_norm(lam: str | float, weight_positive: float) -> float:
    """Return the number that ``lam`` means; ``weight_positive`` is the positive rows' weight."""
    return _AUTO_COST / weight_positive if lam == "auto" else float(lam)


def kinds(rows: RowArrays) -> tuple[BoolArray, BoolArray]:
    """Masks of the positive rows and of the others."""
    return rows["positive"], ~rows["positive"]


@dataclass(frozen=True)
class DoubleHinge(Formulation):
    """Positive-unlabelled learning with the double hinge loss, Sansone et al. 2019, eq. (6).

    ``min_s s'Ks/2 - c1 p m's - sum_u min(s_u, c2_u - s_u)``, ``sum s = c1 p``,
    ``0 <= s_u <= c2_u``, over unlabelled rows only: the paper's delta at its optimum is
    ``2 min(s, c2 - s)``. Here ``c1 p = prior / (2 lam)``, ``c2_u = w_u / (2 lam sum(w))``, and
    m_u, "similarity" of the rows, is the mean kernel value with the positive rows. The function
    is ``f(x) = c1 sum_P K(x, x_i) - sum_U s_u K(x, x_u) + b`` with b the multiplier of the
    equality.

    Attributes
    ----------
    prior : float
        Share of positives among the unlabelled rows, in (0, 1).
    lam : float
        Weight of ``||f||^2`` next to the risk, > 0.
    follows : bool
        Whether lam is what "auto" means, and moves with the positive rows.
    origin : float
        What a path takes from all m_u, which are large and nearly the same.
    """

    prior: float
    lam: float
    follows: bool = False
    origin: float = 0.0

    moves_slopes = True

    def unit(self, mass: float) -> float:
        return 2.0 * self.lam * mass

    def total(self, mass: float) -> float:
        return self.prior * mass

    def penalty(self, rows: RowArrays, mass: float) -> Penalty:
        return self._penalty(rows, self.total(mass), rows["weight"], self.unit(mass), self.origin)

    def penalty_and_total(self, rows: RowArrays, mass: float) -> tuple[Penalty, float]:
        # By its own formulas, and not by the path's and a division, which would round.
        total, reach = self.prior / (2.0 * self.lam), rows["weight"] / (2.0 * self.lam * mass)
        return self._penalty(rows, total, reach, 1.0, 0.0), total

    # -- on a path, where rows have the mark "positive" ------------------------------------------

    def decision(
        self,
        rows: RowArrays,
        k: int,
        a: FloatArray | None,
        h: FloatArray,
        multiplier: float | None,
        mass: float,
    ) -> float:
        similarity = float(rows["similarity"][k]) - self.origin
        return (self.prior * mass * similarity - h[k]) / self.unit(mass)

    def takes(self, rows: RowArrays) -> BoolArray:
        return (rows["weight"] > 0) & ~rows["positive"]

    def on_path(self, rows: RowArrays) -> Self:
        return replace(self, origin=float(np.mean(rows["similarity"][self.takes(rows)])))

    def check_remaining(self, rows: RowArrays) -> None:
        counts = rows["weight"] > 0
        for name, kind in zip(("positive", "unlabelled"), kinds(rows), strict=True):
            if not np.any(counts & kind):
                raise ValueError(f"no {name} training row would be left; keep at least one.")

    def with_positives(self, weight: float) -> Self:
        """Return the formulation where the positive rows weigh ``weight``."""
        return replace(self, lam=weight_of_norm("auto", weight)) if self.follows else self

    @staticmethod
    def _penalty(
        rows: RowArrays, total: float, reach: FloatArray, bend: float, origin: float
    ) -> Penalty:
        linear = -total * (rows["similarity"] - origin)
        return Penalty.kinked(0.0, 0.5 * reach, reach, linear - bend, linear + bend, len(reach))


@dataclass(frozen=True)
class DoubleHingeOverAll(DoubleHinge):
    """The double hinge over all rows: variables of positive rows, marked so, are fixed.

    ``min_s s'Ks/2 - sum_u min(s_u, c2_u - s_u)``, ``sum s = 0``, ``s_i = -c1 p w_i / W`` for
    positive rows, which weigh ``weight_positive``, W, together. The mass is the others' mass.
    No mean kernel value has to be known first.

    With a ``bias`` of B, each positive row has the worst weight between w_i / B and B w_i. Its
    loss is ``max(-f / B, -B f)``, and its variable may be anywhere in that range.
    """

    weight_positive: float = 1.0
    bias: float = 1.0

    def penalty_and_total(self, rows: RowArrays, mass: float) -> tuple[Penalty, float]:
        weight, fixed = rows["weight"], np.asarray(rows["positive"], dtype=bool)
        half = weight / (4.0 * self.lam * mass)
        at = -self.prior / (2.0 * self.lam) * weight / self.weight_positive
        lower = np.where(fixed, self.bias * at, 0.0)
        kink = np.where(fixed, at, half)
        upper = np.where(fixed, 1.0 / self.bias * at, 2.0 * half)
        bend = np.where(fixed, 0.0, 1.0)
        return Penalty.kinked(lower, kink, upper, -bend, bend, len(weight)), 0.0

    def with_positives(self, weight: float) -> Self:
        return replace(super().with_positives(weight), weight_positive=weight)


def pu_double_hinge(
    gram: GramOperator,
    similarity: FloatArray,
    prior: float,
    lam: float,
    weight: FloatArray | None = None,
) -> DualProblem:
    """Return problem (P) of PUSVM with the double hinge loss.

    Parameters
    ----------
    gram : GramOperator
        K over the unlabelled rows.
    similarity : ndarray of shape (n,)
        Mean kernel value between each unlabelled row and the positive rows.
    prior : float
        Share of positives among the unlabelled rows, in (0, 1).
    lam : float
        Weight of ``||f||^2`` next to the risk, > 0.
    weight : ndarray of shape (n,), optional
        Weights w, > 0.
    """
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    rows = {"weight": weight, "similarity": similarity}
    return DoubleHinge(prior, lam).problem(gram, rows)


def pu_ramp_step(
    gram: GramOperator, label: FloatArray, cost: FloatArray, reversed_rows: BoolArray
) -> DualProblem:
    """Return one convex step of positive-unlabelled learning with the ramp loss.

    The ramp is ``cost_i (max(0, 1 - y f) - max(0, -1 - y f))`` (du Plessis et al. 2014);
    the step takes the second part by its tangent, which for rows with ``y f < -1`` (the
    reversed ones) moves the interval of the dual from ``[0, cost]`` to ``[-cost, 0]``:

    ``min_a a'Ka/2 - sum y_i a_i``, ``sum a = 0``, ``y_i a_i`` in that interval. The function
    is ``f = K a + b`` with b minus the multiplier of the equality.

    Parameters
    ----------
    gram : GramOperator
        K over all rows.
    label : ndarray of shape (n,)
        y: +1 for positive rows, -1 for unlabelled ones.
    cost : ndarray of shape (n,)
        Costs, > 0.
    reversed_rows : ndarray of bool of shape (n,)
        Rows on the flat part of their loss.
    """
    up = (label > 0) != reversed_rows
    lower, upper = np.where(up, 0.0, -cost), np.where(up, cost, 0.0)
    return DualProblem(gram, Penalty.linear(lower, upper, -label, gram.n), 0.0)


def soft_labels(gram: GramOperator, posterior: FloatArray, cost: FloatArray) -> DualProblem:
    """Support vector machine for rows that are positive with probability q.

    ``min 1/2 |f|^2 + sum_i cost_i [q_i max(0, 1 - f_i) + (1 - q_i) max(0, 1 + f_i)]``. The
    two duals of a row merge into one with a kink:

    ``min_a a'Ka/2 + sum phi_i(a_i)``, ``sum a = 0``, with slopes -1 and +1 around
    ``(2 q_i - 1) cost_i`` on ``[-(1 - q_i) cost_i, q_i cost_i]``. The function is
    ``f = K a + b`` with b minus the multiplier of the equality.

    Parameters
    ----------
    gram : GramOperator
        The kernel matrix K.
    posterior : ndarray of shape (n,)
        q, in [0, 1].
    cost : ndarray of shape (n,)
        Costs, > 0.
    """
    q = posterior
    lower, kink, upper = -(1.0 - q) * cost, (2.0 * q - 1.0) * cost, q * cost
    return DualProblem(gram, Penalty.kinked(lower, kink, upper, -1.0, 1.0, gram.n), 0.0)
