"""A threshold and p-values from the scores of rows that a machine was not trained on."""

from dataclasses import dataclass

import numpy as np

# Scores nearer than this share of the terms they are summed from are ties, with kernel values
# in float64 and in float32.
TIE, TIE_FLOAT32 = 1e-9, 1e-6
# Positive scores end where float64 does; below, rows are as far away as can be told.
_LEAST = 1e-290
# rate * (n + 1) may be a whole number in decimals only.
DECIMALS = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Conformal:
    """The calibration of a machine of one class.

    Machines that were trained without a row differ in radius, norm of the centre and offset.
    ``scores``, ascending, therefore hold what is said about the row alone; ``scale * scores +
    shift`` is on the scale of the machine's own scores.
    """

    scores: np.ndarray
    shift: float
    scale: float
    tie: float  # scores this near are equal: a share of the score where relative
    relative: bool  # whether scores are sums of positive terms, exact relative to themselves
    tail: float = 0.0  # below, scores are in log scale (``Function``); 0: they end at 0
    rate: float | None = None  # of new normal rows that may be rejected; None: no threshold

    def as_scored(self, scores):
        """Scores such as ``scores``, on the machine's scale."""
        return self.scale * scores + self.shift

    def tie_bounds(self, scores=None):
        """Least and greatest of the machine's scores that count as equal to calibration scores."""
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
    def rank(self):
        """How many calibration rows a rejected row may be as normal as, itself included."""
        return int(np.floor(self.rate * (len(self.scores) + 1) * (1.0 + DECIMALS)))

    @property
    def threshold(self):
        """Rows whose score is below this are rejected; -inf where none can be."""
        if not self.rank:
            return -np.inf
        return float(self.tie_bounds(self.scores[self.rank - 1 : self.rank])[0][0])

    def p_values(self, score, uniform=None):
        """p-values of scores; ``uniform`` numbers break ties, even that with the row itself."""
        n = len(self.scores)
        low, high = self.tie_bounds()
        at_most = np.searchsorted(low, score, side="right")
        if uniform is None:
            return (at_most + 1) / (n + 1)
        below = np.searchsorted(high, score, side="left")
        return (below + uniform * (at_most - below + 1)) / (n + 1)
