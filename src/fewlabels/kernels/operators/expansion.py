"""f(x) = sum_j coef_j K(x_j, x) at new rows: what a fitted model evaluates."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, RowMatrix
from .. import FeatureKernel, FormedKernel, Kernel, SharedLeaves
from ..base import is_mapped
from ..rows import is_sparse, row_products
from .rows import PreparedVectors, RowMap

_ROWS_AT_A_TIME = 16384
_VALUES_AT_A_TIME = 4_000_000


class Expansion:
    """The function with ``coef``, shape (m,), in the span of ``kernel`` at the rows ``vectors``.

    With ``coef`` of shape (k, m) there are k of them, and every kernel value is evaluated once.

    For a precomputed kernel ``columns`` says which columns of the given matrix belong to the
    vectors, which are not used. ``row_map`` says how rows are prepared; it is made from
    ``vectors`` when missing. ``n_jobs`` threads. Under a deformed kernel it is evaluated as one of
    the base kernel; ``on_points`` are the coefficients of its points where they are known. Under a
    kernel of trees ``on_leaves`` are what its leaves add, where that is known.
    """

    def __init__(
        self,
        kernel: Kernel,
        vectors: RowMatrix,
        coef: FloatArray,
        *,
        columns: IntArray | None = None,
        row_map: RowMap | None = None,
        n_jobs: int = 1,
        on_points: FloatArray | None = None,
        on_leaves: FloatArray | None = None,
    ) -> None:
        if kernel.has_graph:
            vectors, coef = kernel.expand(vectors, coef, on_points)
            kernel = kernel.plain
            row_map = RowMap(kernel, vectors, np.float64) if is_mapped(kernel) else None
        self.kernel = kernel
        self.vectors = vectors
        self.coef = np.asarray(coef, dtype=float)
        self.columns = columns
        self.n_jobs = n_jobs
        self.row_map = row_map
        if row_map is None and is_mapped(kernel):
            self.row_map = RowMap(kernel, vectors)
        if kernel.has_features:
            assert isinstance(kernel, FeatureKernel)
            self.weights = kernel.weights(vectors, self.coef)
        elif isinstance(kernel, SharedLeaves):
            self.weights = kernel.weights(vectors, self.coef) if on_leaves is None else on_leaves
            row_map = RowMap(kernel.base, vectors, np.float64)
            coef = (1.0 - kernel.share) * self.coef
            self._base = Expansion(kernel.base, vectors, coef, row_map=row_map, n_jobs=n_jobs)
        elif self.row_map is not None:
            self._prepared = PreparedVectors(self.row_map, vectors, n_jobs)

    def __call__(self, X: RowMatrix) -> FloatArray:
        """Return values at the rows of X, float64, shape (len(X),) or (len(X), k)."""
        out = np.zeros((X.shape[0], *self.coef.shape[:-1]))
        step = _ROWS_AT_A_TIME
        # These form the values.
        if not self.kernel.is_mapped or self.coef.ndim == 2:
            step = min(step, max(1, _VALUES_AT_A_TIME // max(1, self.coef.shape[-1])))
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            self._add_values(X[part], out[part])
        self._correct_overflow(X, out)
        return out

    def _correct_overflow(self, X: RowMatrix, out: FloatArray) -> None:
        """Evaluate in float64 what overflowed in float32: rows far outside the model's."""
        if self.row_map is None or self.row_map.dtype == np.float64:
            return
        has_overflowed = ~np.isfinite(out)
        overflowed = np.flatnonzero(
            has_overflowed if out.ndim == 1 else has_overflowed.any(axis=1)
        )
        if len(overflowed):
            exact = Expansion(
                self.kernel,
                self.vectors,
                self.coef,
                row_map=self.row_map.refined(),
                n_jobs=self.n_jobs,
            )
            out[overflowed] = exact(X[overflowed])

    def _add_values(self, X: RowMatrix, out: FloatArray) -> None:
        if self.kernel.is_matrix:
            out += row_products(X[:, self.columns], self.coef)
        elif self.kernel.has_features:
            assert isinstance(self.kernel, FeatureKernel)
            out += self.kernel.sums(X, self.weights, self.n_jobs)
        elif isinstance(self.kernel, SharedLeaves):
            out += self._base(X)
            out += self.kernel.sums(X, self.weights)
        elif self.row_map is None:
            assert isinstance(self.kernel, FormedKernel)
            values = self.kernel.values(X, self.vectors)
            out += (values if is_sparse(values) else np.asarray(values)) @ self.coef.T
        else:
            self._prepared.add_values(X, self.coef, out)


def extend_tail(sums: FloatArray, tail: float, logs: FloatArray | None = None) -> FloatArray:
    """Return sums of positive terms, those below ``tail`` as ``tail (1 + log(s / tail))``.

    Order and slope stay. ``logs`` are the logarithms; without them sums of 0 are -inf.
    """
    sums = np.asarray(sums, dtype=float)
    if not tail:
        return sums
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(sums, 0.0)) if logs is None else logs
    return np.where(sums < tail, tail * (1.0 + logs - np.log(tail)), sums)
