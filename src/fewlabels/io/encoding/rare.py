"""0/1 columns weighed by how rare their ones are."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

# One over the share of ones below which a column counts less.
_RARE = 10.0
_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class RareColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply 0/1 columns by sqrt(10 p), at most 1, with p the share of ones.

    A rare category, or a flag of missing numbers, would else make its row as odd as a number far
    out, and a list of odd rows would hold nothing else. A category of at least a tenth of the rows
    keeps its weight. With ``either`` p is the share of zeros where these are rarer.
    """

    def __init__(self, either=False):
        self.either = either

    def fit(self, X, y=None):
        X = validate_data(self, X, **_ROWS)
        share = np.asarray(X.mean(axis=0), dtype=float).ravel()
        share = np.minimum(share, 1.0 - share) if self.either else share
        self.weight_ = np.minimum(1.0, np.sqrt(_RARE * share))
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_ROWS)
        return X.multiply(self.weight_).tocsr() if hasattr(X, "multiply") else X * self.weight_
