"""Reading and writing tables."""

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.formats import blocks as tables
from fewlabels.tables.formats.registry import table_writer
from fewlabels.tables.reading.read import iterate_tables, read_table
from fewlabels.tables.sources import input_format

AWKWARD = ["plain", 'quo"te', "com,ma", "tab\there", "new\nline", "", "  spaces ", "é"]


def _table():
    return pa.table({"text": AWKWARD, "number": np.linspace(-1e-7, 1e20, 8), 'na"me': range(8)})


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_text_files_round_trip(tmp_path, form):
    path = tmp_path / f"t.{form}"
    with table_writer(path, form) as append:
        append(_table().slice(0, 5))
        append(_table().slice(5))
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="," if form == "csv" else "\t"))
    assert rows[0] == ["text", "number", 'na"me']
    assert [row[0] for row in rows[1:]] == AWKWARD
    back = read_table(path)
    assert back.column("text").to_pylist() == AWKWARD
    numbers = [float(value) for value in back.column("number").to_pylist()]
    assert numbers == _table().column("number").to_pylist()


def test_only_cells_that_need_it_are_quoted(tmp_path):
    path = tmp_path / "t.csv"
    with table_writer(path, "csv") as append:
        append(pa.table({"a": ["x", "1,5"], "b": [1.5, None], "c": [True, None]}))
    assert path.read_text() == 'a,b,c\nx,1.5,True\n"1,5",,\n'


def test_parquet_round_trip(tmp_path):
    path = tmp_path / "t.parquet"
    with table_writer(path, "parquet") as append:
        append(_table().slice(0, 5))
        append(_table().slice(5))
    assert read_table(path) == _table()


def test_nested_values_cannot_become_text(tmp_path):
    with (
        pytest.raises(UserError, match=r"'a' holds list.*parquet"),
        table_writer(tmp_path / "t.csv", "csv") as append,
    ):
        append(pa.table({"a": [[1, 2]]}))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_pieces_make_up_the_whole(tmp_path, form, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1000)  # many blocks
    path = tmp_path / f"t.{form}"
    table = pa.table({"a": [f"{i:06d}" for i in range(1000)], "b": [f"x{i}" for i in range(1000)]})
    with table_writer(path, form) as append:
        append(table)
    pieces, _, shares = zip(*iterate_tables(path, rows=17), strict=True)
    assert list(shares) == sorted(shares) and shares[-1] == 1.0
    assert max(piece.num_rows for piece in pieces) == 17
    assert pa.concat_tables(pieces).to_pydict() == table.to_pydict()
    assert read_table(path).to_pydict() == table.to_pydict()


@pytest.mark.parametrize("size", [1, 2, 5, 16, 1000])
@pytest.mark.parametrize("mark", ["\n", "\r\n", "\r"])
def test_blocks_end_where_rows_end(tmp_path, monkeypatch, size, mark):
    monkeypatch.setattr(tables, "BLOCK_BYTES", size)
    rows = [['quo"te', "com,ma"], ["new\nline", "a\n\n"], ["", "last"], ['"\n"', '""']] * 3
    path = tmp_path / "t.csv"
    with open(path, "w", newline="") as file:
        file.write(mark)
        csv.writer(file, lineterminator=mark, quoting=csv.QUOTE_ALL).writerows(
            [['first "\n" name', "b"], *rows]
        )
    for end in ("", mark, 2 * mark):  # with and without a last line break
        path.write_bytes(path.read_bytes().rstrip(b"\r\n") + end.encode())
        back = read_table(path)
        assert back.column_names == ['first "\n" name', "b"]
        assert [list(row.values()) for row in back.to_pylist()] == rows


def test_stray_quotes_within_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 40)
    rows = [f'{i},5" pipe' for i in range(31)]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    back = read_table(tmp_path / "t.csv").to_pylist()
    assert [f"{row['a']},{row['b']}" for row in back] == rows


def test_cells_stay_as_they_were_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n007,1.50\n,NA\n")
    assert read_table(path).to_pydict() == {"id": ["007", ""], "x": ["1.50", "NA"]}


def test_byte_order_mark_is_ignored(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n1,2\n", encoding="utf-8-sig")
    assert read_table(path).column_names == ["id", "x"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n", "has column names but no rows"),
        (b"a,b", "no rows"),
        (b"\n\n", "no rows"),
        (b"a,a,b\n1,2,3\n", "share a name .'a'.; rename"),
        (b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
        (b"a,b\n1,\x81\xe9\n", "not UTF-8"),  # nor cp1252
        ("a,b\n1,é\n2,grün\n".encode() + b"3,\xff\n", "not UTF-8"),  # one byte is damaged
        ("a,b\n1,2\n".encode("utf-16")[:-1], "not UTF-16"),
    ],
)
def test_unusable_text_files(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_table(path)
    with pytest.raises(UserError, match=message):
        list(iterate_tables(path, 10))


def test_truncated_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(_table(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="it isn't a Parquet file, or it is truncated"):
        read_table(path)


@pytest.mark.parametrize("ending", ["csv.gz", "tsv.gz"])
def test_compressed(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    rows = [["a", "b"], ["1", "x"], ["2", "y"]]
    text = "\n".join(("," if "csv" in ending else "\t").join(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()))
    assert read_table(path).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}
    assert [piece.num_rows for piece, _, _ in iterate_tables(path, 1)] == [1, 1]
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(UserError, match="truncated or damaged"):
        read_table(path)
    path.write_text(text)
    with pytest.raises(UserError, match="can't be read: Not a gzipped file"):
        read_table(path)
    (tmp_path / "t.npy.gz").write_bytes(b"x")
    with pytest.raises(
        UserError, match=r"Unknown extension '\.npy\.gz' of .*; .* \.csv\.gz, .* or "
    ):
        input_format(tmp_path / "t.npy.gz")
