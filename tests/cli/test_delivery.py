"""What fit delivers: the machine, or a method that is clearly better on held-out labels."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, fit_table
from fewlabels.baselines import PUBaseline
from fewlabels.baselines.methods import ComparedMethod, positive_unlabelled_methods
from fewlabels.model_selection import BaselineComparison, compare_with_baselines
from fewlabels.model_selection.comparison.folds import Scores
from fewlabels.model_selection.comparison.method_comparison import MethodComparison
from fewlabels.model_selection.positive_unlabelled import comparison as positive_unlabelled
from fewlabels.model_selection.positive_unlabelled.comparison import make_methods
from fewlabels.model_selection.semi_supervised import comparison as semi_supervised
from fewlabels.pipeline.training import comparison as delivery
from fewlabels.positive_unlabelled.task import POSITIVE_UNLABELLED
from fewlabels.tables.models.files import load_model, read_metadata

TREES = "extremely random trees, labels only"
NAME = "extra-trees"


def bands(seed, n=400, n_labelled=240):
    """A class in a band of one column of twelve: trees see it, Gaussian kernels hardly do.

    All columns are on one scale, so fit doesn't take them for features and begins without trees.
    """
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(n, 12)), -1.5, 1.5)
    truth = np.where(np.abs(X[:, 0]) < 0.67, "in", "out")
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(12)])
    return frame.assign(kind=np.where(np.arange(n) < n_labelled, truth, "")), truth


@pytest.fixture(scope="module")
def table():
    return bands(0)[0]


@pytest.fixture(scope="module")
def comparison(table):
    """A comparison in which trees are clearly better than an S3VM."""
    X, kind = table.drop(columns="kind").to_numpy(), table["kind"]
    y = np.select([kind == "in", kind == "out"], [0, 1], -1)
    found = compare_with_baselines(S3VM(), X, y, time_budget=200)
    assert found.worse_than[0] == TREES
    return found


@pytest.fixture
def prepared(monkeypatch, comparison, few_trees):
    """The comparison stands for all that are made."""
    monkeypatch.setattr(
        "fewlabels.model_selection.compare_with_baselines", lambda *rows, **options: comparison
    )
    monkeypatch.setattr(BaselineComparison, "seconds_of", lambda *given: 0.0)


def fitted(table, **options):
    # Asked for, methods are compared however slow the computer is.
    options = {"time_budget": 4, "report": False, "baselines": True, **options}
    return fit_table(table, "kind", **options)


# -- the whole way -----------------------------------------------------------------------------


def test_what_is_clearly_better_is_delivered(run, tmp_path, seed):
    frame, truth = bands(seed)
    table, model, page = (tmp_path / name for name in ("t.csv", "m", "m.html"))
    frame.to_csv(table, index=False)
    done = run("fit", table, "--target", "kind", "-o", model, "--report", page,
               "--time-budget", 200, "--json")  # fmt: skip
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["method"] == summary["training"]["method"] == NAME
    assert summary["parameters"]["method"] == NAME
    delivered = summary["training"]["delivered"]
    assert delivered["instead_of"] == "s3vm" and 0.0 < delivered["low"] < delivered["high"]
    difference = delivered["score"] - delivered["score_of_other"]
    assert delivered["low"] < difference < delivered["high"]
    beside = summary["training"]["baselines"]
    assert beside["worse_than"] == [] and beside["offer"] is None and beside["instead"] is None
    assert [line["name"] for line in beside["table"] if line["ours"]] == [TREES]
    # The file on disk is the delivered one, complete.
    assert read_metadata(model)["method"] == NAME
    assert load_model(model)[0][-1].method == NAME
    assert run("predict", model, table, "-o", tmp_path / "o.csv").code == 0
    answers = pd.read_csv(tmp_path / "o.csv")["label"].to_numpy()
    assert np.mean(answers[240:] == truth[240:]) > 0.8
    lines = " ".join(run("inspect", model).out.split())
    assert f"delivered {TREES}, because its held-out accuracy is clearly better" in lines
    text = page.read_text()
    assert "Delivered: extremely random trees" in text and "95 % CI of the difference" in text
    for words in (text, lines, done.err):
        assert "se the baseline" not in words and "Worse than a baseline" not in words


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"method": "s3vm"}, "s3vm is kept because of method"),
        ({"C": 3.0}, "s3vm is kept because of C"),
        ({"kernel": "rbf", "gamma": 0.1}, "because of kernel and gamma"),
        ({"rows": True}, "because of rows=True"),
    ],
)
def test_what_was_asked_for_is_kept(table, prepared, options, why):
    training = fitted(table, **options).metadata["training"]
    assert training["method"] == "s3vm" and training["delivered"] is None
    beside = training["baselines"]
    assert beside["verdict"].startswith("S3VM: Worse than a baseline: extremely random trees")
    assert "se the baseline" not in beside["verdict"]
    assert any(part in beside["instead"] for part in why.split("|"))
    assert beside["instead"].startswith(
        f"method='{NAME}' fits {TREES}; it can't be updated (s3vm is kept because of "
    )


def test_settings_that_every_method_has_are_passed_on(table, prepared):
    found = fitted(table, random_state=5, n_jobs=1, tol=1e-4)
    assert found.choice.method == NAME and "clearly better" in found.choice.why
    machine = found.model[-1]
    assert (machine.method, machine.random_state, machine.n_jobs) == (NAME, 5, 1)
    ours = found.comparison.table[found.comparison.table["ours"]]
    assert list(ours["name"]) == [TREES] and found.comparison.worse_than == []
    assert (
        "it can't be updated, and rows=True keeps the s3vm"
        in (found.metadata["training"]["delivered"]["sentence"])
    )


def test_ctrl_c_keeps_the_model_that_is_there(run, tmp_path, table, prepared, monkeypatch):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(delivery, "fit_model", interrupted)
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--target", "kind", "-o", tmp_path / "m", "--no-report",
               "--time-budget", 4, "--baselines", "--json")  # fmt: skip
    assert done.code == 0, done.err
    training = json.loads(done.out)["training"]
    assert training["method"] == "s3vm" and training["delivered"] is None
    assert training["baselines"]["instead"] == (
        f"{TREES} is clearly better, but Ctrl-C ended its fit; pass --method {NAME} to use it"
    )
    assert type(load_model(tmp_path / "m")[0][-1]) is S3VM
    assert run("predict", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "o.csv").code == 0


def test_a_fit_that_would_take_too_long_is_not_begun(table, prepared, monkeypatch):
    monkeypatch.setattr(BaselineComparison, "seconds_of", lambda *given: 1e4)
    training = fitted(table).metadata["training"]
    assert training["method"] == "s3vm" and training["delivered"] is None
    instead = training["baselines"]["instead"]
    assert "fitting it takes about 1e+04 s, and" in instead
    assert "raise time_budget" in instead


def test_nothing_is_compared_without_a_report_where_nothing_could_change(table, prepared):
    for options in ({"method": "s3vm"}, {"time_budget": 0}, {"baselines": False}):
        found = fitted(table, **{"baselines": None, **options})
        assert found.comparison is None and found.choice.method == "s3vm"


def test_detectors_are_chosen_by_known_anomalies_alone(monkeypatch, few_trees, seed):
    # A ball around a ring and its middle stands for the one that is fitted.
    monkeypatch.setattr(
        "fewlabels.model_selection.compare_with_baselines",
        lambda estimator, X, y, **options: compare_with_baselines(
            SVDD(gamma=1e-3, C=0.1), X, y, **options
        ),
    )
    monkeypatch.setattr(BaselineComparison, "seconds_of", lambda *given: 0.0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    X[:240] *= 5.0 / np.linalg.norm(X[:240], axis=1, keepdims=True)
    frame = pd.DataFrame(X + 0.1 * rng.normal(size=X.shape), columns=["a", "b"])
    frame["state"] = np.repeat(["good", "bad"], [240, 60])
    found = fit_table(frame, "state", normal="good", time_budget=20, report=False)
    training = found.metadata["training"]
    detectors = ("isolation-forest", "neighbours", "root-neighbours", "mahalanobis", "one-class")
    assert training["method"] in detectors
    assert training["delivered"]["instead_of"] == "svdd-ensemble"
    assert training["target_fpr"] == 0.05 and found.model[-1].target_fpr == 0.05
    outside = (found.predict(frame)["label"] == "outside").to_numpy()
    assert outside[:240].mean() < 0.1 and outside[240:].mean() > 0.5
    # Without known anomalies nothing ranks them.
    alone = frame[frame["state"] == "good"].drop(columns="state")
    found = fit_table(alone, time_budget=8, report=False, baselines=True)
    assert found.choice.method == "svdd-ensemble" and found.comparison.preferred.key == ""


def test_scikit_learn_s_one_class_svm_as_a_machine(few_trees, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    found = compare_with_baselines(SVDD(), X, known_other=X[:9] + 9.0, time_budget=20)
    (method,) = (m for m in found.details.scores.methods if m.key == "one-class")
    ours = OneClassSVM(**method.settings).fit(X)
    theirs = method.estimator.fit(X)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)


# -- which method is preferred -----------------------------------------------------------------


def measured(*scores, machines=None, error=0.01, free=None):
    """``MethodComparison`` of methods with these scores, ours first, on ten folds.

    ``free`` are machines that lead without a clear difference, and from how many folds on.
    """
    free = free or {}
    machines = machines or ["", *"abcdefgh"[: len(scores) - 1]]
    found = Scores([ComparedMethod(f"method {k}", object(), key=machines[k],
                                   folds_to_lead=free.get(machines[k], np.inf))
                    for k in range(len(scores))])  # fmt: skip
    found.outputs = [dict.fromkeys(range(10), score) for score in scores]
    found.find_common()

    def finish(scores):
        scores.mean = np.array([scores.outputs[k][0] for k in scores.running])
        scores.difference_error = np.full(len(scores.mean), error)
        scores.error = scores.difference_error

    return MethodComparison(POSITIVE_UNLABELLED, "ROC AUC", scores=found, finish=finish)


class Clock:
    stopped, seconds = "", 1.0


@pytest.mark.parametrize(
    ("scores", "machines", "place"),
    [
        ([0.8, 0.81, 0.7], None, 0),  # ahead, not clearly
        ([0.8, 0.9, 0.95], None, 2),  # the best of two
        ([0.8, 0.95, 0.9], None, 1),
        ([0.8, 0.9, 0.95], ["", "a", ""], 1),  # the best one can be no model
        ([0.8, 0.95, 0.7], ["", "", "b"], 0),  # nothing else is ahead
        ([0.8, 0.95, 0.81, 0.82], ["", "", "a", "b"], 3),  # the nearest to what can be no model
        ([0.9, 0.8, 0.7], None, 0),
    ],
)
def test_which_method_is_preferred(scores, machines, place):
    found = measured(*scores, machines=machines)
    assert found.preferred().name == f"method {place}"
    summary = found.result(Clock(), found.preferred())
    assert summary.table["name"][summary.table["ours"]].item() == f"method {place}"
    models = {m.name for m in found.scores.methods if m.key}
    assert not models & set(summary.worse_than)  # nothing that can be had is clearly better


@pytest.mark.parametrize(
    ("scores", "free", "place", "clearly"),
    [
        ([0.8, 0.801, 0.79], "a", 1, 0),  # ahead, and that is enough
        ([0.8, 0.805, 0.801], "b", 2, 0),  # the other one would have to be clearly better
        ([0.8, 0.801, 0.803], "ab", 2, 0),
        ([0.8, 0.79, 0.7], "ab", 0, 0),
        ([0.8, 0.801, 0.9], "a", 2, 2),  # clearly better than both
        ([0.8, 0.895, 0.9], "a", 2, 2),
        ([0.8, 0.9, 0.895], "a", 1, 1),
        ([0.8, 0.801, 0.79], "", 0, 0),
    ],
)
def test_some_methods_need_no_clear_lead(scores, free, place, clearly):
    free = dict.fromkeys("ab", 11) | dict.fromkeys(free, 10)  # of ten folds
    found = measured(*scores, free=free)
    assert found.preferred().name == f"method {place}"
    assert found.preferred(clearly=True).name == f"method {clearly}"
    # One split shows no lead at all.
    single = measured(*scores, free=free, error=np.inf)
    assert single.preferred(clearly=True).name == "method 0"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (PUSVM(gamma=0.3), {"pu-logistic": 2, "pusvm": 2, "pu-ensemble": 2}),
        (PUEnsemble(), {"pu-logistic": 5, "pusvm": 5}),
        (PUSVM(bias=3.0), {"pu-logistic": 2, "pu-ensemble": 2}),
        (PUBaseline("forest"), {"pu-logistic": 5}),
    ],
)
def test_models_for_biased_labels_are_among_the_candidates(model, expected):
    found = make_methods(model, 0, 0.3)
    leads = {one.key: one.folds_to_lead for one in found}
    assert {name: folds for name, folds in leads.items() if np.isfinite(folds)} == expected
    own = [one for one in found if one.key in ("pusvm", "pu-ensemble")]
    assert all(one.estimator.prior == 0.3 for one in own)
    bounded = [one for one in own if one.settings]
    assert all(one.estimator.bias == one.settings["bias"] == 2.0 for one in bounded)
    gamma = model.gamma if isinstance(model, PUSVM) else "scale"
    assert all(one.estimator.gamma == gamma for one in bounded)
    # Those that take long are the last of a fold, if there is no time for all of them.
    assert [one.key for one in found][-3:] == ["random-forest", "pu-svm", "forest"]


@pytest.mark.parametrize("machine", ["pusvm", "pu-ensemble", "pu-logistic"])
def test_a_higher_score_is_delivered_in_its_own_words(monkeypatch, few_trees, machine):
    rng = np.random.default_rng(0)
    truth = np.arange(240) < 80
    table = pd.DataFrame(rng.normal(size=(240, 3)) + 2.0 * truth[:, None], columns=list("abc"))
    table["kind"] = np.where(np.arange(240) < 40, "yes", "")
    monkeypatch.setattr(
        positive_unlabelled,
        "positive_unlabelled_methods",
        lambda seed: positive_unlabelled_methods(seed)[:1],
    )
    monkeypatch.setattr(positive_unlabelled, "_FOLDS", 2)
    monkeypatch.setattr(positive_unlabelled, "_REPEATS", 1)
    compare = compare_with_baselines

    def one_is_ahead(*given, **options):
        found = compare(*given, **options)
        scores = found.details.scores
        for method, outputs in zip(scores.methods, scores.outputs, strict=True):
            for fold, (placements, *rates) in outputs.items():
                lead = 1.0 if method.key == machine else 0.999
                outputs[fold] = (np.full_like(placements, lead), *rates)
        return found

    monkeypatch.setattr("fewlabels.model_selection.compare_with_baselines", one_is_ahead)
    monkeypatch.setattr(BaselineComparison, "seconds_of", lambda *given: 0.0)
    options = {"time_budget": 0, "report": False, "baselines": True, "prior": 0.2}
    training = fit_table(table, "kind", **options).metadata["training"]
    assert training["method"] == training["delivered"]["method"] == machine
    assert training["delivered"]["instead_of"] == "pusvm"
    sentence = training["delivered"]["sentence"]
    assert ("bounded bias (2), because" in sentence) == (machine == "pusvm")
    kept = fit_table(table, "kind", method="pusvm", **options).metadata["training"]
    assert kept["method"] == "pusvm" and kept["delivered"] is None


def test_another_method_in_the_place_of_ours(comparison):
    method = comparison.preferred
    other = comparison.with_winner(method)
    assert method.name == TREES and method.key == NAME
    ours, theirs = (one.differences.set_index("name") for one in (comparison, other))
    np.testing.assert_allclose(theirs.loc["S3VM", "difference"], -ours.loc[TREES, "difference"])
    np.testing.assert_allclose(theirs.loc["S3VM", "low"], -ours.loc[TREES, "high"])
    columns = ["name", "score", "low", "high", "seconds", "note"]
    pd.testing.assert_frame_equal(
        comparison.table[columns].sort_values("name", ignore_index=True),
        other.table[columns].sort_values("name", ignore_index=True),
    )
    assert comparison.folds == other.folds and comparison.rows == other.rows


def test_a_stored_comparison_holds_no_rows(comparison):
    again = pickle.loads(pickle.dumps(comparison))
    assert again.verdict == comparison.verdict and again.preferred is None


def test_labels_are_held_out_several_times(monkeypatch, table):
    # Five folds alone leave intervals that hold nearly everything.
    monkeypatch.setattr(semi_supervised, "semi_supervised_methods", lambda seed: [])
    X = table.drop(columns="kind").to_numpy()
    y = np.where(np.arange(400) < 240, np.arange(400) % 2, -1)
    assert compare_with_baselines(S3VM(), X, y, time_budget=60).folds in (10, 15)
