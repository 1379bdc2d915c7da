"""Rows to watch in batches: of files, and of standard input as lines arrive."""

from __future__ import annotations

import os
import re
import select
from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..._typing import BoolArray, PathLike
from ..._util.messages import UserError, plural, ref
from ...tables.columns.schema import IMPUTE, Schema
from ...tables.columns.tally import Tally
from ...tables.formats.blocks import check_row_length
from ...tables.reading.chunks import Chunk, iterate_chunks
from ...tables.temporary_folders import temporary_folder
from ...tables.user_data import make_source
from .state import WatchProgress

if TYPE_CHECKING:
    import pandas as pd

# Bytes that are read from standard input at once.
_BYTES_PER_READ = 1 << 16
# Seconds to wait for more.
_WAIT_SECONDS = 0.2


def unread_rows(
    path: PathLike, schema: Schema, counted: WatchProgress, size: int, reading: dict[str, Any]
) -> tuple[WatchProgress, Iterator[Chunk]]:
    """Find the rows of a file that aren't ``counted`` yet; returns progress and chunks.

    Chunks have at most ``size`` rows. A file that begins with other rows than those counted is
    another file of the same name, and is read from its beginning.
    """
    chunks = _chunks(path, schema, size, reading)
    reached = WatchProgress()
    for chunk in chunks:
        n, skip = len(chunk.complete), max(0, counted.rows - reached.rows)
        reached = reached.after(*_first_rows(chunk, min(n, skip)))
        if _is_other_file(reached, counted):
            return WatchProgress(), _chunks(path, schema, size, reading)
        if skip < n:
            return reached, chain([_without_first(chunk, skip)], chunks)
    if reached.rows < counted.rows:
        raise UserError(
            f"{path} has {plural(reached.rows, 'row')}, fewer than the {counted.rows:,} that were "
            f"counted earlier, so rows were removed; pass another {ref('state')}, or restore the "
            "file."
        )
    return reached, iter(())


def _chunks(path: PathLike, schema: Schema, size: int, reading: dict[str, Any]) -> Iterator[Chunk]:
    source = make_source(path, **reading)
    source.first_look.grows = True  # rows are added to files that are watched
    tally = Tally(source, skip_missing=schema.missing != IMPUTE)
    for chunk in iterate_chunks(source, schema, tally, size):
        tally.check()
        yield chunk


def _is_other_file(reached: WatchProgress, counted: WatchProgress) -> bool:
    """Return whether the rows read so far aren't those counted: the first one, or all of them."""
    if not reached.rows:
        return False
    whole = reached.rows == counted.rows
    return reached.first != counted.first or (whole and reached.digest != counted.digest)


def batches_of_stream(
    stream: BinaryIO,
    schema: Schema,
    done: int,
    size: int,
    reading: dict[str, Any],
    form: str | None,
) -> Iterator[Chunk]:
    """Yield chunks of lines as they arrive, behind the first ``done`` rows."""
    lines, header = _Lines(stream, size), None
    with temporary_folder() as folder:
        while (block := lines.next()) is not None:
            if form is None:
                form = "jsonl" if block[0].lstrip(b"\xef\xbb\xbf \t").startswith(b"{") else "csv"
            if form != "jsonl" and header is None and reading.get("header", True):
                header, block = block[0], block[1:]
                if not block:
                    continue
            path = Path(folder) / f"standard-input.{form}"
            path.write_bytes(b"".join([header or b"", *block]))
            source = make_source(path, **reading)
            tally = Tally("standard input", skip_missing=schema.missing != IMPUTE)
            if form != "jsonl" and "sep" not in reading:
                reading = reading | {"sep": source.dialect.sep}
            for chunk in iterate_chunks(source, schema, tally, size):
                tally.check()
                n, skip = len(chunk.complete), min(done, len(chunk.complete))
                done -= skip
                if skip < n:
                    yield _without_first(chunk, skip)


def _first_rows(chunk: Chunk, n: int) -> tuple[pd.DataFrame, BoolArray]:
    """Return the first rows of a chunk: cells of the complete ones, and which are complete."""
    complete = chunk.complete[:n]
    return chunk.frame.iloc[: int(complete.sum())], complete


def _without_first(chunk: Chunk, skip: int) -> Chunk:
    """Return a chunk without its first rows."""
    if not skip:
        return chunk
    before = int(chunk.complete[:skip].sum())
    target = None if chunk.target is None else chunk.target[skip:]
    return chunk._replace(
        rows=chunk.frame.iloc[before:],
        complete=chunk.complete[skip:],
        empty=chunk.empty[skip:],
        target=target,
    )


class _Lines:
    """Whole rows of text from a stream: as many as there are, at most ``size`` at a time."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._descriptor, self._size = stream.fileno(), size
        # The line that is being read, and the lines before it that a quote holds open.
        self._line, self._row = bytearray(), bytearray()
        self._is_quoted = False
        self._rows: deque[bytes] = deque()
        self._ended = False

    def next(self) -> list[bytes] | None:
        """Return the next rows; None at the end."""
        while True:
            waiting = bool(self._rows)
            if len(self._rows) >= self._size or (waiting and not self._has_more()):
                break
            if self._ended:
                break
            self._read()
        if not self._rows:
            return None
        return [self._rows.popleft() for _ in range(min(self._size, len(self._rows)))]

    def _has_more(self) -> bool:
        if self._ended:
            return False
        try:
            return bool(select.select([self._descriptor], [], [], _WAIT_SECONDS)[0])
        except (OSError, ValueError):  # no descriptor that can be waited for
            return True

    def _read(self) -> None:
        read = os.read(self._descriptor, _BYTES_PER_READ)
        if not read:
            self._ended = True
            read = b"\n" if self._line or self._row else b""
        first, *others = read.split(b"\n")
        self._line += first
        for line in others:
            self._end_line()
            self._line += line
        check_row_length("standard input", len(self._row) + len(self._line))

    def _end_line(self) -> None:
        """Add the line to its row, and the row to those that are whole."""
        self._is_quoted ^= self._line.count(b'"') % 2 == 1
        self._row += self._line + b"\n"
        self._line.clear()
        if self._is_quoted and not self._ended and not re.match(rb"\s*\{", self._row):
            return  # a quoted cell continues on the next line
        if not self._row.isspace():
            self._rows.append(bytes(self._row))
        self._row.clear()
        self._is_quoted = False
