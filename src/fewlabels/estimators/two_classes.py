"""Methods of machines that tell two classes apart; each of these takes them as its own."""

from __future__ import annotations

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

# What ``probability`` may be.
PROBABILITY = [StrOptions({"sigmoid", "isotonic"}), None]


def _coef(self):
    """Weights of the linear kernel, shape (1, n_features)."""
    check_is_fitted(self)
    weights = self.function_.weights
    if weights is None:
        raise AttributeError("coef_ is only available when using a linear kernel")
    return weights[None, :]


coef_ = property(_coef)


def _intercept(self):
    """The constant of f for rows as they are given, shape (1,)."""
    function = self.function_
    moved = 0.0 if function.shift is None else float(function.weights @ function.shift)
    return np.array([function.bias - moved])


intercept_ = property(_intercept)


def decision_function(self, X) -> np.ndarray:
    """f(x); positive for the class ``classes_[1]``.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows; for ``kernel="precomputed"`` their kernel values against the training
        rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return self._value(X)


def predict(self, X) -> np.ndarray:
    """``classes_[1]`` where f(x) > 0, else ``classes_[0]``.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        Rows; for ``kernel="precomputed"`` their kernel values against the training
        rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    is_positive = self.decision_function(X) > 0
    return self.classes_[is_positive.astype(np.intp)]


# -- probabilities -------------------------------------------------------------------------------


def _curve(self):
    """The ``Curve`` from decisions to probabilities, fitted when first asked for.

    A machine says how (``_fit_curve``). It is another one for every version of the rows and
    for every kind of curve.
    """
    check_is_fitted(self)
    _asked_for(self)
    return self._late.get(curve_name(self), self._version, self._fit_curve)


def curve_name(machine):
    """The name of the curve that is asked for among the machine's late values."""
    return f"{machine.probability} curve"


curve_ = property(_curve)


def _has_curve(self):
    """Whether probabilities are asked for, and known without training again."""
    check_is_fitted(self)
    if self.probability is None:
        return False
    return self._late.known(curve_name(self), self._version) is not None


has_curve_ = property(_has_curve)


def _asked_for(machine):
    if machine.probability is None:
        raise AttributeError(
            f"this {type(machine).__name__} gives decisions, not probabilities; pass "
            "probability='isotonic' or 'sigmoid' (set_params will do for a fitted machine that "
            "holds its rows)."
        )
    return True


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
    return self.curve_(self.decision_function(X))


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
