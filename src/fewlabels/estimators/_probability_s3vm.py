"""Probabilities of an S3VM, from cross-fitted scores of its labelled rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..kernels import Precomputed
from ..training.curves import curve_of_labels
from ..training.row_order import row_keys
from ._probability import ProbabilityMachine
from ._s3vm_data import plain_balance

_FOLDS = 5


class S3VMProbability(ProbabilityMachine):
    """What ``predict_proba`` of an S3VM needs.

    ``_rows_of_fit`` are rows, labels and weights of a fit without a stream.
    """

    # In models that were saved before it existed.
    probability = None

    def _fitted_curve(self):
        X, label, weight = self._rows_to_cross_fit()
        labeled, free = np.flatnonzero(label), np.flatnonzero(label == 0)
        scores = cross_fitted(self, X, label, weight)
        known = np.isfinite(scores)
        share = self._wanted_share(len(free))
        unlabeled = None
        if share is not None:
            f = self._decision(self._as_given(X, free))
            unlabeled = f, weight[free]
        return curve_of_labels(
            scores[known], label[labeled][known] > 0, weight[labeled][known],
            self.probability, unlabeled, share,
        )  # fmt: skip

    def _wanted_share(self, n_unlabeled):
        """Share of positives that a number for ``balance`` stands for."""
        balance = plain_balance(self.balance)
        if isinstance(balance, bool) or not n_unlabeled or not -1.0 < balance < 1.0:
            return None
        return 0.5 * (1.0 + float(balance))

    def _as_given(self, X, rows):
        """Training rows as ``_decision`` takes them."""
        if self.kernel != "precomputed" or self._kept is None:
            return X[rows]
        values = np.zeros((len(rows), self.shape_fit_[0]))
        values[:, self._kept] = X[rows]
        return values

    def _rows_to_cross_fit(self):
        stream = self.__dict__.get("_stream")
        if stream is None:
            rows = self.__dict__.get("_rows_of_fit")
            if rows is None:
                raise ValueError(
                    f"this {type(self).__name__} holds neither its training rows nor a curve from "
                    "decisions to probabilities; call predict_proba once before the machine is "
                    "saved, or fit again."
                )
            return rows
        if not stream.ready:
            raise ValueError(
                "predict_proba needs labels of both classes, and so far there are not; pass "
                "labels to partial_fit or relabel."
            )
        if stream.path is not None and not stream.done:
            raise ValueError("an operation is on its way; call resume() before predict_proba.")
        places = stream.places
        return stream.rows(places), stream.label[places], stream.weight[places]

    def _forget_attributes(self):
        self.__dict__.pop("_curve", None)
        super()._forget_attributes()

    def __getstate__(self):
        """Without rows that only the curve is for."""
        return {**super().__getstate__(), "_rows_of_fit": None}


def cross_fitted(machine, X, label, weight):
    """Scores of labelled rows by machines that were trained without them.

    Five machines, each trained on all unlabelled rows and four fifths of the labelled rows of
    either class, as ``solver="auto"`` trains. Folds depend on the values of rows alone, and equal
    rows are in one.

    Parameters
    ----------
    machine : S3VM
        Fitted; its parameters and ``gamma_`` count.
    X : ndarray or CSR array of shape (n, d); (n, n) for a precomputed kernel
        Rows.
    label : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows.
    weight : ndarray of shape (n,)
        Weights, > 0.

    Returns
    -------
    ndarray of shape (n_labeled,)
        nan for a row that is, with its copies, the only one of its class.
    """
    labeled = np.flatnonzero(label)
    fold = _folds(row_keys(X)[labeled], label[labeled])
    settings = {"solver": "auto", "unlabeled": None, "verbose": False}
    if machine.gamma_:
        settings["gamma"] = machine.gamma_
    y = np.where(label == 0, np.nan, label)
    is_matrix = isinstance(machine._kernel, Precomputed)
    scores = np.full(len(labeled), np.nan)
    for k in np.unique(fold[fold >= 0]):
        out = labeled[fold == k]
        kept = np.setdiff1d(np.arange(len(label)), out)
        one = clone(machine).set_params(**settings)
        train, test = (X[kept][:, kept], X[out][:, kept]) if is_matrix else (X[kept], X[out])
        one.fit(_plain(train), y[kept], sample_weight=weight[kept])
        scores[fold == k] = one.decision_function(_plain(test))
    return scores


def _folds(key, label):
    """Fold of each row, -1 for those that are never left out."""
    fold, before = np.full(len(key), -1), 0
    for side in (-1.0, 1.0):
        rows = np.flatnonzero(label == side)
        distinct, group = np.unique(key[rows], return_inverse=True)
        if len(distinct) > 1:
            fold[rows] = (before + group) % _FOLDS
            before += len(distinct)
    return fold


def _plain(rows):
    return sp.csr_array(rows) if sp.issparse(rows) else rows
