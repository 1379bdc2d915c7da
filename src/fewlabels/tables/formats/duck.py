"""Tables of DuckDB databases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._util.messages import UserError
from ..limits import Patient, allowed_bytes, check_room
from ..sources import Source
from .databases import quoted, share_read, table_of
from .registry import TablePiece

if TYPE_CHECKING:
    import duckdb

# Rows, and bytes of texts, at a time; rows that the database itself makes at a time at least, and
# how often they lie in memory then.
_ROWS, _BYTES, _MADE, _COPIES = 1 << 14, 1 << 26, 2048, 2
# What has a length of its own, and what has none before it is written as text.
_LENGTHS = {"VARCHAR": "strlen({})", "BLOB": "octet_length({})"}
_NESTED = ("[", "STRUCT", "MAP", "UNION", "JSON", "BIT")
# A view is a program of whoever made the file: it reaches nothing but the file, and can't change
# that. It gets memory (in bytes, at least) and no disk.
_CONFINED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "temp_directory": "",
}
_LEAST_MEMORY = 2e8
_SETTINGS = "SET python_enable_replacements = false; SET lock_configuration = true"


def names(source: Source) -> list[str]:
    """Names of the columns."""
    with _opened(source) as (connection, table, run):
        return run(connection.sql, f"SELECT * FROM {table}").columns


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Tables with the types of the database, and how much was read."""
    with _opened(source) as (connection, table, run):
        found = run(connection.sql, f"SELECT * FROM {table}")
        sizes = f"SELECT {_size(found)} AS size FROM {table}"
        n_rows, n_bytes, longest = run(
            _first_row, connection, f"SELECT count(*), sum(size), max(size) FROM ({sizes})"
        )
        longest, done = max(1, longest or 0), 0
        check_room(
            source, _COPIES * min(n_bytes or 0, _MADE * longest), "texts of rows read at a time"
        )
        most = min(rows or _ROWS, _ROWS, max(1, _BYTES // longest))
        # The new name and the one before it.
        reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
        batches = run(reader, most)
        while (batch := run(next, batches, None)) is not None:
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), None, share_read(source, done, n_rows)


def _first_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]


def _size(found: duckdb.DuckDBPyRelation) -> str:
    """The bytes of texts in a row, as the database counts them without keeping any."""
    parts = ["0"]
    for name, kind in zip(found.columns, map(str, found.types), strict=True):
        nested = any(word in kind for word in _NESTED)
        form = "strlen({}::VARCHAR)" if nested else _LENGTHS.get(kind)
        if form:
            parts.append(f"coalesce({form.format(quoted(name))}, 0)")
    return " + ".join(parts)


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, Patient]]:
    """The database, a table of it as SQL names it, and what runs calls so that they end."""
    import duckdb

    memory = f"{max(_LEAST_MEMORY, allowed_bytes()) / 1e6:.0f}MB"
    try:
        with (
            duckdb.connect(
                str(source.path), read_only=True, config={**_CONFINED, "memory_limit": memory}
            ) as connection,
            Patient(source, connection.interrupt) as run,
        ):
            connection.execute(_SETTINGS)
            found = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            known = {}
            for schema, name in found:
                shown = name if schema == "main" else f"{schema}.{name}"
                known[shown] = f"{quoted(schema)}.{quoted(name)}"
            yield connection, table_of(source, known), run
    except duckdb.PermissionException as error:
        raise UserError(
            f"{source} is a view that reads other files, which is not allowed; pass a table, or "
            "export the view to a file."
        ) from error
    except duckdb.Error as error:
        raise UserError(f"{source} can't be read: {str(error).splitlines()[0]}.") from error
