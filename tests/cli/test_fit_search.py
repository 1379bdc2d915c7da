"""What fit decides by itself: settings, threshold, probabilities; and that it can be stopped."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, tune
from fewlabels.pipeline.options.fit import FitOptions
from fewlabels.pipeline.training import fitting
from fewlabels.pipeline.training.plan import _plan_search
from fewlabels.tables.models.files import load_model

pytestmark = pytest.mark.usefixtures("few_trees")

N = 80


def _table(labels):
    rng = np.random.default_rng(0)
    kind = np.arange(N) % 2
    frame = pd.DataFrame(rng.normal(size=(N, 2)) + 2.0 * kind[:, None], columns=["size", "age"])
    frame["state"] = np.select([~labels, kind == 1], ["", "bad"], "good")
    return frame


@pytest.fixture
def normal(tmp_path):
    path = tmp_path / "normal.csv"
    _table(np.zeros(N, dtype=bool)).drop(columns="state").to_csv(path, index=False)
    return path


@pytest.fixture
def few(tmp_path):
    """Labels of both classes in half of the rows."""
    path = tmp_path / "few.csv"
    _table(np.arange(N) < N // 2).to_csv(path, index=False)
    return path


@pytest.fixture
def pile(tmp_path):
    path = tmp_path / "pile.csv"
    frame = _table(np.arange(N) < N // 2)
    frame["state"] = frame["state"].replace("good", "")
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("option", "cls", "clean"),
    [
        (("--method", "svdd"), SVDD, False),
        (("--clean",), SVDD, True),
        (("--method", "one-class"), OneClassSVM, False),
    ],
)
def test_one_class_settings_are_those_of_tune(run, normal, tmp_path, option, cls, clean):
    model = tmp_path / "m"
    result = run("fit", normal, "-o", model, "--time-budget", 60, *option)
    assert result.code == 0, result.err
    machine, training = load_model(model)[0][-1], load_model(model)[2]["training"]
    rows = pd.read_csv(normal)
    X = ((rows - rows.mean()) / rows.std(ddof=0)).assign(new_blanks=0.0).to_numpy()
    start = SVDD(target_fpr=0.05) if cls is SVDD else OneClassSVM(nu=0.05, target_fpr=0.05)
    expected = tune(start, X, contaminated=not clean)
    assert machine.gamma == pytest.approx(expected.gamma, rel=1e-9)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=1e-9
    )
    assert training["tuning"]["chosen"]["gamma"] == machine.gamma
    assert training["tuning"]["reason"] == expected.tuning_.reason
    assert f"gamma {machine.gamma:.4g}" in result.out
    trained_on = "(--clean: no anomalies)" if clean else "without the most distant 40 %"
    assert trained_on in result.out
    assert "not tuned" not in result.out
    assert "5 % of new normal rows expected outside; calibrated on all 80 rows, each" in result.out


def test_labels_decide_settings(run, few, pile, tmp_path):
    for path, cls, machine, words in (
        (pile, PUSVM, "pusvm", "candidates (held-out positives vs. unlabelled rows)"),
        (few, S3VM, "s3vm", "on held-out labels"),
    ):
        model = tmp_path / f"{path.stem}.m"
        options = ("--time-budget", 100, "--method", machine, "--json")
        result = run("fit", path, "--target", "state", "-o", model, *options)
        assert result.code == 0, result.err
        summary = json.loads(result.out)
        tuning = summary["training"]["tuning"]
        assert isinstance(load_model(model)[0][-1], cls)
        assert words in summary["training"]["settings"]
        assert tuning["candidates"] > 1
        assert tuning["fits"] > 1
        assert tuning["stopped"] in ("", "time budget")
        for name, value in tuning["chosen"].items():
            assert summary["parameters"][name] == value


def test_what_is_given_is_not_searched_for(run, few, tmp_path):
    model = tmp_path / "m"
    result = run("fit", few, "--target", "state", "-o", model, "--time-budget", 60, "--kernel",
                 "linear", "--C", 3)  # fmt: skip
    assert result.code == 0, result.err
    words = "kernel linear, C 3, C_star 5: set with --kernel and --C, otherwise defaults"
    assert words in " ".join(result.out.split())
    assert load_model(model)[2]["training"]["tuning"] is None


@pytest.mark.parametrize("name", ["gamma", "C", "kernel", "nu", "lam", "C_star"])
def test_any_setting_that_would_be_chosen_ends_the_choice(name):
    value = "rbf" if name == "kernel" else 0.5
    given, none = (FitOptions(time_budget=60, tol=0.1, **{name: one}) for one in (value, None))
    source, *_ = _plan_search("s3vm", given)
    assert source.startswith("set with ") and source.endswith(", otherwise defaults")
    assert _plan_search("s3vm", none) == ("", True, {})


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ((), 0.05),
        (("--target-fpr", 0.2), 0.2),
        (("--target-fpr", "none"), None),
        (("--nu", 0.3), None),
        (("--nu", 0.3, "--target-fpr", 0.1), 0.1),
    ],
)
def test_target_of_false_alarms(run, normal, tmp_path, options, rate):
    model = tmp_path / "m"
    result = run("fit", normal, "-o", model, *options)
    assert result.code == 0, result.err
    pipeline, _, metadata = load_model(model)
    assert pipeline[-1].target_fpr == metadata["training"]["target_fpr"] == rate
    if rate is not None:
        outside = (pipeline.predict(pd.read_csv(normal)) < 0).mean()
        assert outside <= rate


def test_too_few_rows_for_a_target(run, normal, tmp_path):
    few_rows = tmp_path / "few-rows.csv"
    pd.read_csv(normal)[:18].to_csv(few_rows, index=False)
    result = run("fit", few_rows, "-o", tmp_path / "m")
    assert "18 rows are too few to calibrate a false alarm rate of 5 %" in result.err
    assert load_model(tmp_path / "m")[0][-1].target_fpr is None
    result = run("fit", few_rows, "-o", tmp_path / "m", "--target-fpr", 0.1)
    assert load_model(tmp_path / "m")[0][-1].target_fpr == 0.1


def test_ctrl_c_in_the_search_keeps_the_best_so_far(run, few, tmp_path, monkeypatch):
    from fewlabels.model_selection.tuning import search as tuning_search

    calls = []

    def fitted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return once(self, *arguments, **options)

    once = tuning_search.Search.fit_clone
    monkeypatch.setattr(tuning_search.Search, "fit_clone", fitted)
    result = run("fit", few, "--target", "state", "-o", tmp_path / "m", "--time-budget", 60)
    assert result.code == 0, result.err
    assert "Ctrl-C ended the search; using the best settings so far" in result.err
    training = load_model(tmp_path / "m")[2]["training"]
    assert training["tuning"]["stopped"] == "Ctrl-C"
    assert "comparison" not in training["budget"]["spent"]  # what follows is as short as it can be


def test_ctrl_c_in_the_fit_after_the_search(run, few, model, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    before = model.read_bytes()
    monkeypatch.setattr(fitting, "_tune", interrupted)
    result = run("fit", few, "--target", "state", "-o", model, "--time-budget", 60)
    assert result.code == 130
    assert f"no model was written, and {model} is unchanged" in result.err
    assert model.read_bytes() == before


def test_seed(run, pile, tmp_path):
    told = []
    for _ in range(2):
        result = run("fit", pile, "--target", "state", "-o", tmp_path / "m", "--time-budget", 600,
                     "--seed", 1, "--json")  # fmt: skip
        summary = json.loads(result.out)
        told.append((summary["parameters"], summary["training"]["objective"]))
    assert told[0] == told[1]
    assert told[0][0]["random_state"] == 1


def test_the_command_can_be_given_again(run, normal, tmp_path, monkeypatch):
    said = {}

    def fit_file(*arguments, **options):
        said.update(options, arguments=arguments, observer=None)
        raise KeyboardInterrupt

    monkeypatch.setattr("fewlabels.pipeline.training.fit.fit_file", fit_file)
    arguments = [str(normal), "-o", str(tmp_path / "my model"), "--keep", "size", "--keep", "age",
                 "--no-scale", "--method", "one-class", "-q", "--time-budget", "3",
                 "--no-report"]  # fmt: skip
    run("fit", *arguments)
    words = shlex.split(said["command"])
    assert words[:2] == ["fewlabels", "fit"]
    assert sorted(words[2:]) == sorted(
        {"-o": "--output", "-q": "--quiet", "3": "3.0"}.get(word, word) for word in arguments
    )
    first = dict(said)
    run(*words[1:])
    assert said == first
