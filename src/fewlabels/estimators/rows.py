"""Rows and weights that users pass, checked."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_array, validate_data


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows of a fit.

    Attributes
    ----------
    everything : ndarray or CSR array of shape (n, d)
        All rows.
    X : ndarray or CSR array
        Those that count: of positive weight. For a precomputed kernel, their columns too.
    weight : ndarray of float64 or None
        Their weights; None when they are all 1.
    kept : ndarray of int or None
        Their indices; None when all rows count.
    """

    everything: np.ndarray
    X: np.ndarray
    weight: np.ndarray | None
    kept: np.ndarray | None

    @property
    def indices(self):
        """Indices of the rows that count."""
        return np.arange(self.X.shape[0]) if self.kept is None else self.kept

    @property
    def all_weights(self):
        """Weights of all rows, 0 for those that do not count."""
        weight = np.zeros(self.everything.shape[0])
        weight[slice(None) if self.kept is None else self.kept] = (
            1.0 if self.weight is None else self.weight
        )
        return weight


def fit_rows(estimator, X, sample_weight):
    """``FitRows`` from what ``fit`` is given."""
    everything = check_rows(estimator, X, reset=True)
    weight, kept = check_weight(sample_weight, everything)
    X = everything
    if kept is not None:
        X = X[kept][:, kept] if estimator.kernel == "precomputed" else X[kept]
    return FitRows(everything, X, weight, kept)


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
