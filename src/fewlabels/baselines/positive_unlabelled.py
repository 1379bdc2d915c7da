"""Simple classifiers of positive and unlabelled rows, cut where the prior says."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length

from .._typing import BoolArray, FloatArray, MatrixLike, RandomStateLike, RowMatrix, VectorLike
from ..base.locking import consistent
from ..calibration.cross_fitting import left_out_scores
from ..calibration.curve import Curve, class_of
from ..calibration.fit_curves import curve_with_prior, curve_with_priors
from ..class_prior.prior import Prior, check_prior, estimate_prior_of_rows
from ..data.labels.positive_unlabelled import read_labels
from ..positive_unlabelled.scores import quantile_cut
from ..positive_unlabelled.task import POSITIVE_UNLABELLED
from ..rows.grouped_folds import WholeGroups, group_rows, kinds_of_groups
from ._base import Baseline, fit_quietly
from .methods import POSITIVE_UNLABELLED_METHODS
from .values import ForestVotes, ScoreFunction

_MAX_FOLDS = 5
# Scores nearer than this share of the largest are equal.
_ROUNDING = 1e-12


class PUBaseline(ClassifierMixin, Baseline):
    """A classifier that treats unlabelled rows as negatives, with a threshold from the prior.

    Use it to compare :class:`fewlabels.PUEnsemble` with a random forest, an SVM or logistic
    regression under the same threshold and probabilities.

    Rows are scored as if they were new: by the trees that a row did not train, or by five fits
    without a part of the rows each. The share ``prior`` of the unlabelled rows that scores highest
    is called positive; probabilities follow from these scores and the prior.

    Parameters
    ----------
    method : str or estimator, default="forest"
        "forest": a forest with the size of leaves and the columns per split that do best out of
        bag; "random-forest": one with 5 rows in a leaf; "pu-logistic": logistic regression;
        "pu-svm": scikit-learn's SVC. Classes are weighted. Or a classifier of scikit-learn.
    prior : "estimate" or float, default="estimate"
        Share of positives among the *unlabelled* rows, in (0, 1).
    pos_label : label or None, default=None
        The positive class, where it is not the greater value of y.
    random_state : int, RandomState or None, default=None
        Seed; None means 0.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    baseline_ : callable
        The method's function of rows.
    prior_, prior_interval_, prior_quantiles_, classes_, transduction_, curve_
        As of :class:`fewlabels.PUSVM`.
    cut_ : float
        Where the function is cut.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    fewlabels.PUEnsemble : what these are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.baselines import PUBaseline
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 1, (80, 2)), rng.normal(-2, 1, (120, 2))])
    >>> y = np.r_[np.ones(40), np.zeros(160)]  # 40 of the 80 positives are labelled
    >>> PUBaseline("pu-logistic", prior=0.25).fit(X, y).predict([[2.0, 2.0], [-2.0, -2.0]])
    array([1., 0.])
    """

    task = POSITIVE_UNLABELLED
    _specs = POSITIVE_UNLABELLED_METHODS
    has_curve_ = True
    probability = "isotonic"

    def __init__(
        self,
        method: str | BaseEstimator = "forest",
        prior: float | str = "estimate",
        pos_label: Any = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.prior = prior
        self.pos_label = pos_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    @consistent
    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit the method, and cut it.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Two values, or one and missing ones (NaN, None, ""). The greater value (or
            ``pos_label``) marks positive rows, the other one unlabelled rows.
        """
        check_prior(self.prior)
        estimator, X = self._make_estimator(), self._check_training_rows(X)
        check_consistent_length(X, y)
        positive, self.classes_ = read_labels(y, self.pos_label)
        if self.prior == "estimate":
            prior = estimate_prior_of_rows(X, positive, self._seed(), self.n_jobs)
        else:
            prior = Prior(float(self.prior))
        self.prior_, self.prior_interval_, self.prior_quantiles_ = prior
        function, held_out = self._fit_method(estimator, X, positive)
        unlabelled = held_out[~positive]
        rounding = _ROUNDING * float(np.abs(held_out).max(initial=0.0))
        cut = quantile_cut(unlabelled, np.ones(len(unlabelled)), self.prior_, rounding)
        self._function, self.cut_ = function, float(cut)
        found = np.where(positive, True, held_out > cut)
        self.transduction_ = self.classes_[found.astype(np.intp)]
        positive_scores, unlabelled_scores = (
            (part - cut, np.ones(len(part))) for part in (held_out[positive], unlabelled)
        )
        self.curve_: Curve
        if self.prior_quantiles_ is None:
            curve = curve_with_prior(
                positive_scores, unlabelled_scores, self.prior_, self.probability
            )
            self.curve_ = replace(curve, agrees=True)
        else:
            quantiles = self.prior_quantiles_
            self.curve_ = curve_with_priors(
                positive_scores, unlabelled_scores, quantiles, self.probability
            )
        return self

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the method's scores above the cut; positive for the positive class.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        return self._score_rows(X) - self.cut_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The positive class where the decision is above 0, else the mark of unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows.
        """
        decision = self.decision_function(X)
        return self.classes_[class_of(decision)]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of the two classes, for rows drawn as the unlabelled ones were.

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
        """ROC AUC of positive rows against all others, as of ``PUSVM``.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows that were not trained on.
        y : array-like of shape (n_samples,)
            Labels; rows of ``classes_[1]`` are positive.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        """
        from ..metrics.default_scores import positives_auc  # which takes its time

        decision = self.decision_function(X)
        return positives_auc(y, decision, self.classes_[1], sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _fit_method(
        self, estimator: Any, X: RowMatrix, positive: BoolArray
    ) -> tuple[ScoreFunction, FloatArray]:
        """Return the function, and values of the rows by fits without them."""
        y, groups = positive.astype(int), group_rows(X, positive.astype(int) - 1)
        of_groups = kinds_of_groups(positive, groups)
        fewest = int(min(of_groups.sum(), (~of_groups).sum()))
        if isinstance(self.method, str) and hasattr(estimator, "oob_score"):
            estimator.set_params(oob_score=True)
        function = self._make_function(fit_quietly(estimator, X, y), X)
        if isinstance(function, ForestVotes):
            held_out = estimator.oob_decision_function_[:, 1]
            missing = ~np.isfinite(held_out)  # rows that are in all bags
            return function, np.where(missing, np.nanmean(held_out), held_out)
        if fewest < 2:
            return function, function(X)
        folds = StratifiedKFold(min(_MAX_FOLDS, fewest), shuffle=True, random_state=self._seed())
        held_out = left_out_scores(
            len(y),
            list(WholeGroups(folds).split(X, y, groups)),
            lambda train, test: self._make_function(
                fit_quietly(clone(estimator), X[train], y[train]), X[train]
            )(X[test]),
        )
        return function, held_out
