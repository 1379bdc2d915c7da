"""The base class of simple methods as models."""

import warnings
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, MatrixLike, RowMatrix, VectorLike
from ..kernels.rows import validated_rows
from .candidates import CandidateScore, with_seed
from .methods import BaselineSpec
from .values import ScoreFunction, make_score_function


class Fittable(Protocol):
    """An estimator of scikit-learn."""

    def fit(self, *data: Any) -> Any:
        """Fit to data."""


E = TypeVar("E", bound=Fittable)

_ROW_CHECKS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def fit_quietly(estimator: E, *data: Any) -> E:
    """The estimator, fitted without its warnings of steps that ended and bags that hold all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(*data)
    return estimator


class Baseline(BaseEstimator):
    """An estimator of scikit-learn: the ``method``, or one of ``_specs`` by its name."""

    _specs: Mapping[str, BaselineSpec] = {}
    method: str | BaseEstimator

    @property
    def title(self) -> str:
        """The name of the method in words."""
        if isinstance(self.method, str):
            return self._specs[self.method].name
        return type(self.method).__name__

    @property
    def baseline_(self) -> ScoreFunction:
        """The function of rows that the method has found, before any threshold."""
        check_is_fitted(self)
        return self._function

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = (
            self.method != "mahalanobis"
            if isinstance(self.method, str)
            else get_tags(self.method).input_tags.sparse
        )
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_function", None) is not None

    def _make_estimator(self) -> Any:
        """Return a new estimator of the method; a ValueError where there is none of this name."""
        if not isinstance(self.method, str):
            return with_seed(self.method, self._seed())
        if self.method not in self._specs:
            raise ValueError(f"Unknown method={self.method!r}; choose {', '.join(self._specs)}.")
        estimator = self._specs[self.method].make(self._seed())
        if "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=self.n_jobs)
        return estimator

    def _make_function(self, estimator: Any, X: RowMatrix) -> ScoreFunction:
        """Return the function that an estimator of the method, fitted to rows X, has learned."""
        if isinstance(self.method, str):
            return make_score_function(estimator, X)
        return CandidateScore(estimator)

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state
        return check_random_state(seed).randint(2**31 - 1)

    def _check_training_rows(self, X: MatrixLike, y: VectorLike = "no_validation") -> RowMatrix:
        """Return rows to learn from; at least two."""
        return validated_rows(self, X, y, ensure_min_samples=2, **_ROW_CHECKS)

    def _score_rows(self, X: MatrixLike) -> FloatArray:
        """Return the function's values at rows to score."""
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, **_ROW_CHECKS)
        return self._function(X)
