"""The one optimisation problem behind every model, how a model states it, and its certificates.

    minimise_a   1/2 a' Q a  +  sum_i phi_i(a_i)     subject to   sum_i a_i = total     (P)

with ``Q = scale * K + diag(ridge)``, K a kernel matrix and phi_i a convex
piecewise-linear penalty (``Penalty``). With ``g = Q a``:

    up_i   = g_i + slope of phi_i to the right   (+inf at the upper bound)
    down_i = g_i + slope of phi_i to the left    (-inf at the lower bound)

a feasible ``a`` is optimal if and only if ``max_i down_i <= min_i up_i``; the positive
part of the difference is the KKT violation, and every number in between is a
multiplier of the equality.

A duality gap rests on ``d'Kd >= 0`` for all d whose sum is zero. Inner products are like that; a
matrix or a function of the user and the sigmoid kernel need not be (``find_missing_curvature``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf

from .._typing import AnyArray, BoolArray, FloatArray, IntArray
from .._util.threads import one_blas_thread
from ..kernels.operators import GramOperator
from .penalty import Extent, Penalty, Totals, as_vector

# Pair steps square differences of gradients.
_LARGEST = 1e120
# Rows whose kernel values are looked at: all, or those with the largest variables and others.
_ROWS = 1000
# Rounding of kernel values, relative to the largest: in float64, float32, and sums in float32.
_ROUNDINGS = 1e-14, 3e-7, 1e-5


class CertifiedPoint(Protocol):
    """A feasible point ``a`` with an upper bound on the gap of its objective to the minimum."""

    @property
    def a(self) -> FloatArray:
        """The variables."""

    @property
    def duality_gap(self) -> float:
        """The upper bound."""


@dataclass(frozen=True)
class DualProblem:
    """Problem (P): a kernel matrix, a penalty for each variable, and the total of all.

    Attributes
    ----------
    gram : GramOperator
        The kernel matrix K.
    penalty : Penalty
        phi and the intervals.
    total : float
        Right-hand side of the equality.
    scale : float
        Factor of K in Q, > 0.
    ridge : ndarray of shape (n,)
        Diagonal added to ``scale * K``, >= 0.
    n : int
        Number of variables.
    kernel_diagonal : ndarray of shape (n,)
        Diagonal of K.
    extent : Extent
        How far the variables reach together.
    largest : float
        Largest ``|scale * K_ii|``.
    """

    gram: GramOperator
    penalty: Penalty
    total: float
    scale: float
    ridge: FloatArray
    n: int = field(init=False)
    kernel_diagonal: FloatArray = field(init=False, repr=False)
    extent: Extent = field(init=False)
    largest: float = field(init=False)

    def __init__(
        self,
        gram: GramOperator,
        penalty: Penalty,
        total: float,
        scale: float = 1.0,
        ridge: FloatArray | float = 0.0,
    ) -> None:
        n, kernel_diagonal = gram.n, gram.diagonal()
        if len(penalty) != n:
            raise ValueError(
                f"the penalty has {len(penalty)} variables and the Gram operator "
                f"{n} rows; they must be equal."
            )
        largest = float(np.abs(scale * kernel_diagonal).max(initial=0.0))
        self.check_kernel_values(largest)
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "penalty", penalty)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "ridge", as_vector(ridge, n))
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "kernel_diagonal", kernel_diagonal)
        object.__setattr__(self, "extent", penalty.check(total, largest))
        object.__setattr__(self, "largest", largest)

    @staticmethod
    def check_kernel_values(largest: float) -> None:
        """Refuse kernel values that cannot be squared."""
        if not largest <= _LARGEST:  # also refuses NaN
            raise ValueError(
                f"kernel values reach {largest:.3g}, beyond what can be squared in double "
                "precision; scale the columns."
            )

    @cached_property
    def diagonal(self) -> FloatArray:
        """Diagonal of Q."""
        return self.scale * self.kernel_diagonal + self.ridge

    def block(self, indices: IntArray) -> FloatArray:
        """``Q[indices][:, indices]`` in float64."""
        block = self.gram.block(indices)
        if self.scale != 1.0:
            block *= self.scale
        block.flat[:: len(block) + 1] += self.ridge[indices]
        return block

    def matrix(self) -> FloatArray:
        """Return Q, not to be written to."""
        Q, held = self.gram.matrix, True
        if Q is None:
            Q, held = self.gram.whole(), False
        if self.scale != 1.0:
            Q, held = self.scale * Q if held else np.multiply(Q, self.scale, out=Q), False
        if self.ridge.any():
            Q = Q.copy() if held else Q
            Q.flat[:: self.n + 1] += self.ridge
        return Q

    def gradient(self, a: FloatArray) -> FloatArray:
        """``Q a`` from the non-zero entries of ``a`` alone."""
        used = np.flatnonzero(a)
        gradient = self.ridge * a
        self.gram.apply(used, self.scale * a[used], gradient)
        return gradient

    def survey(self, a: FloatArray, gradient: FloatArray) -> Totals:
        """Return sums and extremes at a point, with ``gradient = Q a``."""
        return self.penalty.survey(a, gradient, self.kernel_diagonal)

    def duality_gap(self, a: FloatArray, gradient: FloatArray, multiplier: float) -> float:
        """How far the objective is from optimal at most, by Lagrangian duality.

        For every b, convexity gives ``b'Mb/2 >= b'Ma - a'Ma/2`` with ``M = scale * K``
        (positive semi-definite); relaxing the equality by the multiplier leaves one
        small problem per variable::

            objective(b)  >=  -a'Ma/2 + multiplier * total + sum_i min h_i
            h_i(b) = (Ma - multiplier)_i b + ridge_i b^2/2 + phi_i(b)

        and at b = a the difference is ``sum_i [h_i(a_i) - min h_i]``.

        Infinite bounds are first tightened by what the equality implies, which is finite
        for one free variable among bounded ones. With more, the gap is inf unless they
        are exactly stationary at ``multiplier``.
        """
        implied = self.extent.implied(self.total)
        return self.penalty.gap(a, gradient, self.ridge, multiplier, implied)

    def supported_gap(self, result: CertifiedPoint) -> float:
        """Return the gap of a Result, with what rounding may hide; NaN where it bounds nothing."""
        missing = find_missing_curvature(self.gram, result.a)
        if not missing:
            return result.duality_gap
        extent, penalty = self.extent, self.penalty
        # How far apart two feasible points can be: d'd is at most sum |d| times max |d|.
        sums = min(self.total - extent.lowest, extent.highest - self.total)
        width = min(sums, float(np.max(penalty.upper - penalty.lower)))
        return result.duality_gap + self.scale * sums * missing * width

    def feasible_start(self) -> FloatArray:
        """Return a feasible point: variables filled one after the other from their bounds."""
        a = self.penalty.nearest_zero()
        return self.penalty.filled(a, self.total - float(a.sum()))

    def round_to_breakpoints(self, a: FloatArray, rtol: float = 1e-12) -> FloatArray:
        """``a`` without rounding, see ``Penalty.remove_rounding``."""
        return self.penalty.remove_rounding(a, self.total, self.diagonal, rtol)

    def is_feasible(self, a: FloatArray, rtol: float = 1e-9) -> bool:
        """Return whether ``a`` satisfies the intervals exactly and the equality to rounding."""
        a = np.asarray(a)
        return bool(
            np.all(a >= self.penalty.lower)
            and np.all(a <= self.penalty.upper)
            and abs(a.sum() - self.total) <= rtol * max(float(np.abs(a).sum()), abs(self.total))
        )


def find_missing_curvature(gram: GramOperator, a: FloatArray) -> float:
    """Return the least c, of a few, with ``d'Kd >= -c d'd`` for all d of zero sum.

    NaN beyond rounding.

    By Cholesky factors; of more than 1000 rows, between those that ``a`` uses most and as many
    others. 0 for kernels that are inner products.
    """
    if gram.is_inner_product or gram.n < 2:
        return 0.0
    rows = np.arange(gram.n)
    if gram.n > _ROWS:
        used = np.argsort(-np.abs(a), kind="stable")[: _ROWS // 2]
        rows = np.union1d(used, np.linspace(0, gram.n - 1, _ROWS // 2).astype(np.intp))
    K = gram.block(rows)
    size = float(np.abs(K).max())
    # What K[i, j] and K[j, i] differ by is rounding too.
    asymmetry = float(np.abs(K - K.T).max()) / size if size > 0.0 else 0.0
    if asymmetry > _ROUNDINGS[-1]:
        return math.nan
    K = 0.5 * (K + K.T)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    added = 0.0
    with one_blas_thread():
        for rounding in _ROUNDINGS:
            # Independent errors of the entries move eigenvalues by the root of their number.
            added, before = max(rounding, asymmetry) * size * math.sqrt(len(rows)), added
            K.flat[:: len(K) + 1] += added - before
            if dpotrf(K, lower=1)[1] == 0:
                return added
    return math.nan


# -- how a model states its problem ---------------------------------------------------------------

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
