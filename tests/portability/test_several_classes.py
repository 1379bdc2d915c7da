"""Graphs of machines of several classes say what the machines say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import S3VM
from fewlabels.onnx import to_onnx

NAMES = np.array(["ant", "bee", "cat"], dtype=object)


@pytest.fixture
def rows(rng):
    truth = np.arange(400) % 3
    X = rng.normal(size=(400, 4)) + 2.0 * np.eye(4)[truth]
    return X, np.where(np.arange(400) < 60, NAMES[truth], None)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("probability", [None, "sigmoid", "isotonic"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_scores_and_probabilities(rows, exported, kernel, probability):
    X, y = rows
    gamma = 0.02 if kernel == "sigmoid" else 0.3
    machine = S3VM(kernel=kernel, gamma=gamma, probability=probability)
    model = make_pipeline(StandardScaler(), machine).fit(X, y)
    if probability:
        model.predict_proba(X[:1])
    new = np.concatenate([X, X * 50.0, X[:1] * np.nan])
    for dtype, rtol in (("float64", 1e-5), ("float32", 1e-3)):
        found = exported(model, dtype=dtype)(new.astype(dtype))
        f = model.decision_function(new[:-1])
        size = np.maximum(1.0, np.abs(f))
        if kernel == "rbf":
            size = np.broadcast_to(np.abs(machine.dual_coef_).sum(axis=1), f.shape)
        if kernel == "poly":  # what values are summed from
            inner = model[0].transform(new[:-1]) @ machine.support_vectors_.T
            size = np.abs(gamma * inner + 1.0) ** 3 @ np.abs(machine.dual_coef_).T
        assert found["score"].shape == (801, 3)
        assert np.all(np.abs(found["score"][:-1] - f) <= rtol * size)
        assert np.isnan(found["score"][-1]).all()
        ahead = np.diff(np.sort(f, axis=1)[:, -2:], axis=1)[:, 0]
        clear = ahead > 2 * rtol * size.max(axis=1)
        assert clear[:400].mean() > 0.9
        assert np.array_equal(found["label"][:-1][clear], model.predict(new[:-1])[clear])
        if probability:
            # Which class is ahead of two equal ones is rounding, and decides their probabilities.
            some = np.flatnonzero(clear[:400])
            p = model.predict_proba(X)[some]
            np.testing.assert_allclose(found["probabilities"][some], p, atol=50 * rtol)
            assert np.array_equal(NAMES[found["probabilities"][some].argmax(axis=1)],
                                  found["label"][some])  # fmt: skip


def test_names_of_labels(rows, exported):
    X, y = rows
    code = np.array([-1 if pd.isna(v) else list(NAMES).index(v) for v in y])
    model = S3VM().fit(X, code)
    assert exported(model)(X[:5])["label"].tolist() == model.predict(X[:5]).tolist()
    said = exported(model, labels=["a", "b", "c"])(X[:5])["label"]
    assert said.tolist() == np.array(["a", "b", "c"])[model.predict(X[:5])].tolist()
    with pytest.raises(ValueError, match="is not 3 texts"):
        to_onnx(model, labels=["a", "b"])
