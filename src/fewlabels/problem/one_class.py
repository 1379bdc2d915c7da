"""Machines of one class as problem (P): the ball and the one-class SVM."""

from dataclasses import dataclass, replace

import numpy as np

from .formulation import Formulation
from .penalty import Penalty


@dataclass(frozen=True)
class Ball(Formulation):
    """What balls share: ``min a'Ka - sum a_i K_ii + ...``; rows have their "diagonal", K_ii."""

    C: float  # cost of slack, > 0
    origin: float = 0.0  # taken from all K_ii, which may be large and nearly the same
    constant: bool = False  # all K_ii are the origin: slopes are 0 whatever the mass

    scale = 2.0
    needs_diagonal = True

    def _slope(self, rows, mass):
        return self.unit(mass) * (self.origin - rows["diagonal"])

    def on_path(self, rows):
        origin = float(rows["diagonal"].mean())
        constant = bool(np.all(rows["diagonal"] == origin))
        return replace(self, origin=origin, constant=constant)

    def joined_by(self, rows):
        constant = self.constant and bool(np.all(rows["diagonal"] == self.origin))
        return replace(self, constant=constant)

    def decision(self, rows, k, a, h, multiplier, mass):
        unit = self.unit(mass)
        smooth = (h + multiplier - self.ridge(rows) * a) / unit  # 2 K alpha
        center_norm = 0.5 * float(a @ smooth) / unit
        radius_squared = max(0.0, center_norm - multiplier / unit + self.origin)
        return radius_squared - (rows["diagonal"][k] - smooth[k] + center_norm)


@dataclass(frozen=True)
class SquaredSlackBall(Ball):
    """SVDD with squared slack, Zheng 2018, eqs. (5)-(10).

    ``min_a a'Ka + 1/(4C) sum a_i^2 / w_i - sum a_i K_ii``, ``sum a = 1``, ``a >= 0``:
    Q = 2K + diag(1 / (2 C w)). Nothing depends on the number of rows.
    """

    moves_total = False

    def unit(self, mass):
        return 1.0

    def total(self, mass):
        return 1.0

    def fewest(self, mass):
        return 0.0

    def penalty(self, rows, mass):
        return Penalty.linear(0.0, np.inf, self._slope(rows, mass), len(rows["weight"]))

    def ridge(self, rows):
        return 1.0 / (2.0 * self.C * rows["weight"])


@dataclass(frozen=True)
class LinearSlackBall(Ball):
    """SVDD with linear slack, Zheng 2018, eqs. (1)-(4) (Tax & Duin).

    ``min_a a'Ka - sum a_i K_ii``, ``sum a = 1``, ``0 <= a_i <= C w_i``: Q = 2K. With nu,
    ``C = 1 / (nu sum(w))``, and ``b = a / C`` solves ``min b'Kb - sum b_i K_ii / C``,
    ``sum b = 1 / C``, ``0 <= b_i <= w_i``: total and slopes move with rows, no bound does.
    """

    nu: float | None = None  # in place of C, in (0, 1]

    @property
    def moves_total(self):
        return self.nu is not None

    @property
    def moves_slopes(self):
        return self.moves_total and not self.constant

    def unit(self, mass):
        return 1.0 if self.nu is None else self.nu * mass

    def total(self, mass):
        return self.unit(mass)

    def fewest(self, mass):
        return 1.0 / (self.C * mass) if self.nu is None else self.nu

    def penalty(self, rows, mass):
        weight = rows["weight"]
        upper = weight if self.nu is not None else self.C * weight
        return Penalty.linear(0.0, upper, self._slope(rows, mass), len(weight))

    def has_solution(self, mass):
        """Whether C is large enough for rows that weigh ``mass``."""
        return self.nu is not None or self.C * mass >= 1.0 - 1e-12

    def check_left(self, rows):
        super().check_left(rows)
        mass = float(rows["weight"].sum())
        if not self.has_solution(mass):
            raise ValueError(
                f"C={self.C:g} with slack='linear' leaves no solution for rows that weigh "
                f"{mass:g} together: C times the sum of weights must be at least 1; keep more "
                "rows, or fit again with a larger C, or nu."
            )


@dataclass(frozen=True)
class OneClass(Formulation):
    """One-class SVM (Schoelkopf et al. 2001), duals normalised to sum to one.

    ``min_a a'Ka/2``, ``sum a = 1``, ``0 <= a_i <= w_i / (nu sum(w))``. In LIBSVM's
    ``b = nu sum(w) a``, which are in [0, w_i], only the total moves with the number of rows.
    """

    nu: float  # bound on the share of margin errors, in (0, 1]

    moves_with_rows = False

    def unit(self, mass):
        return self.nu * mass

    def total(self, mass):
        return self.nu * mass

    def fewest(self, mass):
        return self.nu

    def penalty(self, rows, mass):
        return Penalty.linear(0.0, rows["weight"], 0.0, len(rows["weight"]))

    def decision(self, rows, k, a, h, multiplier, mass):
        return h[k]


def _rows(gram, weight):
    weight = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=float)
    return {"weight": weight, "diagonal": gram.diagonal()}


def svdd_squared(gram, C, weight=None):
    """The problem of :class:`SquaredSlackBall`.

    Parameters
    ----------
    gram : GramOperator
        K.
    C : float
        Cost of slack, > 0.
    weight : ndarray of shape (n,), optional
        Weights w, > 0; a row of weight 2 acts as two equal rows.
    """
    return SquaredSlackBall(C).problem(gram, _rows(gram, weight))


def svdd_linear(gram, C, weight=None):
    """The problem of :class:`LinearSlackBall`, of ``C sum(w) >= 1``.

    ``gram`` and ``weight`` are as in :func:`svdd_squared`.
    """
    return LinearSlackBall(C).problem(gram, _rows(gram, weight))


def one_class(gram, nu, weight=None):
    """The problem of :class:`OneClass`, nu in (0, 1].

    ``gram`` and ``weight`` are as in :func:`svdd_squared`.
    """
    return OneClass(nu).problem(gram, _rows(gram, weight))
