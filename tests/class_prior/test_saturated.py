"""The default estimator: its curve against a slow twin, its scores, its bias."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from fewlabels.class_prior import BestBin, SaturatedLogistic, estimate_prior
from fewlabels.class_prior.methods._scores import cross_fitted_scores, logit_ranks
from fewlabels.class_prior.methods.saturated import Curves, _draw_ceilings


def saturating(rng, n_positive, n_unlabeled, steepness, midpoint):
    """Scores that follow the model exactly, and the prior."""
    pool = rng.logistic(size=n_unlabeled)
    share = 1.0 / (1.0 + np.exp(-steepness * (pool - midpoint)))
    positives = rng.choice(pool, n_positive, p=share / share.sum())
    return positives, pool, share.mean()


def test_posterior_mean_is_near_a_direct_fit(rng):
    # With many positives all that averages the grid does is what maximum likelihood does.
    positives, pool, prior = saturating(rng, 4000, 6000, 2.0, 0.5)

    def negative_log_likelihood(parameters):
        steepness, midpoint = np.exp(parameters[0]), parameters[1]
        log_curve = lambda s: -np.logaddexp(0, -steepness * (s - midpoint))  # noqa: E731
        return -np.sum(log_curve(positives) - np.log(np.mean(np.exp(log_curve(pool)))))

    found = minimize(negative_log_likelihood, [0.0, 0.0], method="Nelder-Mead").x
    direct = np.mean(1.0 / (1.0 + np.exp(-np.exp(found[0]) * (pool - found[1]))))
    assert direct == pytest.approx(prior, abs=0.05)

    scores = np.concatenate([positives, pool])
    curves = Curves(scores, np.arange(len(scores)) < len(positives))
    p, u = np.arange(len(positives)), np.arange(len(pool))
    priors, weight = curves.priors([(p, u)], power=1.0)
    assert np.sum(priors * weight) == pytest.approx(direct, abs=0.03)


def test_weights_by_brute_force(rng):
    positives, pool, _ = saturating(rng, 12, 30, 1.5, 0.0)
    scores = np.concatenate([positives, pool])
    curves = Curves(scores, np.arange(len(scores)) < len(positives))
    p, u = rng.integers(12, size=12), rng.integers(30, size=30)
    priors, weight = curves.priors([(p, u)], power=0.5)
    expected = []
    for curve in curves.curve:
        share = np.mean([curve[curves.bin_u[i]] for i in u])
        expected.append((share, np.prod([curve[curves.bin_p[i]] / share for i in p]) ** 0.5))
    share, likelihood = np.array(expected).T
    np.testing.assert_allclose(priors[0], share, rtol=1e-10)
    np.testing.assert_allclose(weight[0], likelihood / likelihood.sum(), rtol=1e-6, atol=1e-12)


def test_overlap_biases_less_than_the_best_bin(seed, given):
    # Two Gaussians: no region is free of negatives, so that ratios of tails stay above.
    ours, bound = [], []
    for draw in range(12):
        rng = np.random.default_rng([seed, draw])
        side = np.concatenate([np.ones(100), rng.random(2000) < 0.4])
        X = (rng.normal(size=len(side)) + 1.5 * side)[:, None]
        y = np.arange(len(side)) < 100
        truth = side[100:].mean()
        ours.append(SaturatedLogistic(scorer=given()).fit(X, y).prior_ - truth)
        bound.append(BestBin(scorer=given()).fit(X, y).prior_ - truth)
    assert np.mean(bound) > 0.04
    assert abs(np.mean(ours)) < 0.6 * np.mean(bound)
    assert np.mean(np.abs(ours)) < np.mean(np.abs(bound))


def test_height_at_positives_by_hand(rng):
    scores = rng.normal(size=50)
    positive = np.arange(50) < 12
    weight = rng.uniform(0.5, 2.0, 12)
    curves = Curves(scores, positive).with_weights(weight)
    expected = curves.curve[:, curves.bin_p] @ weight / weight.sum()
    np.testing.assert_allclose(curves.height_at_positives(), expected)


def test_weights_that_raise_the_estimate_count_less_where_classes_overlap(rng):
    positives, pool, _ = saturating(rng, 200, 1000, 1.5, 0.5)
    curves = Curves(np.concatenate([positives, pool]), np.arange(1200) < 200)
    order = np.argsort(np.argsort(positives))
    falling, rising = np.where(order < 100, 4.0, 1.0), np.where(order < 100, 1.0, 4.0)
    raised, plain = curves.with_propensity_weights(falling), curves.prior()
    full = curves.with_weights(falling).prior()
    assert plain < raised.scale * raised.prior() < full
    height = raised.posterior_weight() @ raised.height_at_positives()
    excess, raise_ = np.log(2.0 / (1.0 + height)), np.log(full / plain)
    assert raise_ > excess
    assert raised.scale * full == pytest.approx(plain * np.exp(raise_ - excess**2 / raise_))
    lowered = curves.with_propensity_weights(rising)
    assert lowered.scale == 1.0 and lowered.prior() < plain
    assert curves.with_propensity_weights(np.ones(200)).scale == 1.0


def test_a_raise_that_overlap_explains_does_not_count(rng):
    positives, pool, _ = saturating(rng, 200, 1000, 1.5, 0.5)
    curves = Curves(np.concatenate([positives, pool]), np.arange(1200) < 200)
    slightly = np.where(np.argsort(np.argsort(positives)) < 100, 1.05, 1.0)
    found = curves.with_propensity_weights(slightly)
    assert found.prior() > curves.prior()
    assert found.scale * found.prior() == pytest.approx(curves.prior())


def test_intervals_allow_for_a_best_region_with_negatives(seed, given):
    # A share of positives that saturates at .65: nothing in the data shows that it isn't 1.
    held, width = [], []
    for draw in range(25):
        rng = np.random.default_rng([seed, draw])
        positives, pool, prior = saturating(rng, 100, 1000, 1.5, 1.5)
        scores = np.concatenate([positives, pool])[:, None]
        estimator = SaturatedLogistic(scorer=given(), random_state=draw)
        found = estimate_prior(scores, np.arange(1100) < 100, estimator, n_bootstrap=200)
        held.append(found.low <= 0.65 * prior <= found.high)
        width.append(found.high - found.low)
    assert np.mean(held) >= 0.75  # .56 if every curve saturates at 1
    assert np.mean(width) < 0.35  # .25 if some of the best rows are positive in any case


@pytest.mark.parametrize(("area", "prior"), [(0.5, 0.07), (0.65, 0.07), (0.65, 0.02), (0.5, 0.9)])
def test_intervals_hold_the_prior_without_separation(area, prior, seed, given):
    """From the labels of noise nobody can tell that few rows are positive."""
    held, wide = [], []
    for draw in range(12):
        rng = np.random.default_rng([seed, draw, int(100 * area)])
        side = np.concatenate([np.ones(60), rng.random(500) < prior])
        X = (rng.normal(size=560) + np.sqrt(2.0) * norm.ppf(area) * side)[:, None]
        estimator = SaturatedLogistic(scorer=given(), random_state=draw)
        found = estimate_prior(X, np.arange(560) < 60, estimator, n_bootstrap=200)
        held.append(found.low <= side[60:].mean() <= found.high)
        wide.append(found.high - found.low > 0.7)
        # The distribution, and so precision and probabilities, is as wide as the interval.
        assert np.mean(found.replicates < 2.0 * max(found.low, 0.01)) > 0.04
    assert np.mean(held) >= 0.75
    assert np.mean(wide) >= (0.9 if area == 0.5 else 0.4)


def test_areas_of_draws(rng):
    scores, positive = rng.normal(size=80).round(1), np.arange(80) < 20
    weight = rng.uniform(0.5, 2.0, 20)
    curves = Curves(scores, positive).with_weights(weight)
    p, u = rng.integers(20, size=20), rng.integers(60, size=60)
    expected = roc_auc_score(
        np.repeat([1, 0], [20, 60]),
        np.concatenate([curves.bin_p[p], curves.bin_u[u]]),
        sample_weight=np.concatenate([weight[p], np.ones(60)]),
    )
    assert curves.areas([(p, u)])[0] == pytest.approx(expected)


def test_ceilings_are_low_as_often_as_negatives_outrank_positives():
    rng, n = np.random.RandomState(0), 20_000
    for prior, of_classes, height in ((0.3, 0.95, 0.9), (0.1, 0.7, 0.5), (0.6, 0.5, 0.6)):
        area = 0.5 * prior + of_classes * (1.0 - prior)
        found = _draw_ceilings(np.full(n, prior), np.full(n, height), np.full(n, area), rng)
        assert 0.001 <= found.min() and found.max() <= 1.0
        below = (1.0 - of_classes) * (1.0 + np.log10(height) / 3.0)
        assert np.mean(found < height) == pytest.approx(below, abs=0.015)
        low = np.log10(found[found < height])
        assert low.mean() == pytest.approx(0.5 * (np.log10(height) - 3.0), abs=0.06)


def test_intervals_of_separable_classes_stay_narrow(seed, given):
    rng = np.random.default_rng(seed)
    side = np.concatenate([np.ones(100), rng.random(1000) < 0.3])
    X = (rng.normal(size=1100) + 8.0 * side)[:, None]
    found = estimate_prior(X, np.arange(1100) < 100, SaturatedLogistic(scorer=given()))
    assert found.high - found.low < 0.15


def test_scores_are_out_of_sample(rng):
    # Labels without any relation to the rows must not be separable; ranks of the
    # training rows would be.
    X = rng.normal(size=(600, 10))
    positive = np.arange(600) < 100
    scores = cross_fitted_scores(X, positive, random_state=np.random.RandomState(0))
    above = np.mean(scores[positive][:, None] > scores[~positive])
    assert 0.38 < above < 0.62


def test_logit_ranks_by_hand():
    # Positives weigh 1/4 each, unlabelled 1/4 each; the equal pair shares its rank.
    scores = np.array([3.0, 1.0, 1.0, 0.0])
    positive = np.array([True, True, False, False])
    ranks = 1.0 / (1.0 + np.exp(-logit_ranks(scores, positive)))
    np.testing.assert_allclose(ranks, [0.875, 0.5, 0.5, 0.125])
    assert np.all(np.diff(logit_ranks(np.linspace(0, 1, 50), np.arange(50) % 2 == 0)) > 0)
