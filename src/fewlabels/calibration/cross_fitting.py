"""The loop over folds: models fitted to some rows, and asked about the others."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray, RowMatrix

T = TypeVar("T")
Fittable = TypeVar("Fittable", bound=BaseEstimator)
# Rows to train on, and rows to test on.
Split: TypeAlias = tuple[IntArray, IntArray]


class Sample(NamedTuple):
    """Rows to be split (``pairwise``: their kernel values), labels, and weights or None.

    Rows of one of the ``groups``, if there are any, are held out together.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    pairwise: bool = False
    groups: np.ndarray | None = None

    def rows(self, which: IntArray, train: IntArray) -> RowMatrix:
        """Return some rows as a model takes them that was fitted to the rows ``train``."""
        return self.X[np.ix_(which, train)] if self.pairwise else self.X[which]

    def fit(self, estimator: Fittable, train: IntArray, **options: Any) -> Fittable:
        """Fit the estimator to the rows ``train``."""
        if self.weight is not None:
            options["sample_weight"] = self.weight[train]
        return estimator.fit(self.rows(train, train), self.y[train], **options)


def cross_fit(
    splits: Sequence[Split],
    evaluate: Callable[..., T],
    candidates: Sequence[Any] = (None,),
    *,
    is_over: Callable[[], bool] | None = None,
) -> Iterator[tuple[int, int, T]]:
    """Yield place, fold and ``evaluate(candidate, *split)``, until ``is_over``.

    All candidates run on a fold before the next one, so that an early end leaves whole folds.
    """
    for fold, place in product(range(len(splits)), range(len(candidates))):
        if is_over is not None and is_over():
            return
        yield place, fold, evaluate(candidates[place], *splits[fold])


def left_out_scores(
    n: int,
    splits: Sequence[Split],
    score: Callable[[IntArray, IntArray], FloatArray | None],
    *,
    is_over: Callable[[], bool] | None = None,
    n_scores: int | None = None,
) -> FloatArray:
    """Score ``n`` rows by ``score(train, test)`` on splits; NaN where there is no score.

    With ``n_scores`` so many of each row, shape (n, n_scores).
    """
    scores = np.full(n if n_scores is None else (n, n_scores), np.nan)
    found = cross_fit(splits, lambda _, train, test: score(train, test), is_over=is_over)
    for _, fold, values in found:
        if values is not None:
            test = splits[fold][1]
            scores[test] = np.reshape(values, scores[test].shape)
    return scores
