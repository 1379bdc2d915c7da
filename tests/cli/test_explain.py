"""The command explain."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels.inspection import explain
from fewlabels.tables.models.files import load_model

COLUMNS = ["width", "height", "colour", "ok"]


@pytest.fixture
def odd(tmp_path, table):
    """The table with one row that is far off in one column."""
    path = tmp_path / "d.csv"
    frame = table.copy()
    frame.loc[4, "height"] = 9.0
    frame.to_csv(path, index=False)
    return path


def test_the_column_that_is_odd_comes_first(run, model, odd):
    result = run("explain", model, odd, "--row", 5, "--json")
    assert result.code == 0, result.err
    told = json.loads(result.out)
    (row,) = told["rows"]
    assert (row["row"], row["label"]) == (5, "outside")
    first = row["contributions"][0]
    assert (first["column"], first["value"]) == ("height", 9.0)
    assert first["contribution"] < 0
    assert sorted(one["column"] for one in row["contributions"]) == sorted(COLUMNS)
    assert told["background_rows"] == 50


def test_contributions_add_up_to_the_score_that_predict_writes(run, tmp_path, model, odd):
    run("predict", model, odd, "-o", tmp_path / "o.csv")
    scores = pd.read_csv(tmp_path / "o.csv")["score"]
    rows = ["--row", 3, "--row", 117, "--row", 5]
    told = json.loads(run("explain", model, odd, *rows, "--json", "--top", 2).out)
    assert [row["row"] for row in told["rows"]] == [3, 117, 5]
    for row in told["rows"]:
        total = sum(one["contribution"] for one in row["contributions"])
        total += told["usual_score"] + row["others"]["contribution"]
        assert row["score"] == pytest.approx(scores[row["row"] - 1], abs=1e-12)
        assert total == pytest.approx(row["score"], abs=1e-9)
        assert (len(row["contributions"]), row["others"]["count"]) == (2, 2)


def test_a_background_file(run, tmp_path, model, table, odd):
    """As from Python, with the rows of that file; those are few enough to be taken all."""
    usual = table[60:80]
    usual.to_csv(tmp_path / "usual.csv", index=False)
    result = run("explain", model, odd, "--row", 5, "--background", tmp_path / "usual.csv",
                 "--json")  # fmt: skip
    told = json.loads(result.out)
    assert told["background_rows"] == 20
    pipeline = load_model(model)[0]
    rows = pd.read_csv(odd).astype({"ok": str})[COLUMNS]
    expected = explain(pipeline, rows[4:5], background=usual.astype({"ok": str})[COLUMNS]).frame()
    found = pd.DataFrame(told["rows"][0]["contributions"])
    np.testing.assert_array_equal(found["column"], expected["column"])
    np.testing.assert_allclose(found["contribution"], expected["contribution"], atol=1e-9)


def test_in_words(run, model, odd):
    result = run("explain", model, odd, "--row", 5, "--top", 1)
    lines = result.out.splitlines()
    assert lines[0].startswith(f"row 5 of {odd}: score -") and lines[0].endswith("(outside)")
    assert lines[1].split() == "column value usual contribution score so far".split()
    assert lines[2].strip().startswith("mean of 50 rows of")
    assert lines[3].split()[:2] == ["height", "9"]
    assert lines[4].strip().startswith("3 other columns")
    score = lines[0].split("score ")[1].split()[0]
    assert lines[4].split()[-1] == score
    # Figures stand below each other.
    assert len({len(line) for line in lines[1:]}) == 1


def test_a_matrix(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[7, 1] = 8.0
    np.save(tmp_path / "d.npy", X)
    assert run("fit", tmp_path / "d.npy", "-o", tmp_path / "m").code == 0
    told = json.loads(run("explain", tmp_path / "m", tmp_path / "d.npy", "--row", 8, "--json").out)
    assert told["rows"][0]["contributions"][0]["column"] == "x1"


def test_only_as_much_is_read_as_is_needed(run, tmp_path, model, table, monkeypatch):
    from fewlabels.tables.reading import chunks

    monkeypatch.setattr(chunks, "_VALUES", 1)  # 256 rows a piece
    large = pd.concat([table] * 10, ignore_index=True)
    large["width"] = large["width"].astype(str)
    large.loc[1100, "width"] = "not reached"
    large.to_csv(tmp_path / "d.csv", index=False)
    assert run("explain", model, tmp_path / "d.csv", "--row", 300).code == 0
    assert run("explain", model, tmp_path / "d.csv", "--row", 1100).code == 2


def test_two_runs_say_the_same(run, model, odd):
    first, second, other = (
        run("explain", model, odd, "--row", 9, "--json", "--seed", seed).out for seed in (0, 0, 1)
    )
    assert first == second
    assert first != other


def test_a_row_beyond_all_counts(run, model, odd):
    result = run("explain", model, odd, "--row", 10**30)
    assert result.code == 2 and "is out of range; rows are counted from 1" in result.err
