"""Bins of scores that hold about the same weight."""

from __future__ import annotations

import numpy as np


def equal_bins(values, weight, n_bins, whole=None):
    """Bins of about equal weight; equal values are never told apart.

    Parameters
    ----------
    values, weight : ndarray of shape (n,)
        Values and their weights.
    n_bins : int
        Bins at most; some may be empty.
    whole : float or None, default=None
        What the weights sum to, but for rounding; None takes their sum.

    Returns
    -------
    distinct : ndarray
        The distinct values, ascending.
    group : ndarray of int of shape (n,)
        Which of them each value is.
    total : ndarray
        Their weights.
    bins : ndarray of int
        The bin of each: the one that its middle is in.
    """
    distinct, group = np.unique(values, return_inverse=True)
    total = np.bincount(group, weights=weight)
    middle = (np.cumsum(total) - 0.5 * total) / (total.sum() if whole is None else whole)
    return distinct, group, total, np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
