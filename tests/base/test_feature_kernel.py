"""A kernel that is an inner product of features: one class is all that it takes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM
from fewlabels.inspection import explain
from fewlabels.kernels import FeatureKernel


@dataclass(frozen=True)
class Cosine(FeatureKernel):
    """``K(x, z) = x.z / (|x| |z|)``."""

    onnx_form: ClassVar = "features"

    def features(self, X, n_jobs=1):
        if sp.issparse(X):
            return sp.csr_array(sp.diags_array(1.0 / np.sqrt((X * X).sum(axis=1))) @ X)
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    def graph_features(self, graph, x):
        return graph.add("Div", x, graph.add("Sqrt", graph.row_sums(graph.add("Mul", x, x))))


def cosine(X, Z):
    return Cosine().values(X, Z)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(90, 4)) + 0.5
    known = np.arange(90) < 30
    labels = {
        "one class": (),
        "positive": ((X[:, 0] > 1.2).astype(int),),
        "two": (np.where(known, X[:, 0] > X[:, 1], np.nan),),
        "three": (np.where(known, np.digitize(X[:, 0], [0.0, 1.0]), np.nan),),
    }
    return X, labels


MODELS = {
    "svdd": (SVDD(), "one class"),
    "one-class": (OneClassSVM(nu=0.2), "one class"),
    "pusvm": (PUSVM(prior=0.4), "positive"),
    "s3vm": (S3VM(), "two"),
    "s3vm of several": (S3VM(), "three"),
}


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", MODELS)
def test_fits_and_updates_are_those_of_its_values(name, storage, table):
    (model, kind), (X, labels) = MODELS[name], table
    y = labels[kind]
    found, expected = (
        type(model)(**{**model.get_params(), "kernel": kernel, "tol": 1e-8})
        for kernel in (Cosine(), cosine)
    )
    found.fit(storage(X), *y)
    expected.fit(X, *y)
    f = found.decision_function(storage(X))
    np.testing.assert_allclose(f, expected.decision_function(X), atol=1e-6)
    more = [np.zeros(5)] if kind == "positive" else []
    found.partial_fit(storage(X[:5] + 0.1), *more).forget([40, 50])
    expected.partial_fit(X[:5] + 0.1, *more).forget([40, 50])
    f = found.decision_function(storage(X))
    np.testing.assert_allclose(f, expected.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_graphs_and_explanations(name, table):
    onnxruntime = pytest.importorskip("onnxruntime")
    from fewlabels.onnx import to_onnx

    (model, kind), (X, labels) = MODELS[name], table
    model = type(model)(**{**model.get_params(), "kernel": Cosine()}).fit(X, *labels[kind])
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    (score,) = session.run(["score"], {session.get_inputs()[0].name: X})
    f = model.decision_function(X)
    np.testing.assert_allclose(score.reshape(f.shape), f, atol=1e-9)
    values = np.asarray(explain(model, X[:2], background=X[:20]).values)
    assert values.shape == (2, 4) and np.all(np.isfinite(values))
