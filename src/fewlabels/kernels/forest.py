"""A forest as arrays, as files store it, and fast search for the leaves of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.forest import TreeNodes, add_leaves, find_leaves, shared_leaves
from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .._util.threads import run_ranges
from .rows import is_sparse

# Rows that fall through the trees at a time, at most.
_ROWS_AT_A_TIME = 65_536
# Numbers that these rows hold, at most.
_NUMBERS_AT_A_TIME = 2**24


def to_float32(X: RowMatrix) -> NDArray[np.float32]:
    """Return dense rows in single precision, in which trees compare."""
    X = X.toarray() if is_sparse(X) else X  # entries given twice add up in double precision
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one after the other: a node's rows with ``feature <= threshold`` go left.

    ``left`` and ``right`` are places of nodes, a leaf's own place twice; ``value`` is one of every
    node, ``roots`` are the trees' first nodes, and no row passes more than ``depth`` nodes. Values
    of rows are compared in float32, as scikit-learn does.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    roots: IntArray
    depth: int

    @classmethod
    def from_trees(cls, trees: Sequence[Any], value: Callable[[Any], FloatArray]) -> Forest:
        """Return the forest of scikit-learn's trees, with ``value(tree)`` of their nodes."""
        sizes = [tree.tree_.node_count for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        feature, threshold, left, right, values = [], [], [], [], []
        for first, size, tree in zip(roots, sizes, trees, strict=True):
            nodes, own = tree.tree_, np.arange(size)
            is_leaf = nodes.children_left < 0
            feature.append(np.where(is_leaf, 0, nodes.feature))
            threshold.append(np.where(is_leaf, 0.0, nodes.threshold))
            left.append(first + np.where(is_leaf, own, nodes.children_left))
            right.append(first + np.where(is_leaf, own, nodes.children_right))
            values.append(value(nodes))
        return cls(
            feature=np.concatenate(feature),
            threshold=np.concatenate(threshold),
            left=np.concatenate(left),
            right=np.concatenate(right),
            value=np.concatenate(values),
            roots=roots,
            depth=max(tree.tree_.max_depth for tree in trees),
        )

    def leaves(self, X: RowMatrix, n_jobs: int = 1) -> IntArray:
        """Return the leaf of every row in every tree, int32 of shape (n_rows, n_trees)."""
        self._check(X.shape[1])
        found = np.empty((X.shape[0], len(self.roots)), dtype=np.int32)
        column = np.ascontiguousarray(self.feature, np.int64)
        used: slice | IntArray = slice(None)
        if is_sparse(X):  # only columns that matter become dense
            used, column = np.unique(column, return_inverse=True)
        nodes = TreeNodes(
            roots=np.ascontiguousarray(self.roots, np.int64),
            feature=column,
            threshold=np.ascontiguousarray(self.threshold, np.float64),
            left=np.ascontiguousarray(self.left, np.int64),
            right=np.ascontiguousarray(self.right, np.int64),
            depth=int(self.depth),
        )
        step = max(1, min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // max(1, X[:1, used].shape[1])))
        for first in range(0, X.shape[0], step):
            part = to_float32(X[first : first + step][:, used])
            out = found[first : first + step]
            run_ranges(partial(find_leaves, part, nodes, out), len(part), n_jobs)
        return found

    def _check(self, n_columns: int) -> None:
        """Refuse places that don't exist: compiled code wouldn't notice."""
        n_nodes = len(self.left)
        places = (self.left, n_nodes), (self.right, n_nodes), (self.roots, n_nodes)
        for found, end in (*places, (self.feature, n_columns)):
            if len(found) and not 0 <= found.min() <= found.max() < end:
                raise ValueError(
                    f"a tree names a node or a column that doesn't exist (there are {end}): the "
                    "model is damaged, or the rows have too few columns."
                )

    def codes(self, leaves: IntArray) -> IntArray:
        """Return the leaves of every tree numbered from 0, in as few bytes as possible."""
        is_leaf = self.left == np.arange(len(self.left))
        before = np.cumsum(is_leaf) - is_leaf
        tree = np.repeat(np.arange(len(self.roots)), np.diff([*self.roots, len(self.left)]))
        numbers = before - before[self.roots][tree]
        return numbers.astype(np.min_scalar_type(int(numbers.max())))[leaves]

    def mean(self, X: RowMatrix) -> FloatArray:
        """Return the mean value of the leaves that rows fall into."""
        return self.value[self.leaves(X)].mean(axis=1)


def compute_leaf_similarity(a: IntArray, b: IntArray, n_jobs: int = 1) -> FloatArray:
    """Return the share of trees in which rows share a leaf, float64 of shape (n, m).

    ``a`` and ``b`` are :meth:`Forest.codes` of rows, of shapes (n, n_trees) and (m, n_trees). Of
    many rows ``b``, keep the codes in Fortran's order.
    """
    found = np.empty((len(a), len(b)))
    if found.size:
        given = np.ascontiguousarray(a), np.ascontiguousarray(b.T), found
        run_ranges(partial(shared_leaves, *given), len(b), n_jobs)
    return found


def sum_leaf_weights(leaves: IntArray, coef: FloatArray, n_leaves: int) -> FloatArray:
    """Return what each leaf adds to a sum of shared leaves, shape (n_leaves,) or (k, n_leaves).

    ``coef`` are coefficients of the rows with these ``leaves``, of shape (n,) or (k, n).
    """
    n_trees = leaves.shape[1]
    coef = np.asarray(coef, dtype=float) / n_trees
    if coef.ndim == 2:
        return np.stack([sum_leaf_weights(leaves, n_trees * one, n_leaves) for one in coef])
    found: AnyArray = np.bincount(leaves.ravel(), np.repeat(coef, n_trees), minlength=n_leaves)
    return found


def add_leaf_sums(leaves: IntArray, weights: FloatArray, out: FloatArray, n_jobs: int = 1) -> None:
    """``out += weights[..., leaves].sum(over the trees)``, of shape (n,) or (n, k)."""
    given = leaves, np.atleast_2d(np.ascontiguousarray(weights, dtype=float)), out
    run_ranges(partial(add_leaves, *given), len(leaves), n_jobs)
