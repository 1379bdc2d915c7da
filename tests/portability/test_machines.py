"""Graphs of the machines say what the machines say."""

import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
import scipy.sparse as sp
from reference.kernels import kernel_matrix
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.kernels import KERNELS as KINDS
from fewlabels.kernels import RBF, Map
from fewlabels.kernels.base import LARGEST
from fewlabels.onnx import functions as blocks
from fewlabels.onnx import to_onnx

MACHINES = {
    "svdd": SVDD(C=0.5),
    "svdd-linear": SVDD(slack="linear", nu=0.2),
    "svdd-calibrated": SVDD(C=0.5, target_fpr=0.1),
    "one-class": OneClassSVM(nu=0.2),
    "one-class-split": OneClassSVM(nu=0.2, target_fpr=0.2, calibration="split"),
    "pusvm": PUSVM(prior=0.4, probability="isotonic"),
    "ramp": PUSVM(prior=0.4, loss="ramp"),
    "s3vm": S3VM(probability="sigmoid"),
    "pu-ensemble": PUEnsemble(prior=0.4, n_bags=2),
}
KERNELS = ["rbf", "linear", "poly", "sigmoid"]
CASES = [(n, k) for n in MACHINES for k in KERNELS if (n, k) != ("pu-ensemble", "sigmoid")]


def fitted(machine, clouds, **changes):
    X, positive, few = clouds
    machine = type(machine)(**{**machine.get_params(), **changes})
    labels = {PUSVM: [positive], PUEnsemble: [positive], S3VM: [few]}.get(type(machine), [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels that are not positive semi-definite
        return machine.fit(X, *labels)


def new_rows(X, n=150):
    rng = np.random.default_rng(1)
    near = X[rng.integers(len(X), size=n)] + 0.3 * rng.normal(size=(n, X.shape[1]))
    return np.concatenate([near, X, 4.0 * near[:10]])


def expected(machine, X):
    answers = {"label": machine.predict(X), "score": machine.decision_function(X)}
    if hasattr(machine, "score_samples"):
        answers["score_samples"] = machine.score_samples(X)
    if getattr(machine, "target_fpr", None) is not None:
        answers["p_value"] = machine.p_values(X)
    if getattr(machine, "has_curve_", False):
        answers["probabilities"] = machine.predict_proba(X)
    return answers


def size_of(machine):
    """What decisions are summed from: the coefficients times the largest K(x, x)."""
    function, coef = machine.function_, machine.dual_coef_
    vectors = machine.support_vectors_
    if function.shift is not None:
        vectors = vectors - function.shift
    return abs(coef).sum() * np.abs(function.kernels[0].diagonal(vectors)).max(initial=0.0)


def compare(found, wanted, size, tolerance, min_margin=0.0):
    """Equal labels, and numbers within ``tolerance`` of what they are summed from."""
    assert list(found) == list(wanted)
    for name, value in found.items():
        assert value.shape == wanted[name].shape, name
        if name == "label":
            sure = np.abs(wanted["score"]) > min_margin * size
            np.testing.assert_array_equal(value[sure], wanted[name][sure])
            assert np.mean(sure) > 0.5
        else:
            unit = 1.0 if name in ("p_value", "probabilities") else size
            np.testing.assert_allclose(value, wanted[name], rtol=0, atol=tolerance * unit)


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_float64(name, kernel, clouds, exported):
    machine = fitted(MACHINES[name], clouds, kernel=kernel)
    X = new_rows(clouds[0])
    # Predictions of S3VM have float32 kernel values.
    tolerance = 1e-5 if name == "s3vm" and kernel != "linear" else 1e-11
    size = size_of(machine)
    graph = exported(machine)
    compare(graph(X), expected(machine, X), size, tolerance, tolerance)
    for part in (X[:1], X[:0]):
        found = graph(part)
        whole = graph(X)
        for output, value in found.items():
            assert value.dtype == whole[output].dtype
            assert value.shape == (len(part), *whole[output].shape[1:])
            if output != "label":
                np.testing.assert_allclose(
                    value, whole[output][: len(part)], rtol=1e-12, atol=1e-12 * size
                )


@pytest.mark.parametrize(
    "machine",
    [PUSVM(probability="sigmoid"), PUSVM(probability="isotonic"), PUEnsemble(n_bags=2)],
    ids=["sigmoid", "isotonic", "ensemble"],
)
def test_probabilities_over_an_estimated_prior(machine, clouds, exported):
    machine, X = fitted(machine, clouds), new_rows(clouds[0])
    wanted = expected(machine, X)
    assert not machine.curve_.agrees and "probabilities" in wanted
    compare(exported(machine)(X), wanted, size_of(machine), 1e-11, 1e-11)


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_float32(name, kernel, clouds, exported):
    machine = fitted(MACHINES[name], clouds, kernel=kernel)
    X = new_rows(clouds[0]).astype(np.float32)
    found = exported(machine, dtype="float32")(X)
    assert {v.dtype for k, v in found.items() if k != "label"} == {np.dtype(np.float32)}
    wanted = expected(machine, X.astype(np.float64))
    if "p_value" in found:  # kernel values of calibrated machines are float64
        np.testing.assert_allclose(found["p_value"], wanted["p_value"], rtol=1e-6)
    size = max(size_of(machine), np.abs(wanted["score"]).max())
    compare(found, wanted, size, 1e-5, 1e-5)


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_decision_by_its_definition(name, kernel, clouds, exported):
    # From public attributes and kernel values that share nothing with the package.
    machine = fitted(MACHINES[name], clouds, kernel=kernel)
    X = new_rows(clouds[0])
    gammas = getattr(machine, "gammas_", [machine.gamma_])
    coef = machine.dual_coef_
    total = np.zeros(len(X))
    for gamma, a in zip(gammas, coef, strict=True):
        form = {
            "rbf": ("rbf", gamma),
            "linear": ("linear",),
            "poly": ("poly", gamma, machine.degree, machine.coef0),
            "sigmoid": ("sigmoid", gamma, machine.coef0),
        }[kernel]
        total += kernel_matrix(form, X, machine.support_vectors_) @ a
        if isinstance(machine, SVDD):
            total = 2.0 * total - np.diag(kernel_matrix(form, X))
    wanted = total + machine.intercept_[0]
    size = max(size_of(machine), np.abs(wanted).max())
    np.testing.assert_allclose(exported(machine)(X)["score"], wanted, rtol=0, atol=1e-9 * size)


@hypothesis.given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 60),
    d=st.integers(1, 7),
    name=st.sampled_from(sorted(MACHINES)),
    kernel=st.sampled_from(KERNELS),
    scale=st.sampled_from([1e-6, 1.0, 1e5]),
    offset=st.sampled_from([0.0, 1e3]),
    block=st.sampled_from([1, 7, 256]),
)
@hypothesis.settings(max_examples=60)
def test_random_machines(seed, n, d, name, kernel, scale, offset, block, exported):
    if name == "pu-ensemble" and kernel == "sigmoid":
        return
    rng = np.random.default_rng(seed)
    X = scale * (rng.normal(size=(n, d)) + offset)
    positive = (np.arange(n) % 3 == 0).astype(int)
    few = np.where(np.arange(n) < 4, np.arange(n) % 2, -1)
    machine = fitted(MACHINES[name], (X, positive, few), kernel=kernel)
    size_before = blocks.BLOCK
    blocks.BLOCK = block
    try:
        graph = exported(machine)
    finally:
        blocks.BLOCK = size_before
    rows = np.concatenate([X, X[:3] + scale])
    wanted = expected(machine, rows)
    size = max(
        size_of(machine),
        np.abs(wanted["score"][np.isfinite(wanted["score"])]).max(initial=0.0),
    )
    rounding = 1e-5 if name == "s3vm" else 1e-8
    found = graph(rows)
    finite = np.isfinite(wanted["score"])
    np.testing.assert_array_equal(np.isfinite(found["score"]), finite)
    np.testing.assert_allclose(
        found["score"][finite], wanted["score"][finite], rtol=0, atol=rounding * size
    )
    sure = np.abs(wanted["score"]) > rounding * size
    np.testing.assert_array_equal(found["label"][sure], wanted["label"][sure])


def test_rows_out_of_reach(clouds, exported):
    machine = fitted(MACHINES["one-class"], clouds)
    far = np.array([[1e9] * 4, [LARGEST] * 4, [-1e149] * 4, [0.0, 0.0, 0.0, 1e30]])
    found = exported(machine)(far)
    scores = found["score_samples"]
    np.testing.assert_allclose(scores[[0, 3]], machine.score_samples(far[[0, 3]]), rtol=1e-9)
    assert np.all(scores[1:3] < -1e250) and np.all(np.isfinite(scores))
    np.testing.assert_array_equal(found["label"], -1)
    rough = exported(machine, dtype="float32")(np.clip(far, -3e38, 3e38).astype(np.float32))
    assert np.all(np.isfinite(rough["score_samples"])) and np.all(rough["score_samples"] < 0.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_a_row_that_is_refused_gets_no_answer(name, kernel, dtype, clouds, exported):
    machine = fitted(MACHINES[name], clouds, kernel=kernel)
    if hasattr(machine, "predict_proba"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # kernels that are not positive semi-definite
            machine.predict_proba(clouds[0][:1])
    cells = [np.nan, np.inf, -np.inf, 1e38, -1e30, LARGEST, -1.1 * LARGEST, 1e200, -1e308, 1e60]
    X = np.repeat(clouds[0][:1], len(cells) + 1, axis=0)
    X[np.arange(len(cells)), np.arange(len(cells)) % 4] = cells
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    found = exported(machine, dtype=dtype)(X)
    is_refused = []
    for row in X.astype(float):
        try:
            machine.decision_function(row[None])
            is_refused.append(False)
        except ValueError:
            is_refused.append(True)
    assert is_refused[:3] == [True] * 3 and not is_refused[-1]
    for output, values in found.items():
        is_nothing = values < -1 if output == "label" else np.isnan(values)
        is_nothing = is_nothing.reshape(len(X), -1)
        np.testing.assert_array_equal(is_nothing.all(axis=1), is_refused, output)
        np.testing.assert_array_equal(is_nothing.any(axis=1), is_refused, output)


def test_blocks_of_support_vectors(clouds, exported, monkeypatch):
    machine = fitted(MACHINES["pu-ensemble"], clouds)
    X = new_rows(clouds[0])
    whole = exported(machine)(X)["score"]
    n_nodes = len(to_onnx(machine).graph.node)
    monkeypatch.setattr(blocks, "BLOCK", 50)
    assert len(to_onnx(machine).graph.node) > n_nodes
    size = size_of(machine)
    np.testing.assert_allclose(exported(machine)(X)["score"], whole, atol=1e-13 * size, rtol=0)
    monkeypatch.setattr(blocks, "MOST_BLOCKS", 1)
    assert len(to_onnx(machine).graph.node) == n_nodes


def test_float32_is_left_where_it_loses_digits(exported):
    # Two narrow groups far apart in units of the kernel's width: exponents in the thousands.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), 100.0 + rng.normal(size=(40, 2))])
    machine = OneClassSVM(nu=0.3, gamma=0.5).fit(X)
    rows = X.astype(np.float32)
    found = exported(machine, dtype="float32")(rows)["score_samples"]
    wanted = machine.score_samples(rows.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", ["svdd", "one-class", "pusvm", "s3vm"])
def test_trained_on_sparse_rows(name, kernel, clouds, exported):
    X, *labels = clouds
    X = np.where(X > 0.5, X, 0.0)
    machine = fitted(MACHINES[name], (sp.csr_array(X), *labels), kernel=kernel)
    wanted = machine.decision_function(sp.csr_array(X))
    size = size_of(machine)
    tolerance = 1e-5 if name == "s3vm" else 1e-11
    found = exported(machine)(X)["score"]
    np.testing.assert_allclose(found, wanted, atol=tolerance * size, rtol=0)


def test_after_updates(clouds, exported):
    X, _, few = clouds
    for machine in (
        OneClassSVM(nu=0.2).fit(X[:200]).partial_fit(X[200:]).forget([0, 1]),
        SVDD(C=0.5, target_fpr=0.1).fit(X[:200]).partial_fit(X[200:]),
        S3VM(gamma=0.1).fit(X[:200], few[:200]).partial_fit(X[200:], few[200:]),
    ):
        wanted = machine.decision_function(X)
        found = exported(machine)(X)["score"]
        np.testing.assert_allclose(found, wanted, atol=1e-5 * size_of(machine), rtol=0)


@pytest.mark.parametrize(
    ("names", "kind", "blank"),
    [
        (("no", "yes"), object, ""),
        ((3, 7), np.int64, -(2**63)),
        ((0.0, 2.0), np.float64, np.nan),
        ((np.nan, 1.0), np.float64, np.nan),
        ((False, True), np.bool_, False),
        ((None, "yes"), object, ""),
    ],
)
def test_classes_keep_their_type(names, kind, blank, clouds, exported):
    X, positive, _ = clouds
    y = np.array(names, dtype=object if None in names else None)[positive]
    options = {"pos_label": "yes"} if None in names else {}
    machine = PUSVM(prior=0.4, **options).fit(X, y)
    found = exported(machine)(X)["label"]
    assert found.dtype == kind
    wanted = [("" if value is None else value) for value in machine.predict(X)]
    np.testing.assert_array_equal(found, wanted)
    found = exported(machine)(np.full((1, 4), np.inf))["label"]
    np.testing.assert_array_equal(found, [blank])


def test_numbers_beside_none_are_numbers(clouds, exported):
    X, _, few = clouds
    y = np.where(few < 0, None, few.astype(object))
    machine = S3VM().fit(X, y)
    found = exported(machine)(X)["label"]
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, machine.predict(X).astype(int))


def test_labels_in_other_words(clouds, exported):
    machine = fitted(MACHINES["svdd"], clouds)
    X = new_rows(clouds[0])
    found = exported(machine, labels=("outside", "inside"))(X)["label"]
    np.testing.assert_array_equal(found == "inside", machine.predict(X) == 1)
    with pytest.raises(ValueError, match="labels='ab' is not two texts"):
        to_onnx(machine, labels="ab")


@pytest.mark.parametrize("probability", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", ["pusvm", "s3vm", "pu-ensemble"])
def test_probabilities(name, probability, clouds, exported):
    changes = {} if name == "pu-ensemble" else {"probability": probability}
    machine = fitted(MACHINES[name], clouds, **changes)
    X = new_rows(clouds[0])
    wanted = machine.predict_proba(X)
    found = exported(machine)(X)["probabilities"]
    tolerance = 1e-4 if name == "s3vm" else 1e-9
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
    missing = exported(machine)(np.full((1, 4), np.nan))["probabilities"]
    assert np.isnan(missing).all()


def test_probabilities_of_s3vm_only_where_they_are_known(clouds, exported):
    machine = fitted(MACHINES["s3vm"], clouds)
    assert "probabilities" not in exported(machine).outputs
    machine.predict_proba(clouds[0][:1])
    assert "probabilities" in exported(machine).outputs
    assert "probabilities" not in exported(machine.set_params(probability=None)).outputs


def test_p_values_only_where_they_are_known(clouds, exported):
    machine = fitted(MACHINES["svdd"], clouds)
    assert "p_value" not in exported(machine).outputs
    X = new_rows(clouds[0])
    wanted = machine.p_values(X)  # leaves each row out
    np.testing.assert_allclose(exported(machine)(X)["p_value"], wanted, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:target_fpr")
def test_a_threshold_that_rejects_nothing(exported):
    X = np.random.default_rng(0).normal(size=(20, 2))
    machine = SVDD(target_fpr=0.001).fit(X)
    found = exported(machine)(10 * X)
    np.testing.assert_array_equal(found["label"], 1)
    np.testing.assert_array_equal(found["score"], np.inf)


def test_files(clouds, tmp_path):
    machine = fitted(MACHINES["svdd"], clouds)
    proto = to_onnx(machine, tmp_path / "m.onnx")
    loaded = onnx.load(tmp_path / "m.onnx")
    assert loaded.SerializeToString() == proto.SerializeToString()
    assert loaded.producer_name == "fewlabels" and loaded.ir_version == 9
    assert {p.key: p.value for p in loaded.metadata_props} == {"estimator": "SVDD"}
    assert [o.version for o in loaded.opset_import] == [19]


class Other(RBF):
    """A kernel of distances that says "gaussian" until a test says something else."""

    name = "other"


@pytest.mark.parametrize("model", [SVDD(), S3VM()], ids=["one", "several"])
@pytest.mark.parametrize(
    "changes",
    [
        {"map": 1 + max(Map)},
        {"onnx_form": "other"},
        {"onnx_form": "written for one", "map": 1 + max(Map)},
    ],
    ids=["map", "form", "written for one"],
)
def test_a_kernel_without_nodes_is_refused(model, changes, clouds, monkeypatch):
    X, truth = clouds[0], np.where(np.arange(240) < 40, np.arange(240) % 3, -1)
    labels = [truth] if isinstance(model, S3VM) else []
    model = type(model)(kernel=Other(0.2)).fit(X, *labels)
    to_onnx(model)
    monkeypatch.setitem(blocks._WRITERS, "written for one", blocks._write_gaussian)
    monkeypatch.setitem(KINDS, "other", Other)
    for name, value in changes.items():
        monkeypatch.setattr(Other, name, value)
    if "written for one" in changes.values() and not labels:
        to_onnx(model)
        return
    said = rf"this {type(model).__name__} has kernel='other' as its kernel, which ONNX can't exp"
    with pytest.raises(ValueError, match=said) as refused:
        to_onnx(model)
    assert str(refused.value).count("'other'") == 1  # it is not what to fit with instead


class Unknown(BaseEstimator):
    """A machine with a function, of which nothing else is known."""

    function_ = None


def test_what_cannot_be_exported(clouds):
    X, *_ = clouds
    with pytest.raises(
        ValueError, match=r"SVDD has a function as its kernel.*fit it with kernel="
    ):
        to_onnx(SVDD(kernel=lambda A, B: A @ B.T).fit(X))
    with pytest.raises(ValueError, match="OneClassSVM has kernel='precomputed' as its kernel"):
        to_onnx(OneClassSVM(kernel="precomputed").fit(X @ X.T))
    with pytest.raises(ValueError, match=r"takes a fewlabels estimator .* not SVC"):
        to_onnx(SVC())
    with pytest.raises(ValueError, match=r"takes a fewlabels estimator .* not Unknown"):
        to_onnx(Unknown())
    with pytest.raises(NotFittedError):
        to_onnx(SVDD())
    with pytest.raises(ValueError, match="dtype='float16' is not known; pass 'float32'"):
        to_onnx(SVDD().fit(X), dtype="float16")


def test_models_that_are_too_large(clouds, monkeypatch):
    from fewlabels.onnx import export

    machine = fitted(MACHINES["svdd"], clouds)
    monkeypatch.setattr(export, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"graph would take .* GB.*dtype='float32'"):
        to_onnx(machine)
    monkeypatch.setattr(blocks, "MOST_BYTES", 100)
    sparse = SVDD().fit(sp.csr_array(clouds[0]))
    with pytest.raises(ValueError, match="more than 2 GB as a dense ONNX matrix"):
        to_onnx(sparse)


def test_without_the_package(clouds, monkeypatch):
    machine = fitted(MACHINES["svdd"], clouds)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fewlabels\[onnx\]'"):
        to_onnx(machine)
