"""predict_proba of PUSVM and S3VM: curves, what they are fitted to, and when."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from reference.pu import clouds
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabels
from fewlabels._util.deadline import ENDLESS
from fewlabels.baselines import PUBaseline
from fewlabels.calibration.curve import Curve
from fewlabels.calibration.fit_curves import curve_with_prior
from fewlabels.metrics import calibration_error
from fewlabels.model_selection import LabeledKFold
from fewlabels.positive_unlabelled.data import PUData, PUSettings
from fewlabels.positive_unlabelled.leave_one_out import (
    score_unlabeled_left_out,
    shift_of_positives_left_out,
)
from fewlabels.positive_unlabelled.training import solve_double_hinge
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

KINDS = ["sigmoid", "isotonic"]
PUSVM = partial(fewlabels.PUSVM, probability="isotonic")
S3VM = partial(fewlabels.S3VM, probability="sigmoid")


def semi(rng, n=200, labels=20, d=3):
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 0.8 * (2 * truth[:, None] - 1)
    y = np.where(np.arange(n) < labels, truth, -1)
    return X, y, truth


# -- PUSVM -----------------------------------------------------------------------------------


def test_positive_rows_left_out_are_as_the_exact_path_has_them(rng):
    X, y = clouds(rng, 150, 40, distance=1.0)
    machine = PUSVM(0.4).fit(X, y)
    # What the curve is fitted to.
    data = PUData(X, y == 1, None, machine.function_.kernel)
    found = solve_double_hinge(data, PUSettings(machine.prior_, machine.lam_))
    bias = machine.function_.bias
    known = machine.decision_function(X[y == 1]) + shift_of_positives_left_out(found, data)
    others = score_unlabeled_left_out(found, data, ENDLESS) + bias
    curve = curve_with_prior((known, np.ones(40)), (others, np.ones(150)), 0.4, "isotonic")
    assert machine.curve_.slope == pytest.approx(curve.slope, rel=1e-6)
    some = np.flatnonzero(y == 1)[:20]
    ours, f = known[:20], machine.decision_function(X[some])
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
def test_curves_do_not_depend_on_the_threshold(threshold, kernel, rng):
    X, y = clouds(rng, 100, 30)
    weight = np.where(np.arange(130) % 7 == 0, 0.0, rng.integers(1, 3, 130))
    fits = [
        PUSVM(0.3, threshold=t, kernel=kernel).fit(X, y, weight)
        for t in (threshold, "leave-one-out")
    ]
    # But for what makes probabilities agree with the labels, which do depend on it.
    one, two = (
        replace(machine.curve_, agrees=False)(machine.decision_function(X)) for machine in fits
    )
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
    machine = S3VM(balance=-0.4).fit(X, y)
    decision = machine.decision_function(X[y < 0])
    assert replace(machine.curve_, agrees=False)(decision)[:, 1].mean() == pytest.approx(0.3)
    assert machine.predict_proba(X[y < 0])[:, 1].mean() == pytest.approx(0.3, abs=0.02)


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
        before = machine.curve_
        operation()
        assert not machine.has_curve_
        machine.predict_proba(X[:1])
        assert machine.has_curve_ and machine.curve_.slope != before.slope
    labels = y.copy()
    labels[100:110] = truth[100:110]
    again = S3VM(C=3.0, gamma=0.3).fit(X[4:], labels[4:])
    again.predict_proba(X[:1])
    assert machine.curve_.slope == pytest.approx(again.curve_.slope)
    assert machine.curve_.intercept == pytest.approx(again.curve_.intercept)
    assert machine.curve_.knots is None and machine.curve_.kind == again.curve_.kind


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
    with pytest.raises(ValueError, match="has neither training rows nor calibrated"):
        loaded.predict_proba(K)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).predict_proba(K), p)
    weight = np.where(np.arange(200) % 9 == 8, 0.0, 1.0)
    machine = S3VM(kernel="precomputed", balance=0.2).fit(K, y, weight)
    some = replace(machine.curve_, agrees=False)(machine.decision_function(K))
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
    with pytest.raises(ValueError, match="labels of every class"):
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
        metadata = describe_model(name, {}, Schema("dense", X.shape[1]), {"rows_held": held})
        save_model(tmp_path / name, Pipeline([("model", machine)]), metadata)
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
    with pytest.raises(ValueError, match="has neither training rows nor calibrated"):
        copied.predict_proba(X)
    expected = other.predict_proba(X)
    np.testing.assert_array_equal(other.release_rows().predict_proba(X), expected)


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
    assert "pass probability='isotonic' or 'sigmoid'" in str(caught.value)
    asked = S3VM().fit(X, y).predict_proba(X)
    assert np.array_equal(machine.set_params(probability="sigmoid").predict_proba(X), asked)


def crossed(rng):
    """Problems whose curves put some rows on the other side than their decisions."""
    X, y = clouds(rng, 300, 30, distance=1.0)
    for threshold in ("risk", "prior", "leave-one-out"):
        for kind in KINDS:
            yield PUSVM(0.3, threshold=threshold, probability=kind).fit(X, y), X
    yield fewlabels.PUEnsemble(prior=0.3, n_bags=5, random_state=0).fit(X, y), X
    for n_classes in (2, 3):
        truth = np.arange(200) % n_classes
        rows = rng.normal(size=(200, 10)) + 0.5 * np.eye(10)[truth]
        labels = np.where(np.arange(200) < 24, truth, -1)
        for kind in KINDS:
            yield S3VM(probability=kind).fit(rows, labels), rows


def test_the_class_of_a_row_is_its_most_probable_one(rng):
    differed = 0
    for machine, X in crossed(rng):
        f, p = machine.decision_function(X), machine.predict_proba(X)
        label = machine.predict(X)
        np.testing.assert_array_equal(machine.classes_[p.argmax(axis=1)], label)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        raw = replace(machine.curve_, agrees=False)(f)
        same = machine.classes_[raw.argmax(axis=1)] == label
        differed += np.count_nonzero(~same)
        if f.ndim == 1:
            assert np.all(np.diff(p[np.argsort(f, kind="stable"), 1]) >= -1e-15)
            assert np.all(np.abs(p[~same, 1] - 0.5) < 1e-3)
        # Nothing else changes where both agree clearly.
        second, first = np.sort(raw, axis=1)[:, -2:].T
        clear = same & (first - second > 1e-3)
        np.testing.assert_array_equal(p[clear], raw[clear])
    assert differed > 20


@pytest.mark.parametrize(
    "model", [PUSVM(), fewlabels.PUEnsemble(n_bags=3), PUBaseline("pu-logistic")], ids=type
)
def test_probabilities_carry_the_uncertainty_of_an_estimated_prior(model, rng):
    """Noise: the estimate is .7 and the truth could be anything, so nothing is nearly certain."""
    X, y = rng.normal(size=(460, 4)), np.arange(460) < 60
    with pytest.warns(UserWarning, match="prior is uncertain: 90% interval"):
        model = clone(model).fit(X, y)
    mean, chances = model.prior_quantiles_.mean(), model.predict_proba(X[~y])[:, 1]
    assert model.prior_ > 0.55 and model.prior_interval_[0] < 0.05 and 0.2 < mean < 0.6
    assert chances.mean() == pytest.approx(mean, abs=0.1)
    assert np.sort(chances)[-20:].mean() < mean + 0.25 < 0.85  # .98 with the estimate alone
    # The estimate alone decides how many rows are called positive.
    assert np.mean(model.transduction_[~y]) == pytest.approx(model.prior_, abs=0.05)
    known = clone(model).set_params(prior=model.prior_).fit(X, y)
    assert known.prior_quantiles_ is None
    positive = known.predict_proba(X)[:, 1] > 0.5
    np.testing.assert_array_equal(positive, known.predict(X) == known.classes_[1])
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_proba(X[~y])[:, 1], chances)


def test_a_stored_curve_that_disagrees_stays_as_it_is(rng):
    machine, X = next(crossed(rng))
    disagreeing = Curve(3.0, 2.0)  # as over an estimated prior that is uncertain
    machine.predict_proba(X)
    state = pickle.loads(pickle.dumps(machine)).__getstate__()
    state["_cache"] = state["_cache"].with_value(f"{machine.probability} curve", disagreeing)
    old = clone(machine)
    old.__setstate__(state)
    p = old.predict_proba(X)
    np.testing.assert_array_equal(p, disagreeing(machine.decision_function(X)))
    assert np.any(old.classes_[p.argmax(axis=1)] != old.predict(X))


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
