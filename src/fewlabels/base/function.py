"""The function that a model has learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._typing import FloatArray, RowMatrix, VectorLike
from .._util.threads import resolve_n_jobs
from ..kernels import center_of, centered
from ..kernels.operators import Expansion, RowMap
from ..kernels.operators.expansion import extend_tail

# Share of the threshold's level below which sums of a similarity go on in log scale.
TAIL = 1e-12
# Sums below this have lost digits, or all: their logarithms are summed up from the kernel's.
_MIN_SUM = 1e-290
# Logarithms end here, before float64 does.
_MIN_LOG = -1e290
_MAX_VALUES_AT_A_TIME = 4_000_000

# Sums in units of the coefficients' that float32 may have cut off: it ends at 1e-38.
_MIN_SUM_FLOAT32 = 1e-30


@dataclass(frozen=True, eq=False, kw_only=True)
class Function:
    """``f(x) = sum_k sum_j coef[k, j] K_k(x_j, x) - self_weight K(x, x) + bias``.

    Below ``tail``, a sum of positive terms of a similarity continues in log scale (``continued``):
    it still ranks which of two rows is farther where the kernel itself has ended.

    Values within ``rounding`` of ``boundary`` are moved onto it: support vectors between their
    bounds lie exactly on the boundary, and the sign of a rounding error would decide on which
    side they are.
    """

    kernels: tuple[Any, ...]  # K_k
    vectors: np.ndarray  # or CSR array: x_j as given; of shape (0, 0) for a precomputed kernel
    coef: np.ndarray  # of shape (n_kernels, m)
    bias: float = 0.0
    self_weight: float = 0.0
    shift: np.ndarray | None = None  # taken from all rows first (linear kernel)
    center: np.ndarray | None = None  # where a kernel that does not see it moves rows to
    float64: bool | None = None  # kernel values are; None for kernels that prepare no rows
    columns: np.ndarray | None = None  # precomputed: training rows that x_j are
    diagonal: float | None = None  # precomputed: K(x, x), where that is constant
    boundary: float = 0.0
    rounding: float = 0.0
    tail: float = 0.0
    # Where support vectors are equal: which of the vectors each is, and its own coefficient.
    repeats: np.ndarray | None = None
    shares: np.ndarray | None = None  # of shape (n_kernels, n_support)
    # Kernels with features: a weight for each. From the coefficients, unless given.
    weights: np.ndarray | None = field(default=None, repr=False)
    # Deformed kernel: coefficients of its points under the base kernel, unless given.
    on_points: np.ndarray | None = field(default=None, repr=False)
    # Kernels of trees: what each leaf adds, None in place of other kernels; unless given.
    on_leaves: tuple | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        kernel = self.kernels[0]
        if self.on_points is None and kernel.has_graph:
            on_points = kernel.on_points(self.vectors, self.coef[0])
            object.__setattr__(self, "on_points", on_points)
        if self.weights is None and kernel.has_features and not kernel.has_graph:
            weights = kernel.weights(self._shift_rows(self.vectors), self.coef[0])
            object.__setattr__(self, "weights", weights)

    @property
    def kernel(self) -> Any:
        """The kernel, where there is one. What methods it has follows from what it can do."""
        (kernel,) = self.kernels
        return kernel

    def to_base_kernel(self) -> Function:
        """Return the function without its term of K(x, x), under a deformed kernel's base."""
        if self.on_points is None:
            return self
        rows, coef = self.kernel.expand(self.vectors, self.coef[0], self.on_points)
        return replace(
            self,
            kernels=(self.kernel.plain,),
            vectors=rows,
            coef=coef[None],
            self_weight=0.0,
            repeats=None,
            shares=None,
            on_points=None,
            float64=True,
            center=center_of(rows),
        )

    @property
    def support_vectors(self) -> RowMatrix:
        """Support vectors, one for each training row, so that equal rows repeat."""
        return self.vectors if self.repeats is None else self.vectors[self.repeats]

    @property
    def dual_coef(self) -> FloatArray:
        """Coefficients of the support vectors."""
        return self.coef if self.shares is None else self.shares

    def __call__(
        self, X: RowMatrix, *, diagonal: VectorLike | None = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return values at validated rows.

        Precomputed rows are their kernel values with all training rows.

        ``diagonal`` is K(x, x) of these rows, needed where the function has such a term, the
        kernel is precomputed and its diagonal varies. ``n_jobs=None`` means every core.
        """
        X = self._shift_rows(X)
        # The constant is a small part of a value without K(x, x), and then comes last.
        value = np.full(X.shape[0], 0.0 if self.self_weight else self.bias)
        if self.weights is not None:
            value += self.kernel.sums(X, self.weights, resolve_n_jobs(n_jobs))
        else:
            for k in np.flatnonzero(self.coef.any(axis=1)):
                value += self._evaluate_kernel(int(k), X, resolve_n_jobs(n_jobs))
        if self.self_weight:
            value -= self.self_weight * self._diagonal_values(X, diagonal)
            value += self.bias
        far = np.flatnonzero(value < self.tail) if self.tail else ()
        if len(far):
            value[far] = extend_tail(value[far], self.tail, self._log_sums(X[far], value[far]))
        value[np.abs(value - self.boundary) <= self.rounding] = self.boundary
        return value

    def _shift_rows(self, X: RowMatrix) -> RowMatrix:
        return centered(X, self.shift)

    def _evaluate_kernel(self, k: int, X: RowMatrix, n_jobs: int) -> FloatArray:
        """Return the sum over the k-th kernel."""
        kernel, coef, row_map = self.kernels[k], self.coef[k], None
        if self.float64 is not None and kernel.is_mapped:
            dtype = np.float64 if self.float64 else np.float32
            row_map = RowMap.restore(kernel, self.center, dtype)
        expansion = Expansion(
            kernel,
            self.vectors,
            coef,
            columns=self.columns,
            row_map=row_map,
            n_jobs=n_jobs,
            on_points=self.on_points,
            on_leaves=self._leaf_values[k],
        )
        values = expansion(X)
        if row_map is not None and kernel.is_similarity and not self.float64 and coef.min() >= 0:
            # A sum of positive terms is exact relative to itself, however small it is.
            far = np.flatnonzero(values < _MIN_SUM_FLOAT32 * coef.sum())
            if len(far):
                exact = Expansion(kernel, self.vectors, coef, row_map=row_map.refined())
                values[far] = exact(X[far])
        return values

    @property
    def _leaf_values(self) -> tuple[FloatArray | None, ...]:
        """``on_leaves``, computed once unless given."""
        if self.on_leaves is None:
            found = tuple(
                kernel.weights(self.vectors, coef) if kernel.has_leaves else None
                for kernel, coef in zip(self.kernels, self.coef, strict=True)
            )
            object.__setattr__(self, "on_leaves", found)
        leaves = self.on_leaves
        assert leaves is not None
        return leaves

    def _log_sums(self, X: RowMatrix, sums: FloatArray) -> FloatArray:
        """Return logarithms of ``sum_j coef_j K(x_j, x)``, by the kernel's where sums vanish."""
        logs, lost = np.log(np.maximum(sums, _MIN_SUM)), np.flatnonzero(sums < _MIN_SUM)
        with np.errstate(all="ignore"):
            weight = np.log(self.coef[0])
            step = max(1, _MAX_VALUES_AT_A_TIME // len(weight))
            for rows in (lost[i : i + step] for i in range(0, len(lost), step)):
                terms = self.kernel.log_values(X[rows], self.vectors) + weight
                logs[rows] = logsumexp(np.fmax(terms, _MIN_LOG), axis=1)
        return logs

    def _diagonal_values(self, X: RowMatrix, diagonal: VectorLike | None) -> FloatArray:
        """Return K(x, x) of rows."""
        if diagonal is not None:
            diagonal = np.asarray(diagonal, dtype=float)
            if diagonal.shape != (X.shape[0],):
                raise ValueError(
                    f"diagonal has shape {diagonal.shape}; it needs one K(x, x) per row, "
                    f"shape ({X.shape[0]},)."
                )
            return diagonal
        if not self.kernel.is_matrix:
            return self.kernel.diagonal(X)
        if self.diagonal is None:
            raise ValueError(
                "the precomputed training kernel has a varying diagonal, so K(x, x) of the new "
                "rows is needed; pass diagonal=..."
            )
        return np.full(X.shape[0], self.diagonal)
