"""Files of formats 1 to 5 answer what they answered when they were written."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import InconsistentVersionWarning

from fewlabels.io.models.files import load_model, read_metadata, save_model
from fewlabels.jobs import score

# Written by version 0.1.0 before machines were made of values, with their answers at ROWS: near,
# far, and beyond the kernel's reach.
FOLDER = Path(__file__).parent / "models"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
ROWS = np.array([[0.5, -0.25], [-1.5, -1.0], [1.25, 2.0], [9.0, -7.5], [4e3, 0.0]])
# Labels with which the first three rows are added, then the second row is forgotten.
LABELS = {"pusvm": [[1, 0, 1]], "s3vm": [[-1, 0, 1]]}

pytestmark = pytest.mark.filterwarnings("ignore", category=InconsistentVersionWarning)


# Scored in float32: another version of the compiled code rounds elsewhere.
FLOAT32 = {"s3vm-probability-format-3"}


def answers_of(machine, rows, names):
    return {name: getattr(machine, name)(rows) for name in names if name != "updated"}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_stay(name, tmp_path):
    pipeline, schema, metadata = load_model(FOLDER / f"{name}.skops")
    assert str(metadata["format_version"]) == name[-1]
    machine, wanted = pipeline[-1], ANSWERS[name]
    rows = sp.csr_array(ROWS) if schema.layout == "sparse" else ROWS
    for found, value in answers_of(machine, rows, wanted).items():
        near = 1e-6 if name in FLOAT32 else 1e-14
        np.testing.assert_allclose(value, wanted[found], rtol=near, atol=near)
    # And after it has been written again, by this version.
    metadata["format_version"] = 6
    save_model(tmp_path / "again", pipeline, metadata)
    again = load_model(tmp_path / "again")[0][-1]
    for found, value in answers_of(again, rows, wanted).items():
        np.testing.assert_array_equal(value, answers_of(machine, rows, [found])[found])


@pytest.mark.parametrize("name", [name for name in ANSWERS if "updated" in ANSWERS[name]])
def test_rows_come_and_go(name):
    machine = load_model(FOLDER / f"{name}.skops")[0][-1]
    assert machine.holds_rows_
    machine.partial_fit(ROWS[:3], *LABELS.get(name.partition("-")[0], []))
    machine.forget([1])
    found = machine.decision_function(ROWS)
    wanted = np.array(ANSWERS[name]["updated"])
    np.testing.assert_allclose(found[:4], wanted[:4], rtol=1e-9, atol=1e-9)
    # An updated machine is one of this version: scores of one class do not end with the kernel.
    ends = name.startswith(("svdd", "one-class")) and machine.kernel == "rbf"
    np.testing.assert_allclose(found[4], wanted[4], rtol=1e-4 if ends else 1e-9, atol=1e-9)
    assert found[4] < wanted[4] + 1e-9 * (1.0 + abs(wanted[4]))


def test_a_table_of_format_5():
    """Its encoder too: a number that is missing, an unknown category, a date."""
    path = FOLDER / "table-svdd-format-5.skops"
    wanted = json.loads(path.with_suffix(".json").read_text())
    assert read_metadata(path)["format_version"] == 5
    table = pd.DataFrame(
        {
            "size": [0.5, -3.0, None, 0.0],
            "town": ["a", "z", "", "b"],
            "day": ["2024-01-10", "2024-03-05", "2030-01-01", "2024-02-01"],
        }
    )
    found = score(path, table)
    np.testing.assert_allclose(found["score"], wanted["score"], rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(found["p_value"], wanted["p_value"])


def test_there_are_files_of_every_format_and_machine():
    assert {name[-1] for name in ANSWERS} == set("1234")
    machines = {load_model(FOLDER / f"{name}.skops")[2]["machine"] for name in ANSWERS}
    assert machines == {"svdd", "one-class", "pusvm", "pu-ensemble", "s3vm"}
    assert sum(path.stat().st_size for path in FOLDER.glob("*.skops")) < 120_000
