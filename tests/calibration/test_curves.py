"""Curves from scores to probabilities, against general solvers and known posteriors."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.isotonic import IsotonicRegression

from fewlabels.calibration.fit_curves import (
    curve_of_labels,
    curve_with_prior,
    curve_with_priors,
    softmax_slopes,
)

KINDS = ["sigmoid", "isotonic"]


def scores_of(rng, p, n, prior, apart=1.5):
    """Scores of positive rows and of unlabelled ones: normal, ``apart`` deviations."""
    hidden = rng.random(n) < prior
    return rng.normal(apart, 1, p), rng.normal(np.where(hidden, apart, 0.0), 1), hidden


def weighted(values):
    return values, np.ones(len(values))


# -- the curve with a prior ------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.02, 0.3, 0.7])
@pytest.mark.parametrize("kind", KINDS)
def test_mean_over_unlabelled_scores_is_the_prior_and_the_curve_rises(kind, prior, rng):
    p, u, _ = scores_of(rng, 30, 200, prior)
    u[:40] = np.round(u[:40])  # ties
    weight = rng.random(200) + 0.1
    curve = curve_with_prior((p, rng.random(30) + 0.5), (u, weight), prior, kind)
    assert np.average(curve(u)[:, 1], weights=weight) == pytest.approx(prior, abs=1e-10)
    rising = curve(np.linspace(-4, 6, 1000))
    np.testing.assert_allclose(rising.sum(axis=1), 1.0, atol=1e-15)
    assert np.all(np.diff(rising[:, 1]) > 0)
    assert np.all((rising > 0) & (rising < 1))


@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_sigmoid_is_the_constrained_optimum_of_a_general_solver(prior, rng):
    p, u, _ = scores_of(rng, 25, 300, prior)
    curve = curve_with_prior(weighted(p), weighted(u), prior, "sigmoid")

    def loss(t):  # log slope per deviation of u, intercept
        slope = np.exp(t[0]) / u.std()
        return np.sum(np.logaddexp(0, -(slope * p + t[1]))) + 0.5 * (t[0] - 0.7) ** 2

    def off(t):
        return np.mean(expit(np.exp(t[0]) / u.std() * u + t[1])) - prior

    found = minimize(
        loss, [0.0, 0.0], constraints={"type": "eq", "fun": off}, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert found.success
    ours = [np.log(curve.slope * u.std()), curve.intercept]
    assert abs(off(ours)) < 1e-12
    assert loss(ours) <= loss(found.x) + 1e-7
    np.testing.assert_allclose(ours, found.x, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_many_scores_give_the_true_posterior(kind, rng):
    prior = 0.3
    p, u, _ = scores_of(rng, 4000, 10_000, prior)
    curve = curve_with_prior(weighted(p), weighted(u), prior, kind)
    grid = np.linspace(-1.5, 3, 30)
    density = np.exp(-0.5 * (grid - 1.5) ** 2)
    truth = prior * density / (prior * density + (1 - prior) * np.exp(-0.5 * grid**2))
    assert np.abs(curve(grid)[:, 1] - truth).max() < 0.06


def test_isotonic_finds_what_no_sigmoid_does(rng):
    # Positives fill two fifths of the scores beyond 1 and none before, evenly.
    u, p = rng.uniform(0, 2, 8000), rng.uniform(1, 2, 4000)
    curves = [curve_with_prior(weighted(p), weighted(u), 0.2, kind) for kind in KINDS]
    sigmoid, mixed = (curve(np.array([0.5, 1.5]))[:, 1] for curve in curves)
    step = 2 * mixed - sigmoid
    np.testing.assert_allclose(step, [0.0, 0.4], atol=0.08)


def test_increasing_part_is_the_best_of_all_increasing_functions(rng):
    # With one unlabelled row per step, the centres are the rows and nothing is interpolated.
    u, prior = np.arange(6.0), 0.5
    p = np.repeat(u, [1, 2, 4, 8, 16, 32]) - 0.1
    curve = curve_with_prior(weighted(p), weighted(u), prior, "isotonic")
    counts = np.array([1, 2, 4, 8, 16, 32])

    def loss(q):
        return -counts @ np.log(np.maximum(q, 1e-300))

    rows = [np.eye(6)[i + 1] - np.eye(6)[i] for i in range(5)]
    found = minimize(
        loss, np.linspace(0.3, 0.7, 6), method="SLSQP", bounds=[(1e-6, 1)] * 6,
        constraints=[
            {"type": "eq", "fun": lambda q: q.mean() - prior},
            {"type": "ineq", "fun": lambda q: np.array(rows) @ q},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )  # fmt: skip
    assert found.success
    np.testing.assert_array_equal(curve.knots, u)
    np.testing.assert_allclose(curve.values, found.x, atol=1e-4)
    assert curve.values[-1] == 1.0  # the bound is active


def test_prior_beyond_what_scores_allow(rng):
    # No positive score below the last unlabelled ones: nine tenths must be positive all the same.
    p, u = np.full(10, 5.0), np.r_[np.zeros(95), np.full(5, 4.0)]
    for kind in KINDS:
        curve = curve_with_prior(weighted(p), weighted(u), 0.9, kind)
        q = curve(u)[:, 1]
        assert q.mean() == pytest.approx(0.9, abs=1e-9)
        assert q[-1] > q[0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_without_a_difference_give_the_prior(kind):
    curve = curve_with_prior(weighted(np.zeros(5)), weighted(np.zeros(9)), 0.3, kind)
    np.testing.assert_allclose(curve(np.zeros(2))[:, 1], 0.3, atol=1e-12)


def test_scores_that_rounding_tells_apart_are_one_step(rng):
    u = np.r_[np.full(20, -1.0), np.full(20, 2.0)]
    shaken = u * (1 + 1e-13 * rng.normal(size=40))
    one, two = (
        curve_with_prior(weighted(np.full(9, 2.0)), weighted(v), 0.3, "isotonic")
        for v in (u, shaken)
    )
    np.testing.assert_allclose(one.knots, two.knots, rtol=1e-9)
    np.testing.assert_allclose(one.values, two.values, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_scores_are_repetitions(kind, rng):
    p, u, _ = scores_of(rng, 20, 60, 0.4)
    times = rng.integers(1, 4, 20), rng.integers(1, 4, 60)
    one = curve_with_prior((p, times[0]), (u, times[1]), 0.4, kind)
    two = curve_with_prior(
        weighted(np.repeat(p, times[0])), weighted(np.repeat(u, times[1])), 0.4, kind
    )
    f = np.linspace(-3, 5, 50)
    np.testing.assert_allclose(one(f), two(f), rtol=1e-7)


# -- the curve with a distribution of priors -----------------------------------------------------


@pytest.mark.parametrize("n", [300, 5000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_over_priors_is_the_mean_of_their_curves(kind, n, rng):
    p, u, _ = scores_of(rng, 40, n, 0.3)
    weight = rng.random(n) + 0.1
    quantiles = np.linspace(0.05, 0.6, 32)
    curve = curve_with_priors(weighted(p), (u, weight), quantiles, kind)
    curves = [curve_with_prior(weighted(p), (u, weight), prior, kind) for prior in quantiles]
    each = [one(u)[:, 1] for one in curves]
    ours = curve(u)[:, 1]
    assert np.average(ours, weights=weight) == pytest.approx(quantiles.mean(), abs=2e-3)
    assert np.abs(ours - np.mean(each, axis=0)).max() < 0.01
    assert np.all(np.diff(ours[np.argsort(u)]) >= 0)
    assert not curve.agrees


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_over_equal_priors_is_the_curve_of_that_prior(kind, rng):
    p, u, _ = scores_of(rng, 40, 300, 0.3)
    one = curve_with_prior(weighted(p), weighted(u), 0.3, kind)
    many = curve_with_priors(weighted(p), weighted(u), np.full(32, 0.3), kind)
    f = np.linspace(-3, 5, 50)
    np.testing.assert_allclose(many(f), one(f), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_that_say_nothing_have_the_mean_prior(kind, rng):
    p, u = rng.normal(size=60), rng.normal(size=500)
    quantiles = np.geomspace(0.001, 0.98, 32)  # mean .15; the point may be anything
    curve = curve_with_priors(weighted(p), weighted(u), quantiles, kind)
    assert np.sort(curve(u)[:, 1])[-20:].mean() < 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions_under_several_priors(kind, rng):
    p, u, _ = scores_of(rng, 20, 60, 0.4)
    times, quantiles = (rng.integers(1, 4, 20), rng.integers(1, 4, 60)), np.linspace(0.1, 0.7, 32)
    one = curve_with_priors((p, times[0]), (u, times[1]), quantiles, kind)
    repeated = weighted(np.repeat(p, times[0])), weighted(np.repeat(u, times[1]))
    f = np.linspace(-3, 5, 50)
    np.testing.assert_allclose(one(f), curve_with_priors(*repeated, quantiles, kind)(f), rtol=1e-7)


# -- the curve of labels ---------------------------------------------------------------------


def test_curve_of_labels_is_the_optimum_of_a_general_solver(rng):
    f = rng.normal(size=40)
    y, weight = rng.random(40) < expit(2 * f + 0.5), rng.random(40) + 0.5
    curve = curve_of_labels(f, y, weight, "sigmoid")

    def loss(t):
        z = np.exp(t[0]) * f + t[1]
        likelihood = weight @ (np.logaddexp(0, z) - y * z)
        return likelihood + 0.5 * t[0] ** 2 + 0.5 * (t[1] / 2) ** 2

    found = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-10})
    ours = [np.log(curve.slope), curve.intercept]
    assert loss(ours) <= loss(found.x) + 1e-10
    np.testing.assert_allclose(ours, found.x, atol=1e-5)


def test_isotonic_part_of_labels_is_isotonic_regression(rng):
    f = rng.normal(size=60)
    y = rng.random(60) < expit(2 * f)
    curve = curve_of_labels(f, y, np.ones(60), "isotonic")
    expected = IsotonicRegression().fit(f, y).predict(f)
    for knot, value in zip(curve.knots, curve.values, strict=True):
        members = np.isclose(expected, value, atol=1e-12)
        assert f[members].mean() == pytest.approx(knot)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_share_of_unlabelled_rows_is_kept(kind, share, rng):
    f, u, mass = rng.normal(size=30), rng.normal(size=100), rng.random(100) + 0.1
    curve = curve_of_labels(f, f + rng.normal(size=30) > 0, np.ones(30), kind, (u, mass), share)
    assert np.average(curve(u)[:, 1], weights=mass) == pytest.approx(share)


def test_labels_of_one_class_leave_the_share(rng):
    f, u = rng.normal(size=9), rng.normal(size=100)
    with np.errstate(all="raise", under="ignore"):
        curve = curve_of_labels(
            f, np.zeros(9, bool), np.ones(9), "isotonic", (u, np.ones(100)), 0.4
        )
    assert np.mean(curve(u)[:, 1]) == pytest.approx(0.4)


def test_few_labels_without_an_error_give_no_certainty():
    curve = curve_of_labels(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2), "sigmoid")
    assert 0.6 < curve(np.array([1.0]))[0, 1] < 0.95
    nothing = curve_of_labels(np.zeros(0), np.zeros(0, bool), np.zeros(0), "isotonic")
    np.testing.assert_allclose(nothing(np.array([0.7]))[0, 1], expit(0.7))


def test_softmax_slopes_are_the_densest_ones():
    """Against BFGS, with scores from tiny to large, classes of one row, and weights of 0."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.integers(2, 6))
        n = int(rng.integers(n_classes, 40))
        scores = rng.normal(size=(n, n_classes)) * 10.0 ** rng.uniform(-2, 2)
        place = rng.integers(0, n_classes, n)
        weights = rng.integers(0, 4, (3, n)) * 10.0 ** rng.uniform(-1, 2)
        usual = float(rng.normal())
        slopes, intercepts = softmax_slopes(scores, place, weights, usual)
        for weight, slope, intercept in zip(weights, slopes, intercepts, strict=True):

            def value(at, weight=weight, scores=scores, place=place, usual=usual):
                z = log_softmax(np.exp(at[0]) * scores + at[1:], axis=1)
                loss = -(weight @ z[np.arange(len(z)), place])
                return loss + 0.5 * (at[0] - usual) ** 2 + 0.125 * np.sum(at[1:] ** 2)

            found = np.append(np.log(slope), intercept)
            starts = np.append(usual, np.zeros(n_classes)), found
            best = min(minimize(value, start, method="BFGS").fun for start in starts)
            assert value(found) <= best + 1e-9 * max(1.0, best)
    alone = softmax_slopes(scores, place, weights[1:2], usual)
    np.testing.assert_allclose(alone[0], slopes[1:2], rtol=1e-9)
