"""The file of answers: SQLite, one transaction for each, nothing ever changed or removed."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..._util.messages import UserError, ref
from ..._util.paths import path_exists, resolve_path
from ..file_identity import StrPath

_APPLICATION = 0x66776C62  # "fwlb"
_VERSION = 1
KINDS = ("label", "skip", "unknown", "undo")
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at TEXT NOT NULL,
    annotator TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('label', 'skip', 'unknown', 'undo')),
    row_key TEXT NOT NULL,
    row INTEGER NOT NULL,
    label TEXT CHECK ((kind = 'label') = (label IS NOT NULL)),
    asked TEXT NOT NULL,
    undoes INTEGER UNIQUE REFERENCES answers (number),
    CHECK ((kind = 'undo') = (undoes IS NOT NULL))
);
"""


class AnswerEntry(NamedTuple):
    """An answer about a row; ``number`` is its place in the file, from 1.

    ``id`` is the answer's own, so that one sent twice counts once; ``row`` is where the row stood
    (from 0), ``asked`` why it was queried; an undo says the number that it ``undoes``.
    """

    id: str
    annotator: str
    kind: str
    row_key: str
    row: int
    label: str | None = None
    asked: str = ""
    undoes: int | None = None
    at: str = ""
    number: int = 0


class AnswerFile:
    """A file of answers, to be read and added to.

    Parameters
    ----------
    path : path-like
        The file.
    about : dict, optional
        What a new file says of its data: ``target``, ``classes``, ``seed`` and the like. None: the
        file has to exist, and is only read.
    """

    def __init__(self, path: StrPath, about: dict[str, Any] | None = None) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        self._lock: sqlite3.Connection | None = None
        new = not path_exists(path)
        if new and about is None:
            raise UserError(
                f"The label file {path} doesn't exist; create it with 'fewlabels label'."
            )
        with self._translate_errors():
            if about is not None:
                self._lock = self._lock_file()
            # Reading may have to finish what a killed process left half done.
            mode = "rwc" if about is not None else "rw" if os.access(path, os.W_OK) else "ro"
            uri = f"{resolve_path(self.path).as_uri()}?mode={mode}"
            try:
                self._connection = sqlite3.connect(
                    uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False
                )
                self._db.execute("PRAGMA trusted_schema = OFF")
                if about is not None:
                    # EXTRA is FULL, and the end of a transaction is on the disk, too.
                    self._db.execute("PRAGMA synchronous = EXTRA")
                if new and about is not None:
                    self._create(about)
                self._db.execute("BEGIN")  # all of one moment, whoever adds to it
                self._check()
                rows = self._db.execute("SELECT name, value FROM about")
                self.about = {name: json.loads(value) for name, value in rows}
                self.answers = self._read()
                self._db.execute("COMMIT")
                self._numbers = {answer.id: k for k, answer in enumerate(self.answers)}
            except BaseException:
                self.close()
                raise

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    def _create(self, about: dict[str, Any]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.strip().split(";\n"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._db.execute(f"PRAGMA user_version = {_VERSION}")
        self._write_about(about)
        self._db.execute("COMMIT")

    def _write_about(self, about: dict[str, Any]) -> None:
        rows = [(name, json.dumps(value)) for name, value in about.items()]
        self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)

    def _check(self) -> None:
        # A view may never end, and a trigger does what its author wanted; no such file has any.
        programs = "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')"
        if self._db.execute(programs).fetchone() != (0,):
            raise UserError(
                f"{self.path} is not a label file; pass another one as {ref('labels')}."
            )
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise UserError(
                f"{self.path} is not a label file; pass another one as {ref('labels')}."
            )
        if version != _VERSION:
            is_newer = version > _VERSION
            advice = "update fewlabels" if is_newer else f"pass another one as {ref('labels')}"
            raise UserError(
                f"{self.path} is a label file of format {version}, but this fewlabels reads "
                f"format {_VERSION} only; {advice}."
            )

    def _read(self) -> list[AnswerEntry]:
        fields = ", ".join(AnswerEntry._fields)
        return [
            AnswerEntry(*row)
            for row in self._db.execute(f"SELECT {fields} FROM answers ORDER BY number")
        ]

    def _lock_file(self) -> sqlite3.Connection:
        """Hold the file against a second server, as long as this process lives."""
        path = self.path.with_name(f"{self.path.name}.lock")
        lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            lock.close()
            if "locked" not in str(error):
                raise
            raise UserError(
                f"{self.path} is already open in another 'fewlabels label'; use the address that "
                "it printed, or stop it first."
            ) from None
        return lock

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Say what SQLite refuses as a sentence."""
        try:
            yield
        except sqlite3.Error as error:
            why = str(error)
            if "unable to open" in why or "readonly" in why:
                why = (
                    f"the file or its folder is not writable; pass another file as {ref('labels')}"
                )
            elif "not a database" in why or "malformed" in why:
                why = (
                    "it is not a label file, or it is damaged; pass another file as "
                    f"{ref('labels')}"
                )
            raise UserError(f"{self.path} can't be used: {why}.") from error

    # -- adding -----------------------------------------------------------------------------------

    def add(self, answer: AnswerEntry) -> AnswerEntry:
        """Write an answer; on return it is on the disk. Gives it with its number.

        An answer whose ``id`` is there already is not written again. ``OSError`` says that it
        could not be written, and nothing was.
        """
        if answer.id in self._numbers:
            return self.answers[self._numbers[answer.id]]
        answer = answer._replace(at=datetime.now(UTC).isoformat(timespec="milliseconds"))
        names = AnswerEntry._fields[:-1]
        try:
            cursor = self._db.execute(
                f"INSERT INTO answers ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                answer[:-1],
            )
        except sqlite3.OperationalError as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise OSError(f"the label could not be written to {self.path}: {error}") from error
        assert cursor.lastrowid is not None
        answer = answer._replace(number=cursor.lastrowid)
        self._numbers[answer.id] = len(self.answers)
        self.answers.append(answer)
        return answer

    def describe(self, **about: Any) -> None:
        """Change what the file says of its data."""
        with self._translate_errors():
            self._db.execute("BEGIN IMMEDIATE")
            self._write_about(about)
            self._db.execute("COMMIT")
        self.about.update(about)

    def close(self) -> None:
        """Let go of the file, so that another process may add to it."""
        if self._connection is not None:
            self._connection.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            self.path.with_name(f"{self.path.name}.lock").unlink(missing_ok=True)

    # -- what the answers say ---------------------------------------------------------------------

    def standing(self) -> list[AnswerEntry]:
        """Return the answers that nobody has taken back, in their order."""
        undone = {answer.undoes for answer in self.answers}
        return [a for a in self.answers if a.kind != "undo" and a.number not in undone]

    def labels(self) -> dict[str, str]:
        """Return the newest label of each row, by row key."""
        return {a.row_key: a.label for a in self.standing() if a.label is not None}


def read_answers(path: StrPath | AnswerFile) -> AnswerFile:
    """Read a file of answers and close it again.

    What was read already is not read again.
    """
    file = path if isinstance(path, AnswerFile) else AnswerFile(path)
    file.close()
    return file


def find_undoable_answer(answers: Sequence[AnswerEntry], annotator: str) -> AnswerEntry | None:
    """Return the answer that an undo of this person takes back, or None."""
    return next((a for a in reversed(answers) if a.annotator == annotator), None)
