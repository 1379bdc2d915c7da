"""Writing tables piece by piece: CSV, TSV and Parquet."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from .columns import plain
from .errors import UserError
from .paths import SEPARATORS


@contextlib.contextmanager
def table_writer(path, form):
    """Open a new file; gives the function that appends a ``pyarrow.Table`` to it.

    Parameters
    ----------
    path : path-like
        The file.
    form : {"csv", "tsv", "parquet"}
        Its format.
    """
    with contextlib.ExitStack() as stack:
        if form == "parquet":
            writer = None

            def append(table):
                nonlocal writer
                if writer is None:
                    writer = stack.enter_context(pq.ParquetWriter(path, table.schema))
                writer.write_table(table)

        else:
            file = stack.enter_context(open(path, "w", encoding="utf-8", newline=""))
            separator = SEPARATORS[form]
            started = False

            def append(table):
                nonlocal started
                if not started:
                    names = pa.array(table.column_names)
                    file.write(separator.join(_quoted(names, separator).to_pylist()) + "\n")
                    started = True
                file.write(_lines(table, separator))

        yield append


def _lines(table, separator):
    """Write the rows as text.

    Arrow's own writer puts every text cell in quotes, numbers read from a CSV
    included; here a cell is quoted only where it must be.
    """
    if not table.num_rows:
        return ""
    cells = [_cells(table.column(name), name, separator) for name in table.column_names]
    lines = pc.binary_join_element_wise(*cells, pa.scalar(separator, pa.large_string()))
    return "\n".join(lines.to_pylist()) + "\n"


def _cells(column, name, separator):
    column = plain(column)
    if pt.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    try:
        column = pc.fill_null(column.cast(pa.large_string()), "")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(
            f"Column '{name}' holds {column.type} values, which cannot be written as text; write "
            "to a .parquet file."
        ) from error
    return _quoted(column, separator)


def _quoted(column, separator):
    column = column.cast(pa.large_string())
    special = pc.match_substring_regex(column, f'["\r\n{separator}]')
    if not pc.any(special).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    mark = pa.scalar('"', pa.large_string())
    empty = pa.scalar("", pa.large_string())
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, empty), column)
