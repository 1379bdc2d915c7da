"""Operations of a PUSVM whose rows keep coming, positive or not."""

from __future__ import annotations

from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..labels.positive_unlabelled import check_classes, read_more_labels
from ..training.positive_unlabelled.double_hinge import double_hinge_solution
from ._convex_leave_out import decisions_without_positives
from ._convex_stream import ConvexStreaming
from ._pu_stream import PUPath


def _refuse_ramp(machine):
    if machine.loss == "ramp":
        raise ValueError(
            "loss='ramp' has many local minima, and updates are for machines with one; fit again, "
            "or use loss='double-hinge'."
        )
    return True


class PUStreaming(ConvexStreaming):
    """What a PUSVM does besides ``fit``."""

    _SHOWN = ConvexStreaming._SHOWN | frozenset(
        "lam_ risk_intercept_ transduction_ objectives_ _bias _weights _curve".split()
    )
    _FIXED = ("prior", "lam", "loss", *ConvexStreaming._FIXED)

    @available_if(_refuse_ramp)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None) -> Self:
        """Add rows and follow the solution: what ``fit`` on all rows would give.

        The first call on a new machine is ``fit``. ``gamma_``, ``prior_`` and, under the linear
        kernel, the centre stay what they are; with ``lam="auto"`` lambda follows the number of
        positive rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            New rows. They become the last training rows.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``, but all rows may be of one kind; None when all are unlabelled.
        classes : array-like of shape (2,), default=None
            Not needed; refused when these are not ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight <= 0 are left out.

        Returns
        -------
        self : PUSVM
        """
        if not self._is_begun():
            self.fit(X, y, sample_weight)
            check_classes(classes, self.classes_)
            return self
        stream = self._ready_stream()
        check_classes(classes, self.classes_)
        rows, weight = self._read_new(X, sample_weight)
        stream.add(rows, weight, read_more_labels(y, rows.shape[0], self.classes_))
        return self._follow("partial_fit", stream, self.max_steps, stacklevel=4)

    def leave_one_out_decisions(self, indices=None):
        """f of training rows by the machines trained without them, exactly.

        With the bias of least risk (``risk_intercept_``), whatever ``threshold`` is, and the
        prior that all rows have. Nothing is trained: a row between breakpoints is forgotten and
        put back, and so is a positive one, which moves the whole machine and takes longer.

        Parameters
        ----------
        indices : array-like of int, mask of shape (n_samples,) or None, default=None
            Training rows; None for all.

        Returns
        -------
        ndarray of shape (n_indices,)
        """
        return super().leave_one_out_decisions(indices)

    # -- the stream -------------------------------------------------------------------------------

    def _hold_data(self, data, multiplier):
        """Keep what an update needs of a fit."""
        X, positive = data.rows, np.zeros(data.X.shape[0], bool)
        positive[data.positive] = True
        if self._kept is not None and self.kernel != "precomputed":
            order = np.argsort(np.concatenate([self._kept, data.left_out]))
            X = (sp.vstack if sp.issparse(X) else np.vstack)([X, data.left_out_rows])[order]
            positive = np.concatenate([positive, data.left_out_positive])[order]
        self._hold(X, data.weight, multiplier, positive=positive)

    def _ready_stream(self):
        check_is_fitted(self)
        _refuse_ramp(self)
        return super()._ready_stream()

    def _make_path(self, rows, start):
        return PUPath(self, rows, start)

    def _variables(self):
        return -self.dual_coef_[0]

    def _left_out(self, stream, places):
        positive = stream.rows["positive"][places] & (stream.rows["weight"][places] > 0)
        values = np.empty(len(places))
        values[positive] = decisions_without_positives(stream, places[positive])
        values[~positive] = super()._left_out(stream, places[~positive])
        return values

    def _store_stream(self, stream):
        data, places = stream.data()
        problem, result = stream.solution(data.gram)
        self._number(stream.numbers(places))
        self.lam_ = stream.lam
        self._store_machine(data, double_hinge_solution(problem, result, data, stream.lam))
