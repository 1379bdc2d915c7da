"""Where rates lie that were counted on few rows."""

import numpy as np
from scipy.stats import beta

CONFIDENCE = 0.9
_TAIL = (1.0 - CONFIDENCE) / 2.0
_DRAWS = 4000
# Marked rows so much richer in labelled ones than all rows support an estimated prior.
_RICH = 2.5


def counted_interval(hits, n):
    """Interval of a rate of which ``hits`` of ``n`` rows were counted (Clopper and Pearson 1934).

    It holds the rate with a probability of at least 90 %.
    """
    low = float(beta.ppf(_TAIL, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - _TAIL, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def threshold_interval(rank, n):
    """Interval of the rate below the ``rank``-th lowest of ``n`` scores.

    The rate of new rows below an order statistic follows a Beta(rank, n + 1 - rank) distribution,
    if scores do not tie.
    """
    return tuple(float(end) for end in beta.ppf([_TAIL, 1.0 - _TAIL], rank, n + 1 - rank))


def precision_interval(prior, prior_interval, recall, predicted, seed=0):
    """Interval of ``prior * recall / predicted``, all three of them uncertain.

    ``recall`` and ``predicted`` are hits and rows. Quantiles of draws from the posteriors (uniform
    priors of both shares; a prior with an interval from two normal halves), at most 1. Where
    positives and others overlap an estimated prior may be many times too large: unless marked
    rows are 2.5 times as rich in labelled ones as all, the lower end goes down towards nothing.
    """
    rng = np.random.default_rng(seed)
    shares = [rng.beta(hits + 1, n - hits + 1, _DRAWS) for hits, n in (recall, predicted)]
    share = np.full(_DRAWS, prior)
    if prior_interval is not None:
        low, high = prior_interval
        normal = rng.standard_normal(_DRAWS) / 1.645
        share = prior + np.where(normal < 0, prior - low, high - prior) * normal
    drawn = np.clip(np.clip(share, 0.0, 1.0) * shares[0] / shares[1], 0.0, 1.0)
    low, high = np.quantile(drawn, [_TAIL, 1.0 - _TAIL])
    if prior_interval is not None:
        richer = (recall[0] / recall[1]) / (predicted[0] / predicted[1])
        low *= np.clip((richer - 1.0) / (_RICH - 1.0), 0.0, 1.0)
    return float(low), float(high)
