"""The Gaussian kernel."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._typing import AnyArray, FloatArray, RowMatrix
from .base import FLOAT32_UNITS_LIMIT, Map, MappedKernel
from .rows import compute_rounding_growth, squared_distances

_LOG2_E, _LN2 = math.log2(math.e), math.log(2.0)


@dataclass(frozen=True)
class RBF(MappedKernel):
    """``K(x, z) = exp(-gamma ||x - z||^2)``.

    Rows are scaled by sqrt(2 gamma log2 e), so that z is -gamma ||x - z||^2 log2 e and the
    map 2^z.
    """

    gamma: float

    name: ClassVar = "rbf"
    takes: ClassVar = ("gamma",)
    is_similarity: ClassVar = True
    is_inner_product = True
    onnx_form: ClassVar = "gaussian"
    explanation: ClassVar = "gaussian"
    map: ClassVar = Map.EXP2
    of_distance: ClassVar = True

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return np.ones(X.shape[0])

    @property
    def factor(self) -> float:
        return np.sqrt(2.0 * self.gamma * _LOG2_E)

    def mapped(self, xp: Any, z: AnyArray) -> AnyArray:
        # The array API has no powers of two; libraries do.
        return xp.exp2(z) if hasattr(xp, "exp2") else xp.exp(z * _LN2)

    def rounding(self, largest_norm: float, row_length: int) -> tuple[float, bool]:
        # What cancels is as large as the scaled squared norms.
        exponent = self.gamma * largest_norm * _LOG2_E
        units = 2.0 + exponent * compute_rounding_growth(row_length)
        return units, units <= FLOAT32_UNITS_LIMIT

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        X, Z = (rows.astype(np.float64, copy=False) for rows in (X, Z))
        return np.exp(self.log_values(X, Z))

    def log_values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        """log K(x, z), shape (len(X), len(Z)), however far apart rows are."""
        return -self.gamma * squared_distances(X, Z, self.factor)
