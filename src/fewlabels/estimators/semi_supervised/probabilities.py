"""What probabilities of an S3VM are fitted to: functions that the class takes as its methods."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ...training.cross_fitting import Sample, left_out_scores
from ...training.curves import curve_of_labels
from ...training.row_order import row_keys

# Machines of a cross-fit.
_FOLDS = 5


def fit_curve(self):
    sample = self._sample if self._stream is None else self._sample_of_stream()
    if sample is None:
        raise ValueError(
            f"this {type(self).__name__} holds neither its training rows nor a curve from "
            "decisions to probabilities; call predict_proba once before the machine is "
            "saved, or fit again."
        )
    label, weight = sample.y, sample.weight
    free, scores = np.flatnonzero(label == 0), self._left_out_decisions(sample)
    known = np.isfinite(scores)
    balance, share, unlabeled = self._problem().balance, None, None
    if not isinstance(balance, bool) and len(free) and -1.0 < balance < 1.0:
        # The share of positives that this mean stands for.
        share = 0.5 * (1.0 + float(balance))
        unlabeled = self._decisions_of(sample, free), weight[free]
    return curve_of_labels(
        scores[known], label[known] > 0, weight[known], self.probability, unlabeled, share
    )


def decisions_of(self, sample, rows):
    """f at some rows of a sample of the training rows."""
    X = sample.X[rows]
    if sample.pairwise and self._kept is not None:
        X = np.zeros((len(rows), self.shape_fit_[0]))
        X[:, self._kept] = sample.X[rows]
    return self.function_(X, n_jobs=self.n_jobs)


def sample_of_stream(self):
    stream = self._stream
    if not stream.ready:
        raise ValueError(
            "predict_proba needs labels of both classes, and so far there are not; pass "
            "labels to partial_fit or relabel."
        )
    if stream.has_path and not stream.done:
        raise ValueError("an operation is on its way; call resume() before predict_proba.")
    places = stream.places
    return Sample(stream.rows(places), stream.label(places), stream.weight(places))


def left_out_decisions(self, sample):
    """Decisions about labelled rows by machines that were trained without them.

    Five machines, each trained on all unlabelled rows and four fifths of the labelled rows
    of either class, as ``solver="auto"`` trains. Folds depend on the values of rows alone,
    and equal rows are in one. NaN for unlabelled rows, and for one that is, with its copies,
    the only one of its class.
    """
    settings = {"solver": "auto", "unlabeled": None, "verbose": False}
    if self.gamma_:
        settings["gamma"] = self.gamma_
    labels, fold = sample.y, _folds(sample)
    sample = sample._replace(y=np.where(labels == 0, np.nan, labels))
    tested = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
    splits = [(np.setdiff1d(np.arange(len(fold)), test), test) for test in tested]

    def score(train, test):
        machine = sample.fit(clone(self).set_params(**settings), train)
        return machine.decision_function(sample.rows(test, train))

    return left_out_scores(len(fold), splits, score)


def _folds(sample):
    """Fold of each row, -1 for those that are never left out."""
    keys, fold, before = row_keys(sample.X), np.full(len(sample.y), -1), 0
    for side in (-1.0, 1.0):
        rows = np.flatnonzero(sample.y == side)
        distinct, group = np.unique(keys[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % _FOLDS
            before += len(distinct)
    return fold
