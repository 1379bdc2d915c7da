"""Whether the graph of all rows is taken for S3VM: by labels left out, and steadiness."""

import json
import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold

from fewlabels import S3VM, fit_table, tune
from fewlabels.kernels import Manifold
from fewlabels.model_selection.tuning import graph as graph_choice
from fewlabels.model_selection.tuning.graph import choose_graph, deformed_values
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
    plain = Manifold(r=0.0, base=base).over(X, gamma=0.7)
    for share in (1.0, 0.4):
        graph = Manifold(r=30.0, n_neighbors=5, base=base, share=share)
        found = deformed_values(plain.values(X, X), X, graph)
        expected = graph.over(X, gamma=0.7).values(X, X)
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


def test_few_labels_are_left_out_one_by_one(rng):
    X, positive = moons(rng)
    y = some(positive, rng, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel, told, found = choose_graph(S3VM(), X, y, None, Search(1000.0, False, None))
    gamma, labelled = S3VM().fit(X, y).gamma_, np.flatnonzero(~np.isnan(y))
    wrong = []
    for graph in ("rbf", Manifold(r=100.0)):
        left_out = []
        for row in labelled:
            left = y.copy()
            left[row] = np.nan
            machine = S3VM(kernel=graph, gamma=gamma, tol=1e-2, balance=0.0).fit(X, left)
            left_out.append(machine.transduction_[row] != y[row])
        wrong.append(np.sum(left_out))
    np.testing.assert_allclose(found["accuracy"], 1.0 - np.array(wrong) / 6)
    assert kernel.share == 0.75 and "too few labels" in told
    tuned = tune(S3VM(), X, y)
    assert tuned.kernel == kernel and "too few labels" in tuned.tuning_.reason
    assert tuned.tuning_.candidates["chosen"].tolist() == [False, True]


@pytest.mark.parametrize(("wrong", "is_taken"), [((0, 2), False), ((3, 4), True), ((4, 1), True)])
def test_labels_told_wrongly_speak_against_the_graph(wrong, is_taken, rng, monkeypatch):
    counts = iter(wrong)
    monkeypatch.setattr(graph_choice._Trial, "of", lambda *_, until: (np.array([next(counts)]), 0))
    X, positive = moons(rng, 120)
    kernel, told, found = choose_graph(
        S3VM(), X, some(positive, rng, 14), None, Search(1000.0, False, None)
    )
    assert (kernel is not None) == is_taken and ("the graph is left out" in told) != is_taken
    assert found["chosen"].tolist() == [not is_taken, is_taken]
    np.testing.assert_allclose(found["accuracy"], 1.0 - np.array(wrong) / 10)


@pytest.mark.parametrize("n_labels", [10, 40])
def test_a_question_that_will_not_be_answered_in_time_is_not_begun(rng, n_labels):
    X, positive = moons(rng, 200)
    search = Search(1000.0, False, None)
    search.longest = 400.0  # as if a fit had taken so long
    kernel, told, _ = choose_graph(S3VM(), X, some(positive, rng, n_labels), None, search)
    assert "There was no time left" in told and search.fits == 0
    assert (kernel is None) == (n_labels == 40)
    search = Search(1000.0, False, None)
    search.seconds_in_all, search.fits_to_come, search.longest = 900.0, 6, 125.0
    assert choose_graph(S3VM(), X, some(positive, rng, n_labels), None, search)[0] == kernel
    assert search.fits == 0


def test_where_no_label_can_be_left_out_the_average_is_taken(rng):
    X, positive = moons(rng)
    y = some(positive, rng, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = tune(S3VM(), X, y)
    assert tuned.kernel.share == 0.75 and "too few labels" in tuned.tuning_.reason
    assert tuned.tuning_.candidates["chosen"].tolist() == [False, True]
    y = some(positive[:90], rng, 10)
    with pytest.warns(UserWarning, match="too few"):
        assert tune(S3VM(), X[:90], y).kernel == "rbf"


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
    from fewlabels.io.models.files import load_model

    loaded, _, metadata = load_model(path)
    assert "too few labels" in json.dumps(metadata["training"])
    assert "the graph of the rows" in metadata["training"]["settings"]
    encoded = loaded[:-1].transform(frame[["a", "b"]])
    np.testing.assert_array_equal(
        loaded[-1].decision_function(encoded), machine.decision_function(encoded)
    )
