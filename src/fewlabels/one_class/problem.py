"""Models of one class as problem (P): the ball and the one-class SVM.

Rows may have the mark "anomaly": confirmed anomalies (Tax & Duin 2004, section 2.2). Their
variables lie in ``[-C_anomaly w_i, 0]``. With squared slack there is no lower end, but the ridge
``1 / (2 C_anomaly w_i)``. Slopes, kernel and total are as for normal rows. Only normal rows
count towards the mass.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from .._typing import AnyArray, BoolArray, FloatArray
from .._util.messages import Message, ref
from ..kernels.operators import GramOperator
from ..problem import DualProblem
from ..problem.dual import Formulation, RowArrays
from ..problem.penalty import Penalty

# Default cost of an anomaly's slack, in units of the cost of a normal row's.
ANOMALY_COST = 10.0


def anomaly_mask(rows: RowArrays) -> BoolArray | None:
    """Return the mask of the confirmed anomalies among some rows; None without any."""
    anomaly = rows.get("anomaly")
    return anomaly if anomaly is not None and anomaly.any() else None


class OneClassFormulation(Formulation):
    """A formulation with normal rows and confirmed anomalies."""

    def masses(self, rows: RowArrays) -> FloatArray:
        anomaly = anomaly_mask(rows)
        return rows["weight"] if anomaly is None else np.where(anomaly, 0.0, rows["weight"])

    def check_remaining(self, rows: RowArrays) -> None:
        super().check_remaining(rows)
        anomaly = anomaly_mask(rows)
        if anomaly is not None and not np.any(self.takes(rows) & ~anomaly):
            raise ValueError(
                "all training rows with a weight would be confirmed anomalies; keep at least one "
                "normal row."
            )

    @staticmethod
    def _penalty(
        rows: RowArrays,
        upper: float | FloatArray,
        lower: float | FloatArray,
        slope: FloatArray | float,
    ) -> Penalty:
        """The linear penalty with the upper ends of normal rows, or anomalies' ``lower`` ends."""
        anomaly = anomaly_mask(rows)
        low = 0.0 if anomaly is None else np.where(anomaly, lower, 0.0)
        up = upper if anomaly is None else np.where(anomaly, 0.0, upper)
        return Penalty.linear(low, up, slope, len(rows["weight"]))


@dataclass(frozen=True)
class Ball(OneClassFormulation):
    """A ball: ``min a'Ka - sum a_i K_ii + ...``; rows have their "diagonal", K_ii."""

    C: float  # cost of slack, > 0
    origin: float = 0.0  # taken from all K_ii, which may be large and nearly the same
    constant: bool = False  # all K_ii are the origin: slopes are 0 whatever the mass
    C_anomaly: float | None = None  # cost of an anomaly's slack, > 0; None: ANOMALY_COST times C

    scale = 2.0
    needs_diagonal = True

    def decision(
        self, rows: RowArrays, k: int, a: FloatArray, h: FloatArray, multiplier: float, mass: float
    ) -> float:
        unit = self.unit(mass)
        smooth = (h + multiplier - self.ridge(rows) * a) / unit  # 2 K alpha
        center_norm = 0.5 * float(a @ smooth) / unit
        radius_squared = max(0.0, center_norm - multiplier / unit + self.origin)
        return radius_squared - (rows["diagonal"][k] - smooth[k] + center_norm)

    def on_path(self, rows: RowArrays) -> Self:
        origin = float(rows["diagonal"].mean())
        constant = bool(np.all(rows["diagonal"] == origin))
        return replace(self, origin=origin, constant=constant)

    def with_new_rows(self, rows: RowArrays) -> Self:
        constant = self.constant and bool(np.all(rows["diagonal"] == self.origin))
        return replace(self, constant=constant)

    def _anomaly_cost(self) -> float:
        return ANOMALY_COST * self.C if self.C_anomaly is None else self.C_anomaly

    def _slope(self, rows: RowArrays, mass: float) -> FloatArray:
        return self.unit(mass) * (self.origin - rows["diagonal"])


@dataclass(frozen=True)
class SquaredSlackBall(Ball):
    """SVDD with squared slack, Zheng 2018, eqs. (5)-(10).

    ``min_a a'Ka + 1/(4C) sum a_i^2 / w_i - sum a_i K_ii``, ``sum a = 1``, ``a >= 0``:
    Q = 2K + diag(1 / (2 C w)). Nothing depends on the number of rows.
    """

    moves_total = False

    def unit(self, mass: float) -> float:
        return 1.0

    def total(self, mass: float) -> float:
        return 1.0

    def penalty(self, rows: RowArrays, mass: float) -> Penalty:
        return self._penalty(rows, np.inf, -np.inf, self._slope(rows, mass))

    def min_support(self, mass: float) -> float:
        return 0.0

    def ridge(self, rows: RowArrays) -> FloatArray:
        anomaly = anomaly_mask(rows)
        cost = self.C if anomaly is None else np.where(anomaly, self._anomaly_cost(), self.C)
        return 1.0 / (2.0 * cost * rows["weight"])


@dataclass(frozen=True)
class LinearSlackBall(Ball):
    """SVDD with linear slack, Zheng 2018, eqs. (1)-(4) (Tax & Duin).

    ``min_a a'Ka - sum a_i K_ii``, ``sum a = 1``, ``0 <= a_i <= C w_i``: Q = 2K. With nu,
    ``C = 1 / (nu sum(w))``, and ``b = a / C`` solves ``min b'Kb - sum b_i K_ii / C``,
    ``sum b = 1 / C``, ``0 <= b_i <= w_i``: total and slopes move with rows, no bound does.
    ``C_anomaly`` is then in units of C: ``-C_anomaly w_i <= b_i <= 0``.
    """

    nu: float | None = None  # in place of C, in (0, 1]

    @property
    def moves_total(self) -> bool:
        return self.nu is not None

    @property
    def moves_slopes(self) -> bool:
        return self.moves_total and not self.constant

    def unit(self, mass: float) -> float:
        return 1.0 if self.nu is None else self.nu * mass

    def total(self, mass: float) -> float:
        return self.unit(mass)

    def penalty(self, rows: RowArrays, mass: float) -> Penalty:
        weight, cost = rows["weight"], self._anomaly_cost()
        upper = weight if self.nu is not None else self.C * weight
        return self._penalty(rows, upper, -cost * weight, self._slope(rows, mass))

    def min_support(self, mass: float) -> float:
        return 1.0 / (self.C * mass) if self.nu is None else self.nu

    def check_remaining(self, rows: RowArrays) -> None:
        super().check_remaining(rows)
        mass = float(self.masses(rows).sum())
        if not self.has_solution(mass):
            raise ValueError(
                Message(
                    f"{ref('C', self.C)} with {ref('slack', 'linear')} has no solution for rows "
                    f"with a total weight of {mass:g}: C times the sum of weights must be at "
                    "least 1; keep more rows, or fit again with a larger C, or nu."
                )
            )

    def _anomaly_cost(self) -> float:
        if self.nu is None or self.C_anomaly is not None:
            return super()._anomaly_cost()
        return ANOMALY_COST

    def has_solution(self, mass: float) -> bool:
        """Return whether C is large enough for rows that weigh ``mass``."""
        return self.nu is not None or self.C * mass >= 1.0 - 1e-12


@dataclass(frozen=True)
class OneClass(OneClassFormulation):
    """One-class SVM (Schoelkopf et al. 2001), duals normalised to sum to one.

    ``min_a a'Ka/2``, ``sum a = 1``, ``0 <= a_i <= w_i / (nu sum(w))``. In LIBSVM's
    ``b = nu sum(w) a``, which are in [0, w_i], only the total moves with the number of rows.
    Variables of anomalies are in [-C_anomaly w_i, 0].
    """

    nu: float  # bound on the share of margin errors, in (0, 1]
    C_anomaly: float = ANOMALY_COST  # cost of an anomaly's slack in units of a normal row's, > 0

    moves_with_rows = False

    def unit(self, mass: float) -> float:
        return self.nu * mass

    def total(self, mass: float) -> float:
        return self.nu * mass

    def penalty(self, rows: RowArrays, mass: float) -> Penalty:
        weight = rows["weight"]
        return self._penalty(rows, weight, -self.C_anomaly * weight, 0.0)

    def min_support(self, mass: float) -> float:
        return self.nu

    def decision(
        self, rows: RowArrays, k: int, a: FloatArray, h: FloatArray, multiplier: float, mass: float
    ) -> float:
        return h[k]


def _row_numbers(
    gram: GramOperator, weight: npt.ArrayLike | None, anomaly: npt.ArrayLike | None
) -> dict[str, AnyArray]:
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    rows = {"weight": weight, "diagonal": gram.diagonal()}
    return rows if anomaly is None else rows | {"anomaly": np.asarray(anomaly, dtype=bool)}


def svdd_squared(
    gram: GramOperator,
    C: float,
    weight: npt.ArrayLike | None = None,
    anomaly: npt.ArrayLike | None = None,
    C_anomaly: float | None = None,
) -> DualProblem:
    """Return problem (P) of SVDD with squared slack.

    Parameters
    ----------
    gram : GramOperator
        The kernel matrix K.
    C : float
        Cost of slack, > 0.
    weight : ndarray of shape (n,), optional
        Weights w, > 0; a row of weight 2 acts as two equal rows.
    anomaly : ndarray of bool of shape (n,), optional
        Mask of the confirmed anomalies.
    C_anomaly : float or None, default=None
        Cost of an anomaly's slack, > 0; None for 10 C.
    """
    return SquaredSlackBall(C, C_anomaly=C_anomaly).problem(
        gram, _row_numbers(gram, weight, anomaly)
    )


def svdd_linear(
    gram: GramOperator,
    C: float,
    weight: npt.ArrayLike | None = None,
    anomaly: npt.ArrayLike | None = None,
    C_anomaly: float | None = None,
) -> DualProblem:
    """Return problem (P) of SVDD with linear slack; ``C sum(w) >= 1`` over normal rows.

    ``gram``, ``weight``, ``anomaly`` and ``C_anomaly`` are as in :func:`svdd_squared`.
    """
    return LinearSlackBall(C, C_anomaly=C_anomaly).problem(
        gram, _row_numbers(gram, weight, anomaly)
    )


def one_class(
    gram: GramOperator,
    nu: float,
    weight: npt.ArrayLike | None = None,
    anomaly: npt.ArrayLike | None = None,
    C_anomaly: float = ANOMALY_COST,
) -> DualProblem:
    """Return problem (P) of the one-class SVM, with nu in (0, 1].

    ``gram``, ``weight`` and ``anomaly`` are as in :func:`svdd_squared`. ``C_anomaly`` is in units
    of the cost of a normal row's slack.
    """
    return OneClass(nu, C_anomaly).problem(gram, _row_numbers(gram, weight, anomaly))
