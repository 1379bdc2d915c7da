"""Whether the labelled rows are unlike the unlabelled ones, so that nothing measured carries over.

Labelled rows may all be of one batch or month. What is measured on them then holds for rows like
them. A forest, and each column alone, separate labelled from unlabelled rows. Classes are compared
with the unlabelled rows one by one and weighted by their shares among these, since labels may have
another class ratio. Beside one class of positives a difference is to be expected, so only columns
count in which no hidden positives explain it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import binom, ks_2samp

from ..._typing import FloatArray, IntArray, RowMatrix
from ..._util.deadline import Deadline
from ...class_prior.labelled_rows import distinct_rows, looks_labelled
from ..fit import InputRows

# ROC AUC from which labelled rows are unlike the rest, standard errors of it above 0.5 that it
# takes as well (the best of many columns is compared), and labelled rows.
_UNLIKE, _ERRORS, _FEWEST = 0.8, 5.5, 10
# Of the weighted ROC AUC over the draws of the class shares this quantile counts.
_QUANTILE = 0.05
# Rows of either kind, numbers in these rows, and the seconds that they take: at least, for
# each row and column of a node, and those that there always are.
_MOST_LABELLED, _MOST_UNLABELLED, _MOST_NUMBERS = 500, 1000, 2**24
_SECONDS, _SECONDS_PER_NUMBER, _ALWAYS = 0.05, 1.5e-5, 0.4
# Ranges of a column's values that are counted, and columns that are looked at alone.
_BINS, _MOST_COLUMNS = 20, 200
# A column does it alone from a ROC AUC that is smaller than the forest's by so much.
_ALONE = 0.05
# Positives: labelled rows that lie in a block, unlabelled rows outside of it, level of the tests,
# the share of a class that is believed to be labelled, and unlabelled rows for each labelled one
# that may stray among these.
_IN_BLOCK, _OUTSIDE, _LEVEL, _LABELLED, _STRAY = 0.975, 0.25, 1e-6, 0.5, 0.02
# Inside the block of an index the labelled rows are spread as the unlabelled ones.
_SPREAD = 0.05
# An index has a value of its own for so many rows, and values of so many times its rows.
_DIFFERENT, _RANGE = 0.9, 3.0
_NO_TIME = "no comparison of the labelled rows with the others"


class Unlike(NamedTuple):
    """Difference between labelled and unlabelled rows.

    Attributes
    ----------
    area : float
        ROC AUC of labelled against unlabelled rows: a low quantile over the class shares.
    column : str
        The column that separates them best; "" for none.
    is_alone : bool
        Whether it does so alone.
    is_unlike : bool
        Whether the labelled rows are unlike the rest.
    """

    area: float
    column: str
    is_alone: bool
    is_unlike: bool


def unlike_rest(
    rows: InputRows, X: RowMatrix, y: IntArray, draws: FloatArray, deadline: Deadline
) -> Unlike | None:
    """Compare the labelled rows of classes with the unlabelled ones (y = -1).

    Parameters
    ----------
    rows : DataFrame or matrix
        Rows of the table, whose columns have names.
    X : {ndarray, CSR array} of shape (n_samples, n_features)
        The same, encoded.
    y : ndarray of int of shape (n_samples,)
        Classes, -1 for none.
    draws : ndarray of shape (n_draws, n_classes)
        Draws of the classes' shares among the unlabelled rows; with none all are possible.
    deadline : Deadline
        When there is no time left; says what was given up.

    Returns
    -------
    Unlike or None
        None with few labelled or unlabelled rows, or without time.
    """
    kept = distinct_rows(X, y, _MOST_LABELLED, _MOST_UNLABELLED)
    y_kept = y[kept]
    n_labelled = int(np.sum(y_kept >= 0))
    if n_labelled < _FEWEST or len(kept) < 2 * n_labelled:
        return None
    seconds = _SECONDS + _SECONDS_PER_NUMBER * len(kept) * float(np.sqrt(X.shape[1]))
    if deadline.left() < seconds > _ALWAYS or len(kept) * X.shape[1] > _MOST_NUMBERS:
        deadline.cut.append(_NO_TIME)
        return None
    of_forest = _weighted(looks_labelled(X[kept], y_kept), y_kept, draws)
    best, column = 0.0, ""
    for name, values in _columns(rows, kept):
        area = _weighted(_column_scores(values, y_kept), y_kept, draws)
        if area > best:
            best, column = area, name
    area = max(of_forest, best)
    is_unlike = area >= max(_UNLIKE, 0.5 + _ERRORS * _standard_error(y_kept, draws))
    return Unlike(area, column, best >= area - _ALONE, is_unlike)


def unlike_positives(rows: InputRows, y: IntArray, dates: Collection[str] = ()) -> Unlike | None:
    """Columns in which labelled positives (y = 1) differ as no hidden positives explain.

    Either nearly all labelled values lie where hardly any others do, so that the class would be
    labelled nearly completely. Or the column is an index (dates, or numbers that count) and the
    labelled rows are one block of it, inside which they are spread as the others: labelling ended
    somewhere. ``dates`` names columns of dates. None for no such column.
    """
    rng = np.random.default_rng(0)
    labelled, free = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    if len(labelled) < _FEWEST or len(free) < len(labelled):
        return None
    free = free if len(free) <= 5 * _MOST_UNLABELLED else rng.choice(
        free, 5 * _MOST_UNLABELLED, replace=False
    )  # fmt: skip
    for name, values in _columns(rows, np.r_[labelled, free], texts=False):
        is_known = np.arange(len(values)) < len(labelled)
        own, others = (part[np.isfinite(part)] for part in (values[is_known], values[~is_known]))
        if len(own) < _IN_BLOCK * len(labelled) or len(others) < len(own):
            continue
        low, high = np.quantile(own, [0.5 - _IN_BLOCK / 2.0, 0.5 + _IN_BLOCK / 2.0])
        inside = (others >= low) & (others <= high)
        n_inside = int(inside.sum())
        believed = float(binom.sf(len(own) - 1, len(own) + n_inside, _LABELLED))
        is_block = n_inside <= _STRAY * len(own) and believed < _LEVEL
        outside = 1.0 - n_inside / len(others)
        if not is_block and outside >= _OUTSIDE and (name in dates or _is_index(values)):
            by_chance = (1.0 - outside) ** int(_IN_BLOCK * len(own)) < _LEVEL
            within = own[(own >= low) & (own <= high)]
            is_block = by_chance and ks_2samp(within, others[inside]).pvalue > _SPREAD
        if is_block:
            return Unlike(0.5 + outside / 2.0, name, True, True)
    return None


# -- rows ----------------------------------------------------------------------------------------


def _column_scores(values: FloatArray, y: IntArray) -> FloatArray:
    """Return how much more often labelled rows have a value; each without itself."""
    free = values[(y < 0) & np.isfinite(values)]
    ends = np.unique(np.quantile(free, np.arange(1, _BINS) / _BINS)) if len(free) else np.empty(0)
    if len(np.unique(free)) <= _BINS:
        ends = np.unique(free)[:-1]
    bins = np.where(np.isfinite(values), np.searchsorted(ends, values), len(ends) + 1)
    # Values beyond all unlabelled ones have ranges of their own.
    if len(free):
        bins[values > free.max()], bins[values < free.min()] = len(ends) + 2, len(ends) + 3
    known = y >= 0
    n_bins = len(ends) + 4
    own = np.bincount(bins[known], minlength=n_bins).astype(float)
    others = np.bincount(bins[~known], minlength=n_bins).astype(float)
    width = 1.0 / n_bins
    # Of unlabelled rows as large a part is left out, so that rows of one range are equal.
    rest = np.where(known, own[bins] - 1.0, own[bins] * (1.0 - 1.0 / max(1.0, own.sum())))
    among = rest + width
    return np.asarray(np.log(among) - np.log(others[bins] + width))


def _weighted(scores: FloatArray, y: IntArray, draws: FloatArray) -> float:
    """ROC AUC of labelled rows of each class, weighted by most of the draws of their shares."""
    free = np.sort(scores[y < 0])
    areas = np.full(int(y.max()) + 1, 0.5)
    for k in np.unique(y[y >= 0]):
        own = scores[y == k]
        below, upto = (np.searchsorted(free, own, side=side) for side in ("left", "right"))
        areas[k] = float(np.mean(below + upto) / (2.0 * len(free)))
    if not len(draws):
        counts = np.bincount(y[y >= 0], minlength=len(areas))
        return float(counts @ areas / counts.sum())
    return float(np.quantile(draws @ areas, _QUANTILE))


def _standard_error(y: IntArray, draws: FloatArray) -> float:
    """Standard error of a weighted ROC AUC of labelled rows like all others."""
    counts = np.maximum(1, np.bincount(y[y >= 0]))
    shares = draws.mean(axis=0) if len(draws) else counts / counts.sum()
    return float(np.sqrt(np.sum(shares**2 / (12.0 * counts))))


def _columns(
    rows: InputRows, kept: IntArray, texts: bool = True
) -> Iterator[tuple[str, FloatArray]]:
    """Names and values of the columns, as numbers; NaN where they are blank."""
    if not isinstance(rows, pd.DataFrame):
        if sp.issparse(rows):
            return
        for k in range(min(_MOST_COLUMNS, rows.shape[1])):
            yield f"x{k}", np.asarray(rows[kept, k], dtype=float)
        return
    part = rows.iloc[kept]
    for name in part.columns[:_MOST_COLUMNS]:
        column = part[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            yield str(name), column.to_numpy(dtype=float, na_value=np.nan)
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            days = column.to_numpy().astype("datetime64[s]").astype(float)
            yield str(name), np.where(column.isna(), np.nan, days)
        elif texts:
            codes = pd.factorize(column.astype(object))[0].astype(float)
            yield str(name), np.where(codes < 0, np.nan, codes)


def _is_index(values: FloatArray) -> bool:
    """Whether numbers count something: whole, nearly all different, and close together."""
    values = values[np.isfinite(values)]
    if not len(values) or not np.all(values == np.round(values)):
        return False
    n = len(values)
    return bool(len(np.unique(values)) >= _DIFFERENT * n and np.ptp(values) <= _RANGE * n)
