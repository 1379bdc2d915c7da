"""Blank numbers and truth values, marked for models of one class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import AnyArray, BoolArray, ObjectArray, RealArray, VectorLike
from .rare import rare_weight
from .truth import parse_truth_values

if TYPE_CHECKING:
    import pandas as pd


class BlankColumns(TransformerMixin, BaseEstimator):
    """Mark blanks in columns of numbers and truth values, by how usual they are.

    A blank takes the median or the usual value, which alone would make it the most normal value
    of its column. A column with blanks in at least two rows gets a 0/1 column that marks them,
    multiplied by w = sqrt(10 p), at most 1, with p the share of blanks.

    The last column counts blanks that are new: those in columns with at most one in training, and
    those in a row that has more of the others than all training rows but one. Its square is twice
    the variance of the columns, so that a new blank is at least as far from every training row as
    two of them usually are from each other. With less, the median would make such a row more usual
    than most. A row that calibrates is thus encoded as if the others had been there alone, so rows
    with new blanks raise no more alarms than the target, however many there are.

    ``units`` are standard deviations of the encoded columns, 1 unless given.
    """

    def __init__(self, units: VectorLike | None = None) -> None:
        self.units = units

    def fit(self, X: pd.DataFrame | AnyArray, y: object = None) -> Self:
        self.is_text_, blanks = _find_blanks(X)
        self.n_features_in_ = blanks.shape[1]
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        counts = blanks.sum(axis=0)
        self.known_, self.new_ = np.flatnonzero(counts > 1), np.flatnonzero(counts <= 1)
        units = np.ones(len(counts)) if self.units is None else np.array(self.units, float)
        self.unit_ = float(np.sqrt(np.mean(units**2)))
        units = np.where(units > 0.0, units, self.unit_)
        self.weight_ = units[self.known_] * rare_weight(counts[self.known_] / len(blanks))
        in_rows = blanks[:, self.known_].sum(axis=1)
        self.most_ = int(np.partition(in_rows, -2)[-2]) if len(in_rows) > 1 else 0
        self.new_weight_ = 2.0 * units[self.new_] ** 2
        self.excess_weight_ = 2.0 * self.unit_**2
        return self

    def transform(self, X: pd.DataFrame | AnyArray) -> RealArray:
        check_is_fitted(self)
        dtype = X.dtype if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.float64
        _, blanks = _find_blanks(X)
        found = np.zeros((len(blanks), len(self.known_) + 1), dtype)
        if blanks.any():
            known = blanks[:, self.known_]
            found[:, :-1] = known * self.weight_
            excess = np.maximum(0, known.sum(axis=1) - self.most_)
            new = blanks[:, self.new_] @ self.new_weight_
            found[:, -1] = np.sqrt(new + self.excess_weight_ * excess)
        return found

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> ObjectArray:
        names = getattr(self, "feature_names_in_", None)
        names = np.asarray(names if input_features is None else input_features, dtype=object)
        marks = [f"missingindicator_{names[k]}" for k in self.known_]
        return np.array([*marks, "new_blanks"], dtype=object)


def _find_blanks(X: pd.DataFrame | AnyArray) -> tuple[BoolArray, BoolArray]:
    """Return which columns are texts, and which cells are blank."""
    if isinstance(X, np.ndarray):
        return np.zeros(X.shape[1], bool), np.isnan(X)
    import pandas as pd  # there is a data frame

    is_text = np.array([not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes], bool)
    values = [
        np.isnan(parse_truth_values(X.iloc[:, k]) if text else X.iloc[:, k].to_numpy(float))
        for k, text in enumerate(is_text)
    ]
    return is_text, np.column_stack(values)
