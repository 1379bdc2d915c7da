"""The class prior of a positive-unlabelled problem, whatever the order of its rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..class_prior import estimate_prior
from ..kernels import Precomputed
from ._pu_data import row_keys

# More repetitions of a row than this, on average, are rounded.
_MOST = 10


def estimated_prior(data, seed, n_jobs):
    """``estimate_prior`` of the rows of ``data``.

    Rows are put into an order that depends on their values alone, and a row of weight k is
    repeated k times, so that neither the order of rows nor weights in place of repetitions
    change the estimate. Under a precomputed kernel the similarities to the positive rows
    stand for the columns.
    """
    X = data.X
    if isinstance(data.kernel, Precomputed):
        columns = data.positive[np.argsort(_row_sums(X, data.positive), kind="stable")]
        X = X[:, columns]
    positive = np.zeros(X.shape[0], dtype=bool)
    positive[data.positive] = True
    weight = np.empty(X.shape[0])
    weight[data.positive] = data.weight_positive
    weight[data.unlabeled] = data.weight_unlabeled
    rows = value_order(X, positive, weight)
    X = sp.csr_array(X) if sp.issparse(X) else X
    return estimate_prior(X[rows], positive[rows], random_state=seed, n_jobs=n_jobs)


def value_order(X, positive, weight):
    """Unlabelled rows, then positive ones, in an order that their values alone decide.

    Rows occur as often as their weight says.
    """
    key = row_keys(X)
    groups = (np.flatnonzero(~positive), np.flatnonzero(positive))
    return np.concatenate([_repeated(rows, weight[rows], key) for rows in groups])


def _row_sums(X, columns):
    """Sums that do not depend on the order of the columns."""
    return np.sort(X[columns][:, columns], axis=1).sum(axis=1)


def _repeated(rows, weight, key):
    """Rows in the order of their keys, each as often as its weight says.

    Equal rows count as one of their weights' sum. What all whole-numbered weights have in
    common is left out; other weights are rounded so that the sum stays right.
    """
    distinct, first, group = np.unique(key[rows], return_index=True, return_inverse=True)
    rows, weight = rows[first], np.bincount(group, weights=weight)
    if np.array_equal(weight, np.rint(weight)) and weight.max() < 2.0**53:
        times = weight.astype(np.int64)
        times //= np.gcd.reduce(times) if len(distinct) > 1 else 1
        if times.sum() <= _MOST * len(group):
            return np.repeat(rows, times)
    ends = np.rint(np.cumsum(weight / weight.sum()) * len(group))
    return np.repeat(rows, np.diff(ends, prepend=0.0).astype(np.intp))
