"""What is read: a file, a table in it and how it is read, or rows in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

from .._util.messages import UserError, quoted, ref
from .._util.paths import file_size, is_folder, is_regular_file, path_exists
from .file_identity import FirstLook, StrPath, changed_error
from .folders import holds_parquet, parquet_files
from .formats.dialect import Dialect, find_dialect
from .formats.registry import (
    FORMATS,
    Format,
    every_extension,
    extension_of,
    formats_of,
    matrices,
    tables,
)
from .reading.options import ReadingOptions

if TYPE_CHECKING:
    from ..rows.files import MappedFiles

_SEPARATORS_BY_NAME = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "pipe": "|",
}


class Reading(ReadingOptions):
    """Options of reading a file; whatever isn't given is detected."""

    def checked(self) -> Self:
        """Return checked options, with names of characters replaced."""
        sep = self.sep if self.sep is None else _SEPARATORS_BY_NAME.get(self.sep, self.sep)
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
    def given(self) -> list[str]:
        """The options that are given."""
        names = ("sep", "decimal", "encoding")
        found = [ref(name) for name in names if getattr(self, name) is not None]
        return found if self.header is None else [*found, ref("header", self.header)]


_DETECT_ALL = Reading()


@dataclass(frozen=True, eq=False)
class Source(os.PathLike[str]):
    """A file, or a folder; ``table`` is the one in it that is meant, "" for the only one.

    ``part`` is where a part of the rows begins and ends, for those who read no more than that.
    """

    path: Path
    table: str = ""
    reading: Reading = _DETECT_ALL
    part: tuple[int, int] | None = None
    first_look: FirstLook = field(default_factory=FirstLook, repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        start = self.part[0] if self.part else 0
        of_text = start and any(each.separator for each in formats_of(self.path))
        begins = f" (from byte {start} on)" if of_text else ""
        return (f"{self.path}::{self.table}" if self.table else str(self.path)) + begins

    @property
    def whole(self) -> Source:
        """The file of which this is a part."""
        return self if self.part is None else replace(self, part=None)

    def check_unchanged(self) -> None:
        """Refuse a file that isn't the one that was looked at first, by whichever step."""
        folder = is_folder(self.path)
        self.first_look.check(self.path, sorted(parquet_files(self.path)) if folder else None)

    @cached_property
    def format(self) -> Format:
        """The format of the file, which has to exist and to hold something."""
        if is_regular_file(self.path):
            self.check_unchanged()
        found = self._find_format()
        _check_options(self, found)
        return found

    def _find_format(self) -> Format:
        path = self.path
        if is_folder(path) and holds_parquet(path):
            return FORMATS["folder"]
        if has_magic(str(path)) and not path_exists(path):
            raise UserError(
                f"{path} is a pattern, which needs a cluster ({ref('workers', some='N')}); pass "
                "one file, or a folder of Parquet files."
            )
        existing_file(path, "data")
        found = formats_of(path)
        if not found:
            raise UserError(
                f"Unknown extension {quoted(extension_of(path))} of {path}; data can be "
                f"{every_extension([*tables(), *matrices()])}."
            )
        if file_size(path) == 0:
            table = found[0].is_table
            needs = "a row of column names and rows of data" if table else "rows of numbers"
            raise UserError(f"{path} is empty; it needs {needs}.")
        return next((each for each in found if each.is_signed(path)), found[0])

    @property
    def form(self) -> str:
        """The name of the format."""
        return self.format.name

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect of the file's delimited text."""
        found = find_dialect(self)
        self.check_unchanged()
        return found


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory: a "frame" is a ``pyarrow.Table``, a "matrix" an array or sparse matrix."""

    form: str
    content: Any
    part = None  # as files have one

    def check_unchanged(self) -> None:
        """Refuse mapped rows into whose file somebody has written since the first call.

        Others are whoever holds them's to change.
        """
        file = self._files.written()
        if file is not None:
            raise changed_error(file)

    @cached_property
    def _files(self) -> MappedFiles:
        from ..rows.files import MappedFiles

        return MappedFiles(getattr(self.content, "X", self.content))

    def __str__(self) -> str:
        return "the data frame" if self.form == "frame" else "the matrix"

    @property
    def whole(self) -> Self:
        """The rows themselves."""
        return self

    @property
    def format(self) -> Format:
        """The format of the rows."""
        return FORMATS[self.form]


# Where rows come from.
DataSource: TypeAlias = Source | InMemory


@overload
def as_source(path: StrPath, reading: Reading = _DETECT_ALL) -> Source: ...
@overload
def as_source(path: StrPath | DataSource, reading: Reading = _DETECT_ALL) -> DataSource: ...
def as_source(path: StrPath | DataSource, reading: Reading = _DETECT_ALL) -> DataSource:
    """Return a path, or FILE::TABLE, as a source; sources and rows in memory stay as they are."""
    if isinstance(path, Source | InMemory):
        return path
    file, mark, table = os.fspath(path).rpartition("::")
    if not mark or not file or path_exists(path):
        return Source(Path(path), "", reading)
    return Source(Path(file), table, reading)


def input_format(path: StrPath | DataSource) -> str:
    """Return the name of the format; a file has to exist and must not be empty."""
    return as_source(path).form


def existing_file(path: StrPath, what: str) -> None:
    """Refuse a path that is no readable file."""
    path = Path(path)
    if not path_exists(path):
        raise UserError(f"The {what} file {path} does not exist; check the name and the folder.")
    if is_folder(path):
        raise UserError(f"{path} is a folder; pass the {what} file in it.")
    if not is_regular_file(path):
        raise UserError(f"{path} is a pipe or a device; save its content to a {what} file.")
    if not os.access(path, os.R_OK):
        raise UserError(f"The {what} file {path} can't be read; check its permissions.")


def _check_options(source: Source, form: Format) -> None:
    """Refuse options of reading that don't apply to the format of a file."""
    given = {"table": f"::{source.table}"} if source.table else {}
    for name in (each.name for each in fields(source.reading)):
        value = getattr(source.reading, name)
        if value is not None and value is not True:  # a header is usual
            given[name] = ref(name, value) if value is False else ref(name)
    for name, shown in given.items():
        if name not in form.options:
            raise UserError(f"{shown} has no effect on {source.path}; omit it.")
