"""Rows in an order that their values alone decide."""

import numpy as np

from ..gram import row_keys

# More repetitions of a row than this, on average, are rounded.
_MOST = 10


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


def repeated(rows, weight, key):
    """Rows in the order of their keys, each as often as its weight says; equal rows count as one.

    What all whole-numbered weights have in common is left out; others are rounded, the sum kept.
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
