"""Copies, files and graphs of a model that another thread updates are of one moment."""

import copy
import pickle
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, SVDDEnsemble
from fewlabels.base.locking import lock_of, take_snapshot

N = 40
MODELS = {
    "SVDD": SVDD(n_jobs=1),
    "SVDD left out": SVDD(target_fpr=0.1, n_jobs=1),
    "OneClassSVM": OneClassSVM(nu=0.2, n_jobs=1),
    "OneClassSVM split": OneClassSVM(nu=0.2, target_fpr=0.1, calibration="split", n_jobs=1),
    "SVDDEnsemble": SVDDEnsemble(n_bags=3, n_jobs=1),
    "PUSVM": PUSVM(prior=0.4, n_jobs=1),
    "PUSVM probability": PUSVM(prior=0.4, n_jobs=1, probability="sigmoid"),
    "S3VM": S3VM(n_jobs=1),
    "S3VM three classes": S3VM(n_jobs=1),
}


def labels_of(model, name, n):
    if isinstance(model, PUSVM):
        return np.arange(n) % 4 == 0
    if not isinstance(model, S3VM):
        return None
    classes = 3 if "three" in name else 2
    return np.where(np.arange(n) < 2 * classes, np.arange(n) % classes, -1)


def fitted(name, rng):
    model = clone(MODELS[name])
    X = rng.normal(size=(N, 2)) + 3.0 * (np.arange(N) % 2)[:, None]
    return model.fit(X, labels_of(model, name, N))


def updates(model, rng, stop):
    """Rows come and go until ``stop`` is set; those that are labelled stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not stop.is_set():
            X = rng.normal(size=(2, 2))
            y = None if not isinstance(model, S3VM) else [-1, -1]
            model.partial_fit(X, y).forget([N - 2, N - 1])


def while_updated(model, rng, look, rounds):
    """``look(model)``, several times while another thread updates it; what it gave or raised."""
    stop, answers = threading.Event(), []
    updating = threading.Thread(target=updates, args=(model, rng, stop))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        updating.start()
        for _ in range(rounds):
            answers.append(look(model))
    finally:
        stop.set()
        updating.join(60)
        sys.setswitchinterval(interval)
    assert not updating.is_alive()
    return answers


def check_whole(made):
    """A copy has as many rows as it says, and scores as a fit to its own rows does."""
    rows = made.training_rows_
    assert len(rows.X) == len(rows.weight) == made.shape_fit_[0] in (N, N + 2, N + 4)
    values = made.function_(rows.X)
    decision = made.decision_function(rows.X)
    assert np.isfinite(decision).all()
    if isinstance(made, SVDD | OneClassSVM):
        np.testing.assert_allclose(decision, values - made.offset_, atol=1e-9)
        other = clone(made).set_params(gamma=made.gamma_, target_fpr=None, tol=1e-9)
        other.fit(rows.X, sample_weight=rows.weight)
        np.testing.assert_allclose(made.function_(rows.X), other.function_(rows.X), atol=1e-3)
    elif isinstance(made, S3VM):
        stood = made.training_decisions_
        np.testing.assert_allclose(decision, stood, atol=1e-3)
    elif isinstance(made, PUSVM):
        other = clone(made).set_params(gamma=made.gamma_, tol=1e-8)
        other.fit(rows.X, rows.label > 0)
        np.testing.assert_allclose(decision, other.decision_function(rows.X), atol=1e-2)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "make",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_a_copy_is_of_one_moment(name, make, rng):
    for made in while_updated(fitted(name, rng), rng, make, 25):
        check_whole(made)
        made.partial_fit(rng.normal(size=(1, 2)), [-1] if isinstance(made, S3VM) else None)


@pytest.mark.parametrize("name", MODELS)
def test_a_shallow_copy_is_updated_by_itself(name, rng):
    model, new = fitted(name, rng), rng.normal(size=(20, 2))
    before = model.decision_function(new)
    other = copy.copy(model)
    other.partial_fit(new[:5], [-1] * 5 if isinstance(model, S3VM) else None).forget([N - 1])
    assert model.shape_fit_ == (N, 2) and other.shape_fit_ == (N + 4, 2)
    np.testing.assert_array_equal(model.decision_function(new), before)
    check_whole(model)
    check_whole(other)


@pytest.mark.parametrize("name", MODELS)
def test_a_snapshot_stays_as_it_is(name, rng):
    model, new = fitted(name, rng), rng.normal(size=(20, 2))
    model.partial_fit(new[:1], [-1] if isinstance(model, S3VM) else None)
    before = model.decision_function(new), model.predict(new)
    now = model.snapshot()
    assert type(now) is type(model) and not now.holds_rows_
    assert now.shape_fit_ == model.shape_fit_ and now.get_params() == model.get_params()
    model.partial_fit(new[5:9], [-1] * 4 if isinstance(model, S3VM) else None)
    np.testing.assert_array_equal(now.decision_function(new), before[0])
    np.testing.assert_array_equal(now.predict(new), before[1])
    assert not np.array_equal(model.decision_function(new), before[0])
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        now.partial_fit(new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(now)).predict(new), before[1])


def readings(model):
    """What belongs together, in one call each."""
    x = np.zeros((1, 2))
    found = [model.decision_function(x), model.predict(x), model.training_rows_, model.support_]
    names = "intercept_ offset_ transduction_ training_decisions_ objective_ is_caught_up_".split()
    for attribute in names:
        found.append(getattr(model, attribute, None))
    if hasattr(model, "predict_proba"):
        model.predict_proba(x)
    if hasattr(model, "p_values") and model.target_fpr is not None:
        p = model.p_values(np.zeros((4, 2)), smoothed=True)
        assert np.all((p > 0) & (p <= 1))
    rows = found[2]
    assert len(rows.X) == len(rows.weight) in (N, N + 2)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_reader_finds_one_moment(name, rng):
    model = fitted(name, rng)
    assert len(while_updated(model, rng, readings, 40)) == 40


def test_predictions_and_thresholds_are_of_one_moment(rng):
    # The threshold moves with the rows: a decision is one of the two that belong together.
    X, x = rng.normal(size=(N, 2)), np.array([[0.5, 0.5]])
    model = SVDD(target_fpr=0.1, gamma=0.5, n_jobs=1).fit(X)
    far = np.full((8, 2), 2.0)
    stop, right = threading.Event(), set()
    for _ in range(2):
        right.add(round(float(model.decision_function(x)[0]), 6))
        model.partial_fit(far)
        right.add(round(float(model.decision_function(x)[0]), 6))
        model.forget(np.arange(N, N + 8))

    def move():
        while not stop.is_set():
            model.partial_fit(far).forget(np.arange(N, N + 8))

    one = threading.Thread(target=move)
    one.start()
    try:
        found = {round(float(model.decision_function(x)[0]), 6) for _ in range(300)}
    finally:
        stop.set()
        one.join(60)
    middle = len(found - right)  # of moments between partial_fit's steps: none
    allowed = {round(float(value), 6) for value in found & right}
    assert middle == 0 and allowed


@pytest.mark.parametrize("name", ["SVDD left out", "PUSVM", "S3VM three classes"])
def test_files_and_graphs_are_of_one_moment(name, rng, tmp_path):
    pytest.importorskip("onnx")
    from fewlabels.inspection import explain
    from fewlabels.onnx import to_onnx

    model = fitted(name, rng)
    skops = pytest.importorskip("skops.io")

    def look(model):
        to_onnx(model)
        told = explain(model, np.ones((2, 2)), n_samples=2)
        parts = told.contributions.sum(axis=1)
        np.testing.assert_allclose(parts, told.decision - told.base, atol=1e-6)
        data = skops.dumps(model)
        return skops.loads(data, trusted=skops.get_untrusted_types(data=data))

    for made in while_updated(model, rng, look, 12):
        check_whole(made)


def test_a_pipeline_s_snapshot_ends_in_one(rng):
    from sklearn.preprocessing import StandardScaler

    X = rng.normal(size=(N, 2))
    model = make_pipeline(StandardScaler(), SVDD()).fit(X)
    now = take_snapshot(model)
    assert now is not model and now[-1] is not model[-1] and now[0] is model[0]
    np.testing.assert_array_equal(now.predict(X), model.predict(X))
    unfitted = SVDD()
    assert take_snapshot(unfitted) is unfitted


# -- the lock -----------------------------------------------------------------------------------


def test_the_lock_is_re_entrant_and_travels_with_nothing(rng):
    model = fitted("SVDD", rng)
    with lock_of(model), lock_of(model):
        other = pickle.loads(pickle.dumps(model))
        model.partial_fit(rng.normal(size=(1, 2)))
    assert lock_of(other) is not lock_of(model) and "lock" not in str(vars(other)).lower()


def test_a_copy_made_by_a_callback_is_not_part_of_the_call(rng):
    copies = []
    model = fitted("SVDD", rng).set_params(max_time=100)
    model.fit(rng.normal(size=(60, 2)), callback=lambda _: copies.append(pickle.dumps(model)))
    assert copies and "_deadline" not in vars(pickle.loads(copies[-1]))
