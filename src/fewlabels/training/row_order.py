"""Rows in an order that their values alone decide."""

import numpy as np

from ..gram import row_keys
from ..kernels.sampling import repeated


def value_order(X, group, weight):
    """Rows of one group after the other, by values alone, as often as weights say.

    Groups are in the order of their marks: unlabelled rows, then positive ones, if ``group`` is a
    mask of the positive ones.
    """
    key = row_keys(X)
    groups = (np.flatnonzero(group == mark) for mark in np.unique(group))
    return np.concatenate([repeated(rows, weight[rows], key) for rows in groups])


def label_folds(X, place, n_folds):
    """Fold of each labelled row, by values alone; equal rows of a class are in one.

    ``place`` is the class of each row. Rows without one (-1) are in no fold (-1), and neither is a
    row that is, with its copies, the only one of its class.
    """
    keys, fold, before = row_keys(X), np.full(len(place), -1), 0
    for number in np.unique(place[place >= 0]):
        rows = np.flatnonzero(place == number)
        distinct, group = np.unique(keys[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % n_folds
            before += len(distinct)
    return fold
