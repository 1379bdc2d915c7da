"""Rows of delimited text as they stand in the file."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels._util.messages import UserError
from fewlabels.tables.formats import blocks as tables
from fewlabels.tables.formats.registry import table_writer
from fewlabels.tables.reading.read import iterate_tables

TYPES = {"n": pa.float64(), "kind": pa.string()}


def read(path, rows=10**6, types=TYPES):
    return list(iterate_tables(path, rows, types))


def content(lines):
    return "".join(lines.to_pylist())


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("id,n,kind\na,1,x\nb,2,y\n", True),
        ("id,n,kind\na,1,x\nb,2,y", True),
        ("id,n,kind\r\na,1,x\r\nb,2,y\r\n", True),
        ('"id","n","kind"\n"a, b",1,"x"\n"c ""d""\ne",2,y\n', True),
        ("\ufeffid,n,kind\na,1,x\nö,2,y\n", True),
        ("\n\nid,n,kind\na,NA,x\nb,,y\n", True),
        # Where it takes a parser to say where rows end.
        ("id,n,kind\na,1,x\n\nb,2,y\n", False),
        ('id,n,kind\n5" pipe,1,x\n6" pipe,2,y\n', False),
        ("id,n,kind\ra,1,x\rb,2,y\r", False),
        # Where a cell would lose a byte.
        ('id,n,kind\r\n"a\r\nb",1,x\r\nc,2,"y"\r\n', False),
    ],
)
def test_lines_are_passed_on(tmp_path, text, same):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    found = read(path)
    assert found[-1][2] == 1.0
    table = pa.concat_tables([table for table, _, _ in found])
    assert table.num_rows == 2
    assert table.column("kind").to_pylist() == ["x", "y"]
    if not same:
        assert [lines for _, lines, _ in found] == [None]
        assert table.column_names == ["id", "n", "kind"]
        return
    assert table.column_names == ["n", "kind"]
    assert table.column("n").type == pa.float64()
    # Without the row of names, a byte order mark and what Windows puts at the end of lines.
    plain = text.replace("\r\n", "\n").strip("\n\ufeff")
    names_end = plain.index("kind") + len("kind") + plain.startswith('"')
    assert "".join(content(lines) for _, lines, _ in found) == plain[names_end:]


def test_a_cell_that_does_not_fit_is_left_to_be_named(tmp_path):
    (tmp_path / "t.csv").write_text("id,n,kind\na,1,x\nb,two,y\n")
    ((table, lines, _),) = read(tmp_path / "t.csv")
    assert table.column("n").to_pylist() == ["1", "two"]
    assert content(lines) == "\na,1,x\nb,two,y"


CELLS = st.text(st.sampled_from('ab1 ,"\n\t;é'), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, st.floats(-1e9, 1e9), CELLS), min_size=1, max_size=12),
    block=st.integers(8, 200),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    pieces=st.integers(1, 5),
)
def test_any_table_gets_its_column(tmp_path_factory, rows, block, quoting, pieces):
    """What Python's csv module wrote it reads again, with the new column."""
    folder = tmp_path_factory.mktemp("lines")
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=quoting, lineterminator="\n")
    writer.writerows([["id", "n", "kind"], *rows])
    (folder / "t.csv").write_text(buffer.getvalue(), newline="", encoding="utf-8")
    before, tables.BLOCK_BYTES = tables.BLOCK_BYTES, block
    try:
        done = 0
        with table_writer(folder / "o.csv", "csv") as append:
            for table, lines, _ in read(folder / "t.csv", rows=pieces):
                assert table.num_rows <= pieces
                new = pa.table({"new": np.arange(done, done + table.num_rows)})
                if lines is None:
                    new = pa.table([*table.columns, *new.columns], [*table.column_names, "new"])
                    append(new)
                else:
                    append(new, lines, ["id", "n", "kind"])
                done += table.num_rows
    finally:
        tables.BLOCK_BYTES = before
    with open(folder / "o.csv", newline="", encoding="utf-8") as file:
        back = list(csv.reader(file))
    assert back[0] == ["id", "n", "kind", "new"]
    assert [row[:3] for row in back[1:]] == [[a, str(b), c] for a, b, c in rows]
    assert [row[3] for row in back[1:]] == [str(k) for k in range(len(rows))]


def test_bytes_that_are_no_text_are_refused_in_any_column(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"id,n,kind\na\xff\x81,1,x\n")
    with pytest.raises(UserError, match="not UTF-8"):
        read(tmp_path / "t.csv")
