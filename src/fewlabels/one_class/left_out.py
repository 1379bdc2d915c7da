"""Training rows of one-class models, each judged as if it had been left out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import OutlierMixin

from .._typing import FloatArray
from ..calibration.conformal import Conformal
from ..calibration.left_out_scores import is_split

# Training rows outside whose number differs from a rate: by chance once in so many fits, each way.
_CHANCE_LEVEL = 1e-3


class OutsideCount(NamedTuple):
    """How many of the rows ``counted`` are ``outside``; ``left_out``: each scored without itself.

    Otherwise the rows are scored by the model that was trained on them.
    """

    outside: int
    counted: int
    left_out: bool

    @property
    def share(self) -> float:
        """The share of rows outside."""
        return self.outside / self.counted if self.counted else float("nan")


def count_outside(model: Any, X: Any) -> OutsideCount:
    """Count the training rows outside, each scored as if it had been left out.

    Parameters
    ----------
    model : estimator
        A fitted one-class model.
    X : {ndarray, sparse}
        Rows it was trained on; scored where the model has no left-out scores of any.

    Returns
    -------
    Outside
        Of calibrated models the rows that calibrate; of others all rows of the model, if leaving
        each out is quick.
    """
    decisions = _find_left_out_decisions(model)
    left_out = decisions is not None
    if decisions is None:
        decisions = np.asarray(model.decision_function(X))
    return OutsideCount(int(np.count_nonzero(decisions < 0)), len(decisions), left_out)


def predict_left_out(model: Any, X: Any) -> NDArray[np.intp]:
    """Return 1 inside and -1 outside for the rows of a fit, scored as if left out where possible.

    These are all rows that calibrate. Rows that don't (confirmed anomalies, rows that a split
    trained on, those that weren't drawn) are judged by ``predict``.
    """
    labels = np.array(model.predict(X), dtype=np.intp)
    conformal = model.conformal_
    if conformal.rows is not None:
        labels[conformal.rows] = np.where(_calibration_decisions(conformal) >= 0, 1, -1)
    return labels


class FitPredict(OutlierMixin):
    """An outlier detector that judges the rows of a fit as it judges new rows."""

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.intp]:
        """Fit to rows, and say which of them are outside.

        This is what ``fit(X).predict(X)`` gives, as in scikit-learn, unless that is misleading:
        a model may know its training rows by heart, or reject many of them, above all where rows
        have thousands of columns. If the share of rows outside differs from ``target_fpr`` by
        more than chance explains, each row is scored as if it had been left out.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        **kwargs
            What else :meth:`fit` takes.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            +1 inside, -1 outside.
        """
        labels = super().fit_predict(X, y, **kwargs)
        if self.target_fpr is None or not isinstance(labels, np.ndarray):
            return labels
        n, outside = len(labels), int(np.count_nonzero(labels < 0))
        few, many = binom.ppf([_CHANCE_LEVEL, 1.0 - _CHANCE_LEVEL], n, self.target_fpr)
        return labels if few <= outside <= many else predict_left_out(self, X)


def _find_left_out_decisions(model: Any) -> FloatArray | None:
    """Return decisions about rows that were left out, without the order of these.

    None for no such.
    """
    if model.target_fpr is not None:
        return _calibration_decisions(model.conformal_)
    if not getattr(model, "holds_rows_", False) or model._learns_kernel:
        return None
    if is_split("auto", False, model.shape_fit_[0], int(np.sum(model.n_support_))):
        return None  # it would take long
    return model.leave_one_out_decisions()


def _calibration_decisions(conformal: Conformal) -> FloatArray:
    """Return decisions about the rows that calibrate; with a threshold of -inf all are inside."""
    return conformal.as_scored(conformal.scores) - conformal.threshold
