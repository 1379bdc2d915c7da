"""Judge whether labels and unlabelled rows can have the same class ratio.

Labels drawn at random have the unlabelled rows' class ratio, but for chance, and then their own
shares are the best estimate. Labels drawn per class say nothing of it. The numbers of labels are
compared with what a random sample would have, given the estimate and its uncertainty: the
probability of numbers at least as far off, averaged over the bootstrap samples of the estimate (a
posterior predictive check, Rubin 1984).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from .class_ratio import estimated_shares

# An estimate is trusted from so many labels of each class, and if no interval is wider: others end
# anywhere.
_FEWEST, _WIDEST = 4, 0.5
# Probabilities below which labels weren't drawn at random, and from which nothing is said; the
# last is for an estimate that isn't trusted. Chosen on seven tables with 20 labels, drawn at
# random or per class, and shares of 3 to 50 %: up to 0.3 no random labels were contradicted.
_CONTRADICTED, _DOUBTFUL, _CERTAIN = 0.2, 0.3, 0.05
# The same for the estimate alone, as if it were exact: here its uncertainty isn't asked for.
_PLAUSIBLE = 0.4
# Odds that differ by less make no difference.
_ODDS = 1.5
_BOOTSTRAP = 40


class LabelRatio(NamedTuple):
    """Verdict of an estimate on the labels' class ratio.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,) or None
        Estimated shares among the unlabelled rows; None where there is no estimate.
    intervals : ndarray of shape (n_classes, 2) or None
        Their 90 % intervals.
    is_contradicted : bool
        Whether the labels weren't drawn at random, and the estimate can be used.
    is_doubtful : bool
        Whether they may not have been, or weren't and the estimate can't be used.
    """

    shares: np.ndarray | None = None
    intervals: np.ndarray | None = None
    is_contradicted: bool = False
    is_doubtful: bool = False


def judge_labels(X, place, weight, classes, seed=0) -> LabelRatio:
    """Compare the labels' class ratio with an estimate from the rows.

    Parameters
    ----------
    X : {ndarray, CSR array} of shape (n_samples, n_features)
        Rows.
    place : ndarray of int of shape (n_samples,)
        The class of each row, -1 for none.
    weight : ndarray of shape (n_samples,)
        Weights.
    classes : ndarray of shape (n_classes,)
        The classes, for messages.
    seed : int, default=0
        Of the forests, and of the bootstrap.

    Returns
    -------
    LabelRatio
        Without shares if a class has fewer than two distinct labelled rows, or no row is free.
    """
    known = place >= 0
    # Weights act as repetitions.
    counts = np.round(np.bincount(place[known], weight[known], minlength=len(classes)))
    if counts.min() < 2 or weight[~known].sum() < counts.sum() or _has_copies(X, place):
        return LabelRatio()
    own = counts / counts.sum()

    def is_plausible(shares):
        return _tail(counts, shares[None]) >= _PLAUSIBLE or _apart(own, shares) < _ODDS

    shares, intervals, replicates = estimated_shares(
        X, place, weight, classes, n_bootstrap=_BOOTSTRAP, seed=seed, is_enough=is_plausible
    )
    if replicates is None:
        return LabelRatio(shares)
    probability = _tail(counts, replicates)
    is_trusted = counts.min() >= _FEWEST and np.ptp(intervals, axis=1).max() <= _WIDEST
    is_contradicted = probability < _CONTRADICTED and is_trusted
    is_doubtful = probability < (_DOUBTFUL if is_trusted else _CERTAIN)
    return LabelRatio(shares, intervals, is_contradicted, is_doubtful and not is_contradicted)


def _tail(counts, replicates):
    """Probability of numbers of labels at least as far off, of the class where it is least."""
    n = counts.sum()
    above = binom.sf(counts - 1, n, replicates).mean(axis=0)
    below = binom.cdf(counts, n, replicates).mean(axis=0)
    several = 1 if len(counts) == 2 else len(counts)
    return min(1.0, several * float(2.0 * np.minimum(above, below).min()))


def _apart(own, shares):
    """The largest ratio of odds between two sets of shares."""
    odds = np.log(own / (1.0 - own)) - np.log(shares / (1.0 - shares))
    return float(np.exp(np.abs(odds).max()))


def _has_copies(X, place):
    """Whether the labelled rows of a class are all equal: none of them can be left out."""
    for number in np.unique(place[place >= 0]):
        rows = X[np.flatnonzero(place == number)]
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        if np.all(rows == rows[:1]):
            return True
    return False
