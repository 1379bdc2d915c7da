"""Chunks of a table and new columns, as they are written to a file."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import pyarrow as pa

from ...tables.columns.column import is_text, numbers
from ...tables.columns.schema import Schema
from ...tables.formats.registry import FORMATS
from ...tables.reading.chunks import Chunk
from ...tables.sources import DataSource, Source
from .scorer import ScoredRows

# What the function that writes tables is called with: rows, or new columns behind lines of text.
WrittenChunk: TypeAlias = tuple[pa.Table] | tuple[pa.Table, pa.Array, list[str]]


class FileLayout(NamedTuple):
    """How scored rows are written: new columns next to the ``columns`` of a table.

    ``prefix`` is put before the names of new columns. ``form`` is the format. ``safe_cells``:
    whether texts that a spreadsheet takes for formulas are made safe.
    """

    columns: list[str]
    form: str
    prefix: str = ""
    safe_cells: bool = False

    def copies_lines(self, data: DataSource) -> bool:
        """Return whether rows of text are written as they are in the file.

        They need not be taken apart and put together again.
        """
        return (
            not self.safe_cells
            and isinstance(data, Source)
            and data.format.separator is not None
            and data.dialect.header
            and data.dialect.sep == FORMATS[self.form].separator
        )

    def assemble(self, chunk: Chunk, scored: ScoredRows, schema: Schema) -> WrittenChunk:
        """Return what the function that writes tables is called with."""
        added = {f"{self.prefix}{name}": array for name, array in scored.columns.items()}
        if chunk.lines is not None:
            return pa.table(added), chunk.lines, self.columns
        table = chunk.table
        if FORMATS[self.form].separator is None:
            # Cells of delimited text are still text here; what the model took as numbers
            # becomes numbers in a typed file.
            for name in schema.names("number"):
                if name not in table.column_names or name in chunk.odd:
                    continue
                if is_text(table.column(name).type):
                    values = pa.array(numbers(table.column(name))[0], from_pandas=True)
                    table = table.set_column(table.column_names.index(name), name, values)
        names = [*table.column_names, *added]
        return (pa.table([*table.columns, *added.values()], names=names),)
