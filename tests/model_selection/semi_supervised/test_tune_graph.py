"""Whether the graph of all rows is taken for S3VM: by labels left out, and steadiness."""

import json
import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold

from fewlabels import S3VM, fit_table, tune
from fewlabels.kernels import Manifold
from fewlabels.model_selection.semi_supervised.graph import choose_graph, deformed_values
from fewlabels.model_selection.tuning.search import Search


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


@pytest.mark.parametrize("base", ["rbf", "poly"])
def test_values_compared_are_those_of_the_kernel_chosen(base, rng):
    X = moons(rng, 60)[0]
    plain = Manifold(r=0.0, base=base).with_rows(X, gamma=0.7)
    for share, scaling in ((1.0, "mean"), (0.4, "mean"), (1.0, "local"), (0.4, "local")):
        graph = Manifold(r=30.0, n_neighbors=5, base=base, share=share, scaling=scaling)
        found = deformed_values(plain.values(X, X), X, graph)
        expected = graph.with_rows(X, gamma=0.7).values(X, X)
        np.testing.assert_allclose(found, expected, atol=1e-9 * abs(expected).max())


def test_scores_are_of_labels_left_out_and_of_machines_that_disagree(rng):
    X, positive = moons(rng)
    y = some(positive, rng, 40)
    found = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))[2]
    gamma = S3VM().fit(X, y).gamma_
    told = np.flatnonzero(~np.isnan(y))
    seed = Search(1.0, False, None).seed
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
    machines, wrong = [], 0
    for _, test in folds.split(told, y[told]):
        left = y.copy()
        left[told[test]] = np.nan
        machine = S3VM(gamma=gamma, tol=1e-2, balance=0.0).fit(X, left)  # 20 labels of each
        wrong += np.sum(machine.transduction_[told[test]] != y[told[test]])
        machines.append(machine.transduction_[np.isnan(y)])
    apart = np.mean([np.mean(a != b) for a, b in combinations(machines, 2)])
    assert found["accuracy"][0] == pytest.approx(1.0 - wrong / 80)
    assert found["disagreement"][0] == pytest.approx(apart)
    assert found["score"][0] == pytest.approx(wrong / 80 + apart / 2)
    assert found["probability"][0] == 0.5 and found["chosen"].sum() == 1


def test_the_graph_is_taken_where_rows_lie_on_threads(rng):
    lane = np.arange(240) % 4  # four threads, of one class and the other in turn
    X = np.stack([10.0 * rng.random(240), lane + 0.03 * rng.normal(size=240)], axis=1)
    positive = lane % 2 == 1
    y = some(positive, rng, 40)
    tuned = tune(S3VM(), X, y, time_budget=1000)
    assert isinstance(tuned.kernel, Manifold) and tuned.kernel.r > 10
    assert "has a probability of" in tuned.tuning_.reason
    assert tuned.tuning_.chosen["kernel"] == tuned.kernel
    plain = np.mean(S3VM().fit(X, y).predict(X) == positive)
    assert np.mean(tuned.predict(X) == positive) > plain + 0.1


def test_and_where_it_says_nothing_it_does_no_harm():
    errors = np.empty((2, 2))
    for draw in range(2):
        rng = np.random.default_rng(draw)
        X, positive = clouds(rng)
        y = some(positive, rng, 80)
        graph, told, _ = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))
        assert ("so the graph is left out" in told) == (graph is None)
        for place, kernel in enumerate(("rbf", graph or "rbf")):
            found = S3VM(kernel=kernel).fit(X, y).predict(X)
            errors[place, draw] = np.mean(found != positive)
    assert np.all(errors[1] - errors[0] < 0.06) and np.mean(errors[1] - errors[0]) < 0.02


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
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


def turned(rng, n_objects=12, views=60):
    """Pictures of objects on a turntable: threads, of one class and the other in turn."""
    angle = np.linspace(0.0, 2.0 * np.pi, views, endpoint=False)
    waves = np.stack([f(k * angle) / k for k in (1, 2, 3) for f in (np.cos, np.sin)], axis=1)
    X = [waves @ rng.normal(size=(6, 200)) + rng.normal(size=200) for _ in range(n_objects)]
    return np.concatenate(X), np.repeat(np.arange(n_objects) % 2 == 0, views)


def test_few_labels_get_a_graph_where_rows_lie_on_threads(rng):
    X, positive = turned(rng)
    y = np.full(len(X), np.nan)
    y[::60] = positive[::60]  # one view of each object
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel, reason, found = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))
    assert kernel == Manifold(r=1e5, n_neighbors=5, scaling="local")
    assert "too few labels" in reason and "so it is taken" in reason
    assert found["chosen"].tolist() == [False, True]
    tuned = tune(S3VM(), X, y)
    assert tuned.kernel == kernel and "too few labels" in tuned.tuning_.reason
    assert tuned.tuning_.candidates["chosen"].tolist() == [False, True]
    errors = [np.mean(m.predict(X) != positive) for m in (tuned, S3VM().fit(X, y))]
    assert errors[0] < 0.1 < errors[1]


def test_few_labels_get_a_weaker_graph_where_rows_lie_on_sheets(rng):
    X = np.maximum(rng.normal(size=(400, 8)) @ rng.normal(size=(8, 200)), 0.0)
    positive = X[:, 0] > 0.0
    y = some(positive, rng, 6)
    kernel, reason, _ = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))
    assert kernel == Manifold(r=100.0, n_neighbors=5, scaling="local")
    assert "so it is taken" in reason
    kernel = choose_graph(S3VM(kernel="linear"), X, y, None, Search(1000.0, False, None))[0]
    assert kernel.base == "linear" and kernel.r * np.mean(np.sum(X**2, axis=1)) == pytest.approx(
        100.0, rel=0.01
    )


def test_few_labels_get_no_graph_where_rows_fill_many_dimensions(rng):
    for n in (100, 400):
        X, positive = clouds(rng, n, d=200)
        y = some(positive, rng, 6)
        kernel, reason, found = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))
        assert kernel is None and "so it is left out" in reason
        assert found["chosen"].tolist() == [True, False]
    with pytest.warns(UserWarning, match="too few"):
        tuned = tune(S3VM(), X, y)
    assert tuned.kernel == "rbf" and "so it is left out" in tuned.tuning_.reason


def test_a_question_that_will_not_be_answered_in_time_is_not_begun(rng):
    X, positive = moons(rng, 200)
    y = some(positive, rng, 40)
    search = Search(1000.0, False, None)
    search.longest = 400.0  # as if a fit had taken so long
    kernel, reason, _ = choose_graph(S3VM(), X, y, None, search)
    assert "There was no time left" in reason and search.fits == 0 and kernel is None
    search = Search(1000.0, False, None)
    search.total_seconds, search.fits_to_come, search.longest = 900.0, 6, 125.0
    assert choose_graph(S3VM(), X, y, None, search)[0] is None
    assert search.fits == 0


def test_a_label_of_each_class_is_enough_and_few_rows_are_not(rng):
    X, positive = moons(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = tune(S3VM(), X, some(positive, rng, 2))
    assert isinstance(tuned.kernel, Manifold) and "too few labels" in tuned.tuning_.reason
    assert tuned.tuning_.candidates["chosen"].tolist() == [False, True]
    some_rows = some(positive[:90], rng, 10)
    copies = np.concatenate([X[:90], X[:60]])  # no more rows to speak of
    for rows, y in ((X[:90], some_rows), (copies, np.append(some_rows, np.full(60, np.nan)))):
        with pytest.warns(UserWarning, match="too few"):
            assert tune(S3VM(), rows, y).kernel == "rbf"


def test_three_classes_and_weights(rng):
    kinds = np.repeat([0, 1, 2], 50)
    X = 0.3 * rng.normal(size=(150, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[kinds]
    y = np.where(np.arange(150) % 4 == 0, kinds, np.nan)
    weight = np.where(np.arange(150) % 10 == 3, 0.0, 1.0)
    table = tune(S3VM(), X, y, sample_weight=weight).tuning_.candidates
    assert table["accuracy"][0] == 1.0  # the kernel as it is


def test_a_table_says_why(rng, tmp_path):
    import pandas as pd

    X, positive = moons(rng)
    y = some(positive, rng, 10)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["kind"] = np.where(np.isnan(y), None, np.where(y == 1, "up", "down"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_table(frame, target="kind", baselines=False)
    machine = found.model[-1]
    assert isinstance(machine.kernel, Manifold)
    path = tmp_path / "m.skops"
    found.save(path)
    from fewlabels.tables.models.files import load_model

    loaded, _, metadata = load_model(path)
    assert "too few labels" in json.dumps(metadata["training"])
    assert "the graph of the rows" in metadata["training"]["settings"]
    encoded = loaded[:-1].transform(frame[["a", "b"]])
    np.testing.assert_array_equal(
        loaded[-1].decision_function(encoded), machine.decision_function(encoded)
    )
