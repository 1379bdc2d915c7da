"""A threshold and p-values from the scores of rows that a model was not trained on."""

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray, RowMatrix
from ..kernels.rows import row_keys

# Scores nearer than this share of the terms they are summed from are ties, with kernel values
# in float64 and in float32.
TIE, TIE_FLOAT32 = 1e-9, 1e-6
# Positive scores end where float64 does; below, rows are as far away as can be told.
_LEAST = 1e-290
# rate * (n + 1) may be a whole number in decimals only.
DECIMALS = 1e-12


def row_numbers_of(X: RowMatrix) -> FloatArray:
    """Return a number for every row, the same for equal rows, in single precision or double."""
    return row_keys(X.astype(np.float64))


@dataclass(frozen=True, eq=False, kw_only=True)
class Conformal:
    """The calibration of a model of one class.

    Models that were trained without a row differ in radius, norm of the centre and offset.
    ``scores``, ascending, therefore hold what is said about the row alone; ``scale * scores +
    shift`` is on the scale of the model's own scores.

    Leave-one-out rows have ``keys``. Each was scored without itself, while a new
    row that equals it is scored by a model that was trained on its copy. Among the new row and
    its equals none is special, so they count as ties.
    """

    scores: FloatArray
    shift: float
    scale: float
    tie: float  # scores this near are equal: a share of the score where relative
    relative: bool  # whether scores are sums of positive terms, exact relative to themselves
    tail: float = 0.0  # below, scores are in log scale (``Function``); 0: they end at 0
    rate: float | None = None  # of new normal rows that may be rejected; None: no threshold
    keys: FloatArray | None = None  # of the rows that have the scores; None: no row was trained on
    # Numbers of the rows that have the scores, among those of a fit.
    rows: IntArray | None = None

    def as_scored(self, scores: FloatArray) -> FloatArray:
        """Return such scores on the model's scale."""
        return self.scale * scores + self.shift

    def tie_bounds(self, scores: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest model scores that count as equal to calibration scores."""
        scores = self.scores if scores is None else scores
        if not self.relative:
            middle = self.as_scored(scores)
            return middle - self.tie, middle + self.tie
        beside = self.tie * np.maximum(scores, self.tail)
        low, high = scores - beside, scores + beside
        if not self.tail:
            near = scores < _LEAST
            low, high = np.where(near, 0.0, low), np.where(near, _LEAST, high)
        return self.scale * low, self.scale * high

    @property
    def rank(self) -> int:
        """How many calibration rows a rejected row may be as normal as, itself included."""
        rate = 0.0 if self.rate is None else self.rate
        return int(np.floor(rate * (len(self.scores) + 1) * (1.0 + DECIMALS)))

    @property
    def threshold(self) -> float:
        """Rows whose score is below this are rejected; -inf where none can be."""
        if not self.rank:
            return -np.inf
        return float(self.tie_bounds(self.scores[self.rank - 1 : self.rank])[0][0])

    def p_values(self, score: FloatArray) -> FloatArray:
        """Return p-values of scores."""
        at_most = np.searchsorted(self.tie_bounds()[0], score, side="right")
        return (at_most + 1) / (len(self.scores) + 1)

    def smoothed(
        self, score: FloatArray, uniform: FloatArray, keys: FloatArray | None = None
    ) -> FloatArray:
        """Return p-values where ``uniform`` numbers break ties, even the tie of a row with itself.

        ``keys`` identify the rows.
        """
        low, high = self.tie_bounds()
        at_most = np.searchsorted(low, score, side="right")
        below = np.searchsorted(high, score, side="left")
        if self.keys is not None and keys is not None:
            n_equal = _count_of(self.keys, keys)
            beyond = n_equal - _count_below(self.keys, low, keys, score, with_equal=True)
            at_most = at_most + beyond
            below = below - _count_below(self.keys, high, keys, score, with_equal=False)
        return (below + uniform * (at_most - below + 1)) / (len(self.scores) + 1)


def _count_of(known: FloatArray, keys: FloatArray) -> IntArray:
    """Count the known keys that equal each of some keys."""
    known = np.sort(known)
    return np.searchsorted(known, keys, "right") - np.searchsorted(known, keys, "left")


def _count_below(
    known: FloatArray,
    values: FloatArray,
    keys: FloatArray,
    bounds: FloatArray,
    *,
    with_equal: bool,
) -> IntArray:
    """Count known keys that equal each key and have a value below its bound, or equal to it."""
    n = len(known)
    is_known = np.r_[np.ones(n, bool), np.zeros(len(keys), bool)]
    comes_first = is_known == with_equal
    order = np.lexsort((~comes_first, np.r_[values, bounds], np.r_[known, keys]))
    before = np.empty(len(order), np.intp)
    before[order] = np.cumsum(is_known[order])
    return before[n:] - np.searchsorted(np.sort(known), keys, "left")
