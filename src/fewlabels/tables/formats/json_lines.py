"""JSON Lines: an object per row."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ..._util.messages import UserError
from ..file_identity import StrPath
from ..limits import check_memory
from ..sources import Source
from .blocks import blocks, last_line_end, new_file
from .registry import TablePiece

# Bytes that a cell takes, also a missing one.
_BYTES_PER_CELL = 4
# Cells that are made at a time.
_MAX_CELLS = 1 << 24


def names(source: Source) -> list[str]:
    """Read the whole file and return all keys, in the order of their first occurrence."""
    return list(_scan_keys(source)[0])


@lru_cache(maxsize=4)
def _scan_keys(source: Source) -> tuple[dict[str, None], int]:
    """Return all keys and the number of rows."""
    found, n_rows = {}, 0
    for rows in _read_rows(source):
        n_rows += len(rows)
        for row in rows:
            found.update(dict.fromkeys(row))
    return found, n_rows


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables of texts, as numbers are written in the file, and how much of it was read."""
    done, n_rows = 0, _scan_keys(source)[1]
    if rows is None or rows >= 1 << 20:  # all of it is wanted
        check_memory(source, _BYTES_PER_CELL * n_rows * len(names), "a cell for every row and key")
    step = max(1, _MAX_CELLS // max(1, len(names)))
    for found in _read_rows(source):
        for first in range(0, len(found), step):
            part = found[first : first + step]
            columns = [
                pa.array([_to_text(row.get(name)) for row in part], pa.string()) for name in names
            ]
            done += len(part)
            yield pa.Table.from_arrays(columns, names=names), None, done / n_rows


def _read_rows(source: Source) -> Iterator[list[dict[str, Any]]]:
    encoding = source.reading.encoding or "utf-8"
    done = 0
    for block, _ in blocks(source, encoding, last_line_end):
        lines = block.decode("utf-8-sig" if not done else "utf-8").split("\n")
        rows = []
        for line in filter(str.strip, lines):
            done += 1
            rows.append(_parse_object(line, source, done))
        yield rows


def _parse_object(line: str, source: Source, number: int) -> dict[str, Any]:
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


def _to_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


@contextlib.contextmanager
def writer(
    path: StrPath, separator: None, compressed: bool, safe: bool
) -> Iterator[Callable[..., None]]:
    """Open a new file; gives the function that appends a table."""
    with new_file(path, compressed) as file:
        yield lambda table: file.writelines(_format_objects(table))


def _format_objects(table: pa.Table) -> Iterator[bytes]:
    """Yield a line of JSON per row, with null for what is blank or no finite number."""
    for row in table.to_pylist():
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                row[name] = None
        yield json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"
