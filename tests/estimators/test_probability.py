"""predict_proba of PUSVM and S3VM: curves, what they are fitted to, and when."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from reference.pu import clouds
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabels
from fewlabels.estimators._probability_fit import (
    curve_of_labels,
    curve_with_prior,
    probabilities,
)
from fewlabels.io.models.files import describe, load_model, save_model
from fewlabels.io.tables.schema import Schema
from fewlabels.metrics import calibration_error
from fewlabels.model_selection import LabeledKFold

KINDS = ["sigmoid", "isotonic"]
PUSVM = partial(fewlabels.PUSVM, probability="isotonic")
S3VM = partial(fewlabels.S3VM, probability="sigmoid")


def scores_of(rng, p, n, prior, apart=1.5):
    """Scores of positive rows and of unlabelled ones: normal, ``apart`` deviations."""
    hidden = rng.random(n) < prior
    return rng.normal(apart, 1, p), rng.normal(np.where(hidden, apart, 0.0), 1), hidden


def semi(rng, n=200, labels=20, d=3):
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 0.8 * (2 * truth[:, None] - 1)
    y = np.where(np.arange(n) < labels, truth, -1)
    return X, y, truth


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
    assert np.average(probabilities(curve, u)[:, 1], weights=weight) == pytest.approx(
        prior, abs=1e-10
    )
    rising = probabilities(curve, np.linspace(-4, 6, 1000))
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
    ours = [np.log(curve["slope"] * u.std()), curve["intercept"]]
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
    assert np.abs(probabilities(curve, grid)[:, 1] - truth).max() < 0.06


def test_isotonic_finds_what_no_sigmoid_does(rng):
    # Positives fill two fifths of the scores beyond 1 and none before, evenly.
    u, p = rng.uniform(0, 2, 8000), rng.uniform(1, 2, 4000)
    curves = [curve_with_prior(weighted(p), weighted(u), 0.2, kind) for kind in KINDS]
    sigmoid, mixed = (probabilities(curve, np.array([0.5, 1.5]))[:, 1] for curve in curves)
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
    np.testing.assert_array_equal(curve["knots"], u)
    np.testing.assert_allclose(curve["values"], found.x, atol=1e-4)
    assert curve["values"][-1] == 1.0  # the bound is active


def test_prior_beyond_what_scores_allow(rng):
    # No positive score below the last unlabelled ones: nine tenths must be positive all the same.
    p, u = np.full(10, 5.0), np.r_[np.zeros(95), np.full(5, 4.0)]
    for kind in KINDS:
        curve = curve_with_prior(weighted(p), weighted(u), 0.9, kind)
        q = probabilities(curve, u)[:, 1]
        assert q.mean() == pytest.approx(0.9, abs=1e-9)
        assert q[-1] > q[0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_without_a_difference_give_the_prior(kind):
    curve = curve_with_prior(weighted(np.zeros(5)), weighted(np.zeros(9)), 0.3, kind)
    np.testing.assert_allclose(probabilities(curve, np.zeros(2))[:, 1], 0.3, atol=1e-12)


def test_scores_that_rounding_tells_apart_are_one_step(rng):
    u = np.r_[np.full(20, -1.0), np.full(20, 2.0)]
    shaken = u * (1 + 1e-13 * rng.normal(size=40))
    one, two = (
        curve_with_prior(weighted(np.full(9, 2.0)), weighted(v), 0.3, "isotonic")
        for v in (u, shaken)
    )
    np.testing.assert_allclose(one["knots"], two["knots"], rtol=1e-9)
    np.testing.assert_allclose(one["values"], two["values"], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_scores_are_repetitions(kind, rng):
    p, u, _ = scores_of(rng, 20, 60, 0.4)
    times = rng.integers(1, 4, 20), rng.integers(1, 4, 60)
    one = curve_with_prior((p, times[0]), (u, times[1]), 0.4, kind)
    two = curve_with_prior(
        weighted(np.repeat(p, times[0])), weighted(np.repeat(u, times[1])), 0.4, kind
    )
    f = np.linspace(-3, 5, 50)
    np.testing.assert_allclose(probabilities(one, f), probabilities(two, f), rtol=1e-7)


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
    ours = [np.log(curve["slope"]), curve["intercept"]]
    assert loss(ours) <= loss(found.x) + 1e-10
    np.testing.assert_allclose(ours, found.x, atol=1e-5)


def test_isotonic_part_of_labels_is_isotonic_regression(rng):
    f = rng.normal(size=60)
    y = rng.random(60) < expit(2 * f)
    curve = curve_of_labels(f, y, np.ones(60), "isotonic")
    expected = IsotonicRegression().fit(f, y).predict(f)
    for knot, value in zip(curve["knots"], curve["values"], strict=True):
        members = np.isclose(expected, value, atol=1e-12)
        assert f[members].mean() == pytest.approx(knot)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_share_of_unlabelled_rows_is_kept(kind, share, rng):
    f, u, mass = rng.normal(size=30), rng.normal(size=100), rng.random(100) + 0.1
    curve = curve_of_labels(f, f + rng.normal(size=30) > 0, np.ones(30), kind, (u, mass), share)
    assert np.average(probabilities(curve, u)[:, 1], weights=mass) == pytest.approx(share)


def test_labels_of_one_class_leave_the_share(rng):
    f, u = rng.normal(size=9), rng.normal(size=100)
    with np.errstate(all="raise", under="ignore"):
        curve = curve_of_labels(
            f, np.zeros(9, bool), np.ones(9), "isotonic", (u, np.ones(100)), 0.4
        )
    assert np.mean(probabilities(curve, u)[:, 1]) == pytest.approx(0.4)


def test_few_labels_without_an_error_give_no_certainty():
    curve = curve_of_labels(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2), "sigmoid")
    assert 0.6 < probabilities(curve, np.array([1.0]))[0, 1] < 0.95
    nothing = curve_of_labels(np.zeros(0), np.zeros(0, bool), np.zeros(0), "isotonic")
    np.testing.assert_allclose(probabilities(nothing, np.array([0.7]))[0, 1], expit(0.7))


# -- PUSVM -----------------------------------------------------------------------------------


def test_positive_rows_left_out_are_as_the_exact_path_has_them(rng):
    X, y = clouds(rng, 150, 40, distance=1.0)
    machine = PUSVM(0.4).fit(X, y)
    some = np.flatnonzero(y == 1)[:20]
    ours = machine._curve["positive"][:20]  # what the curve will be fitted to
    f = machine.decision_function(X[some])
    exact = machine.leave_one_out_decisions(some)
    exact += float(machine.intercept_[0]) - machine.risk_intercept_
    assert np.all(ours <= f + 1e-9)
    moved = np.mean(f - exact)
    assert moved > 0
    assert np.mean(f - ours) == pytest.approx(moved, rel=0.35)
    assert np.mean(np.abs(ours - exact)) < 0.8 * moved


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_have_probabilities_that_are_frequencies(kind, rng):
    def rows(n, share):
        truth = rng.random(n) < share
        return rng.normal(size=(n, 2)) + np.where(truth, 1.2, -0.3)[:, None], truth

    known, _ = rows(100, 1.0)
    pile, _ = rows(600, 0.3)
    X, y = np.concatenate([known, pile]), np.repeat([1, 0], [100, 600])
    new, truth = rows(5000, 0.3)
    machine = PUSVM(0.3, probability=kind).fit(X, y)
    p = machine.predict_proba(new)[:, 1]
    naive = expit(machine.decision_function(new))
    assert p.mean() == pytest.approx(0.3, abs=0.05)
    assert calibration_error(truth, p) < 0.07
    assert calibration_error(truth, p) < 0.5 * calibration_error(truth, naive)
    order = np.argsort(machine.decision_function(new))
    assert np.all(np.diff(p[order]) >= 0)
    np.testing.assert_allclose(np.exp(machine.predict_log_proba(new))[:, 1], p)


@pytest.mark.parametrize("threshold", ["risk", "prior"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_probabilities_do_not_depend_on_the_threshold(threshold, kernel, rng):
    X, y = clouds(rng, 100, 30)
    weight = np.where(np.arange(130) % 7 == 0, 0.0, rng.integers(1, 3, 130))
    fits = [
        PUSVM(0.3, threshold=t, kernel=kernel).fit(X, y, weight)
        for t in (threshold, "leave-one-out")
    ]
    one, two = (machine.predict_proba(X) for machine in fits)
    np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.parametrize("settings", [dict(), dict(loss="ramp"), dict(kernel="poly", degree=2)])
def test_weights_are_repetitions(settings, rng):
    X, y = clouds(rng, 50, 20)
    times = rng.integers(1, 3, 70)
    rows = np.repeat(np.arange(70), times)
    lam = 0.15 / times[y == 1].sum()
    one = PUSVM(0.4, lam, tol=1e-9, **settings).fit(X, y, times)
    two = PUSVM(0.4, lam, tol=1e-9, **settings).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=2e-4)


def test_sparse_precomputed_and_single_precision_rows(rng):
    X, y = clouds(rng, 80, 20)
    machine = PUSVM(0.3, gamma=0.3).fit(X, y)
    expected = machine.predict_proba(X)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(
        PUSVM(0.3, kernel="precomputed").fit(K, y).predict_proba(K), expected, atol=1e-8
    )
    rows = sp.csr_array(X)
    np.testing.assert_allclose(
        PUSVM(0.3, gamma=0.3).fit(rows, y).predict_proba(rows), expected, atol=1e-8
    )
    single = X.astype(np.float32)
    np.testing.assert_allclose(
        PUSVM(0.3, gamma=0.3).fit(single, y).predict_proba(single), expected, atol=1e-3
    )


def test_after_updates_as_after_a_fit(rng):
    X, y = clouds(rng, 100, 30)
    machine = PUSVM(0.4, gamma=0.3, tol=1e-8).fit(X[:-20], y[:-20])
    before = machine.predict_proba(X)
    machine.partial_fit(X[-20:], y[-20:]).forget([0, 1, 50])
    kept = np.setdiff1d(np.arange(130), [0, 1, 50])
    again = PUSVM(0.4, gamma=0.3, tol=1e-8).fit(X[kept], y[kept])
    np.testing.assert_allclose(machine.predict_proba(X), again.predict_proba(X), atol=1e-5)
    assert np.abs(machine.predict_proba(X) - before).max() > 1e-3


def test_another_prior_gives_other_probabilities(rng):
    X, y = clouds(rng, 200, 50)
    shares = [PUSVM(prior).fit(X, y).predict_proba(X[y == 0])[:, 1].mean() for prior in (0.2, 0.4)]
    np.testing.assert_allclose(shares, [0.2, 0.4], atol=0.04)


# -- S3VM ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_s3vm_is_calibrated_on_new_rows(kind, rng):
    X, y, _ = semi(rng, n=500, labels=80, d=2)
    new = rng.normal(size=(4000, 2))
    truth = np.arange(4000) % 2
    new += 0.8 * (2 * truth[:, None] - 1)
    machine = S3VM(probability=kind).fit(X, y)
    p = machine.predict_proba(new)[:, 1]
    assert calibration_error(truth, p) < 0.1
    assert np.all(np.diff(p[np.argsort(machine.decision_function(new))]) >= 0)


def test_labelled_rows_are_scored_by_machines_without_them(rng, monkeypatch):
    X, y, truth = semi(rng, labels=20)
    machine = S3VM().fit(X, y)
    seen, fit = [], fewlabels.S3VM.fit

    def spy(self, X, y, sample_weight=None, callback=None):
        seen.append((X, y))
        return fit(self, X, y, sample_weight, callback)

    monkeypatch.setattr(fewlabels.S3VM, "fit", spy)
    machine.predict_proba(X)
    assert len(seen) == 5
    left_out = [set(range(200)) - {int(np.argmin(np.abs(X - r).sum(1))) for r in rows}
                for rows, _ in seen]  # fmt: skip
    # Every labelled row once, and no other.
    assert sorted(i for out in left_out for i in out) == list(range(20))
    for out in left_out:
        assert sorted(truth[list(out)]) == [0, 0, 1, 1]
    machine.predict_proba(X)
    assert len(seen) == 5  # kept


def test_order_of_rows_does_not_matter(rng):
    X, y, _ = semi(rng)
    order = rng.permutation(200)
    one, two = S3VM(tol=1e-8).fit(X, y), S3VM(tol=1e-8).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-4)


def test_number_for_balance_is_the_share(rng):
    X, y, _ = semi(rng)
    p = S3VM(balance=-0.4).fit(X, y).predict_proba(X[y < 0])[:, 1]
    assert p.mean() == pytest.approx(0.3)


def test_s3vm_curve_follows_rows_and_labels(rng):
    X, y, truth = semi(rng)
    machine = S3VM(gamma=0.3).fit(X[:180], y[:180])
    machine.predict_proba(X)
    operations = [
        lambda: machine.partial_fit(X[180:], y[180:]),
        lambda: machine.relabel(np.arange(100, 110), truth[100:110]),
        lambda: machine.forget(np.arange(4)),
        lambda: machine.reprice(C=3.0),
    ]
    for operation in operations:
        before = dict(machine._curve)
        operation()
        machine.predict_proba(X[:1])
        assert machine._curve["slope"] != before["slope"]
    labels = y.copy()
    labels[100:110] = truth[100:110]
    again = S3VM(C=3.0, gamma=0.3).fit(X[4:], labels[4:])
    again.predict_proba(X[:1])
    assert machine._curve == pytest.approx(again._curve)


def test_one_label_of_a_class_is_never_left_out(rng):
    X, y, _ = semi(rng, labels=8)
    y[[0, 2, 4]] = -1  # one of class 0 is left
    p = S3VM().fit(X, y).predict_proba(X)
    assert np.all((p > 0) & (p < 1))
    y[[1, 3, 5]] = -1
    S3VM().fit(X, y).predict_proba(X)


def test_precomputed_matrix_is_cross_fitted_while_it_is_there(rng):
    X, y, _ = semi(rng)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    machine = S3VM(kernel="precomputed").fit(K, y)
    loaded = pickle.loads(pickle.dumps(machine))
    p = machine.predict_proba(K)
    assert calibration_error(np.arange(200) % 2, p[:, 1], 5) < 0.2
    with pytest.raises(ValueError, match="holds neither its training rows nor a curve"):
        loaded.predict_proba(K)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).predict_proba(K), p)
    weight = np.where(np.arange(200) % 9 == 8, 0.0, 1.0)
    some = S3VM(kernel="precomputed", balance=0.2).fit(K, y, weight).predict_proba(K)
    assert some[(y < 0) & (weight > 0), 1].mean() == pytest.approx(0.6)


def test_rows_of_weight_zero_have_no_part(rng):
    X, y, _ = semi(rng)
    weight = np.where(np.arange(200) % 9 == 8, 0.0, 1.0)
    kept = weight > 0
    one = S3VM(gamma=0.3).fit(X, y, weight).predict_proba(X)
    np.testing.assert_allclose(one, S3VM(gamma=0.3).fit(X[kept], y[kept]).predict_proba(X))


def test_what_cannot_be_answered_yet_is_said(rng):
    X, y, truth = semi(rng)
    machine = S3VM(gamma=0.3).partial_fit(X[:50], classes=[0, 1])
    with pytest.raises(ValueError, match="labels of both classes"):
        machine.predict_proba(X)
    machine = S3VM(max_steps=1).fit(X, y)
    with pytest.warns(UserWarning, match="stopped after max_steps"):
        machine.relabel(np.arange(60, 120), truth[60:120])
    with pytest.raises(ValueError, match="resume"):
        machine.predict_proba(X)
    machine.resume().predict_proba(X)


# -- both ------------------------------------------------------------------------------------


def both(rng):
    X, y = clouds(rng, 100, 30)
    yield "pusvm", PUSVM(0.3).fit(X, y), X
    X, y, _ = semi(rng)
    yield "s3vm", S3VM().fit(X, y), X


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_model_files(asked, held, rng, tmp_path):
    for name, machine, X in both(rng):
        if asked:
            expected = machine.predict_proba(X)
        metadata = describe(name, {}, Schema("dense", X.shape[1]), {"rows_held": held})
        save_model(tmp_path / name, Pipeline([("machine", machine)]), metadata)
        loaded = load_model(tmp_path / name)[0][-1]
        if name == "s3vm" and not asked and not held:
            with pytest.raises(ValueError, match="call predict_proba once before"):
                loaded.predict_proba(X)
            continue
        if not asked:
            expected = machine.predict_proba(X)
        np.testing.assert_allclose(loaded.predict_proba(X), expected, atol=1e-12)


def test_released_rows(rng):
    X, y = clouds(rng, 100, 30)
    machine = PUSVM(0.3).fit(X, y)
    released = PUSVM(0.3).fit(X, y).release_rows()
    np.testing.assert_array_equal(released.predict_proba(X), machine.predict_proba(X))
    other = PUSVM(0.3, threshold="risk").fit(X, y)
    copied = pickle.loads(pickle.dumps(other)).release_rows()
    with pytest.raises(ValueError, match="holds neither its training rows nor a curve"):
        copied.predict_proba(X)
    expected = other.predict_proba(X)
    np.testing.assert_array_equal(other.release_rows().predict_proba(X), expected)


def test_models_from_before_there_were_probabilities(rng):
    for _, machine, X in both(rng):
        expected, kind = machine.predict_proba(X), machine.probability
        for name in ("probability", "_curve", "_rows_of_fit"):
            machine.__dict__.pop(name, None)
        assert not hasattr(machine, "predict_proba")
        machine.set_params(probability=kind)
        np.testing.assert_allclose(machine.predict_proba(X), expected, atol=1e-6)


def test_prediction_sets_no_attribute(rng):
    for _, machine, X in both(rng):
        before = machine.__dict__.copy()
        machine.predict_proba(X)
        assert machine.__dict__.keys() == before.keys()
        assert all(machine.__dict__[name] is value for name, value in before.items())


def test_probabilities_are_there_when_asked_for(rng):
    X, y, _ = semi(rng)
    machine = fewlabels.S3VM().fit(X, y)
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = machine.predict_proba
    assert "pass probability='isotonic' or 'sigmoid'" in str(caught.value.__cause__)
    asked = S3VM().fit(X, y).predict_proba(X)
    assert np.array_equal(machine.set_params(probability="sigmoid").predict_proba(X), asked)


def test_the_kind_asked_for_last_counts(rng):
    problems = [(fewlabels.PUSVM(0.3), *clouds(rng, 100, 30)), (fewlabels.S3VM(), *semi(rng)[:2])]
    for machine, X, y in problems:
        expected = {}
        for kind in KINDS:
            asked = clone(machine).set_params(probability=kind).fit(X, y)
            expected[kind] = asked.predict_proba(X)
        assert np.abs(expected["isotonic"] - expected["sigmoid"]).max() > 1e-3
        for kind in [*KINDS, *reversed(KINDS)]:
            found = asked.set_params(probability=kind).predict_proba(X)
            np.testing.assert_allclose(found, expected[kind], atol=1e-6)
        later = pickle.loads(pickle.dumps(clone(machine).fit(X, y)))
        found = later.set_params(probability="isotonic").predict_proba(X)
        np.testing.assert_allclose(found, expected["isotonic"], atol=1e-6)


def test_pipeline_and_search_by_log_loss_of_labelled_rows(rng):
    X, y, _ = semi(rng, n=120, labels=40)

    def score(model, X, y):
        known = y >= 0
        return -log_loss(y[known], model.predict_proba(X[known])[:, 1], labels=[0, 1])

    search = GridSearchCV(
        make_pipeline(StandardScaler(), S3VM()), {"s3vm__C": [0.1, 10.0]},
        scoring=score, cv=LabeledKFold(3),
    ).fit(X, y)  # fmt: skip
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.predict_proba(X).shape == (120, 2)
    assert -search.best_score_ < np.log(2)


def test_unknown_curve_is_refused(rng):
    X, y, _ = semi(rng)
    for machine in (S3VM(probability="platt"), PUSVM(probability=True)):
        with pytest.raises(ValueError, match="'probability' parameter"):
            machine.fit(X, (y > 0).astype(int))
