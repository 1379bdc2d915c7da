"""Sums over rows, and rows moved towards the origin, for dense and sparse rows alike.

Distances, and the linear kernel's models, don't change when all rows move, and products of small
numbers cancel less. Dense rows are moved by their mean. Sparse rows keep their zeros: they only
move in columns whose median is far from zero, compared with the distances between rows. More than
half of such a column's entries are stored, so moved rows have at most twice as many entries.
"""

import numpy as np
import scipy.sparse as sp

from .sparse import canonical

# Norm of the medians, in typical distances of a row from them, beyond which columns are moved.
# Up to here rounding costs two of sixteen digits.
_FAR = 10.0
# Rows that medians are estimated from.
_SAMPLE = 2000


def is_sparse(X):
    """Whether X is a sparse array or matrix of SciPy.

    SciPy's own test takes longer to say no to an array, and a fit asks a dozen times.
    """
    return type(X) is not np.ndarray and sp.issparse(X)


def row_products(X, weights):
    """``X @ weights``, where the value of a row does not depend on the other rows.

    BLAS sums in another order for another number of rows. Weights may be of shape (k, d).
    """
    if is_sparse(X):
        return X @ weights.T
    by = "ij,j->i" if weights.ndim == 1 else "ij,kj->ik"
    return np.einsum(by, np.ascontiguousarray(X, dtype=np.float64), weights)


def squared_norms(X):
    """Squared norm of every row, summed in float64."""
    if is_sparse(X):
        X = canonical(X)
        squares = sp.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
        return squares @ np.ones(squares.shape[1])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


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
    return sp.csr_array(canonical(X))


def _median(entries, n_zeros):
    """The lower median of some numbers and so many zeros."""
    place = (len(entries) + n_zeros - 1) // 2
    return np.partition(np.append(entries, np.zeros(n_zeros)), place)[place]
