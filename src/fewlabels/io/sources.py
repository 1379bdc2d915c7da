"""What is read: a file, a table in it and how it is read, or rows in memory."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..options.reading import ReadingOptions
from ..options.words import UserError, ref
from .formats.dialect import find_dialect

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


class Reading(ReadingOptions):
    """How a file is to be read, as far as somebody says so; the rest is found by looking."""

    def checked(self):
        """The same with names of characters replaced; what cannot be meant is refused."""
        sep = self.sep if self.sep is None else _NAMED.get(self.sep, self.sep)
        if sep is not None and (len(sep) != 1 or not sep.isascii() or sep.isalnum()):
            raise UserError(
                f"{ref('sep', text=sep)} is not a separator; pass one character, or 'tab'."
            )
        if sep is not None and sep in "\"'\r\n":
            raise UserError(
                f"{ref('sep')} cannot be a quote or a line break; give another character."
            )
        if self.decimal not in (None, ".", ","):
            raise UserError(
                f"{ref('decimal', text=self.decimal)} is not known; it can be '.' or ','."
            )
        if self.encoding is not None:
            try:
                b"a".decode(self.encoding, errors="replace")
            except LookupError as error:
                raise UserError(
                    f"Unknown {ref('encoding', text=self.encoding)}; it can be utf-8, cp1252, "
                    "latin-1, utf-16 or another encoding of Python."
                ) from error
        return replace(self, sep=sep)

    @property
    def given(self):
        """What is said, as options."""
        names = ("sep", "decimal", "encoding")
        found = [ref(name) for name in names if getattr(self, name) is not None]
        return found if self.header is None else [*found, ref("header", self.header)]


_BY_LOOKING = Reading()


@dataclass(frozen=True, eq=False)
class Source(os.PathLike):
    """A file, or a folder; ``table`` is the one in it that is meant, "" for the only one.

    ``part`` is where a part of the rows begins and ends, for those who read no more than that.
    """

    path: Path
    table: str = ""
    reading: Reading = _BY_LOOKING
    part: tuple[int, int] | None = None

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        of_text = self.part and self.path.suffix.lower() in (".csv", ".tsv")
        begins = f" (from byte {self.part[0]} on)" if of_text and self.part[0] else ""
        return (f"{self.path}::{self.table}" if self.table else str(self.path)) + begins

    @property
    def whole(self):
        """The file of which this is a part."""
        return self if self.part is None else replace(self, part=None)

    @cached_property
    def dialect(self):
        """How the delimited text of the file is written."""
        return find_dialect(self)


def as_fitted(path, header):
    """A source that is read as the training file was where nobody says how: with names or not."""
    if isinstance(path, os.PathLike | str):
        path = as_source(path)
    if not isinstance(path, Source) or path.reading.header is not None or header:
        return path
    return replace(path, reading=replace(path.reading, header=False))


def as_source(path, reading=_BY_LOOKING):
    """A path, or FILE::TABLE, as a source; a source stays what it is."""
    if isinstance(path, Source):
        return path
    file, mark, table = os.fspath(path).rpartition("::")
    if not mark or not file or os.path.exists(path):
        return Source(Path(path), "", reading)
    return Source(Path(file), table, reading)


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory: a "frame" is a ``pyarrow.Table``, a "matrix" an array or sparse matrix."""

    form: str
    content: Any

    def __str__(self):
        return "the data frame" if self.form == "frame" else "the matrix"

    # A data frame is read as the modules in formats/ read files.

    def names(self):
        """Names of the columns."""
        return self.content.column_names

    def pieces(self, names, rows, types):
        """The table as a whole."""
        yield self.content, None, 1.0
