"""Simple methods as machines: scikit-learn's values, thresholds that hold, model files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels._util.messages import UserError
from fewlabels.baselines import OneClassBaseline, PUBaseline, SemiSupervisedBaseline
from fewlabels.baselines._base import fit_quietly
from fewlabels.baselines.methods import (
    ONE_CLASS_METHODS,
    POSITIVE_UNLABELLED_METHODS,
    SEMI_SUPERVISED_METHODS,
    compute_decision,
)
from fewlabels.inspection import explain
from fewlabels.one_class.task import ONE_CLASS
from fewlabels.onnx import to_onnx
from fewlabels.positive_unlabelled.task import POSITIVE_UNLABELLED
from fewlabels.semi_supervised.task import SEMI_SUPERVISED
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model
from fewlabels.tables.models.trust import trusted_types
from fewlabels.tasks import METHODS, estimator_class, task_of


@parametrize_with_checks(
    [
        OneClassBaseline("neighbours"),
        PUBaseline("pu-logistic", prior=0.3),
        SemiSupervisedBaseline("logistic"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def rows(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([1, 0], [100, 140])
    X = rng.normal(size=(240, 4)) + 1.3 * truth[:, None]
    return X, truth, rng.normal(size=(50, 4))


def labels_of(kind, truth, rng):
    """Labels as a machine takes them: none, forty positives, thirty of two classes."""
    if kind is POSITIVE_UNLABELLED:
        return (np.arange(len(truth)) < 40).astype(int)
    if kind is SEMI_SUPERVISED:
        y = np.full(len(truth), -1)
        some = rng.choice(len(truth), 30, replace=False)
        y[some] = truth[some]
        return y
    return None


BASELINES = [name for name, machine in METHODS.items() if machine.is_baseline]


def fitted(name, rows, sparse=False):
    X, truth, new = rows
    kind = estimator_class(name)
    y = labels_of(kind.task, truth, np.random.default_rng(0))
    options = {"prior": 60 / 200} if kind is PUBaseline else {}
    return kind(name, **options).fit(sp.csr_array(X) if sparse else X, y), y, new


def test_every_method_is_a_machine_of_the_same_name_and_title():
    known = {**ONE_CLASS_METHODS, **POSITIVE_UNLABELLED_METHODS, **SEMI_SUPERVISED_METHODS}
    assert {name: one.name for name, one in known.items()} == {
        name: METHODS[name].title for name in BASELINES
    }
    for name in BASELINES:
        assert estimator_class(name).task is task_of(name)


@pytest.mark.parametrize("name", BASELINES)
def test_values_are_those_of_scikit_learn(rows, name):
    machine, y, new = fitted(name, rows)
    known = {**ONE_CLASS_METHODS, **POSITIVE_UNLABELLED_METHODS, **SEMI_SUPERVISED_METHODS}[name]
    theirs, X = known.make(np.random.RandomState(0).randint(2**31 - 1)), rows[0]
    if known.trains_on == "labels":
        X, y = X[y >= 0], y[y >= 0]
    fit_quietly(theirs, X, *([] if y is None else [y]))
    if hasattr(theirs, "spreading_"):
        theirs = theirs.spreading_
    if task_of(name) is ONE_CLASS:
        expected = theirs.score_samples(new)
    else:
        expected = compute_decision(theirs, new)
        if "spreading" in name or name == "extra-trees":
            expected = 2.0 * expected - 1.0
    np.testing.assert_allclose(machine.baseline_(new), expected, rtol=1e-12, atol=1e-12)
    if name != "mahalanobis":
        machine = fitted(name, rows, sparse=True)[0]
        found = machine.baseline_(sp.csr_array(new))
        np.testing.assert_allclose(found, machine.baseline_(new), atol=1e-9)


@pytest.mark.parametrize("name", BASELINES)
def test_model_files_hold_plain_arrays_only(rows, name, tmp_path):
    machine, _, new = fitted(name, rows)
    training = {"classes": ["a", "b"]} if task_of(name) is SEMI_SUPERVISED else {}
    metadata = describe_model(name, {}, Schema("dense", 4), training)
    assert metadata["format_version"] == 1
    save_model(tmp_path / "m", make_pipeline(StandardScaler().fit(rows[0]), machine), metadata)
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.decision_function(new), machine.decision_function(new))
    np.testing.assert_array_equal(loaded.predict(new), machine.predict(new))
    if task_of(name) is ONE_CLASS:
        np.testing.assert_array_equal(loaded.p_values(new), machine.p_values(new))
    else:
        np.testing.assert_array_equal(loaded.predict_proba(new), machine.predict_proba(new))


def test_trees_of_scikit_learn_are_no_type_of_a_model(rows, tmp_path):
    # Loading these checks no places of nodes: a crafted file could read any memory.
    assert not any("_tree" in name or "_kd_tree" in name for name in trusted_types())
    forest = POSITIVE_UNLABELLED_METHODS["random-forest"].make(0).fit(rows[0], rows[1])
    metadata = describe_model("forest", {}, Schema("dense", 4), {})
    save_model(tmp_path / "m", make_pipeline(StandardScaler().fit(rows[0]), forest), metadata)
    with pytest.raises(UserError, match=r"types that no fewlabels model has.*_tree\.Tree"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("name", ONE_CLASS_METHODS)
def test_new_normal_rows_are_called_outside_at_the_rate(name, seed):
    rng = np.random.default_rng(seed)
    outside = []
    for _ in range(2):
        machine = OneClassBaseline(name, target_fpr=0.1).fit(rng.normal(size=(300, 3)))
        new = rng.normal(size=(1000, 3))
        outside.append(np.mean(machine.predict(new) < 0))
        np.testing.assert_array_equal(machine.predict(new) < 0, machine.p_values(new) <= 0.1)
    # Two thresholds of 300 rows each: a standard error of .014.
    assert 0.04 < np.mean(outside) < 0.16


@pytest.mark.parametrize("name", POSITIVE_UNLABELLED_METHODS)
def test_the_prior_is_the_share_called_positive(rows, name):
    machine, y, _ = fitted(name, rows)
    found = machine.transduction_[y == 0]
    assert np.mean(found) == pytest.approx(0.3, abs=0.02)
    assert machine.prior_interval_ is None and machine.prior_ == 0.3
    assert np.mean(found == rows[1][y == 0]) > 0.8
    chances = machine.curve_(machine.decision_function(rows[0][y == 0]))
    assert chances[:, 1].mean() == pytest.approx(0.3, abs=0.1)


def test_the_prior_is_estimated(rows):
    with pytest.warns(UserWarning, match="the class prior is uncertain"):
        machine = PUBaseline("pu-logistic").fit(
            rows[0], labels_of(POSITIVE_UNLABELLED, rows[1], None)
        )
    low, high = machine.prior_interval_
    assert low < machine.prior_ < high


@pytest.mark.parametrize("name", ["logistic", "svm", "spreading"])
def test_three_classes(name, seed):
    rng = np.random.default_rng(seed)
    place = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 2)) + 4.0 * np.column_stack([place == 1, place == 2])
    y = np.where(np.arange(120) % 4 == 0, np.array(["a", "b", "c"], object)[place], None)
    machine = SemiSupervisedBaseline(name).fit(X, y)
    assert machine.decision_function(X).shape == (120, 3)
    assert np.mean(machine.predict(X) == np.array(["a", "b", "c"])[place]) > 0.9
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)
    assert list(machine.transduction_[::4]) == list(y[::4])


def test_one_label_of_a_class_gives_no_probabilities(rows):
    y = np.full(240, -1)
    y[[0, 1, 200]] = 1, 1, 0
    machine = SemiSupervisedBaseline().fit(rows[0], y)
    assert not machine.has_curve_ and len(machine.predict(rows[2])) == 50
    with pytest.raises(ValueError, match="label a second one"):
        machine.predict_proba(rows[2])


def test_a_method_or_rate_that_is_none(rows):
    with pytest.raises(ValueError, match=r"Unknown method='knn'; choose isolation-forest"):
        OneClassBaseline("knn").fit(rows[0])
    with pytest.raises(ValueError, match=r"target_fpr=None is not allowed"):
        OneClassBaseline(target_fpr=None).fit(rows[0])
    with pytest.raises(ValueError, match=r"prior=1\.5 is not allowed"):
        PUBaseline(prior=1.5).fit(rows[0], labels_of(POSITIVE_UNLABELLED, rows[1], None))
    with pytest.raises(ValueError, match="sparse"):
        OneClassBaseline("mahalanobis").fit(sp.csr_array(rows[0]))


def test_explained_and_not_exported(rows):
    machine, _, new = fitted("forest", rows)
    told = explain(machine, new[:2], background=rows[0][:20])
    assert told.method == "permutations"
    added = told.contributions.sum(axis=1)
    np.testing.assert_allclose(added, told.decision - told.base, atol=1e-9)
    with pytest.raises(ValueError, match="takes a fewlabels estimator with a kernel"):
        to_onnx(machine)


@pytest.mark.parametrize("method", ["logistic", "extra-trees", "spreading"])
def test_without_calibration_decisions_are_the_same(rng, method):
    X = rng.normal(size=(60, 3))
    y = np.where(np.arange(60) < 30, (X[:, 0] > 0).astype(int), -1)
    machine = SemiSupervisedBaseline(method).fit(X, y)
    alone = machine.uncalibrated()
    assert not hasattr(alone, "classes_") and alone.get_params() == machine.get_params()
    alone.fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), machine.decision_function(X))
    assert machine.has_curve_ and not alone.has_curve_
    assert clone(alone).fit(X, y).has_curve_
