"""Propensities of labelled rows: weights, their limits, updates, files."""

import pickle

import numpy as np
import pytest
from reference import kernel_matrix
from reference.pu import clouds, regularised_risk, smallest_risk

from fewlabels import PUSVM, PUEnsemble
from fewlabels.positive_unlabelled.propensity_weights import effective_size


def biased(rng, n=400, *, distance=1.5, one_sample=False):
    """Rows, labels, propensities of all rows, and which rows are positive."""
    truth = rng.random(n) < 0.4
    X = rng.normal(size=(n, 2)) + distance * np.where(truth, 1.0, -1.0)[:, None]
    propensity = 1.0 / (1.0 + np.exp(-1.5 * (X[:, 0] - 2.0)))
    labelled = truth & (rng.random(n) < propensity)
    if not one_sample:  # an unlabelled sample of its own
        others = rng.random(n) < 0.4
        U = rng.normal(size=(n, 2)) + distance * np.where(others, 1.0, -1.0)[:, None]
        X = np.concatenate([X[labelled], U])
        propensity = np.concatenate([propensity[labelled], np.full(n, np.nan)])
        truth = np.concatenate([truth[labelled], others])
        labelled = np.arange(len(X)) < labelled.sum()
    return X, labelled.astype(float), propensity, truth


def weights_of(model, y, propensity):
    weight = np.ones(len(y))
    weight[y == 1] = model.propensity_weights_(propensity[y == 1])
    return weight


@pytest.mark.parametrize("solver", ["decomposition", "usmo", "qp"])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_objective_equals_an_independent_solver(solver, sampling, rng):
    X, y, propensity, _ = biased(rng, 120)
    model = PUSVM(0.3, 0.05, gamma=0.5, solver=solver, sampling=sampling, tol=1e-10)
    model.set_params(threshold="risk").fit(X, y, propensity=propensity)
    K, weight = kernel_matrix(("rbf", 0.5), X), weights_of(model, y, propensity)
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    best = smallest_risk(K, y == 1, 0.3, 0.05, weight)
    value = regularised_risk(K, y == 1, coef, model.risk_intercept_, 0.3, 0.05, weight)
    assert 0.0 < model.propensity_weights_.strength <= 1.0
    assert value == pytest.approx(best, abs=1e-8)
    assert model.objective_ == pytest.approx(best, abs=1e-8)
    assert 0.0 <= model.duality_gap_ <= 1e-8


def test_the_linear_term_is_the_weighted_risk(rng):
    # l(z) - l(-z) = -z: the risk of the positives needs no slack, whatever their weights.
    X, y, propensity, _ = biased(rng, 100)
    model = PUSVM(0.3, 0.1, gamma=0.5, threshold="risk", tol=1e-9)
    model.fit(X, y, propensity=propensity)
    share = weights_of(model, y, propensity)[y == 1]
    share = share / share.sum()
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(coef[y == 1], 0.3 * share / 0.2, rtol=1e-12)


def test_equal_propensities_change_nothing(rng):
    X, y = clouds(rng, 120, 30)
    for sampling in ("two-sample", "one-sample"):
        plain = PUSVM(0.4).fit(X, y)
        known = PUSVM(0.4, sampling=sampling).fit(X, y, propensity=0.25)
        np.testing.assert_allclose(known.decision_function(X), plain.decision_function(X))
        assert known.propensity_weights_.effective_size == pytest.approx(30)
        assert known.propensity_weights_.n_clipped == 0
    assert plain.propensity_weights_ is None


def test_weights_keep_their_sum_and_are_clipped(rng):
    X, y, propensity, _ = biased(rng, 300)
    propensity[np.flatnonzero(y)[0]] = 1e-9
    weight = rng.uniform(0.5, 2.0, len(y))
    model = PUSVM(0.4).fit(X, y, weight, propensity=propensity)
    found, ours = model.propensity_weights_, y == 1
    used = weight[ours] * found(propensity[ours])
    assert used.sum() == pytest.approx(weight[ours].sum())
    assert model.lam_ == pytest.approx(0.15 / weight[ours].sum())
    assert found.n_clipped >= 1
    assert found.n_labelled == ours.sum()
    assert found.inverse(propensity[ours]).max() <= 10.0 / np.median(propensity[ours]) * (1 + 1e-9)
    assert found.effective_size == pytest.approx(effective_size(used))
    assert found.full_effective_size <= found.effective_size <= found.n_labelled


def test_only_ratios_matter_in_two_samples(rng):
    X, y, propensity, _ = biased(rng, 200)
    one, other = (PUSVM(0.4).fit(X, y, propensity=c * propensity) for c in (1.0, 0.1))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-3)


def test_strength_follows_bias_and_variance(rng):
    # Labels that depend on a feature without meaning: weights remove no bias that matters.
    n = 60
    X = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(200, 2)) - 1.0])
    y = np.r_[np.ones(n), np.zeros(200)]
    random = np.r_[rng.uniform(0.05, 1.0, n), np.ones(200)]
    assert PUSVM(0.3).fit(X, y, propensity=random).propensity_weights_.strength < 0.5
    X, y, propensity, _ = biased(rng, 2000)
    assert PUSVM(0.4).fit(X, y, propensity=propensity).propensity_weights_.strength > 0.7


def test_known_propensities_correct_the_prior_and_the_threshold(rng):
    error, accuracy = {}, {}
    for seed in range(3):
        X, y, propensity, truth = biased(np.random.default_rng(seed), 1200)
        hidden = y == 0
        for name, given in (("ignored", None), ("known", propensity)):
            model = PUSVM().fit(X, y, propensity=given)
            right = (model.predict(X) == 1)[hidden] == truth[hidden]
            error.setdefault(name, []).append(abs(model.prior_ - truth[hidden].mean()))
            accuracy.setdefault(name, []).append(right.mean())
    assert np.mean(error["known"]) < 0.6 * np.mean(error["ignored"])
    assert np.mean(accuracy["known"]) > np.mean(accuracy["ignored"]) + 0.02


def test_one_sample_counts_the_hidden_positives(rng):
    inside, models = 0, []
    for seed in range(20):
        X, y, propensity, truth = biased(np.random.default_rng(seed), 800, one_sample=True)
        model = PUSVM(sampling="one-sample").fit(X, y, propensity=propensity)
        share = truth[y == 0].mean()
        inside += model.prior_interval_[0] <= share <= model.prior_interval_[1]
        models.append(model)
    assert inside >= 15  # of 20 intervals at 90 %; fewer have probability .01
    plain = PUSVM(model.prior_).fit(X, y)
    right = [(m.predict(X) == 1)[y == 0] == truth[y == 0] for m in (models[-1], plain)]
    assert right[0].mean() > right[1].mean()


def test_one_sample_weights_stand_for_unlabelled_positives(rng):
    # sum over labelled rows of (1 - e) / e g(x) estimates the sum of g over hidden positives.
    X, y, propensity, truth = biased(rng, 40_000, one_sample=True)
    hidden, ours = truth & (y == 0), (y == 1) & (propensity > 0.02)
    weight = (1.0 - propensity[ours]) / propensity[ours]
    hidden &= propensity > 0.02
    np.testing.assert_allclose(weight @ X[ours], X[hidden].sum(axis=0), rtol=0.1)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("lam", ["auto", 0.02])
def test_updates_equal_a_fit_with_the_same_weights(sampling, lam, rng):
    X, y, propensity, _ = biased(rng, 150, one_sample=True)
    first, more = np.arange(110), np.arange(110, 150)
    model = PUSVM(0.3, lam, gamma=0.5, sampling=sampling, tol=1e-9)
    model.fit(X[first], y[first], propensity=propensity[first])
    weights = model.propensity_weights_
    model.partial_fit(X[more], y[more], propensity=propensity[more])
    gone = np.concatenate([np.flatnonzero(y)[:3], np.flatnonzero(y == 0)[:5]])
    model.forget(gone)
    # Relabel a row: forget it, and add it with its label.
    place = int(np.flatnonzero(np.delete(y, gone) == 0)[0])
    kept = np.delete(np.arange(150), gone)
    row = kept[place]
    model.forget([place]).partial_fit(X[[row]], [1.0], propensity=propensity[[row]])
    assert model.propensity_weights_ is weights

    kept = np.append(np.delete(kept, place), row)
    label = y.copy()
    label[row] = 1.0
    weight = weights_of(model, label, propensity)[kept]
    same = PUSVM(0.3, lam, gamma=model.gamma_, tol=1e-9).fit(X[kept], label[kept], weight)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)
    assert model.objective_ == pytest.approx(same.objective_, abs=1e-8)
    np.testing.assert_allclose(model.training_rows_.weight, 1.0)


def test_leave_one_out_with_weights(rng):
    X, y, propensity, _ = biased(rng, 60)
    model = PUSVM(0.3, 0.05, gamma=0.5, tol=1e-9).fit(X, y, propensity=propensity)
    weight, places = weights_of(model, y, propensity), [0, len(y) - 1]
    found = model.leave_one_out_decisions(places)
    for place, value in zip(places, found, strict=True):
        kept = np.delete(np.arange(len(y)), place)
        other = PUSVM(0.3, 0.05, gamma=0.5, tol=1e-9, threshold="risk")
        other.fit(X[kept], y[kept], weight[kept])
        assert value == pytest.approx(other.decision_function(X[[place]])[0], abs=1e-5)


@pytest.mark.parametrize("estimator", [PUSVM(0.4), PUEnsemble(0.4, kernel="rbf", n_bags=4)])
def test_pickles_keep_weights_and_updates(estimator, rng):
    X, y, propensity, _ = biased(rng, 150)
    model = estimator.fit(X, y, propensity=propensity)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    ours = propensity[y == 1]
    np.testing.assert_array_equal(again.propensity_weights_(ours), model.propensity_weights_(ours))
    if isinstance(model, PUSVM):
        for one in (model, again):
            one.partial_fit(X[:2] + 0.1, y[:2], propensity=propensity[:2])
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))


def test_ensemble_uses_propensities(rng):
    X, y, propensity, truth = biased(rng, 800)
    hidden = y == 0
    share = truth[hidden].mean()
    right = []
    for given in (None, propensity):
        model = PUEnsemble(share, kernel="rbf", n_bags=8).fit(X, y, propensity=given)
        right.append(np.mean((model.predict(X) == 1)[hidden] == truth[hidden]))
    assert right[1] >= right[0] - 0.005
    assert model.propensity_weights_.n_labelled == y.sum()


def test_path_uses_propensities(rng):
    X, y, propensity, _ = biased(rng, 150)
    (found,) = PUSVM(0.3, tol=1e-8).path(X, y, lam=[0.05], propensity=propensity)
    alone = PUSVM(0.3, 0.05, tol=1e-8).fit(X, y, propensity=propensity)
    np.testing.assert_allclose(found.decision_function(X), alone.decision_function(X), atol=1e-5)
    assert found.propensity_weights_.strength == alone.propensity_weights_.strength


def test_what_is_refused(rng):
    X, y, propensity, _ = biased(rng, 100)
    for wrong, words in (
        (np.r_[0.0, propensity[1:]], "propensity is 0 for labelled row 0"),
        (np.r_[1.5, propensity[1:]], "propensity is 1.5"),
        (np.r_[np.nan, propensity[1:]], "propensity is nan"),
        (propensity[1:], "one number per row of X"),
    ):
        with pytest.raises(ValueError, match=words):
            PUSVM(0.3).fit(X, y, propensity=wrong)
    with pytest.raises(ValueError, match="no positive would be left"):
        PUSVM(0.3, sampling="one-sample").fit(X, y, propensity=1.0)
    with pytest.raises(ValueError, match="the propensities imply"):
        PUSVM(sampling="one-sample").fit(X, y, propensity=1e-3)
    with pytest.raises(ValueError, match="fitted without propensities"):
        PUSVM(0.3).fit(X, y).partial_fit(X[:1], y[:1], propensity=0.5)
    with pytest.raises(ValueError, match="pass propensity for new labelled rows"):
        PUSVM(0.3).fit(X, y, propensity=propensity).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="sampling"):
        PUSVM(sampling="three").fit(X, y)
