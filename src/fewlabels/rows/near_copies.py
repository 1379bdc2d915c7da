"""Rows that are nearly equal, in small groups far from all others, such as visits of a patient."""

import numpy as np

from .._typing import BoolArray, IntArray, RowMatrix
from ..kernels.operators import row_keys
from ..kernels.operators.equal_rows import DuplicateRows
from .repeats import Groups

# Rows of a group at most.
_MAX_GROUP_ROWS = 12
# How many times as far as its rows are from each other all other rows are from a group.
_MIN_GAP_RATIO = 4.0
# Groups that there have to be, ...
_MIN_GROUPS = 4
# ... and the share of the labelled rows that they have to hold.
_MIN_GROUPED_SHARE = 0.4
# Distances below this share of the median are rounding.
_ROUNDING = 1e-7


def near_copies(X: RowMatrix, known: BoolArray | None = None) -> Groups | None:
    """Find small groups of rows that are nearly equal.

    A group is a row with its nearest neighbours, if these have the same ones, and the next
    neighbour of each is several times as far. Independent rows are rarely like that, whatever they
    are drawn from.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Rows, in comparable units.
    known : ndarray of bool of shape (n,), default=None
        Mask of the rows with a label, many of which have to be nearly equal to others; None means
        all rows.

    Returns
    -------
    ndarray of int of shape (n,) or None
        A number for each row, the same for rows that are equal or nearly; None where few rows are
        nearly equal.
    """
    from sklearn.neighbors import NearestNeighbors  # slow to import

    copies = DuplicateRows.among(X, row_keys(X))
    n = len(copies.first)
    if n < 2 * _MIN_GROUPS or X.shape[1] < 2:
        return None
    nearest = NearestNeighbors(n_neighbors=min(_MAX_GROUP_ROWS, n - 1)).fit(X[copies.first])
    distance, place = nearest.kneighbors()
    distance = np.maximum(distance, _ROUNDING * np.median(distance))
    gap = distance[:, 1:] / distance[:, :-1]
    size = np.where(gap.max(axis=1) >= _MIN_GAP_RATIO, gap.argmax(axis=1) + 1, 0)
    first = _find_closed_groups(place, size)
    grouped = first >= 0
    counted = grouped[copies.of] if known is None else grouped[copies.of][known]
    if len(np.unique(first[grouped])) < _MIN_GROUPS or np.mean(counted) < _MIN_GROUPED_SHARE:
        return None
    return np.where(grouped, first, np.arange(n))[copies.of]


def _find_closed_groups(place: IntArray, size: IntArray) -> IntArray:
    """Return the first row of the group of each row, -1 where neighbours have others."""
    inside = np.arange(place.shape[1]) < size[:, None]
    rows = np.arange(len(place))
    first = np.minimum(rows, np.where(inside, place, len(place)).min(axis=1))
    same = (first[place] == first[:, None]) & (size[place] == size[:, None])
    return np.where((size > 0) & (same | ~inside).all(axis=1), first, -1)
