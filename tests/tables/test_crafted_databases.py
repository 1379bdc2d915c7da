"""Databases whose views read other files, load code, or never end."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables import limits
from fewlabels.tables.reading.read import column_names, read_table

ENDLESS = "WITH RECURSIVE q(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM q) SELECT"


def write_duckdb(path, **views):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a, 'x' AS b FROM range(50)")
        for name, query in views.items():
            connection.execute(f"CREATE VIEW {name} AS {query}")
    return path


def write_sqlite(path, **views):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, 'x')", [(k,) for k in range(50)])
        for name, query in views.items():
            connection.execute(f"CREATE VIEW {name} AS {query}")
        connection.commit()
    return path


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "secret.csv").write_text("password\nswordfish\n")
    return tmp_path / "secret.csv"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT content FROM read_text('{}')",
        "SELECT * FROM read_csv('{}')",
        "SELECT * FROM '{}'",
        "SELECT content FROM read_blob('{}')",
        "SELECT * FROM glob('{}')",
        "SELECT a FROM t WHERE (SELECT count(*) FROM read_text('{}')) > 0",
    ],
)
def test_views_of_duckdb_read_no_other_file(tmp_path, secret, query):
    path = write_duckdb(tmp_path / "d.duckdb", v=query.format(secret))
    for read in (column_names, read_table):
        with pytest.raises(UserError, match="a view that reads other files, which is not allowed"):
            read(f"{path}::v")
    assert read_table(f"{path}::t").num_rows == 50


def test_views_of_duckdb_read_no_variables(tmp_path):
    path = write_duckdb(tmp_path / "d.duckdb")
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE known (a INTEGER); CREATE VIEW v AS SELECT * FROM known")
        connection.execute("DROP TABLE known")
    with pytest.raises(UserError, match=r"d.duckdb::v can't be read"):
        read_table(f"{path}::v")


def test_duckdb_is_opened_for_nothing_else(tmp_path, secret):
    from fewlabels.tables.formats.duck import _open_database
    from fewlabels.tables.user_data import make_source

    path = write_duckdb(tmp_path / "d.duckdb")
    with _open_database(make_source(f"{path}::t")) as (connection, *_):
        for query in (
            "SET enable_external_access = true", "SET memory_limit = '1TB'", "INSTALL httpfs",
            "LOAD httpfs", f"ATTACH '{tmp_path / 'other.duckdb'}' AS other", "DROP TABLE t",
            f"COPY t TO '{tmp_path / 'copy.csv'}'", f"SELECT * FROM '{secret}'",
            "SET autoload_known_extensions = true",
        ):  # fmt: skip
            with pytest.raises(Exception, match=r"(?i)permission|configuration|read-only"):
                connection.execute(query).fetchall()
    assert sorted(os.listdir(tmp_path)) == ["d.duckdb", "secret.csv"]


def test_sqlite_is_opened_for_nothing_else(tmp_path):
    from fewlabels.tables.formats.sqlite import _open_database
    from fewlabels.tables.user_data import make_source

    path = write_sqlite(tmp_path / "d.db", v="SELECT load_extension('x') AS a")
    with _open_database(make_source(f"{path}::t")) as (connection, _):
        for query in (
            f"ATTACH '{tmp_path / 'other.db'}' AS other", "SELECT load_extension('x')",
            "INSERT INTO t VALUES (1, 2)", "PRAGMA query_only = OFF", "DROP TABLE t",
            "PRAGMA trusted_schema = ON", "PRAGMA data_version = 3", "CREATE TABLE x (a)",
            "SELECT * FROM pragma_database_list",
        ):  # fmt: skip
            with pytest.raises(sqlite3.Error, match=r"author|prohibited|readonly|no such func"):
                connection.execute(query).fetchall()
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (50,)
    with pytest.raises(UserError, match=r"d.db::v can't be read: .*load_extension"):
        read_table(f"{path}::v")
    assert os.listdir(tmp_path) == ["d.db"]


def test_tables_of_sqlite_that_are_indexes(tmp_path):
    path = write_sqlite(tmp_path / "d.db")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.execute("INSERT INTO words VALUES ('one two'), ('three')")
        connection.execute("CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)")
        connection.execute("INSERT INTO boxes VALUES (1, 0, 1), (2, 0.5, 2)")
        connection.commit()
    assert read_table(f"{path}::words").to_pydict() == {"text": ["one two", "three"]}
    assert read_table(f"{path}::boxes").num_rows == 2


@pytest.mark.parametrize(
    ("write", "name", "query"),
    [
        (write_sqlite, "d.db", f"{ENDLESS} x FROM q"),
        (write_sqlite, "d.db", f"{ENDLESS} count(*) AS n FROM q"),
        (write_sqlite, "d.db", f"{ENDLESS} x FROM q WHERE x < 0"),
        (write_duckdb, "d.duckdb", f"{ENDLESS} x FROM q"),
        (write_duckdb, "d.duckdb", f"{ENDLESS} count(*) AS n FROM q"),
        (write_duckdb, "d.duckdb", "SELECT count(*) AS n FROM range(10000000) a, range(9999999)"),
    ],
)
def test_views_that_never_end(tmp_path, monkeypatch, write, name, query):
    path = write(tmp_path / name, v=query)
    monkeypatch.setenv(limits.SECONDS, "0.3")
    started, threads = time.monotonic(), threading.active_count()
    with pytest.raises(UserError, match=r"returned no rows for 0.3 s.* set FEWLABELS_SECONDS"):
        read_table(f"{path}::v")
    assert time.monotonic() - started < 10
    assert threading.active_count() <= threads + 2


@pytest.mark.parametrize(("write", "name"), [(write_sqlite, "d.db"), (write_duckdb, "d.duckdb")])
def test_ctrl_c_ends_a_view_that_never_does(tmp_path, write, name):
    path = write(tmp_path / name, v=f"{ENDLESS} x FROM q")
    code = (
        "import sys\n"
        "from fewlabels.tables.reading.read import read_table\n"
        "print('reading', flush=True)\n"
        "read_table(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, f"{path}::v"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with subprocess.Popen(command, text=True, env=env, **pipes) as process:
        assert process.stdout.readline() == "reading\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        try:
            error = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    assert error.rstrip().endswith("KeyboardInterrupt")


def test_a_view_of_random_length(tmp_path):
    path = write_sqlite(
        tmp_path / "d.db",
        v="WITH RECURSIVE q(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM q "
        "WHERE abs(random()) % 1000) SELECT x FROM q",
    )
    with pytest.raises(UserError, match=r"returns more rows than the .* that it counts"):
        for _ in range(40):
            read_table(f"{path}::v")


def test_seconds_that_are_none(tmp_path, monkeypatch):
    path = write_sqlite(tmp_path / "d.db")
    for text in ("soon", "-1", "inf", "0"):
        monkeypatch.setenv(limits.SECONDS, text)
        with pytest.raises(UserError, match=f"FEWLABELS_SECONDS={text} is not a number of sec"):
            read_table(path)
