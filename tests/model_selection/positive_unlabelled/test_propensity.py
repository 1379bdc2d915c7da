"""Propensities estimated from the features that decided which positives were labelled."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM
from fewlabels.model_selection import estimate_propensity


def sample(seed, slope, n=1500):
    """Rows, labels, propensities, and which rows are positive; labelling depends on column 1."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + np.where(truth[:, None], 1.5, -1.5) * [1.0, 0.0, 0.5]
    propensity = 1.0 / (1.0 + np.exp(1.0 - slope * X[:, 1]))
    return X, (truth & (rng.random(n) < propensity)).astype(int), propensity, truth


@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_finds_the_propensities_of_a_simulation(slope):
    X, y, propensity, truth = sample(0, slope)
    hidden = truth[y == 0].mean()
    found = estimate_propensity(X, y, X[:, [1]], prior=hidden)
    assert found.prior == hidden
    assert np.abs(found.propensity - propensity)[y == 1].mean() < 0.1
    assert found.coef[0] == pytest.approx(slope, abs=0.4 + 0.2 * slope)
    assert found.intercept == pytest.approx(-1.0, abs=0.5)
    found = estimate_propensity(X, y, X[:, [1]])
    assert found.prior == pytest.approx(hidden, abs=0.15)
    assert len(found.priors) == len(found.log_likelihoods) == 4
    assert np.all(np.diff(found.log_likelihoods) <= 0.0)


def test_hidden_positives_add_up_to_the_prior():
    X, y, _, _ = sample(0, 1.0)
    found = estimate_propensity(X, y, X[:, [1]], prior=0.3)
    e = found.propensity[y == 1]
    assert np.sum((1.0 - e) / e) == pytest.approx(0.3 * np.sum(y == 0), rel=0.01)


def test_models_are_better_with_them():
    gain = []
    for seed in range(3):
        X, y, _, truth = sample(seed, 2.0, 900)
        hidden = y == 0
        right = []
        propensity = estimate_propensity(X, y, X[:, [1]]).propensity
        for model, given in ((PUSVM(), None), (PUSVM(sampling="one-sample"), propensity)):
            model.fit(X, y, propensity=given)
            right.append(np.mean((model.predict(X) == 1)[hidden] == truth[hidden]))
        gain.append(right[1] - right[0])
    assert np.mean(gain) > 0.01


def test_many_rows_are_sampled_with_the_right_level():
    X, y, propensity, truth = sample(1, 1.0, 9000)
    found = estimate_propensity(X, y, X[:, [1]], prior=truth[y == 0].mean())
    assert np.abs(found.propensity - propensity)[y == 1].mean() < 0.06


def test_sparse_rows_and_several_features():
    X, y, _, truth = sample(2, 1.0, 600)
    rows = sp.csr_array(np.maximum(X, 0.0))
    found = estimate_propensity(rows, y, X[:, 1:], prior=truth[y == 0].mean())
    assert found.coef.shape == (2,)
    assert found.coef[0] > 0.4
    assert np.all((found.propensity > 0.0) & (found.propensity < 1.0))


def test_what_is_refused():
    X, y, _, _ = sample(0, 1.0, 200)
    with pytest.raises(ValueError, match="n_starts=0"):
        estimate_propensity(X, y, X[:, [1]], n_starts=0)
    with pytest.raises(ValueError, match=r"prior=2 is not allowed"):
        estimate_propensity(X, y, X[:, [1]], prior=2.0)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        estimate_propensity(X, y, X[:50, [1]])
