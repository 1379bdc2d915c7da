"""Quantiles that stand for the distribution of an estimated prior."""

import numpy as np
import pytest
from scipy.stats import beta

from fewlabels.class_prior.finding import counted_prior
from fewlabels.class_prior.uncertainty import N_QUANTILES, is_determined, prior_at, quantiles_of


def test_quantiles_keep_mean_and_order_of_replicates(rng):
    replicates = np.where(rng.random(500) < 0.4, 10.0 ** -rng.uniform(0, 3, 500), 0.6)
    found = quantiles_of(replicates, 1000)
    assert found.shape == (N_QUANTILES,) and np.all(np.diff(found) >= 0)
    assert found.mean() == pytest.approx(replicates.mean(), abs=0.01)
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    np.testing.assert_allclose(prior_at(levels, found), found)
    assert prior_at(0.0, found) == found[0] and prior_at(1.0, found) == found[-1]


def test_replicates_that_agree_are_no_certainty():
    found = quantiles_of(np.full(100, 0.005), 100)
    assert prior_at(0.05, found) < 0.001
    assert prior_at(0.95, found) == pytest.approx(beta.ppf(0.95, 1.5, 99.5), rel=0.05)
    assert np.all((found > 0) & (found < 1))


def test_quantiles_of_a_counted_prior_agree_with_its_interval():
    found = counted_prior(np.full(50, 0.5), np.ones(50), 400.0)
    assert prior_at(0.5, found.quantiles) == pytest.approx(found.prior)
    for level, end in zip((0.05, 0.95), found.interval, strict=True):
        assert prior_at(level, found.quantiles) == pytest.approx(end, abs=2e-3)


def test_what_is_determined():
    assert is_determined(None) and is_determined((0.1, 0.79)) and not is_determined((0.1, 0.81))
