"""Categories in several spellings, columns that repeat others, and names that are nearly right."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table, stored_rows
from fewlabels._util.messages import UserError, suggest
from fewlabels.tables.columns.schema import Schema
from fewlabels.tables.columns.spellings import find_spellings, respell
from fewlabels.tables.columns.target import choose_all_rows
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    clean = rng.choice(["DE", "fr", "New York"], 90, p=[0.5, 0.3, 0.2])
    messy = clean.copy()
    messy[::5] = [value.lower() for value in messy[::5]]
    messy[1::5] = [f"{value} " for value in messy[1::5]]
    found = pd.DataFrame({"size": rng.normal(size=90), "country": messy})
    return found.assign(clean=clean)


def test_spellings():
    values, counts = ["DE", "de", " De", "fr ", "it", ""], [5, 2, 1, 3, 2, 9]
    found = find_spellings(values, counts)
    assert found == {"de": "DE", "fr": "fr", "it": "it"}
    assert respell(["dE", "FR", "x", "", " IT "], found) == ["DE", "fr", "x", "", "it"]
    assert find_spellings(["DE", "fr", ""], [1, 2, 3]) == {}
    assert find_spellings(["a", "A"], [1, 1]) == {"a": "A"}  # decided by something, if by little


def test_categories_in_several_spellings_are_one(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    found = read_training(path).choose(choose_all_rows(90))
    (note,) = [note for note in found.notes if "differ only in case" in note]
    assert note.startswith("merged values that differ only in case or spaces")
    assert "'country' ('DE', 'DE ', 'de'; " in note and "'clean'" not in note
    assert found.rows["country"].tolist() == frame["clean"].tolist()
    again = Schema.from_dict(json.loads(json.dumps(found.schema.to_dict())))
    assert again == found.schema
    apart = read_training(path, ColumnOptions(merge_case=False)).choose(choose_all_rows(90))
    assert apart.rows["country"].nunique() > 3
    assert not any("differ only in case" in note for note in apart.notes)


def test_new_rows_may_be_spelled_in_any_way(frame, tmp_path):
    fitted = fit_table(frame.drop(columns="clean"), time_budget=0, report=False)
    fitted.save(tmp_path / "m")
    rows = frame.head(20).drop(columns="clean")
    scores = fitted.predict(rows)["score"].tolist()
    for change in (str.upper, str.lower, lambda v: f"  {v}"):
        changed = rows.assign(country=[change(value) for value in rows["country"]])
        assert fitted.predict(changed)["score"].tolist() == scores


def test_columns_that_repeat_others_are_named(frame):
    rng = np.random.default_rng(1)
    frame = frame.assign(again=frame["size"], other=rng.normal(size=90), kind=frame["clean"])
    found = fit_table(frame, time_budget=0, report=False)
    (note,) = [note for note in found.notes if "duplicate columns" in note]
    assert "'again' repeats 'size', 'kind' repeats 'clean'; drop=" in note
    assert "other" not in note


def test_a_name_that_is_nearly_right(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.assign(status=1, **{"unit price": 2.5}).to_csv(path, index=False)
    pairs = {"Status": "status", "STATUS ": "status", "unit  Price": "unit price"}
    for asked, known in {**pairs, "stauts": "status"}.items():
        said = rf"no column '{asked}' \(is '{known}' meant\?\); it has"
        with pytest.raises(UserError, match=said):
            read_training(path, ColumnOptions(target=asked))
    with pytest.raises(UserError, match=r"no column 'zzz'; it has"):
        read_training(path, ColumnOptions(drop=["zzz"]))
    pd.DataFrame({"a": [1.0], "Bold": [2.0]}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(UserError, match=r"'bold' \(is 'Bold' meant\?\)"):
        with stored_rows(tmp_path / "d.parquet", columns=["bold"]):
            pass
    assert suggest("a", []) == ""
