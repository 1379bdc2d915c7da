"""A forest as arrays: what files hold of it, and a quick answer to where rows fall."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

# Rows that fall through the trees at a time, and numbers that these may hold.
_ROWS, _NUMBERS = 4096, 2**24


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one after the other: a node's rows with ``feature <= threshold`` go left.

    ``left`` and ``right`` are places of nodes, a leaf's own place twice; ``value`` is one of every
    node, ``roots`` are the trees' first nodes, and no row passes more than ``depth`` nodes. Values
    of rows are compared in float32, as scikit-learn does.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    depth: int

    @classmethod
    def of(cls, trees, value):
        """From scikit-learn's trees, with ``value(tree)`` of their nodes."""
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
        parts = (np.concatenate(part) for part in (feature, threshold, left, right, values))
        return cls(*parts, roots=roots, depth=max(tree.tree_.max_depth for tree in trees))

    def leaves(self, X):
        """The leaf of every row in every tree, shape (n_rows, n_trees)."""
        found = np.empty((X.shape[0], len(self.roots)), dtype=np.int64)
        used, column = np.unique(self.feature, return_inverse=True)
        step = max(1, min(_ROWS, _NUMBERS // max(len(used), len(self.roots))))
        for first in range(0, X.shape[0], step):
            part = X[first : first + step][:, used]
            part = (part.toarray() if sp.issparse(part) else np.asarray(part)).astype(np.float32)
            at = np.repeat(self.roots[None], len(part), axis=0)
            rows = np.arange(len(part))[:, None]
            for _ in range(self.depth):
                goes_left = part[rows, column[at]] <= self.threshold[at]
                at = np.where(goes_left, self.left[at], self.right[at])
            found[first : first + step] = at
        return found

    def codes(self, leaves):
        """The leaves of every tree numbered from 0, in as few bytes as these numbers take."""
        is_leaf = self.left == np.arange(len(self.left))
        before = np.cumsum(is_leaf) - is_leaf
        tree = np.repeat(np.arange(len(self.roots)), np.diff([*self.roots, len(self.left)]))
        numbers = before - before[self.roots][tree]
        return numbers.astype(np.min_scalar_type(int(numbers.max())))[leaves]

    def mean(self, X):
        """Mean value of the leaves that rows fall into."""
        return self.value[self.leaves(X)].mean(axis=1)


# Pairs of rows that are compared at a time: what is counted stays in cache.
_PAIRS = 2**18
# Most trees that are counted in one byte.
_BYTE = 255


def shared(a, b):
    """Share of the trees in which rows fall into the same leaf, float64 of shape (len(a), len(b)).

    ``a`` and ``b`` are leaves of rows or their codes, of shapes (n, n_trees) and (m, n_trees).
    """
    n_trees = a.shape[1]
    found = np.empty((len(a), len(b)))
    if not found.size:
        return found
    a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    wide = min(b.shape[1], max(256, _PAIRS // max(1, a.shape[1])))
    high = max(1, _PAIRS // wide)
    counter = np.uint8 if n_trees <= _BYTE else np.int32
    for top in range(0, a.shape[1], high):
        rows = a[:, top : top + high, None]
        for left in range(0, b.shape[1], wide):
            others = b[:, None, left : left + wide]
            shape = rows.shape[1], others.shape[2]
            counts, equal = np.zeros(shape, counter), np.empty(shape, bool)
            for tree in range(n_trees):
                np.equal(rows[tree], others[tree], out=equal)
                np.add(counts, equal, out=counts)
            found[top : top + high, left : left + wide] = counts
    found /= n_trees
    return found


def weights_of(leaves, coef, n_leaves):
    """What each leaf adds to a sum of shared leaves, of shape (n_leaves,) or (k, n_leaves).

    ``coef`` are coefficients of the rows with these ``leaves``, of shape (n,) or (k, n).
    """
    n_trees = leaves.shape[1]
    coef = np.asarray(coef, dtype=float) / n_trees
    if coef.ndim == 2:
        return np.stack([weights_of(leaves, n_trees * one, n_leaves) for one in coef])
    return np.bincount(leaves.ravel(), np.repeat(coef, n_trees), minlength=n_leaves)


def add_sums(leaves, weights, out):
    """``out += weights[..., leaves].sum(over the trees)``, of shape (n,) or (n, k)."""
    step = max(1, _PAIRS // leaves.shape[1])
    for first in range(0, len(leaves), step):
        part = slice(first, first + step)
        out[part] += weights.T[leaves[part]].sum(axis=1)
