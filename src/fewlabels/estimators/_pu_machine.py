"""What the positive-unlabelled machines share: rows and prior in, transduction out."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._threads import resolve_n_jobs
from ..class_prior.finding import check_prior, find_prior
from ..labels.positive_unlabelled import read_labels
from ..training.positive_unlabelled.data import PUData
from ._margin import MarginMachine
from ._validation import check_rows


class PUMachine(MarginMachine):
    """Base of the machines that learn from positive and unlabelled rows."""

    def _check_prior(self):
        check_prior(self.prior)

    def _read(self, X, y, sample_weight):
        """Rows, labels, weights and kernel as PUData; attributes that follow from them."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "a label per row that tells positive from unlabelled rows."
            )
        rows, weight = self._prepare(X, sample_weight)
        check_consistent_length(np.empty(self.shape_fit_[0]), y)
        positive, self.classes_ = read_labels(y, self.pos_label)
        everywhere = positive
        if self._kept is not None:
            positive = positive[self._kept]
            if positive.all() or not positive.any():
                raise ValueError(
                    "sample_weight leaves one class only; give some positive rows and some "
                    "unlabelled rows a weight > 0."
                )
        n_jobs = resolve_n_jobs(self.n_jobs)
        centred = self._centred(rows)
        data = PUData(centred, positive, weight, self._kernel, n_jobs)
        data.rows = rows
        if self._kept is not None:
            data.left_out = np.setdiff1d(np.arange(self.shape_fit_[0]), self._kept)
            data.left_out_rows = check_rows(self, X, reset=False)[data.left_out]
            data.left_out_positive = everywhere[data.left_out]
        return data

    def _set_prior(self, data, first=None):
        """The prior given, or estimated, or what the ``first`` machine of a path estimated."""
        if first not in (None, self):
            found = first.prior_, first.prior_interval_
        else:
            found = find_prior(data, self.prior, self._seed(), self.n_jobs)
        self.prior_, self.prior_interval_ = found

    def _store_transduction(self, data, decision):
        """Labels of the training rows from decisions about the unlabelled ones."""
        kept = np.arange(self.shape_fit_[0]) if self._kept is None else self._kept
        is_positive = np.ones(self.shape_fit_[0], dtype=bool)
        there = kept[data.unlabeled]  # -1 for rows that are leaving
        is_positive[there[there >= 0]] = self._snapped(decision)[there >= 0] > 0
        if self._kept is not None:
            predicted = self._decision(data.left_out_rows) > 0
            is_positive[data.left_out] = predicted | data.left_out_positive
        self.transduction_ = self.classes_[is_positive.astype(np.intp)]
