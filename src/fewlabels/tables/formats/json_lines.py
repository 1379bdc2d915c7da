"""JSON Lines: an object per row."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ..._util.messages import UserError
from ..limits import check_room
from ..sources import Source
from ..steady import StrPath
from .blocks import blocks, new_file
from .registry import TablePiece

# Bytes that a cell takes, also one that is missing, and cells that are written out at a time.
_PER_CELL, _CELLS = 4, 1 << 24


def names(source: Source) -> list[str]:
    """All keys, in the order of their first occurrence; the whole file is read for them."""
    return list(_seen(source)[0])


@lru_cache(maxsize=4)
def _seen(source: Source) -> tuple[dict[str, None], int]:
    """All keys, and how many rows there are."""
    found, n_rows = {}, 0
    for rows in _rows(source):
        n_rows += len(rows)
        for row in rows:
            found.update(dict.fromkeys(row))
    return found, n_rows


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Tables of texts, as numbers are written in the file, and how much of it was read."""
    done, n_rows = 0, _seen(source)[1]
    if rows is None or rows >= 1 << 20:  # all of it is wanted
        check_room(source, _PER_CELL * n_rows * len(names), "a cell for every row and key")
    step = max(1, _CELLS // max(1, len(names)))
    for found in _rows(source):
        for first in range(0, len(found), step):
            part = found[first : first + step]
            columns = [
                pa.array([_text(row.get(name)) for row in part], pa.string()) for name in names
            ]
            done += len(part)
            yield pa.Table.from_arrays(columns, names=names), None, done / n_rows


def _rows(source: Source) -> Iterator[list[dict[str, Any]]]:
    encoding = source.reading.encoding or "utf-8"
    done = 0
    for block, _ in blocks(source, encoding, lambda text: text.rfind(b"\n") + 1):
        lines = block.decode("utf-8-sig" if not done else "utf-8").split("\n")
        rows = []
        for line in filter(str.strip, lines):
            done += 1
            rows.append(_object(line, source, done))
        yield rows


def _object(line: str, source: Source, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply")
        raise UserError(
            f"{source} can't be read: row {number} is not JSON ({reason}); every line must be an "
            'object such as {"a": 1, "b": "x"}.'
        ) from error
    if not isinstance(row, dict):
        raise UserError(
            f"{source} can't be read: row {number} is not an object; every line must be one, "
            'such as {"a": 1, "b": "x"}.'
        )
    return row


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


@contextlib.contextmanager
def writer(
    path: StrPath, separator: None, compressed: bool, safe: bool
) -> Iterator[Callable[..., None]]:
    """Open a new file; gives the function that appends a table."""
    with new_file(path, compressed) as file:
        yield lambda table: file.writelines(_objects(table))


def _objects(table: pa.Table) -> Iterator[bytes]:
    """A line of JSON per row, with null for what is blank or no finite number."""
    for row in table.to_pylist():
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                row[name] = None
        yield json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"
