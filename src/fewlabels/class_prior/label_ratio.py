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
from scipy.special import gammaln
from scipy.stats import binom, multinomial, norm

from .._typing import AnyArray, FloatArray, IntArray, RowMatrix
from .class_ratio import estimate_shares

# An estimate is trusted from so many labels of each class on.
_MIN_LABELS_PER_CLASS = 4
# Nor is it trusted if an interval is wider than this.
_MAX_INTERVAL_WIDTH = 0.5
# The probabilities that follow were chosen on seven tables with 20 labels, drawn at random or per
# class, and shares of 3 to 50 %: up to 0.3 no random labels were contradicted.
# Below this probability labels weren't drawn at random.
_MAX_P_CONTRADICTED = 0.2
# Below this probability they may not have been.
_MAX_P_DOUBTFUL = 0.3
# Below this probability they may not have been, if the estimate isn't trusted.
_MAX_P_DOUBTFUL_UNTRUSTED = 0.05
# From this probability on the labels are plausible, if the estimate is taken as exact.
_MIN_P_PLAUSIBLE = 0.4
# Odds that differ by a smaller factor make no difference.
_MIN_ODDS_RATIO = 1.5
# Bootstrap samples of the estimate.
_N_BOOTSTRAP = 40
# These were chosen on one half of simulated tables (weak to strong signals, two and three classes,
# labels at random, equally many of each class, or 60 and 5) by the coverage of the accuracy.
# Prior probability that labels are a random sample.
_PRIOR_RANDOM = 0.5
# Prior probability that equally many of each class were labelled.
_PRIOR_EQUAL = 0.38
# Prior probability that each class got any number of labels.
_PRIOR_OTHER = 0.12
# A bootstrap of few labels misses the shares now and then. A part of the draws may be any shares:
# this number divided by the labels of the rarest class.
_ANY_SHARES_PER_LABEL = 1.5
# The largest part of such draws.
_MAX_PART_OF_ANY_SHARES = 0.5
# Draws of the shares.
_N_DRAWS = 2000
# Standard errors by which a forest may separate labelled rows that aren't a random sample.
_SEPARATION_SCALE = 3.0
# Dirichlet parameter of such shares: below 1, they are more often near 0, as of a rare class.
_DIRICHLET_OF_ANY_SHARES = 0.3


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

    shares: FloatArray | None = None
    intervals: FloatArray | None = None
    is_contradicted: bool = False
    is_doubtful: bool = False


def compare_label_ratio(
    X: RowMatrix, place: IntArray, weight: FloatArray, classes: AnyArray, seed: int = 0
) -> LabelRatio:
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
    if counts.min() < 2 or weight[~known].sum() < counts.sum() or _has_class_of_copies(X, place):
        return LabelRatio()
    own = counts / counts.sum()

    def is_plausible(shares: FloatArray) -> bool:
        return (
            _tail_probability(counts, shares[None]) >= _MIN_P_PLAUSIBLE
            or _largest_odds_ratio(own, shares) < _MIN_ODDS_RATIO
        )

    shares, intervals, replicates = estimate_shares(
        X, place, weight, classes, n_bootstrap=_N_BOOTSTRAP, seed=seed, is_enough=is_plausible
    )
    if replicates is None or intervals is None:
        return LabelRatio(shares)
    probability = _tail_probability(counts, replicates)
    is_trusted = (
        counts.min() >= _MIN_LABELS_PER_CLASS
        and np.ptp(intervals, axis=1).max() <= _MAX_INTERVAL_WIDTH
    )
    is_contradicted = probability < _MAX_P_CONTRADICTED and is_trusted
    is_doubtful = probability < (_MAX_P_DOUBTFUL if is_trusted else _MAX_P_DOUBTFUL_UNTRUSTED)
    return LabelRatio(shares, intervals, is_contradicted, is_doubtful and not is_contradicted)


def draw_wide_shares(counts: IntArray, replicates: FloatArray, seed: int = 0) -> FloatArray:
    """Draw shares from bootstrap replicates, and some from all possible ones if labels are few."""
    rng = np.random.default_rng(seed)
    drawn = replicates[rng.integers(0, len(replicates), _N_DRAWS)]
    n_any = round(_N_DRAWS * min(_MAX_PART_OF_ANY_SHARES, _ANY_SHARES_PER_LABEL / counts.min()))
    drawn[:n_any] = rng.dirichlet(np.full(replicates.shape[1], _DIRICHLET_OF_ANY_SHARES), n_any)
    return drawn


def probability_at_random(counts: IntArray, shares: FloatArray, separation: float = 0.0) -> float:
    """Return the probability that labels are a random sample of rows with some class shares.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Labels of each class, at least one.
    shares : ndarray of shape (n_draws, n_classes)
        Draws of the shares among the unlabelled rows.
    separation : float, default=0.0
        By how many standard errors a classifier tells labelled rows from unlabelled ones. It knows
        more of this than shares that few labels of a class estimate.

    Returns
    -------
    float
        Against labels of which somebody wanted equally many of each class, and against any other
        numbers of labels, all of which are equally probable. Rows of a random sample differ
        by a standard normal number of errors, others by one with a half-normal mean. Where
        this favours a random sample nothing is said: classes that look alike do as well.
    """
    n, n_classes = int(counts.sum()), len(counts)
    shares = np.maximum(shares, np.finfo(float).tiny)
    at_random = multinomial.pmf(counts, n, shares / shares.sum(axis=1, keepdims=True)).mean()
    # Of n labels k - 1 of the n - 1 gaps between them separate the classes.
    log_ways = gammaln(n) - gammaln(n_classes) - gammaln(n - n_classes + 1)
    by_class = _PRIOR_OTHER * np.exp(-log_ways) + _PRIOR_EQUAL * float(np.ptp(counts) <= 1)
    spread = np.sqrt(1.0 + _SEPARATION_SCALE**2)
    otherwise = np.log(2.0) + norm.logpdf(separation, scale=spread)
    otherwise += norm.logcdf(separation * _SEPARATION_SCALE / spread)
    at_random *= np.exp(min(0.0, norm.logpdf(separation) - otherwise))
    return float(_PRIOR_RANDOM * at_random / (_PRIOR_RANDOM * at_random + by_class))


def _tail_probability(counts: AnyArray, replicates: FloatArray) -> float:
    """Return the probability of label counts at least as extreme, of the most extreme class."""
    n = counts.sum()
    above = binom.sf(counts - 1, n, replicates).mean(axis=0)
    below = binom.cdf(counts, n, replicates).mean(axis=0)
    several = 1 if len(counts) == 2 else len(counts)
    return min(1.0, several * float(2.0 * np.minimum(above, below).min()))


def _largest_odds_ratio(own: FloatArray, shares: FloatArray) -> float:
    """Return the largest ratio of odds between two sets of shares."""
    odds = np.log(own / (1.0 - own)) - np.log(shares / (1.0 - shares))
    return float(np.exp(np.abs(odds).max()))


def _has_class_of_copies(X: RowMatrix, place: IntArray) -> bool:
    """Return whether all labelled rows of some class are equal, so that none can be held out."""
    for number in np.unique(place[place >= 0]):
        rows = X[np.flatnonzero(place == number)]
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        if np.all(rows == rows[:1]):
            return True
    return False
