"""Where an S3VM without a balancing constraint decides, given the class ratio.

Without a constraint f follows the labels' class ratio. Probabilities follow the ratio of the
unlabelled rows: it is their mean. The intercept moves so that both agree on the classes.
"""

from dataclasses import replace

import numpy as np

from ...fitted import Late
from ...labels.semi_supervised import places_of
from ...training.class_curves import curves_of_classes
from ...training.curves import curve_of_labels
from .solution import decisions_at, left_out_decisions, sample_of_stream


def moves(self):
    """Whether the class ratio moves the intercept, instead of the mean of f."""
    return self.class_ratio_ is not None and self.balance is False


def moved(self, solution, sample):
    """The ``Solution`` with its intercept where the classes are equally probable.

    ``_offset`` is what was added to f: a number, or one for each of several classes.
    """
    self._offset = None
    if not moves(self) or not np.any(sample.y == 0):
        return solution
    function = solution.function
    self._offset = offset = _offset(self, sample, function)
    return replace(solution, function=replace(function, bias=function.bias + offset))


def _offset(self, sample, function):
    label, weight = sample.y, sample.weight
    scores = left_out_decisions(self, sample)
    known, free = np.isfinite(scores[:, 0]), np.flatnonzero(label == 0)
    unlabeled = decisions_at(self, function, sample, free), weight[free]
    shares = self.class_ratio_
    if len(shares) == 2:
        curve = curve_of_labels(
            scores[known, 0], label[known] > 0, weight[known], "sigmoid", unlabeled, shares[1]
        )
    else:
        place = places_of(label[known], len(shares))
        curve = curves_of_classes(
            scores[known], place, weight[known], "sigmoid", unlabeled, shares
        )
    return curve.intercept / curve.slope


def move_path(self):
    """Move the intercept of a machine whose path has come to its end."""
    stream = self._stream
    if moves(self) and stream.ready and stream.done:
        sample = sample_of_stream(self)
        if np.any(sample.y == 0):
            self._offset = _offset(self, sample, self.function_)
            self._late = Late()
    return self
