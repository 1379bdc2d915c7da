"""Simple detectors with a threshold for a rate of false alarms."""

from numbers import Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, MatrixLike, RandomStateLike
from .._util.messages import Message, ref
from ..base.locking import consistent
from ..calibration.conformal import TIE, Conformal
from ..calibration.cross_fitting import left_out_scores
from ..one_class.task import ONE_CLASS
from ..rows.grouped_folds import WholeGroups, count_once, group_rows
from ._base import Baseline, fit_quietly
from .methods import ONE_CLASS_METHODS, compute_normality
from .values import DistanceScore

_MAX_FOLDS = 10


class OneClassBaseline(OutlierMixin, Baseline):
    """A simple detector that learns from rows of one class, with thresholds and p-values.

    Use it to compare :class:`fewlabels.SVDD` and :class:`fewlabels.SVDDEnsemble` with an isolation
    forest, neighbour distances and the like, under the same thresholds.

    Parameters
    ----------
    method : str or estimator, default="root-neighbours"
        "neighbours": distance to the 10th nearest row; "root-neighbours": to the root-n-th of n
        rows; "isolation-forest", "mahalanobis": scikit-learn's. Or an outlier detector of
        scikit-learn.
    target_fpr : float, default=0.05
        Share of new normal rows that may be called outside, in (0, 1).
    random_state : int, RandomState or None, default=None
        Seed; None means 0.
    n_jobs : int or None, default=None
        Threads, for forests.

    Attributes
    ----------
    baseline_ : callable
        The method's function of rows.
    conformal_ : Conformal
        Scores of the rows as if they were new, and the threshold and p-values that follow.
    calibration_scores_ : ndarray
        These scores, ascending.
    offset_ : float
        The threshold.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    fewlabels.SVDDEnsemble : what these are compared with.

    Notes
    -----
    Rows are scored as if they were new: for distances, without themselves; else by ten fits
    without a tenth of the rows each.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.baselines import OneClassBaseline
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> OneClassBaseline("neighbours").fit(rows).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    task = ONE_CLASS
    has_own_threshold = takes_anomalies = False
    _specs = ONE_CLASS_METHODS
    conformal_: Conformal

    def __init__(
        self,
        method: str | BaseEstimator = "root-neighbours",
        target_fpr: float = 0.05,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.target_fpr = target_fpr
        self.random_state = random_state
        self.n_jobs = n_jobs

    @consistent
    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Fit the method, and set the threshold.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows of the one class.
        y : ignored
            For compatibility.
        """
        rate = self.target_fpr
        if not (isinstance(rate, Real) and 0.0 < float(rate) < 1.0):
            raise ValueError(
                Message(
                    f"{ref('target_fpr', rate)} is not allowed; pass a share in (0, 1), because "
                    "these methods have no threshold of their own."
                )
            )
        estimator, X = self._make_estimator(), self._check_training_rows(X)
        function = self._make_function(fit_quietly(estimator, X), X)
        groups = group_rows(X)
        once = count_once(np.arange(X.shape[0]), np.zeros(X.shape[0]), groups)
        if isinstance(function, DistanceScore):
            scores = function.left_out()
        else:
            folds = KFold(min(_MAX_FOLDS, len(once)), shuffle=True, random_state=self._seed())
            scores = left_out_scores(
                X.shape[0],
                list(WholeGroups(folds).split(np.empty(X.shape[0]), None, groups)),
                lambda train, test: compute_normality(
                    fit_quietly(clone(estimator), X[train]), X[test]
                ),
            )
        self._function = function
        tie = TIE * float(np.abs(scores).max(initial=0.0))
        order = once[np.argsort(scores[once], kind="stable")]
        self.conformal_ = Conformal(
            scores=scores[order],
            shift=0.0,
            scale=1.0,
            tie=tie,
            relative=False,
            rate=float(rate),
            rows=order,
        )
        return self

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """Return the method's scores: higher is more normal.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return self._score_rows(X)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """``score_samples`` minus ``offset_``; positive inside.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """+1 inside or on the boundary, -1 outside.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)

    def p_values(self, X: MatrixLike) -> np.ndarray:
        """Return conformal p-values, small for rows unlike the training rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return self.conformal_.p_values(self.score_samples(X))

    @property
    def calibration_scores_(self) -> FloatArray:
        check_is_fitted(self)
        return self.conformal_.scores

    @property
    def offset_(self) -> float:
        check_is_fitted(self)
        return self.conformal_.threshold
