"""Tables of DuckDB databases."""

import contextlib

import pyarrow as pa

from ..errors import UserError
from .databases import extra, quoted, table_of

_ROWS = 1 << 14


def names(source):
    """Names of the columns."""
    with _opened(source) as (connection, table):
        return connection.sql(f"SELECT * FROM {table}").columns


def pieces(source, names, rows, types):
    """Tables with the types of the database, and how much was read."""
    with _opened(source) as (connection, table):
        n_rows = connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        done = 0
        found = connection.sql(f"SELECT * FROM {table}")
        for batch in found.fetch_arrow_reader(min(rows or _ROWS, _ROWS)):
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), None, done / max(1, n_rows)


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
