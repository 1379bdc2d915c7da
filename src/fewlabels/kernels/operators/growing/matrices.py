"""Kernel matrices of rows that come and go.

Path following needs three things of K, again and again for nearly the same rows: products
with a few columns, small blocks, and single columns when rows arrive. Columns are
evaluated in float64, kept within a bound on memory, extended when rows are appended, and
evaluated again after they were dropped. With a linear kernel no column is formed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ...._core import functions as core
from ...._typing import FloatArray, IntArray, RowMatrix
from ... import Cells, Deformed, FeatureKernel, FormedKernel, Kernel, MappedKernel, SharedLeaves
from ...rows import equal_rows, is_sparse
from ..column_cache import VALUES_AT_A_TIME, ColumnCache
from ..linear import add_products, combine_rows, multiply_rows
from .stores import (
    CellStore,
    FeatureStore,
    FormedStore,
    MatrixStore,
    RepeatedStore,
    SumStore,
    ValueStore,
    check_width,
    grow_array,
)

# From so many new rows on, their own columns are evaluated only when they are needed.
MANY_ROWS = 64


class GrowingGram(Protocol):
    """A kernel matrix K of rows that come and go; new rows get the next numbers."""

    n: int

    @property
    def n_values(self) -> int:
        """Kernel values evaluated so far."""

    def append(self, X: RowMatrix) -> FloatArray:
        """Add rows, and return their K(x, x)."""

    def keep(self, indices: IntArray) -> None:
        """Drop all rows but these, in ascending order, which become 0, 1, ..."""

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return ``K[rows][:, columns]``."""

    def apply(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, hold: bool = True
    ) -> None:
        """Add ``K[:, indices] @ coef`` to ``out``; ``hold`` if the columns are worth keeping."""

    def product_at(self, rows: IntArray, indices: IntArray, coef: FloatArray) -> FloatArray:
        """Return ``K[rows][:, indices] @ coef`` without touching other rows."""


def make_growing(
    kernel: Kernel, X: RowMatrix, *, cache_size: float = 200e6, n_jobs: int = 1
) -> GrowingColumns | GrowingLinear:
    """Return an empty growing kernel matrix for rows such as ``X``, in a cache of some bytes.

    The rows are not added; they decide the storage, and the centre of an RBF kernel.
    """
    store: ValueStore
    if kernel.is_matrix:
        store = MatrixStore()
    elif kernel.has_cells:
        assert isinstance(kernel, Cells)
        store = CellStore(kernel, X.shape[1])
    elif kernel.has_features:
        assert isinstance(kernel, FeatureKernel | Deformed)
        return GrowingLinear(kernel, X, n_jobs)
    elif kernel.weights_of_sum is not None:
        assert isinstance(kernel, Deformed | SharedLeaves)
        store = SumStore(kernel, X)
    elif kernel.is_mapped:
        assert isinstance(kernel, MappedKernel)
        store = FeatureStore(kernel, X)
    else:
        assert isinstance(kernel, FormedKernel)
        store = FormedStore(kernel)
    if isinstance(store, FeatureStore) and not store.sparse and _has_many_copies(X):
        store = RepeatedStore(store)
    return GrowingColumns(store, cache_size, n_jobs)


def _has_many_copies(X: RowMatrix) -> bool:
    """Return whether at least half of some rows are copies of others."""
    copies = equal_rows(X)
    return copies is not None and 2 * len(copies.first) <= X.shape[0]


class GrowingLinear:
    """K = F F' of the features F that a kernel gives rows: products cost O(n n_features)."""

    def __init__(self, kernel: FeatureKernel | Deformed, X: RowMatrix, n_jobs: int = 1) -> None:
        self.kernel, self.n, self.n_jobs, self.n_values = kernel, 0, n_jobs, 0
        self.d = X.shape[1]
        self._rows = self._features(X[:0])
        self.sparse = is_sparse(self._rows)

    def _features(self, X: RowMatrix) -> RowMatrix:
        features = self.kernel.features(X)
        if is_sparse(features):
            return sp.csr_array(features, dtype=np.float64)
        return np.asarray(features, dtype=np.float64)

    def append(self, X: RowMatrix) -> FloatArray:
        check_width(X, self.d)
        X = self._features(X)
        if self.sparse:
            X = sp.csr_array(X)
            self._rows = sp.csr_array(sp.vstack([self._rows, X], format="csr"))
            self.n = self._rows.shape[0]
            return np.asarray(X.multiply(X).sum(axis=1)).ravel()
        X = X.toarray() if is_sparse(X) else X
        self._rows = grow_array(self._rows, self.n + len(X))
        self._rows[self.n : self.n + len(X)] = X
        self.n += len(X)
        return np.einsum("ij,ij->i", X, X)

    def keep(self, indices: IntArray) -> None:
        self._rows = self.X[indices]
        self.n = len(indices)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        self.n_values += len(rows) * len(columns)
        return multiply_rows(self.X[rows], self.X[columns])

    def apply(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, hold: bool = True
    ) -> None:
        self.add_products(self.combine_rows(indices, coef), out)

    def product_at(self, rows: IntArray, indices: IntArray, coef: FloatArray) -> FloatArray:
        return self.at(rows, self.combine_rows(indices, coef))

    @property
    def X(self) -> RowMatrix:
        """The features of the rows."""
        return self._rows if self.sparse else self._rows[: self.n]

    def combine_rows(self, indices: IntArray, coef: FloatArray) -> FloatArray:
        """``X[indices].T @ coef``, shape (d,)."""
        return combine_rows(self.X[indices], coef)

    def at(self, rows: IntArray, w: FloatArray) -> FloatArray:
        """``X[rows] @ w``."""
        return self.X[rows] @ w

    def add_products(self, w: FloatArray, out: FloatArray) -> None:
        """``out += X @ w``."""
        add_products(self.X, w, out)


class GrowingColumns:
    """Columns of a kernel matrix, kept within a bound on memory; values come from a store."""

    def __init__(self, store: ValueStore, cache_size: float, n_jobs: int = 1) -> None:
        self.n, self.n_jobs, self.n_values = 0, n_jobs, 0
        self.store = store
        self.cache = ColumnCache(0, cache_size)

    # -- rows ------------------------------------------------------------------------------------

    def append(self, X: RowMatrix) -> FloatArray:
        first = self.n
        diagonal = self.store.append(X)
        self.n = self.store.n
        self.cache.resize(self.n, max(256, self.n + self.n // 2))
        new = np.arange(first, self.n)
        if len(new) > MANY_ROWS:
            self.cache.extend_by(new, self._evaluate_block)
            return diagonal
        values = self._evaluate(new)
        self.cache.begin()
        self.cache.extend(first, values)
        self.cache.put(new, values, replace=len(new) == 1)
        return diagonal

    def keep(self, indices: IntArray) -> None:
        self.store.keep(indices)
        self.n = len(indices)
        self.cache.keep(indices)

    # -- values ----------------------------------------------------------------------------------

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        rows, columns = np.asarray(rows), np.asarray(columns)
        out = np.empty((len(rows), len(columns)))
        if not out.size:
            return out
        slots = self.cache.find(columns, self._evaluate)
        is_stored = slots >= 0
        if is_stored.all():
            core.gather(self.cache.storage, slots, rows, out)
            return out
        out[:, is_stored] = self.cache.storage[np.ix_(slots[is_stored], rows)].T
        out[:, ~is_stored] = self._evaluate_block(rows, columns[~is_stored])
        return out

    def apply(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, hold: bool = True
    ) -> None:
        indices = np.asarray(indices)
        if not len(indices):
            return
        evaluate = self._evaluate if hold else None
        left = self.cache.add_product(indices, coef, out, evaluate, self.n_jobs)
        if left is not None:
            missing = indices[left]
            self.n_values += len(missing) * self.n
            self.store.add_product(missing, coef[left], out, self.n_jobs)

    def product_at(self, rows: IntArray, indices: IntArray, coef: FloatArray) -> FloatArray:
        rows, indices = np.asarray(rows), np.asarray(indices)
        out = np.zeros(len(rows))
        if not (len(rows) and len(indices)):
            return out
        # A few new rows with many old ones: the columns of the former are held.
        if len(rows) < len(indices):
            slots = self.cache.slots(rows)
            if slots.min() < 0:
                return self._products(rows, indices, coef)
            for i, slot in enumerate(slots.tolist()):
                out[i] = self.cache.storage[slot][indices] @ coef
            return out
        slots = self.cache.find(indices, self._evaluate)
        is_stored = slots >= 0
        core.gather_product(self.cache.storage, slots[is_stored], rows, coef[is_stored], out)
        if not is_stored.all():
            out += self._products(rows, indices[~is_stored], coef[~is_stored])
        return out

    def _products(self, rows: IntArray, indices: IntArray, coef: FloatArray) -> FloatArray:
        out = np.zeros(len(rows))
        step = max(1, VALUES_AT_A_TIME // max(1, len(rows)))
        for first in range(0, len(indices), step):
            part = slice(first, first + step)
            out += self._evaluate_block(rows, indices[part]) @ coef[part]
        return out

    def _evaluate(self, columns: IntArray) -> FloatArray:
        self.n_values += len(columns) * self.n
        return self.store.columns_of(columns, self.n_jobs)

    def _evaluate_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        self.n_values += len(rows) * len(columns)
        return self.store.cross(rows, columns, self.n_jobs)


class BorderedGrowing:
    """``inner`` with a first row and column for ``phi(x_0) = mean of phi over some rows``.

    This is the virtual sample of the balancing constraint of a semi-supervised SVM. It has
    index 0; the rows of ``inner`` have the indices from 1 on. Its kernel values are a vector
    of its own that follows the rows that join and leave the mean.
    """

    def __init__(self, inner: GrowingGram) -> None:
        self.inner, self.n = inner, inner.n + 1
        self._border = np.zeros(self.n)  # first entry: K(x_0, x_0)
        self._in_mean = np.zeros(self.n, bool)
        self.n_mean = 0
        # With a linear kernel the mean is a point, the mean of the features.
        self._linear = inner if isinstance(inner, GrowingLinear) else None
        self._mean = np.zeros(0 if self._linear is None else self._linear.X.shape[1])

    n_values = property(attrgetter("inner.n_values"))

    # -- rows ------------------------------------------------------------------------------------

    def append(self, X: RowMatrix) -> FloatArray:
        first = self.inner.n
        diagonal = self.inner.append(X)
        self.n = self.inner.n + 1
        self._border = grow_array(self._border, self.n)
        self._in_mean = grow_array(self._in_mean, self.n)
        self._in_mean[first + 1 : self.n] = False
        new = np.arange(first, self.inner.n)
        if self.n_mean == 0:
            values = np.zeros(len(new))
        elif self._linear is not None:
            values = self._linear.at(new, self._mean)
        else:
            mean = self._mean_rows
            values = self.inner.product_at(new, mean, np.full(len(mean), 1.0 / len(mean)))
        self._border[first + 1 : self.n] = values
        return diagonal

    def keep(self, indices: IntArray) -> None:
        indices = np.asarray(indices)
        self.inner.keep(indices[1:] - 1)
        self._border, self._in_mean = self._border[indices], self._in_mean[indices]
        self.n = len(indices)

    # -- values ----------------------------------------------------------------------------------

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        rows, columns = np.asarray(rows), np.asarray(columns)
        if columns.all():
            out = self.inner.block(np.maximum(rows - 1, 0), columns - 1)
            out[rows == 0] = self._border[columns]
            return out
        real, out = columns > 0, np.empty((len(rows), len(columns)))
        out[:, ~real] = self._border[rows][:, None]
        if real.any():
            out[:, real] = self.block(rows, columns[real])
        return out

    def apply(
        self, indices: IntArray, coef: FloatArray, out: FloatArray, hold: bool = True
    ) -> None:
        indices, coef, share = _split_virtual(indices, coef)
        rows = indices - 1
        if self._linear is None:
            if share:
                out += self.border * share
            self.inner.apply(rows, coef, out[1:], hold)
        else:
            # The mean is a point like any other: one product with all rows instead of two.
            w = self._linear.combine_rows(rows, coef) + share * self._mean
            self._linear.add_products(w, out[1:])
            out[0] += share * self._border[0]
        out[0] += self._border.take(indices) @ coef

    def product_at(self, rows: IntArray, indices: IntArray, coef: FloatArray) -> FloatArray:
        indices, coef, share = _split_virtual(indices, coef)
        out = self.inner.product_at(np.maximum(rows - 1, 0), indices - 1, coef)
        out[rows == 0] = self._border.take(indices) @ coef
        if share:
            out += self._border.take(rows) * share
        return out

    # -- the mean --------------------------------------------------------------------------------

    @property
    def border(self) -> FloatArray:
        """``K(x_0, x_j)``, j = 0, 1, ..."""
        return self._border[: self.n]

    def change_mean(self, indices: IntArray, sign: int) -> None:
        """Let rows join the mean (sign 1) or leave it (sign -1)."""
        indices = np.asarray(indices)
        before, self.n_mean = self.n_mean, self.n_mean + sign * len(indices)
        self._in_mean[indices] = sign > 0
        if self.n_mean == 0:
            self._border[: self.n] = 0.0
            self._mean[:] = 0.0
            return
        change = np.zeros(self.inner.n)
        share, hold = np.full(len(indices), float(sign)), len(indices) <= MANY_ROWS
        self.inner.apply(indices - 1, share, change, hold=hold)
        self._border[1 : self.n] = (before * self._border[1 : self.n] + change) / self.n_mean
        if self._linear is not None:
            change = self._linear.combine_rows(indices - 1, share)
            self._mean = (before * self._mean + change) / self.n_mean
        self._set_corner()

    def refresh(self) -> None:
        """Evaluate the border again."""
        mean = self._mean_rows
        if not len(mean):
            return
        border = np.zeros(self.inner.n)
        coef = np.full(len(mean), 1.0 / len(mean))
        self.inner.apply(mean, coef, border, hold=False)
        self._border[1 : self.n] = border
        if self._linear is not None:
            self._mean = self._linear.combine_rows(mean, coef)
        self._set_corner()

    @property
    def _mean_rows(self) -> IntArray:
        return np.flatnonzero(self._in_mean[1 : self.n])

    def _set_corner(self) -> None:
        self._border[0] = self._border[1 : self.n][self._in_mean[1 : self.n]].mean()


def _split_virtual(indices: IntArray, coef: FloatArray) -> tuple[IntArray, FloatArray, float]:
    """Return the real rows, their coefficients, and the coefficient of the virtual row.

    Indices are distinct.
    """
    at = indices.argmin() if len(indices) else 0
    if not len(indices) or indices[at]:
        return indices, coef, 0.0
    real = np.concatenate((indices[:at], indices[at + 1 :]))
    return real, np.concatenate((coef[:at], coef[at + 1 :])), coef[at]
