"""PUSVM among scikit-learn's tools; limits, callbacks, Ctrl-C, memory, determinism."""

import copy
import pickle
import time
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from reference.pu import clouds
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import PUSVM

SOLVERS = [
    dict(),
    dict(loss="ramp"),
    dict(solver="usmo"),
]
ALL_SOLVERS = [*SOLVERS, dict(solver="qp"), dict(solver="qp", loss="ramp")]


@pytest.mark.usefixtures("few_trees")
@pytest.mark.filterwarnings("ignore:PUSVM stopped early")
@pytest.mark.filterwarnings("ignore:the class prior is estimated as")
@parametrize_with_checks(
    [
        PUSVM(),
        PUSVM(prior=0.3, threshold="risk"),
        PUSVM(prior=0.3, kernel="linear"),
        PUSVM(prior=0.3, kernel="poly", degree=2),
        PUSVM(prior=0.3, lam=0.05, loss="ramp"),
        PUSVM(prior=0.3, solver="usmo"),
        PUSVM(prior=0.3, solver="qp"),
    ]
)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the class prior is uncertain")
        check(estimator)


# -- copies --------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", ALL_SOLVERS, ids=str)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pickle_copy_and_joblib(settings, kernel, rng, tmp_path):
    X, y = clouds(rng, 60, 20)
    fitted = PUSVM(0.4, kernel=kernel, **settings).fit(X, y)
    expected = fitted.decision_function(X)
    joblib.dump(fitted, tmp_path / "machine.joblib")
    for twin in (
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        joblib.load(tmp_path / "machine.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(twin.decision_function(X), expected)
        np.testing.assert_array_equal(twin.predict(X), fitted.predict(X))


def test_a_pickle_holds_no_training_rows_when_these_are_released(rng):
    X, y = clouds(rng, 1500, 20, 30)
    fitted = PUSVM(0.4, kernel="rbf").fit(X, y).release_rows()
    size = fitted.support_vectors_.nbytes + fitted.transduction_.nbytes
    assert len(pickle.dumps(fitted)) < 1.3 * size + 100_000


def test_clone_and_refit(rng):
    X, y = clouds(rng, 60, 20)
    machine = PUSVM(0.4, 0.02, "ramp", "risk", pos_label=1.0)
    fresh = clone(machine.fit(X, y))
    assert not hasattr(fresh, "support_")
    expected = fresh.fit(X + 1, y).decision_function(X)
    # A second fit forgets the first, whatever the input was.
    machine.fit(X, y, sample_weight=np.arange(80) % 2).fit(X[:, :2], y).fit(X + 1, y)
    np.testing.assert_array_equal(machine.decision_function(X), expected)
    machine.set_params(loss="double-hinge").fit(X, y)
    assert machine.objectives_ is None


def test_not_fitted(rng):
    X, _ = clouds(rng, 10, 5)
    for ask in (
        lambda m: m.predict(X),
        lambda m: m.decision_function(X),
        lambda m: m.coef_,
    ):
        with pytest.raises(NotFittedError):
            ask(PUSVM(0.4, kernel="linear"))


# -- tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs, rng):
    X, y = clouds(rng, 90, 40)
    for parameters in (
        {"lam": [0.01, 0.1, "auto"], "threshold": ["risk", "prior"]},
        {"prior": [0.2, 0.4], "solver": ["usmo", "decomposition"]},
    ):
        grid = GridSearchCV(
            PUSVM(0.4), parameters, scoring="roc_auc", cv=3, n_jobs=n_jobs, error_score="raise"
        ).fit(X, y)
        assert grid.best_score_ > 0.6
        assert grid.predict(X).shape == y.shape
    strings = np.where(y == 1, "yes", "unknown")
    assert cross_val_score(PUSVM(0.4), X, strings, cv=StratifiedKFold(3)).mean() > 0.5


def test_pipeline_and_names(rng):
    X, y = clouds(rng, 60, 20)
    frame = pd.DataFrame(1000 * X + 5, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), PUSVM(0.4)).set_output(transform="pandas")
    pipeline.fit(frame, pd.Series(y))
    np.testing.assert_array_equal(pipeline[-1].feature_names_in_, ["a", "b", "c"])
    plain = PUSVM(0.4).fit(StandardScaler().fit_transform(frame.to_numpy()), y)
    np.testing.assert_array_equal(pipeline.predict(frame), plain.predict(plain_rows(frame)))
    machine = PUSVM(0.4).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(frame[["c", "b", "a"]])


def plain_rows(frame):
    return StandardScaler().fit_transform(frame.to_numpy())


def test_weights_reach_the_machine_through_a_pipeline(rng):
    X, y = clouds(rng, 60, 20)
    weight = np.arange(80) % 3.0
    pipeline = make_pipeline(PUSVM(0.4)).fit(X, y, pusvm__sample_weight=weight)
    direct = PUSVM(0.4).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline.decision_function(X), direct.decision_function(X))


# -- limits --------------------------------------------------------------------------------


def is_usable(machine, X):
    """Every attribute is there, the duals are feasible, scores are finite."""
    dual = machine.dual_coef_[0]
    assert abs(dual.sum()) <= 1e-9 * np.abs(dual).sum()
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.isfinite([machine.objective_, machine.duality_gap_, machine.risk_intercept_]).all()
    assert machine.duality_gap_ >= 0
    assert machine.transduction_.shape == (len(X),)
    assert set(machine.predict(X)) <= set(machine.classes_)
    return True


@pytest.mark.parametrize("settings", SOLVERS, ids=str)
@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"max_time": 1e-9}])
def test_limits_warn_and_leave_a_usable_machine(settings, limit, rng):
    X, y = clouds(rng, 150, 50, distance=1.0)
    (name,) = limit
    with pytest.warns(ConvergenceWarning, match=f"raise {name}") as caught:
        machine = PUSVM(0.4, 1e-3, **settings, **limit).fit(X, y)
    # The warning points at the line that called fit.
    assert [w.filename for w in caught] == [__file__]
    assert machine.fit_status_ == 1
    assert machine.n_iter_ <= 3
    assert is_usable(machine, X)
    with pytest.warns(ConvergenceWarning) as caught:
        PUSVM(0.4, **settings, **limit).path(X, y, lam=[1e-3])
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("settings", [dict(), dict(loss="ramp"), dict(solver="qp")], ids=str)
def test_no_iteration_at_all_warns_but_for_usmo(settings, rng):
    # max_iter=0 asks solver="usmo" for its initialiser; elsewhere it is a limit like others.
    X, y = clouds(rng, 150, 50, distance=1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        machine = PUSVM(0.4, 1e-3, max_iter=0, **settings).fit(X, y)
    assert machine.fit_status_ == 1 and is_usable(machine, X)


def test_qp_limit(rng):
    X, y = clouds(rng, 60, 20)
    for loss in ("double-hinge", "ramp"):
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            machine = PUSVM(0.4, loss=loss, solver="qp", max_iter=2).fit(X, y)
        assert machine.fit_status_ == 1 and is_usable(machine, X)


@pytest.mark.parametrize("settings", ALL_SOLVERS, ids=str)
def test_a_finished_fit_does_not_warn(settings, rng):
    X, y = clouds(rng, 60, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = PUSVM(0.4, max_time=60.0, **settings).fit(X, y)
    assert machine.fit_status_ == 0 and is_usable(machine, X)


def test_time_limit_of_the_ramp_is_for_the_whole_fit(rng):
    X, y = clouds(rng, 2500, 300, 6, distance=0.6)
    machine = PUSVM(0.4, 1e-4, "ramp", tol=1e-4)
    started = time.perf_counter()
    machine.fit(X, y)
    seconds, steps = time.perf_counter() - started, len(machine.objectives_)
    assert steps > 3  # else this tests nothing
    seen = [0.0]

    def slow(entry):
        time.sleep(0.3)
        seen[0] += 0.3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.set_params(max_time=0.5).fit(X, y, callback=slow)
    # A round that has begun is finished, and no step begins after the limit.
    assert seen[0] <= 0.5 + 0.3 + min(0.3, seconds)
    assert machine.fit_status_ == 1 and is_usable(machine, X)


@pytest.mark.parametrize("settings", SOLVERS, ids=str)
def test_callback_sees_every_round_and_can_stop(settings, rng):
    X, y = clouds(rng, 1500, 200, 4, distance=0.7)
    seen = []
    machine = PUSVM(0.4, 1e-3, tol=1e-2, **settings).fit(X, y, callback=seen.append)
    assert seen == machine.history_ and len(seen) >= 1
    assert [entry["round"] for entry in seen] == list(range(1, len(seen) + 1))
    for entry in seen:
        assert {"round", "violation", "seconds"} <= set(entry)
    for key in ("seconds", "kernel_values"):
        assert [e[key] for e in seen] == sorted(e[key] for e in seen)
    with pytest.warns(ConvergenceWarning, match="callback"):
        machine.fit(X, y, callback=lambda entry: True)
    assert machine.fit_status_ == 1 and len(machine.history_) == 1
    assert is_usable(machine, X)


def test_asking_once_to_stop_is_enough_for_the_ramp(rng):
    # The request may come in the very round that finishes a convex step.
    X, y = clouds(rng, 150, 50, distance=0.7)
    calls = []

    def once(entry):
        calls.append(entry["round"])
        return len(calls) == 1

    machine = PUSVM(0.4, 1e-3, "ramp")
    machine.fit(X, y)
    assert len(machine.history_) > 1
    with pytest.warns(ConvergenceWarning, match="callback"):
        machine.fit(X, y, callback=once)
    assert calls == [1]
    assert len(machine.objectives_) == 1 and is_usable(machine, X)


@pytest.mark.parametrize("settings", SOLVERS, ids=str)
def test_interrupt_leaves_fitted_attributes(settings, rng):
    X, y = clouds(rng, 150, 50, distance=1.0)

    def callback(entry):
        raise KeyboardInterrupt

    machine = PUSVM(0.4, 1e-3, **settings)
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        machine.fit(X, y, callback=callback)
    assert machine.fit_status_ == 1 and is_usable(machine, X)


def test_interrupt_in_a_later_step_of_the_ramp(rng):
    X, y = clouds(rng, 150, 50, distance=0.7)

    def callback(entry):
        if entry["round"] == 2:
            raise KeyboardInterrupt

    machine = PUSVM(0.4, 1e-3, "ramp")
    with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
        machine.fit(X, y, callback=callback)
    assert is_usable(machine, X)


def test_an_error_in_a_callback_is_the_users(rng):
    X, y = clouds(rng, 60, 20)

    def callback(entry):
        raise ZeroDivisionError("mine")

    for settings in SOLVERS:
        with pytest.raises(ZeroDivisionError, match="mine"):
            PUSVM(0.4, 1e-3, **settings).fit(X, y, callback=callback)


def test_uncertain_prior_warns_at_the_caller(rng):
    X, y = clouds(rng, 20, 5, distance=0.5)
    for ask in (lambda m: m.fit(X, y), lambda m: m.path(X, y, lam=[0.1, 0.2])):
        with pytest.warns(UserWarning, match=r"class prior is uncertain.*pass prior=") as caught:
            ask(PUSVM())
        assert [w.filename for w in caught] == [__file__]


def test_verbose_prints_and_silence_does_not(rng, capsys):
    X, y = clouds(rng, 60, 20)
    for settings in SOLVERS:
        PUSVM(0.4, 1e-3, **settings).fit(X, y)
        assert capsys.readouterr().out == ""
        PUSVM(0.4, 1e-3, verbose=True, **settings).fit(X, y)
        assert capsys.readouterr().out.startswith("[PUSVM] round 1: violation")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"lam": 0.0}, "lam"),
        ({"lam": "large"}, "lam"),
        ({"loss": "hinge"}, "loss"),
        ({"threshold": 0.5}, "threshold"),
        ({"kernel": "gaussian"}, "kernel"),
        ({"solver": "smo"}, "solver"),
        ({"solver": "usmo", "loss": "ramp"}, "solver='usmo' is for loss='double-hinge'.*pass"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": -2}, "max_iter"),
        ({"max_time": 0}, "max_time"),
        ({"cache_size": 0}, "cache_size"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_wrong_parameters(parameters, message, rng):
    X, y = clouds(rng, 20, 5)
    with pytest.raises(ValueError, match=message):
        PUSVM(0.4, **{"lam": 0.01, **parameters}).fit(X, y)


# -- the same again ------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [dict(), dict(loss="ramp")], ids=str)
def test_same_seed_same_machine(settings, rng):
    X, y = clouds(rng, 3500, 200, 4, distance=1.0)  # coarse start, threads
    machine = PUSVM(0.4, 0.01, **settings)
    expected = machine.fit(X, y).decision_function(X)
    for other in (dict(), dict(random_state=0), dict(n_jobs=1), dict(n_jobs=2)):
        again = PUSVM(0.4, 0.01, **settings, **other).fit(X, y)
        np.testing.assert_allclose(again.decision_function(X), expected, atol=1e-9)
    other = PUSVM(0.4, 0.01, random_state=np.random.RandomState(5), **settings).fit(X, y)
    if not settings:  # the ramp has many local minima
        np.testing.assert_allclose(other.decision_function(X), expected, atol=0.02)
    assert other.objective_ == pytest.approx(machine.objective_, abs=1e-2)


def test_same_seed_same_prior(rng):
    X, y = clouds(rng, 120, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [PUSVM(random_state=s).fit(X, y) for s in (None, 0, 0)]
    assert len({(m.prior_, m.prior_interval_) for m in found}) == 1
    assert PUSVM(0.4).fit(X, y).prior_interval_ is None


# -- memory --------------------------------------------------------------------------------


def test_no_square_matrix(rng):
    # n x n in float32 would be 1600 MB; NumPy reports its arrays to tracemalloc.
    X, y = clouds(rng, 20_000, 300, 10, distance=1.0)
    PUSVM(0.4).fit(X[:200], np.arange(200) < 50)  # compile first
    for settings in (dict(), dict(kernel="linear")):
        tracemalloc.start()
        PUSVM(0.4, 0.05, tol=1e-2, cache_size=100, **settings).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 350e6


def test_weights_do_not_multiply_rows(rng, monkeypatch):
    # Weights act as repetitions, but no million copies of a row may be made.
    from fewlabels.class_prior import prior

    rows = []

    def recorded(deadline, X, y, **options):
        rows.append(len(X))
        raise RuntimeError("seen")

    monkeypatch.setattr(prior, "estimate_within", recorded)
    X, y = clouds(rng, 100, 30)
    for weight in (rng.integers(10**5, 10**6, 130), np.full(130, 10**12), rng.random(130) * 1e9):
        with pytest.raises(RuntimeError, match="seen"):
            PUSVM().fit(X, y, sample_weight=weight)
    assert max(rows) <= 20 * 130
