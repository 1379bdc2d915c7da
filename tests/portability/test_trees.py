"""Models with a kernel of trees as ONNX graphs."""

import numpy as np
import pytest

from fewlabels import PUSVM, S3VM, PUEnsemble
from fewlabels.kernels import Trees
from fewlabels.onnx import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
FEW = Trees(n_trees=25, min_samples_leaf=1, max_samples=1.0, splits="random")


def outputs(model, X, dtype=np.float64):
    graph = to_onnx(model, dtype=np.dtype(dtype).name)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    name = session.get_inputs()[0].name
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: X.astype(dtype)}), strict=True))


def table(rng, n_classes):
    truth = rng.integers(0, n_classes, 120)
    X = rng.normal(size=(120, 4))
    X[:, 0] += 1.5 * truth
    given = truth.astype(float)
    given[40:] = np.nan
    return X, given


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_classes(rng, n_classes, dtype):
    X, given = table(rng, n_classes)
    model = S3VM(
        kernel=FEW, C=1.0, C_star=0.0, balance=False, class_ratio="estimate",
        probability="sigmoid",
    ).fit(X, given)  # fmt: skip
    new = (2.0 * rng.normal(size=(200, 4))).astype(np.float32).astype(float)
    expected = model.predict_proba(new)
    found = outputs(model, new, dtype)
    tol = 1e-9 if dtype == "float64" else 1e-5
    assert np.abs(found["probabilities"] - expected).max() < tol
    decision = model.decision_function(new)
    assert np.abs(found["score"].reshape(decision.shape) - decision).max() < tol
    assert np.mean(found["label"].ravel().astype(float) == model.predict(new)) == 1.0


@pytest.mark.parametrize(
    "model",
    [PUSVM(prior=0.4, kernel=FEW), PUEnsemble(prior=0.4, kernel=FEW, n_bags=3, random_state=0)],
)
def test_positives(rng, model):
    X, given = table(rng, 2)
    y = np.where(given == 1, 1, 0)
    model.fit(X, y)
    new = 2.0 * rng.normal(size=(200, 4))
    found = outputs(model, new)
    assert np.abs(found["score"].ravel() - model.decision_function(new)).max() < 1e-9
