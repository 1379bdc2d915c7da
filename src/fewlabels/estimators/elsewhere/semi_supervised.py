"""An S3VM with the linear kernel over rows that are not in memory."""

import numpy as np

from ...gram import LinearGram, LinearPlaceGram
from ...kernels import centered
from ...labels.semi_supervised import sides
from ...training.elsewhere.moments import center_at
from ...training.elsewhere.place import stacked
from ...training.semi_supervised.data import S3VMData
from ...training.semi_supervised.record import TrainingRecord
from ..semi_supervised import reading
from ..semi_supervised.before_training import given_ratio
from ..semi_supervised.certifier import run_of
from ..semi_supervised.updater import warn_of_training
from .places import read_place


def label_of(part):
    """The question for the labels of the rows of a part, where these are its mark."""
    return part.marks["label"]


def weights_of(part):
    """The question for the weights of the rows of a part."""
    return np.ones(part.n) if part.weight is None else part.weight


def fit_semi_elsewhere(machine, place, label, classes, callback=None):
    """Fit an S3VM with the linear kernel to the rows of a ``Place``, as ``fit`` does.

    What is of the number of rows, but for the rows, is in memory. The mean of the unlabelled rows,
    which a balancing constraint makes a part of the function, is a support vector of its own, the
    last one, whose number in ``support_`` is -1.
    """
    moments, _ = read_place(machine, place)
    weight = np.concatenate(place.ask(weights_of))
    if not np.all(weight > 0):
        raise ValueError(
            "S3VM with rows that are not in memory needs sample_weight > 0; drop the other rows."
        )
    reading.check_each_has_labels(label, classes)
    machine.classes_ = classes
    machine.class_ratio_ = given_ratio(machine.class_ratio, classes)
    machine.class_ratio_interval_ = None
    problems = machine._problems()
    shift = center_at(place, moments)
    gram = LinearPlaceGram(place, shift)
    data = S3VMData.each(gram, problems, sides(label, len(classes)), weight)
    found = machine._trainer(place).train(data, callback)
    machine._hold(None)
    machine._sample = machine._kept = machine._offset = None
    machine._record = TrainingRecord.of(found)
    certifier = machine._certifier()
    solution = _solution(certifier, place, gram, (data, found), label, shift)
    decision = np.column_stack([one.f for one in found])
    objectives, violations = [one.objective for one in found], [one.violation for one in found]
    certificate = certifier.certificate(objectives, violations, decision, solution.function, label)
    machine._keep(solution, certificate=certificate)
    name = type(machine).__name__
    warn_of_training(name, found, data[0].gram, machine.tol, machine._deadline)
    return machine


def _solution(certifier, place, gram, trained, label, shift):
    data, found = trained
    results = [one.result for one in found]
    n = place.shape[0]
    coefs = np.stack([result.a[:n] for result in results])
    ids = np.flatnonzero(coefs.any(axis=0))
    X, coefs, numbers, label = place.take(ids), coefs[:, ids], ids, label[ids]
    if data[0].target is not None:
        mean = gram.sum_of(data[0].unlabeled, data[0].share)
        mean = (mean if shift is None else mean + shift)[None].astype(X.dtype)
        X = stacked([X, type(X)(mean)]) if place.is_sparse else np.concatenate([X, mean])
        coefs = np.column_stack([coefs, [result.a[-1] for result in results]])
        numbers, label = np.append(ids, -1), np.append(label, 0)
    return certifier.solution(
        LinearGram(centered(X, shift)), X, list(coefs),
        [-float(result.multiplier) for result in results], numbers, label, run_of(found), shift,
    )  # fmt: skip
