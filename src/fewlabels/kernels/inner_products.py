"""Kernels of the inner product."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._typing import AnyArray, FloatArray, RowMatrix
from .base import FLOAT32_UNITS_LIMIT, LARGEST, FeatureKernel, GraphWriter, Map, MappedKernel
from .rows import compute_rounding_growth, squared_norms


@dataclass(frozen=True)
class Linear(MappedKernel, FeatureKernel):
    """``K(x, z) = x.z``: rows are their own features."""

    name: ClassVar = "linear"
    is_inner_product = True
    is_linear: ClassVar = True
    is_mapped: ClassVar = False  # but for rows on a device
    map: ClassVar = Map.IDENTITY
    onnx_form: ClassVar = "linear"
    explanation: ClassVar = "columns"

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return squared_norms(X)

    def features(self, X: RowMatrix, n_jobs: int = 1) -> RowMatrix:
        return X

    @property
    def factor(self) -> float:
        return 1.0

    def mapped(self, xp: Any, z: AnyArray) -> AnyArray:
        return z

    def rounding(self, largest_norm: float, row_length: int) -> tuple[float, bool]:
        return 2.0, largest_norm < 2.0**100


@dataclass(frozen=True)
class Polynomial(MappedKernel):
    """``K(x, z) = (gamma x.z + coef0)^degree``."""

    gamma: float
    degree: int
    coef0: float

    name: ClassVar = "poly"
    takes: ClassVar = ("gamma", "degree", "coef0")
    onnx_form: ClassVar = "mapped"
    map: ClassVar = Map.POWER

    @property
    def is_inner_product(self) -> bool:  # type: ignore[override]  # computed, where the base has a constant
        return self.coef0 >= 0.0

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    def check_powers(self, X: RowMatrix) -> None:
        with np.errstate(all="ignore"):
            largest = np.abs(self.diagonal(X)).max(initial=0.0)
        if not largest <= LARGEST:
            raise ValueError(
                f"kernel values reach {largest:.3g}, beyond what can be squared in double "
                "precision; scale the columns, or lower degree or gamma."
            )

    def graph_check(self, graph: GraphWriter, x: str) -> None:
        norm = graph.row_sums(graph.add("Mul", x, x))
        inner = graph.add("Mul", norm, np.float64(self.gamma))
        value = self.graph_mapped(graph, graph.add("Add", inner, np.float64(self.coef0)))
        graph.refuse_beyond(value, LARGEST)

    @property
    def factor(self) -> float:
        return np.sqrt(self.gamma)

    def mapped(self, xp: Any, z: AnyArray) -> AnyArray:
        return z ** int(self.degree)

    def rounding(self, largest_norm: float, row_length: int) -> tuple[float, bool]:
        # The error of the inner product times the degree; float32 ends at 2^128.
        size = self.gamma * largest_norm + abs(self.coef0)
        fits = self.degree * np.log2(max(size, 1.0)) < 100.0
        return 2.0 + self.degree * compute_rounding_growth(row_length), fits

    def graph_mapped(self, graph: GraphWriter, z: str) -> str:
        return graph.add("Pow", z, np.float64(self.degree))


@dataclass(frozen=True)
class Sigmoid(MappedKernel):
    """``K(x, z) = tanh(gamma x.z + coef0)``. Not positive semi-definite in general."""

    gamma: float
    coef0: float

    name: ClassVar = "sigmoid"
    takes: ClassVar = ("gamma", "coef0")
    onnx_form: ClassVar = "mapped"
    map: ClassVar = Map.TANH

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return np.tanh(self.gamma * squared_norms(X) + self.coef0)

    @property
    def factor(self) -> float:
        return np.sqrt(self.gamma)

    def mapped(self, xp: Any, z: AnyArray) -> AnyArray:
        return xp.tanh(z)

    def rounding(self, largest_norm: float, row_length: int) -> tuple[float, bool]:
        units = 2.0 + self.gamma * largest_norm + abs(self.coef0)
        return units, units <= FLOAT32_UNITS_LIMIT

    def graph_mapped(self, graph: GraphWriter, z: str) -> str:
        return graph.add("Tanh", z)
