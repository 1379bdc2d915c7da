"""Sheets of Excel files, which are read as a whole."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa

from ..._util.messages import UserError, listing, quoted
from ..limits import check_memory
from ..sources import Source
from .databases import choose_table
from .registry import TablePiece

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

# Values of the cells of a row.
_Row: TypeAlias = tuple[Any, ...]
# What a byte of a sheet takes as values.
_MEMORY_PER_BYTE = 3

# What every cell of a row as wide as the widest takes besides, as a value and in Arrow.
_BYTES_PER_CELL = 16
# Rows that an Excel sheet has at most.
_MAX_ROWS = 1 << 20
# Rows between two checks of memory.
_CHECK_EVERY_ROWS = 1 << 10
# How a row begins in the XML of a sheet.
_MARKS = (b"<row ", b"<row>", b"<row/")
_ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})


class _Sheet(NamedTuple):
    names: list[str]
    rows: list[_Row]
    remark: str


def names(source: Source) -> list[str]:
    """Return names of the columns, in the first row that is not empty, or by their position."""
    return _read_sheet(source).names


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield the sheet as one table."""
    cells = zip(*_read_sheet(source).rows, strict=True)
    columns = [_to_arrow(values) for values in cells] or [pa.array([], pa.string()) for _ in names]
    yield pa.Table.from_arrays(columns, names=names), None, 1.0


def remark(source: Source) -> str:
    """Return a remark on the sheet that was taken, if there are several."""
    return _read_sheet(source).remark


@lru_cache(maxsize=2)
def _read_sheet(source: Source) -> _Sheet:
    import openpyxl

    try:
        with zipfile.ZipFile(source.path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            check_memory(source, _MEMORY_PER_BYTE * unpacked, "its sheets")
            _check_rows(source, archive)
        with warnings.catch_warnings(), open(source.path, "rb") as file:
            warnings.simplefilter("ignore")  # of styles that are not known
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            first = next(iter(sheets))
            sheet = choose_table(source, sheets if source.table else {first: sheets[first]})
            sheet.reset_dimensions()
            rows = _read_rows(source, sheet)
            book.close()
    except UserError:
        raise
    except Exception as error:  # many, depending on what is damaged
        raise UserError(
            f"{source} can't be read: it isn't an .xlsx file, or it is damaged; save it again, "
            "or as .csv."
        ) from error
    others = [name for name in sheets if name != first]
    remark = ""
    if others and not source.table:
        remark = (
            f"reading the sheet {quoted(first)} of {source}; select another with "
            f"{source}::{others[0]} ({listing(others)})"
        )
    return _Sheet(*_split_header(rows, source), remark)


def _split_header(rows: list[_Row], source: Source) -> tuple[list[str], list[_Row]]:
    """Return names of the columns, and rows of as many cells."""
    width = max((k + 1 for row in rows for k in range(len(row)) if _is_value(row[k])), default=0)
    rows = [(*row[:width], *[None] * (width - len(row))) for row in rows]
    if not rows:
        needs = "a row of column names and rows of data"
        raise UserError(f"{source} can't be read: it has no rows; it needs {needs}.")
    if source.reading.header is False:
        return [f"column_{k + 1}" for k in range(width)], rows
    return [_to_text(value) or "" for value in rows[0]], rows[1:]


def _check_rows(source: Source, archive: zipfile.ZipFile) -> None:
    """Count the rows of every sheet in its XML, in a fraction of the time that reading takes."""
    for name in archive.namelist():
        if not name.startswith("xl/worksheets/"):
            continue
        n_rows, rest = 0, b""
        with archive.open(name) as file:
            while block := file.read(1 << 20):
                text = rest + block
                n_rows += sum(text.count(mark) for mark in _MARKS)
                rest = text[1 - len(_MARKS[0]) :]
                _check_count(source, n_rows)


def _check_count(source: Source, n_rows: int) -> None:
    if n_rows > _MAX_ROWS:
        raise UserError(
            f"{source} has more than {_MAX_ROWS:,} rows, more than an Excel sheet can have; "
            "save it as .csv or .parquet."
        )


def _read_rows(source: Source, sheet: ReadOnlyWorksheet) -> list[_Row]:
    """Read rows that aren't empty: one cell, or a row's number, can mean millions of cells."""
    rows, texts, width = [], 0, 0
    for k, row in enumerate(sheet.iter_rows(values_only=True)):
        _check_count(source, k + 1)
        if _has_value(row):
            rows.append(row)
            width = max(width, len(row))
            texts += sum(len(cell) for cell in row if isinstance(cell, str))
        if k % _CHECK_EVERY_ROWS == 0:
            _check_cells(source, rows, texts, width)
    _check_cells(source, rows, texts, width)
    return rows


def _check_cells(source: Source, rows: list[_Row], texts: int, width: int) -> None:
    """Check memory: a file holds texts once and no empty cells, but a table holds all of them."""
    n_bytes = texts + _BYTES_PER_CELL * len(rows) * width
    check_memory(source, n_bytes, "its sheet with every text written out")


def _is_value(value: object) -> bool:
    return value is not None and value != ""


def _has_value(row: _Row) -> bool:
    return any(map(_is_value, row))


def _to_arrow(values: Iterable[Any]) -> pa.Array:
    """Return an Arrow array of numbers, truth values or times if all cells are, else of texts."""
    values = [None if value in _ERRORS or not _is_value(value) else value for value in values]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds and kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return pa.array(values, pa.timestamp("us"))
    return pa.array([_to_text(value) for value in values], pa.string())


def _to_text(value: object) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)
