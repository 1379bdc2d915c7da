"""How predictions depend on a bound on selection bias."""

import numpy as np
import pytest
from reference.pu import clouds
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, PUEnsemble
from fewlabels.class_prior import prior_bounds
from fewlabels.model_selection import bias_sensitivity


def test_more_bias_leaves_fewer_decisions(rng):
    X, y = clouds(rng, 300, 60, distance=2.0)
    found = bias_sensitivity(PUSVM(), X, y, [1.5, 3.0])
    table, n = found.table, int(np.sum(y == 0))
    assert table["bias"].tolist() == [1.0, 1.5, 3.0]
    assert np.all(np.diff(table["undecided"]) >= 0)
    assert table["undecided"][0] == 0
    assert np.all(table["positive"] + table["negative"] + table["undecided"] == n)
    assert np.all(np.diff(table["prior_low"]) <= 0)
    assert np.all(np.diff(table["prior_high"]) >= 0)
    base = PUSVM().fit(X, y)
    np.testing.assert_array_equal(found.base, base.predict(X[y == 0]) == 1)
    assert found.robust_positives.sum() == table["positive"].iloc[-1]
    first = found.first_to_change(3)
    assert len(first) == min(3, int(np.isfinite(found.changes_at).sum()))
    assert np.all(np.diff(found.changes_at[first]) >= 0)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(y == 0))
    robust = found.rows[found.robust_positives]
    assert len(robust) and np.all(base.predict(X[robust]) == 1)
    others = base.decision_function(X[found.rows[first]])
    np.testing.assert_array_equal(others, base.decision_function(X[y == 0][first]))


def test_a_row_that_changes_is_counted_from_its_bound_on(rng):
    X, y = clouds(rng, 200, 40, distance=1.0)
    found = bias_sensitivity(PUSVM(0.4), X, y, [2.0, 5.0])
    for bound, undecided in zip(found.table["bias"], found.table["undecided"], strict=True):
        assert undecided == np.sum(found.changes_at <= bound)
    assert np.all(found.table["prior_low"] == 0.4)
    other = PUSVM(0.4, bias=2.0).fit(X, y).predict(X[y == 0]) == 1
    np.testing.assert_array_equal(found.changes_at == 2.0, other != found.base)


def test_pipelines_and_other_rows(rng):
    X, y = clouds(rng, 150, 40)
    new = rng.normal(size=(30, 3)) + 1.0
    model = make_pipeline(StandardScaler(), PUSVM(0.4))
    found = bias_sensitivity(model, X, y, [2.0], X_eval=new)
    assert found.base.shape == (30,) and found.rows.tolist() == list(range(30))
    np.testing.assert_array_equal(found.base, model.fit(X, y).predict(new) == 1)


def test_prior_bounds_hold_the_truth_under_bias():
    # Propensities within a factor of 2 of their mean, either way; the rest is for sampling error.
    held = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pool = rng.normal(size=(3000, 2)) + 1.5
        truth = rng.random(1000) < 0.3
        U = rng.normal(size=(1000, 2)) + np.where(truth[:, None], 1.5, -1.5)
        weight = np.clip(np.exp(pool.sum(axis=1) - 3.0), 0.6, 2.0)
        labelled = rng.choice(3000, 100, replace=False, p=weight / weight.sum())
        X, y = np.concatenate([pool[labelled], U]), np.repeat([1, 0], [100, 1000])
        low, high = prior_bounds(X, y, 3.0)
        assert low < prior_bounds(X, y, 1.0)[0] < high
        held += low <= truth.mean() <= high
    assert held >= 4


def test_prior_bounds_are_nested(rng):
    X, y = clouds(rng, 200, 50)
    found = prior_bounds(X, y, [1.0, 1.5, 4.0])
    assert found.shape == (3, 2)
    assert found[0, 0] == found[0, 1]
    assert np.all(np.diff(found[:, 0]) <= 0.0)
    assert np.all(np.diff(found[:, 1]) >= 0.0)


def test_what_is_refused(rng):
    X, y = clouds(rng, 60, 20)
    with pytest.raises(ValueError, match="PUEnsemble has no parameter bias"):
        bias_sensitivity(PUEnsemble(0.4), X, y)
    with pytest.raises(ValueError, match="pass finite numbers >= 1"):
        bias_sensitivity(PUSVM(0.4), X, y, [0.5])
    with pytest.raises(ValueError, match="pass finite numbers >= 1"):
        prior_bounds(X, y, 0.9)
