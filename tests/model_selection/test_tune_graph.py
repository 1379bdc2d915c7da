"""Whether the graph of all rows is taken for S3VM: by the likelihood of the labels."""

import json
import warnings

import numpy as np
import pytest
from reference.kernels import manifold_matrix
from scipy.stats import multivariate_normal

from fewlabels import S3VM, fit_table, tune
from fewlabels.kernels import RBF, Manifold
from fewlabels.model_selection.tuning.graph import graph_evidence, log_likelihood


def moons(rng, n=200):
    positive, angle = rng.random(n) < 0.5, rng.random(n) * np.pi
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X[~positive] = [1.0, 0.5] - X[~positive]
    return X + 0.08 * rng.normal(size=X.shape), positive


def clouds(rng, n=200, d=60):
    positive = np.arange(n) % 2 == 0
    X = rng.normal(size=(n, d))
    X[:, 0] += np.where(positive, 1.5, -1.5)  # among many columns that say nothing
    return X, positive


def some(positive, rng, n):
    y = np.full(len(positive), np.nan)
    for side in (positive, ~positive):
        y[rng.choice(np.flatnonzero(side), n // 2, replace=False)] = side[0] == positive[0]
    rows = ~np.isnan(y)
    y[rows] = positive[rows]
    return y


def test_likelihoods_are_those_of_gaussian_processes(rng):
    X = moons(rng, 60)[0]
    label = np.zeros(60)
    label[:12] = rng.choice([-1.0, 1.0], 12)
    label[:2] = -1.0, 1.0
    table = graph_evidence(RBF(0.7), X, label)
    assert list(table.columns) == ["r", "n_neighbors", "log_likelihood", "probability"]
    assert table["r"][0] == 0.0 and len(table) == 11
    for _, row in table.iterrows():
        K = np.exp(-0.7 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
        if row["r"]:
            K = manifold_matrix(("rbf", 0.7), row["r"], int(row["n_neighbors"]), 2, X, X)
        K = K[:12, :12] / np.mean(np.diag(K[:12, :12]))
        expected = max(
            multivariate_normal.logpdf(label[:12], cov=s * K + q * np.eye(12) + 10.0)
            for s in (0.3, 1.0, 3.0, 10.0, 30.0)
            for q in (0.03, 0.1, 0.3, 1.0)
        ) + 6.0 * np.log(2.0 * np.pi)
        assert row["log_likelihood"] == pytest.approx(expected, abs=1e-6)
    share = np.exp(table["log_likelihood"]) * np.array([0.5] + [0.05] * 10)
    np.testing.assert_allclose(table["probability"], share / share.sum(), rtol=1e-9)


def test_of_two_classes_it_does_not_matter_which_is_which(rng):
    K = np.eye(6) + 0.1
    y = np.array([1.0, 1, -1, -1, 1, -1])[:, None]
    assert log_likelihood(K, y) == pytest.approx(log_likelihood(K, -y))
    assert log_likelihood(5.0 * K, y) == pytest.approx(log_likelihood(K, y))


def test_the_graph_is_taken_where_rows_lie_on_threads(rng):
    X, positive = moons(rng)
    y = some(positive, rng, 30)
    tuned = tune(S3VM(), X, y, time_budget=1000)
    assert isinstance(tuned.kernel, Manifold) and tuned.kernel.r > 0
    assert "a probability of" in tuned.tuning_.reason
    assert tuned.tuning_.chosen["kernel"] == tuned.kernel
    assert np.mean(tuned.predict(X) == positive) > 0.97


def test_and_left_out_where_it_says_nothing(rng):
    X, positive = clouds(rng)
    tuned = tune(S3VM(), X, some(positive, rng, 80))
    assert not isinstance(tuned.kernel, Manifold)
    assert "so it is left out" in tuned.tuning_.reason


def test_what_was_asked_for_stays(rng):
    X, positive = moons(rng, 100)
    y = some(positive, rng, 20)
    for kernel in (Manifold(r=5.0), "sigmoid", lambda a, b: a @ b.T):
        tuned = tune(S3VM(kernel=kernel), X, y, time_budget=20)
        assert (
            tuned.kernel == kernel
            if isinstance(kernel, str)
            else not tuned.tuning_.chosen.get("kernel")
        )


def test_few_labels_of_three_classes(rng):
    kinds = np.repeat([0, 1, 2], 50)
    X = 0.3 * rng.normal(size=(150, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[kinds]
    label = np.zeros(150)
    label[::25] = kinds[::25] + 1.0
    table = graph_evidence(RBF(0.1), X, label)
    known = np.flatnonzero(label)
    K = np.exp(-0.1 * np.sum((X[known][:, None] - X[known]) ** 2, axis=2))
    of_each = [
        log_likelihood(K, np.where(label[known] == c, 1.0, -1.0)[:, None]) for c in (1, 2, 3)
    ]
    assert table["log_likelihood"][0] <= sum(of_each) + 1e-9  # sizes and noises are common
    assert table["log_likelihood"][0] > sum(of_each) - 5.0
    assert table["probability"].sum() == pytest.approx(1.0)


def test_a_table_says_why(rng, tmp_path):
    import pandas as pd

    X, positive = moons(rng)
    y = some(positive, rng, 40)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["kind"] = np.where(np.isnan(y), None, np.where(y == 1, "up", "down"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_table(frame, target="kind", baselines=False)
    machine = found.model[-1]
    assert isinstance(machine.kernel, Manifold)
    path = tmp_path / "m.skops"
    found.save(path)
    from fewlabels.io.models.files import load_model

    loaded, _, metadata = load_model(path)
    assert "a probability of" in json.dumps(metadata["training"])
    assert "the graph of the rows" in metadata["training"]["settings"]
    encoded = loaded[:-1].transform(frame[["a", "b"]])
    np.testing.assert_array_equal(
        loaded[-1].decision_function(encoded), machine.decision_function(encoded)
    )
