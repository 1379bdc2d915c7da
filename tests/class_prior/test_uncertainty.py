"""Quantiles that stand for the distribution of an estimated prior."""

import numpy as np
import pytest
from scipy.stats import beta

from fewlabels.class_prior.prior import count_prior
from fewlabels.class_prior.uncertainty import (
    N_QUANTILES,
    interpolate_prior,
    is_determined,
    summarise_replicates,
)


def test_quantiles_keep_mean_and_order_of_replicates(rng):
    replicates = np.where(rng.random(500) < 0.4, 10.0 ** -rng.uniform(0, 3, 500), 0.6)
    found = summarise_replicates(replicates, 1000)
    assert found.shape == (N_QUANTILES,) and np.all(np.diff(found) >= 0)
    assert found.mean() == pytest.approx(replicates.mean(), abs=0.01)
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    np.testing.assert_allclose(interpolate_prior(levels, found), found)
    assert interpolate_prior(0.0, found) == found[0] and interpolate_prior(1.0, found) == found[-1]


def test_replicates_that_agree_are_no_certainty():
    found = summarise_replicates(np.full(100, 0.005), 100)
    assert interpolate_prior(0.05, found) < 0.001
    assert interpolate_prior(0.95, found) == pytest.approx(beta.ppf(0.95, 1.5, 99.5), rel=0.05)
    assert np.all((found > 0) & (found < 1))


def test_quantiles_of_a_counted_prior_agree_with_its_interval():
    found = count_prior(np.full(50, 0.5), np.ones(50), 400.0)
    assert interpolate_prior(0.5, found.quantiles) == pytest.approx(found.prior)
    for level, end in zip((0.05, 0.95), found.interval, strict=True):
        assert interpolate_prior(level, found.quantiles) == pytest.approx(end, abs=2e-3)


def test_what_is_determined():
    assert is_determined(None) and is_determined((0.1, 0.79)) and not is_determined((0.1, 0.81))
