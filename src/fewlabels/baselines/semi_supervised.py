"""Simple classifiers of a few labels and unlabelled rows."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_consistent_length

from .._typing import FloatArray, IntArray, MatrixLike, RandomStateLike, RowMatrix, VectorLike
from ..base.locking import consistent
from ..calibration.cross_fitting import left_out_scores
from ..calibration.curve import ClassCurves, Curve, class_of
from ..calibration.fit_curves import curve_of_labels, curves_of_classes
from ..data.labels.semi_supervised import class_indices, read_semi_labels
from ..rows.grouped_folds import WholeGroups, group_rows, kinds_of_groups, take_groups
from ..semi_supervised.task import SEMI_SUPERVISED
from ._base import Baseline, E, fit_quietly
from .methods import SEMI_SUPERVISED_METHODS

_MAX_FOLDS = 10


class SemiSupervisedBaseline(ClassifierMixin, Baseline):
    """A simple classifier of a few labels, with or without the unlabelled rows.

    Use it to compare :class:`fewlabels.S3VM` with an SVM, trees, self-training or label spreading.

    Probabilities are a curve of the decisions of labelled rows held out; where a class has one
    label there are none.

    Parameters
    ----------
    method : str or estimator, default="logistic"
        "logistic", "svm", "extra-trees": logistic regression, SVC and extremely random trees of
        the labels alone; "self-training": of logistic regression; "spreading": label spreading
        over the 7 nearest neighbours; "tuned-spreading": over the graph that does best on labels
        held out. Or a classifier of scikit-learn, which learns from the labels alone.
    unlabeled : object, default=-1
        The mark of unlabelled rows, besides missing values; None for none.
    random_state : int, RandomState or None, default=None
        Seed; None means 0.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    baseline_ : callable
        The method's function of rows.
    classes_, transduction_, curve_
        As of :class:`fewlabels.S3VM`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    fewlabels.S3VM : what these are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.baselines import SemiSupervisedBaseline
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-1.5], [1.5]])
    >>> y = np.array([0, 0, 1, 1, -1, -1])
    >>> SemiSupervisedBaseline("logistic").fit(X, y).transduction_
    array([0, 0, 1, 1, 0, 1])
    """

    task = SEMI_SUPERVISED
    _specs = SEMI_SUPERVISED_METHODS
    probability: str | None = "sigmoid"

    def __init__(
        self,
        method: str | BaseEstimator = "logistic",
        unlabeled: Any = -1,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.n_jobs = n_jobs

    @consistent
    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit the method.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels; ``unlabeled`` or a missing value where there is none.
        """
        estimator, X = self._make_estimator(), self._check_training_rows(X)
        check_consistent_length(X, y)
        label, self.classes_, _ = read_semi_labels(y, self.unlabeled)
        place = class_indices(label, len(self.classes_))
        self._function = self._make_function(self._fit_method(estimator, X, place), X)
        places = np.where(place < 0, class_of(self._function(X)), place)
        self.transduction_ = self.classes_[places]
        self._curve = self._fit_curve(estimator, X, place)
        return self

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Positive for the class ``classes_[1]``, or one decision for each of several classes.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return self._score_rows(X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the class of the largest decision.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        decision = self.decision_function(X)
        return self.classes_[class_of(decision)]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of the classes, by labelled rows held out.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        decision = self.decision_function(X)
        return self.curve_(decision)

    def score(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None
    ) -> float:
        """Return the accuracy on the labelled rows, as of ``S3VM``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Classes; unlabelled rows are missing or ``unlabeled``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        """
        from ..metrics.default_scores import labelled_accuracy  # which takes its time

        return labelled_accuracy(y, self.predict(X), self.unlabeled, self.classes_, sample_weight)

    def uncalibrated(self) -> Self:
        """An unfitted copy without probabilities, which takes one fit where this takes eleven."""
        copy = clone(self)
        copy.probability = None
        return copy

    @property
    def has_curve_(self) -> bool:
        """bool: Whether there are probabilities."""
        return getattr(self, "_curve", None) is not None

    @property
    def curve_(self) -> Curve | ClassCurves:
        """The ``Curve`` from decisions to probabilities."""
        if not self.has_curve_:
            raise ValueError(
                "there are no probabilities, because a class has only one labelled row and it "
                "can't be held out; label a second one."
            )
        curve = self._curve
        assert curve is not None
        return curve

    def _fit_method(self, estimator: E, X: RowMatrix, place: IntArray) -> E:
        """Return the estimator, fitted to places of classes (-1: none)."""
        if not isinstance(self.method, str) or self._specs[self.method].trains_on == "labels":
            known = np.flatnonzero(place >= 0)
            X, place = X[known], place[known]
        return fit_quietly(estimator, X, place)

    def _fit_curve(
        self, estimator: Any, X: RowMatrix, place: IntArray
    ) -> Curve | ClassCurves | None:
        known = np.flatnonzero(place >= 0)
        groups = take_groups(group_rows(X, place.astype(np.intp, copy=False)), known)
        of_groups = kinds_of_groups(place[known], groups)
        n_classes = len(self.classes_)
        fewest = int(np.bincount(of_groups, minlength=n_classes).min())
        if fewest < 2 or self.probability is None:
            return None
        folds = StratifiedKFold(min(_MAX_FOLDS, fewest), shuffle=True, random_state=self._seed())

        def held_out(_: IntArray, test: IntArray) -> FloatArray:
            hidden = place.copy()
            hidden[known[test]] = -1
            return self._make_function(self._fit_method(clone(estimator), X, hidden), X)(
                X[known[test]]
            )

        scores = left_out_scores(
            len(known),
            list(WholeGroups(folds).split(known, place[known], groups)),
            held_out,
            n_scores=n_classes if n_classes > 2 else None,
        )
        weight = np.ones(len(known))
        curve: Curve | ClassCurves
        if n_classes > 2:
            curve = curves_of_classes(scores, place[known], weight, self.probability)
        else:
            curve = curve_of_labels(scores, place[known] == 1, weight, self.probability)
        return replace(curve, agrees=True)
