"""Rows moved towards the origin, so that products of large numbers don't cancel.

Distances, and the linear kernel's models, don't change when all rows move. Dense rows are moved
by their mean. Sparse rows keep their zeros: they only move in columns whose median is far from
zero, compared with the distances between rows. More than half of such a column's entries are
stored, so moved rows have at most twice as many entries.
"""

import numpy as np
import scipy.sparse as sp

from .._sparse import is_sparse

# Norm of the medians, in typical distances of a row from them, beyond which columns are moved.
# Up to here rounding costs two of sixteen digits.
_FAR = 10.0
# Rows that medians are estimated from.
_SAMPLE = 2000


def center_of(X):
    """Offset to subtract from all rows: their mean, or the medians of far columns of sparse rows.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_rows, n_columns)
        Rows.

    Returns
    -------
    ndarray of shape (n_columns,) or None
        In float64. For sparse rows it is zero except in far columns, and None if there are none.
    """
    if is_sparse(X):
        return _far_medians(X)
    return np.add.reduce(X, axis=0, dtype=np.float64) / len(X)


def centered(X, center):
    """Rows less a centre; sparse rows stay sparse.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_rows, n_columns)
        Rows.
    center : ndarray of shape (n_columns,) or None
        Offset to subtract from all rows. Zeros of a sparse row become entries where it isn't zero.

    Returns
    -------
    {ndarray, CSR array} of shape (n_rows, n_columns)
        ``X`` itself if there is no centre.
    """
    if center is None:
        return X
    if not is_sparse(X):
        return X - center
    columns = np.flatnonzero(center)
    n, width = X.shape[0], len(columns)
    less = sp.csr_array(
        (np.tile(-center[columns], n), np.tile(columns, n), width * np.arange(n + 1)), X.shape
    )
    return sp.csr_array(X) + less


def shift_of(kernel, X):
    """What is taken from rows under the linear kernel, which changes nothing but rounding."""
    return center_of(X) if kernel.is_linear else None


def _far_medians(X):
    X = _some_rows(X)
    n, d = X.shape
    if not (2 * np.bincount(X.indices, minlength=d) > n).any():
        return None
    columns = sp.csc_array(X, dtype=np.float64)
    columns.sum_duplicates()
    center = np.zeros(d)
    for k in np.flatnonzero(2 * np.diff(columns.indptr) > n):
        entries = columns.data[columns.indptr[k] : columns.indptr[k + 1]]
        center[k] = _median(entries, n - len(entries))
    largest = np.abs(center).max()
    if not largest > 0.0:
        return None
    with np.errstate(over="ignore"):
        squares, rows = np.square(center / largest), centered(sp.csr_array(columns), center)
        rows.data = np.square(rows.data / largest)
    limit = _FAR**2 * float(np.median(rows @ np.ones(d)))
    if not squares.sum() > limit:
        return None
    # The medians that stay are together within the limit.
    return np.where(squares * np.count_nonzero(center) > limit, center, 0.0)


def _some_rows(X):
    n = X.shape[0]
    if n > _SAMPLE:
        X = X[np.sort(np.random.default_rng(0).choice(n, _SAMPLE, replace=False))]
    return sp.csr_array(X)


def _median(entries, n_zeros):
    """The lower median of some numbers and so many zeros."""
    place = (len(entries) + n_zeros - 1) // 2
    return np.partition(np.append(entries, np.zeros(n_zeros)), place)[place]
