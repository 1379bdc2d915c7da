"""What the positive-unlabelled machines share: rows and prior in, transduction out."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._threads import resolve_n_jobs
from ._margin import MarginMachine
from ._pu_data import PUData, read_labels
from ._pu_prior import estimated_prior
from ._validation import check_rows

# An interval of the prior wider than this is worth a warning.
_WIDE = 0.4
# Fewer positive rows than this are none.
_NONE = 0.75


class PUMachine(MarginMachine):
    """Base of the machines that learn from positive and unlabelled rows."""

    def _check_prior(self):
        if self.prior != "estimate" and not 0.0 < self.prior < 1.0:
            raise ValueError(
                f"prior={self.prior!r} is not allowed; pass the share of positives among the "
                "unlabelled rows, a number strictly between 0 and 1, or 'estimate'."
            )

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
        data = PUData(centred, positive, weight, self._kernel, self._gram, n_jobs)
        data.rows = rows
        if self._kept is not None:
            data.left_out = np.setdiff1d(np.arange(self.shape_fit_[0]), self._kept)
            data.left_out_rows = check_rows(self, X, reset=False)[data.left_out]
            data.left_out_positive = everywhere[data.left_out]
        return data

    def _set_prior(self, data, first=None, stacklevel=4):
        """The prior given, or estimated, or what the ``first`` machine of a path estimated."""
        self.prior_interval_ = None
        if first not in (None, self):
            self.prior_, self.prior_interval_ = first.prior_, first.prior_interval_
        elif self.prior == "estimate":
            found = estimated_prior(data, self._seed(), self.n_jobs)
            self.prior_, self.prior_interval_ = found.prior, (found.low, found.high)
            if found.prior * len(data.unlabeled) < _NONE < len(data.unlabeled) / 20:
                warnings.warn(
                    f"the class prior is estimated as {found.prior:.2g}, less than one row: no "
                    "unlabelled row looks like a random draw of the positive ones. If some should "
                    "be positive, the labelled positives are no random sample of all positives; "
                    "then pass prior=...",
                    UserWarning,
                    stacklevel=stacklevel,
                )
            elif found.high - found.low > _WIDE:
                warnings.warn(
                    f"the class prior is uncertain: {found.prior:.2g}, {found.confidence:.0%} "
                    f"interval [{found.low:.2g}, {found.high:.2g}]; pass prior=... if you know "
                    "the share of positives among the unlabelled rows, or label more rows.",
                    UserWarning,
                    stacklevel=stacklevel,
                )
        else:
            self.prior_ = float(self.prior)
            largest = data.largest_prior()
            if self.prior_ > largest:
                raise ValueError(
                    f"prior={self.prior_:g} contradicts the data: too few unlabelled rows are as "
                    "similar to the positive rows as these are to each other for more than "
                    f"{largest:.2g} of them to be positive. Pass a smaller prior or "
                    "prior='estimate', and check that the labelled positives are a random "
                    "sample of all positives."
                )

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
