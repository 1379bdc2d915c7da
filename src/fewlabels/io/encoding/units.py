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
    X = X.astype(float)
    squares = X.multiply(X) if sp.issparse(X) else X * X
    lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    mean_square = np.asarray(squares.mean(axis=0)).ravel()
    variance = mean_square - np.asarray(X.mean(axis=0)).ravel() ** 2
    used = lengths > 0.0
    if not used.any():
        return None
    is_spread = variance.sum() > _SPREAD * mean_square.sum()
    if is_spread and np.ptp(lengths[used]) <= _EQUAL * lengths.max():
        return "rows are all of one length"
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sp.issparse(largest) else largest
    reach = largest >= (1.0 - _EQUAL) * largest.max()
    if 2 * reach.sum() >= (variance > 0.0).sum() and (
        variance[reach].sum() >= _REACHED * variance.sum()
    ):
        return f"columns reach the same largest value, {largest.max():.5g}"
    return None
