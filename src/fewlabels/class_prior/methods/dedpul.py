"""The prior from the ratio of densities of a classifier's scores (DEDPUL)."""

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter

from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ._scores import CrossFittedPrior, ScorePair

# Points of the score axis and of the prior's grid.
_N_POINTS = 512
_PRIORS = np.linspace(0.001, 0.999, 999)
# Share of the unlabelled rows that the running median of the ratio spans.
_SPAN = 0.05
# How far the mean posterior may fall short of the prior and still count as equal.
_EQUAL = 0.005
# Lag of the second difference, in steps of the grid.
_LAG = 25


class DEDPUL(CrossFittedPrior[ScorePair]):
    r"""Difference of estimated densities (DEDPUL), Ivanov, ICMLA 2020, algorithms 1 and 2.

    Kernel density estimates of the (cross-fitted) scores of positive and of unlabelled rows
    give the ratio :math:`r(s) = p(s) / u(s)`, smoothed along the ranking. For a candidate
    prior :math:`\alpha` the posterior of an unlabelled row is
    :math:`\min(\alpha r, 1)`, and

    .. math:: D(\alpha) = \alpha - \frac{1}{n_U} \sum_{i \in U} \min(\alpha\, r(s_i), 1)

    is zero up to the prior and grows beyond it. The estimate is the largest fixed point of
    the expectation-maximisation step :math:`\alpha \leftarrow \frac{1}{n_U}
    \sum_U \min(\alpha r, 1)`, that is the end of D's zero; or, where estimation error leaves
    none, the sharpest bend of D (its largest second difference).

    Parameters
    ----------
    <scorer>
    <cross_fitting>

    <found strictly inside (0, 1)>

    Notes
    -----
    Densities are estimated on the logit scale of ranks, with one bandwidth for both (the
    rule of thumb for the positive rows), and the ratio has mean one over the
    unlabelled rows, as a ratio of densities must have.

    <clouds 0.2 < class_prior.DEDPUL().fit(X, y).prior_ < 0.4>
    """

    _n_bootstrap = 100

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> ScorePair:
        return self._score_pair(X, positive, rng)

    def _solve(self, state: ScorePair, p: IntArray, u: IntArray) -> float:
        scores_p, scores_u = state[0][p], state[1][u]
        ratio = _density_ratio(scores_p, scores_u)
        posterior = np.minimum(_PRIORS[:, None] * ratio, 1.0).mean(axis=1)
        excess = _PRIORS - posterior
        equal = np.flatnonzero(excess <= _EQUAL)
        if len(equal) and 0 < equal[-1] < len(_PRIORS) - 1:
            return _PRIORS[equal[-1]]
        bend = excess[2 * _LAG :] - 2.0 * excess[_LAG:-_LAG] + excess[: -2 * _LAG]
        return _PRIORS[_LAG + np.argmax(bend)]


def _density_ratio(scores_p: FloatArray, scores_u: FloatArray) -> FloatArray:
    """Return ``p / u`` at the unlabelled rows, smoothed along the ranking; sorted by score."""
    low = min(scores_p.min(), scores_u.min())
    high = max(scores_p.max(), scores_u.max())
    deviation = min(np.std(scores_p), np.subtract(*np.percentile(scores_p, [75, 25])) / 1.34)
    width = 0.9 * max(deviation, 1e-3 * (high - low)) * len(scores_p) ** -0.2
    if width == 0.0:
        return np.ones(len(scores_u))
    edges = np.linspace(low - 4 * width, high + 4 * width, _N_POINTS + 1)
    centres = 0.5 * (edges[1:] + edges[:-1])
    density_p, density_u = (
        gaussian_filter1d(
            np.histogram(scores, edges)[0] / len(scores), width / (edges[1] - edges[0])
        )
        for scores in (scores_p, scores_u)
    )
    ratio = density_p / np.maximum(density_u, 0.01 / (len(scores_u) * _N_POINTS))
    at = np.interp(np.sort(scores_u), centres, ratio)
    at = median_filter(at, size=max(3, int(_SPAN * len(at))), mode="nearest")
    return at / max(at.mean(), 1e-12)
