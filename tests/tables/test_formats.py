"""Tables in Excel files, JSON Lines, databases and folders."""

import datetime
import itertools
import json
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest

from fewlabels._util.extras import MissingExtra
from fewlabels._util.messages import UserError
from fewlabels.tables.columns.column import numbers, text
from fewlabels.tables.paths import check_output
from fewlabels.tables.reading.read import (
    column_names,
    describe_reading,
    iterate_tables,
    read_table,
)
from fewlabels.tables.sources import input_format
from fewlabels.tables.user_data import make_source

N = 53
FRAME = pd.DataFrame(
    {
        "id": [f"{k:03d}" for k in range(N)],
        "size, cm": np.arange(N) / 8,
        "n": np.arange(N),
        "kind": ["rot", "grün", "", 'a "b", c'] * 13 + ["x"],
        "ok": [True, False] * 26 + [True],
        "gap": [None, *np.linspace(0, 1, N - 1)],
    }
)


def write_excel(folder):
    with pd.ExcelWriter(folder / "d.xlsx") as book:
        FRAME.to_excel(book, index=False, sheet_name="rows")
        FRAME.head(2).to_excel(book, index=False, sheet_name="more rows", startrow=3, startcol=0)
    return folder / "d.xlsx"


def write_lines(folder):
    FRAME.to_json(
        folder / "d.jsonl", orient="records", lines=True, force_ascii=False, double_precision=15
    )
    return folder / "d.jsonl"


def write_sqlite(folder):
    with sqlite3.connect(folder / "d.db") as connection:
        FRAME.to_sql("rows", connection, index=False)
    connection.close()
    return folder / "d.db"


def write_duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    frame = FRAME
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.register("frame", frame)
        connection.execute('CREATE TABLE "rows" AS SELECT * FROM frame')
    return folder / "d.duckdb"


def write_folder(folder):
    for k, part in enumerate(np.array_split(np.arange(N), 4)):
        place = folder / "d" / f"part={k}"
        place.mkdir(parents=True)
        FRAME.iloc[part].to_parquet(place / "rows.parquet")
    (folder / "d" / "_temporary").mkdir()
    (folder / "d" / "_temporary" / "x.parquet").write_bytes(b"half of it")
    return folder / "d"


WRITERS = [write_excel, write_lines, write_sqlite, write_duckdb, write_folder]


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_cells_in_every_format(tmp_path, write):
    source = make_source(write(tmp_path))
    table = read_table(source)
    names = column_names(source)
    assert names[: FRAME.shape[1]] == list(FRAME.columns)
    for name in ("size, cm", "n", "gap"):
        values, bad = numbers(table.column(name))
        assert not bad.size
        np.testing.assert_allclose(values, FRAME[name].astype(float), rtol=1e-12)
    assert text(table.column("id")).tolist() == FRAME["id"].tolist()
    assert text(table.column("kind")).tolist() == FRAME["kind"].tolist()
    words = {"True": True, "False": False, "1": True, "0": False}  # SQLite has no truth values
    assert [words[value] for value in text(table.column("ok"))] == FRAME["ok"].tolist()
    pieces, _, shares = zip(*iterate_tables(source, 10), strict=True)
    assert max(piece.num_rows for piece in pieces) <= 10
    assert [row for piece in pieces for row in piece.to_pylist()] == table.to_pylist()
    assert all(a <= b for a, b in itertools.pairwise(shares))
    assert shares[-1] == 1.0


def test_a_folder_names_a_column(tmp_path):
    source = make_source(write_folder(tmp_path))
    assert input_format(source) == "folder"
    table = read_table(source)
    assert table.column("part").to_pylist() == [k for k in range(4) for _ in range(13 + (k < 1))]
    with pytest.raises(UserError, match="is in a folder that is an input; choose another"):
        check_output(tmp_path / "d" / "scores.parquet", inputs=[source])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="is a folder; pass the data file in it"):
        input_format(tmp_path / "empty")


def test_files_of_a_folder_with_other_columns(tmp_path):
    (tmp_path / "d").mkdir()
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "d" / "1.parquet")
    pd.DataFrame({"b": ["x"], "a": [0.5]}).to_parquet(tmp_path / "d" / "2.parquet")
    table = read_table(tmp_path / "d")
    assert table.to_pydict() == {"a": [1.0, 2.0, 0.5], "b": [None, None, "x"]}
    pd.DataFrame({"a": ["x"]}).to_parquet(tmp_path / "d" / "3.parquet")
    with pytest.raises(UserError, match=r"d can't be read: .*(a|type)"):
        read_table(tmp_path / "d")


def test_sheets(tmp_path):
    path = write_excel(tmp_path)
    first = make_source(path)
    assert describe_reading(first) == (
        f"reading the sheet 'rows' of {path}; select another with {path}::more rows ('more rows')"
    )
    other = make_source(f"{path}::more rows")
    assert str(other) == f"{path}::more rows"
    assert describe_reading(other) == ""
    assert read_table(other).num_rows == 2  # with empty rows before it
    with pytest.raises(UserError, match="has no table 'x'; it has 'rows', 'more rows'"):
        read_table(f"{path}::x")
    bare = make_source(path, header=False)
    assert column_names(bare)[:2] == ["column_1", "column_2"]
    assert read_table(bare).num_rows == N + 1


def test_cells_of_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    when = datetime.datetime(2026, 11, 22, 13, 45)
    for row in (
        ["number", "when", "mixed", "error", 5, None],
        [1, when, "a", 2.5, "x"],
        [None] * 5,
        [2.5, None, 3, "#DIV/0!", "y"],
        [None, when, 4.5, 1],
    ):
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    assert read_table(tmp_path / "d.xlsx").to_pydict() == {
        "number": [1.0, 2.5, None], "when": [when, None, when], "mixed": ["a", "3", "4.5"],
        "error": [2.5, None, 1.0], "5": ["x", "y", None],
    }  # fmt: skip
    (tmp_path / "no.xlsx").write_bytes(b"PK\3\4")
    with pytest.raises(UserError, match=r"no.xlsx can't be read: it isn't an .xlsx file"):
        read_table(tmp_path / "no.xlsx")
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    with pytest.raises(UserError, match="has no rows; it needs a row of column names"):
        read_table(tmp_path / "empty.xlsx")


def test_a_sheet_that_is_too_large(tmp_path, monkeypatch):
    path = write_excel(tmp_path)
    monkeypatch.setenv("FEWLABELS_MEMORY", "10K")
    with pytest.raises(UserError, match=r"of memory \(its sheets\), but 0.01 MB are"):
        read_table(make_source(path))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"a": 1}\n{"a": \n', "row 2 is not JSON"),
        ('{"a": 1}\n[1, 2]\n', "row 2 is not an object; every line must be one"),
        ('[{"a": 1}]\n', "row 1 is not an object"),
        ("\n\n", "no rows"),
        ('{"a": 1}\n' + "[" * 100_000 + "\n", "row 2 is not JSON"),
    ],
)
def test_broken_lines(tmp_path, lines, message):
    (tmp_path / "d.jsonl").write_text(lines)
    with pytest.raises(UserError, match=message):
        read_table(tmp_path / "d.jsonl")


def test_values_of_lines(tmp_path):
    rows = [{"n": "007", "big": 12345678901234567890}, {}, {"late": {"x": [1, None]}, "n": 1.50},
            {"n": float("nan"), "late": True}]  # fmt: skip
    (tmp_path / "d.ndjson").write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8-sig")
    assert read_table(tmp_path / "d.ndjson").to_pydict() == {
        "n": ["007", None, "1.5", "NaN"], "big": ["12345678901234567890", None, None, None],
        "late": [None, None, '{"x": ["1", null]}', "True"],
    }  # fmt: skip
    (tmp_path / "d.jsonl").write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(UserError, match="text is not UTF-8"):
        read_table(tmp_path / "d.jsonl")
    read = read_table(make_source(tmp_path / "d.jsonl", encoding="latin-1"))
    assert read.to_pydict() == {"a": ["ÿ"]}


def test_many_small_blocks(tmp_path, monkeypatch):
    from fewlabels.tables.formats import blocks

    path = write_lines(tmp_path)
    whole = read_table(make_source(path))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 11)
    assert read_table(make_source(path)).to_pydict() == whole.to_pydict()


def test_tables_of_a_database(tmp_path):
    path = write_sqlite(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            'CREATE VIEW "a ""view" AS SELECT n, NULL AS m, x\'00ff\' AS b FROM rows'
        )
    connection.close()
    with pytest.raises(
        UserError, match=r"d.db has 2 tables, 'a \"view', 'rows'; choose one, as in"
    ):
        read_table(path)
    found = read_table(f'{path}::a "view')
    assert found.slice(3, 1).to_pylist() == [{"n": "3", "m": None, "b": "2 bytes"}]
    (tmp_path / "no.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match=r"no.sqlite can't be read: file is not a database"):
        read_table(tmp_path / "no.sqlite")
    sqlite3.connect(tmp_path / "none.db").execute("VACUUM").connection.close()
    with pytest.raises(UserError, match=r"none.db has no tables"):
        read_table(tmp_path / "none.db")


def test_schemas_of_duckdb(tmp_path):
    path = write_duckdb(tmp_path)
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.x AS SELECT 1.50 AS price")
    assert read_table(f"{path}::other.x").num_rows == 1
    with pytest.raises(UserError, match=r"2 tables, 'rows', 'other.x'; choose one"):
        read_table(path)
    path.rename(tmp_path / "d.db")
    assert input_format(tmp_path / "d.db") == "duckdb"
    (tmp_path / "no.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(UserError, match=r"no.duckdb can't be read: "):
        read_table(tmp_path / "no.duckdb")


@pytest.mark.parametrize(
    ("write", "package"), [(write_excel, "openpyxl"), (write_duckdb, "duckdb")]
)
def test_packages_that_are_not_installed(tmp_path, monkeypatch, write, package):
    path = write(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"openpyxl": "xlsx", "duckdb": "duckdb"}[package]
    with pytest.raises(
        MissingExtra, match=rf"reading .* needs {package}, .* pip install .*\[{extra}\]"
    ):
        read_table(make_source(path))


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("d.parquet", {"sep": ";"}, "sep"),
        ("d.parquet", {"encoding": "utf-8"}, "encoding"),
        ("d.parquet", {"header": False}, "header=False"),
        ("d.parquet::x", {}, "::x"),
        ("d.npy", {"decimal": ","}, "decimal"),
    ],
)
def test_options_that_say_nothing(tmp_path, name, options, said):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "d.parquet")
    np.save(tmp_path / "d.npy", np.zeros((2, 2)))
    with pytest.raises(UserError, match=rf"{said} has no effect on "):
        input_format(make_source(tmp_path / name, **options))
