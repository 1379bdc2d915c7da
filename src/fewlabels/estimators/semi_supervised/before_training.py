"""What an S3VM takes from labels before it trains: the forest of its kernel."""

import numpy as np

from ...kernels import TREES_OF_CLASSES, Trees, kind_of
from ...labels.semi_supervised import places_of
from ...training.row_order import value_order


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
