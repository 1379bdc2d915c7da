"""Rows so far away that rounding ends a path: updates train instead, in time, and say so."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.solvers.path.events import Events

POLYNOMIAL = {"kernel": "poly", "degree": 2, "n_jobs": 1}


def near(rng, n=24, d=2):
    side = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 1.5 * side[:, None], side


def labelled(model, rng, side):
    if isinstance(model, S3VM):
        return np.where(np.arange(len(side)) < 8, side, -1)
    return side * (rng.random(len(side)) < 0.5) if isinstance(model, PUSVM) else None


def break_paths(monkeypatch):
    def fails(events):
        raise ArithmeticError("for a test")

    monkeypatch.setattr(Events, "step", fails)


@pytest.mark.parametrize(
    "model",
    [
        SVDD(),
        SVDD(slack="linear", nu=0.3),
        OneClassSVM(nu=0.3),
        PUSVM(prior=0.4, lam=0.01),
        PUSVM(prior=0.4, lam=0.01, kernel="linear"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_where_paths_break_down_an_update_trains_on_its_rows(model, rng, monkeypatch):
    (X, side), more = near(rng), rng.normal(size=(6, 2))
    model.set_params(tol=1e-8)
    y, y_more = labelled(model, rng, side), labelled(model, rng, np.arange(6) % 2)
    model.fit(X, y)
    with monkeypatch.context() as patched:
        break_paths(patched)
        model.partial_fit(more, y_more)
        model.forget([9, 11])
        after = model.decision_function(X), model.objective_, model.duality_gap_
    assert model.is_caught_up_ and model.fit_status_ == 0
    assert any(entry.get("operation") == "solve" for entry in model.history_)
    kept = np.delete(np.arange(len(X) + 6), [9, 11])
    everything = np.vstack([X, more])[kept]
    labels = None if y is None else np.append(y, y_more)[kept]
    gamma = model.gamma_ if model.kernel == "rbf" else model.gamma
    direct = type(model)(**{**model.get_params(), "gamma": gamma}).fit(everything, labels)
    if model.kernel == "linear":  # the origin of a fit follows its rows
        np.testing.assert_allclose(model.risk_intercept_, direct.risk_intercept_, atol=1e-6)
    np.testing.assert_allclose(after[0], direct.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(after[1], direct.objective_, rtol=1e-7)
    assert after[2] <= 1e-6
    model.resume().partial_fit(more, y_more)  # another path begins from there
    assert model.is_caught_up_


@pytest.mark.parametrize("seed", [0, 1])
def test_steps_of_an_s3vm_end_where_rounding_hides_the_margin(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, _ = near(rng, 18, 8)
    y = np.where(np.arange(18) < 9, np.arange(18) % 3, -1)
    model = S3VM(C=10.0, C_star=5.0, tol=1e-6, **POLYNOMIAL).fit(X, y)
    step, steps = Events.step, []

    def counted(events):
        steps.append(None)
        assert len(steps) < 20_000  # one endless path takes 50 000
        return step(events)

    monkeypatch.setattr(Events, "step", counted)
    for _ in range(3):
        steps.clear()
        far = 1e7 * rng.normal(size=8) + rng.normal(size=(3, 8))
        with pytest.warns(ConvergenceWarning):
            model.partial_fit(far, [-1, -1, int(rng.integers(0, 3))])
        assert model.is_caught_up_ and model.fit_status_ == 1
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.parametrize("seed", [175, 3, 4])
def test_a_pusvm_with_far_rows_warns_and_goes_on(seed):
    rng = np.random.default_rng(seed)
    X, side = near(rng, 22, 1)
    y = np.where(np.arange(22) < 8, side, 0)
    model = PUSVM(prior=0.4, lam=0.01, tol=1e-6, **POLYNOMIAL).fit(X, y)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in range(3):
            model.partial_fit(1e7 * rng.normal(size=(2, 1)), rng.integers(0, 2, 2))
    assert {w.category for w in heard} <= {ConvergenceWarning}
    assert model.is_caught_up_ and (model.fit_status_ == 0 or heard)
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("threshold", ["risk", "prior", "leave-one-out"])
@pytest.mark.parametrize("updated", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_far_row_does_not_round_decisions_of_others_to_zero(rng, threshold, updated):
    (X, side), far = near(rng, 60, 3), [[1e7, -1e7, 1e7]]
    y = np.where(rng.random(60) < 0.5, side, 0)
    model = PUSVM(prior=0.3, kernel="linear", lam=0.01, threshold=threshold)
    if updated:
        model.fit(X, y).partial_fit(far, [0])
    else:
        model.fit(np.vstack([X, far]), np.append(y, 0))
    assert np.count_nonzero(model.decision_function(X)) >= 57


def test_a_far_row_does_not_round_decisions_of_an_ensemble(rng):
    (X, side), far = near(rng, 60, 3), [[1e7, -1e7, 1e7]]
    y = np.where(rng.random(60) < 0.5, side, 0)
    model = PUEnsemble(prior=0.3, kernel="linear", random_state=0)
    model.fit(np.vstack([X, far]), np.append(y, 0))
    decision = model.decision_function(X)
    # Of values that a sum of such rows' terms could have, not of the far row's own.
    assert model.function_.rounding <= 1e-9 * np.abs(decision).max()
