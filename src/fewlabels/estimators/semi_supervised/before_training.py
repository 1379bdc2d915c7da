"""What an S3VM takes from labels before it trains: a forest, and the class ratio."""

import numpy as np

from ...class_prior.class_ratio import estimated_shares
from ...kernels import TREES_OF_CLASSES, Trees, kind_of
from ...labels.semi_supervised import places_of, read_ratio
from ...training.row_order import value_order


def find_ratio(self, rows, label):
    """Set the class ratio of the unlabelled rows, given or estimated from ``FitRows``."""
    if not is_estimated(self):
        set_ratio(self)
        return
    if self.kernel == "precomputed":
        raise ValueError(
            "class_ratio='estimate' needs rows, and kernel='precomputed' has none; pass the "
            "shares, such as those of fewlabels.class_prior.label_shift."
        )
    place = places_of(label, len(self.classes_))
    shares, intervals, _ = estimated_shares(
        rows.X, place, rows.weights, self.classes_, seed=self._seed()
    )
    self.class_ratio_, self.class_ratio_interval_ = shares, intervals


def set_ratio(self):
    """Set the class ratio that was given, if one was, without rows in memory."""
    if is_estimated(self):
        raise ValueError(
            "class_ratio='estimate' needs rows in memory; pass the shares, such as those that "
            "fewlabels.class_prior.label_shift finds in a sample."
        )
    ratio = self.class_ratio
    self.class_ratio_ = None if ratio is None else read_ratio(ratio, self.classes_)
    self.class_ratio_interval_ = None


def is_estimated(self):
    return isinstance(self.class_ratio, str)


def grow_trees(self, rows, label):
    """Form a kernel of trees, if the model has one, on labelled ``FitRows``.

    They are grown in an order of their own and as often as rows weigh: weights act as repetitions.
    """
    kind = kind_of(self.kernel)
    if not isinstance(kind, Trees):
        return
    known = np.flatnonzero(label)
    if len(np.unique(label[known])) < len(self.classes_):
        raise ValueError(
            'kernel="trees" grows its forest on labelled rows of all classes, and so far some '
            "class has none; begin with rows that have labels of each class."
        )
    kind = TREES_OF_CLASSES if isinstance(self.kernel, str) else kind
    X, place = rows.X[known], places_of(label[known], len(self.classes_))
    order = value_order(X, place, rows.weights[known])
    seed = self._seed()
    self._deformed = kind.over(X[order], place[order], gamma=self.gamma_, random_state=seed)
