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

    def mean(self, X):
        """Mean value of the leaves that rows fall into."""
        return self.value[self.leaves(X)].mean(axis=1)
