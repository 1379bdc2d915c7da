"""Checks and conversions that the estimators share."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from ._width import distance_gamma


def check_rows(estimator, X, *, reset):
    """Rows as a C-ordered float array or CSR array; float32 stays float32.

    With a precomputed kernel, ``X`` holds kernel values against the training rows.
    """
    precomputed = estimator.kernel == "precomputed"
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=False if precomputed else "csr",
        dtype=[np.float64, np.float32],
        order="C",
    )
    if precomputed and reset and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the training rows; "
            f"the matrix given is {X.shape[0]}x{X.shape[1]}."
        )
    return X


def check_weight(sample_weight, X):
    """Weights and the rows that count, or (None, None) when all count alike.

    Returns
    -------
    weight : ndarray of float64 of the rows that count, or None
    kept : ndarray of int, rows with positive weight, or None
    """
    if sample_weight is None:
        return None, None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weight = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it needs one number per row of X, "
            f"shape ({X.shape[0]},)."
        )
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    weight = weight[kept]
    return (
        None if np.all(weight == 1.0) else weight,
        None if len(kept) == X.shape[0] else kept,
    )


def resolve_gamma(gamma, X, weight):
    """scikit-learn's "scale" and "auto" as a number, and our "distance".

    The variance of "scale" counts a row as often as its weight says, so that weights
    act as repetitions here too.
    """
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "distance":
        return distance_gamma(X, weight)
    if gamma != "scale":
        return float(gamma)
    if weight is None:
        variance = (
            X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var(dtype=np.float64)
        )
    else:
        share = weight / weight.sum() / X.shape[1]
        squares = X.multiply(X) if sp.issparse(X) else X * X
        variance = float(np.sum(share @ squares) - np.sum(share @ X) ** 2)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
