"""JSON Lines: an object per row."""

import json
from functools import lru_cache

import pyarrow as pa

from ..errors import UserError
from .blocks import blocks


@lru_cache(maxsize=4)
def names(source):
    """All keys, in the order of their first occurrence; the whole file is read for them."""
    found = {}
    for rows, _ in _rows(source):
        for row in rows:
            found.update(dict.fromkeys(row))
    return list(found)


def pieces(source, names, rows, types):
    """Tables of texts, as numbers are written in the file, and how much of it was read."""
    for found, share in _rows(source):
        columns = [
            pa.array([_text(row.get(name)) for row in found], pa.string()) for name in names
        ]
        yield pa.Table.from_arrays(columns, names=names), None, share


def _rows(source):
    encoding = source.reading.encoding or "utf-8"
    done = 0
    for block, share in blocks(source, encoding, lambda text: text.rfind(b"\n") + 1):
        lines = block.decode("utf-8-sig" if not done else "utf-8").split("\n")
        rows = []
        for line in filter(str.strip, lines):
            done += 1
            rows.append(_object(line, source, done))
        yield rows, share


def _object(line, source, number):
    try:
        row = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply")
        raise UserError(
            f"{source} cannot be read: row {number} is no JSON ({reason}); every line is an "
            'object such as {"a": 1, "b": "x"}.'
        ) from error
    if not isinstance(row, dict):
        raise UserError(
            f"{source} cannot be read: row {number} is no object; every line is one, such as "
            '{"a": 1, "b": "x"}.'
        )
    return row


def _text(value):
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
