"""Tables whose labelled rows aren't a random sample: propensities from columns."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fewlabels import PUSVM, fit_table
from fewlabels._util.messages import UserError
from fewlabels.cli import app
from fewlabels.pipeline.summary import findings
from fewlabels.pipeline.training.propensities import selection_columns

FAST = {"time_budget": 0, "random_state": 0, "method": "pusvm", "report": False}


@pytest.fixture
def table():
    """A sample of 600 rows; positives were labelled with the chance in column "chance"."""
    rng = np.random.default_rng(0)
    positive = rng.random(600) < 0.4
    X = rng.normal(size=(600, 3)) + np.where(positive[:, None], 1.5, -1.5) * [1.0, 0.0, 0.5]
    chance = 1.0 / (1.0 + np.exp(1.0 - 2.0 * X[:, 1]))
    labels = np.where(positive & (rng.random(600) < chance), "yes", "")
    frame = pd.DataFrame(X, columns=list("abc")).assign(chance=chance, t=labels)
    return frame, positive


def accuracy(found, frame, positive):
    hidden = frame["t"].to_numpy() == ""
    marked = (found.predict(frame)["label"] == "yes").to_numpy()
    return np.mean(marked[hidden] == positive[hidden])


def test_a_column_of_propensities_weighs_the_labelled_rows(table):
    frame, positive = table
    plain = fit_table(frame.drop(columns="chance"), "t", **FAST)
    found = fit_table(frame, "t", propensity="chance", **FAST)
    model = found.model[-1]
    assert model.sampling == "one-sample"
    assert "chance" not in [column.name for column in found.schema.columns]
    assert "because of propensity" in found.metadata["training"]["settings"]
    assert any("effective sample size" in note for note in found.notes)
    assert found.metadata["training"]["labels_at_random"] is None
    assert dict(findings(plain.metadata))["assumes"]
    assert not dict(findings(found.metadata))["assumes"]
    assert accuracy(found, frame, positive) > accuracy(plain, frame, positive)
    rows = found.model[:-1].transform(frame)
    y = (frame["t"] == "yes").to_numpy().astype(int)
    same = PUSVM(sampling="one-sample", random_state=0, probability="isotonic")
    same.fit(rows, y, propensity=frame["chance"])
    np.testing.assert_allclose(model.decision_function(rows), same.decision_function(rows))


def test_columns_that_decided_are_estimated_from(table):
    frame, positive = table
    frame = frame.drop(columns="chance")
    plain = fit_table(frame, "t", **FAST)
    found = fit_table(frame, "t", selection_depends_on="b", **FAST)
    assert any(
        "estimated from 'b' (the best of several local optima)" in note for note in found.notes
    )
    assert found.model[-1].propensity_weights_.strength > 0.3
    assert accuracy(found, frame, positive) >= accuracy(plain, frame, positive) - 0.005


def test_the_command_line(table, tmp_path):
    # Only labelled rows need a propensity.
    frame = table[0].assign(chance=table[0]["chance"].where(table[0]["t"] == "yes"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "--target", "t", "--method", "pusvm"]
    command += ["--propensity", "chance", "--time-budget", "0", "--no-report", "--json"]
    command += ["-o", str(tmp_path / "m"), "--sampling", "two-sample"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    training = json.loads(done.stdout)["training"]
    assert "because of --propensity" in training["settings"]
    assert any("effective sample size" in note for note in training["notes"])


def test_selection_columns():
    rows = pd.DataFrame({"n": [1.0, np.nan, 3.0], "c": ["x", "y", "z"]})
    found = selection_columns(rows, ["n", "c"])
    np.testing.assert_array_equal(found, [[1, 0, 0], [2, 1, 0], [3, 0, 1]])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"propensity": "nothing"}, "no column 'nothing'"),
        ({"propensity": "t"}, "name the same column"),
        ({"propensity": "chance", "selection_depends_on": "b"}, "two sources"),
        ({"selection_depends_on": "nothing"}, "uses no column 'nothing'"),
        ({"propensity": "text"}, "aren't numbers"),
        ({"propensity": "a"}, "for labelled row"),
        ({"propensity": "chance", "method": "forest"}, "is for pusvm and pu-ensemble"),
    ],
)
def test_what_is_refused(table, options, words):
    frame = table[0].assign(text="some")
    with pytest.raises(UserError, match=words):
        fit_table(frame, "t", **{**FAST, **options})
