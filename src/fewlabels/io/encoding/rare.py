"""0/1 columns weighed by how rare their ones are."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...kernels.sparse import validated_rows

# One over the share of ones below which a column counts less.
_RARE = 10.0
# So many rare categories are a tail, whose single ones say little.
_TAIL = 3
_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class RareColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply 0/1 columns by sqrt(10 p), at most 1, with p the share of ones.

    A rare category, or a flag of missing numbers, would otherwise look as unusual as an extreme
    number and fill every list of anomalies. A category of at least a tenth of the rows
    keeps its weight. With ``either`` p is the share of zeros where these are rarer.
    """

    def __init__(self, either=False):
        self.either = either

    def fit(self, X, y=None):
        X = validated_rows(self, X, **_ROWS)
        share = np.asarray(X.mean(axis=0), dtype=float).ravel()
        share = np.minimum(share, 1.0 - share) if self.either else share
        self.weight_ = np.minimum(1.0, np.sqrt(_RARE * share))
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, **_ROWS)
        return X.multiply(self.weight_).tocsr() if hasattr(X, "multiply") else X * self.weight_


class RareCategories(RareColumns):
    """Also bring the categories of a long tail near the most frequent one of their column.

    A row of a rare category lacks the one of a frequent category, which no weight below makes up
    for. Where at least three categories of a column are rare, such a row has the weight w in its
    own 0/1 column and 1 - w in the most frequent category's column. Every row of the fit has
    exactly one category of each column.
    """

    def fit(self, X, y=None):
        super().fit(X)
        ones = np.asarray(X.sum(axis=0), dtype=float).ravel()
        column = np.ceil(np.cumsum(ones) / X.shape[0]).astype(int) - 1
        self.frequent_ = np.arange(len(ones))
        for k in range(column[-1] + 1):
            of_column = np.flatnonzero(column == k)
            rare = of_column[self.weight_[of_column] < 1.0]
            if len(rare) >= _TAIL:
                self.frequent_[rare] = of_column[np.argmax(ones[of_column])]
        return self

    def mixing(self):
        """The matrix that encoded rows are multiplied by."""
        own = np.arange(len(self.weight_))
        moved = np.where(self.frequent_ == own, 0.0, 1.0 - self.weight_)
        shape = (len(own), len(own))
        moved = sp.csr_array((moved, (own, self.frequent_)), shape=shape)
        return sp.diags_array(self.weight_).tocsr() + moved

    def transform(self, X):
        check_is_fitted(self)
        return validated_rows(self, X, reset=False, **_ROWS) @ self.mixing()
