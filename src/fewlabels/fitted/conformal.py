"""A threshold and p-values from the scores of rows that a machine was not trained on."""

from __future__ import annotations

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
    ``scores`` therefore hold what is said about the row alone; ``scale * scores + shift`` is on
    the scale of the machine's own scores.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Scores of the rows that calibrate, ascending.
    shift, scale : float
        From these to the machine's scores.
    tie : float
        Scores that differ by no more than this count as equal: times the score where
        ``relative``, else a number of the machine's scores.
    relative : bool
        Whether scores are sums of positive terms, and as exact as these relative to themselves.
    rate : float or None
        Share of new normal rows that may be rejected; None where no threshold was asked for.
    """

    scores: np.ndarray
    shift: float
    scale: float
    tie: float
    relative: bool
    rate: float | None = None

    def comparable(self, score):
        """Scores of the machine in the unit of ``scores``."""
        return (score - self.shift) / self.scale

    def as_scored(self, scores):
        """Scores such as ``scores``, on the machine's scale."""
        return self.scale * scores + self.shift

    def tie_bounds(self, scores=None):
        """The machine's scores that count as equal to calibration scores: least and greatest.

        Parameters
        ----------
        scores : ndarray or None, default=None
            Calibration scores; None for all.

        Returns
        -------
        low, high : ndarray
        """
        scores = self.scores if scores is None else scores
        if not self.relative:
            middle = self.as_scored(scores)
            return middle - self.tie, middle + self.tie
        near = scores < _LEAST
        low = np.where(near, 0.0, self.scale * scores * (1.0 - self.tie))
        return low, self.scale * np.where(near, _LEAST, scores * (1.0 + self.tie))

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
        """Conformal p-values of rows from their scores.

        Parameters
        ----------
        score : ndarray of shape (m,)
            Scores of the machine.
        uniform : ndarray of shape (m,) or None, default=None
            Uniform numbers that break ties, the row's own with itself included.

        Returns
        -------
        ndarray of shape (m,)
        """
        n = len(self.scores)
        low, high = self.tie_bounds()
        at_most = np.searchsorted(low, score, side="right")
        if uniform is None:
            return (at_most + 1) / (n + 1)
        below = np.searchsorted(high, score, side="left")
        return (below + uniform * (at_most - below + 1)) / (n + 1)
