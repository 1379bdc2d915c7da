"""What an ensemble of small balls found: a function for every bag of rows, and one scale."""

from dataclasses import dataclass

import numpy as np

from .conformal import TIE, Conformal
from .function import Function
from .solution import Solution

# Rows evaluated at a time.
_ROWS_AT_A_TIME = 65_536


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

    def score(self, X, *, diagonal=None, n_jobs=None):
        """The level of rows, in deviations from the median."""
        levels = level(self.function, X, diagonal=diagonal, n_jobs=n_jobs)
        return (levels - self.middle) / self.spread


def level(function, X, *, diagonal=None, n_jobs=None):
    """How far inside a ball rows lie, given its function.

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
class BaggedFunction:
    """The mean over the bags of what they say, each standardised."""

    bags: tuple
    boundary = 0.0
    rounding = 0.0
    tail = 0.0

    @property
    def kernels(self):
        """The kernel of every bag."""
        return tuple(bag.function.kernel for bag in self.bags)

    @property
    def vectors(self):
        """Rows of the first bag, for whoever asks of what kind rows are."""
        return self.bags[0].function.vectors

    def __call__(self, X, *, diagonal=None, n_jobs=None):
        """Values at validated rows (precomputed: their kernel values with all training rows)."""
        value = np.zeros(X.shape[0])
        for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            own = None if diagonal is None else diagonal[part]
            for bag in self.bags:
                value[part] += bag.score(X[part], diagonal=own, n_jobs=n_jobs)
        return value / len(self.bags)


@dataclass(frozen=True, eq=False, kw_only=True)
class BagsSolution(Solution):
    """The ``Solution`` of bags of one class; its function gives ``score_samples``.

    ``scores`` are those of training rows, ascending, each by the bags that it is not in.
    """

    scores: np.ndarray
    rate: float
    seed: int  # that the bags were drawn by
    stopped: str = ""  # why there are fewer bags than asked for

    def calibrated(self, scores, keys=None):
        """The ``Conformal`` of such scores; ``keys`` are those of the rows."""
        bags = self.function.bags
        size = 1.0 + float(np.mean([abs(bag.middle) / bag.spread for bag in bags]))
        return Conformal(
            scores=scores,
            keys=keys,
            shift=0.0,
            scale=1.0,
            tie=TIE * size,
            relative=False,
            rate=self.rate,
        )
