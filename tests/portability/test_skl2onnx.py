"""The machines inside graphs that skl2onnx writes."""

import numpy as np
import onnxruntime
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.onnx import register_with_skl2onnx

MACHINES = {
    "svdd": SVDD(C=0.5, target_fpr=0.1),
    "one-class": OneClassSVM(nu=0.2),
    "pusvm": PUSVM(prior=0.4),
    "s3vm": S3VM(kernel="linear"),
    "pu-ensemble": PUEnsemble(prior=0.4, n_bags=2),
}


@pytest.fixture(scope="module")
def convert():
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx()
    return skl2onnx.to_onnx


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pipelines(name, dtype, convert, clouds):
    X, positive, few = clouds
    labels = {"pusvm": [positive == 1], "pu-ensemble": [positive], "s3vm": [few]}.get(name, [])
    # skl2onnx writes few of its steps in float64.
    others = [] if dtype is np.float64 else [PowerTransformer()]
    pipeline = make_pipeline(StandardScaler(), *others, MACHINES[name])
    pipeline.fit(X, *labels)
    rows = X.astype(dtype)
    graph = convert(pipeline, rows[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": rows}), strict=True))
    wanted = pipeline.decision_function(X)
    tolerance = 1e-10 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(found["score"], wanted, rtol=0, atol=tolerance)
    sure = np.abs(wanted) > tolerance
    np.testing.assert_array_equal(found["label"][sure], pipeline.predict(X)[sure])
    if name == "svdd":
        p_values = pipeline[-1].p_values(pipeline[:-1].transform(X))
        np.testing.assert_allclose(found["p_value"], p_values, atol=0.02)
    if name == "pu-ensemble":
        np.testing.assert_allclose(
            found["probabilities"], pipeline.predict_proba(X), atol=tolerance
        )


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        register_with_skl2onnx()
