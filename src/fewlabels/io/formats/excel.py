"""Sheets of Excel files, which are read as a whole."""

import datetime
import warnings
import zipfile
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from ..errors import UserError, listing, quoted
from ..limits import check_room
from .databases import extra, table_of

# What a byte of a sheet takes as values.
_PER_BYTE = 3
# What every cell of a row as wide as the widest takes besides, as a value and in Arrow.
_PER_CELL = 16
_ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})


class _Sheet(NamedTuple):
    names: list[str]
    rows: list[tuple[Any, ...]]
    remark: str


def names(source):
    """Names of the columns, in the first row that is not empty, or by their position."""
    return _sheet(source).names


def pieces(source, names, rows, types):
    """The sheet as one table."""
    cells = zip(*_sheet(source).rows, strict=True)
    columns = [_column(values) for values in cells] or [pa.array([], pa.string()) for _ in names]
    yield pa.Table.from_arrays(columns, names=names), None, 1.0


def remark(source):
    """Which sheet was taken, where there are several."""
    return _sheet(source).remark


@lru_cache(maxsize=2)
def _sheet(source):
    openpyxl = extra("openpyxl", source, "xlsx")
    try:
        with zipfile.ZipFile(source.path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
        check_room(source, _PER_BYTE * unpacked, "its sheets")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles that are not known
            book = openpyxl.load_workbook(source.path, read_only=True, data_only=True)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            first = next(iter(sheets))
            sheet = table_of(source, sheets if source.table else {first: sheets[first]})
            sheet.reset_dimensions()
            rows = [row for row in sheet.iter_rows(values_only=True) if _filled(row)]
            check_room(source, _written(rows), "its sheet with every text written out")
            book.close()
    except UserError:
        raise
    except Exception as error:  # many, depending on what is damaged
        raise UserError(
            f"{source} cannot be read: it is no .xlsx file, or it is damaged; save it anew, or as "
            ".csv."
        ) from error
    others = [name for name in sheets if name != first]
    remark = ""
    if others and not source.table:
        remark = (
            f"the sheet {quoted(first)} of {source} was read; {source}::{others[0]} names another "
            f"({listing(others)})"
        )
    return _Sheet(*_named(rows, source), remark)


def _named(rows, source):
    """Names of the columns, and rows of as many cells."""
    width = max((k + 1 for row in rows for k in range(len(row)) if _is_value(row[k])), default=0)
    rows = [(*row[:width], *[None] * (width - len(row))) for row in rows]
    if not rows:
        needs = "a row of column names and rows of data"
        raise UserError(f"{source} cannot be read: it has no rows; it needs {needs}.")
    if source.reading.header is False:
        return [f"column_{k + 1}" for k in range(width)], rows
    return [_text(value) or "" for value in rows[0]], rows[1:]


def _written(rows):
    """Bytes of a table of the cells: a file holds texts once, and no cell that is empty."""
    texts = sum(len(v) for row in rows for v in row if isinstance(v, str))
    return texts + _PER_CELL * len(rows) * max(map(len, rows), default=0)


def _is_value(value):
    return value is not None and value != ""


def _filled(row):
    return any(map(_is_value, row))


def _column(values):
    """An Arrow array of numbers, truth values or times where all cells are, else of texts."""
    values = [None if value in _ERRORS or not _is_value(value) else value for value in values]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds and kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return pa.array(values, pa.timestamp("us"))
    return pa.array([_text(value) for value in values], pa.string())


def _text(value):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)
