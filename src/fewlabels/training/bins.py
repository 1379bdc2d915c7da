"""Bins of scores that hold about the same weight."""

from __future__ import annotations

import numpy as np


def equal_bins(values, weight, n_bins, whole=None):
    """At most ``n_bins`` bins of about equal weight; equal values are never told apart.

    Gives the distinct values, which of them each value is, their weights, and the bin of each:
    the one that its middle is in. ``whole`` is what the weights sum to, but for rounding.
    """
    distinct, group = np.unique(values, return_inverse=True)
    total = np.bincount(group, weights=weight)
    middle = (np.cumsum(total) - 0.5 * total) / (total.sum() if whole is None else whole)
    return distinct, group, total, np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
