"""Tables of SQLite databases."""

import contextlib
import sqlite3
from pathlib import Path

import pyarrow as pa

from ..errors import UserError
from .databases import quoted, table_of

# Rows, and bytes of texts, at a time; and bytes of the longest row.
_ROWS, _BYTES, _LONGEST = 1 << 14, 1 << 26, 1 << 28


def names(source):
    """Names of the columns."""
    with _opened(source) as connection:
        found = connection.execute(f"SELECT * FROM {_table(source, connection)} LIMIT 0")
        return [column[0] for column in found.description]


def pieces(source, names, rows, types):
    """Tables of texts, since a column may hold anything, and how much was read."""
    with _opened(source) as connection:
        table = _table(source, connection)
        n_rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        cursor, done = connection.execute(f"SELECT * FROM {table}"), 0
        while found := _some(cursor, min(rows or _ROWS, _ROWS)):
            done += len(found)
            columns = [
                pa.array(map(_text, cells), pa.string()) for cells in zip(*found, strict=True)
            ]
            yield pa.Table.from_arrays(columns, names=names), None, min(1.0, done / n_rows)


def _some(cursor, most):
    """The next rows, fewer than ``most`` where they are long: a view may make texts of nothing."""
    found, size = [], 0
    while len(found) < most and size < _BYTES and (row := cursor.fetchone()):
        found.append(row)
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
    return found


@contextlib.contextmanager
def _opened(source):
    address = f"{Path(source).resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            yield connection
    except sqlite3.Error as error:
        raise UserError(f"{source} cannot be read: {error}.") from error


def _table(source, connection):
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return table_of(source, {name: quoted(name) for (name,) in found})


def _text(value):
    if value is None or isinstance(value, str):
        return value
    return f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)
