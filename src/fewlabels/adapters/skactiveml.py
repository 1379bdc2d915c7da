"""Strategies and models between this library and scikit-activeml, in both directions."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._typing import (
    AnyArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    VectorLike,
)
from ..data.checks import single_sentences
from ..data.labels.arrays import split_missing
from ..kernels.rows import checked_rows
from ..querying import Strategy
from ..querying.base import Question, class_probabilities, decisions_of
from ..semi_supervised.s3vm import S3VM

try:
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SkactivemlClassifier
    from skactiveml.utils import check_n_features, is_labeled
except ImportError:  # said when one is created
    SingleAnnotatorPoolQueryStrategy = SkactivemlClassifier = None  # type: ignore[misc, assignment]


class S3VMClassifier(SkactivemlClassifier or object):  # type: ignore[misc]
    """Semi-supervised SVM for the loops and strategies of scikit-activeml.

    Rows without a label are learned from, too. Until two classes have a label all are as likely.

    Parameters
    ----------
    model : S3VM, default=None
        The model, not fitted; its ``unlabeled`` is set. None is ``S3VM(balance=False)``: labels
        of rows that were requested say nothing of the classes' shares.
    classes, missing_label, cost_matrix, random_state
        As of scikit-activeml's classifiers.

    Attributes
    ----------
    model_ : S3VM or None
        The model of the labels so far; None before there are two classes of them.
    """

    def __init__(
        self,
        model: S3VM | None = None,
        classes: VectorLike | None = None,
        missing_label: object = np.nan,
        cost_matrix: FloatArray | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        _require_skactiveml()
        super().__init__(classes, missing_label, cost_matrix, random_state)
        self.model = model

    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, ``missing_label`` where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        """
        y = _mark_unlabelled(y, self.missing_label)
        with single_sentences(X, "X"):
            X, y, sample_weight = self._validate_data(X, y, sample_weight)
        labeled = is_labeled(y, missing_label=-1)
        codes = np.where(labeled, y, -1).astype(int)
        self.model_ = None
        if len(np.unique(codes[labeled])) > 1:
            model = S3VM(balance=False) if self.model is None else self.model
            parameters = {**model.get_params(), "unlabeled": -1}
            self.model_ = S3VM(**parameters).fit(X, codes, sample_weight)
        return self

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return probabilities of the classes, logistic in the decisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first.")
        if self.model_ is None:
            rows = checked_rows(X)
            check_n_features(self, rows, reset=False)
            return np.full((len(rows), len(self.classes_)), 1.0 / len(self.classes_))
        found = class_probabilities(self.model_.decision_function(X))
        shares = np.zeros((len(found), len(self.classes_)))
        shares[:, self.model_.classes_] = found
        return shares


class QueryStrategy(SingleAnnotatorPoolQueryStrategy or object):  # type: ignore[misc]
    """A strategy of this library where scikit-activeml takes one of its own.

    Parameters
    ----------
    strategy : Strategy
        One of :mod:`fewlabels.querying`.
    missing_label : scalar, default=nan
        Value of y that marks rows without a label.
    random_state : int or RandomState, default=None
        Not used: chance is the strategy's own.
    """

    def __init__(
        self,
        strategy: Strategy,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        _require_skactiveml()
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.strategy = strategy

    def query(
        self,
        X: MatrixLike,
        y: VectorLike,
        clf: BaseEstimator | None = None,
        candidates: VectorLike | None = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> IntArray | tuple[IntArray, FloatArray]:
        """Choose rows, as :meth:`fewlabels.querying.Strategy.query` does.

        Parameters
        ----------
        X, y, clf, candidates, batch_size, return_utilities
            As there; ``clf`` is fitted, and candidates are rows of X.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        _X_candidates, mapping = self._transform_candidates(candidates, X, y)
        if mapping is None:
            raise ValueError("candidates must be positions of rows of X.")
        clf = getattr(clf, "model_", None) or clf
        return self.strategy.query(
            X, y, clf, mapping, batch_size=batch_size, return_utilities=return_utilities
        )


class SkactivemlAdapter(Strategy):
    """A strategy of scikit-activeml where this library takes one of its own.

    Parameters
    ----------
    strategy : SingleAnnotatorPoolQueryStrategy
        Theirs, with ``missing_label=nan``; those that take ``clf`` get the one passed.
    missing_label : scalar, default=nan
        Value of y that marks rows without a label, besides missing ones.
    random_state : int, RandomState or None, default=None
        Not used: chance is the strategy's own.
    """

    needs = "doubts"

    def __init__(
        self,
        strategy: SingleAnnotatorPoolQueryStrategy,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
    ) -> None:
        _require_skactiveml()
        super().__init__(missing_label, random_state)
        self.strategy = strategy
        self.why = f"chosen by {type(strategy).__name__}"

    def utilities(self, question: Question) -> FloatArray:
        return next(iter(self.choose(question, 1)))[1]

    def choose(self, question: Question, batch_size: int) -> Iterator[tuple[int, FloatArray, str]]:
        y = np.full(len(question.y), np.nan)
        names, codes = np.unique(question.y[question.labeled], return_inverse=True)
        y[question.labeled] = codes
        given = {}
        if question.clf is not None:
            given = {"clf": _FittedClassifier(question, names), "fit_clf": False}
        rows, values = self.strategy.query(
            X=question.X,
            y=y,
            candidates=question.candidates,
            batch_size=batch_size,
            return_utilities=True,
            **given,
        )
        for row, one in zip(rows, values, strict=True):
            yield int(row), one, self.why


class _FittedClassifier(SkactivemlClassifier or object):  # type: ignore[misc]
    """A fitted model as a classifier that scikit-activeml does not fit again."""

    def __init__(self, question: Question, names: AnyArray) -> None:
        super().__init__(list(range(len(names))), np.nan, None, None)
        self.question = question
        self.classes_ = np.arange(len(names))

    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        return self

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        return class_probabilities(decisions_of(self.question.clf, X))


def _mark_unlabelled(y: VectorLike, mark: object) -> VectorLike:
    """Mark texts without a label, also where another value than the mark is no label."""
    values, missing = split_missing(y, mark)
    if not missing.any() or not (mark is None or isinstance(mark, str)):
        return y
    values = values.astype(object)
    values[missing] = mark
    return values


def _require_skactiveml() -> None:
    if SkactivemlClassifier is None:
        raise ImportError("This needs scikit-activeml; run pip install scikit-activeml.")
