"""Rows in an order that their values alone decide."""

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from ..kernels.rows import row_keys
from ..kernels.sampling import repeat_by_weight
from .grouped_folds import group_folds, kinds_of_groups
from .repeats import Groups


def value_order(X: RowMatrix, group: AnyArray, weight: FloatArray) -> IntArray:
    """Return rows of one group after the other, by values alone, as often as weights say.

    Groups are in the order of their marks: unlabelled rows, then positive ones, if ``group`` is a
    mask of the positive ones.
    """
    key = row_keys(X)
    groups = (np.flatnonzero(group == mark) for mark in np.unique(group))
    return np.concatenate([repeat_by_weight(rows, weight[rows], key) for rows in groups])


def label_folds(
    X: RowMatrix, place: IntArray, n_folds: int, groups: Groups | None = None
) -> IntArray:
    """Fold of each labelled row, by values alone; equal rows of a class are in one.

    ``place`` is the class of each row. Rows without one (-1) are in no fold (-1), and neither is a
    row that is, with its copies, the only one of its class. With ``groups`` of rows the rows of
    each are in one fold.
    """
    if groups is not None:
        return _group_folds(place, n_folds, groups)
    keys, fold, before = row_keys(X), np.full(len(place), -1), 0
    for number in np.unique(place[place >= 0]):
        rows = np.flatnonzero(place == number)
        distinct, group = np.unique(keys[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % n_folds
            before += len(distinct)
    return fold


def _group_folds(place: IntArray, n_folds: int, groups: Groups) -> IntArray:
    """Fold of each labelled row, its group's, if several groups have rows of its class."""
    known, fold = np.flatnonzero(place >= 0), np.full(len(place), -1)
    own, groups = place[known], groups[known]
    several = np.bincount(kinds_of_groups(own, groups), minlength=int(place.max()) + 1) > 1
    fold[known] = np.where(several[own], group_folds(own, groups, n_folds), -1)
    return fold
