"""Rows that belong together are held out together and count once, in every task."""

import json

import numpy as np
import pandas as pd
import pytest
from outcomes import fit_outcome
from typer.testing import CliRunner

from fewlabels import fit_table
from fewlabels._util.deadline import ENDLESS, Deadline
from fewlabels._util.messages import UserError
from fewlabels.cli import app
from fewlabels.report import collect
from fewlabels.report.evidence.held_out import cross_fit_classes, cross_fit_positive, hide_labels

FAST = {"time_budget": 0, "random_state": 0, "method": "s3vm"}
TOGETHER = "held out together and count once"


def noise(rng, n=24, times=3, spread=0.0, n_others=60, names=("no", "yes")):
    """Labelled rows of noise, each several times, and others; and which row each is."""
    row = np.repeat(np.arange(n), times)
    X = rng.normal(size=(n, 5))[row] + spread * rng.normal(size=(len(row), 5))
    label = np.array(names)[np.arange(n) * len(names) // n][row]
    table = pd.DataFrame(np.vstack([X, rng.normal(size=(n_others, 5))]), columns=list("abcde"))
    table["t"] = np.r_[label, np.full(n_others, "")]
    of_others = n + np.repeat(np.arange(n_others), 3)[:n_others]
    return table, np.r_[row, of_others]


def accuracy_of(found):
    contents = collect(**found.report_parts(ENDLESS))
    (rate,) = [rate for rate in contents.findings.rates if rate.name == "Accuracy"]
    return rate


def learned(table, **options):
    found = fit_outcome(table, "t", **{**FAST, **options})
    return found, found.facts


@pytest.mark.parametrize("times", [3, np.repeat([1, 2], 12)], ids=["triples", "some twice"])
def test_copies_of_noise_count_once(rng, times):
    _, training = learned(noise(rng, times=times)[0])
    assert training["signal"]["outcome"] != "signal"
    assert training["signal"]["labels"] == 24
    (note,) = [note for note in training["notes"] if "copies" in note]
    assert TOGETHER in note and "more often than chance allows" in note


def test_visits_are_held_out_by_their_identifier(rng):
    table, row = noise(rng, n=16, times=5, spread=0.01)
    table["patient_id"] = [f"P{k:03d}" for k in row]
    found, training = learned(table)
    assert training["signal"]["labels"] == 16
    assert "patient_id" not in [column.name for column in found.rows.schema.columns]
    assert any("'patient_id' has 16 values" in note for note in training["notes"])


def test_an_identifier_of_unlike_rows_groups_nothing(rng):
    table, _ = noise(rng, n=72, times=1)
    table["shop_id"] = [f"S{k:02d}" for k in rng.integers(0, 30, len(table))]
    found, training = learned(table)
    assert training["signal"]["labels"] == 72 and found.rows.groups is None


def test_visits_without_an_identifier_are_warned_of(rng):
    _, training = learned(noise(rng, n=16, times=5, spread=0.01)[0])
    assert training["signal"]["labels"] == 16
    (note,) = [note for note in training["notes"] if "nearly equal" in note]
    assert "groups=COLUMN" in note or "groups" in note


def test_a_column_of_groups(rng):
    table, row = noise(rng, n=24, times=3, spread=2.0)
    table["who"] = row.astype(float)
    found, training = learned(table, groups="who")
    assert training["signal"]["labels"] == 24
    assert "who" not in [column.name for column in found.rows.schema.columns]
    y, groups = found.rows.found.y, found.rows.groups
    model, X = found.model.estimator, found.rows.X
    held = cross_fit_classes(model, X, y, np.zeros(0, int), Deadline(), 0.0, groups)
    assert len(held.rows) == len(np.unique(row[held.rows])) == 24


def test_the_command_line_takes_groups(rng, tmp_path):
    table, row = noise(rng, n=24, times=3, spread=2.0)
    table.assign(who=row).to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "--target", "t", "--groups", "who", "--json"]
    command += [
        "--method",
        "s3vm",
        "--time-budget",
        "0",
        "--no-report",
        "-o",
        str(tmp_path / "m"),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["training"]["signal"]["labels"] == 24


@pytest.mark.parametrize("options", [{"groups": "t"}, {"groups": "a", "keep": "a"}])
def test_impossible_groups_are_refused(rng, options):
    with pytest.raises(UserError, match="groups"):
        fit_outcome(noise(rng)[0], "t", **options)
    with pytest.raises(UserError, match="no column 'x'"):
        fit_outcome(noise(rng)[0], "t", groups="x")


def test_cells_of_categories_are_independent(rng):
    cells = rng.integers(0, 8, (300, 2))
    table = pd.DataFrame(cells, columns=["a", "b"])
    table["t"] = np.where(cells.sum(axis=1) < 7, "low", "high")
    table.loc[200:, "t"] = ""
    found, training = learned(table)
    assert found.rows.groups is None
    assert training["signal"]["labels"] == 200 and training["signal"]["outcome"] == "signal"
    assert accuracy_of(found).value > 0.9


def test_copies_among_positive_and_unlabelled_rows(rng):
    table, _ = noise(rng, n=20, times=3, n_others=0, names=("yes",))
    others = pd.DataFrame(np.repeat(rng.normal(size=(60, 5)), 3, axis=0), columns=list("abcde"))
    table = pd.concat([table, others.assign(t="")], ignore_index=True)
    found, training = learned(table, method="pusvm", prior=0.3)
    assert training["signal"]["labels"] == 20
    assert training["signal"]["outcome"] != "signal"
    y, groups = found.rows.found.y, found.rows.groups
    model, X = found.model.estimator, found.rows.X
    assert len(cross_fit_positive(model, X, y, Deadline(), groups=groups).rows) == 80
    assert hide_labels(model, X, y, Deadline(), groups=groups).n == 20
    assert any(TOGETHER in note for note in training["notes"])


def test_one_class_uses_one_of_each_copy(rng):
    X = np.repeat(rng.normal(size=(60, 3)), 4, axis=0)
    table = pd.DataFrame(X, columns=list("abc"))
    found = fit_table(table, method="svdd", time_budget=0, report=False)
    assert len(found.model[-1].calibration_scores_) == 60
    assert any("60 rows occur 4 times each" in note for note in found.notes)
    new = pd.DataFrame(rng.normal(size=(2000, 3)), columns=list("abc"))
    assert (found.predict(new)["label"] == "outside").mean() < 0.13


def test_probabilities_of_copies_are_calibrated_by_others(rng):
    found, _ = learned(noise(rng, n=16, times=5, spread=0.01)[0])
    model, y = found.model.estimator, found.rows.found.y
    decisions = model.left_out_decisions_[y >= 0, 0]
    assert np.mean((decisions > 0) == (y[y >= 0] == 1)) < 0.8
