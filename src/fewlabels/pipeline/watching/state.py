"""The state of a watch in an SQLite file: every batch of rows is one transaction.

A process may be killed at any moment. The file then holds the state after the last committed
batch, with the number of rows read from each source. The next process continues from there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pandas.util import hash_pandas_object

from ..._typing import BoolArray, FloatArray, PathLike
from ..._util.messages import UserError, ref
from ..._util.paths import is_folder
from ...monitoring import Monitor
from ...monitoring.kept_rows import RetainedRow
from ...monitoring.monitor import Update
from ...tables.file_identity import Identity, identity_if_any

if TYPE_CHECKING:
    import pandas as pd

# An odd multiplier (the golden ratio of 2^64), so that no power of it is zero modulo 2^64.
_MULTIPLIER, _MODULUS = 0x9E3779B97F4A7C15, 1 << 64


class WatchProgress(NamedTuple):
    """The number of rows counted, the hash of the first one, and a hash of all in their order.

    The hash of rows h_1, h_2, ... is ((h_1 m + h_2) m + ...) modulo 2^64, so it doesn't depend on
    the pieces that the rows are read in.
    """

    rows: int = 0
    first: int = 0
    digest: int = 0

    def after(self, rows: pd.DataFrame, complete: BoolArray) -> WatchProgress:
        """Return progress behind more rows; the ``complete`` ones have their cells in ``rows``."""
        n = len(complete)
        if n == 0:
            return self
        hashes = np.zeros(n, np.uint64)
        hashes[complete] = hash_pandas_object(rows, index=False).to_numpy()
        powers = np.full(n, _MULTIPLIER, np.uint64)
        powers[0] = 1
        powers = np.cumprod(powers)[::-1]
        added = int((hashes * powers).sum(dtype=np.uint64))
        digest = (self.digest * pow(_MULTIPLIER, n, _MODULUS) + added) % _MODULUS
        return WatchProgress(self.rows + n, self.first if self.rows else int(hashes[0]), digest)


_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
  name TEXT PRIMARY KEY, rows INTEGER, first TEXT, digest TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (slot INTEGER PRIMARY KEY, score REAL);
CREATE TABLE IF NOT EXISTS reference (k INTEGER PRIMARY KEY, score REAL);
CREATE TABLE IF NOT EXISTS kept (
  key INTEGER PRIMARY KEY, place INTEGER, cells TEXT, score REAL, p_value REAL);
CREATE TABLE IF NOT EXISTS points (row INTEGER PRIMARY KEY, log_evidence REAL);
CREATE TABLE IF NOT EXISTS models (epoch INTEGER PRIMARY KEY, content BLOB);
"""


class State:
    """The memory of a watch, in a file or (``path`` None) for this run only."""

    def __init__(self, path: PathLike | None) -> None:
        self.path = path
        try:
            before = self._identity()
            self._base = sqlite3.connect(":memory:" if path is None else path, timeout=5.0)
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            self._open(before)
        except BaseException:
            self._base.close()
            raise

    def _open(self, before: Identity | None) -> None:
        """Hold the file, whose identity was ``before``, and read or make its tables."""
        try:
            self._base.isolation_level = None
            self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._base.execute("BEGIN IMMEDIATE")
            n_tables = self._n_tables()
            for statement in _TABLES.split(";"):
                self._base.execute(statement)
            known = self.read_value("format")
            if known not in (None, _FORMAT):
                raise UserError(
                    f"{self.path} is a state of format {known}, but this fewlabels reads format "
                    f"{_FORMAT} only; update fewlabels, or pass another {ref('state')}."
                )
            is_read = n_tables == self._n_tables() and known is not None
            if not is_read:
                self.store("format", _FORMAT)
            self._base.execute("COMMIT")
            self._own = self._identity()
            own = self._own
            if before is not None and (
                is_read or own is None or before.device_and_inode != own.device_and_inode
            ):
                self._check_own(before)
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        rows = self._base.execute("SELECT key, place FROM kept")
        self._places = dict(rows)
        self._n_calibration = -min([0, *self._places])

    def _n_tables(self) -> int:
        return self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _identity(self) -> Identity | None:
        """Return the identity of the file, None in memory or without a file."""
        return None if self.path is None else identity_if_any(self.path)

    def _check_own(self, before: Identity | None) -> None:
        """Refuse a file that isn't as it was ``before``: this process alone may write to it."""
        if self._identity() != before:
            raise UserError(
                f"{self.path} was changed or replaced by another program while it was in use, so "
                "this watch stopped; run the command again."
            )

    def _unusable(self, error: sqlite3.Error) -> UserError:
        if "locked" in str(error):
            return UserError(
                f"{self.path} is in use by another 'fewlabels watch'; stop that one first, or "
                f"pass another {ref('state')}."
            )
        return UserError(
            f"{self.path} can't be used as a state ({error}); pass a {ref('state')} that "
            "'fewlabels watch' wrote, or a new file."
        )

    def close(self) -> None:
        self._base.close()

    # -- small values ----------------------------------------------------------------------------

    def read_value(self, name: str, otherwise: object = None) -> Any:
        """Return a value by its name."""
        row = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return otherwise if row is None else json.loads(row[0])

    def store(self, name: str, value: object) -> None:
        self._base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def progress_of(self, source: str) -> WatchProgress:
        """Return how many rows of a source were counted, and their fingerprint."""
        query = "SELECT rows, first, digest FROM sources WHERE name = ?"
        found = self._base.execute(query, (source,)).fetchone()
        return WatchProgress() if found is None else WatchProgress(*map(int, found))

    def points(self) -> FloatArray:
        """Return rows and logarithms of the evidence, for the picture."""
        found = self._base.execute("SELECT row, log_evidence FROM points ORDER BY row").fetchall()
        return np.array(found, dtype=float).reshape(-1, 2)

    def model(self) -> bytes | None:
        """Return the adapted model as the bytes of its file; None where there is none."""
        row = self._base.execute("SELECT content FROM models ORDER BY epoch DESC").fetchone()
        return None if row is None else row[0]

    # -- a monitor -------------------------------------------------------------------------------

    def resume(self, monitor: Monitor) -> bool:
        """Bring a new monitor to where the last one was; whether there was one."""
        state = self.read_value("monitor")
        if state is None:
            return False
        scores, reference = (
            np.array([value for (value,) in self._base.execute(query)], dtype=np.float64)
            for query in (
                "SELECT score FROM scores ORDER BY slot",
                "SELECT score FROM reference ORDER BY k",
            )
        )
        recent: list[RetainedRow] = []
        earlier: list[RetainedRow] = []
        query = "SELECT place, key, cells, score, p_value FROM kept ORDER BY place, key"
        for place, key, cells, score, p_value in self._base.execute(query):
            number = key if key >= 0 else None
            row = RetainedRow(number, tuple(json.loads(cells)), score, p_value)
            (recent if place < 0 else earlier).append(row)
        contents = recent, earlier, self.read_value("rows left"), self.read_value("columns")
        self._check_own(self._own)
        monitor.resume(state, scores, reference, contents)
        return True

    def begin(self, monitor: Monitor) -> None:
        """Write all of a monitor: a new one, or one whose scores began again."""
        self._base.execute("DELETE FROM scores")
        self._base.execute("DELETE FROM reference")
        self._base.execute("DELETE FROM kept")
        self._places, self._n_calibration = {}, 0
        self._base.executemany("INSERT INTO scores VALUES (?, ?)", _numbered(monitor.held_scores))
        self._base.executemany(
            "INSERT INTO reference VALUES (?, ?)", _numbered(monitor.reference_scores)
        )
        self._write_rows(monitor)

    def advance(self, monitor: Monitor, updates: list[Update]) -> None:
        """Write what the last updates changed."""
        slots: dict[int, float] = {}
        for update in updates:
            slots.update(zip(update.slots.tolist(), update.scores.tolist(), strict=True))
        slots.pop(-1, None)
        self._base.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", slots.items())
        self._write_rows(monitor)

    def _write_rows(self, monitor: Monitor) -> None:
        self.store("monitor", monitor.state)
        recent, earlier, n_left, names = monitor.kept_rows.contents
        self.store("rows left", n_left)
        self.store("columns", names)
        wanted, rows = {}, {}
        for place, row in [(-1, r) for r in recent] + list(enumerate(earlier)):
            # Calibration rows have no numbers of the stream; their places never change.
            key = row.number if row.number is not None else -1 - place
            wanted[key], rows[key] = place, row
        gone = [(key,) for key in self._places.keys() - wanted.keys()]
        self._base.executemany("DELETE FROM kept WHERE key = ?", gone)
        new = [key for key, place in wanted.items() if self._places.get(key) != place]
        self._base.executemany(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?)",
            ((k, wanted[k], _as_json(rows[k].cells), rows[k].score, rows[k].p_value) for k in new),
        )
        self._places = wanted

    # -- transactions ----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._check_own(self._own)
        self._base.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._base.execute("ROLLBACK" if kind else "COMMIT")
            self._own = self._identity()
        except sqlite3.Error as failed:
            raise self._unusable(failed) from failed

    def count(self, source: str, progress: WatchProgress, points: list[tuple[int, float]]) -> None:
        """Keep the progress in a source, and points of the evidence for the picture."""
        # Hashes are texts, as integers of SQLite have a sign.
        seen = (source, progress.rows, str(progress.first), str(progress.digest))
        self._base.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", seen)
        if points:
            self._base.executemany("INSERT OR REPLACE INTO points VALUES (?, ?)", points)
            n = self._base.execute("SELECT COUNT(*) FROM points").fetchone()[0]
            if n > 4000:  # every other one is enough
                query = "SELECT row FROM points ORDER BY row"
                rows = [row for (row,) in self._base.execute(query)][1:-1:2]
                self._base.executemany("DELETE FROM points WHERE row = ?", ((r,) for r in rows))

    def store_model(self, epoch: int, content: bytes) -> None:
        """Keep an adapted model in place of the last one."""
        self._base.execute("DELETE FROM models")
        self._base.execute("INSERT INTO models VALUES (?, ?)", (epoch, content))


def _numbered(values: FloatArray) -> list[tuple[int, float]]:
    return list(enumerate(np.asarray(values, dtype=float).tolist()))


def _as_json(cells: Iterable[object]) -> str:
    return json.dumps([value.item() if hasattr(value, "item") else value for value in cells])


def check_file(path: PathLike | None) -> None:
    """Refuse a state in a folder that isn't there."""
    if path is not None and not is_folder(Path(path).parent):
        raise UserError(f"{path} can't be written: its folder doesn't exist; create it first.")
