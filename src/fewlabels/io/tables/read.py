"""Reading CSV, TSV and Parquet, whole or in pieces.

A table that only gets columns added needs no cell written anew: rows of delimited text are passed
on byte for byte, and nothing is parsed but what the model takes.
"""

import contextlib
import csv
import gzip
import io
import os
import re
import zlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ..errors import UserError, listing
from ..limits import check_room
from ..paths import SEPARATORS, is_compressed
from .columns import MISSING

# Delimited text is read in blocks of this size; a longer row makes its block longer.
BLOCK_BYTES = 1 << 24
# A row that is longer has no end: a quote was left open, or it is no table.
_LONGEST_ROW = 1 << 28
# What Arrow and pandas take for a column, whatever it holds.
_PER_COLUMN = 20_000
# What learning takes besides a table as it was read: numbers, encoded and prepared for kernels.
_COPIES = 4


def column_names(path, form):
    """Names of the columns; duplicates are refused."""
    with readable(path):
        if form == "frame":
            names = path.content.column_names
        elif form == "parquet":
            names = pq.read_schema(path).names
        else:
            names = _header(next(_blocks(path), (b"", 1.0))[0], form)[0]
    if form in SEPARATORS and not names:
        needs = "a row of column names and rows of data"
        raise UserError(f"{path} cannot be read: it has no rows; it needs {needs}.")
    what = f"{len(names)} columns; a matrix as .npz or .svmlight takes less"
    check_room(path, _PER_COLUMN * len(names), what)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(
            f"Columns of {path} share a name ({listing(twice)}); rename them so that each name "
            "occurs once."
        )
    if len(names) == 1 and form in SEPARATORS:
        for separator, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
            if separator in names[0]:
                raise UserError(
                    f"{path} seems to be separated by {word}; write .csv files with commas and "
                    ".tsv files with tabs."
                )
    return names


def read_table(path, form):
    """Read the whole table; cells of delimited text stay text."""
    if form == "parquet":
        with readable(path):
            stored = pq.ParquetFile(path).metadata
        check_room(path, 8 * stored.num_rows * stored.num_columns, "its cells as numbers")
    tables, total = [], 0
    for table, _, share in iterate_tables(path, form, None if form == "frame" else 1 << 20):
        total += table.nbytes
        # What is to come is guessed from what was read, once that is enough to tell.
        expected = total / max(share, 1e-3) if total > BLOCK_BYTES else total
        check_room(path, _COPIES * expected, "read as a whole, with what learning needs beside it")
        tables.append(table)
    return pa.concat_tables(tables)


def iterate_tables(path, form, rows=None, types=None):
    """Pieces of at most ``rows`` rows, their lines, and how much of the file was read (0 to 1).

    Cells of delimited text are text. Where just the columns of ``types`` (name to Arrow type) are
    asked for, lines are the rows as they stand in the file, each behind the line break before it;
    None (and all columns text) where it takes a parser to say where a row ends. All columns are
    text, too, where a cell does not fit its type.
    """
    names = column_names(path, form)
    empty = True
    with readable(path), contextlib.ExitStack() as stack:
        if form == "frame":
            parsed = [(path.content, None, 1.0)]
        elif form == "parquet":
            parsed = _parquet_pieces(stack.enter_context(pq.ParquetFile(path)), rows)
        else:
            parsed = _parsed_blocks(path, form, names, types)
        for table, lines, share in parsed:
            empty &= not table.num_rows
            n_pieces = -(-table.num_rows // rows) if rows else 1
            size = -(-table.num_rows // max(1, n_pieces))
            for start in range(0, table.num_rows, max(1, size)):
                piece = None if lines is None else lines.slice(start, size)
                yield table.slice(start, size), piece, share
    if empty:
        raise UserError(f"{path} has column names but no rows; add rows of data.")


def _parquet_pieces(file, rows):
    done, n_rows = 0, file.metadata.num_rows
    for batch in file.iter_batches(batch_size=rows):
        done += batch.num_rows
        yield pa.Table.from_batches([batch]), None, done / max(1, n_rows)


def _parsed_blocks(path, form, names, types):
    """Arrow's streaming reader would read ahead, the whole file if the consumer is slow."""
    for k, (block, share) in enumerate(_blocks(path)):
        if k == 0:
            block = block[_header(block, form)[1] :]
        if not block or block.isspace():  # there is nothing but the header
            continue
        lines = None if types is None else _cut_lines(block, SEPARATORS[form])
        try:
            table = _parse(block, names, form, types if lines is not None else None)
        except pa.ArrowInvalid:  # a cell that does not fit is named where all are text
            table = _parse(block, names, form)
        if lines is not None and len(lines) != table.num_rows:
            table, lines = _parse(block, names, form), None
        yield table, lines, share


def _parse(block, names, form, types=None):
    """Parse whole rows: the columns of ``types`` (name to Arrow type), or all as text."""
    read = pacsv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False)
    syntax = pacsv.ParseOptions(delimiter=SEPARATORS[form], newlines_in_values=True)
    convert = pacsv.ConvertOptions(
        column_types=types or dict.fromkeys(names, pa.string()),
        include_columns=list(types or ()),
        strings_can_be_null=False,
        null_values=list(MISSING),
    )
    return pacsv.read_csv(pa.py_buffer(block), read, syntax, convert)


def _blocks(path):
    """The bytes of a file in blocks of whole rows, and how much of it was read."""
    with contextlib.ExitStack() as stack:
        stored = stack.enter_context(open(path, "rb"))
        size = os.fstat(stored.fileno()).st_size
        file = stored
        if is_compressed(path):
            file = stack.enter_context(gzip.GzipFile(fileobj=stored))
        rest = b""
        while read := file.read(BLOCK_BYTES):
            block = rest + read if rest else read
            end = _last_row_end(block)
            if not end and len(block) > _LONGEST_ROW:
                raise UserError(
                    f"{path} has a row of more than {_LONGEST_ROW >> 20} MB; close the quote that "
                    "was left open, or give a table of shorter rows."
                )
            block, rest = block[:end], block[end:]
            if block and not block.isspace():
                yield block, min(1.0, stored.tell() / size)
        if rest and not rest.isspace():
            yield rest, 1.0


def _last_row_end(block):
    """Where the last complete row ends: its line break has an even number of quotes before it."""
    for mark in (b"\n", b"\r"):
        end, n_before = len(block), block.count(b'"')
        while (found := block.rfind(mark, 0, end)) >= 0:
            n_before -= block.count(b'"', found, end)
            if n_before % 2 == 0:
                return found + 1
            end = found
    return 0


def _header(block, form):
    """Names in the first row and where it ends."""
    start = len(block) - len(block.lstrip(b"\r\n"))
    end = start
    for found in re.finditer(rb"[\r\n]|\Z", block[start:]):
        end = start + found.end()
        if block.count(b'"', start, end) % 2 == 0:
            break
    row = io.StringIO(block[start:end].rstrip(b"\r\n").decode("utf-8-sig"), newline="")
    return next(csv.reader(row, delimiter=SEPARATORS[form]), []), end


def _cut_lines(block, separator):
    """Rows of a block behind the line breaks before them; None for unclear ones."""
    if b"\r" in block:
        returns = _places(block, b"\r")
        if b'"' in block and (np.searchsorted(_places(block, b'"'), returns) % 2).any():
            return None  # a cell keeps its bytes
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            return None
    if not block.isascii():
        block.decode("utf-8")
    block = block.lstrip(b"\n")
    block = b"\n" + block if block.endswith(b"\n") else b"\n" + block + b"\n"
    breaks = _places(block, b"\n")
    if b'"' in block:
        quotes = _places(block, b'"')
        if not _well_quoted(block, quotes, separator):
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


def _places(block, character):
    return np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord(character))


def _well_quoted(block, quotes, separator):
    """Whether every quote opens or closes a cell, or is one of two within it."""
    if len(quotes) % 2:
        return False
    characters = np.frombuffer(block, dtype=np.uint8)
    allowed = np.zeros(256, dtype=bool)
    allowed[[ord(separator), ord("\n"), ord('"')]] = True
    beside = np.concatenate([quotes[::2] - 1, quotes[1::2] + 1])
    return bool(allowed[characters[beside]].all())


@contextlib.contextmanager
def readable(path):
    """Turn what the readers say into one sentence."""
    try:
        yield
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        message = str(error).removeprefix("CSV parse error: ").strip().rstrip(".")
        if "UTF8" in message or "utf-8" in message:
            message = "its text is not UTF-8; save it with that encoding"
        elif "magic bytes" in message or "Parquet" in message:
            message = "it is no Parquet file, or it was cut short"
        elif "Expected" in message:
            cut = message[:160].replace("\n", " ")
            message = f"{cut}; every row needs as many cells as there are column names"
        raise UserError(f"{path} cannot be read: {message}.") from error
    except csv.Error as error:
        raise UserError(f"{path} cannot be read: in its first row, {error}.") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: it was cut short or is damaged.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error
