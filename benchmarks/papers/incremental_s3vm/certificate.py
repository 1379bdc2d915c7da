"""Optimality conditions of an S3VM, computed from data and coefficients without the package."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

# Kernel values at a time.
_BLOCK = 4_000_000


def kernel_values(settings, A, B):
    """Matrix of kernel values in float64."""
    if settings["kernel"] == "linear":
        return A @ B.T
    if settings["kernel"] == "poly":
        return (settings["gamma"] * (A @ B.T) + settings["coef0"]) ** settings["degree"]
    return np.exp(-settings["gamma"] * cdist(A, B, "sqeuclidean"))


def decisions(settings, X, coef, intercept, rows):
    """f at some rows of X, whose rows have these coefficients."""
    if settings["kernel"] == "linear":
        return X[rows] @ (X.T @ coef) + intercept
    support = np.flatnonzero(coef)
    vectors, coef = X[support], coef[support]
    step = max(1, _BLOCK // max(1, len(support)))
    parts = [
        kernel_values(settings, X[rows[i : i + step]], vectors) @ coef
        for i in range(0, len(rows), step)
    ]
    return np.concatenate(parts) + intercept


def virtual_share(coef, f, label):
    """What the balancing constraint adds to the coefficient of every unlabelled row.

    Unlabelled rows outside the margin have no other part.
    """
    outside = (label == 0) & (np.abs(f) > 1.01)
    if not outside.any():
        raise ValueError("no unlabelled row is outside the margin; check more rows.")
    return float(np.median(coef[outside]))


def violation(a, f, label, C, C_star):
    """Largest violation of the optimality conditions, in units of f.

    Parameters
    ----------
    a, f : ndarray of shape (n,)
        Variables, without the share of the balancing constraint, and decisions.
    label : ndarray of shape (n,)
        +1, -1, 0 for unlabelled rows.
    """
    price = np.where(label != 0, C, C_star)

    def off(side):
        at, margin = side * a / price, side * f
        short = np.where(at < 1.0 - 1e-9, np.maximum(0.0, 1.0 - margin), 0.0)
        long = np.where(at > 1e-9, np.maximum(0.0, margin - 1.0), 0.0)
        outside = (at < -1e-9) | (at > 1.0 + 1e-9)
        return np.where(outside, np.inf, np.maximum(short, long))

    side = np.where(label != 0, label, np.where(f >= 0, 1.0, -1.0))
    worst = off(side)
    # An unlabelled row on the boundary may be on either side.
    doubtful = (label == 0) & (np.abs(f) < 1e-9)
    worst = np.where(doubtful, np.minimum(worst, off(-side) + np.abs(f)), worst)
    return float(worst.max())
