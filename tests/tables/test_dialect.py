"""Separators and encodings of delimited text, as said or found by looking."""

import csv
import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels._util.messages import UserError
from fewlabels.pipeline.options.flags import as_flags
from fewlabels.tables.reading.read import column_names, iterate_tables, read_table
from fewlabels.tables.user_data import make_source

ROWS = [["name", "größe", "Ort, Land"], ["a", "1,5", "Köln"], ['b "x"', "2", "Paris; Lyon"]]


def written(path, rows=ROWS, encoding="utf-8", **how):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n", **how).writerows(rows)
    content = buffer.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def cells(source):
    table = read_table(source)
    pieces = [piece for piece, _, _ in iterate_tables(source, 1)]
    assert sum(piece.num_rows for piece in pieces) == table.num_rows
    assert all(piece.column_names == table.column_names for piece in pieces)
    return [table.column_names, *(list(row.values()) for row in table.to_pylist())]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_found_by_looking(tmp_path, name, sep, encoding):
    source = make_source(written(tmp_path / name, encoding=encoding, delimiter=sep))
    assert cells(source) == ROWS
    assert source.dialect.sep == sep
    usual = "\t" if "tsv" in name else ","
    assert ("--sep" in as_flags(source.dialect.remark)) == (sep != usual)
    assert ("--encoding" in as_flags(source.dialect.remark)) == ("utf-8" not in encoding)


@pytest.mark.parametrize(
    ("content", "sep"),
    [
        ("a;b\n1,5;2,5\n2,5;3\n", ";"),
        ("a,b\nx;y,1\nz;w,2\n", ","),
        ("a;x,b\nu;v,w\n", ","),  # either would do: the usual one
        ("Income, USD;age\n1,5;3\n2,5;4\n", ";"),  # numbers decide
        ("a|b;c|d\n1|2;3|4\n", "|"),
        ("x\n1\n2\n", ","),
        ("a;b\n1;2\n3\n", ";"),  # a short row: named when it is read
        ('"a;b",c\n1,2\n', ","),
        ("a b;c\n1 2;3\n", ";"),
    ],
)
def test_which_separator(tmp_path, content, sep):
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert make_source(path).dialect.sep == sep


def test_what_is_said_is_done(tmp_path):
    path = written(tmp_path / "t.csv", delimiter=";")
    assert cells(make_source(path, sep=";", encoding="utf-8")) == ROWS
    with pytest.raises(UserError, match="semicolons, not as set with sep; omit"):
        column_names(make_source(path, sep="|"))
    assert make_source(path, sep="tab").reading.sep == "\t"
    path = written(tmp_path / "r.csv", [["ж", "б"], ["1", "ж"]], "cp1251", delimiter="/")
    assert cells(make_source(path, sep="/", encoding="cp1251")) == [["ж", "б"], ["1", "ж"]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_without_a_header(tmp_path, encoding):
    path = written(tmp_path / "t.csv", encoding=encoding)
    assert cells(make_source(path, header=False)) == [["column_1", "column_2", "column_3"], *ROWS]


def test_cyrillic_and_blocks(tmp_path, monkeypatch):
    from fewlabels.tables.formats import blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7)  # characters are cut, too
    rows = [["имя", "x"], *([f"строка {k}", str(k)] for k in range(50))]
    for encoding in ("cp1251", "utf-16", "utf-8", "koi8-r"):
        path = written(tmp_path / "t.csv", rows, encoding)
        assert cells(make_source(path, encoding=encoding)) == rows


def test_damaged_text_is_no_other_encoding(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,grün\n2,schön\n".encode() + b"3,\xff\n")
    assert make_source(path).dialect.encoding == "utf-8"
    with pytest.raises(UserError, match="its text is not UTF-8; save it as UTF-8, or pass"):
        read_table(path)


WORDS = st.text(alphabet="ab1,;|\t\"'. é\n", max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_said_separators_cut_any_cells(tmp_path_factory, rows, sep):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    rows = [["first", "second"], *map(list, rows)]
    written(path, rows, delimiter=sep, quoting=csv.QUOTE_ALL)
    assert cells(make_source(path, sep=sep)) == rows
    assert cells(make_source(path)) == rows  # and by looking


def test_rows_in_memory_have_no_separator():
    import pandas as pd

    with pytest.raises(UserError, match="sep, header=True: these options are for reading text"):
        make_source(pd.DataFrame({"a": [1]}), sep=";", header=True)


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_blanks_are_no_rows(tmp_path, sep, end):
    path = tmp_path / "d.csv"
    lines = ["a,b", " ", "1,x", "   ", '2,"y', "  ", 'z"', "3,w", " "]
    path.write_bytes(end.join(lines).replace(",", sep).encode() + end.encode())
    table = read_table(path)
    assert table.column("a").to_pylist() == ["1", "2", "3"]
    assert table.column("b").to_pylist() == ["x", f"y{end}  {end}z", "w"]
