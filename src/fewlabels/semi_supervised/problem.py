"""The semi-supervised SVM: hinge losses of labelled rows, symmetric ones of the others."""

from dataclasses import dataclass

import numpy as np

from .._typing import AnyArray, FloatArray
from ..kernels.operators import GramOperator
from ..problem.dual import DualProblem
from ..problem.penalty import Penalty, RowPenalties

# Variables this near to a bound, relative to their cost, are at it.
_AT_BOUND = 1e-9


@dataclass(frozen=True)
class SemiSupervised:
    """Gu et al. (2018), eq. (1), over rows with labels +1 and -1, and 0 for none.

    ``1/2 |w|^2 + C sum_L w_i max(0, 1 - y_i f_i) + C* sum_U w_i max(0, 1 - |f_i|)``, with the
    mean of f over the unlabelled rows held at a target (Yu et al. 2019, section 1). ``penalties``
    states the loss of every row, for a path; ``step`` the convex problem at given signs.

    Attributes
    ----------
    C, C_star : float, or ndarray of shape (n,)
        Costs of labelled rows, > 0, and of unlabelled rows, >= 0.
    balance : bool or float, default=False
        The target: True for the mean of the labels, a number, or False for no constraint.
    """

    C: float
    C_star: float
    balance: bool | float = False

    def __post_init__(self) -> None:
        if isinstance(self.balance, np.bool_):  # as grids of parameters hold it
            object.__setattr__(self, "balance", bool(self.balance))

    @property
    def uses_unlabelled(self) -> bool:
        """bool: Whether unlabelled rows cost something, or hold the mean of f."""
        return bool(np.any(self.C_star)) or self.balance is not False

    def target(self, label: AnyArray, weight: FloatArray) -> float | None:
        """Return the mean that f must have over the unlabelled rows; None for no constraint."""
        if self.balance is False:
            return None
        if self.balance is not True:
            return float(self.balance)
        known = np.flatnonzero(label)
        return float(weight[known] @ label[known] / weight[known].sum())

    def cost(self, label: AnyArray, weight: FloatArray) -> FloatArray:
        """Return the cost of a unit of loss, for every row."""
        return np.where(label == 0, self.C_star * weight, self.C * weight)

    def penalties(self, label: AnyArray, weight: FloatArray) -> RowPenalties:
        """RowPenalties of some rows."""
        return RowPenalties.semi_supervised(label, self.cost(label, weight))

    def check_weight(self, label: AnyArray, weight: FloatArray) -> None:
        """Refuse weights that a path cannot hold."""
        if np.any(weight <= 0):
            raise ValueError(
                "rows with weight <= 0 can't be used in updates; drop them, or give them a weight "
                "> 0."
            )
        free = weight[label == 0]
        if self.balance is not False and len(free) and np.ptp(free) > 0:
            raise ValueError(
                f"unlabelled rows have weights from {free.min():g} to {free.max():g}; the "
                "balancing constraint needs equal weights in updates; give them equal weights, or "
                "set balance=False."
            )

    def step(
        self,
        gram: GramOperator,
        label: AnyArray,
        weight: FloatArray,
        sign: FloatArray,
        target: float | None = None,
    ) -> DualProblem:
        """The ``DualProblem`` at given signs (Gu et al. 2018, eq. (6)), in merged variables.

        The symmetric hinge is the sum of both hinges less one. At a sign, which gives the last
        part its tangent, the two duals of a row merge into one variable with a kink:

        ``min_a a'Ka/2 + sum phi_i(a_i)``, ``sum a = 0``, with ``phi_i(a) = -y_i a`` on
        ``[0, C_i]`` (times y_i) for labelled rows and, for unlabelled rows of sign s, slopes -1
        and +1 around the kink ``s C*_i`` on ``[0, 2 C*_i]`` (times s). The function is
        ``f = K a + b`` with b minus the multiplier of the equality. With a ``target`` for the mean
        of f over the unlabelled rows, ``gram`` is bordered by their mean.
        """
        free, cost = label == 0, self.cost(label, weight)
        side = np.where(free, sign, label)
        end = side * np.where(free, 2.0 * cost, cost)
        lower, upper = np.minimum(end, 0.0), np.maximum(end, 0.0)
        kink = np.where(free, side * cost, lower)
        left, right = np.where(free, -1.0, -side), np.where(free, 1.0, -side)
        penalty = Penalty.kinked(lower, kink, upper, left, right, len(label))
        return DualProblem(gram, with_target(penalty, target), 0.0)

    def objective(self, label: AnyArray, weight: FloatArray, norm: float, f: FloatArray) -> float:
        """Return the value of (1), from ``|w|^2`` and f at the rows."""
        given, free = np.flatnonzero(label), np.flatnonzero(label == 0)
        hinge = np.maximum(0.0, 1.0 - label * f)[given]
        symmetric = np.maximum(0.0, 1.0 - np.abs(f))[free]
        return (
            0.5 * norm
            + float((self.C * weight)[given] @ hinge)
            + self.C_star * float(weight[free] @ symmetric)
        )

    def violation(
        self,
        label: AnyArray,
        weight: FloatArray,
        a: FloatArray,
        f: FloatArray,
        target: float | None = None,
    ) -> float:
        """Return the largest violation of the optimality conditions of (1), in units of f.

        With a ``target`` also how far the mean of f over the unlabelled rows is from it.

        An unlabelled row may have the sign that its variable or its f suggests, whichever is
        violated less; one on the wrong side of zero is off by ``|f|``, so that on the boundary
        either sign will do.
        """
        cost = self.cost(label, weight)
        near = _AT_BOUND * cost

        def off(side: FloatArray) -> FloatArray:
            hinge = Penalty.hinge(side, cost)
            right, left = hinge.step_slopes(hinge.round_to_breakpoints(a, near))
            outside = (a < hinge.lower - near) | (a > hinge.upper + near)
            beyond = np.maximum(np.abs(1.0 - side * f), np.abs(f))
            return np.where(outside, beyond, np.maximum(-(f + right), f + left))

        up, down = np.ones(len(f)), -np.ones(len(f))
        either = np.minimum(np.maximum(off(up), -f), np.maximum(off(down), f))
        worst = np.where(label == 0, either, off(np.asarray(label, dtype=float)))
        missed = 0.0
        if target is not None:
            free = np.flatnonzero(label == 0)
            missed = abs(float(weight[free] @ f[free] / weight[free].sum()) - target)
        return float(worst.max(initial=missed))


def with_target(penalty: Penalty, target: float | None) -> Penalty:
    """Return penalties, with one for a balancing constraint's virtual row if there is a target."""
    if target is None:
        return penalty
    return Penalty.joined((penalty, Penalty.linear(-np.inf, np.inf, -target, 1)))


def s3vm_step(
    gram: GramOperator,
    label: AnyArray,
    sign: FloatArray,
    C: float,
    C_star: float,
    target: float | None = None,
) -> DualProblem:
    """Return problem (P) of one convex step of S3VM, at given signs of the unlabelled rows.

    Parameters
    ----------
    gram : GramOperator
        K over all rows; with ``target`` bordered by the mean of the unlabelled rows.
    label : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows.
    sign : ndarray of shape (n,)
        Current sign of f at the unlabelled rows, +1 or -1.
    C, C_star : ndarray of shape (n,) or float
        Costs of labelled and of unlabelled rows, > 0.
    target : float or None, default=None
        Mean of f over the unlabelled rows; None for no constraint.
    """
    return SemiSupervised(C, C_star).step(gram, label, np.ones(len(label)), sign, target)
