"""Rows in an order that their values alone decide."""

import numpy as np

from ..gram import row_keys
from ..kernels.sampling import repeated


def value_order(X, positive, weight):
    """Unlabelled rows, then positive ones, by values alone, as often as weights say."""
    key = row_keys(X)
    groups = (np.flatnonzero(~positive), np.flatnonzero(positive))
    return np.concatenate([repeated(rows, weight[rows], key) for rows in groups])
