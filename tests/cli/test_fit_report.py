"""The report that fit writes beside the model, and the comparison with other methods."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels._util.messages import Message, ref
from fewlabels.cli.fit import choose_report_path
from fewlabels.report import is_report
from fewlabels.tables.models.files import load_model, read_metadata

pytestmark = pytest.mark.usefixtures("few_trees")

N = 80


@pytest.fixture
def rows(tmp_path):
    """Two classes and blanks, with an identifier and gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["size", "age"])
    frame["size"] += np.where(np.arange(N) % 2, 2.5, 0.0)
    frame.loc[::9, "age"] = np.nan
    frame.insert(0, "id", [f"row {i}" for i in range(N)])
    frame["state"] = np.select([np.arange(N) >= 60, np.arange(N) % 2 == 1], ["", "bad"], "good")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


class Compared:
    """Stands for a comparison, and remembers what was compared."""

    table = pd.DataFrame(
        {"name": ["ours", "nought"], "ours": [True, False], "score": [0.9, np.nan]}
    )
    measure, verdict, worse_than, offer = "area", "Ours is ahead.", [], ""
    preferred, outcome = None, "better"

    def __init__(self, estimator, X, y, **options):
        Compared.estimator, Compared.X, Compared.options = estimator, X, options


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.setattr("fewlabels.model_selection.compare_with_baselines", Compared)
    return Compared


@pytest.fixture
def no_page(monkeypatch):
    """Pages are not made: their path gets a note of what would be in them."""
    parts = {}

    def write(outcome, path, schedule, observer, model, command):
        parts.update(outcome.report_parts(schedule.deadline("report")))
        parts.update(model_path=model, command=command)
        path.write_text("<!doctype html>\n<!-- fewlabels report -->\n")
        outcome.facts["notes"].append("told while reporting")

    monkeypatch.setattr("fewlabels.pipeline.training.fit.write_outcome_report", write)
    return parts


def _fit(run, rows, model, *options):
    return run("fit", rows, "--target", "state", "--normal", "good", "-o", model, *options)


@pytest.mark.parametrize("kind", [("--normal", "good"), ("--positive", "bad"), ()])
def test_a_report_of_every_situation(run, tmp_path, rows, kind):
    frame = pd.read_csv(rows, keep_default_na=False)
    if "--positive" in kind:
        frame["state"] = frame["state"].replace("good", "")
        frame.to_csv(rows, index=False)
    model, page = tmp_path / "m.fewlabels", tmp_path / "page.html"
    result = run("fit", rows, "--target", "state", *kind, "-o", model, "--report", page,
                 "--time-budget", 4, "--baselines")  # fmt: skip
    assert result.code == 0, result.err
    assert f"report written to {page}" in result.out
    assert is_report(page)
    text = page.read_text()
    training = read_metadata(model)["training"]
    assert training["baselines"]["verdict"]
    assert training["baselines"]["table"][0]["name"]
    words = " ".join(result.out.split())
    assert " ".join(training["baselines"]["verdict"].split()) in words
    for word in ("rows.csv", "fewlabels predict", "left out"):
        assert word in text, word


def test_beside_the_model_unless_told_otherwise(run, tmp_path, rows, no_page):
    model = tmp_path / "m.fewlabels"
    command = ["fit", rows, "--target", "state", "--normal", "good", "-o", model]
    result = run(*command, "--report", tmp_path / "m.html", "--json")
    summary = json.loads(result.out)
    assert summary["report"] == str(tmp_path / "m.html")
    assert summary["training"]["notes"][-1] == "told while reporting"
    assert no_page["metadata"]["method"] == "svdd"
    assert no_page["found"].numbers.tolist() == list(range(1, 60, 2))
    assert no_page["comparison"] is None
    assert no_page["command"].startswith("fewlabels fit ")
    assert [column.kind for column in no_page["profile"]] == ["left out", "number", "number"]
    assert choose_report_path(model, None, is_wanted=True) == tmp_path / "m.html"
    other = choose_report_path(tmp_path / "m.v1", None, is_wanted=True)
    assert other == tmp_path / "m.v1.html"  # not that of m.v2
    assert json.loads(_fit(run, rows, model, "--json").out)["report"] is None


def test_other_files_are_not_replaced(run, tmp_path, rows, no_page):
    model, page = tmp_path / "m", tmp_path / "m.html"
    page.write_text("<!doctype html><p>mine")
    result = _fit(run, rows, model, "--report", page)
    assert result.code == 2
    assert "m.html exists and is not a fewlabels report; pass another file" in result.err
    assert not model.exists()
    assert page.read_text().endswith("mine")
    assert _fit(run, rows, model, "--report", page, "--force").code == 0
    assert is_report(page)
    assert _fit(run, rows, model, "--report", page).code == 0
    for other in (rows, model):
        assert _fit(run, rows, model, "--report", other).code == 2
    assert "can't both be" in _fit(run, rows, page, "--report", page).err


def test_known_others_judge_detectors_of_one_class(run, tmp_path, rows, compared):
    result = _fit(run, rows, tmp_path / "m", "--baselines", "--seed", 5)
    assert result.code == 0, result.err
    assert "Ours is ahead." in result.out
    pipeline, _, metadata = load_model(tmp_path / "m")
    known = pd.read_csv(rows, keep_default_na=False)
    others = known[known["state"] == "bad"]
    numbers = others[["size", "age"]].replace("", np.nan).astype(float)
    np.testing.assert_allclose(
        compared.options["known_other"], pipeline[:-1].transform(numbers), atol=1e-12
    )
    assert compared.X.shape == (30, 4)
    assert compared.options["random_state"] == 5
    assert compared.options["time_budget"] == 10
    assert compared.options["progress"] is False
    assert metadata["training"]["baselines"]["table"][1]["score"] is None


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        (("--time-budget", 8), (0.8, 6.8)),  # what the fit, and a part for the report, leave
        (("--time-budget", 8, "--no-baselines"), None),
        (("--time-budget", 0), None),
        (("--time-budget", 0, "--baselines"), (10.0, 10.0)),
    ],
)
def test_how_long_is_compared(run, tmp_path, rows, compared, no_page, options, seconds):
    compared.options = {"time_budget": None}
    assert _fit(run, rows, tmp_path / "m", "--report", tmp_path / "r.html", *options).code == 0
    given = compared.options["time_budget"]
    assert given is None if seconds is None else seconds[0] <= given <= seconds[1]


def test_no_report_no_comparison_unless_it_can_change_the_model(run, tmp_path, rows, compared):
    compared.options = None
    options = ("--time-budget", 8)
    assert _fit(run, rows, tmp_path / "m", *options, "--method", "svdd").code == 0
    assert compared.options is None
    assert read_metadata(tmp_path / "m")["training"]["baselines"] is None
    assert _fit(run, rows, tmp_path / "m", *options).code == 0
    assert compared.options["known_other"] is not None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ValueError(Message(f"{ref('gamma', 3)} is odd.")),
            "not compared with other methods: --gamma 3 is odd",
        ),
        (KeyboardInterrupt, "not compared with other methods, because of Ctrl-C"),
    ],
)
def test_a_comparison_that_fails_is_told(run, tmp_path, rows, monkeypatch, error, words):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("fewlabels.model_selection.compare_with_baselines", fail)
    result = _fit(run, rows, tmp_path / "m", "--baselines")
    assert result.code == 0, result.err
    assert words in result.err
    assert words in read_metadata(tmp_path / "m")["training"]["notes"][-1]


def test_ctrl_c_while_reporting_leaves_the_model(run, tmp_path, rows, monkeypatch):
    def interrupted(**parts):
        raise KeyboardInterrupt

    monkeypatch.setattr("fewlabels.report.collect", interrupted)
    model, page = tmp_path / "m", tmp_path / "m.html"
    page.write_text("<!doctype html>\n<!-- fewlabels report -->\nold")
    result = _fit(run, rows, model, "--report", page)
    assert result.code == 130
    assert f"{model} is written, but not its report" in result.err
    assert page.read_text().endswith("old")
    assert load_model(model)[2]["method"] == "svdd"


def test_a_failing_report_leaves_the_model(run, tmp_path, rows, monkeypatch):
    def fail(**parts):
        raise RuntimeError("the printer is on fire")

    monkeypatch.setattr("fewlabels.report.collect", fail)
    with pytest.raises(RuntimeError):
        _fit(run, rows, tmp_path / "m", "--report", tmp_path / "r.html")
    assert load_model(tmp_path / "m")[2]["method"] == "svdd"
    assert not (tmp_path / "r.html").exists()
