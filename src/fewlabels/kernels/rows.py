"""Computations on rows, dense and sparse alike: one form, sums, centres, equal rows.

Distances, and the linear kernel's models, don't change when all rows move, and products of small
numbers cancel less. Dense rows are moved by their mean. Sparse rows keep their zeros: they only
move in columns whose median is far from zero, compared with the distances between rows. More than
half of such a column's entries are stored, so moved rows have at most twice as many entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._core import functions as core
from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from .._util.threads import run_ranges
from ..data.checks import single_sentences

if TYPE_CHECKING:
    from .base import Kernel

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
    with single_sentences(X, "X"):
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
    with single_sentences(X, "X"):
        found = validate_data(estimator, canonical(X), y, **options)
    if isinstance(found, tuple):
        return canonical(found[0]), *found[1:]
    return canonical(found)


# Norm of the medians, in typical distances of a row from them, beyond which columns are moved.
# Up to here rounding costs two of sixteen digits.
_FAR_MEDIAN_DISTANCES = 10.0
# Rows that medians are estimated from.
_MEDIAN_SAMPLE_ROWS = 2000
# Rounding of a squared distance that expanding the square may cause, in units of the exponent of a
# kernel value. Beyond it distances come from differences.
_MAX_EXPONENT_ROUNDING = 1e-11
# Relative rounding of a term in float64.
_LAST_PLACE = 4.5e-16
# Rounding grows with the number of terms, measured over random rows, up to this number.
_MAX_TERMS = 1000
# At such exponents all kernel values have ended.
_MAX_EXPONENT = 1100.0
# Multiply-adds below which a second thread costs more than it saves.
_MIN_WORK_FOR_THREADS = 1_000_000
# Rows that a thread takes at a time.
_ROWS_AT_A_TIME = 256


def is_sparse(X: object) -> TypeGuard[sp.csr_array]:
    """Return whether X is a sparse array or matrix of SciPy.

    SciPy's own test takes longer for an array.
    """
    return type(X) is not np.ndarray and sp.issparse(X)


def row_products(X: RowMatrix, weights: FloatArray) -> FloatArray:
    """Return ``X @ weights``, where the value of a row does not depend on the other rows.

    BLAS sums in another order for another number of rows. Weights may be of shape (k, d).
    """
    if is_sparse(X):
        return X @ weights.T
    by = "ij,j->i" if weights.ndim == 1 else "ij,kj->ik"
    return np.einsum(by, np.ascontiguousarray(X, dtype=np.float64), weights)


def squared_norms(X: RowMatrix) -> FloatArray:
    """Return the squared norm of every row, summed in float64."""
    if is_sparse(X):
        X = canonical(X)
        squares = sp.csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
        return squares @ np.ones(squares.shape[1])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def compute_rounding_growth(row_length: int) -> float:
    """Return how the rounding of an inner product grows with its terms, for random rows."""
    return 1.3 + 0.4 * math.sqrt(row_length)


@cache
def compute_far_exponent(n_columns: int) -> float:
    """Return the exponent of a row from which on expanded distances lose digits.

    A row's exponent is what it has in the kernel's value with the centre. Between two such rows
    distances have to come from differences. Other pairs keep their digits: if one of the two is
    more than twice as far, their value has ended, else both are about as near as this.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    Returns
    -------
    float
    """
    rounding = _LAST_PLACE * compute_rounding_growth(min(n_columns, _MAX_TERMS))
    return max(_MAX_EXPONENT, _MAX_EXPONENT_ROUNDING / rounding)


def bound_rounding_of_differences(n_columns: int) -> float:
    """Return the rounding of kernel values where distances of far rows come from differences.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    Returns
    -------
    float
    """
    # Of two rows that are both near, or the farther one at twice the distance.
    return _LAST_PLACE * (
        2.0
        + 4.0
        * compute_far_exponent(n_columns)
        * compute_rounding_growth(min(n_columns, _MAX_TERMS))
    )


def direct_distances(X: RowMatrix, Z: RowMatrix, n_jobs: int = 1) -> FloatArray:
    """Return squared distances from differences, in which nothing cancels.

    Parameters
    ----------
    X, Z : {ndarray, sparse} of shape (n, d)
        Rows, both dense or both canonical CSR.
    n_jobs : int, default=1
        Threads.

    Returns
    -------
    ndarray of shape (len(Z), len(X))
    """
    if is_sparse(X):
        length = X.nnz // max(1, X.shape[0])
        X, Z = (sp.csr_array(rows, dtype=np.float64) for rows in (X, Z))
    else:
        length = X.shape[1]
        X, Z = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (X, Z))
    n, out = X.shape[0], np.empty((Z.shape[0], X.shape[0]))

    def measure_blocks(start: int, stop: int) -> None:
        ends = start * _ROWS_AT_A_TIME, min(n, stop * _ROWS_AT_A_TIME)
        core.squared_distances(X, Z, out, *ends)

    n_jobs = n_jobs if out.size * (length + 4) > _MIN_WORK_FOR_THREADS else 1
    run_ranges(measure_blocks, -(-n // _ROWS_AT_A_TIME), n_jobs)
    return out


def squared_distances(X: RowMatrix, Z: RowMatrix, factor: float) -> FloatArray:
    """Return squared distances with the digits that a kernel of distances needs.

    Parameters
    ----------
    X, Z : {ndarray, sparse} of shape (n, d)
        Rows.
    factor : float
        What rows are multiplied by before half the squared distance is the kernel's exponent.

    Returns
    -------
    ndarray of shape (len(X), len(Z))
    """
    X, Z = (canonical(rows).astype(np.float64, copy=False) for rows in (X, Z))
    if is_sparse(X) != is_sparse(Z):
        X, Z = (rows.toarray() if is_sparse(rows) else rows for rows in (X, Z))
    center = center_of(Z)
    rows, others = centered(X, center), centered(Z, center)
    found = euclidean_distances(rows, others, squared=True)
    limit = compute_far_exponent(X.shape[1])
    far, far_others = (
        np.flatnonzero(0.5 * factor**2 * squared_norms(some) > limit) for some in (rows, others)
    )
    if len(far) and len(far_others):
        found[np.ix_(far, far_others)] = direct_distances(Z[far_others], X[far])
    return found


def center_of(X: RowMatrix) -> FloatArray | None:
    """Return the offset of all rows: their mean, or the medians of far columns of sparse rows.

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
        return _find_far_medians(X)
    return np.add.reduce(X, axis=0, dtype=np.float64) / len(X)


def centered(X: RowMatrix, center: FloatArray | None) -> RowMatrix:
    """Return rows less a centre; sparse rows stay sparse.

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


def find_shift(kernel: Kernel, X: RowMatrix) -> FloatArray | None:
    """Return what is subtracted from rows under the linear kernel, against rounding."""
    return center_of(X) if kernel.is_linear else None


def _find_far_medians(X: sp.csr_array) -> FloatArray | None:
    X = _sample_rows(X)
    n, d = X.shape
    if not (2 * np.bincount(X.indices, minlength=d) > n).any():
        return None
    columns = sp.csc_array(X, dtype=np.float64)
    columns.sum_duplicates()
    center = np.zeros(d)
    for k in np.flatnonzero(2 * np.diff(columns.indptr) > n):
        entries = columns.data[columns.indptr[k] : columns.indptr[k + 1]]
        center[k] = _find_median(entries, n - len(entries))
    largest = np.abs(center).max()
    if not largest > 0.0:
        return None
    with np.errstate(over="ignore"):
        squares = np.square(center / largest)
        rows: sp.csr_array = centered(sp.csr_array(columns), center)
        rows.data = np.square(rows.data / largest)
    limit = _FAR_MEDIAN_DISTANCES**2 * float(np.median(rows @ np.ones(d)))
    if not squares.sum() > limit:
        return None
    # The medians that stay are together within the limit.
    return np.where(squares * np.count_nonzero(center) > limit, center, 0.0)


def _sample_rows(X: sp.csr_array) -> sp.csr_array:
    n = X.shape[0]
    if n > _MEDIAN_SAMPLE_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(n, _MEDIAN_SAMPLE_ROWS, replace=False))]
    return sp.csr_array(canonical(X))


def _find_median(entries: FloatArray, n_zeros: int) -> float:
    """Return the lower median of some numbers and so many zeros."""
    place = (len(entries) + n_zeros - 1) // 2
    return np.partition(np.append(entries, np.zeros(n_zeros)), place)[place]


# -- equal rows ----------------------------------------------------------------------------------

# So many rows are looked at first: where these all differ, few of the others are equal.
_KEY_SAMPLE_ROWS = 4096
# The distinct rows' share from which copies of many rows are not worth a matrix of their own.
_MAX_DISTINCT_SHARE = 0.9
# Columns of a matrix of kernel values that keys are made of.
_MATRIX_KEY_COLUMNS = 16
# Numbers that are compared at a time.
_COMPARED_AT_A_TIME = 4_000_000


@dataclass(frozen=True, eq=False)
class DuplicateRows:
    """Row i is the ``of[i]``-th distinct row, which first occurs at ``first[of[i]]``."""

    of: IntArray
    first: IntArray

    @classmethod
    def by_first(cls, first_equal: IntArray) -> DuplicateRows:
        """Return the copies, from the index of the first row that equals each row."""
        is_first = first_equal == np.arange(len(first_equal))
        number = np.cumsum(is_first) - 1
        return cls(number[first_equal], np.flatnonzero(is_first))

    @classmethod
    def among(cls, X: RowMatrix, keys: FloatArray) -> DuplicateRows:
        """Return the copies among rows ``X`` with their ``row_keys``."""
        if len(keys) < 2:
            return cls(np.arange(len(keys)), np.arange(len(keys)))
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        first_equal = first[group]
        doubtful = np.flatnonzero(first_equal != np.arange(len(keys)))
        unlike = ~_are_equal(X, doubtful, first_equal[doubtful])
        first_equal[doubtful[unlike]] = doubtful[unlike]
        return cls.by_first(first_equal)

    def take(self, rows: IntArray) -> DuplicateRows:
        """Return the copies among some of the rows; ``first`` are places among these."""
        of = self.of[rows]
        place = np.empty(len(self.first), np.intp)
        place[of[::-1]] = np.arange(len(of))[::-1]
        return DuplicateRows.by_first(place[of])


def row_keys(X: RowMatrix) -> FloatArray:
    """Return a number for each row of ``X``: the same for equal rows, hardly ever for others."""
    return row_products(canonical(X), _random_projection(X.shape[1]))


@cache
def _random_projection(d: int) -> FloatArray:
    return np.random.default_rng(0).normal(size=d)


def equal_rows(X: RowMatrix, *, is_matrix: bool = False) -> DuplicateRows | None:
    """Return the copies among rows ``X``; None where all, or nearly all of many, differ.

    If it ``is_matrix`` of kernel values, which are dense, a few columns tell rows apart first.
    """
    n = X.shape[0]
    if is_matrix and sp.issparse(X):
        return None
    compared = X[:, :: max(1, n // _MATRIX_KEY_COLUMNS)] if is_matrix else X
    if n > _KEY_SAMPLE_ROWS:
        sample = np.unique(np.random.default_rng(0).integers(0, n, _KEY_SAMPLE_ROWS))
        if _all_differ(row_keys(compared[sample])):
            return None
    keys = row_keys(compared)
    if _all_differ(keys):
        return None
    copies = DuplicateRows.among(X, keys)
    few = (
        len(copies.first) > _MAX_DISTINCT_SHARE * n
        if n > _KEY_SAMPLE_ROWS
        else len(copies.first) == n
    )
    return None if few else copies


def distinct(X: RowMatrix) -> RowMatrix:
    """Return rows ``X`` without copies; all of them where nearly all of many differ."""
    copies = equal_rows(X)
    return X if copies is None else X[copies.first]


def _all_differ(keys: FloatArray) -> bool:
    keys = np.sort(keys)
    return not (keys[1:] == keys[:-1]).any()


def _are_equal(X: RowMatrix, rows: IntArray, others: IntArray) -> BoolArray:
    """Return whether pairs of rows are equal in every column."""
    step = max(1, _COMPARED_AT_A_TIME // max(1, X.shape[1]))
    parts = [np.zeros(0, bool)]
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        if sp.issparse(X):
            unlike = sp.csr_array(X[rows[part]] != X[others[part]]).sum(axis=1) > 0
            parts.append(~np.asarray(unlike).ravel())
        else:
            parts.append((X[rows[part]] == X[others[part]]).all(axis=1))
    return np.concatenate(parts)
