"""Rows that the model is not sure of."""

from collections.abc import Iterator

import numpy as np
from sklearn.metrics import pairwise_distances

from .._typing import FloatArray, RandomStateLike, RowMatrix
from .base import Choice, Question, Strategy

# Rows that densities are estimated from; also the smallest pool.
_N_ROWS_SAMPLED = 200
# Least certain candidates considered for every row chosen.
_POOL_SIZE_PER_ROW = 10


class Random(Strategy):
    """Any row, each as likely: what honest estimates take.

    Parameters as :class:`Strategy`.
    """

    why = "drawn at random, for unbiased estimates"

    def utilities(self, question: Question) -> FloatArray:
        return self._rng.random_sample(len(question.y))


class Uncertain(Strategy):
    """The rows that the model is least sure of.

    Parameters as :class:`Strategy`.
    """

    needs = "doubts"
    why = "the model is least certain about it"
    why_without_model = "there is no model yet, so any row will do"

    def utilities(self, question: Question) -> FloatArray:
        if question.decisions is None:
            return self._rng.random_sample(len(question.y))
        return -question.margins


class Typical(Strategy):
    """Rows that the model is not sure of and that are like many others.

    The utility is ``density / (1 + margin)``, the density being the mean similarity to a sample of
    rows, relative to its greatest value.

    Parameters as :class:`Strategy`.
    """

    needs = "doubts"
    why = "the model is uncertain about it, and many rows are similar"
    why_without_model = "there is no model yet, and many rows are similar"

    def __init__(
        self, missing_label: object = np.nan, random_state: RandomStateLike = None
    ) -> None:
        super().__init__(missing_label, random_state)
        self._cached: tuple[RowMatrix, FloatArray] | None = None

    def utilities(self, question: Question) -> FloatArray:
        scale = np.median(question.margins[question.candidates]) or 1.0
        return self._density(question.X) / (1.0 + question.margins / scale)

    def _density(self, X: RowMatrix) -> FloatArray:
        if self._cached is None or self._cached[0] is not X:
            rows = self._rng.choice(X.shape[0], min(_N_ROWS_SAMPLED, X.shape[0]), replace=False)
            D = pairwise_distances(X, X[rows])
            density = np.exp(-((D / (np.median(D) or 1.0)) ** 2)).mean(axis=1)
            self._cached = X, density / density.max()
        return self._cached[1]


class Diverse(Strategy):
    """A batch of rows that the model is not sure of, far from labelled rows and each other.

    Among the least sure candidates, ten for every row chosen, the one farthest from the labelled
    rows and from those chosen already comes next.

    Parameters as :class:`Strategy`.
    """

    needs = "doubts"
    why = "the model is uncertain about it, and it differs from earlier rows"
    why_without_model = "there is no model yet, and it differs from earlier rows"

    def utilities(self, question: Question) -> FloatArray:
        return next(iter(self.choose(question, 1)))[1]

    def choose(self, question: Question, batch_size: int) -> Iterator[Choice]:
        X, candidates = question.X, question.candidates
        chance = self._rng.random_sample(len(candidates))  # among equally sure ones
        sure = np.lexsort((chance, question.margins[candidates]))
        pool = candidates[sure[: max(_POOL_SIZE_PER_ROW * batch_size, _N_ROWS_SAMPLED)]]
        known = np.flatnonzero(question.labeled)
        far = np.full(len(question.y), np.inf)
        far[pool] = pairwise_distances(X[pool], X[known]).min(axis=1) if len(known) else np.inf
        values = np.full(len(question.y), -np.inf)
        for _ in range(batch_size):
            values = np.full(len(question.y), -np.inf)
            values[pool] = far[pool]
            row = int(pool[np.argmax(far[pool])])
            yield row, values, self.reason(question)
            far[pool] = np.minimum(far[pool], pairwise_distances(X[pool], X[[row]])[:, 0])
            far[row] = -np.inf
