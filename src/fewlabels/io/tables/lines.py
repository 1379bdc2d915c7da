"""Rows of delimited text as they stand in the file, beside the columns that a model needs.

A table that only gets columns added needs no cell written anew: rows are passed on byte for
byte, and nothing is parsed but what the model takes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..paths import SEPARATORS
from .read import column_names, data_blocks, no_rows, parse, readable


def iterate_lines(path, form, rows, types):
    """Pieces of at most ``rows`` rows of delimited text, read one after the other.

    Gives the columns of ``types`` (name to Arrow type; all columns as text where a cell does not
    fit), the rows as they stand in the file, each behind the line break before it (None where it
    takes a parser to say where a row ends, and then too all columns are parsed as text), and how
    much of the file was read, from 0 to 1.
    """
    column_names(path, form)
    empty = True
    with readable(path):
        for names, block, share in data_blocks(path, form):
            lines = _cut(block, SEPARATORS[form])
            table = _parsed(block, names, form, types if lines is not None else None)
            if lines is not None and len(lines) != table.num_rows:
                table, lines = parse(block, names, form), None
            empty &= not table.num_rows
            pieces = max(1, -(-table.num_rows // rows))
            size = -(-table.num_rows // pieces)
            for start in range(0, table.num_rows, max(1, size)):
                piece = None if lines is None else lines.slice(start, size)
                yield table.slice(start, size), piece, share
    if empty:
        raise no_rows(path)


def _parsed(block, names, form, types):
    if types:
        try:
            return parse(block, names, form, types)
        except pa.ArrowInvalid:
            pass  # as text, so that the cell can be named
    return parse(block, names, form)


def _cut(block, separator):
    """Rows of a block behind the line breaks before them; None for unclear ones."""
    if b"\r" in block:
        if b'"' in block and _within_quotes(block, b"\r"):
            return None  # a cell keeps its bytes
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            return None
    if not block.isascii():
        block.decode("utf-8")
    block = block.lstrip(b"\n")
    block = b"\n" + block if block.endswith(b"\n") else b"\n" + block + b"\n"
    characters = np.frombuffer(block, dtype=np.uint8)
    breaks = np.flatnonzero(characters == ord("\n"))
    if b'"' in block:
        quotes = np.flatnonzero(characters == ord('"'))
        if not _well_quoted(characters, quotes, ord(separator)):
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


def _within_quotes(block, character):
    """Whether a quoted cell holds a character."""
    characters = np.frombuffer(block, dtype=np.uint8)
    quotes = np.flatnonzero(characters == ord('"'))
    places = np.flatnonzero(characters == ord(character))
    return bool((np.searchsorted(quotes, places) % 2).any())


def _well_quoted(characters, quotes, separator):
    """Whether every quote opens or closes a cell, or is one of two within it."""
    if len(quotes) % 2:
        return False
    allowed = np.zeros(256, dtype=bool)
    allowed[[separator, ord("\n"), ord('"')]] = True
    return bool(
        allowed[characters[quotes[::2] - 1]].all() and allowed[characters[quotes[1::2] + 1]].all()
    )
