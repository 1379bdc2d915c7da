"""The solution of an ensemble of small balls: a function per bag of rows, on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, RowMatrix
from .._util.threads import resolve_n_jobs
from ..base.solution import Function, Solution
from ..calibration.conformal import TIE, Conformal
from ..kernels import Cells, Kernel

# Rows evaluated at a time.
_MAX_ROWS_AT_A_TIME = 65_536
# Added to similarities before their logarithm is taken.
FLOOR = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class Bag:
    """The ball of one bag: what it says of rows, and of those that are not in the bag."""

    function: Function
    marks: np.ndarray  # of the rows in the bag, uint64, in their order
    rows: np.ndarray  # the training rows that these are
    used: np.ndarray  # which of these have a part in the ball
    middle: float  # median of the level over rows that are not in the bag
    spread: float  # median absolute deviation from it, > 0
    entry: dict  # what the history says

    def score(
        self, X: RowMatrix, *, diagonal: FloatArray | None = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the level of rows, in deviations from the median."""
        levels = compute_level(self.function, X, diagonal=diagonal, n_jobs=n_jobs)
        return (levels - self.middle) / self.spread


def compute_level(
    function: Function,
    X: RowMatrix,
    *,
    diagonal: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return how far inside a ball rows lie, given its function.

    The logarithm of the sum of kernel values of a similarity; minus the squared distance to the
    centre under any other kernel.
    """
    value = function(X, diagonal=diagonal, n_jobs=n_jobs)
    if not function.kernel.is_similarity:
        return value
    tail = function.tail
    beyond = value / tail - 1.0 + np.log(tail)
    return np.where(value < tail, beyond, np.log(np.maximum(value, tail)))


@dataclass(frozen=True, eq=False, kw_only=True)
class IsolationSimilarity:
    """The log of a row's mean similarity to training rows under the isolation kernel."""

    kernel: Cells
    weights: np.ndarray  # of the cells, so that their sum is the mean similarity

    def __call__(self, X: RowMatrix, *, n_jobs: int | None = None) -> FloatArray:
        return log_similarity(self.kernel.sums(X, self.weights, resolve_n_jobs(n_jobs)))


def log_similarity(values: FloatArray) -> FloatArray:
    """Return the log of mean similarities under the isolation kernel, which may be 0."""
    return np.log(np.maximum(values, 0.0) + FLOOR)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreComponent:
    """One of the scores that an ensemble takes the smallest of, standardised.

    It is the mean over some ``bags``, or the function ``isolated``.
    """

    bags: tuple[int, ...] = ()  # their numbers
    isolated: IsolationSimilarity | None = None
    middle: float  # median over training rows that have no part in the score
    spread: float  # what the difference from it is divided by, > 0

    def standardise(self, scores: FloatArray) -> FloatArray:
        """Return scores in units of the spread."""
        return (scores - self.middle) / self.spread


@dataclass(frozen=True, eq=False, kw_only=True)
class BaggedFunction:
    """The mean over the bags of what they say; or the smallest of several such scores."""

    bags: tuple[Bag, ...]
    parts: tuple[ScoreComponent, ...] = ()  # none: the mean over all bags
    boundary = 0.0
    rounding = 0.0
    tail = 0.0

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of every bag."""
        return tuple(bag.function.kernel for bag in self.bags)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without kernels, which the bags have."""
        return {name: value for name, value in vars(self).items() if name != "kernels"}

    @property
    def vectors(self) -> RowMatrix:
        """Rows of the first bag, for whoever asks of what kind rows are."""
        return self.bags[0].function.vectors

    def __call__(
        self, X: RowMatrix, *, diagonal: FloatArray | None = None, n_jobs: int | None = None
    ) -> FloatArray:
        """Return values at validated rows.

        Precomputed rows are their kernel values with all training rows.
        """
        value = np.empty(X.shape[0])
        for first in range(0, X.shape[0], _MAX_ROWS_AT_A_TIME):
            part = slice(first, first + _MAX_ROWS_AT_A_TIME)
            own = None if diagonal is None else diagonal[part]
            value[part] = self._values(X[part], own, n_jobs)
        return value

    def _values(self, X: RowMatrix, diagonal: FloatArray | None, n_jobs: int | None) -> FloatArray:
        if not self.parts:
            return self._mean(self.bags, X, diagonal, n_jobs)
        scores = []
        for part in self.parts:
            if part.isolated is None:
                bags = [self.bags[number] for number in part.bags]
                found = self._mean(bags, X, diagonal, n_jobs)
            else:
                found = part.isolated(X, n_jobs=n_jobs)
            scores.append(part.standardise(found))
        return np.min(scores, axis=0)

    @staticmethod
    def _mean(
        bags: Sequence[Bag], X: RowMatrix, diagonal: FloatArray | None, n_jobs: int | None
    ) -> FloatArray:
        value = np.zeros(X.shape[0])
        for bag in bags:
            value += bag.score(X, diagonal=diagonal, n_jobs=n_jobs)
        return value / len(bags)


@dataclass(frozen=True, eq=False, kw_only=True)
class BagsSolution(Solution):
    """The ``Solution`` of bags of one class; its function gives ``score_samples``.

    ``scores`` belong to training rows, ascending, each by the bags that it is not in.
    """

    function: BaggedFunction  # type: ignore[assignment]  # a function for each bag, not one
    scores: FloatArray
    rate: float
    seed: int  # that the bags were drawn by
    scored: np.ndarray | None = None  # numbers of the training rows that have the scores

    def calibrated(self, scores: FloatArray, keys: AnyArray | None = None) -> Conformal:
        """Return the ``Conformal`` of such scores; ``keys`` identify the rows."""
        bags = self.function.bags
        size = 1.0 + float(np.mean([abs(bag.middle) / bag.spread for bag in bags]))
        size /= min([1.0, *(part.spread for part in self.function.parts)])
        return Conformal(
            scores=scores,
            keys=keys,
            shift=0.0,
            scale=1.0,
            tie=TIE * size,
            relative=False,
            rate=self.rate,
        )
