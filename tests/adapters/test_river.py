"""The S3VM as a model of river, by river's own checks and against the estimator itself."""

import subprocess
import sys

import numpy as np
import pytest
from reference import kernel_matrix
from reference.s3vm_streams import clouds

pytest.importorskip("river")

from river import checks

from fewlabels import S3VM
from fewlabels.adapters.river import S3VMClassifier

MODEL = S3VMClassifier(kernel="linear", window=30, window_labeled=40, consolidate=False)
CHECKS = list(enumerate(checks.yield_checks(MODEL)))
KERNELS = {
    "rbf": dict(gamma=0.3),
    "linear": dict(kernel="linear"),
    "poly": dict(kernel="poly", gamma=0.3, degree=2),
}


@pytest.mark.parametrize("number", [f"{k} {check.__name__}" for k, check in CHECKS])
def test_checks_of_river(number):
    CHECKS[int(number.split()[0])][1](MODEL.clone())


def rows_of(rng, n=60, d=6, apart=0.8):
    """Rows whose later features come later, as a matrix and as dicts; labels with None."""
    X, y, truth = clouds(rng, n=n, labels=6, d=d, apart=apart)
    first = np.sort(rng.integers(0, n, d))
    first[:2] = 0
    X[np.arange(n)[:, None] < first] = 0.0
    names = [f"f{j}" if j % 2 else j for j in range(d)]
    order = [rng.permutation(d) for _ in range(n)]
    dicts = [{names[j]: X[i, j] for j in order[i] if X[i, j] != 0.0} for i in range(n)]
    return X, dicts, [None if np.isnan(v) else bool(v) for v in y], y, truth


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_is_the_estimator(rng, kernel):
    X, dicts, labels, y, _ = rows_of(rng)
    model = S3VMClassifier(consolidate=False, **KERNELS[kernel])
    expected = S3VM(unlabeled=None, **KERNELS[kernel])
    widths = set()
    for i in range(60):
        model.learn_one(dicts[i], labels[i])
        expected.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        widths.add(model.model.n_features_in_)
    sign = 1.0 if model._classes == [False, True] else -1.0
    f = np.array([model.decision_one(x) for x in dicts])
    np.testing.assert_allclose(sign * f, expected.decision_function(X), atol=1e-7)
    assert [model.predict_one(x) for x in dicts] == (sign * f > 0).tolist()
    assert model.model.kkt_violation_ < 1e-8


def test_many_names_come_later(rng):
    model = S3VMClassifier(gamma=0.3)
    X = rng.normal(size=(40, 40)) * (np.arange(40)[:, None] >= np.arange(40))
    y = np.where(np.arange(40) % 3 == 0, X[:, 0] > 0, np.nan)
    for i in range(40):
        x = {f"{j}": X[i, j] for j in range(i + 1)}
        model.learn_one(x, None if np.isnan(y[i]) else bool(y[i]))
    assert model.model.n_features_in_ < 100 and model.model.kkt_violation_ < 1e-8
    coef, K = model.model.dual_coef_[0], kernel_matrix(("rbf", 0.3), X)
    f = K[:, model.model.support_] @ coef + model.model.intercept_
    got = [model.decision_one({f"{j}": X[i, j] for j in range(40)}) for i in range(40)]
    np.testing.assert_allclose(got, f, atol=1e-8)
    # A name that no row has is a distance.
    far = model.decision_one({"0": X[0, 0], "new": 3.0, "other": 4.0})
    values = kernel_matrix(("rbf", 0.3), X[:1], X)[0] * np.exp(-0.3 * 25.0)
    assert far == pytest.approx(
        float(values[model.model.support_] @ coef + model.model.intercept_[0]), abs=1e-8
    )


def test_windows(rng):
    _, dicts, labels, _, truth = rows_of(rng)
    model = S3VMClassifier(gamma=0.3, window=12, window_labeled=3)
    held = []
    for i in range(60):
        label = labels[i] if i < 40 else bool(truth[i])
        model.learn_one(dicts[i], label)
        held.append((i, label))
        free = [k for k, (_, y) in enumerate(held) if y is None]
        for k in free[: max(0, len(free) - 12)][:1]:
            del held[k]
        given = [k for k, (_, y) in enumerate(held) if y is not None]
        if len(given) > 3:
            last = {y: k for k, (_, y) in enumerate(held) if y is not None}
            for k in [k for k in given if k not in last.values()][:1]:
                del held[k]
        assert len(model.model.transduction_) == len(held)
    rows = [i for i, _ in held]
    vectors = np.asarray(model.model.support_vectors_)[:, list(model._columns.values())]
    names = [f"f{j}" if j % 2 else j for j in range(6)]
    shown = np.array([[dicts[i].get(n, 0.0) for n in model._columns] for i in rows])
    assert set(model._columns) <= set(names)
    assert np.array_equal(vectors, shown[model.model.support_])
    assert model.model.kkt_violation_ < 1e-8


def test_the_last_label_of_a_class_stays():
    model = S3VMClassifier(kernel="linear", window_labeled=2)
    model.learn_one({"a": -1.0}, "no")
    for i in range(6):
        model.learn_one({"a": 1.0 + i}, "yes")
    assert model.model.transduction_.tolist() == [0, 1]
    assert model.predict_one({"a": -2.0}) == "no" and model.predict_one({"a": 9.0}) == "yes"


def test_classes_as_they_come():
    model = S3VMClassifier(kernel="linear")
    assert model.predict_one({"a": 1.0}) is None and model.decision_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 1.0})
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 2.0}, "yes")
    assert model.predict_one({"a": -9.0}) == "yes"
    model.learn_one({"a": -2.0}, "no")
    assert model.predict_one({"a": -9.0}) == "no" and model.predict_one({"a": 9.0}) == "yes"
    with pytest.raises(NotImplementedError):
        model.predict_proba_one({"a": 1.0})


def test_a_third_class_comes(rng):
    model = S3VMClassifier(gamma=0.3, consolidate=False)
    X, names = rng.normal(size=(60, 2)), np.array(["no", "yes", "maybe"])
    truth = np.arange(60) % 3
    X += 3.0 * np.column_stack([np.cos(2 * np.pi * truth / 3), np.sin(2 * np.pi * truth / 3)])
    for i in range(60):
        told = names[truth[i]] if i % 5 == 0 and (truth[i] != 2 or i > 25) else None
        model.learn_one({"a": X[i, 0], "b": X[i, 1]}, told)
    assert model._multiclass and model._classes == ["no", "yes", "maybe"]
    assert np.all(model.model.kkt_violation_ < 1e-9)
    f = [model.decision_one({"a": a, "b": b}) for a, b in X]
    assert np.shape(f) == (60, 3)
    right = [
        model.predict_one({"a": a, "b": b}) == names[k] for (a, b), k in zip(X, truth, strict=True)
    ]
    assert np.mean(right) > 0.8
    window = S3VMClassifier(gamma=0.3, consolidate=False, window=5, window_labeled=4)
    for i in range(30):
        told = names[truth[i]] if i % 2 == 0 else None
        window.learn_one({"a": X[i, 0], "b": X[i, 1]}, told)
    label = window.model.training_rows_.label
    assert np.sum(label == 0) == 5 and np.sum(label > 0) == 4 and set(label) == {0, 1, 2, 3}


def test_refusals_change_nothing():
    model = S3VMClassifier()
    refused = [
        (lambda: model.learn_one({"a": "red"}, "yes"), "'a' is 'red', which is not a number"),
        (lambda: model.learn_one({"a": float("nan")}, "yes"), r"'a' is NaN; fill it in[^\n]*\.$"),
        (lambda: model.decision_one({"a": 10**400}), r"'a' is infinity or a number too large"),
    ]
    for operation, words in refused:
        with pytest.raises(ValueError, match=words):
            operation()
        assert model.model is None and model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    refused += [
        (lambda: model.learn_one({"a": float("inf")}, "maybe"), "infinity"),
        (lambda: model.predict_one({"b": "red"}), "not a number"),
    ]
    for operation, words in refused:
        with pytest.raises(ValueError, match=words):
            operation()
        assert len(model.model.transduction_) == 2 and model._classes == ["yes", "no"]
    with pytest.raises(ValueError, match="window=0"):
        S3VMClassifier(window=0)


def test_consolidating_on_the_way(rng):
    _, dicts, labels, _, _ = rows_of(rng, apart=0.4)
    plain, often = S3VMClassifier(gamma=0.3, consolidate=False), S3VMClassifier(gamma=0.3)
    for model in (plain, often):
        for i in range(60):
            model.learn_one(dicts[i], labels[i])
    assert plain.model.consolidation_due_ and not often.model.consolidation_due_
    assert often.model.objective_ <= plain.model.objective_ * (1 + 1e-9)


def test_without_river():
    code = """
import sys
sys.modules["river"] = None
from fewlabels.adapters.river import S3VMClassifier
try:
    S3VMClassifier()
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'fewlabels[river]'" in run.stdout
