"""Distributions of an estimated class prior, and whether an interval says anything."""

import numpy as np
from scipy.stats import beta

from .._typing import FloatArray

# Quantiles that stand for a distribution, at the middles of equal parts of (0, 1).
N_QUANTILES = 32
_LEVELS = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
# A share whose interval is wider has no useful point estimate: the data don't determine it.
MAX_DETERMINED_WIDTH = 0.7


def is_determined(interval: tuple[float, float] | None) -> bool:
    """Return whether a share with this 90 % interval deserves a point estimate.

    A share without an interval was given, and is determined.
    """
    return interval is None or interval[1] - interval[0] <= MAX_DETERMINED_WIDTH


def summarise_replicates(replicates: FloatArray, n_unlabeled: float) -> FloatArray:
    """Summarise replicates of the prior by a few quantiles, whose mean stands for theirs.

    Their distribution is never narrower than the one of a share that was counted on the
    unlabelled rows (Clopper and Pearson): at the edge of what a method can return, all
    replicates may agree.

    Parameters
    ----------
    replicates : ndarray of shape (n_bootstrap,)
        Estimates of bootstrap samples.
    n_unlabeled : float
        Number of unlabelled rows.

    Returns
    -------
    ndarray of shape (N_QUANTILES,)
        In ascending order, strictly inside (0, 1).
    """
    found = np.quantile(replicates, _LEVELS)
    count = float(np.median(replicates)) * n_unlabeled
    low = beta.ppf(_LEVELS, count, n_unlabeled - count + 1.0)
    high = beta.ppf(_LEVELS, count + 1.0, n_unlabeled - count)
    below = _LEVELS < 0.5
    found = np.where(below, np.minimum(found, low), np.maximum(found, high))
    least = 1e-3 / max(n_unlabeled, 1.0)
    return np.clip(found, least, 1.0 - least)


def interpolate_prior(levels: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return the prior at levels in (0, 1) of the distribution that quantiles stand for."""
    return np.interp(levels, _LEVELS, quantiles)
