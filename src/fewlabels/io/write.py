"""Writing tables piece by piece: CSV, TSV, Parquet and JSON Lines."""

import contextlib
import gzip
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from ..options.words import UserError, quoted
from .formats.extensions import SEPARATORS
from .tables.columns import is_text, plain

# Smaller files take several times as long.
_LEVEL = 6
# What spreadsheets calculate instead of showing it.
_FORMULA = r"^[=@\t\r].*|^[-+].*[^-+0-9.,eE%].*"


@contextlib.contextmanager
def table_writer(path, form, compressed=False, safe=False):
    """Open a new file; gives the function that appends to it.

    ``append(table)`` writes the rows of a ``pyarrow.Table``. ``append(table, lines, names)``
    writes its columns behind rows of delimited text with columns ``names`` that stay as they are,
    each given behind the line break before it. Delimited text may be compressed as gzip does.
    With ``safe`` an apostrophe goes before texts that a spreadsheet would take for formulas.
    """
    with contextlib.ExitStack() as stack:
        separator = SEPARATORS.get(form)
        file = None

        def append(table, lines=None, names=()):
            nonlocal file
            if form == "jsonl":
                file = file or stack.enter_context(open(path, "wb"))
                file.writelines(_objects(table))
                return
            if separator is None:
                file = file or stack.enter_context(pq.ParquetWriter(path, table.schema))
                file.write_table(table)
                return
            if file is None:
                file = stack.enter_context(open(path, "wb"))
                if compressed:
                    # Neither the time nor the name of a temporary file belongs into the result.
                    file = stack.enter_context(
                        gzip.GzipFile("", "wb", compresslevel=_LEVEL, fileobj=file, mtime=0)
                    )
                row = _quoted(pa.array([*names, *table.column_names]), separator, safe)
                file.write(separator.join(row.to_pylist()).encode())
                stack.callback(file.write, b"\n")
            if table.num_rows:
                file.write(_text(table, separator, lines, safe))

        yield append


def _objects(table):
    """A line of JSON per row, with null for what is blank or no finite number."""
    for row in table.to_pylist():
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                row[name] = None
        yield json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"


def _text(table, separator, lines, safe):
    """Bytes of the rows, each behind a line break.

    Unlike Arrow's own writer it quotes text, numbers read from a CSV included, only where it must.
    """
    cells = [_cells(table.column(name), name, separator, safe) for name in table.column_names]
    nothing, end, between = pa.array(["", "\n", separator], pa.large_string())
    if lines is None:
        lines = pc.binary_join_element_wise(nothing, cells.pop(0), end)
    joined = pc.binary_join_element_wise(lines, *cells, between)
    # The texts of an Arrow array lie one behind the other.
    _, ends, content = joined.buffers()
    return content[: np.frombuffer(ends, dtype=np.int64)[len(joined)]]


def _cells(column, name, separator, safe):
    column = plain(column)
    text = is_text(column.type)
    if pt.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    try:
        column = pc.fill_null(column.cast(pa.large_string()), "")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(
            f"Column {quoted(name)} holds {column.type} values, which can't be written as text; "
            "write to a .parquet file."
        ) from error
    return _quoted(column, separator, safe) if text else column


def _quoted(column, separator, safe):
    column = column.cast(pa.large_string())
    if safe:
        # Numbers may begin with a sign.
        column = pc.replace_substring_regex(column, _FORMULA, r"'\0")
    # A glance at all cells together first, which costs a tenth.
    content = column.buffers()[2]
    content = b"" if content is None else content.to_pybytes()
    if not any(mark in content for mark in (b'"', b"\r", b"\n", separator.encode())):
        return column
    special = pc.match_substring_regex(column, f'["\r\n{separator}]')
    if not pc.any(special).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    mark, empty = pa.array(['"', ""], pa.large_string())
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, empty), column)
