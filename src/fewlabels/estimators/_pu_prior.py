"""The class prior of a positive-unlabelled problem, whatever the order of its rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..class_prior import estimate_prior
from ..gram import row_products
from ..kernels import Precomputed


def estimated_prior(data, seed, n_jobs):
    """``estimate_prior`` of the rows of ``data``.

    Rows are put into an order that depends on their values alone, and a row of weight k is
    repeated k times, so that neither the order of rows nor weights in place of repetitions
    change the estimate. Under a precomputed kernel the similarities to the positive rows
    stand for the columns.
    """
    X = data.X[:, data.positive] if isinstance(data.kernel, Precomputed) else data.X
    positive = np.zeros(X.shape[0])
    positive[data.positive] = 1.0
    rows = np.repeat(np.arange(X.shape[0]), _repeats(data))
    key = row_products(X, np.random.default_rng(0).normal(size=X.shape[1]))
    if isinstance(data.kernel, Precomputed):
        key = row_products(X, np.ones(X.shape[1]))
    rows = rows[np.lexsort((key[rows], positive[rows]))]
    X = sp.csr_array(X) if sp.issparse(X) else X
    return estimate_prior(X[rows], positive[rows], random_state=seed, n_jobs=n_jobs)


def _repeats(data):
    """How often each row counts; other weights than whole numbers are rounded fairly."""
    repeats = np.empty(data.X.shape[0], dtype=np.intp)
    repeats[data.positive] = _rounded(data.weight_positive)
    repeats[data.unlabeled] = _rounded(data.weight_unlabeled)
    return repeats


def _rounded(weight):
    if np.all(weight == np.rint(weight)):
        return weight.astype(np.intp)
    ends = np.rint(np.cumsum(weight) * (len(weight) / weight.sum()))
    return np.diff(ends, prepend=0.0).astype(np.intp)
