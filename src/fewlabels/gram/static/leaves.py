"""Leaves that rows of a forest share, counted tree by tree."""

import numpy as np

from ...kernels.forest import add_sums, shared, weights_of
from ..base import Columns, GramOperator


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

    def __init__(self, forest, leaves, n_jobs=1):
        super().__init__(leaves.shape[0], n_jobs)
        self.forest, self.leaves = forest, np.asarray(leaves, dtype=np.int32)
        self._codes = np.asfortranarray(forest.codes(leaves))
        self.value_cost = float(leaves.shape[1])

    def diagonal(self):
        return np.ones(self.n)

    def gather(self, indices):
        return Columns(np.asarray(indices), (self.leaves[indices], self._codes[indices]))

    def values_of(self, columns):
        self.n_values += len(columns) * self.n
        return shared(columns.values[1], self._codes, self.n_jobs)

    def block_of(self, columns):
        self.n_values += len(columns) ** 2
        return shared(columns.values[1], columns.values[1])

    def add_columns(self, columns, coef, out):
        weights = weights_of(columns.values[0], coef, len(self.forest.value))
        add_sums(self.leaves, weights, out, self.n_jobs)

    def take(self, indices):
        return LeavesGram(self.forest, self.leaves[indices], self.n_jobs)
