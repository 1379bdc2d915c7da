"""Model files of positive-unlabelled machines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from fewlabels import PUSVM
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.models.files import describe_model, load_model, save_model


def _data(seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(2, 1, (60, 3)), rng.normal(-1, 1, (80, 3))])
    y = np.repeat([1, 0], [30, 110]).astype(np.int8)
    return (sp.csr_array(np.maximum(X, 0)) if sparse else X), y


def _save(path, machine, X, **facts):
    pipeline = Pipeline([("model", machine)])
    save_model(path, pipeline, describe_model("pusvm", {}, Schema("dense", X.shape[1]), facts))


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior": 0.3},
        {"prior": "estimate", "random_state": 3},
        {"prior": 0.3, "kernel": "linear"},
        {"prior": 0.3, "kernel": "poly", "degree": 2, "threshold": "risk"},
        {"prior": 0.3, "loss": "ramp"},
        {"prior": 0.3, "bias": 2.0},
        {"prior": 0.3, "sparse": True},
        {"prior": 0.3, "kernel": "linear", "sparse": True},
    ],
    ids=str,
)
def test_round_trip(tmp_path, parameters):
    parameters = dict(parameters)
    X, y = _data(sparse=parameters.pop("sparse", False))
    machine = PUSVM(**parameters).fit(X, y)
    _save(tmp_path / "m", machine, X)
    pipeline, _, metadata = load_model(tmp_path / "m")
    loaded = pipeline[-1]
    np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), machine.predict(X))
    assert set(vars(loaded)) == set(vars(machine))
    assert loaded.prior_ == machine.prior_
    assert loaded.prior_interval_ == machine.prior_interval_
    assert loaded.history_ == machine.history_
    np.testing.assert_array_equal(loaded.transduction_, machine.transduction_)
    np.testing.assert_array_equal(loaded.classes_, [0, 1])
    assert metadata["format_version"] == 1


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_files_keep_propensity_weights_and_updates(tmp_path, sampling):
    X, y = _data()
    propensity = np.clip(0.2 + 0.1 * X[:, 0], 0.05, 1.0)
    machine = PUSVM(0.3, sampling=sampling).fit(X, y, propensity=propensity)
    _save(tmp_path / "m", machine, X, rows_held=True)
    loaded = load_model(tmp_path / "m")[0][-1]
    assert loaded.sampling == sampling
    assert vars(loaded.propensity_weights_) == vars(machine.propensity_weights_)
    for one in (machine, loaded):
        one.partial_fit(X[:3] + 0.1, y[:3], propensity=propensity[:3]).forget([0])
    np.testing.assert_allclose(loaded.decision_function(X), machine.decision_function(X))


def test_graphs_and_explanations_of_a_model_with_propensities():
    onnxruntime = pytest.importorskip("onnxruntime")
    from fewlabels.inspection import explain
    from fewlabels.onnx import to_onnx

    X, y = _data()
    machine = PUSVM(0.3, probability="isotonic")
    machine.fit(X, y, propensity=np.clip(0.2 + 0.1 * X[:, 0], 0.05, 1.0))
    session = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = session.run(names, {session.get_inputs()[0].name: X})
    decision = machine.decision_function(X)
    np.testing.assert_allclose(
        np.ravel(found[names.index("score")]), decision, atol=1e-5 * np.abs(decision).max()
    )
    told = explain(machine, X[:3], background=X[:50])
    np.testing.assert_allclose(told.contributions.sum(axis=1) + told.base, decision[:3], atol=1e-8)
