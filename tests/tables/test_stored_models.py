"""The stored model files answer what they answered when they were written."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import InconsistentVersionWarning

from fewlabels.pipeline import score
from fewlabels.tables.models.files import FORMAT_VERSION, load_model, save_model
from fewlabels.tasks import METHODS

FOLDER = Path(__file__).parent / "models"
SCRIPT = SimpleNamespace(**runpy.run_path(str(FOLDER / "write.py")))
ANSWERS = json.loads(SCRIPT.ANSWERS.read_text())
# Scored in float32: another instruction level rounds elsewhere.
FLOAT32 = {"s3vm", "s3vm-three-classes"}

pytestmark = pytest.mark.filterwarnings("ignore", category=InconsistentVersionWarning)


@pytest.mark.parametrize("name", SCRIPT.MODELS)
def test_answers_stay(name, tmp_path):
    pipeline, schema, metadata = load_model(FOLDER / f"{name}.skops")
    assert metadata["format_version"] == FORMAT_VERSION == 1
    machine, wanted = pipeline[-1], ANSWERS[name]
    rows = sp.csr_array(SCRIPT.ROWS) if schema.layout == "sparse" else SCRIPT.ROWS
    found = SCRIPT.answers_of(machine, rows)
    assert found.keys() == wanted.keys() - {"updated"}
    near = 1e-5 if name in FLOAT32 else 1e-14
    for key, value in found.items():
        np.testing.assert_allclose(value, wanted[key], rtol=near, atol=near)
    save_model(tmp_path / "again", pipeline, metadata)
    again = SCRIPT.answers_of(load_model(tmp_path / "again")[0][-1], rows)
    for key, value in found.items():
        np.testing.assert_array_equal(again[key], value)


@pytest.mark.parametrize("name", [name for name in ANSWERS if "updated" in ANSWERS[name]])
def test_rows_come_and_go(name):
    machine = load_model(FOLDER / f"{name}.skops")[0][-1]
    assert machine.holds_rows_
    found = SCRIPT.updated(machine, SCRIPT.MODELS[name][0])
    np.testing.assert_allclose(found, ANSWERS[name]["updated"], rtol=1e-9, atol=1e-9)


def test_a_table_of_columns_of_every_kind():
    """Its encoder too: a missing number and date, unknown categories, a text without words."""
    path, wanted = FOLDER / "table.skops", ANSWERS["table"]
    kinds = {column.kind for column in load_model(path)[1].columns}
    assert kinds == {"number", "category", "date", "text", "boolean"}
    found = score(path, SCRIPT.TABLE)
    for name in ("score", "probability"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-14, atol=1e-14)
    assert found["positive"].tolist() == wanted["positive"]


def test_the_script_writes_models_with_these_answers(tmp_path):
    SCRIPT.write(tmp_path)
    found = SCRIPT.stored(tmp_path)
    assert SCRIPT.differences(found, ANSWERS) == []
    found["svdd"]["predict"][0] *= -1
    (different,) = SCRIPT.differences(found, ANSWERS)
    assert different.startswith("svdd: predict is [")


def test_there_are_files_of_every_method():
    files = {path.stem for path in FOLDER.glob("*.skops")}
    assert files == {*SCRIPT.MODELS, "table"} == ANSWERS.keys()
    methods = {method for method, _, _ in SCRIPT.MODELS.values()}
    assert methods == {name for name, machine in METHODS.items() if not machine.is_baseline}
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 120_000
