"""Tables of DuckDB databases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._util.messages import UserError
from ..limits import InterruptibleCall, allowed_bytes, check_memory
from ..sources import Source
from .databases import check_share_read, choose_table, quoted
from .registry import TablePiece

if TYPE_CHECKING:
    import duckdb

# Rows that are read at a time.
_MAX_BATCH_ROWS = 1 << 14
# Bytes of texts that are read at a time.
_MAX_BATCH_BYTES = 1 << 26
# Rows that the database itself makes at a time, at least.
_VECTOR_ROWS = 2048
# Copies of these rows in memory.
_VECTOR_COPIES = 2
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
_MIN_MEMORY_BYTES = 2e8
_SETTINGS = "SET python_enable_replacements = false; SET lock_configuration = true"


def names(source: Source) -> list[str]:
    """Return names of the columns."""
    with _open_database(source) as (connection, table, run):
        return run(connection.sql, f"SELECT * FROM {table}").columns


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables with the types of the database, and how much was read."""
    with _open_database(source) as (connection, table, run):
        query = f"SELECT * FROM {table}"
        found = run(connection.sql, query)
        casts = [
            f"{quoted(name)}::VARCHAR AS {quoted(name)}"
            for name, kind in zip(found.columns, found.types, strict=True)
            if "INTERVAL" in str(kind)  # no format can hold one, alone or in a list
        ]
        if casts:
            query = f"SELECT * REPLACE ({', '.join(casts)}) FROM {table}"
            found = run(connection.sql, query)
        sizes = f"SELECT {_size_query(found)} AS size FROM ({query})"
        n_rows, n_bytes, longest = run(
            _first_row, connection, f"SELECT count(*), sum(size), max(size) FROM ({sizes})"
        )
        longest, done = max(1, longest or 0), 0
        check_memory(
            source,
            _VECTOR_COPIES * min(n_bytes or 0, _VECTOR_ROWS * longest),
            "texts of rows read at a time",
        )
        most = min(rows or _MAX_BATCH_ROWS, _MAX_BATCH_ROWS, max(1, _MAX_BATCH_BYTES // longest))
        # The new name and the one before it.
        reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
        batches = run(reader, most)
        while (batch := run(next, batches, None)) is not None:
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), None, check_share_read(source, done, n_rows)


def _first_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]


def _size_query(found: duckdb.DuckDBPyRelation) -> str:
    """Return the bytes of texts in a row, as the database counts them without keeping any."""
    parts = ["0"]
    for name, kind in zip(found.columns, map(str, found.types), strict=True):
        nested = any(word in kind for word in _NESTED)
        form = "strlen({}::VARCHAR)" if nested else _LENGTHS.get(kind)
        if form:
            parts.append(f"coalesce({form.format(quoted(name))}, 0)")
    return " + ".join(parts)


@contextlib.contextmanager
def _open_database(
    source: Source,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, InterruptibleCall]]:
    """Return the database, a table of it as SQL names it, and what runs calls so that they end."""
    import duckdb

    memory = f"{max(_MIN_MEMORY_BYTES, allowed_bytes()) / 1e6:.0f}MB"
    try:
        with (
            duckdb.connect(
                str(source.path), read_only=True, config={**_CONFINED, "memory_limit": memory}
            ) as connection,
            InterruptibleCall(source, connection.interrupt) as run,
        ):
            connection.execute(_SETTINGS)
            found = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            known = {}
            for schema, name in found:
                shown = name if schema == "main" else f"{schema}.{name}"
                known[shown] = f"{quoted(schema)}.{quoted(name)}"
            yield connection, choose_table(source, known), run
    except duckdb.PermissionException as error:
        raise UserError(
            f"{source} is a view that reads other files, which is not allowed; pass a table, or "
            "export the view to a file."
        ) from error
    except duckdb.Error as error:
        raise UserError(f"{source} can't be read: {str(error).splitlines()[0]}.") from error
