"""Data as a user names them: a file, a table in it and how it is read, or rows in memory."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..options.reading import ReadingOptions
from ..options.words import ref
from .errors import UserError

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
        from .formats.dialect import find_dialect  # it imports this module

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


def source_of(data, **reading):
    """What the readers take: a file and how it is read, or rows in memory."""
    asked = Reading(**reading).checked()
    if isinstance(data, str | os.PathLike):
        return as_source(data, asked)
    if asked.given:
        raise UserError(
            f"{', '.join(asked.given)}: these options are for reading text files, but the rows "
            "are in memory; omit them."
        )
    if asked.labels is not None:
        from .answers.column import LabelColumn  # it imports this module

        data = _beside(source_of(data), LabelColumn(asked.labels, "the data frame"))
    if asked.features is not None:
        from .formats.beside import Beside  # it imports this module

        data = source_of(data)
        return _beside(data, Beside(asked.features, data))
    if isinstance(data, InMemory):
        return data
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import scipy.sparse as sp

    if isinstance(data, np.ndarray) or sp.issparse(data):
        return InMemory("matrix", data)
    if isinstance(data, pd.DataFrame):
        names = [str(name) for name in data.columns]
        columns = [_column(data.iloc[:, k]) for k in range(len(names))]
        return InMemory("frame", pa.Table.from_arrays(columns, names=names))
    if hasattr(data, "collect"):  # polars' lazy frames
        data = data.collect()
    if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UserError(
                f"The {type(data).__name__} can't be used as a table ({error}); pass a data "
                "frame with columns of numbers, texts, truth values or dates."
            ) from error
        columns = [_without_views(column) for column in table.columns]
        return InMemory("frame", pa.Table.from_arrays(columns, names=table.column_names))
    raise UserError(
        f"Rows can be a file, a data frame or a matrix of numbers, but not {type(data).__name__}; "
        "pandas.DataFrame(...) makes a data frame."
    )


def _beside(data, beside):
    """A data frame with what stands next to it."""
    if data.form != "frame":
        raise UserError(
            f"{ref('features')} and {ref('labels')} need a table; a matrix must contain all "
            "numbers itself."
        )
    table = beside.add(data.content)
    beside.check()
    return InMemory("frame", table)


def _without_views(column):
    """Texts as Arrow can filter and decode them, which it cannot where they are views."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type == pa.string_view():
        parts = [(part.indices, _texts(part.dictionary, pa.string())) for part in column.chunks]
        parts = [pa.DictionaryArray.from_arrays(*part) for part in parts]
        return pa.chunked_array(parts, pa.dictionary(kind.index_type, pa.string()))
    if kind != pa.string_view():
        return column
    return pa.chunked_array(
        [_texts(p, pa.large_string()) for p in column.chunks], pa.large_string()
    )


def _texts(array, kind):
    import pyarrow as pa

    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:  # before Arrow 18
        return pa.array(array.to_pylist(), kind)


def _column(series):
    """A column of pandas as Arrow data; mixed values become text, as in a file."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        texts = [None if value is None or value != value else str(value) for value in series]
        return pa.array(texts, pa.large_string())
