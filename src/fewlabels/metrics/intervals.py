"""Intervals of proportions: the one routine for every rate that was counted on a few rows."""

from scipy.stats import beta

CONFIDENCE = 0.9
# Cross-fitted models share training rows, so n scores of theirs count as fewer independent ones.
# Chosen on half of the sets of benchmarks/promises.py: the largest multiple of a tenth at which
# intervals of recall and accuracy with a confidence of 90 % cover at least 90 %.
_SHARE_OF_CROSS_FITTED = 0.7


def counted_interval(hits, n, confidence=CONFIDENCE):
    """Interval of a rate of which ``hits`` of ``n`` rows were counted (Clopper and Pearson 1934).

    It holds the rate with a probability of at least ``confidence``, whatever the rate and however
    few rows. ``hits`` and ``n`` may be fractions, as of weighted rows.
    """
    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def cross_fitted(hits, n):
    """How many independent hits and rows count as much as these, which share training rows."""
    return _SHARE_OF_CROSS_FITTED * hits, _SHARE_OF_CROSS_FITTED * n


def cross_fitted_interval(hits, n, confidence=CONFIDENCE):
    """``counted_interval`` of rows that were scored by cross-fitted models."""
    return counted_interval(*cross_fitted(hits, n), confidence)
