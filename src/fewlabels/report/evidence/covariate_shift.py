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
from ...class_prior.labelled_rows import choose_distinct_rows, score_as_labelled
from ..fit import InputRows

# ROC AUC from which labelled rows are unlike the rest.
_MIN_AREA = 0.8
# Standard errors above 0.5 that the ROC AUC needs as well: the best of many columns is compared.
_MIN_STANDARD_ERRORS = 5.5
# Labelled rows that a comparison needs.
_MIN_LABELLED = 10
# This quantile of the weighted ROC AUC over the draws of the class shares counts.
_AREA_QUANTILE = 0.05
# Rows of either kind that take part, and numbers in these rows.
_MAX_LABELLED = 500
_MAX_UNLABELLED = 1000
_MAX_NUMBERS = 2**24
# Seconds of a comparison: at least, for each row and column of a node, and always available.
_SECONDS = 0.05
_SECONDS_PER_NUMBER = 1.5e-5
_FREE_SECONDS = 0.4
# Ranges of a column's values in which rows are counted.
_BINS = 20
# Columns that are compared one by one.
_MAX_COLUMNS = 200
# A column is enough alone if its ROC AUC is smaller than the forest's by no more than this.
_ALONE_MARGIN = 0.05
# Share of the labelled positives that lie in a block of a column's values.
_BLOCK_SHARE = 0.975
# Share of the unlabelled rows that must lie outside of the block.
_MIN_OUTSIDE = 0.25
# Level of the tests of a block.
_SIGNIFICANCE = 1e-6
# Largest share of a class that is believed to be labelled.
_MAX_LABELLED_SHARE = 0.5
# Unlabelled rows in the block for each labelled row that may be there by accident.
_MAX_STRAY_SHARE = 0.02
# Level of the test that labelled and unlabelled rows are spread alike inside a block.
_SPREAD_LEVEL = 0.05
# Different values of an index as a share of its rows, at least, and their range, at most.
_MIN_DISTINCT = 0.9
_MAX_RANGE = 3.0
_NO_TIME = "no comparison of the labelled rows with the others"


class CovariateShift(NamedTuple):
    """Difference between labelled and unlabelled rows.

    Attributes
    ----------
    area : float
        ROC AUC of labelled against unlabelled rows: a low quantile over the class shares.
    column : str
        The column that separates them best; "" for none.
    is_one_column : bool
        Whether it does so alone.
    is_significant : bool
        Whether the labelled rows are unlike the rest.
    """

    area: float
    column: str
    is_one_column: bool
    is_significant: bool


def find_covariate_shift(
    rows: InputRows, X: RowMatrix, y: IntArray, draws: FloatArray, deadline: Deadline
) -> CovariateShift | None:
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
    CovariateShift or None
        None with few labelled or unlabelled rows, or without time.
    """
    row_ids = choose_distinct_rows(X, y, _MAX_LABELLED, _MAX_UNLABELLED)
    y_kept = y[row_ids]
    n_labelled = int(np.sum(y_kept >= 0))
    if n_labelled < _MIN_LABELLED or len(row_ids) < 2 * n_labelled:
        return None
    seconds = _SECONDS + _SECONDS_PER_NUMBER * len(row_ids) * float(np.sqrt(X.shape[1]))
    if deadline.left() < seconds > _FREE_SECONDS or len(row_ids) * X.shape[1] > _MAX_NUMBERS:
        deadline.cut.append(_NO_TIME)
        return None
    forest_area = _weighted_auc(score_as_labelled(X[row_ids], y_kept), y_kept, draws)
    best, column = 0.0, ""
    for name, values in _iterate_columns(rows, row_ids):
        area = _weighted_auc(_score_column(values, y_kept), y_kept, draws)
        if area > best:
            best, column = area, name
    area = max(forest_area, best)
    is_significant = area >= max(
        _MIN_AREA, 0.5 + _MIN_STANDARD_ERRORS * _standard_error(y_kept, draws)
    )
    return CovariateShift(area, column, best >= area - _ALONE_MARGIN, is_significant)


def find_shift_of_positives(
    rows: InputRows, y: IntArray, dates: Collection[str] = ()
) -> CovariateShift | None:
    """Find a column in which labelled positives (y = 1) differ beyond hidden positives.

    Either nearly all labelled values lie where hardly any others do, so that the class would be
    labelled nearly completely. Or the column is an index (dates, or numbers that count) and the
    labelled rows are one block of it, inside which they are spread as the others: labelling ended
    somewhere. ``dates`` names columns of dates. None for no such column.
    """
    rng = np.random.default_rng(0)
    labelled, unlabelled = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    if len(labelled) < _MIN_LABELLED or len(unlabelled) < len(labelled):
        return None
    unlabelled = unlabelled if len(unlabelled) <= 5 * _MAX_UNLABELLED else rng.choice(
        unlabelled, 5 * _MAX_UNLABELLED, replace=False
    )  # fmt: skip
    for name, values in _iterate_columns(rows, np.r_[labelled, unlabelled], texts=False):
        is_known = np.arange(len(values)) < len(labelled)
        labelled_values, others = (
            selected[np.isfinite(selected)] for selected in (values[is_known], values[~is_known])
        )
        if len(labelled_values) < _BLOCK_SHARE * len(labelled) or len(others) < len(
            labelled_values
        ):
            continue
        low, high = np.quantile(
            labelled_values, [0.5 - _BLOCK_SHARE / 2.0, 0.5 + _BLOCK_SHARE / 2.0]
        )
        inside = (others >= low) & (others <= high)
        n_inside = int(inside.sum())
        few_labelled = float(
            binom.sf(
                len(labelled_values) - 1, len(labelled_values) + n_inside, _MAX_LABELLED_SHARE
            )
        )
        is_block = (
            n_inside <= _MAX_STRAY_SHARE * len(labelled_values) and few_labelled < _SIGNIFICANCE
        )
        outside = 1.0 - n_inside / len(others)
        if not is_block and outside >= _MIN_OUTSIDE and (name in dates or _is_index(values)):
            is_unlikely = (1.0 - outside) ** int(
                _BLOCK_SHARE * len(labelled_values)
            ) < _SIGNIFICANCE
            within = labelled_values[(labelled_values >= low) & (labelled_values <= high)]
            is_block = is_unlikely and ks_2samp(within, others[inside]).pvalue > _SPREAD_LEVEL
        if is_block:
            return CovariateShift(0.5 + outside / 2.0, name, True, True)
    return None


# -- rows ----------------------------------------------------------------------------------------


def _score_column(values: FloatArray, y: IntArray) -> FloatArray:
    """Return how much more often labelled rows have a value; each without itself."""
    unlabelled = values[(y < 0) & np.isfinite(values)]
    ends = (
        np.unique(np.quantile(unlabelled, np.arange(1, _BINS) / _BINS))
        if len(unlabelled)
        else np.empty(0)
    )
    if len(np.unique(unlabelled)) <= _BINS:
        ends = np.unique(unlabelled)[:-1]
    bins = np.where(np.isfinite(values), np.searchsorted(ends, values), len(ends) + 1)
    # Values beyond all unlabelled ones have ranges of their own.
    if len(unlabelled):
        bins[values > unlabelled.max()], bins[values < unlabelled.min()] = (
            len(ends) + 2,
            len(ends) + 3,
        )
    known = y >= 0
    n_bins = len(ends) + 4
    labelled_values = np.bincount(bins[known], minlength=n_bins).astype(float)
    others = np.bincount(bins[~known], minlength=n_bins).astype(float)
    width = 1.0 / n_bins
    # Of unlabelled rows as large a part is left out, so that rows of one range are equal.
    others_in_class = np.where(
        known,
        labelled_values[bins] - 1.0,
        labelled_values[bins] * (1.0 - 1.0 / max(1.0, labelled_values.sum())),
    )
    labelled_density = others_in_class + width
    return np.asarray(np.log(labelled_density) - np.log(others[bins] + width))


def _weighted_auc(scores: FloatArray, y: IntArray, draws: FloatArray) -> float:
    """Return the ROC AUC of labelled rows of each class, weighted by draws of their shares."""
    unlabelled = np.sort(scores[y < 0])
    areas = np.full(int(y.max()) + 1, 0.5)
    for k in np.unique(y[y >= 0]):
        labelled_values = scores[y == k]
        below, upto = (
            np.searchsorted(unlabelled, labelled_values, side=side) for side in ("left", "right")
        )
        areas[k] = float(np.mean(below + upto) / (2.0 * len(unlabelled)))
    if not len(draws):
        counts = np.bincount(y[y >= 0], minlength=len(areas))
        return float(counts @ areas / counts.sum())
    return float(np.quantile(draws @ areas, _AREA_QUANTILE))


def _standard_error(y: IntArray, draws: FloatArray) -> float:
    """Return the standard error of a weighted ROC AUC of labelled rows like all others."""
    counts = np.maximum(1, np.bincount(y[y >= 0]))
    shares = draws.mean(axis=0) if len(draws) else counts / counts.sum()
    return float(np.sqrt(np.sum(shares**2 / (12.0 * counts))))


def _iterate_columns(
    rows: InputRows, row_ids: IntArray, texts: bool = True
) -> Iterator[tuple[str, FloatArray]]:
    """Yield names and values of the columns, as numbers; NaN where they are blank."""
    if not isinstance(rows, pd.DataFrame):
        if sp.issparse(rows):
            return
        for k in range(min(_MAX_COLUMNS, rows.shape[1])):
            yield f"x{k}", np.asarray(rows[row_ids, k], dtype=float)
        return
    selected = rows.iloc[row_ids]
    for name in selected.columns[:_MAX_COLUMNS]:
        column = selected[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            yield str(name), column.to_numpy(dtype=float, na_value=np.nan)
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            days = column.to_numpy().astype("datetime64[s]").astype(float)
            yield str(name), np.where(column.isna(), np.nan, days)
        elif texts:
            codes = pd.factorize(column.astype(object))[0].astype(float)
            yield str(name), np.where(codes < 0, np.nan, codes)


def _is_index(values: FloatArray) -> bool:
    """Return whether numbers count something: whole, nearly all different, close together."""
    values = values[np.isfinite(values)]
    if not len(values) or not np.all(values == np.round(values)):
        return False
    n = len(values)
    return bool(len(np.unique(values)) >= _MIN_DISTINCT * n and np.ptp(values) <= _MAX_RANGE * n)
