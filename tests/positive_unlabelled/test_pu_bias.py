"""Labelled rows whose weights may be off by a bounded factor."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from reference import kernel_matrix
from reference.pu import bounded_risk, clouds, smallest_bounded_risk
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from fewlabels import PUSVM
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model


def coefficients(model, n):
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    return coef


@pytest.mark.parametrize("solver", ["decomposition", "qp"])
@pytest.mark.parametrize("bias", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("lam", [1e-3, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_optimal_by_an_independent_solver(solver, bias, lam, weighted, rng):
    X, y = clouds(rng, 60, 20, distance=1.0)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    model = PUSVM(0.37, lam, gamma=0.5, bias=bias, solver=solver, tol=1e-10, threshold="risk")
    model.fit(X, y, weight)
    K = kernel_matrix(("rbf", 0.5), X)
    coef = coefficients(model, len(y))
    value = bounded_risk(K, y == 1, coef, model.risk_intercept_, 0.37, lam, bias, weight)
    best = smallest_bounded_risk(K, y == 1, 0.37, lam, bias, weight)
    assert value == pytest.approx(best, abs=1e-8)
    assert model.objective_ == pytest.approx(best, abs=1e-8)
    assert 0.0 <= model.duality_gap_ <= 1e-7


def test_weights_are_the_worst_ones(rng):
    X, y = clouds(rng, 100, 30, distance=1.0)
    model = PUSVM(0.4, 0.02, gamma=0.5, bias=3.0, tol=1e-8, threshold="risk").fit(X, y)
    weight = coefficients(model, len(y))[y == 1] * (2 * 0.02 / 0.4) * 30
    f = kernel_matrix(("rbf", 0.5), X) @ coefficients(model, len(y)) + model.risk_intercept_
    f = f[y == 1]
    np.testing.assert_allclose(weight[f > 1e-4], 1.0 / 3.0, rtol=1e-6)
    np.testing.assert_allclose(weight[f < -1e-4], 3.0, rtol=1e-6)
    assert np.all((weight > 0.33) & (weight < 3.01))


def test_the_objective_grows_with_the_bound(rng):
    X, y = clouds(rng, 100, 30)
    found = [PUSVM(0.4, 0.02, bias=b, tol=1e-6).fit(X, y).objective_ for b in (1.0, 1.5, 3.0)]
    plain = PUSVM(0.4, 0.02, tol=1e-6).fit(X, y).objective_
    assert found[0] == plain
    nearly = PUSVM(0.4, 0.02, bias=1.0 + 1e-9, tol=1e-6).fit(X, y)
    assert nearly.objective_ == pytest.approx(plain, abs=1e-5)
    worst = np.array(found) + 1e-6
    assert np.all(np.diff(worst) > 0.0)


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed"])
def test_other_kernels(kernel, rng):
    X, y = clouds(rng, 80, 25)
    rows = X @ X.T if kernel == "precomputed" else X
    model = PUSVM(0.4, 0.05, kernel=kernel, bias=2.0, threshold="prior").fit(rows, y)
    assert model.duality_gap_ < 1e-2
    marked = (model.predict(rows) == 1)[y == 0].mean()
    assert marked == pytest.approx(0.4, abs=0.03)


def test_propensities_and_a_bound_together(rng):
    X, y = clouds(rng, 80, 25, distance=1.0)
    propensity = np.clip(rng.uniform(size=len(y)), 0.2, 1.0)
    model = PUSVM(0.4, 0.05, gamma=0.5, bias=2.0, tol=1e-9, threshold="risk")
    model.fit(X, y, propensity=propensity)
    weight = np.ones(len(y))
    weight[y == 1] = model.propensity_weights_(propensity[y == 1])
    K = kernel_matrix(("rbf", 0.5), X)
    best = smallest_bounded_risk(K, y == 1, 0.4, 0.05, 2.0, weight)
    assert model.objective_ == pytest.approx(best, abs=1e-7)


def test_probabilities_and_pickles(rng):
    X, y = clouds(rng, 150, 40)
    model = PUSVM(0.4, bias=2.0, probability="isotonic").fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert p[y == 0].mean() == pytest.approx(0.4, abs=0.1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_is_refused(rng):
    X, y = clouds(rng, 60, 20)
    with pytest.raises(ValueError, match="bias=2 is for loss='double-hinge'"):
        PUSVM(0.4, bias=2.0, loss="ramp").fit(X, y)
    with pytest.raises(ValueError, match="bias=2 is for"):
        PUSVM(0.4, bias=2.0, solver="usmo").fit(X, y)
    with pytest.raises(ValueError, match="'bias' parameter"):
        PUSVM(0.4, bias=0.5).fit(X, y)
    model = PUSVM(0.4, bias=2.0, max_steps=5).fit(X, y)
    for call in (lambda: model.forget([0]), lambda: model.partial_fit(X[:1], y[:1])):
        with pytest.raises((ValueError, AttributeError), match="max_steps=5 is for models with"):
            call()
    model.set_params(max_steps=None)
    with pytest.raises(ValueError, match="leave-one-out decisions need a model with bias=1"):
        model.leave_one_out_decisions()
    with pytest.raises(ValueError, match="no positive training row would be left"):
        model.forget(y == 1)
    with pytest.raises(ValueError, match="max_steps=3 is for models with bias=1"):
        model.resume(max_steps=3)
    with pytest.raises(ValueError, match=r"bias was 2\.0 when the rows were fitted"):
        model.set_params(bias=3.0).forget([0])
    model.set_params(bias=2.0).forget([0])


def assert_like_a_fit(model, rows, y, weight, propensity, **given):
    """A model after updates, against a fit to its rows with the weights that it uses."""
    if propensity is not None:
        weight = np.where(y == 1, weight * model.propensity_weights_(propensity), weight)
    fitted = PUSVM(0.4, gamma=model.gamma_, bias=2.5, tol=1e-10, threshold="risk", **given)
    fitted.set_params(lam=model.lam_).fit(rows, y, weight)
    np.testing.assert_allclose(
        model.decision_function(rows), fitted.decision_function(rows), atol=1e-7
    )
    assert model.objective_ == pytest.approx(fitted.objective_, abs=1e-9)
    assert model.duality_gap_ <= 1e-8
    np.testing.assert_array_equal(model.transduction_, fitted.transduction_)
    np.testing.assert_array_equal(model.training_rows_.X, rows)


@pytest.mark.parametrize("lam", ["auto", 0.02])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("known", [False, True])
def test_updates_equal_a_fit(lam, kernel, known, rng):
    X, y = clouds(rng, 120, 40, distance=1.0)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    weight = rng.uniform(0.5, 2.0, len(y))
    weight[::17] = 0.0
    propensity = rng.uniform(0.2, 1.0, len(y)) if known else None
    model = PUSVM(0.4, lam, bias=2.5, kernel=kernel, threshold="risk")

    def given(rows):
        return {"propensity": propensity[rows]} if known else {}

    def check(rows):
        own = None if propensity is None else propensity[rows]
        assert_like_a_fit(model, X[rows], y[rows], weight[rows], own, kernel=kernel)
        if lam == "auto":
            counts = (y[rows] == 1) & (weight[rows] > 0)
            used = weight[rows][counts]
            used = used if own is None else used * model.propensity_weights_(own[counts])
            assert model.lam_ == pytest.approx(0.15 / used.sum())

    there = np.arange(100)
    model.fit(X[there], y[there], weight[there], **given(there))
    for first, last in ((100, 101), (101, 160)):
        new = np.arange(first, last)
        model.partial_fit(X[new], y[new], sample_weight=weight[new], **given(new))
        there = np.append(there, new)
        check(there)
    model.forget(np.arange(0, 160, 2))  # many places are freed
    there = np.delete(there, np.arange(0, 160, 2))
    check(there)
    model.forget([3])
    check(np.delete(there, 3))


def test_updates_of_sparse_rows_and_files(tmp_path, rng):
    X, y = clouds(rng, 100, 30, distance=1.0)
    model = PUSVM(0.4, 0.02, gamma=0.5, bias=2.0, probability="isotonic")
    model.fit(sp.csr_array(X[1:]), y[1:])
    before = pickle.loads(pickle.dumps(model))
    f = model.decision_function(X)
    model.partial_fit(sp.csr_array(X[:1]), y[:1])
    assert model.is_caught_up_ and model.shape_fit_ == X.shape
    np.testing.assert_array_equal(before.decision_function(X), f)
    before.partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(before.decision_function(X), model.decision_function(X), atol=1e-6)
    about = describe_model("pusvm", {}, Schema("dense", X.shape[1]), {"rows_held": True})
    save_model(tmp_path / "model", Pipeline([("model", model)]), about)
    again = load_model(tmp_path / "model")[0][-1]
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    again.forget([0, 1])
    model.forget([0, 1])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    assert again.predict_proba(X).shape == (130, 2)


def test_an_update_that_runs_out_of_time_can_be_resumed(rng):
    X, y = clouds(rng, 300, 60, distance=0.7)
    model = PUSVM(0.4, 1e-4, gamma=0.5, bias=2.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.set_params(max_time=1e-9).partial_fit(X[:1] + 0.1, y[:1])
    assert not model.is_caught_up_
    assert np.all(np.isfinite(model.decision_function(X)))
    model.set_params(max_time=None).resume()
    assert model.is_caught_up_ and model.duality_gap_ < 1e-6
