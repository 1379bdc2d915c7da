"""What kind of columns rows have: numbers of one unit, or features in units of their own."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import FloatArray, RowMatrix

# How far equal lengths, or equal ends of ranges, may lie apart, relatively.
_EQUAL_TOLERANCE = 1e-4
# Rows of one length: a column may be what makes lengths vary if its square varies less than so
# many times the sum of all squares.
_MAX_VARIANCE_RATIO = 2.0
# Such columns are, if they explain this share of the variation.
_MIN_EXPLAINED_SHARE = 0.5
# Lengths whose fourth powers are numbers.
_MIN_LENGTH = 1e-70
_MAX_LENGTH = 1e70
# Columns of one range reach one end of it exactly, and end so close to the other one, relatively.
_MAX_END_DISTANCE = 0.1
# Share of the columns that has to: all of a few, while many may be an image whose border is dark.
_MAX_FEW_COLUMNS = 8
_MAX_SOME_COLUMNS = 32
_MIN_SHARE_OF_SOME = 0.75
_MIN_SHARE_OF_MANY = 0.6
# Share of the columns that have to reach one end, and their share of the variance.
_MIN_SHARE_AT_AN_END = 0.95
_MIN_VARIANCE_SHARE = 0.95
# Columns of a table of features: fewer are positions, more are images, texts or embeddings.
_MIN_TABLE_COLUMNS = 4
_MAX_TABLE_COLUMNS = 128
# Rows that are searched for values other than 0 and 1.
_MAX_SEARCHED_ROWS = 1000


def common_unit(X: RowMatrix) -> str | None:
    """Return why columns are better left unscaled; None if nothing speaks against scaling.

    Numbers of one unit differ in scale because they differ in meaning: what varies little matters
    little, and scaled it would drown the rest. Two things show that columns share a unit, both of
    which only several columns together can show:

    - All rows have one length, although the columns vary: texts by the weight of their words, one
      0/1 column of each category.
    - Columns reach the same largest value, and about the same smallest one: pixels, answers on
      one scale.

    Constant columns show nothing, nor does one column that varies. Missing values (NaN) are
    passed over.
    """
    if min(X.shape) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # such rows share no unit
        columns = _ColumnStatistics(X)
        if columns.n_varying < 2:
            return None
        return _explain_equal_lengths(columns) or _explain_shared_range(columns)


class _ColumnStatistics:
    """Ends and variance of every column, and which columns vary."""

    def __init__(self, X: Any) -> None:
        self.is_sparse = sp.issparse(X)
        if self.is_sparse:
            self.X = X = X.astype(float, copy=False)
            low, high = (getattr(X, end)(axis=0).toarray().ravel() for end in ("min", "max"))
            mean = np.asarray(X.mean(axis=0)).ravel()
            mean_square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        else:
            # A sum finds missing values without a copy of the rows.
            has_gaps = X.dtype.kind == "f" and np.isnan(X.sum(dtype=float)) and np.isnan(X).any()
            self.X = X[~np.isnan(X).any(axis=1)] if has_gaps else X
            if has_gaps:
                filled = ~np.isnan(X).all(axis=0)
                self.X, X = self.X[:, filled], X[:, filled]
            low, high = (np.fmin, np.fmax) if has_gaps else (np.minimum, np.maximum)
            low, high = low.reduce(X, axis=0), high.reduce(X, axis=0)
            centred = X - np.nanmean(X, axis=0) if has_gaps else None
            mean = X.mean(axis=0, dtype=float) if centred is None else np.zeros(X.shape[1])
            mean_square = (
                np.einsum("ij,ij->j", X, X, dtype=float) / X.shape[0]
                if centred is None
                else np.nanmean(centred * centred, axis=0)
            )
        low, high = np.asarray(low, float), np.asarray(high, float)
        self.varies = varies = high > low
        self.low, self.high = low[varies], high[varies]
        self.variance = np.maximum(mean_square - mean**2, 0.0)[varies]

    @property
    def n_varying(self) -> int:
        return len(self.low)

    def has_independent_lengths(self) -> bool:
        """Return whether independent columns explain how little the lengths of rows vary."""
        squares = self.X.multiply(self.X).tocsr() if self.is_sparse else None
        row_lengths = self.squared_lengths()
        used = row_lengths > 0.0
        if squares is None:
            X = self.X
            fourth = np.einsum("ij,ij,ij,ij->j", X, X, X, X, dtype=float)
            second = np.einsum("ij,ij->j", X, X, dtype=float)
        else:
            fourth, second = (
                np.asarray(of.sum(axis=0)).ravel() for of in (squares.multiply(squares), squares)
            )
        mean = second / used.sum()
        variance = fourth / used.sum() - mean**2
        varies = self.varies & (mean > 0.0)
        if (variance[varies] <= 1e-12 * mean[varies] ** 2).any():
            return True  # a column that only changes its sign
        total = row_lengths[used].var()
        small = np.where(varies & (variance <= _MAX_VARIANCE_RATIO * total), 1.0, 0.0)
        part = (
            np.einsum("ij,ij,j->i", self.X, self.X, small) if squares is None else squares @ small
        )
        part, around = part[used], row_lengths[used] - row_lengths[used].mean()
        # If they vary more together, others make up for them as well.
        is_alone = part.var() <= _MAX_VARIANCE_RATIO * total
        return bool(
            small.any() and is_alone and (part * around).mean() >= _MIN_EXPLAINED_SHARE * total
        )

    def squared_lengths(self) -> FloatArray:
        """Return the squared lengths of the rows without missing values."""
        if self.is_sparse:
            return np.asarray(self.X.multiply(self.X).sum(axis=1), float).ravel()
        return np.einsum("ij,ij->i", self.X, self.X, dtype=float)


def _explain_equal_lengths(columns: _ColumnStatistics) -> str | None:
    """Return the reason that rows of one length give.

    Squares of the columns that vary have to cancel. Otherwise lengths are equal for another
    reason: an offset that is large beside everything else, or columns that only change their sign.
    """
    lengths = np.sqrt(columns.squared_lengths())
    lengths = lengths[lengths > 0.0]
    if len(lengths) < 2 or not _MIN_LENGTH < lengths.max() < _MAX_LENGTH:
        return None
    if np.ptp(lengths) > _EQUAL_TOLERANCE * lengths.max():
        return None
    return None if columns.has_independent_lengths() else "rows are all of one length"


def _explain_shared_range(columns: _ColumnStatistics) -> str | None:
    """Return the reason that columns with the same smallest and largest value give.

    One end alone says little: cut off at one value may be columns of any units, and amounts of
    anything begin at 0.
    """
    n, low, high = columns.n_varying, columns.low, columns.high
    is_flipped = -low.min() > high.max()
    if is_flipped:
        low, high = -high, -low
    top = high.max()
    is_high = high >= top - _EQUAL_TOLERANCE * (top - low.min())
    bottom = low[is_high].min()
    if bottom > 0.0:  # 0 is the end of a scale that few rows may reach, as in a dark border
        bottom = np.clip(low.min(), 0.0, bottom)
    width = top - bottom
    if low.min() < bottom - _EQUAL_TOLERANCE * width:
        return None  # values outside of the range are of another unit
    is_low = low <= bottom + _EQUAL_TOLERANCE * width
    is_alike = is_high & (low <= bottom + _MAX_END_DISTANCE * width)
    share = (
        1.0
        if n < _MAX_FEW_COLUMNS
        else _MIN_SHARE_OF_SOME
        if n < _MAX_SOME_COLUMNS
        else _MIN_SHARE_OF_MANY
    )
    ends = is_high | is_low
    if is_alike.sum() < share * n or ends.sum() < _MIN_SHARE_AT_AN_END * n:
        return None
    if not columns.variance[ends].sum() >= _MIN_VARIANCE_SHARE * columns.variance.sum():
        return None
    names = ("smallest", "largest") if is_flipped else ("largest", "smallest")
    first, other = (-top, -bottom) if is_flipped else (top, bottom)
    return (
        f"columns reach the same {names[0]} value, {first:.5g}, and about the same {names[1]} "
        f"value, {other:.5g}"
    )


def explain_feature_table(X: RowMatrix) -> str | None:
    """Return why columns are features in units of their own, as in most tables, or None.

    Images, texts, spectra and embeddings have more columns, or columns in one unit. Columns of 0
    and 1 are features: categories, or yes and no.
    """
    if not _MIN_TABLE_COLUMNS <= X.shape[1] <= _MAX_TABLE_COLUMNS:
        return None
    some = X[:_MAX_SEARCHED_ROWS]
    values = some.data if sp.issparse(some) else some
    if np.isin(values, (0.0, 1.0)).all():
        return "All features are 0 or 1"
    return "The features have different units" if common_unit(X) is None else None


def is_feature_table(X: RowMatrix) -> bool:
    """Return whether columns are features in own units, see :func:`explain_feature_table`."""
    return explain_feature_table(X) is not None
