"""Truth values in words as 0/1 columns."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..tables.columns import MISSING
from ..tables.truth import FALSE, TRUE, truth_of

_LETTERS = (str, str.upper, str.capitalize)


class TruthColumns(TransformerMixin, BaseEstimator):
    """Columns of yes and no as 1 and 0, and one more for each that has blanks, 1 where they are.

    A blank takes the value that is more frequent in training, and so does any other word.
    """

    def fit(self, X, y=None):
        values = _values(X)
        names = getattr(X, "columns", range(values.shape[1]))
        self.names_ = np.array([str(name) for name in names], dtype=object)
        self.usual_ = np.where(np.nanmean(values, axis=0) > 0.5, 1.0, 0.0)
        self.gaps_ = np.flatnonzero(np.isnan(values).any(axis=0))
        return self

    def transform(self, X):
        check_is_fitted(self)
        values = _values(X)
        missing = np.isnan(values)
        return np.column_stack([np.where(missing, self.usual_, values), missing[:, self.gaps_]])

    def get_feature_names_out(self, input_features=None):
        names = self.names_ if input_features is None else input_features
        flags = [f"missingindicator_{names[k]}" for k in self.gaps_]
        return np.array([*names, *flags], dtype=object)

    @staticmethod
    def spellings():
        """Texts for no, and for yes, in small and capital letters."""
        return [
            list(dict.fromkeys(write(word) for word in words for write in _LETTERS))
            for words in (FALSE, TRUE)
        ]

    def known(self, k):
        """Texts that are not new to a column; blanks are where training had none."""
        no, yes = self.spellings()
        return np.array([*no, *yes, *(MISSING if k in self.gaps_ else ())], dtype=object)


def _values(X):
    import pandas as pd

    X = pd.DataFrame(X)
    return np.column_stack([truth_of(X.iloc[:, k]) for k in range(X.shape[1])])
