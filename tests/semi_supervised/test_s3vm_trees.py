"""S3VM with the kernel of trees: its definition, frozen through updates, of several classes."""

import pickle

import numpy as np
import onnxruntime
import pytest
import scipy.sparse as sp
from reference import s3vm_streams
from reference.trees import ReferenceForest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import S3VM, SVDD
from fewlabels.inspection import explain
from fewlabels.kernels import RBF, TREES_FOR_CLASSES, SharedLeaves, Trees
from fewlabels.onnx import to_onnx
from fewlabels.rows.row_order import value_order
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

FEW = Trees(n_trees=30, min_samples_leaf=1, max_samples=1.0, splits="random")


@pytest.fixture
def table(seed):
    """Boxes that columns of different kinds cut out, 20 labels of each class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) * np.array([1, 50, 1, 1, 1])
    truth = ((np.abs(X[:, 0]) < 0.7) & (X[:, 2] > -0.5)).astype(int)
    y = np.full(300, np.nan)
    for c in (0, 1):
        rows = rng.choice(np.flatnonzero(truth == c), 20, replace=False)
        y[rows] = c
    return X, y, truth


def of_apply(forest, gamma, A, B, share=0.5):
    """The kernel by the leaves of a reference."""
    a, b = forest.apply(A), forest.apply(B)
    common = np.mean(a[:, None] == b[None], axis=2)
    return (1 - share) * RBF(gamma).values(A, B) + share * common


def reference_forest(X, y, seed=0, n_trees=300):
    known = np.flatnonzero(~np.isnan(y))
    order = value_order(X[known], y[known], np.ones(len(known)))
    return ReferenceForest(X[known][order], y[known][order].astype(int), n_trees, seed)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fit_is_that_of_the_definition(table, n_classes):
    X, y, truth = table
    if n_classes == 3:
        third = X[:, 3] > 0.5
        truth = np.where(third, 2, truth)
        y = np.where(np.isnan(y), np.nan, truth)
    model = S3VM(kernel="trees", random_state=7, C=1.0, C_star=0.1, tol=1e-8).fit(X, y)
    K = of_apply(reference_forest(X, y, seed=7), model.gamma_, X, X)
    expected = S3VM(kernel="precomputed", C=1.0, C_star=0.1, tol=1e-8).fit(K, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(f, expected.decision_function(K), atol=1e-6)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-8)
    assert model.gamma_ == S3VM(kernel="rbf").fit(X, y).gamma_
    right = np.mean(model.predict(X) == truth)
    assert right > np.mean(S3VM(C=1.0, C_star=0.1).fit(X, y).predict(X) == truth) + 0.05
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), f)
    other = clone(model).set_params(random_state=8).fit(X, y)
    assert np.abs(other.decision_function(X) - f).max() > 1e-3


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("copies", [False, True], ids=["distinct", "copies"])
def test_updates_follow_the_frozen_kernel(table, storage, copies, monkeypatch):
    """After every update, the model is a local minimum under the forest of the fit."""
    X, y, truth = table
    X = np.round(X, 6)
    if copies:  # so many that a store of distinct rows holds them
        X, y, truth = np.tile(X[:100], (3, 1)), np.tile(y[:100], 3), np.tile(truth[:100], 3)
    new, prices = X[:30] + 0.125, (1.0, 0.1)
    model = S3VM(kernel="trees", C=1.0, C_star=0.1, class_ratio=0.3).fit(storage(X), y)
    forest, gamma = reference_forest(X, y), model.gamma_
    monkeypatch.setattr(s3vm_streams, "kernel_matrix", lambda kernel, X: of_apply(*kernel, X, X))

    def right(X, y):
        s3vm_streams.judge(model, X, y, (forest, gamma), balance=-0.4, tol=1e-6, prices=prices)

    right(X, y)
    later = np.where(np.arange(30) < 5, truth[:30], np.nan)
    model.partial_fit(storage(new), later)
    X, y = np.concatenate([X, new]), np.concatenate([y, later])
    right(X, y)
    gone = [7, 150, 310]
    model.forget(gone)
    X, y = np.delete(X, gone, axis=0), np.delete(y, gone)
    right(X, y)
    place = int(np.flatnonzero(np.isnan(y))[0])
    y[place] = 1.0
    model.relabel([place], [1.0])
    right(X, y)
    model.reprice(C=2.0, C_star=0.2)
    prices = (2.0, 0.2)
    right(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.consolidate(["anneal", "batch"])
    right(X, y)
    fresh = S3VM(kernel=model.function_.kernel, C=2.0, C_star=0.2, class_ratio=0.3).fit(X, y)
    assert model.objective_ <= fresh.objective_ * (1 + 1e-9)


def test_rows_in_another_order_and_weights_grow_the_same_forest(table, rng):
    X, y, _ = table
    model = S3VM(kernel=FEW, C=1.0, C_star=0.1)
    order = rng.permutation(300)
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    leaves = [m.function_.kernel.forest.leaves(X) for m in (one, other)]
    np.testing.assert_array_equal(*leaves)
    times = rng.integers(1, 4, 300)
    again = np.repeat(np.arange(300), times)
    weighted = clone(model).set_params(balance=False).fit(X, y, sample_weight=times)
    repeated = clone(model).set_params(balance=False).fit(X[again], y[again])
    leaves = [m.function_.kernel.forest.leaves(X) for m in (weighted, repeated)]
    np.testing.assert_array_equal(*leaves)


def test_unlabelled_rows_do_not_grow_the_forest(table):
    X, y, _ = table
    model = S3VM(kernel=FEW, gamma=0.1).fit(X, y)
    fewer = np.flatnonzero(~np.isnan(y) | (np.arange(300) < 150))
    other = S3VM(kernel=FEW, gamma=0.1).fit(X[fewer], y[fewer])
    leaves = [m.function_.kernel.forest.leaves(X) for m in (model, other)]
    np.testing.assert_array_equal(*leaves)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_files_explanations_and_probabilities(table, n_classes, tmp_path):
    X, y, _ = table
    if n_classes == 3:
        y = np.where(~np.isnan(y) & (X[:, 3] > 0.3), 2, y)
    model = S3VM(kernel=FEW, C=1.0, C_star=0.1, probability="sigmoid").fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    metadata = describe_model("s3vm", {}, Schema("dense", 5), {"rows_held": True})
    pipeline = make_pipeline(StandardScaler(with_std=False).fit(0 * X), model)
    save_model(tmp_path / "m", pipeline, metadata)
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    loaded.partial_fit(X[:3] + 0.1).forget([200])
    assert np.all(loaded.kkt_violation_ < 1e-6)
    told = explain(model, X[:2], background=X[:10], n_samples=20)
    assert np.isfinite(told.contributions).all()
    graph = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    names = [output.name for output in graph.get_outputs()]
    answers = dict(zip(names, graph.run(names, {graph.get_inputs()[0].name: X}), strict=True))
    np.testing.assert_array_equal(answers["label"].ravel(), model.predict(X))
    np.testing.assert_allclose(
        answers["score"].reshape(len(X), -1),
        model.decision_function(X).reshape(len(X), -1), atol=1e-9,
    )  # fmt: skip


def test_probabilities_do_not_come_from_forests_that_know_the_label(rng):
    """Labels that are noise: a forest that knew them would be sure of all of them."""
    X = rng.normal(size=(200, 4))
    y = np.where(np.arange(200) < 60, rng.integers(0, 2, 200), np.nan)
    model = S3VM(kernel="trees", C=1.0, C_star=0.1, probability="sigmoid").fit(X, y)
    model.predict_proba(X[:1])
    left_out = model.left_out_decisions_[:60, 0]
    assert abs(np.mean((left_out > 0) == y[:60]) - 0.5) < 0.25
    known = model.decision_function(X[:60])
    assert np.mean((known > 0) == y[:60]) > 0.9


def test_streams_begin_with_labels_of_all_classes(table):
    X, y, _ = table
    with pytest.raises(ValueError, match="needs labelled rows of all classes for its forest"):
        S3VM(kernel="trees").partial_fit(X[:20], classes=[0, 1])
    model = S3VM(kernel=FEW, C=1.0, C_star=0.1, balance=False)
    model.partial_fit(X, y).partial_fit(X[:5] + 0.1)
    assert model.kkt_violation_ < 1e-6
    third = np.where(np.arange(5) < 2, 2, np.nan)
    model.partial_fit(X[:5] + 9.0, third, classes=[0, 1, 2])
    assert model.decision_function(X).shape == (300, 3) and np.all(model.kkt_violation_ < 1e-6)


def test_named_and_refused(table):
    X, y, _ = table
    kernel = S3VM(kernel="trees").fit(X, y).function_.kernel
    assert isinstance(kernel, SharedLeaves) and kernel.share == 0.5
    assert len(kernel.forest.roots) == TREES_FOR_CLASSES.n_trees == 300
    with pytest.raises(ValueError, match="'splits' parameter of Trees"):
        S3VM(kernel=Trees(splits="none")).fit(X, y)
    with pytest.raises(ValueError, match="kernel"):
        SVDD(kernel="trees").fit(X)
    model = S3VM(kernel=clone(FEW)).fit(X, y)
    model.kernel.share = 0.25
    with pytest.raises(ValueError, match="kernel was"):
        model.partial_fit(X[:1])


@pytest.mark.parametrize("case", ["constant", "one label each", "all labelled", "float32"])
def test_unusual_rows(table, case):
    X, y, truth = table
    if case == "constant":
        X = np.ones_like(X)
    elif case == "one label each":
        y = np.full(300, np.nan)
        y[[np.argmax(truth == 0), np.argmax(truth == 1)]] = 0, 1
    elif case == "all labelled":
        y = truth
    else:
        X = X.astype(np.float32)
    unlabeled = None if case == "all labelled" else -1
    model = S3VM(kernel=FEW, C=1.0, C_star=0.1, unlabeled=unlabeled).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.kkt_violation_ < 1e-2
