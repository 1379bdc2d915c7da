"""Files that would fill memory are refused before they do, in one sentence."""

import contextlib
import gc
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels._util.messages import UserError
from fewlabels.pipeline.watching.sources import batches_of_stream
from fewlabels.tables import limits
from fewlabels.tables.formats import blocks as tables
from fewlabels.tables.formats import delimited
from fewlabels.tables.formats.registry import FORMATS
from fewlabels.tables.models.files import load_model
from fewlabels.tables.reading.read import column_names, iterate_tables
from fewlabels.tables.reading.training import read_training


@pytest.fixture
def allowed(monkeypatch):
    """Set what is allowed."""
    return lambda text: monkeypatch.setenv(limits.VARIABLE, text)


def _refused(path, match, peak=150e6, read=read_training):
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=match) as refusal:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < peak
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("column", [2_000_000_000, 20_000_000])
def test_columns_of_svmlight_that_nobody_fills(tmp_path, column):
    path = tmp_path / "d.svm"
    path.write_text(f"1 1:1 {column}:2\n1 1:2 2:1\n")
    _refused(path, rf"{column} columns, and 1000000 is the maximum.*renumber the non-empty")


def test_svmlight_counts_as_before(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1 3:2\n0 2:1\n")
    assert read_training(path).content.X.toarray().tolist() == [[1, 0, 2], [0, 1, 0]]
    path.write_text("1 0:1 3:2\n0 2:1\n")
    assert read_training(path).content.X.toarray().tolist() == [[1, 0, 0, 2], [0, 0, 1, 0]]


def test_what_is_packed_is_measured_unpacked(tmp_path, allowed):
    path = tmp_path / "d.npz"
    np.savez_compressed(path, X=np.zeros((100_000, 100)))
    allowed("20M")
    _refused(path, r"80 MB of memory \(unpacked\), but 20 MB are allowed.*FEWLABELS_MEMORY=1G")
    allowed("1G")
    assert read_training(path).n_rows == 100_000


@pytest.mark.parametrize("form", ["npz", "npy"])
def test_a_header_that_promises_too_much(tmp_path, form):
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**11, 100)}
    np.lib.format.write_array_header_1_0(buffer, header)
    path = tmp_path / f"d.{form}"
    if form == "npy":
        path.write_bytes(buffer.getvalue())
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", buffer.getvalue())
    _refused(path, "damaged or truncated")


def test_compressed_rows_are_counted_as_they_come(tmp_path, allowed, monkeypatch):
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,b\n" + b"1,2\n" * 1_000_000)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1 << 18)
    allowed("10M")
    _refused(path, "the whole table and the memory for training")


def test_a_row_without_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(tables, "_MAX_ROW_BYTES", 1 << 20)
    path = tmp_path / "d.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b'a,b\n1,"' + b"2,3\n" * 5_000_000)
    _refused(path, "a row of more than 1 MB; close an open quote")


@pytest.mark.parametrize("form", [each for each in FORMATS.values() if each.extensions])
def test_a_file_without_line_ends(tmp_path, form):
    """Every format refuses 256 MB of zeros; those of text say why, after a row's longest size."""
    is_text = "encoding" in form.options or form.name == "svmlight"
    path = tmp_path / f"d{form.extensions[0]}"
    with open(path, "wb") as file:
        file.truncate(1 << 28)
    _refused(path, "a row of more than 64 MB" if is_text else "can't be read", 350e6)


@pytest.mark.parametrize("byte", [b"\0", b"a"])
def test_a_message_holds_no_long_line(tmp_path, byte):
    path = tmp_path / "d.svm"
    path.write_bytes(byte * 1_000_000)
    with pytest.raises(UserError, match="can't be read as svmlight") as refusal:
        read_training(path)
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("line", [b"", b'1,"\n', b'1,"a""\n'])
def test_a_stream_without_row_ends(tmp_path, monkeypatch, line):
    monkeypatch.setattr(tables, "_MAX_ROW_BYTES", 1 << 20)
    path = tmp_path / "stream"
    path.write_bytes(b"a,b\n" + line + b"2" * (1 << 21))
    with open(path, "rb") as stream, pytest.raises(UserError, match="a row of more than 1 MB"):
        list(batches_of_stream(stream, None, 0, 10, {}, None))


def test_repeated_cells_of_parquet(tmp_path, allowed):
    path = tmp_path / "d.parquet"
    zeros = pa.array(np.zeros(200_000))
    pq.write_table(pa.table({f"c{k}": zeros for k in range(20)}), path)
    allowed("20M")
    _refused(path, r"32 MB of memory \(its cells as numbers\)")


@pytest.mark.parametrize("folder", [False, True])
def test_long_texts_that_parquet_holds_once(tmp_path, allowed, folder):
    path = tmp_path / "d.parquet"
    texts = pa.array(["x" * 100_000 + str(k) for k in range(4)])
    which = pa.array(np.arange(20_000, dtype=np.int32) % 4)
    column = pa.DictionaryArray.from_arrays(which, texts)
    table = pa.table({"a": np.arange(20_000.0), "text": column})
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1e6
    allowed("300M")
    _refused(tmp_path if folder else path, r"8 GB of memory \(the whole table")
    given = tmp_path if folder else path
    tables = iterate_tables(given, 1 << 16)
    sizes, n_rows = [], 0
    for part, _, _ in tables:
        sizes.append(part.nbytes)
        n_rows += part.num_rows
        assert part.column("text").type == pa.string()
        assert part.column("text")[0].as_py()[-1] in "0123"
    assert max(sizes) < 70e6 and n_rows == 20_000


def test_lists_of_parquet_are_counted_and_not_written_out(tmp_path, allowed):
    path = tmp_path / "d.parquet"
    lists = pa.array([["x" * 1000, "y"] * 50] * 400)
    pq.write_table(
        pa.table({"a": np.arange(400.0), "b": np.sin(np.arange(400)), "l": lists}), path
    )
    data = read_training(path)
    assert data.n_rows == 400
    allowed("200K")
    _refused(path, r"326 KB|0\.326 MB of memory \(its cells as numbers\)")


def test_a_sheet_that_names_a_long_text_many_times(tmp_path, allowed):
    openpyxl = pytest.importorskip("openpyxl")
    book, path, plain = openpyxl.Workbook(), tmp_path / "d.xlsx", tmp_path / "plain.xlsx"
    book.save(plain)
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    rows = "".join(f'<row><c><v>{k}</v></c><c t="s"><v>0</v></c></row>' for k in range(2000))
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == "[Content_Types].xml":
                more = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/>'
                text = text.replace("</Types>", f"{more}</Types>")
            elif "sheet1" in name:
                text = f"<worksheet {space}><sheetData>{rows}</sheetData></worksheet>"
            new.writestr(name, text)
        text = f"<si><t>{'x' * 30_000}</t></si>"
        new.writestr("xl/sharedStrings.xml", f'<sst {space} count="1">{text}</sst>')
    allowed("30M")
    _refused(path, r"30\.\d MB of memory \(its sheet with every text written out\)")


def test_a_sheet_with_a_cell_far_to_the_right(tmp_path, allowed):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "d.xlsx"
    book.active.append(["a", "b"])
    for k in range(2000):
        book.active.append([k, k])
    book.active.cell(1, 16_000, "far")
    book.save(path)
    allowed("100M")
    _refused(path, r"262 MB of memory \(its sheet with every text written out\)")


def _write_sheet(path, rows):
    """A book of one sheet of rows of XML."""
    openpyxl = pytest.importorskip("openpyxl")
    plain = path.with_name("plain.xlsx")
    openpyxl.Workbook().save(plain)
    space = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if "sheet1" not in name:
                new.writestr(name, old.read(name))
                continue
            with new.open(name, "w", force_zip64=True) as file:
                file.write(b"<worksheet " + space + b"><sheetData>")
                file.writelines(rows)
                file.write(b"</sheetData></worksheet>")
    return path


_ROW = b"<row><c><v>1</v></c><c><v>2</v></c></row>"


@pytest.mark.parametrize(
    "rows",
    [
        [_ROW * 1000] * 1100,
        [b"<row/>" * 1000] * 1100,
        [_ROW, b'<row r="2000000000"><c><v>1</v></c></row>'],
    ],
    ids=["many rows", "empty rows", "a row with a large number"],
)
def test_a_sheet_with_more_rows_than_excel_has(tmp_path, rows):
    path = _write_sheet(tmp_path / "d.xlsx", rows)
    _refused(
        path, "has more than 1,048,576 rows, more than an Excel sheet can have; save it as .csv"
    )


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("row", [b"<row><c><v>&lol;</v></c></row>", b"<row><c><v>1"])
def test_a_damaged_sheet_is_closed(tmp_path, row):
    path = _write_sheet(tmp_path / "d.xlsx", [row])
    _refused(path, r"it isn't an \.xlsx file, or it is damaged; save it again, or as .csv")
    gc.collect()


def test_a_sheet_whose_rows_are_wide(tmp_path, allowed):
    cells = b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>'
    path = _write_sheet(tmp_path / "d.xlsx", [cells % (k, k) for k in range(1, 3000)])
    allowed("100M")  # 16,384 cells per row: refused before all of them are made
    _refused(path, r"\d+ MB of memory \(its sheet with every text written out\)", peak=200e6)


def test_rows_of_json_that_have_no_key_in_common(tmp_path, allowed):
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f'{{"k{k}": {k}}}\n' for k in range(10_000)))
    allowed("300M")
    _refused(path, r"400 MB of memory \(a cell for every row and key\)")


def test_a_view_that_makes_texts_of_nothing(tmp_path, allowed):
    path = tmp_path / "d.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        some = "WITH RECURSIVE c(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM c LIMIT 3000)"
        text = "replace(hex(zeroblob(500000)), '00', 'ab')"
        connection.execute(f"CREATE VIEW v AS {some} SELECT k, {text} AS t FROM c")
        big = "replace(hex(zeroblob(400000000)), '00', 'ab')"
        connection.execute(f"CREATE VIEW w AS {some} SELECT k, {big} AS t FROM c")
        connection.commit()
    allowed("200M")
    _refused(f"{path}::v", r"\d GB of memory \(the whole table", peak=300e6)
    _refused(f"{path}::w", "string or blob too big", peak=300e6)


def test_columns_by_the_hundred_thousand(tmp_path, allowed):
    path = tmp_path / "d.csv"
    names = ",".join(f"c{k}" for k in range(100_000))
    path.write_text(f"{names}\n{names}\n")
    allowed("1G")
    _refused(path, r"100000 columns; a .npy, .npz or .svmlight matrix needs less")
    path.write_text(f"{','.join(f'c{k}' for k in range(300_000))}\n")
    allowed("100G")
    assert len(column_names(path)) == 300_000


def test_many_columns_are_parsed_some_at_a_time(tmp_path, monkeypatch):
    """Arrow takes 10 kB for every column that it reads at the same time."""
    path, read, most = tmp_path / "d.csv", delimited.pacsv.read_csv, []
    rows = [[f"c{k}" for k in range(23)], *([f"{j}.{k}" for k in range(23)] for j in range(30))]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    types = {f"c{k}": pa.float64() for k in (20, 3, 11, 7)}
    expected = [next(iterate_tables(path, None, some))[0] for some in (None, types)]

    def counted(data, reading, syntax, convert):
        most.append(len(convert.include_columns))
        return read(data, reading, syntax, convert)

    monkeypatch.setattr(delimited, "_COLUMNS_AT_ONCE", 3)
    monkeypatch.setattr(delimited.pacsv, "read_csv", counted)
    found = [next(iterate_tables(path, None, some))[0] for some in (None, types)]
    assert found == expected and found[0].num_columns == 23 and max(most) == 3


def test_a_dense_matrix_is_more_when_it_is_learnt_from(tmp_path, allowed):
    path = tmp_path / "d.npy"
    np.save(path, np.zeros((1000, 1000), dtype=np.int8))
    allowed("20M")
    from fewlabels.tables.columns.target import choose_all_rows

    with pytest.raises(UserError, match="24 MB of memory"):
        read_training(path).choose(choose_all_rows(1000))


def test_a_model_that_unpacks_to_more_than_any_has(tmp_path, allowed):
    path = tmp_path / "m.fewlabels"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fewlabels.json", json.dumps({"format": "fewlabels-model"}))
        archive.writestr("0.npy", bytes(60_000_000))
    allowed("50M")
    _refused(path, "The model file .* would need 60 MB of memory", read=load_model)


def test_an_allowance_that_is_no_size(tmp_path, allowed):
    path = tmp_path / "d.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    for text in ("500 M", "500mb", "0.5g"):
        allowed(text)
        assert read_training(path).n_rows == 2
    allowed("plenty")
    with pytest.raises(
        UserError, match="FEWLABELS_MEMORY=plenty is not a size; write it like 500M"
    ):
        read_training(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="tells what is taken")
def test_the_limit_of_the_process_counts(tmp_path):
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            header = {"descr": "|i1", "fortran_order": False, "shape": (1 << 19, 1 << 10)}
            np.lib.format.write_array_header_1_0(member, header)
            for _ in range(32):
                member.write(bytes(1 << 24))
    code = (
        "import sys, resource, fewlabels.tables.arrays as a\n"
        "from fewlabels._util.messages import UserError\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 500_000_000,) * 2)\n"
        "try: a.read_arrays(sys.argv[1])\n"
        "except UserError as e: print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "would need 537 MB of memory" in done.stdout


def test_texts_of_duckdb_are_counted_before_they_are_fetched(tmp_path, allowed):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        text = "repeat('ab', 50000)"
        connection.execute(f"CREATE VIEW v AS SELECT range AS k, {text} AS t FROM range(3000)")
        connection.execute(f"CREATE VIEW l AS SELECT range AS k, [{text}] AS t FROM range(3000)")
        connection.execute(f"CREATE VIEW b AS SELECT range, {text}::BLOB AS b FROM range(3000)")
        # One row is long: as much as it takes, and not 2048 times that.
        connection.execute(
            "CREATE VIEW one AS SELECT range AS k, NULL::VARCHAR AS n, "
            f"CASE range WHEN 7 THEN {text} ELSE 'ab' END AS t FROM range(3000)"
        )
    allowed("200M")
    for view in "vlb":
        _refused(f"{path}::{view}", r"4\d\d MB of memory \(texts of rows read at a time\)", 2e7)
    assert read_training(f"{path}::one").n_rows == 3000
    allowed("2G")
    pieces = [piece.num_rows for piece, *_ in iterate_tables(f"{path}::v")]
    assert sum(pieces) == 3000 and max(pieces) < 1000
