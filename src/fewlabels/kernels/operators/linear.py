"""Inner products of features, and of leaves of trees: products with K form no kernel value."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, RowMatrix
from .. import Linear
from ..forest import Forest, add_leaf_sums, compute_leaf_similarity, sum_leaf_weights
from ..rows import is_sparse
from .base import Columns, GramOperator

_ROWS_AT_A_TIME = 8192


class LinearGram(GramOperator):
    """``K = X X'`` of dense or CSR rows, in float64, by ``n_jobs`` threads."""

    is_inner_product = True

    def __init__(self, X: RowMatrix, n_jobs: int = 1) -> None:
        super().__init__(X.shape[0], n_jobs)
        self.X = X
        self._diagonal = Linear().diagonal(X)

    def diagonal(self) -> FloatArray:
        return self._diagonal

    def gather(self, indices: IntArray) -> Columns:
        return Columns(np.asarray(indices), (self.X[indices],))

    def values_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) * self.n
        return multiply_rows(columns.values[0], self.X)

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        (rows,) = columns.values
        return multiply_rows(rows, rows)

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        add_products(self.X, combine_rows(columns.values[0], coef), out)

    def take(self, indices: IntArray) -> LinearGram:
        return LinearGram(self.X[indices], self.n_jobs)


class LeavesGram(GramOperator):
    """``K_ij`` = share of the trees in which the rows i and j fall into the same leaf.

    Parameters
    ----------
    forest : Forest
        The trees.
    leaves : ndarray of shape (n, n_trees)
        The leaf of every row in every tree.
    n_jobs : int
        Threads.
    """

    is_inner_product = True

    def __init__(self, forest: Forest, leaves: IntArray, n_jobs: int = 1) -> None:
        super().__init__(leaves.shape[0], n_jobs)
        self.forest, self.leaves = forest, np.asarray(leaves, dtype=np.int32)
        self._codes = np.asfortranarray(forest.codes(leaves))
        self.value_cost = float(leaves.shape[1])

    def diagonal(self) -> FloatArray:
        return np.ones(self.n)

    def gather(self, indices: IntArray) -> Columns:
        return Columns(np.asarray(indices), (self.leaves[indices], self._codes[indices]))

    def values_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) * self.n
        return compute_leaf_similarity(columns.values[1], self._codes, self.n_jobs)

    def block_of(self, columns: Columns) -> FloatArray:
        self.n_values += len(columns) ** 2
        return compute_leaf_similarity(columns.values[1], columns.values[1])

    def add_columns(self, columns: Columns, coef: FloatArray, out: FloatArray) -> None:
        leaf_weights = sum_leaf_weights(columns.values[0], coef, len(self.forest.value))
        add_leaf_sums(self.leaves, leaf_weights, out, self.n_jobs)

    def take(self, indices: IntArray) -> LeavesGram:
        return LeavesGram(self.forest, self.leaves[indices], self.n_jobs)


def combine_rows(rows: RowMatrix, coef: FloatArray) -> FloatArray:
    """Return ``rows.T @ coef`` in float64, shape (d,)."""
    return np.asarray(rows.astype(np.float64, copy=False).T @ coef).ravel()


def multiply_rows(rows: RowMatrix, others: RowMatrix) -> FloatArray:
    """Return ``rows @ others.T`` as a dense float64 array."""
    values = rows.astype(np.float64, copy=False) @ others.T
    return values.toarray() if is_sparse(values) else np.ascontiguousarray(values)


def add_products(X: RowMatrix, w: FloatArray, out: FloatArray) -> None:
    """Add ``X @ w`` to ``out`` in float64."""
    if is_sparse(X) or X.dtype == np.float64:
        out += X @ w
        return
    # float32 rows are widened a chunk at a time, so that sums are float64.
    for first in range(0, len(X), _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        out[part] += X[part].astype(np.float64) @ w
