"""Training where unlabelled rows neither cost anything nor hold the mean of f."""

from dataclasses import replace

import numpy as np

from ...kernels import centered
from ...labels.semi_supervised import sides
from ...training.semi_supervised.data import S3VMData
from .solution import held_gram, solution_of_fit, train_each


def is_enough(self, rows):
    """Whether labelled ``FitRows`` decide everything."""
    return self.C_star == 0 and self.balance is False and not rows.is_matrix


def trained(self, rows, given, problems, shift, callback):
    """The ``S3VMSolution`` of every machine over all rows, the data, and the ``Solution``.

    ``given`` are labels of all rows, counted or not.
    """
    label = given[rows.indices]
    known, some = np.flatnonzero(label), rows.without(given == 0)
    gram = held_gram(self, centered(some.X, shift))
    several = sides(label[known], len(self.classes_))
    data = S3VMData.each(gram, problems, several, some.weights)
    found = train_each(self, data, callback)
    solution = solution_of_fit(self, found, data, some, label[known], shift)
    values = solution.function(rows.X, n_jobs=self.n_jobs).reshape(len(label), -1)
    whole = [_of_all(one, known, f) for one, f in zip(found, values.T, strict=True)]
    return whole, data, found, solution


def _of_all(found, known, f):
    """A solution over labelled rows as one over all, whose f is given."""
    f = f.copy()
    f[known] = found.f
    a = np.zeros(len(f))
    a[known] = found.result.a
    sign = np.where(f >= 0.0, 1.0, -1.0)
    sign[known] = found.sign
    gradient = f + float(found.result.multiplier)
    return replace(found, result=replace(found.result, a=a, gradient=gradient), f=f, sign=sign)
