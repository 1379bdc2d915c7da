"""Training where unlabelled rows neither cost anything nor hold the mean of f."""

from dataclasses import replace

import numpy as np

from ...kernels import centered
from ...labels.semi_supervised import sides
from ...training.semi_supervised.data import S3VMData


def trained(trainer, certifier, rows, given, problems, shift, callback):
    """The ``S3VMSolution`` of every function over all rows, the data, and the ``Solution``.

    ``given`` are labels of all ``MemorySource``, counted or not.
    """
    label = given[rows.indices]
    known, some = np.flatnonzero(label), rows.without(given == 0)
    gram = trainer.gram(certifier.kernel, centered(some.X, shift))
    several = sides(label[known], certifier.n_classes)
    data = S3VMData.each(gram, problems, several, some.weights)
    found = trainer.train(data, callback)
    solution = certifier.trained(found, data, some, label[known], shift)
    values = solution.function(rows.X, n_jobs=certifier.n_jobs).reshape(len(label), -1)
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
