"""Machines with a kernel that has a graph of their rows: as with any other kernel."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from reference.kernels import manifold_matrix
from reference.s3vm_streams import judge
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.inspection import explain
from fewlabels.kernels import Manifold
from fewlabels.semi_supervised import consolidation
from fewlabels.tables.columns.schema import Column, Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

GRAPH = Manifold(r=100.0, n_neighbors=5)
LANDMARKS = Manifold(r=100.0, n_neighbors=5, n_landmarks=30)
LOCAL = Manifold(r=100.0, n_neighbors=5, scaling="local")
KERNELS = pytest.mark.parametrize(
    "kernel", [GRAPH, LANDMARKS, LOCAL], ids=["exact", "landmarks", "local"]
)


def moons(rng, n=120):
    angle, positive = rng.random(n) * np.pi, rng.random(n) < 0.5
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X[~positive] = [1.0, 0.5] - X[~positive]
    return X + 0.06 * rng.normal(size=X.shape), positive


def labelled(positive, n=10):
    return np.where(np.arange(len(positive)) < n, positive, np.nan)


def test_fit_is_that_of_the_definition(rng):
    X, positive = moons(rng)
    new, y = moons(rng, 30)[0], labelled(positive)
    machine = S3VM(kernel=GRAPH, gamma=0.8).fit(X, y)
    both = np.concatenate([X, new])
    K = manifold_matrix(("rbf", 0.8), 100.0, 5, 2, X, both, X)
    expected = S3VM(kernel="precomputed").fit(K[:120], y)
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(
        machine.decision_function(new), expected.decision_function(K[120:]), atol=1e-8
    )
    assert machine.get_params()["kernel__r"] == 100.0
    named = S3VM(kernel="manifold").fit(X, y)
    same = S3VM(kernel=Manifold()).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(new), same.decision_function(new))


def test_a_graph_that_does_not_matter_changes_nothing(rng):
    X, positive = moons(rng)
    y = labelled(positive)
    found, expected = S3VM(kernel=Manifold(r=0.0)).fit(X, y), S3VM().fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_the_graph_tells_what_distances_do_not(rng):
    X, positive = moons(rng, 300)
    right = {0.0: [], 1e5: []}
    for draw in range(5):
        draw = np.random.default_rng(draw)
        y = np.full(300, np.nan)
        for side in (positive, ~positive):
            rows = draw.choice(np.flatnonzero(side), 5)
            y[rows] = positive[rows]
        for r, found in right.items():
            machine = S3VM(kernel=Manifold(r=r, n_neighbors=5)).fit(X, y)
            found.append(np.mean(machine.predict(X) == positive))
    assert np.mean(right[1e5]) > 0.96 > 0.93 > np.mean(right[0.0])


@KERNELS
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_streams_are_exact(kernel, storage, rng):
    """A local minimum after each operation, under the kernel of the fit by its definition."""
    X, positive = moons(rng)
    y, new = labelled(positive), moons(rng, 25)
    later = np.where(np.arange(25) < 5, new[1], np.nan)
    gamma = 30.0 if kernel is LANDMARKS else 0.8  # so narrow that landmarks are of full rank
    machine = S3VM(kernel=kernel, gamma=gamma).fit(storage(X), y)
    definition = ("manifold", ("rbf", gamma), kernel.r, 5, 2, X, kernel.scaling)
    if kernel is LANDMARKS:
        points = machine.function_.kernel.points
        points = points.toarray() if sp.issparse(points) else points
        definition = ("landmarks", *definition[1:6], points)

    def right(X, y):
        judge(machine, X, y, definition, tol=1e-6)

    right(X, y)
    machine.partial_fit(storage(new[0]), later)
    X, y = np.concatenate([X, new[0]]), np.concatenate([y, later])
    right(X, y)
    machine.forget([3, 50, 130])
    X, y = np.delete(X, [3, 50, 130], axis=0), np.delete(y, [3, 50, 130])
    right(X, y)
    y[60] = 1.0
    machine.relabel([60], [1.0])
    right(X, y)


CONVEX = {
    "svdd": (SVDD, {"C": 0.1}),
    "one-class": (OneClassSVM, {"nu": 0.2}),
    "pusvm": (PUSVM, {"prior": 0.4}),
}


@KERNELS
@pytest.mark.parametrize("name", CONVEX)
def test_convex_streams_are_exact(name, kernel, rng):
    kind, settings = CONVEX[name]
    X, positive = moons(rng)
    new = moons(rng, 20)[0]
    if name == "svdd" and kernel is LANDMARKS:
        with pytest.raises(ValueError, match="vanishes far from the rows"):
            kind(kernel=kernel, **settings).fit(X)
        return
    y = np.where(positive & (np.arange(120) % 3 == 0), 1, -1)
    of = (lambda rows: [y[rows]]) if name == "pusvm" else (lambda rows: [])
    machine = kind(kernel=kernel, **settings).fit(X, *of(np.arange(120)))
    machine.partial_fit(new, *([-np.ones(20)] if name == "pusvm" else []))
    machine.forget(np.arange(6))
    rows = np.concatenate([X[6:], new])
    labels = [np.concatenate([y[6:], -np.ones(20)])] if name == "pusvm" else []
    again = kind(kernel=machine.function_.kernel, tol=1e-10, **settings).fit(rows, *labels)
    assert machine.objective_ == pytest.approx(again.objective_, rel=1e-9)
    np.testing.assert_allclose(
        machine.decision_function(new), again.decision_function(new), atol=1e-7
    )
    assert machine.duality_gap_ < 1e-9


@KERNELS
def test_several_classes(kernel, rng):
    kinds = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[kinds]
    y = np.where(np.arange(120) % 8 == 0, kinds, np.nan)
    machine = S3VM(kernel=kernel).fit(X, y)
    K = machine.function_.kernel.values(X, X)
    expected = S3VM(kernel="precomputed").fit(K, y).decision_function(K)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-8)
    machine.partial_fit(X[:5] + 0.1)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    one = machine.function_.class_function(1)
    np.testing.assert_allclose(one(X), machine.decision_function(X)[:, 1], atol=1e-10)


def test_ensembles_of_positive_and_unlabelled_rows(rng):
    X, positive = moons(rng)
    y = np.where(positive & (np.arange(120) % 2 == 0), 1, -1)
    machine = PUEnsemble(kernel=GRAPH, prior=0.4, n_bags=3).fit(X, y)
    assert np.mean((machine.predict(X) == 1) == positive) > 0.8
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


@pytest.mark.filterwarnings("ignore:X has feature names")
@KERNELS
def test_copies_and_model_files(kernel, rng, tmp_path):
    X, positive = moons(rng)
    new = moons(rng, 30)[0]
    machine = S3VM(kernel=kernel, probability="sigmoid")
    pipeline = Pipeline([("columns", StandardScaler()), ("model", machine)])
    pipeline.fit(X, labelled(positive))
    expected = pipeline.decision_function(new)
    probability = pipeline.predict_proba(new)
    schema = Schema("table", 2, (Column("a", "number"), Column("b", "number")))
    for held in (True, False):
        path = tmp_path / f"{held}.skops"
        save_model(
            path, pipeline, describe_model("s3vm", {}, schema, {"rows": 120, "rows_held": held})
        )
        loaded = load_model(path)[0]
        np.testing.assert_array_equal(loaded.decision_function(new), expected)
        np.testing.assert_array_equal(loaded.predict_proba(new), probability)
    again = pickle.loads(pickle.dumps(pipeline))[-1]
    again.partial_fit(new)  # goes on
    assert clone(again).kernel == kernel and clone(again).kernel is not kernel


@KERNELS
@pytest.mark.parametrize("base", ["rbf", "poly", "linear"])
def test_graphs_of_other_programs(base, kernel, rng):
    onnxruntime = pytest.importorskip("onnxruntime")
    from fewlabels.onnx import to_onnx

    X, positive = moons(rng)
    machine = S3VM(kernel=clone(kernel).set_params(base=base)).fit(X, labelled(positive))
    new = np.concatenate([moons(rng, 50)[0], X])
    session = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    (given,) = session.get_inputs()
    outputs = dict(zip([o.name for o in session.get_outputs()],
                       session.run(None, {given.name: new}), strict=True))  # fmt: skip
    np.testing.assert_array_equal(outputs["label"], machine.predict(new))
    np.testing.assert_allclose(
        outputs["score"].ravel(), machine.decision_function(new), rtol=1e-4, atol=1e-5
    )
    ball = SVDD(kernel=GRAPH, C=0.1).fit(X)
    with pytest.raises(ValueError, match="can't be exported"):
        to_onnx(ball)


def test_explanations_are_exact(rng):
    X, positive = moons(rng)
    machine = S3VM(kernel=GRAPH).fit(X, labelled(positive))
    found = explain(machine, X[:5], background=X)
    assert found.method == "exact"
    total = found.contributions.sum(axis=1) + found.base
    np.testing.assert_allclose(total, machine.decision_function(X[:5]), atol=1e-8)


def test_settings_can_be_searched(rng):
    X, positive = moons(rng)
    search = GridSearchCV(S3VM(kernel=Manifold()), {"kernel__r": [1.0, 100.0]}, cv=2)
    search.fit(X, positive.astype(int))
    assert search.best_params_["kernel__r"] in (1.0, 100.0)


def test_a_stream_keeps_to_the_kernel_of_its_fit(rng):
    X, positive = moons(rng)
    machine = S3VM(kernel=clone(GRAPH)).fit(X, labelled(positive))
    machine.set_params(kernel__r=5.0)
    with pytest.raises(ValueError, match="set it back, or fit again"):
        machine.partial_fit(X[:1])
    machine.set_params(kernel__r=100.0).partial_fit(X[:1])


@pytest.mark.parametrize("kind", [SVDD, OneClassSVM])
def test_false_alarms_are_told_by_rows_outside_the_graph(kind, rng):
    X = moons(rng, 400)[0]
    with pytest.raises(ValueError, match="calibration='split'"):
        kind(kernel=GRAPH, target_fpr=0.1, calibration="leave-one-out").fit(X)
    machine = kind(kernel=GRAPH, target_fpr=0.1).fit(X)
    new = moons(rng, 2000)[0]
    assert np.mean(machine.predict(new) < 0) < 0.16
    with pytest.raises(ValueError, match="kernel that depends on all rows"):
        kind(kernel=GRAPH).fit(X).p_values(new)


@KERNELS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_consolidating_forms_the_graph_anew(n_classes, kernel, rng):
    X, positive = moons(rng, 90)
    y = labelled(positive, 12)
    y[:12] += (np.arange(12) % n_classes) * (n_classes > 2)
    late = [1.5, -0.5] + 0.1 * rng.normal(size=(40, 2))  # not near any row of the fit
    machine = S3VM(kernel=kernel).fit(X, y)
    formed = machine.function_.kernel
    machine.relabel([0], [y[1]]).relabel([0], [y[0]])
    assert not machine.consolidate([])
    assert machine.function_.kernel is formed  # same rows, same graph
    machine.partial_fit(late).forget([20, 21])
    assert machine.consolidate([])
    rows = np.concatenate([np.delete(X, [20, 21], axis=0), late])
    labels = np.concatenate([np.delete(y, [20, 21]), np.full(40, np.nan)])
    again = S3VM(kernel=kernel, gamma=machine.gamma_).fit(rows, labels)
    np.testing.assert_allclose(machine.objective_, again.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        machine.decision_function(rows), again.decision_function(rows), atol=2e-3
    )
    assert np.max(machine.kkt_violation_) < 1e-9
    stored = pickle.loads(pickle.dumps(machine))
    for one in (machine, stored):  # goes on, under the new kernel
        one.partial_fit(late[:3] + 0.01, y[:3]).forget([5])
        assert np.max(one.kkt_violation_) < 1e-9
        assert one.function_.kernel.is_equal(again.function_.kernel)


def test_a_graph_that_was_not_formed_anew_leaves_all_as_it_was(rng, monkeypatch):
    X, positive = moons(rng, 60)
    machine = S3VM(kernel=GRAPH).fit(X, labelled(positive))
    machine.partial_fit(X[:9] + 0.05)
    before, formed = machine.decision_function(X), machine.function_.kernel

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(consolidation, "begin_new_path", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.consolidate(["batch"])
    monkeypatch.undo()
    np.testing.assert_array_equal(machine.decision_function(X), before)
    machine.partial_fit(X[:2] - 0.05)
    assert machine.function_.kernel is formed and machine.kkt_violation_ < 1e-9
