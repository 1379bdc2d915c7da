"""The best of a small grid by cross-validation over the labelled rows."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

N_FOLDS = 5
# Multiples of 1 / (d var(X)); a graph wants narrower kernels than a machine.
SVM_GRID = [
    {"kernel": kernel, "gamma": width, "C": C}
    for (kernel, width), C in itertools.product(
        [("rbf", 1.0), ("rbf", 0.25), ("rbf", 4.0), ("linear", 1.0)], [1.0, 10.0]
    )
]
SPREADING_GRID = [{"gamma": width} for width in (1.0, 4.0, 16.0, 64.0)]
NEIGHBOURS_GRID = [{"n_neighbors": k} for k in (7, 3, 5, 10, 20)]


def scale_gamma(X):
    """``1 / (d var(X))``, scikit-learn's "scale"."""
    if hasattr(X, "multiply"):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var()
    return 1.0 / (X.shape[1] * variance)


def labelled_folds(y, seed, most=N_FOLDS):
    """Held-out labelled rows of each fold; none when a class has one label only."""
    from sklearn.model_selection import StratifiedKFold

    labeled = np.flatnonzero(y >= 0)
    n = min(most, np.bincount(y[labeled]).min())
    if n < 2:
        return []
    folds = StratifiedKFold(n, shuffle=True, random_state=seed)
    return [labeled[held] for _, held in folds.split(labeled, y[labeled])]


def best_of(grid, y, seed, predict):
    """The entry with the most held-out labels right; the first of equals.

    Parameters
    ----------
    predict : callable
        ``predict(settings, y, held)`` gives the classes of the rows ``held``, whose labels
        are hidden in y.
    """
    folds = labelled_folds(y, seed)
    hits = np.zeros(len(grid), dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, settings in enumerate(grid):
            for held in folds:
                hidden = y.copy()
                hidden[held] = -1
                hits[place] += np.sum(predict(settings, hidden, held) == y[held])
    return grid[int(np.argmax(hits))]
