"""Intervals of proportions: the one routine for every rate that was counted on a few rows."""

from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import beta

from .._typing import FloatArray, IntArray

# A number, or one for each of several groups of rows.
_Counts = TypeVar("_Counts", float, FloatArray)

CONFIDENCE = 0.9
# Cross-fitted models share training rows, so n scores of theirs count as fewer independent ones.
# Chosen on half of the sets of benchmark "promises": the largest multiple of a tenth at which
# intervals of recall and accuracy with a confidence of 90 % cover at least 90 %.
_SHARE_OF_CROSS_FITTED = 0.7
# The same for recalls that are weighted by class shares: fewer rows decide, and the bootstrap of
# the shares is of the same labels. Chosen with the priors of ``class_prior.contradiction``.
_SHARE_OF_WEIGHTED = 0.5
# Draws of recalls and shares.
_N_DRAWS = 8000


def counted_interval(hits: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of a rate, ``hits`` of ``n`` rows (Clopper and Pearson 1934).

    It holds the rate with a probability of at least ``confidence``, whatever the rate and however
    few rows. ``hits`` and ``n`` may be fractions, as of weighted rows.
    """
    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def effective_counts(hits: _Counts, n: _Counts) -> tuple[_Counts, _Counts]:
    """Return the equivalent numbers of independent hits and rows if folds share training rows."""
    return _SHARE_OF_CROSS_FITTED * hits, _SHARE_OF_CROSS_FITTED * n


def cross_fitted_interval(
    hits: float, n: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return ``counted_interval`` of rows that were scored by cross-fitted models."""
    hits, n = effective_counts(hits, n)
    return counted_interval(hits, n, confidence)


class WeightedAccuracy(NamedTuple):
    """Accuracy among rows in which classes have other shares than among the labels.

    Attributes
    ----------
    value : float
        The accuracy.
    low, high : float
        Ends of its interval.
    """

    value: float
    low: float
    high: float


def weighted_accuracy(
    hits: IntArray,
    n: IntArray,
    shares: FloatArray,
    at_random: float = 0.0,
    confidence: float = CONFIDENCE,
) -> WeightedAccuracy:
    """Return the weight recalls of cross-fitted models by class shares that are known as draws.

    Parameters
    ----------
    hits, n : ndarray of int of shape (n_classes,)
        Held-out labelled rows of each class that are recognised, and all of them.
    shares : ndarray of shape (n_draws, n_classes)
        Draws of the classes' shares.
    at_random : float, default=0.0
        Probability that the labelled rows are a random sample, so that their accuracy counts as it
        is: the interval is one of both possibilities.
    confidence : float, default=0.9
        Confidence of the interval.

    Returns
    -------
    WeightedAccuracy
        The recalls are drawn from Beta distributions, whose priors count one hit and one miss of
        all classes together.
    """
    rng = np.random.default_rng(0)
    hits, n = np.asarray(hits), np.asarray(n)
    part, prior = _SHARE_OF_WEIGHTED, 1.0 / len(n)
    drawn = shares[rng.integers(0, len(shares), _N_DRAWS)]
    recalls = rng.beta(
        part * hits + prior, part * (n - hits) + prior, (_N_DRAWS, len(n))
    )  # fmt: skip
    weighted = (drawn * recalls).sum(axis=1)
    h, total = effective_counts(float(hits.sum()), float(n.sum()))
    weights = np.repeat([1.0 - at_random, at_random], _N_DRAWS) / _N_DRAWS
    # Clopper and Pearson's ends are quantiles of these, so a random sample keeps its interval.
    as_is = [
        rng.beta(max(h, 1e-9), total - h + 1.0, _N_DRAWS),
        rng.beta(h + 1.0, max(total - h, 1e-9), _N_DRAWS),
    ]
    tail = (1.0 - confidence) / 2.0
    low, high = (
        _quantile(np.concatenate([weighted, own]), weights, q)
        for own, q in zip(as_is, (tail, 1.0 - tail), strict=True)
    )
    # Counted from the misses, so that none is exactly 1.
    missed = np.where(n > 0, 1.0 - hits / np.maximum(n, 1), 0.5)
    mean = shares.mean(axis=0)
    error = (1.0 - at_random) * float(mean @ missed / mean.sum())
    value = 1.0 - error - at_random * float(1.0 - hits.sum() / n.sum())
    low, high = 0.0 if not hits.any() else low, 1.0 if np.all(hits == n) else high
    return WeightedAccuracy(value, min(low, value), max(high, value))


def _quantile(values: FloatArray, weights: FloatArray, q: float) -> float:
    """Return a quantile of weighted values; the weights sum to 1."""
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(weights[order]), q)
    return float(values[order][min(int(reached), len(values) - 1)])
