"""Tables of DuckDB databases."""

import contextlib

import pyarrow as pa

from ..errors import UserError
from ..limits import check_room
from .databases import extra, quoted, table_of

# Rows, and bytes of texts, at a time; rows that the database itself makes at a time at least, and
# how often they lie in memory then.
_ROWS, _BYTES, _MADE, _COPIES = 1 << 14, 1 << 26, 2048, 2
# What has a length of its own, and what has none before it is written as text.
_LENGTHS = {"VARCHAR": "strlen({})", "BLOB": "octet_length({})"}
_NESTED = ("[", "STRUCT", "MAP", "UNION", "JSON", "BIT")


def names(source):
    """Names of the columns."""
    with _opened(source) as (connection, table):
        return connection.sql(f"SELECT * FROM {table}").columns


def pieces(source, names, rows, types):
    """Tables with the types of the database, and how much was read."""
    with _opened(source) as (connection, table):
        found = connection.sql(f"SELECT * FROM {table}")
        sizes = f"SELECT {_size(found)} AS size FROM {table}"
        n_rows, n_bytes, longest = connection.sql(
            f"SELECT count(*), sum(size), max(size) FROM ({sizes})"
        ).fetchall()[0]
        longest, done = max(1, longest or 0), 0
        check_room(
            source, _COPIES * min(n_bytes or 0, _MADE * longest), "texts of rows read at a time"
        )
        most = min(rows or _ROWS, _ROWS, max(1, _BYTES // longest))
        for batch in found.fetch_arrow_reader(most):
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), None, done / max(1, n_rows)


def _size(found):
    """The bytes of texts in a row, as the database counts them without keeping any."""
    parts = ["0"]
    for name, kind in zip(found.columns, map(str, found.types), strict=True):
        nested = any(word in kind for word in _NESTED)
        form = "strlen({}::VARCHAR)" if nested else _LENGTHS.get(kind)
        if form:
            parts.append(f"coalesce({form.format(quoted(name))}, 0)")
    return " + ".join(parts)


@contextlib.contextmanager
def _opened(source):
    duckdb = extra("duckdb", source, "duckdb")
    try:
        with duckdb.connect(str(source.path), read_only=True) as connection:
            found = connection.sql(
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            known = {}
            for schema, name in found:
                shown = name if schema == "main" else f"{schema}.{name}"
                known[shown] = f"{quoted(schema)}.{quoted(name)}"
            yield connection, table_of(source, known)
    except duckdb.Error as error:
        raise UserError(f"{source} cannot be read: {str(error).splitlines()[0]}.") from error
