"""How well a forest tells labelled rows from unlabelled ones.

Labelled rows that are a random sample of all rows can't be separated from the others.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from .._typing import FloatArray, IntArray, RowMatrix
from ..kernels.growing import VotingForest
from ..kernels.rows import checked_rows

# Labelled rows that take part at most.
_MAX_LABELLED_ROWS = 500
# Unlabelled rows that take part at most.
_MAX_UNLABELLED_ROWS = 1000
# With fewer labelled rows there is no test.
_MIN_LABELLED_ROWS = 10
# Trees of the forest.
_TREES = 100
# More cells take too long.
_MAX_CELLS = 2**22
# ROC AUCs of labels drawn at random scatter this much more than those of independent scores (900
# simulated tables of 15 to 200 labels).
_SCATTER_OF_AREAS = 1.2


def measure_separation(X: RowMatrix, y: IntArray) -> float:
    """Return by how many standard errors labelled rows differ from unlabelled ones (y = -1).

    Copies count once. 0 with few rows, or with a great many columns.
    """
    kept = choose_distinct_rows(X, y, _MAX_LABELLED_ROWS, _MAX_UNLABELLED_ROWS)
    labelled = y[kept] >= 0
    n_labelled, n_free = int(labelled.sum()), int((~labelled).sum())
    too_many = len(kept) * X.shape[1] > _MAX_CELLS
    if n_labelled < _MIN_LABELLED_ROWS or n_free < n_labelled or too_many:
        return 0.0
    scores = score_as_labelled(X[kept], y[kept])
    area = roc_auc_score(labelled, scores)
    by_chance = _SCATTER_OF_AREAS * float(np.sqrt((1.0 / n_labelled + 1.0 / n_free) / 12.0))
    return (area - 0.5) / by_chance


def choose_distinct_rows(
    X: RowMatrix, y: IntArray, most_labelled: int, most_unlabelled: int
) -> IntArray:
    """Return one of the equal rows of either kind, since a forest would memorise copies."""
    rng, kept = np.random.default_rng(0), []
    for is_kind, most in ((y >= 0, most_labelled), (y < 0, most_unlabelled)):
        own = np.flatnonzero(is_kind)
        if len(own) > most:
            own = np.sort(rng.choice(own, most, replace=False))
        part = sp.csr_array(X[own])
        part.eliminate_zeros()
        part.sort_indices()
        ends = zip(part.indptr, part.indptr[1:], strict=False)
        cells = [(part.indices[a:b].tobytes(), part.data[a:b].tobytes()) for a, b in ends]
        first = dict(zip(reversed(cells), reversed(own.tolist()), strict=True))
        kept.append(np.sort(np.fromiter(first.values(), np.intp, len(first))))
    return np.concatenate(kept)


def score_as_labelled(X: RowMatrix, y: IntArray) -> FloatArray:
    """Return by how much rows look labelled to trees that haven't seen them."""
    X = checked_rows(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    place = (y >= 0).astype(np.intp)
    forest = VotingForest(X, place, _TREES, splits="best", drawn=len(place), min_samples_leaf=2)
    return np.nan_to_num(forest.predict_out_of_bag()[:, 1], nan=0.5)
