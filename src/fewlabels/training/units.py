"""Whether columns of numbers have a unit in common, so that each is not to be scaled by itself."""

import numpy as np
import scipy.sparse as sp

# How far lengths or largest values that are equal may lie apart, relatively; of what share of the
# variance columns have to reach the largest value; and the variance of rows of one length, by
# their mean square, below which they differ from their mean in digits only.
_EQUAL, _REACHED, _SPREAD = 1e-4, 0.95, 0.01


def common_unit(X):
    """Why columns are better left as they are; None if nothing speaks against scaling them.

    Rows that are all of one length were made so (texts by the weight of their words, one 0/1
    column of each category), and so were columns most of which reach one largest value (pixels,
    answers on one scale): what varies little there means little, and scaled it would drown the
    rest.
    """
    if min(X.shape) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # such rows are no one's unit
        return _common_unit(X)


def _common_unit(X):
    if sp.issparse(X):
        X = X.astype(float, copy=False)
        squares, largest = X.multiply(X), abs(X).max(axis=0).toarray().ravel()
        of_rows, of_columns = (np.asarray(squares.sum(axis=k), float).ravel() for k in (1, 0))
    else:  # without a copy
        of_rows, of_columns = (np.einsum(f"ij,ij->{k}", X, X, dtype=float) for k in "ij")
        largest = np.maximum(X.max(axis=0), -X.min(axis=0).astype(float))
    lengths, mean_square = np.sqrt(of_rows), of_columns / X.shape[0]
    variance = mean_square - np.asarray(X.mean(axis=0, dtype=float)).ravel() ** 2
    used = lengths > 0.0
    if not used.any():
        return None
    is_spread = variance.sum() > _SPREAD * mean_square.sum()
    if is_spread and np.ptp(lengths[used]) <= _EQUAL * lengths.max():
        return "rows are all of one length"
    reach = largest >= (1.0 - _EQUAL) * largest.max()
    if 2 * reach.sum() >= (variance > 0.0).sum() and (
        variance[reach].sum() >= _REACHED * variance.sum()
    ):
        return f"columns reach the same largest value, {largest.max():.5g}"
    return None
