"""The prior from the level at which the share of positives saturates."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from scipy.special import expit

from ..._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ...calibration.fit_curves import equal_bins
from ._base import Draw
from ._scores import CrossFittedPrior

# Grid of curves: steepness, midpoint (over the range of scores) and floor.
_STEEPNESS = np.geomspace(0.15, 10.0, 24)
_N_MIDPOINTS = 48
_FLOORS = (0.0, 0.03)
_N_BINS = 100
# Power of the likelihood: a curve is a rough model, so that the estimate averages over
# more curves than the likelihood alone would leave. Curves of bootstrap samples are drawn by the
# likelihood itself.
_POWER = 0.25
# The least ceiling where the best-scored rows may be mostly negative.
_LEAST_CEILING = 1e-3


class SaturatedLogistic(CrossFittedPrior["Curves"]):
    r"""Class prior by a logistic curve that saturates at one.

    The default of :func:`fewlabels.class_prior.estimate_prior`. Use it if the classes overlap,
    which makes other estimates too large.

    With the densities of the positive rows p(s), of the unlabelled rows u(s) and the prior
    :math:`\pi`, the share of positives among unlabelled rows of score s is
    :math:`\pi p(s) / u(s)`. It is taken to be a logistic curve of the (cross-fitted) score,

    .. math:: \frac{p(s)}{u(s)} = \frac{\sigma(a (s - t))}{\pi}, \qquad
              \pi = \frac{1}{n_U} \sum_{i \in U} \sigma(a (s_i - t)),

    so that the positives have the likelihood
    :math:`\prod_{i \in P} \sigma(a (s_i - t)) / \pi(a, t)` and the prior follows from the
    curve. (A curve may have a small floor, for positives that look like negatives.)
    Estimators from the smallest ratio u/p (``BestBin``, ``Blanchard``) overestimate the prior:
    they assume that all of the best-scored rows are positive. The curve estimates how many of
    them are, which corrects most of that bias where classes overlap.

    Parameters
    ----------
    scorer : classifier or None, default=None
        What ranks rows; None takes the average of an RBF logistic regression and of
        extremely randomised trees. See ``BestBin``.
    <cross_fitting>

    <found strictly inside (0, 1)>

    Notes
    -----
    The estimate is the mean over a grid of curves (log steepness and midpoint uniform),
    weighted by the fourth root of the likelihood, which is steadier than the maximum with
    few positives. For intervals, every bootstrap sample of positive and unlabelled scores
    contributes the prior of one curve, drawn by the likelihood.

    The data can't show whether the best-scored rows are all positive: a curve that saturates at a
    ceiling c < 1 has the same likelihood, and its prior is c times as large. The data bound the
    prior from above only, and the worse they separate the classes, the less they say. So each
    sample also draws a ceiling. From the ROC AUC of the sample's positive against its unlabelled
    scores and the prior of its curve follows the ROC AUC of positives against negatives,

    .. math:: A = \min\left(1, \max\left(\frac{1}{2},
              \frac{A_{PU} - \pi / 2}{1 - \pi}\right)\right).

    With probability A the ceiling is uniform between one and the mean height of the curve at the
    positive rows: some of the best rows may be negative. Otherwise it is log-uniform between 0.001
    and one: most of them may be. If the classes hardly overlap, this adds little to the sampling
    error. On noise, where A is one half, the interval reaches from nearly 0 to nearly 1. The rule
    was chosen on 720 Gaussian tables with true ROC AUCs from 0.5 to 0.97 and priors from 0.02 to
    0.95. ``prior_`` leaves the ceiling out: with a signal it is the steadier estimate, and without
    one it is near the upper end of the interval.

    The idea of a ceiling on P(labelled | x) as a parameter is the modified logistic
    regression of Jaskie et al.; here it is applied to one cross-fitted score, in the
    case-control setting, and the ceiling is eliminated by the second equation.

    References
    ----------
    K. Jaskie, C. Elkan, A. Spanias. A modified logistic regression for positive and
    unlabeled learning. Asilomar Conference on Signals, Systems, and Computers, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.class_prior import SaturatedLogistic
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(1.0, 1.0, (100, 2))
    >>> unlabelled = np.vstack([rng.normal(1, 1, (300, 2)), rng.normal(-1, 1, (700, 2))])
    >>> X = np.vstack([positives, unlabelled])
    >>> y = np.repeat([1, 0], [100, 1000])
    >>> bool(0.2 < SaturatedLogistic().fit(X, y).prior_ < 0.4)
    True
    """

    _n_bootstrap = 500

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> Curves:
        return Curves(self._scores(X, positive, rng), positive)

    def _solve(self, state: Curves, p: IntArray, u: IntArray) -> float:
        prior, weight = state.priors([(p, u)], _POWER)
        return state.scale * float(np.sum(weight * prior))

    def _weigh_positives(self, state: Curves, factor: FloatArray) -> Curves:
        return state.with_propensity_weights(factor)

    def _solve_many(
        self, state: Curves, draws: list[Draw], rng: np.random.RandomState
    ) -> FloatArray:
        prior, weight = state.priors(draws, 1.0)
        reached = np.cumsum(weight, axis=1) >= rng.uniform(size=(len(draws), 1))
        drawn = np.argmax(reached, axis=1)
        prior = prior[np.arange(len(draws)), drawn]
        height = state.height_at_positives()[drawn]
        return state.scale * prior * _draw_ceilings(prior, height, state.areas(draws), rng)


def _draw_ceilings(
    prior: FloatArray, height: FloatArray, area: FloatArray, rng: np.random.RandomState
) -> FloatArray:
    """Draw the ceiling of every sample, see the notes of ``SaturatedLogistic``.

    Parameters
    ----------
    prior, height : ndarray of shape (draws,)
        Prior of the drawn curve, and its mean height at the positive rows.
    area : ndarray of shape (draws,)
        ROC AUC of positive against unlabelled scores.
    rng : RandomState
        Generator.

    Returns
    -------
    ndarray of shape (draws,)
        Numbers in (0, 1].
    """
    # Unlabelled positives rank above positives half the time: area = prior / 2 + (1 - prior) * A.
    of_classes = (area - 0.5 * prior) / np.maximum(1.0 - prior, _LEAST_CEILING)
    uniform, which = rng.uniform(size=(2, len(prior)))
    some_negative = 1.0 - uniform * (1.0 - height)
    mostly_negative = _LEAST_CEILING**uniform
    return np.where(which < np.clip(of_classes, 0.5, 1.0), some_negative, mostly_negative)


class Curves:
    """Scores in bins, and the curves of the grid at these bins."""

    def __init__(self, scores: FloatArray, positive: BoolArray) -> None:
        weight = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
        values, group, mass, bins = equal_bins(scores, weight, _N_BINS, 1.0)
        _, bins = np.unique(bins, return_inverse=True)
        self.n_bins = int(bins.max()) + 1
        centres = np.bincount(bins, mass * values) / np.bincount(bins, mass)
        self.bin_p, self.bin_u = bins[group[positive]], bins[group[~positive]]
        midpoints = np.linspace(centres[0], centres[-1], _N_MIDPOINTS)
        rise = expit(_STEEPNESS[:, None, None] * (centres - midpoints[:, None]))
        rise = rise.reshape(-1, self.n_bins)
        self.curve = np.concatenate([floor + (1.0 - floor) * rise for floor in _FLOORS])
        self.log_curve = np.log(np.maximum(self.curve, 1e-12))
        self.weight_p, self.scale = np.ones(len(self.bin_p)), 1.0

    def with_weights(self, weight: FloatArray) -> Self:
        """Return curves whose positive rows have weights; their sum is the effective size."""
        other = copy(self)
        other.weight_p = weight * (weight.sum() / (weight @ weight))
        return other

    def with_propensity_weights(self, weight: FloatArray) -> Self:
        """Return curves with propensity weights, which raise the estimate less than others.

        Where the classes overlap, estimates are too large. Labels that favour obvious positives
        make them smaller, and weights would remove only that error. So a raise counts as far as
        overlap doesn't explain it, by the nonnegative garrote (Breiman 1995): the log of the raise
        becomes ``max(0, log - T^2 / log)``. T is the log of the excess to expect, where the
        ceiling is uniform between one and the mean height of the curve at the positive rows.
        ``scale`` is the factor for estimates.
        """
        other = self.with_weights(weight)
        raised = np.log(other.prior() / self.prior())
        if raised > 0.0:
            height = float(other.posterior_weight() @ other.height_at_positives())
            excess = np.log(2.0 / (1.0 + height))
            other.scale = float(np.exp(max(0.0, raised - excess**2 / raised) - raised))
        return other

    def _priors_of_all_rows(self) -> tuple[FloatArray, FloatArray]:
        return self.priors([(np.arange(len(self.bin_p)), np.arange(len(self.bin_u)))], _POWER)

    def prior(self) -> float:
        """Return the estimate from all rows."""
        prior, weight = self._priors_of_all_rows()
        return float(np.sum(weight * prior))

    def posterior_weight(self) -> FloatArray:
        """Return the weight of every curve by the likelihood of all rows, shape (n_curves,)."""
        return self._priors_of_all_rows()[1][0]

    def posterior(self) -> FloatArray:
        """Return P(positive | score) of the unlabelled rows, shape (n_unlabelled,)."""
        return (self.posterior_weight() @ self.curve)[self.bin_u]

    def height_at_positives(self) -> FloatArray:
        """Return the mean of every curve over the positive rows, shape (n_curves,)."""
        count = np.bincount(self.bin_p, self.weight_p, self.n_bins)
        return self.curve @ (count / count.sum())

    def areas(self, draws: list[Draw]) -> FloatArray:
        """Return each draw's ROC AUC of positive against unlabelled scores, shape (draws,)."""
        count_p, count_u = self._count_in_bins(draws)
        below = np.cumsum(count_u, axis=1) - 0.5 * count_u
        return np.sum(count_p * below, axis=1) / (count_p.sum(axis=1) * count_u.sum(axis=1))

    def _count_in_bins(self, draws: list[Draw]) -> tuple[FloatArray, FloatArray]:
        """Weight of positive and of unlabelled rows in every bin, of shape (draws, bins) each."""
        ours, others = [p for p, _ in draws], [u for _, u in draws]
        count_p = self._stack_counts(
            [self.bin_p[p] for p in ours], [self.weight_p[p] for p in ours]
        )
        return count_p, self._stack_counts([self.bin_u[u] for u in others], [None] * len(draws))

    def _stack_counts(
        self, bins: list[IntArray], weights: Sequence[FloatArray | None]
    ) -> FloatArray:
        pairs = zip(bins, weights, strict=True)
        return np.stack([np.bincount(b, w, self.n_bins) for b, w in pairs]).astype(float)

    def priors(self, draws: list[Draw], power: float) -> tuple[FloatArray, FloatArray]:
        """Return the prior of every curve, and its weight, each of shape (draws, curves)."""
        count_p, count_u = self._count_in_bins(draws)
        prior = count_u @ self.curve.T / count_u.sum(axis=1, keepdims=True)
        likelihood = count_p @ self.log_curve.T
        likelihood -= count_p.sum(axis=1, keepdims=True) * np.log(np.maximum(prior, 1e-12))
        weight = np.exp(power * (likelihood - likelihood.max(axis=1, keepdims=True)))
        return prior, weight / weight.sum(axis=1, keepdims=True)
