"""Delimited text in blocks of whole rows.

A table that only gets columns added needs no cell written again: rows are passed on byte for byte,
and nothing is parsed but what the model takes.
"""

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.types as pt

from ..._typing import IntArray
from ..._util.messages import UserError, quoted, ref
from ..._util.paths import file_size
from ...data.labels.blanks import MISSING
from ..columns.column import Cells, as_single_array, is_text
from ..file_identity import StrPath
from ..sources import Source
from .blocks import blocks, is_cut_anywhere, located_blocks, new_file
from .dialect import find_separators, name_separator
from .registry import TablePiece

# Bytes that a part of a file has at least and at most.
PART = 1 << 22, 1 << 26
# Arrow takes 10 kB for every column that it reads at the same time.
_COLUMNS_AT_ONCE = 5000
# What spreadsheets calculate instead of showing it.
_FORMULA = r"^[=@\t\r].*|^[-+].*[^-+0-9.,eE%].*"


def names(source: Source) -> list[str]:
    """Return names of the columns, in the first row or by their position."""
    block = next(_iterate_blocks(source.whole), (b"", 1.0))[0]
    found = _read_header(block, source.dialect.sep)[0]
    if not source.dialect.header:
        return [f"column_{k + 1}" for k in range(len(found))]
    if (
        len(found) == 1
        and source.reading.sep is not None
        and (others := find_separators(found[0]))
    ):
        raise UserError(
            f"{source} seems to be separated by {name_separator(others[0])}, not as set with "
            f"{ref('sep')}; omit the option."
        )
    if not found:
        needs = "a row of column names and rows of data"
        raise UserError(f"{source} can't be read: it has no rows; it needs {needs}.")
    return found


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables of whole rows, the rows as they are in the file, and how much of it was read.

    Arrow's streaming reader would read ahead, the whole file if the consumer is slow.
    """
    sep, header = source.dialect.sep, source.dialect.header
    begins = source.part is None or not source.part[0]
    for k, (block, share) in enumerate(_iterate_blocks(source)):
        if k == 0 and begins and header:
            block = block[_read_header(block, sep)[1] :]
        elif k == 0 and begins:
            block = block.removeprefix(codecs.BOM_UTF8)
        if len(names) > 1:
            block = _without_blank_lines(block, sep)
        if not block or block.isspace():  # there is nothing but the header
            continue
        lines = None if types is None else _cut_lines(block, sep)
        try:
            table = _parse(block, names, source, types if lines is not None else None)
        except pa.ArrowInvalid:  # a cell that does not fit is named where all are text
            table = _parse(block, names, source)
        if lines is not None and len(lines) != table.num_rows:
            table, lines = _parse(block, names, source), None
        yield table, lines, share


def _without_blank_lines(block: bytes, sep: str) -> bytes:
    """Return the block without lines of blanks, which are no rows."""
    blanks = b" \t".replace(sep.encode(), b"")
    starts = [end + blanks[k : k + 1] for end in (b"\n", b"\r") for k in range(len(blanks))]
    if block[:1] not in blanks and not any(start in block for start in starts):
        return block
    pattern = rb'"[^"]*"?|(?<![^\r\n])[' + blanks + rb"]+(?:\r\n|\r|\n|\Z)"
    return re.sub(pattern, lambda m: m[0] if m[0][:1] == b'"' else b"", block)


def _parse(
    block: bytes, names: list[str], source: Source, types: Mapping[str, pa.DataType] | None = None
) -> pa.Table:
    """Parse whole rows: the columns of ``types`` (name to Arrow type), or all as text."""
    read = pacsv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False)
    syntax = pacsv.ParseOptions(delimiter=source.dialect.sep, newlines_in_values=True)
    types = types or dict.fromkeys(names, pa.string())
    chosen = list(types)
    found: dict[str, pa.ChunkedArray] = {}
    for start in range(0, len(chosen), _COLUMNS_AT_ONCE):
        some = chosen[start : start + _COLUMNS_AT_ONCE]
        convert = pacsv.ConvertOptions(
            column_types={name: types[name] for name in some},
            include_columns=some,
            strings_can_be_null=False,
            null_values=list(MISSING),
        )
        table = pacsv.read_csv(pa.py_buffer(block), read, syntax, convert)
        if len(some) == len(chosen):
            return table
        found |= zip(some, table.itercolumns(), strict=True)
    return pa.table(found)


def _iterate_blocks(source: Source) -> Iterator[tuple[bytes, float]]:
    return blocks(source, source.dialect.encoding, _last_row_end, source.part)


def remark(source: Source) -> str:
    """Return a remark on what was detected and is unusual."""
    return source.dialect.remark


def size(source: Source) -> int:
    """Return bytes of the file, which ``parts`` are cut by."""
    return file_size(source)


def parts(source: Source, n_bytes: int) -> list[tuple[int, int] | None]:
    """Return where parts of about ``n_bytes`` begin and end, between rows; None for one part."""
    if not is_cut_anywhere(source, source.dialect.encoding) or size(source) <= n_bytes:
        return [None]
    n_parts = -(-size(source) // n_bytes)
    limits = [size(source) * k // n_parts for k in range(1, n_parts)]
    ends, has_rows = [], False
    for block, at, _ in located_blocks(source, "utf-8", _last_row_end):
        done = 0 if at or not source.dialect.header else _read_header(block, source.dialect.sep)[1]
        while limits and at + len(block) > limits[0]:
            end = _last_row_end(block[: limits.pop(0) - at])
            if end <= done:
                continue
            if has_rows or not block[done:end].isspace():
                ends.append(at + end)
            has_rows, done = False, end
        has_rows = has_rows or bool(block[done:].strip())
    if ends and not has_rows:
        ends.pop()
    return list(pairwise([0, *ends, size(source)]))


def _last_row_end(block: bytes) -> int:
    """Return where the last complete row ends: after a line break outside of quotes."""
    for mark in (b"\n", b"\r"):
        end, n_before = len(block), block.count(b'"')
        while (found := block.rfind(mark, 0, end)) >= 0:
            n_before -= block.count(b'"', found, end)
            if n_before % 2 == 0:
                return found + 1
            end = found
    return 0


def _read_header(block: bytes, sep: str) -> tuple[list[str], int]:
    """Return names in the first row and where it ends."""
    start = len(block) - len(block.lstrip(b"\r\n"))
    end = start
    for found in re.finditer(rb"[\r\n]|\Z", block[start:]):
        end = start + found.end()
        if block.count(b'"', start, end) % 2 == 0:
            break
    row = io.StringIO(block[start:end].rstrip(b"\r\n").decode("utf-8-sig"), newline="")
    return next(csv.reader(row, delimiter=sep), []), end


def _cut_lines(block: bytes, separator: str) -> pa.Array | None:
    """Return rows of a block behind the line breaks before them; None for unclear ones."""
    if b"\r" in block:
        returns = _find_bytes(block, b"\r")
        if b'"' in block and (np.searchsorted(_find_bytes(block, b'"'), returns) % 2).any():
            return None  # a cell keeps its bytes
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            return None
    if not block.isascii():
        block.decode("utf-8")
    block = block.lstrip(b"\n")
    block = b"\n" + block if block.endswith(b"\n") else b"\n" + block + b"\n"
    breaks = _find_bytes(block, b"\n")
    if b'"' in block:
        quotes = _find_bytes(block, b'"')
        if not _is_well_quoted(block, quotes, separator):
            return None
        breaks = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
    # Arrow passes over empty lines.
    if (np.diff(breaks) == 1).any():
        return None
    return pa.Array.from_buffers(
        pa.large_string(),
        len(breaks) - 1,
        [None, pa.py_buffer(breaks.astype(np.int64)), pa.py_buffer(block)],
    )


def _find_bytes(block: bytes, character: bytes) -> IntArray:
    return np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord(character))


def _is_well_quoted(block: bytes, quotes: IntArray, separator: str) -> bool:
    """Return whether every quote opens or closes a cell, or is one of two within it."""
    if len(quotes) % 2:
        return False
    characters = np.frombuffer(block, dtype=np.uint8)
    allowed = np.zeros(256, dtype=bool)
    allowed[[ord(separator), ord("\n"), ord('"')]] = True
    beside = np.concatenate([quotes[::2] - 1, quotes[1::2] + 1])
    return bool(allowed[characters[beside]].all())


@contextlib.contextmanager
def writer(
    path: StrPath, separator: str, compressed: bool, safe: bool
) -> Iterator[Callable[..., None]]:
    """Open a new file; gives the function that appends a table, perhaps behind lines."""
    with new_file(path, compressed) as file:
        begun = False

        def append(
            table: pa.Table, lines: pa.Array | None = None, names: Iterable[str] = ()
        ) -> None:
            nonlocal begun
            if not begun:
                begun = True
                row = _quote_cells(pa.array([*names, *table.column_names]), separator, safe)
                file.write(separator.join(row.to_pylist()).encode())
            if table.num_rows:
                file.write(_format_rows(table, separator, lines, safe))

        yield append
        file.write(b"\n")


def _format_rows(table: pa.Table, separator: str, lines: pa.Array | None, safe: bool) -> pa.Buffer:
    """Return bytes of the rows, each behind a line break.

    Unlike Arrow's own writer it quotes text, numbers read from a CSV included, only where it must.
    """
    cells = [
        _format_cells(table.column(name), name, separator, safe) for name in table.column_names
    ]
    nothing, end, between = pa.array(["", "\n", separator], pa.large_string())
    if lines is None:
        lines = pc.binary_join_element_wise(nothing, cells.pop(0), end)
    joined = pc.binary_join_element_wise(lines, *cells, between)
    # The texts of an Arrow array lie one behind the other.
    _, ends, content = joined.buffers()
    return content[: np.frombuffer(ends, dtype=np.int64)[len(joined)]]


def _format_cells(column: Cells, name: str, separator: str, safe: bool) -> pa.Array:
    column = as_single_array(column)
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
    return _quote_cells(column, separator, safe) if text else column


def _quote_cells(column: pa.Array, separator: str, safe: bool) -> pa.Array:
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
