"""Columns that do not tell the labels: that is the headline, and no figure about rows is given."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels import fit_table, jobs
from fewlabels.cli import app
from fewlabels.io.models.files import read_metadata

HEADLINE = "No signal: by their columns, "
FAST = {"time_budget": 0, "random_state": 0}


def noise(kind):
    """A table without information, as the labels of a kind mark some of its rows."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    names = ["yes"] if kind == "positive" else ["u", "v"]
    labels = np.resize(np.array(names, dtype=object), 300)
    labels[rng.permutation(300)[40:]] = ""
    return table.assign(t=labels)


@pytest.fixture(scope="module", params=["positive", "classes"])
def without(request, tmp_path_factory):
    """A model of noise and its report, as the command line writes them, and what it said."""
    folder = tmp_path_factory.mktemp(request.param)
    table = noise(request.param)
    table.to_csv(folder / "d.csv", index=False)
    arguments = [
        "fit",
        folder / "d.csv",
        "--target",
        "t",
        "-o",
        folder / "m",
        "--time-budget",
        "0",
    ]
    told = CliRunner().invoke(app, [*map(str, arguments), "--report", str(folder / "m.html")])
    assert told.exit_code == 0, told.output
    return folder, told, table


def test_the_headline_and_nothing_else(without):
    folder, told, _ = without
    training = read_metadata(folder / "m")["training"]
    headline = training["signal"]["headline"]
    assert headline.startswith(HEADLINE) and not training["signal"]["found"]
    assert f"no signal  {' ' * 6}" in told.stdout and headline[len("No signal: ") :] in told.stdout
    assert training.get("prior") is None and training.get("prior_low") is None
    assert training.get("unlabeled_predicted_positive") is None
    assert training.get("unlabeled_predicted") is None
    assert "class prior" not in told.output and "predicted" not in told.stdout
    page = (folder / "m.html").read_text(encoding="utf-8")
    assert HEADLINE in page
    for section in ("rows", "scores", "rates", "baselines"):
        assert f'<section id="{section}"' not in page


def test_predicting_gives_no_probability(without, tmp_path):
    folder, _, table = without
    found = jobs.score(folder / "m", table)
    assert "score" in found and found["probability"].isna().all()
    arguments = ["predict", folder / "m", folder / "d.csv", "-o", tmp_path / "o.csv"]
    told = CliRunner().invoke(app, list(map(str, arguments)))
    assert HEADLINE in told.stderr and "%" not in told.stdout
    told = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert json.loads(told.stdout)["no_signal"].startswith(HEADLINE)
    told = CliRunner().invoke(app, ["inspect", str(folder / "m")])
    assert told.exit_code == 0 and "no signal" in told.stdout


def test_an_update_brings_no_figures_back(tmp_path):
    table = noise("classes")
    fit_table(table, "t", report=False, **FAST).save(tmp_path / "m")
    told = jobs.update(tmp_path / "m", table.iloc[:5])
    assert told["rows_after"] == 305
    assert read_metadata(tmp_path / "m")["training"]["unlabeled_predicted"] is None


def test_a_notebook_is_told():
    found = fit_table(noise("positive"), "t", **FAST)
    assert HEADLINE in repr(found) and repr(found.report).startswith(HEADLINE)
    findings = found.report.contents.findings
    assert not findings.rates and not findings.rankings and findings.prior is None


def test_methods_are_compared_only_if_asked_for():
    found = fit_table(noise("classes"), "t", time_budget=4, max_iter=50, random_state=0)
    assert found.comparison is None


def test_columns_that_tell_the_labels():
    table = noise("classes")
    table["a"] += np.where(table["t"] == "u", 4.0, 0.0)
    found = fit_table(table, "t", baselines=True, **FAST)
    signal = found.metadata["training"]["signal"]
    assert signal["found"] and "headline" not in signal and "No signal" not in repr(found)
    # One figure for how many answers are right, on the page and in the comparison.
    ours = found.comparison.table[found.comparison.table["ours"]].iloc[0]
    right = found.report.contents.findings.rates[0]
    assert (right.name, right.value) == ("Answers that are right", ours["score"])
    assert right.interval == (ours["low"], ours["high"])
