"""S3VM with the class ratio of the unlabelled rows: given, estimated, kept by updates."""

import copy
import pickle

import numpy as np
import pytest
from reference.s3vm_streams import judge
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM
from fewlabels.class_prior import label_shift
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

GENTLE = {"C": 1.0, "C_star": 0.1}


@pytest.fixture
def uneven(rng):
    """A tenth of the rows are of class 1, a half of the labels."""
    truth = np.concatenate([np.repeat([0, 1], 15), (rng.random(300) < 0.1).astype(int)])
    X = rng.normal(size=(330, 4)) + 1.5 * truth[:, None]
    y = np.where(np.arange(330) < 30, truth, np.nan)
    return X, y, truth


def several(rng, shares=(0.7, 0.2, 0.1)):
    truth = np.concatenate([np.repeat([0, 1, 2], 10), rng.choice(3, 300, p=shares)])
    X = rng.normal(size=(330, 4)) + 3.0 * np.eye(4)[truth]
    return X, np.where(np.arange(330) < 30, truth, np.nan), truth


def test_a_given_ratio_is_the_mean_of_f(uneven):
    X, y, truth = uneven
    model = S3VM(class_ratio=0.1, gamma=0.3, tol=1e-8).fit(X, y)
    same = S3VM(balance=-0.8, gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    judge(model, X, y, balance=-0.8)
    np.testing.assert_array_equal(model.class_ratio_, [0.9, 0.1])
    assert model.class_ratio_interval_ is None
    for ratio in ({0: 0.9, 1: 0.1}, [0.9, 0.1], (0.9, 0.1), np.array([0.9, 0.1])):
        again = clone(model).set_params(class_ratio=ratio).fit(X, y)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        again.partial_fit(X[:1])
    plain = S3VM(gamma=0.3, balance=True).fit(X, y)
    assert plain.class_ratio_ is None and plain.class_ratio_interval_ is None
    right = [np.mean(m.predict(X) == truth) for m in (model, plain)]
    assert right[0] > right[1] + 0.1, right


def test_an_estimated_ratio(uneven):
    X, y, truth = uneven
    model = S3VM(class_ratio="estimate", **GENTLE).fit(X, y)
    found = label_shift(X, y)
    np.testing.assert_array_equal(model.class_ratio_, found.shares)
    np.testing.assert_array_equal(model.class_ratio_interval_, found.intervals)
    low, high = model.class_ratio_interval_[1]
    assert low <= truth[30:].mean() <= high
    decided = model.training_decisions_[30:].mean()
    assert decided == pytest.approx(2 * model.class_ratio_[1] - 1, abs=1e-3)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert np.any(other.class_ratio_ != model.class_ratio_)
    order = np.random.default_rng(0).permutation(330)
    moved = clone(model).fit(X[order], y[order])
    np.testing.assert_array_equal(moved.class_ratio_, model.class_ratio_)


def test_several_classes(rng):
    X, y, truth = several(rng)
    model = S3VM(class_ratio="estimate", probability="sigmoid", **GENTLE).fit(X, y)
    assert model.class_ratio_.shape == (3,) and model.class_ratio_interval_.shape == (3, 2)
    assert np.abs(model.class_ratio_ - np.bincount(truth[30:]) / 300).max() < 0.08
    means = model.training_decisions_[30:].mean(axis=0)
    np.testing.assert_allclose(means, 2 * model.class_ratio_ - 1, atol=1e-2)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p[30:].mean(axis=0), model.class_ratio_, atol=0.02)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    with pytest.raises(ValueError, match="has no share for a new class"):
        model.partial_fit(X[:2] + 9, [3, 3], classes=[0, 1, 2, 3])
    model.partial_fit(X[:2] + 0.1).relabel([40], [int(truth[40])])
    assert np.all(model.kkt_violation_ < 1e-6)


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_probabilities_have_the_ratio(uneven, balance, kind):
    X, y, _ = uneven
    model = S3VM(class_ratio=0.1, balance=balance, probability=kind, **GENTLE).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert p[30:].mean() == pytest.approx(0.1, abs=0.02)
    np.testing.assert_array_equal(p > 0.5, model.predict(X) == 1)


def test_updates_keep_the_ratio(uneven):
    X, y, _ = uneven
    model = S3VM(class_ratio="estimate", gamma=0.3).fit(X, y)
    ratio, interval = model.class_ratio_, model.class_ratio_interval_
    mean = 2 * ratio[1] - 1
    model.partial_fit(X[:20] + 0.1)
    X, y = np.concatenate([X, X[:20] + 0.1]), np.concatenate([y, np.full(20, np.nan)])
    judge(model, X, y, balance=mean)
    model.relabel([100], [1]).forget([50, 60])
    y[100] = 1
    X, y = np.delete(X, [50, 60], axis=0), np.delete(y, [50, 60])
    judge(model, X, y, balance=mean)
    model.consolidate(["batch"])
    judge(model, X, y, balance=mean)
    assert model.class_ratio_ is ratio and model.class_ratio_interval_ is interval
    model.class_ratio = 0.3
    with pytest.raises(ValueError, match="class_ratio was 'estimate'"):
        model.partial_fit(X[:1])


def test_changed_arrays_are_noticed(uneven):
    X, y, _ = uneven
    model = S3VM(class_ratio=np.array([0.9, 0.1])).fit(X, y)
    model.class_ratio = np.array([0.8, 0.2])
    with pytest.raises(ValueError, match="class_ratio was"):
        model.partial_fit(X[:1])


def test_copies_and_files(uneven, tmp_path):
    X, y, _ = uneven
    model = S3VM(class_ratio="estimate", probability="sigmoid").fit(X, y)
    p = model.predict_proba(X)
    pipeline = make_pipeline(StandardScaler(with_std=False).fit(0 * X), model)
    save_model(tmp_path / "m", pipeline, describe_model("s3vm", {}, Schema("dense", 4),
                                                  {"rows_held": True}))  # fmt: skip
    for other in (
        pickle.loads(pickle.dumps(model)), copy.copy(model), model.snapshot(),
        load_model(tmp_path / "m")[0][-1],
    ):  # fmt: skip
        np.testing.assert_array_equal(other.class_ratio_, model.class_ratio_)
        np.testing.assert_array_equal(other.class_ratio_interval_, model.class_ratio_interval_)
        np.testing.assert_array_equal(other.predict_proba(X), p)


def test_streams_from_the_first_rows(uneven):
    X, y, _ = uneven
    with pytest.raises(ValueError, match="two different labelled rows"):
        S3VM(class_ratio="estimate").partial_fit(X[:20], classes=[0, 1])
    model = S3VM(class_ratio=0.1, gamma=0.3)
    model.partial_fit(X[30:100], classes=[0, 1]).partial_fit(X[:30], y[:30])
    judge(model, np.concatenate([X[30:100], X[:30]]), np.concatenate([y[30:100], y[:30]]),
          balance=-0.8)  # fmt: skip
    model = S3VM(class_ratio="estimate", gamma=0.3).partial_fit(X, y).partial_fit(X[:1])
    assert model.kkt_violation_ < 1e-6


@pytest.mark.parametrize("solver", ["path", "branch-and-bound"])
def test_other_solvers(uneven, solver):
    X, y, _ = uneven
    rows = np.r_[:8, 15:23, 40:60]
    model = S3VM(class_ratio=0.1, gamma=0.3, solver=solver).fit(X[rows], y[rows])
    judge(model, X[rows], y[rows], balance=-0.8, tol=1e-2 if solver != "path" else 1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_ratio": 0.0}, "'class_ratio' parameter"),
        ({"class_ratio": "guess"}, "'class_ratio' parameter"),
        ({"class_ratio": [0.5, 0.4]}, "class_ratio=.* sum to 1"),
        ({"class_ratio": {0: 0.5, 5: 0.5}}, "class_ratio=.*it lacks 1"),
        ({"class_ratio": 0.3, "balance": -0.4}, "leave one of them"),
        ({"class_ratio": "estimate", "kernel": "precomputed"}, "needs rows"),
        ({"class_ratio": "estimate", "all": True}, "every row has a label"),
        ({"class_ratio": "estimate", "one": True}, "two different labelled rows"),
    ],
)
def test_refusals_are_sentences(uneven, settings, message):
    X, y, truth = uneven
    settings = dict(settings)
    if settings.pop("all", False):
        X, y = X, truth.astype(float)
        settings["unlabeled"] = None
    if settings.pop("one", False):
        y = np.where(np.arange(330) == 0, 0, np.where(np.arange(330) >= 15, y, np.nan))
    if settings.get("kernel") == "precomputed":
        X = X @ X.T
    with pytest.raises(ValueError, match=message):
        S3VM(**settings).fit(X, y)


def test_a_number_says_nothing_of_three_classes(rng):
    X, y, _ = several(rng)
    with pytest.raises(ValueError, match="is a single share, for two classes"):
        S3VM(class_ratio=0.3).fit(X, y)


def test_weights_act_as_repetitions(uneven, rng):
    X, y, _ = uneven
    times = rng.integers(1, 3, 330)
    again = np.repeat(np.arange(330), times)
    weighted = S3VM(class_ratio="estimate", balance=False).fit(X, y, sample_weight=times)
    repeated = S3VM(class_ratio="estimate", balance=False).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.class_ratio_, repeated.class_ratio_, atol=1e-12)


def test_mapped_files(uneven, tmp_path):
    X, y, _ = uneven
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    settings = {"kernel": "linear", "cache_size": 1e-3}
    there = S3VM(class_ratio=0.1, **settings).fit(mapped, y)
    assert not there.holds_rows_  # its rows were read in pieces
    np.testing.assert_array_equal(there.class_ratio_, [0.9, 0.1])
    assert there.decision_function(X[30:]).mean() == pytest.approx(-0.8, abs=1e-2)
    estimated = S3VM(class_ratio="estimate", **settings).fit(mapped, y)  # reads the rows
    assert estimated.class_ratio_interval_ is not None


def test_others_have_no_such_parameter():
    with pytest.raises(TypeError):
        PUSVM(class_ratio=0.3)
