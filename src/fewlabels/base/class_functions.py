"""The functions that a model of several classes has learned."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import FloatArray, RowMatrix
from .._util.threads import resolve_n_jobs
from ..kernels import centered
from ..kernels.operators import Expansion, RowMap
from .function import Function


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassFunctions:
    """``f_c(x) = sum_j coef[c, j] K(x_j, x) + bias[c]``, a function for every class.

    For all else see ``Function``: this is one over the same vectors for each class.
    """

    kernels: tuple[Any, ...]  # the kernel, alone
    vectors: np.ndarray
    coef: np.ndarray  # of shape (n_classes, m)
    bias: np.ndarray  # of shape (n_classes,)
    shift: np.ndarray | None = None
    center: np.ndarray | None = None
    float64: bool | None = None
    columns: np.ndarray | None = None
    rounding: np.ndarray  # of shape (n_classes,)
    repeats: np.ndarray | None = None
    shares: np.ndarray | None = None
    weights: np.ndarray | None = field(default=None, repr=False)  # of shape (n_classes, d)
    on_points: np.ndarray | None = field(default=None, repr=False)  # (n_classes, n_points)

    def __post_init__(self) -> None:
        if self.on_points is None and self.kernel.has_graph:
            object.__setattr__(self, "on_points", self.kernel.on_points(self.vectors, self.coef))
        if self.weights is None and self.kernel.has_features and not self.kernel.has_graph:
            weights = self.kernel.weights(self._shift_rows(self.vectors), self.coef)
            object.__setattr__(self, "weights", weights)

    @property
    def kernel(self) -> Any:
        """The kernel. What methods it has follows from what it can do."""
        return self.kernels[0]

    @property
    def support_vectors(self) -> RowMatrix:
        """Support vectors, one for each training row, so that equal rows repeat."""
        return self.vectors if self.repeats is None else self.vectors[self.repeats]

    @property
    def dual_coef(self) -> FloatArray:
        """Coefficients of the support vectors."""
        return self.coef if self.shares is None else self.shares

    @property
    def intercept(self) -> FloatArray:
        """Constants for rows as they are given."""
        return self.bias if self.shift is None else self.bias - self.weights @ self.shift

    def class_function(self, place: int) -> Function:
        """Return the ``Function`` of one class."""
        shares = None if self.shares is None else self.shares[place : place + 1]
        return Function(
            kernels=self.kernels,
            vectors=self.vectors,
            coef=self.coef[place : place + 1],
            bias=float(self.bias[place]),
            shift=self.shift,
            center=self.center,
            float64=self.float64,
            columns=self.columns,
            rounding=float(self.rounding[place]),
            repeats=self.repeats,
            shares=shares,
            weights=None if self.weights is None else self.weights[place],
            on_points=None if self.on_points is None else self.on_points[place],
        )

    def __call__(self, X: RowMatrix, *, n_jobs: int | None = None) -> FloatArray:
        """Return values at validated rows, shape (n, n_classes)."""
        X = self._shift_rows(X)
        if self.weights is not None:
            value = self.kernel.sums(X, self.weights, resolve_n_jobs(n_jobs))
        else:
            row_map = None
            if self.float64 is not None:
                dtype = np.float64 if self.float64 else np.float32
                row_map = RowMap.restore(self.kernel, self.center, dtype)
            value = Expansion(
                self.kernel,
                self.vectors,
                self.coef,
                columns=self.columns,
                row_map=row_map,
                n_jobs=resolve_n_jobs(n_jobs),
                on_points=self.on_points,
            )(X)
        value = value + self.bias
        value[np.abs(value) <= self.rounding] = 0.0
        return value

    def _shift_rows(self, X: RowMatrix) -> RowMatrix:
        return centered(X, self.shift)
