"""From a file to pieces of rows that a model can score."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from ..._typing import BoolArray, ObjectArray, RowMatrix
from ..._util.messages import UserError, listing, plural, quoted, suggest
from ..arrays import as_sparse, iterate_arrays
from ..columns.column import expand_dates, text, without
from ..columns.features import check_columns, select_array_features, select_table_features
from ..columns.notation import Notation, check_unit, describe_notations
from ..columns.schema import Schema, is_sidecar
from ..columns.tally import Tally
from ..columns.target import target_as_text
from ..columns.values import ColumnValues
from ..file_identity import StrPath
from ..formats.registry import matrices, tables, usual_extensions
from ..sources import DataSource, Source, as_source
from .read import column_names, describe_reading, iterate_tables
from .training import find_file_notations

if TYPE_CHECKING:
    import pandas as pd

# Encoded values per piece: 32 MiB of float64. A text has so many that are not 0, if it is long.
_VALUES = 1 << 22
_OF_TEXT = 512
_ROWS = 1 << 16


class Chunk(NamedTuple):
    """Some rows of a file, ``share`` of which was read until then.

    ``rows`` are the ``complete`` ones as the model gets them, ``table`` the piece as it was read
    (without columns for matrices). Where ``lines``, the rows as they are in the file, were asked
    for and can be distinguished, it holds only the columns that the model takes.
    Numbers in ``odd`` columns are not written plainly. ``empty`` rows have no value in any column.
    """

    rows: pd.DataFrame | RowMatrix
    complete: BoolArray
    empty: BoolArray
    table: pa.Table
    target: ObjectArray | None = None
    share: float = 1.0
    lines: pa.Array | None = None
    odd: frozenset[str] = frozenset()

    @property
    def frame(self) -> pd.DataFrame:
        """Return the rows, which have to be a data frame."""
        import pandas as pd

        assert isinstance(self.rows, pd.DataFrame)
        return self.rows


def iterate_chunks(
    path: StrPath | DataSource,
    schema: Schema,
    tally: Tally,
    rows: int | None = None,
    target: str | None = None,
    target_needed: bool = False,
    lines: bool = False,
    may_be_empty: bool = False,
) -> Generator[Chunk, None, None]:
    """Read rows piece by piece as the model with ``schema`` takes them; gives :class:`Chunk`.

    ``target`` is the column with labels (an array
    of an npz file, "y" of an svmlight file), refused as missing only if it is needed. With
    ``lines`` rows of delimited text are wanted as they are in the file. What the ``tally`` refuses
    is an error after the last row. A table without rows gives one chunk if it ``may_be_empty``.
    """
    path = _read_as_in_training(path, schema)
    if rows is None:
        width = schema.n_columns + sum(column.categories or 0 for column in schema.columns)
        width += _OF_TEXT * len(schema.names("text"))
        rows = max(256, min(_ROWS, _VALUES // max(1, width)))
    if not path.format.is_table:
        return _array_chunks(path, schema, tally, rows, (target, target_needed))
    lines = lines and path.format.separator is not None
    return _table_chunks(path, schema, tally, rows, (target, target_needed), lines, may_be_empty)


def input_columns(path: StrPath | DataSource, schema: Schema) -> list[str]:
    """Return names of the columns of a table, none for a matrix."""
    path = _read_as_in_training(path, schema)
    names = column_names(path) if path.format.is_table else []
    return [name for name in names if not is_sidecar(name)]


def _read_as_in_training(path: StrPath | DataSource, schema: Schema) -> DataSource:
    """Return a file that is read with names or without, as the training file was."""
    source = as_source(path)
    optional = "header" in source.format.options
    if (
        not isinstance(source, Source)
        or schema.header
        or not optional
        or source.reading.header is not None
    ):
        return source
    return replace(source, reading=replace(source.reading, header=False))


def _table_chunks(
    path: DataSource,
    schema: Schema,
    tally: Tally,
    rows: int,
    target: tuple[str | None, bool],
    with_lines: bool = False,
    may_be_empty: bool = False,
) -> Generator[Chunk, None, None]:
    if schema.layout != "table":
        raise UserError(
            f"The model was fitted to a matrix of {plural(schema.n_columns, 'column')} without "
            f"names, but {path} is a table; pass a {usual_extensions(matrices())} file."
        )
    names = column_names(path)
    check_columns(names, schema, path)
    label_column = _find_target(*target, names, path)
    notations = _read_notations(path, schema, tally, may_be_empty)
    types = None
    if with_lines:
        plain = {name for name in schema.names("number") if name not in notations}
        types = {n: pa.float64() if n in plain else pa.string() for n in schema.sources()}
        types |= {} if label_column is None else {label_column: pa.string()}
    # Where a part of delimited text begins is known in bytes: its rows are counted from there.
    done = path.part[0] if path.part and path.format.separator is None else 0
    for table, lines, share in iterate_tables(path, rows, types, may_be_empty):
        numbers = np.arange(done + 1, done + 1 + table.num_rows)
        parts = expand_dates(table, schema.dates, path)
        columns = {
            # Categories repeat, and numbers and texts are parsed once.
            c.name: ColumnValues(parts.column(c.name), counted=c.kind in ("category", "boolean"))
            for c in schema.columns
        }
        features, complete, empty = select_table_features(
            columns, schema, tally=tally, row_numbers=numbers, notations=notations
        )
        labels = None if label_column is None else text(table.column(label_column))
        table = without(table, filter(is_sidecar, table.column_names))
        yield Chunk(features, complete, empty, table, labels, share, lines, frozenset(notations))
        done += table.num_rows
    tally.check()


def _read_notations(
    path: DataSource, schema: Schema, tally: Tally, may_be_empty: bool
) -> dict[str, Notation]:
    """Return the notations of columns that aren't plain numbers, judging by a file's first rows.

    What there is to say of it is left in the tally.
    """
    with contextlib.closing(iterate_tables(path.whole, _ROWS, None, may_be_empty)) as pieces:
        start = next(pieces)[0]
    known = {c.name: Notation(c.decimal, c.unit) for c in schema.columns if c.kind == "number"}
    columns = {
        name: ColumnValues(start.column(name), counted=False)
        for name in start.column_names
        if name in known
    }
    notations = find_file_notations(path, columns, known)
    bare = [
        name
        for name, fitted in known.items()
        if check_unit(name, fitted.unit, notations.get(name, Notation()), path)
    ]
    remarks = [describe_reading(path), describe_notations(notations)]
    if bare:
        verb = "has" if len(bare) == 1 else "have"
        remarks.append(f"{listing(bare)} of {path} {verb} no unit; assuming the model's unit")
    tally.remarks = [remark for remark in remarks if remark]
    return notations


def _array_chunks(
    path: DataSource, schema: Schema, tally: Tally, rows: int, target: tuple[str | None, bool]
) -> Generator[Chunk, None, None]:
    if schema.layout == "table":
        raise UserError(
            f"The model was fitted to a table with named columns, but {path} has no column "
            f"names; pass a {usual_extensions(tables())} file."
        )
    done = 0
    with contextlib.closing(iterate_arrays(path, rows, schema)) as pieces:
        for data, share in pieces:
            X = data.X
            if X.shape[1] != schema.n_columns:
                raise UserError(
                    f"{path} has {plural(X.shape[1], 'column')} but the model was fitted to "
                    f"{schema.n_columns}; pass the same columns in the same order."
                )
            name = _find_target(*target, data.labels, path)
            if data.is_sparse != (schema.layout == "sparse"):
                X = as_sparse(X) if isinstance(X, np.ndarray) else X.toarray()
            numbers = np.arange(done + 1, done + 1 + X.shape[0])
            found = select_array_features(X, schema, tally=tally, row_numbers=numbers)
            labels = None if name is None else target_as_text(data.labels[name])
            yield Chunk(*found, pa.table({}), labels, share)
            done += len(numbers)
    tally.check()


def _find_target(
    target: str | None, needed: bool, names: Collection[str], path: object
) -> str | None:
    """Return the name of the target if the file has it, else None or an error."""
    if target in names:
        return target
    if needed:
        known = f"it has {listing(names)}" if len(names) else "it has no labels at all"
        raise UserError(f"{path} has no target {quoted(target)}{suggest(target, names)}; {known}.")
    return None
