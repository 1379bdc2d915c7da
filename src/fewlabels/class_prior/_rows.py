"""Columns on one scale, and distances between rows, for estimators that need them."""

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, StandardScaler


def on_one_scale(X):
    """Dense columns with mean 0 and deviation 1; sparse ones divided by their largest value."""
    if sp.issparse(X):
        return MaxAbsScaler().fit_transform(X).astype(np.float64)
    return StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))


def typical_width(distances):
    """Square root of the median squared distance; 1 where rows do not differ."""
    median = float(np.median(distances))
    if median <= 0.0:
        median = float(np.mean(distances))
    return np.sqrt(median) if median > 0.0 else 1.0
