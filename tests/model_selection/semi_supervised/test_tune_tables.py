"""S3VM on tables of features: the default of trees, and what labels may say against it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from fewlabels import S3VM, fit_table, tune
from fewlabels.data.units import is_feature_table
from fewlabels.model_selection.semi_supervised import labelled_rows
from fewlabels.model_selection.semi_supervised.tables import is_for_tables

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Fewer folds, so that tests are quick."""
    monkeypatch.setattr(labelled_rows, "_MAX_REPEATS", 1)


def table(rng, n=300, share=0.5, n_classes=2):
    """Steps in two of six columns decide, as in many tables."""
    X = rng.normal(size=(n, 6)) * [1.0, 10.0, 0.1, 5.0, 1.0, 100.0]
    score = (X[:, 0] > 0).astype(float) + (X[:, 1] > 0) + 0.1 * rng.normal(size=n)
    ends = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    if n_classes == 2:
        ends = [np.quantile(score, 1.0 - share)]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.digitize(score, ends)


def labelled(truth, n_each):
    given = np.full(len(truth), np.nan)
    for number in np.unique(truth):
        given[np.flatnonzero(truth == number)[:n_each]] = number
    return given


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_labels_get_the_default_of_such_tables(rng, n_classes):
    X, truth = table(rng, n_classes=n_classes)
    given = labelled(truth, 3)
    given[np.flatnonzero(truth == 0)[3:5]] = 0
    model = tune(S3VM(), X, given)
    assert model.tuning_.chosen == {
        "kernel": "trees", "C": 1.0, "C_star": 0.0, "balance": False
    }  # fmt: skip
    assert "too few to compare" in model.tuning_.reason and len(model.tuning_.candidates) == 1
    assert model.tuning_.unlabeled_rows is None


def test_held_out_accuracies_and_gains_are_those_of_the_folds(rng):
    X, truth = table(rng)
    given = labelled(truth, 12)
    given[np.flatnonzero(truth == 0)[12:18]] = 0  # no equal numbers: no class ratio
    model = tune(S3VM(), X, given, time_budget=100)
    found = model.tuning_
    assert found.candidates["chosen"].sum() == 1 and (found.candidates["folds"] == 5).all()
    accuracy = found.candidates["accuracy"].to_numpy()
    assert found.candidates["gain"].to_numpy() == pytest.approx(accuracy - accuracy[0])
    assert "class_ratio" not in found.chosen
    change = found.unlabeled_rows
    assert change.low < change.gain < change.high
    if found.chosen["kernel"] == "trees" and not change.used:
        assert change.gain == pytest.approx(found.candidates["gain"].iloc[1])
    again = pickle.loads(pickle.dumps(model)).tuning_
    assert again.unlabeled_rows == change and "95 % interval" in str(again.unlabeled_rows)
    assert np.mean(model.predict(X) == truth) > 0.65


def test_something_clearly_better_is_taken(rng):
    X = rng.normal(size=(300, 12))
    truth = (X.sum(axis=1) > 0).astype(int)  # all columns alike: hard for trees
    given = np.where(np.arange(300) < 101, truth, np.nan)
    found = tune(S3VM(), X, given, time_budget=100).tuning_
    taken = found.candidates[found.candidates["chosen"]].iloc[0]
    assert taken["kernel"] in ("linear", "rbf", "manifold")
    assert taken["gain"] > 1.5 * taken["gain_error"] and "above the default" in found.reason
    assert found.unlabeled_rows is not None


def test_equal_numbers_of_labels_have_their_class_ratio_estimated(rng):
    X, truth = table(rng, n=600, share=0.15)
    given = labelled(truth, 15)
    model = tune(S3VM(), X, given, time_budget=30)
    plain = S3VM(kernel="trees", C=1.0, C_star=0.0, balance=False).fit(X, given)
    assert model.tuning_.chosen["class_ratio"] == "estimate"
    assert "equal numbers of labels" in model.tuning_.reason
    low, high = model.class_ratio_interval_[1]
    assert low < 0.15 < high < 0.5
    assert np.mean(model.predict(X) == truth) >= np.mean(plain.predict(X) == truth)


def test_equal_numbers_may_be_those_of_all_rows(rng):
    X, truth = table(rng, n=600, share=0.5)
    found = tune(S3VM(), X, labelled(truth, 15), time_budget=30).tuning_
    assert "class_ratio" not in found.chosen and "estimated" not in found.reason


def test_what_was_given_stays(rng):
    X, truth = table(rng)
    given = labelled(truth, 3)
    ratio = tune(S3VM(class_ratio={0: 0.7, 1: 0.3}), X, given)
    assert ratio.class_ratio == {0: 0.7, 1: 0.3} and "class_ratio" not in ratio.tuning_.chosen
    held = tune(S3VM(balance=0.1), X, given)
    assert held.balance == 0.1 and held.kernel == "trees" and held.C_star == 0.0
    for estimator in (S3VM(kernel="linear"), S3VM(C=3.0), S3VM(C_star=1.0), S3VM(gamma=0.5)):
        assert not is_for_tables(estimator, X)
    assert is_for_tables(S3VM(tol=1e-2), X)


def test_kinds_of_columns(rng):
    digits = load_digits().data
    assert not is_feature_table(digits)  # one unit
    assert is_feature_table(rng.normal(size=(50, 8)) * np.arange(1, 9))
    assert is_feature_table((rng.random((50, 60)) < 0.2).astype(float))  # yes and no
    assert is_feature_table(sp.csr_array((rng.random((50, 60)) < 0.2).astype(float)))
    assert not is_feature_table(rng.normal(size=(50, 300)))  # embeddings
    assert not is_feature_table(rng.normal(size=(50, 2)))  # positions
    words = rng.random((50, 100)) * (rng.random((50, 100)) < 0.1)
    words[:, 0] += 0.1
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    assert not is_feature_table(sp.csr_array(words))


def test_a_table_is_fitted_by_trees_and_says_so(rng, tmp_path):
    X, truth = table(rng, n=400, share=0.2)
    frame = pd.DataFrame(X * [1, 3, 9, 27, 81, 3], columns=list("abcdef"))
    label = np.full(400, None, dtype=object)
    for name, number in (("no", 0), ("yes", 1)):
        label[np.flatnonzero(truth == number)[:12]] = name
    frame["class"] = label
    fit = fit_table(frame, "class", time_budget=30, report=False, baselines=False)
    facts = fit.metadata["training"]
    assert facts["tuning"]["chosen"]["kernel"] == "trees"
    assert (
        "unlabelled rows are" in facts["settings"]
        and "as estimated for the threshold" in facts["settings"]
    )
    assert set(facts["tuning"]["unlabeled_rows"]) == {"gain", "low", "high", "used"}
    names = np.where(truth == 1, "yes", "no")
    assert np.mean(fit.predict(frame[list("abcdef")])["label"].to_numpy() == names) > 0.75
    options = dict(report=False, baselines=False, class_ratio=0.2)
    given = fit_table(frame, "class", time_budget=5, **options)
    assert given.metadata["parameters"]["class_ratio"] == 0.2
    assert "as given: 80 % no, 20 % yes" in given.metadata["training"]["settings"]
