"""The kernel of trees: what it is, and the machines of positive and unlabelled rows with it."""

import numpy as np
import onnxruntime
import pytest
import scipy.sparse as sp
from reference.trees import ReferenceForest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import PUSVM, SVDD, PUEnsemble
from fewlabels.inspection import explain
from fewlabels.kernels import RBF, SharedLeaves, Trees, forest
from fewlabels.kernels.operators import Expansion, make_gram
from fewlabels.onnx import to_onnx
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model

FEW = Trees(n_trees=30)
MACHINES = [PUSVM(prior=0.3, kernel=FEW), PUEnsemble(prior=0.3, kernel=FEW, n_bags=4)]
MIXED = PUEnsemble(prior=0.3, kernel="mixture", n_bags=4)


@pytest.fixture
def rows(seed):
    """Boxes that columns of different kinds cut out: trees find these, distances do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 6)) * np.array([1, 50, 1, 1, 1, 1])
    truth = (np.abs(X[:, 0]) < 0.6) & (X[:, 2] > -0.5)
    ours = np.flatnonzero(truth)
    known = np.zeros(500, bool)
    known[rng.choice(ours, 50, replace=False)] = True
    return X, truth, known


def test_values_are_the_definition(rows):
    X, _, known = rows
    kernel = Trees(n_trees=25, share=0.25).with_rows(
        X[:300], known[:300], gamma=0.1, random_state=7
    )
    forest = ReferenceForest(
        X[:300], known[:300].astype(int), 25, seed=7, smallest=3, drawn=90, best=True
    )
    a, b = forest.apply(X[:40]), forest.apply(X[250:])
    common = np.mean(a[:, None] == b[None], axis=2)
    expected = 0.75 * RBF(0.1).values(X[:40], X[250:]) + 0.25 * common
    np.testing.assert_allclose(kernel.values(X[:40], X[250:]), expected, atol=1e-14)
    np.testing.assert_array_equal(kernel.diagonal(X), 1.0)
    np.testing.assert_allclose(
        kernel.values(sp.csr_array(X[:40]), sp.csr_array(X[250:])), expected, atol=1e-9
    )
    assert np.linalg.eigvalsh(kernel.values(X, X)).min() > -1e-9


@pytest.mark.parametrize("n_trees", [20, 300])  # counted in one byte, and in more
def test_operators_and_sums_are_the_definition(rows, rng, n_trees, monkeypatch):
    monkeypatch.setattr(forest, "_ROWS_AT_A_TIME", 20)  # several blocks
    X, _, known = rows
    kernel = Trees(n_trees=n_trees, share=0.6).with_rows(X, known, gamma=0.1)
    gram, K = make_gram(kernel, X), kernel.values(X, X)
    leaves = kernel.forest.leaves(X)
    common = np.mean(leaves[:, None, :] == leaves[None, :50], axis=2)
    np.testing.assert_allclose(K[:, :50], 0.4 * RBF(0.1).values(X, X[:50]) + 0.6 * common)
    some = rng.permutation(len(X))[:70]
    np.testing.assert_allclose(gram.columns(some), K[some], atol=1e-14)
    np.testing.assert_allclose(gram.block(some), K[np.ix_(some, some)], atol=1e-14)
    np.testing.assert_allclose(gram.diagonal(), 1.0)
    coef = rng.normal(size=(3, 70))
    np.testing.assert_allclose(gram.product(some, coef[0]), K[:, some] @ coef[0], atol=1e-12)
    part = gram.take(some)
    np.testing.assert_allclose(part.whole(), K[np.ix_(some, some)], atol=1e-14)
    for several in (coef, coef[0]):
        found = Expansion(kernel, X[some], several)(X)
        np.testing.assert_allclose(found, K[:, some] @ several.T, atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_a_machine_of_it(rows, machine, tmp_path):
    X, truth, known = rows
    machine = clone(machine).fit(X, known)
    plain = clone(machine).set_params(kernel="rbf").fit(X, known)
    right = [np.mean(m.predict(X[~known]) == truth[~known]) for m in (machine, plain)]
    assert right[0] > right[1] + 0.02, right
    again = clone(machine).fit(X, known)
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    (kernel,) = machine.function_.kernels
    assert isinstance(kernel, SharedLeaves)
    frozen = clone(machine).set_params(kernel=kernel).fit(X, known)
    np.testing.assert_allclose(
        frozen.decision_function(X), machine.decision_function(X), atol=1e-9
    )
    told = explain(machine, X[:2], background=X[:10], n_samples=20)
    np.testing.assert_allclose(
        told.contributions.sum(axis=1), told.decision - told.base, atol=1e-9
    )
    metadata = describe_model("pusvm", {}, Schema("dense", 6), {})
    metadata["method"] = "pusvm" if isinstance(machine, PUSVM) else "pu-ensemble"
    save_model(tmp_path / "m", make_pipeline(StandardScaler(with_std=False).fit(0 * X), machine),
               metadata)  # fmt: skip
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    graph = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    for new in (X, 3.0 * X):
        (score,) = graph.run(["score"], {graph.get_inputs()[0].name: new})
        np.testing.assert_allclose(np.ravel(score), machine.decision_function(new), atol=1e-9)


def test_a_mixture_is_the_mean_of_two_ensembles(rows, tmp_path):
    X, truth, known = rows
    mixed = clone(MIXED).fit(X, known)
    plain, trees = (clone(MIXED).set_params(kernel=k).fit(X, known) for k in ("rbf", "trees"))
    assert mixed.kernel_ == "mixture" and mixed.gammas_.shape == (6,)
    # The decisions of both, moved and scaled, and cut anew.
    parts = np.column_stack([plain.decision_function(X), trees.decision_function(X), np.ones(500)])
    f = mixed.decision_function(X)
    shares = np.linalg.lstsq(parts, f, rcond=None)[0]
    np.testing.assert_allclose(parts @ shares, f, atol=1e-6)
    assert (shares[:2] > 0.0).all()
    np.testing.assert_allclose(mixed.prices_, [0.1, 1.0, 10.0])
    np.testing.assert_allclose(mixed.auc_[:5, 1:], plain.auc_)
    np.testing.assert_allclose(mixed.auc_[5:], trees.auc_)
    assert np.isnan(mixed.auc_[:5, 0]).all() and not mixed.weights_[:5, 0].any()
    np.testing.assert_allclose(mixed.weights_[:5, 1:], 0.5 * plain.weights_)
    assert mixed.weights_.sum() == pytest.approx(1.0)
    kernels = [kernel.values(X, mixed.support_vectors_) for kernel in mixed.function_.kernels]
    total = sum(K @ a for K, a in zip(kernels, mixed.dual_coef_, strict=True))
    np.testing.assert_allclose(total + mixed.intercept_, f, atol=1e-6)
    right = [np.mean(m.predict(X[~known]) == truth[~known]) for m in (mixed, plain)]
    assert right[0] > right[1], right
    p = mixed.predict_proba(X)
    np.testing.assert_array_equal(mixed.classes_[p.argmax(axis=1)], mixed.predict(X))
    metadata = describe_model("pu-ensemble", {}, Schema("dense", 6), {})
    save_model(tmp_path / "m", make_pipeline(StandardScaler(with_std=False).fit(0 * X), mixed),
               metadata)  # fmt: skip
    loaded = load_model(tmp_path / "m")[0][-1]
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    graph = onnxruntime.InferenceSession(to_onnx(mixed).SerializeToString())
    for new in (X, 3.0 * X):
        (score,) = graph.run(["score"], {graph.get_inputs()[0].name: new})
        np.testing.assert_allclose(np.ravel(score), mixed.decision_function(new), atol=1e-5)
    told = explain(mixed, X[:2], background=X[:10], n_samples=20)
    np.testing.assert_allclose(
        told.contributions.sum(axis=1), told.decision - told.base, atol=1e-6
    )


def test_data_decide_which_kernel_is_taken(rows, rng):
    X, _, known = rows
    few = PUEnsemble(prior=0.3, n_bags=2)
    assert few.kernel == "auto" and few.fit(X, known).kernel_ == "mixture"
    pixels = 255.0 * (rng.random((500, 30)) < 0.4)
    lengths = rng.normal(size=(500, 30))
    lengths /= np.linalg.norm(lengths, axis=1, keepdims=True)
    for other in (pixels, lengths, sp.csr_array(X), 1e39 * X):
        assert clone(few).fit(other, known).kernel_ == "rbf"
    assert clone(few).fit(X[:299], known[:299]).kernel_ == "rbf"
    plain = clone(few).set_params(kernel="rbf").fit(pixels, known)
    np.testing.assert_array_equal(
        plain.decision_function(pixels), clone(few).fit(pixels, known).decision_function(pixels)
    )
    assert plain.kernel_ == "rbf"


def test_updates_follow_the_problem_of_the_frozen_kernel(rows):
    X, _, known = rows
    machine = PUSVM(prior=0.3, kernel=FEW, lam=0.01, tol=1e-8).fit(X[:300], known[:300])
    kernel = machine.function_.kernel
    machine.partial_fit(X[300:310], known[300:310]).forget([3, 4])
    kept = np.delete(np.arange(310), [3, 4])
    anew = PUSVM(prior=0.3, kernel=kernel, lam=0.01, tol=1e-8).fit(X[kept], known[kept])
    np.testing.assert_allclose(machine.decision_function(X), anew.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_weights_act_as_repetitions(rows, machine, rng):
    X, _, known = (of_rows[:300] for of_rows in rows)
    times = rng.integers(1, 4, len(X))
    again = rng.permutation(np.repeat(np.arange(len(X)), times))
    machine = clone(machine).set_params(random_state=0)
    machine.set_params(**({"lam": 0.01} if isinstance(machine, PUSVM) else {"n_bags": 2}))
    weighted = clone(machine).fit(X, known, sample_weight=times)
    repeated = clone(machine).fit(X[again], known[again])
    f, g = weighted.decision_function(X), repeated.decision_function(X)
    np.testing.assert_allclose(f, g, atol=0.02 * np.ptp(g))
    assert np.mean(weighted.predict(X) != repeated.predict(X)) <= 0.004


def test_named_and_refused(rows):
    X, _, known = rows
    machine = PUEnsemble(prior=0.3, kernel="trees", n_bags=2).fit(X[:200], known[:200])
    assert len(machine.function_.kernels[0].forest.roots) == Trees().n_trees
    for other in (SVDD(kernel=FEW), SVDD(kernel="trees")):
        with pytest.raises(ValueError, match="kernel"):
            other.fit(X, known.astype(int))
    with pytest.raises(ValueError, match="'max_samples' parameter of Trees"):
        PUSVM(kernel=Trees(max_samples=2.0)).fit(X, known)


def test_the_true_prior_is_not_called_a_contradiction(rows, recwarn):
    X, truth, known = rows
    PUSVM(prior=float(truth[~known].mean()), kernel=FEW).fit(X, known)
    assert not [w for w in recwarn if "contradicts the data" in str(w.message)]
