"""Tables of SQLite databases."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..._util.messages import UserError
from ..limits import InterruptibleCall
from ..sources import Source
from .databases import check_share_read, choose_table, quoted
from .registry import TablePiece

# Rows that are read at a time.
_MAX_BATCH_ROWS = 1 << 14
# Bytes of texts that are read at a time.
_MAX_BATCH_BYTES = 1 << 26
# Bytes of the longest row.
_MAX_ROW_BYTES = 1 << 28
# A view is a program of whoever made the file. It may neither reach other files nor change how
# this one is read, and must not call what some builds have for files and extensions. Indexes of
# texts and places need some settings.
_DENIED_ACTIONS = frozenset(
    {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_VTABLE}
)
_READABLE_PRAGMAS = frozenset({"data_version", "page_size"})
_DENIED_FUNCTIONS = frozenset(
    {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
)
_SETTINGS = "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON"


def names(source: Source) -> list[str]:
    """Return names of the columns."""
    with _open_database(source) as (connection, run):
        table = _choose_table(source, connection)
        found = run(connection.execute, f"SELECT * FROM {table} LIMIT 0")
        return [column[0] for column in found.description]


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables of texts, since a column may hold anything, and how much was read."""
    with _open_database(source) as (connection, run):
        table = _choose_table(source, connection)
        n_rows = run(_first_row, connection, f"SELECT count(*) FROM {table}")[0]
        cursor, done = run(connection.execute, f"SELECT * FROM {table}"), 0
        while found := run(_fetch_some, cursor, min(rows or _MAX_BATCH_ROWS, _MAX_BATCH_ROWS)):
            done += len(found)
            columns = [
                pa.array(map(_to_text, cells), pa.string()) for cells in zip(*found, strict=True)
            ]
            share = check_share_read(source, done, n_rows)
            yield pa.Table.from_arrays(columns, names=names), None, share


def _first_row(connection: sqlite3.Connection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchone()


def _fetch_some(cursor: sqlite3.Cursor, most: int) -> list[tuple[Any, ...]]:
    """Fetch the next rows, fewer than ``most`` if they are long: a view may make up texts."""
    found: list[tuple[Any, ...]] = []
    size = 0
    while len(found) < most and size < _MAX_BATCH_BYTES and (row := cursor.fetchone()):
        found.append(row)
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
    return found


@contextlib.contextmanager
def _open_database(source: Source) -> Iterator[tuple[sqlite3.Connection, InterruptibleCall]]:
    """Return the database, and what runs calls so that they end."""
    address = f"{Path(source).resolve().as_uri()}?mode=ro"
    try:
        with (
            contextlib.closing(
                sqlite3.connect(address, uri=True, check_same_thread=False)
            ) as connection,
            InterruptibleCall(source, connection.interrupt) as run,
        ):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_ROW_BYTES)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.executescript(_SETTINGS)
            connection.set_authorizer(_is_allowed)
            yield connection, run
    except sqlite3.Error as error:
        raise UserError(f"{source} can't be read: {error}.") from error


def _is_allowed(
    action: int, first: str | None, second: str | None, database: str | None, view: str | None
) -> int:
    """Authorize actions for SQLite."""
    fine = action not in _DENIED_ACTIONS
    if action == sqlite3.SQLITE_PRAGMA:
        fine = first in _READABLE_PRAGMAS and second is None
    elif action == sqlite3.SQLITE_FUNCTION:
        fine = str(second).lower() not in _DENIED_FUNCTIONS
    return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY


def _choose_table(source: Source, connection: sqlite3.Connection) -> str:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return choose_table(source, {name: quoted(name) for (name,) in found})


def _to_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)
