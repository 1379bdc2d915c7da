"""Probabilities of the two classes from the decisions of a machine."""

from __future__ import annotations

import threading
from dataclasses import asdict

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..fitted import Curve

# A curve is filled in place, by one thread.
_FITTING = threading.RLock()
PROBABILITY = [StrOptions({"sigmoid", "isotonic"}), None]


def _asked_for(machine):
    if machine.probability is None:
        raise AttributeError(
            f"this {type(machine).__name__} gives decisions, not probabilities; pass "
            "probability='isotonic' or 'sigmoid' (set_params will do for a fitted machine that "
            "holds its rows)."
        )
    return True


class ProbabilityMachine:
    """A machine that has ``predict_proba`` when it is asked for by ``probability``.

    Not by default: ``predict`` keeps the prior's share and is not where the probability is one
    half, on which scikit-learn's contract for classifiers with ``predict_proba`` insists.

    ``_curve`` holds the curve from decisions to probabilities as plain values. It is empty, or
    holds what the curve is fitted to, until it is first asked for, and is then filled in
    place: no attribute is set by a prediction.
    """

    def _fitted_curve(self):
        """The curve, fitted on scores of rows that were not trained on."""
        raise NotImplementedError

    def _curve_now(self):
        held = getattr(self, "_curve", None)
        if held is None:  # after an update, or in a model that was saved before there were curves
            held = self._curve = {}
        with _FITTING:
            fitted = "slope" in held
            if not fitted or held.get("kind", self.probability) != self.probability:
                found = asdict(self._fitted_curve())
                held.clear()
                held.update(found)
        return held

    @available_if(_asked_for)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of the two classes, for rows drawn as the unlabelled ones were.

        An increasing function of the decision, see ``probability``. The first call after rows
        have changed fits it, and a model that is saved keeps it. ``predict`` cuts elsewhere
        than at one half: the two answer different questions.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Columns in the order of ``classes_``; rows sum to 1.

        Raises
        ------
        ValueError
            When the curve has to be fitted and the machine does not hold what that takes, as
            one that was saved without its rows before the first call.
        """
        check_is_fitted(self)
        decision = self.decision_function(X)  # type: ignore[attr-defined]
        return Curve(**self._curve_now())(decision)

    @available_if(_asked_for)
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
