"""Sparse rows as everything here reads them: every entry once, in order, and no stored zeros.

SciPy lets a sparse matrix hold several entries for one place, which add up, entries in any order,
and zeros. Its flags, such as ``has_canonical_format``, are remembered and may be out of date.
Rows that users pass therefore go through this module once, where they are checked.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

# Kinds of numbers that entries can add up in; scikit-learn refuses the others.
_NUMBER_KINDS = "biufc"


def canonical(X: Any) -> Any:
    """Return sparse rows as CSR with one entry per place, sorted, and none that is zero.

    Parameters
    ----------
    X : object
        Rows. What isn't a sparse matrix of numbers in two dimensions is returned as it is.

    Returns
    -------
    object
        CSR rows, a matrix or an array as ``X`` is. They share the numbers of ``X`` if these are in
        order already. Neither ``X`` nor what it remembers of itself changes.

    Raises
    ------
    ValueError
        If the sparse rows contradict themselves, such as a column number that is too large.
    """
    if type(X) is np.ndarray or not sp.issparse(X) or X.ndim != 2:
        return X
    if X.dtype.kind not in _NUMBER_KINDS:
        return X
    try:
        rows = _view_csr(X)
    except ValueError as error:
        raise ValueError(
            f"the sparse X is invalid ({error}); rebuild it from rows, columns and values."
        ) from error
    if rows.has_canonical_format and np.count_nonzero(rows.data) == rows.nnz:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _view_csr(X: Any) -> Any:
    """Return CSR rows over the numbers of X that remember nothing, after a check."""
    kind = "matrix" if sp.isspmatrix(X) else "array"
    if X.format in ("csr", "csc", "bsr"):
        # Checked in an object of our own: SciPy's check may cut the arrays of the one it is given.
        X = getattr(sp, f"{X.format}_{kind}")((X.data, X.indices, X.indptr), shape=X.shape)
        X.check_format(full_check=True)
    elif X.format == "coo":
        X = sp.coo_array((X.data, X.coords), shape=X.shape)  # which checks them
    rows = X if X.format == "csr" else X.tocsr()
    parts = rows.data, rows.indices, rows.indptr
    return getattr(sp, f"csr_{kind}")(parts, shape=X.shape)


def checked_rows(X: Any, **options: Any) -> Any:
    """Return scikit-learn's ``check_array`` of ``X``, canonical where it is sparse.

    Parameters
    ----------
    X : object
        Rows.
    **options
        Options of ``check_array``.

    Returns
    -------
    {ndarray, sparse} of shape (n_samples, n_features)
    """
    return canonical(check_array(canonical(X), **options))


def validated_rows(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return scikit-learn's ``validate_data`` of ``X``, canonical where it is sparse.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator whose columns are checked or set.
    X : object
        Rows.
    y : object, default="no_validation"
        Labels, if they are to be checked as well.
    **options
        Options of ``validate_data``.

    Returns
    -------
    {ndarray, sparse} of shape (n_samples, n_features), or a tuple of it and the labels
    """
    found = validate_data(estimator, canonical(X), y, **options)
    if isinstance(found, tuple):
        return canonical(found[0]), *found[1:]
    return canonical(found)
