"""Where rates lie that were counted on few rows."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, xlogy
from scipy.stats import beta

from ..._typing import FloatArray
from ...class_prior.uncertainty import interpolate_prior
from ...metrics.intervals import (
    CONFIDENCE,
    counted_interval,
    cross_fitted_interval,
    effective_counts,
)

__all__ = [
    "PrecisionAndRecall",
    "counted_interval",
    "cross_fitted_interval",
    "estimate_precision_and_recall",
    "threshold_interval",
]

_TAIL = (1.0 - CONFIDENCE) / 2.0
_DRAWS = 20_000
# Correlation of the errors of the class prior and of recall. If the labelled rows happen to be
# easy ones, the prior comes out too small and recall too large. Over the first half of the sets of
# benchmark "promises" it is -0.59, over the second -0.64; this is a little less.
_PRIOR_AND_RECALL = -0.5


def threshold_interval(rank: int, n: int) -> tuple[float, float]:
    """Return the interval of the rate below the ``rank``-th lowest of ``n`` scores.

    The rate of new rows below an order statistic follows a Beta(rank, n + 1 - rank) distribution,
    if scores do not tie.
    """
    low, high = beta.ppf([_TAIL, 1.0 - _TAIL], rank, n + 1 - rank)
    return float(low), float(high)


class PrecisionAndRecall(NamedTuple):
    """Precision and recall to expect of the unlabelled rows that a model marks."""

    precision: float
    precision_interval: tuple[float, float]
    recall: float
    recall_interval: tuple[float, float]


def estimate_precision_and_recall(
    prior: float,
    quantiles: FloatArray | None,
    n_found: int,
    n_hidden: int,
    marked: int,
    n_unlabelled: int,
    seed: int = 0,
) -> PrecisionAndRecall:
    """Estimate precision and recall of a model that marks ``marked`` unlabelled rows.

    Models that were trained without knowing the labels of ``n_hidden`` rows marked ``n_found`` of
    these. Recall is drawn from its posterior (with Jeffreys' prior), the class prior from the
    distribution of its estimate, which has these ``quantiles`` (None if ``prior`` is known). The
    errors of both are correlated. Each draw then counts positive rows and how many of these are
    marked: not more than all marked rows, and not so few that more are missed than aren't marked.
    A draw counts as much as the hidden labels agree with the possible recall that is nearest to
    theirs (profile likelihood). The precision is the mean over the draws, so that it carries the
    prior's uncertainty: without separation it is the share of positives itself. Intervals are of
    the shares among these very rows, and chance among few rows widens them.
    """
    rng = np.random.default_rng(seed)
    counted, n = effective_counts(n_found, n_hidden)
    normal, recall_noise = rng.standard_normal((2, _DRAWS))
    recall_noise = _PRIOR_AND_RECALL * normal + np.sqrt(1.0 - _PRIOR_AND_RECALL**2) * recall_noise
    recall = beta.ppf(ndtr(recall_noise), counted + 0.5, n - counted + 0.5)
    share = np.full(_DRAWS, prior)
    if quantiles is not None:
        share = interpolate_prior(ndtr(normal), quantiles)
    positives = np.maximum(1, np.round(share * n_unlabelled).astype(int))
    fewest = np.maximum(0, positives - (n_unlabelled - marked))
    most = np.minimum(marked, positives)
    hits = np.clip(rng.binomial(positives, recall), fewest, most)
    nearest = np.clip(n_found / n_hidden, fewest / positives, most / positives)
    # Where all rows or none must be marked, the hidden ones may still have had bad luck.
    edge = 0.5 / (n + 1.0)
    nearest = np.clip(nearest, edge, 1.0 - edge)
    log_weight = xlogy(counted, nearest) + xlogy(n - counted, 1.0 - nearest)
    weight = np.exp(log_weight - log_weight.max())
    chosen = rng.choice(_DRAWS, _DRAWS, p=weight / weight.sum())
    precision, recall = (hits / marked)[chosen], (hits / positives)[chosen]
    mean = float(np.mean(precision))
    ends = [_TAIL, 1.0 - _TAIL]
    return PrecisionAndRecall(
        mean,
        _extend_to(mean, np.quantile(precision, ends)),
        n_found / n_hidden,
        _extend_to(n_found / n_hidden, np.quantile(recall, ends)),
    )


def _extend_to(value: float, ends: FloatArray) -> tuple[float, float]:
    """Return the ends of an interval, extended to contain the value."""
    return float(min(value, ends[0])), float(max(value, ends[1]))
