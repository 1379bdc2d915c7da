"""What kind of columns rows have: numbers of one unit, or features in units of their own."""

import numpy as np
import scipy.sparse as sp

# How far lengths or largest values that are equal may lie apart, relatively; of what share of the
# variance columns have to reach the largest value; and the variance of rows of one length, by
# their mean square, below which they differ from their mean in digits only.
_EQUAL, _REACHED, _SPREAD = 1e-4, 0.95, 0.01
# Columns of a table of features: with fewer rows are positions, with more they are images, texts,
# spectra or embeddings. Whether columns are 0/1 is looked up in so many rows.
_FEWEST_FEATURES, _MOST_FEATURES, _LOOKED_AT = 4, 128, 1000


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


def is_feature_table(X):
    """Whether columns are features in units of their own, as in most tables.

    Images, texts, spectra and embeddings have more columns, or columns in one unit. Columns of 0
    and 1 are features: categories, or yes and no.
    """
    if not _FEWEST_FEATURES <= X.shape[1] <= _MOST_FEATURES:
        return False
    some = X[:_LOOKED_AT]
    values = some.data if sp.issparse(some) else some
    return bool(np.isin(values, (0.0, 1.0)).all()) or common_unit(X) is None
