"""What an S3VM takes from labels before it trains: a forest, and the class ratio."""

import numpy as np

from ...class_prior.class_ratio import estimated_shares
from ...kernels import TREES_OF_CLASSES, kind_of
from ...labels.semi_supervised import places_of, read_ratio
from ...training.row_order import value_order


def class_ratio_of(given, rows, label, classes, seed):
    """Shares of the classes among the unlabelled rows and their intervals, or None for either.

    ``given`` is the parameter ``class_ratio``; "estimate" takes the shares from ``MemorySource``.
    """
    if not isinstance(given, str):
        return given_ratio(given, classes), None
    if rows.is_matrix:
        raise ValueError(
            "class_ratio='estimate' needs rows, and kernel='precomputed' has none; pass the "
            "shares, for example from fewlabels.class_prior.label_shift."
        )
    place = places_of(label, len(classes))
    shares, intervals, _ = estimated_shares(rows.X, place, rows.weights, classes, seed=seed)
    return shares, intervals


def given_ratio(given, classes):
    """The shares in the parameter ``class_ratio``, which need no rows; None for none."""
    if isinstance(given, str):
        raise ValueError(
            "class_ratio='estimate' needs rows in memory; pass the shares, for example from "
            "fewlabels.class_prior.label_shift on a sample."
        )
    return None if given is None else read_ratio(given, classes)


def has_trees(kernel):
    """Whether a kernel's trees are grown at ``fit``."""
    return kind_of(kernel).learns == "labels"


def grown_trees(kernel, rows, label, n_classes, gamma, seed):
    """A kernel of trees, grown on labelled ``MemorySource``.

    They are grown in an order of their own and as often as rows weigh: weights act as repetitions.
    """
    known = np.flatnonzero(label)
    if len(np.unique(label[known])) < n_classes:
        raise ValueError(
            'kernel="trees" needs labelled rows of all classes for its forest, and some class '
            "has none yet; start with labelled rows of each class."
        )
    trees = TREES_OF_CLASSES if isinstance(kernel, str) else kind_of(kernel)
    X, place = rows.X[known], places_of(label[known], n_classes)
    order = value_order(X, place, rows.weights[known])
    return trees.over(X[order], place[order], gamma=gamma, random_state=seed)
