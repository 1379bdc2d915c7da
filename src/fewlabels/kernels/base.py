"""Base classes of kernels. A new kernel is a subclass of one of them, in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from .._core.library import CONSTANTS
from .._typing import AnyArray, FloatArray, RowMatrix
from .rows import canonical, is_sparse, row_products, squared_distances, squared_norms

# Half the rounding of float32 kernel values that is allowed, in units of the last place: they
# have to be right to 1e-5 of their size, 84 units.
FLOAT32_UNITS_LIMIT = 82.0
# Beyond this, squares of numbers have no room in double precision.
LARGEST = 1e150


class Map(IntEnum):
    """How compiled code turns ``row_term + column_term + <row, column>`` into a kernel value."""

    EXP2 = CONSTANTS["EXP2"]  # 2^z
    POWER = CONSTANTS["POWER"]  # z^degree
    TANH = CONSTANTS["TANH"]
    IDENTITY = CONSTANTS["IDENTITY"]


class GraphWriter(Protocol):
    """A writer of the nodes of an ONNX graph: a ``fewlabels.onnx.graph.Graph``."""

    def add(self, op: str, *inputs: str | npt.ArrayLike, **attributes: int) -> str:
        """Add a node, and return the name of its output."""

    def row_sums(self, name: str) -> str:
        """Add sums over each row, shape (n, 1)."""

    def refuse_beyond(self, name: str, largest: float, allow_nan: bool = False) -> None:
        """Refuse the rows with numbers beyond ``largest`` in size."""


class HasKernels(Protocol):
    """A function, or several, in the span of kernels."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels."""


class Kernel(ABC):
    """A function of two rows, as an immutable value (a frozen dataclass).

    ``name`` is what users pass as ``kernel``, None for kernels without a name; ``takes`` are those
    of "gamma", "degree", "coef0" that it has; ``is_similarity`` says whether K(x, x) = 1 and
    values fall from there to 0 as rows move apart; ``is_inner_product`` whether all its matrices
    are positive semi-definite (else they are checked before a duality gap is shown).
    """

    name: ClassVar[str | None] = None
    takes: ClassVar[tuple[str, ...]] = ()
    is_similarity: ClassVar[bool] = False
    is_inner_product: bool = False

    # What a kernel can do. Others ask for this, and not for its class.

    #: What it is made of at ``fit``: "rows", "labels", or None for nothing.
    learns: ClassVar[str | None] = None
    #: Whether values are given, as a matrix, and there are no rows.
    is_matrix: ClassVar[bool] = False
    #: Whether values are computed on tiles of prepared rows (``kernels/operators/rows.py``).
    is_mapped: ClassVar[bool] = False
    #: Whether it is an inner product of ``features`` (see ``FeatureKernel``).
    has_features: ClassVar[bool] = False
    #: Weights of the kernel ``base`` and of an inner product of ``features`` that add up to it.
    weights_of_sum: tuple[float, float] | None = None
    #: Whether features are the rows themselves, so that moving all rows only moves the constant.
    is_linear: ClassVar[bool] = False
    #: Whether features are one cell of each of several partitions of space.
    has_cells: ClassVar[bool] = False
    #: Whether a graph of the training rows is part of it: functions are ``expanded`` in ``plain``.
    has_graph: ClassVar[bool] = False
    #: Whether leaves of a forest are part of it, beside the kernel ``base``.
    has_leaves: ClassVar[bool] = False
    #: How ONNX graphs hold functions, a name in ``fewlabels.onnx.functions``; None for no way.
    onnx_form: ClassVar[str | None] = None
    #: The rule of exact explanations: "columns" or "gaussian"; None where orders are sampled.
    explanation: ClassVar[str | None] = None

    @classmethod
    def from_parameters(cls, **parameters: Any) -> Kernel:
        """Return the kernel with the ``parameters`` that it takes."""
        return cls(**{name: parameters[name] for name in cls.takes})

    @abstractmethod
    def diagonal(self, X: RowMatrix) -> FloatArray:
        """Return K(x, x) of every row of X, float64, shape (len(X),)."""

    def check_powers(self, X: RowMatrix) -> None:
        """Refuse rows whose powers are too large for double precision."""
        return None

    def graph_check(self, graph: GraphWriter, x: str) -> None:
        """Refuse the rows of an ONNX graph that ``check_powers`` refuses."""
        return None

    @property
    def plain(self) -> Kernel:
        """The kernel whose span functions are in."""
        return self

    def expand(
        self, X: RowMatrix, coef: FloatArray, on_points: FloatArray | None = None
    ) -> tuple[RowMatrix, FloatArray]:
        """Return rows and coefficients (in the last axis) of functions in the ``plain`` kernel."""
        return X, coef


def distinct_kernels(function: HasKernels) -> list[Kernel]:
    """Return the kernels of a function, each once: all check the rows they score."""
    return list(dict.fromkeys(kernel.plain for kernel in function.kernels))


def check_powers(function: HasKernels, X: RowMatrix) -> None:
    """Refuse rows whose powers are too large for double precision under one of the kernels."""
    for kernel in distinct_kernels(function):
        kernel.check_powers(X)


class MappedKernel(Kernel):
    """A map of one inner product of prepared rows: evaluated on tiles, in compiled code.

    ``of_distance`` says whether the terms hold the squared norms, so that z is minus half the
    squared distance of prepared rows; else the column term is ``coef0``. ``degree`` belongs to
    ``Map.POWER``. For ONNX, a subclass sets ``onnx_form = "mapped"`` and defines
    ``graph_mapped(graph, z)``, which returns the map as nodes of a graph.
    """

    is_mapped: ClassVar[bool] = True
    map: ClassVar[Map]
    of_distance: ClassVar[bool] = False
    degree: int = 0
    coef0: float = 0.0

    @property
    @abstractmethod
    def factor(self) -> float:
        """The factor that prepared rows are multiplied by."""

    @abstractmethod
    def mapped(self, xp: Any, z: AnyArray) -> AnyArray:
        """Return the map of z, for an array of NumPy or of another library ``xp``."""

    @abstractmethod
    def rounding(self, largest_norm: float, row_length: int) -> tuple[float, bool]:
        """Return the error of a kernel value in units of the last place, and if float32 will do.

        From the largest squared norm of a row (around the centre, for a kernel of distances) and
        the most entries of a row.
        """

    def graph_mapped(self, graph: GraphWriter, z: str) -> str:
        """Return the map of z as nodes of an ONNX graph."""
        raise TypeError(
            f"{type(self).__name__} has onnx_form='mapped' and no graph_mapped(graph, z)."
        )

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        """Return the matrix of values, dense float64, shape (len(X), len(Z))."""
        X, Z = (canonical(rows).astype(np.float64, copy=False) for rows in (X, Z))
        if self.of_distance:
            z = -0.5 * self.factor**2 * squared_distances(X, Z, self.factor)
        else:
            inner = X @ Z.T
            z = self.factor**2 * (inner.toarray() if is_sparse(inner) else inner) + self.coef0
        return self.mapped(np, z)


def is_mapped(kernel: Kernel) -> TypeGuard[MappedKernel]:
    """Return whether a kernel's values are computed on tiles of prepared rows."""
    return kernel.is_mapped


class FeatureKernel(Kernel):
    """An inner product of features: ``K(x, z) = <g(x), g(z)>``.

    A function is then one weight for each feature, however many rows it was trained on. For ONNX,
    a subclass sets ``onnx_form = "features"`` and defines ``graph_features(graph, x)``, which
    returns g as nodes of a graph, from rows ``x`` in float64.
    """

    is_inner_product = True
    has_features: ClassVar[bool] = True

    def diagonal(self, X: RowMatrix) -> FloatArray:
        return squared_norms(self.features(X))

    @abstractmethod
    def features(self, X: RowMatrix, n_jobs: int = 1) -> RowMatrix:
        """Return g of every row, an array or CSR array of shape (len(X), n_features)."""

    def graph_features(self, graph: GraphWriter, x: str) -> str:
        """Return g of rows x as nodes of an ONNX graph."""
        raise TypeError(
            f"{type(self).__name__} has onnx_form='features' and no graph_features(graph, x)."
        )

    def values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        """Return the matrix of values, dense float64, shape (len(X), len(Z))."""
        found = self.features(X) @ self.features(Z).T
        return found.toarray() if is_sparse(found) else np.asarray(found)

    def weights(self, X: RowMatrix, coef: FloatArray) -> FloatArray:
        """Return the functions ``sum_j coef_j K(x_j, .)`` as weights, shape (..., n_features)."""
        rows, coef = self.features(X).astype(np.float64, copy=False), np.asarray(coef, float)
        found = np.asarray(rows.T @ coef.T)
        return found.ravel() if coef.ndim == 1 else np.ascontiguousarray(found.T)

    def sums(self, X: RowMatrix, weights: FloatArray, n_jobs: int = 1) -> FloatArray:
        """Return values of such functions at rows, shape (len(X), ...)."""
        return row_products(self.features(X, n_jobs), weights)


class FormedKernel(Kernel):
    """A kernel whose values are formed block by block, by a function of two arrays of rows."""

    def diagonal(self, X: RowMatrix) -> FloatArray:
        blocks = (X[i : i + 64] for i in range(0, X.shape[0], 64))
        values = (self.values(rows, rows) for rows in blocks)
        parts = [v.diagonal() if is_sparse(v) else np.diagonal(v) for v in values]
        return np.concatenate(parts).astype(float)

    @abstractmethod
    def values(self, X: RowMatrix, Z: RowMatrix) -> RowMatrix:
        """Return the matrix of values, shape (len(X), len(Z)), dense or sparse."""

    def log_values(self, X: RowMatrix, Z: RowMatrix) -> FloatArray:
        """Return log K(x, z), shape (len(X), len(Z)), of a similarity.

        A kernel that computes them however far apart rows are overrides this.
        """
        values = self.values(X, Z)
        return np.log(values.toarray() if is_sparse(values) else values)
