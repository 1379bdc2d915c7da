"""Whether a model's held-out scores separate the labels better than chance."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

# Shuffled labels, which give the standard error without a signal.
_SHUFFLES = 499
# Confidence of the interval. Its ends decide, so that a verdict can't contradict it.
CONFIDENCE = 0.99
# A ROC AUC that is worth having: where the interval excludes it, labels were enough to tell.
WORTHWHILE = 0.7
# Nearer to 0 and 1 than this, variances are rounding.
_EDGE = 1e-9
SIGNAL, NO_SIGNAL, TOO_FEW = "signal", "no signal", "too few labels"


class PermutationTest(NamedTuple):
    """ROC AUC of held-out rows with a 99 % interval; chance is 0.5.

    Of labelled positive rows against unlabelled rows, of one class against the other, or the mean
    over several classes of each against the rest. ``outcome`` is "signal" if the interval lies
    above 0.5, "no signal" if it holds 0.5 and excludes 0.7, else "too few labels", since such
    labels can't tell a useful model from chance. ``labels`` is the number of labelled rows.
    """

    area: float
    low: float
    high: float
    outcome: str
    labels: int

    @property
    def found(self):
        """Whether the model beats chance."""
        return self.outcome == SIGNAL


def permutation_test(scores, kinds, parts, planned, labels, random_state=0):
    """Test scores of rows by models that were trained without them.

    Labels are shuffled within the parts that were held out together, as only scores of one model
    can be compared. Each part's labels also train the models of the other parts: a pair of parts
    counts twice, which doubles the variance of a mean over all of them.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
        Scores, greater for kind 1, or a column for each kind.
    kinds : ndarray of int of shape (n,)
        Kind of each row, from 0.
    parts : ndarray of int of shape (n,)
        The part that each row was held out with.
    planned : int
        Number of parts of all rows; some may not have been scored.
    labels : int
        Number of labelled rows, for the result.
    random_state : int, default=0
        Seed of the shuffles.

    Returns
    -------
    PermutationTest or None
        None if no part holds two kinds.
    """
    columns = scores[:, None] if scores.ndim == 1 else scores
    classes = np.array([1]) if scores.ndim == 1 else np.arange(scores.shape[1])
    rows_of = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    rows_of = [rows for rows in rows_of if np.ptp(kinds[rows]) > 0]
    if not rows_of:
        return None
    ranks = np.concatenate([rankdata(columns[rows], axis=0) for rows in rows_of])
    sizes = np.array([[np.sum(kinds[rows] == k) for k in classes] for rows in rows_of])
    pairs = (sizes * (np.array([[len(rows)] for rows in rows_of]) - sizes)).sum(axis=0)
    least = (sizes * (sizes + 1) / 2).sum(axis=0)
    used = pairs > 0

    def area_of(kinds):
        inside = (ranks * (kinds[:, None] == classes)).sum(axis=0)
        return float(np.mean((inside - least)[used] / pairs[used]))

    ours = kinds[np.concatenate(rows_of)]
    part = np.repeat(np.arange(len(rows_of)), [len(rows) for rows in rows_of])
    rng = np.random.default_rng(random_state)
    area = area_of(ours)
    chance = [area_of(ours[np.lexsort((rng.random(len(ours)), part))]) for _ in range(_SHUFFLES)]
    shared = 1.0 + (len(rows_of) - 1.0) / max(1.0, planned - 1.0)
    error = float(np.std(chance)) * np.sqrt(shared)
    own = float(np.mean(sizes.sum(axis=0)[used]))
    low, high = _interval(area, error, own, len(ours) - own)
    outcome = SIGNAL
    if low <= 0.5:
        outcome = NO_SIGNAL if high < WORTHWHILE else TOO_FEW
    return PermutationTest(area, low, high, outcome, labels)


def _interval(area, error, n_own, n_others):
    """Areas that the test doesn't reject; ``error`` is the standard error at 0.5.

    Elsewhere it changes as in an exponential model (Hanley and McNeil 1982).
    """
    half = norm.ppf(0.5 + CONFIDENCE / 2.0) * error

    def variance(theta):
        both = theta / (2.0 - theta), 2.0 * theta * theta / (1.0 + theta)
        of_own, of_others = (one - theta * theta for one in both)
        inner = theta * (1.0 - theta)
        return (inner + (n_own - 1.0) * of_own + (n_others - 1.0) * of_others) / (n_own * n_others)

    at_chance = variance(0.5)

    def off(theta):
        return (area - theta) ** 2 - half**2 * variance(theta) / at_chance

    inside = float(np.clip(area, _EDGE, 1.0 - _EDGE))
    low = brentq(off, 0.0, inside) if off(inside) < 0.0 else area
    high = brentq(off, inside, 1.0) if off(inside) < 0.0 else area
    return float(low if area > 0.0 else 0.0), float(high if area < 1.0 else 1.0)
