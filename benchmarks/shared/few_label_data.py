"""A few labels and many unlabelled rows of a synthetic family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Split:
    """One learning problem: some rows labelled, errors counted on the others.

    Attributes
    ----------
    X : {ndarray, CSR} of shape (n, d)
        The labelled rows, then the unlabelled ones.
    truth : ndarray of int of shape (n,)
        Classes 0, 1, ...
    n_labeled : int
        How many rows are labelled.
    """

    X: np.ndarray
    truth: np.ndarray
    n_labeled: int

    @property
    def y(self):
        """Labels, -1 for unlabelled rows."""
        return np.where(np.arange(len(self.truth)) < self.n_labeled, self.truth, -1)


def make_family(n_unlabeled, seed=0, n_labeled=50, n_test=5000):
    """Four Gaussian clusters in 20 dimensions, two per class, and test rows.

    Centres N(0, 1), deviation 1.2.

    Returns
    -------
    split : Split
    X_test, y_test : ndarray
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 20))

    def rows(n):
        cluster = rng.integers(4, size=n)
        return centres[cluster] + 1.2 * rng.normal(size=(n, 20)), (cluster >= 2).astype(int)

    while True:
        labeled, classes = rows(n_labeled)
        if 0 < classes.sum() < n_labeled:
            break
    unlabeled, hidden = rows(n_unlabeled)
    X_test, y_test = rows(n_test)
    split = Split(
        np.concatenate([labeled, unlabeled]), np.concatenate([classes, hidden]), n_labeled
    )
    return split, X_test, y_test
