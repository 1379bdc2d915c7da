"""From a table to the columns a model needs, checked cell by cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RealArray, RowMatrix
from ..._util.messages import UserError, listing, plural, quoted, ref, suggest
from ..encoding.truth import are_truth_values
from .column import are_blank, is_number, is_supported
from .notation import PLAIN, Notation
from .profile import MANY_CATEGORIES, are_formatted_numbers, are_sentences
from .schema import IMPUTE, Column, Schema, is_sidecar
from .spellings import find_spellings
from .tally import Tally, are_usable
from .values import ColumnValues

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def infer_schema(
    columns: Mapping[str, ColumnValues],
    source: object,
    row_numbers: IntArray,
    requested_kinds: Mapping[str, str],
    requested: Collection[str] = (),
    merge: bool = False,
) -> Schema:
    """Find out what kind each column of the training rows is.

    ``requested_kinds`` makes some columns a "category" or a "text", whatever they hold. The user
    wants the ``requested`` columns although they look like names or dates. ``row_numbers`` count
    rows of the file, from 1. ``merge``: whether categories that differ in capital letters or
    blanks only are one.
    """
    found = []
    for name, column in columns.items():
        if not name.strip():
            raise UserError(
                f"A column of {source} has no name (row numbers that pandas wrote?); name it, or "
                f"drop it with {ref('drop', [name])}."
            )
        as_asked = requested_kinds.get(name)
        if name in requested and as_asked != "text" and column.are_dates(mixed=as_asked is None):
            kind = "date"
        else:
            _check_type(column.type, name, source)
            kind = as_asked or _infer_kind(column, name, source, row_numbers, name in requested)
            if kind == "text" and not column.filled:
                raise _blank_column_error(name, source)
        spellings = {}
        if merge and kind == "category" and column.is_text and column.kind in ("text", "mixed"):
            spellings = find_spellings(column.values, column.counts)
        decimal, unit = column.notation or PLAIN
        found.append(Column(name, kind, decimal=decimal, unit=unit, spellings=spellings))
    return Schema("table", len(found), tuple(found))


def select_table_features(
    columns: Mapping[str, ColumnValues],
    schema: Schema,
    *,
    tally: Tally,
    row_numbers: IntArray,
    notations: Mapping[str, Notation] | None = None,
) -> tuple[pd.DataFrame, BoolArray, BoolArray]:
    """Pick the columns of the model, in its order, whatever else the table holds.

    Gives a data frame of the complete rows (numbers as float64, dates as days, others as text),
    which rows these are (those that the tally does not want left out), and which have no value in
    any column, and are left out for that reason. ``notations`` are those
    of columns whose numbers are not written plainly, by name.
    """
    import pandas as pd

    data: dict[str, AnyArray] = {}
    read: dict[str, FloatArray] = {}
    for column in schema.columns:
        name, kind, cells = column.name, column.kind, columns[column.name]
        if kind == "date":
            read[name] = cells.days(name, tally.source)
        else:
            _check_type(cells.type, name, tally.source)
            if kind in ("category", "boolean", "text"):
                data[name] = cells.texts(column.spellings)
                continue
            notation = (notations or {}).get(name)
            values, bad = cells.numbers(notation)
            if bad.size:
                skip = "" if schema.missing == IMPUTE else f" and pass {ref('skip_missing', True)}"
                unit = f" in {notation.unit}" if notation and notation.unit else ""
                raise UserError(
                    f"Column {quoted(name)} holds numbers{unit} in the model but row "
                    f"{row_numbers[bad[0]]} of {tally.source} has "
                    f"{_describe_bad_cells(cells, bad)}; correct it or leave it blank{skip}."
                )
            read[name] = values
        data[name] = read[name]
    empty = _find_empty_rows(schema, list(read.values()), data, len(row_numbers))
    complete = ~empty
    tally.empty += int(empty.sum())
    for name, values in read.items():
        fill = schema.missing == IMPUTE
        complete[~empty] &= ~tally.add(name, values[~empty], row_numbers[~empty], fill=fill)
    frame = pd.DataFrame({n: pd.Series(values, dtype=values.dtype) for n, values in data.items()})
    return (frame if complete.all() else frame[complete]), complete, empty


def _find_empty_rows(
    schema: Schema, number_columns: Iterable[RealArray], texts: Mapping[str, AnyArray], n_rows: int
) -> BoolArray:
    """Find rows without a value in any column, if models of this schema set these apart.

    Where missing numbers are refused, rows of them are as well.
    """
    empty = np.full(n_rows, bool(schema.empty_rows) and schema.missing == IMPUTE)
    for values in number_columns:
        if empty.any():
            empty &= np.isnan(values)
    for column in schema.columns:
        if column.kind in ("category", "boolean", "text") and empty.any():
            empty[empty] = are_blank(texts[column.name][empty])
    return empty


def check_columns(names: Collection[str], schema: Schema, source: object) -> None:
    """Refuse a table that lacks a column of the model."""
    n_fitted, n_given = (sum(map(is_sidecar, n)) for n in (schema.names(), names))
    if n_fitted != n_given:
        fitted = (
            f"with {ref('features')} of {plural(n_fitted, 'column')}"
            if n_fitted
            else f"without {ref('features')}"
        )
        if not n_given:
            made = f", made as {quoted(schema.features)} was" if schema.features else ""
            raise UserError(
                f"The model was fitted {fitted}, but {source} comes without them; pass "
                f"{ref('features', some='FILE')}, an .npy file with {plural(n_fitted, 'number')} "
                f"for each row of {source}{made}."
            )
        todo = "give as many" if n_fitted else "omit them"
        raise UserError(
            f"The model was fitted {fitted}, but {source} comes with {n_given} of these; {todo}."
        )
    lacking = [name for name in schema.sources() if name not in set(names)]
    if not lacking:
        return
    noun = "column" if len(lacking) == 1 else "columns"
    raise UserError(
        f"{source} lacks the {noun} {listing(lacking)} that the model was fitted to"
        f"{suggest(lacking[0], names)}; it has {listing(names)}."
    )


def select_array_features(
    X: RowMatrix, schema: Schema, *, tally: Tally, row_numbers: IntArray
) -> tuple[RowMatrix, BoolArray, BoolArray]:
    """Return rows of a matrix as floats, like :func:`table_features` for a table.

    Missing numbers stored in a sparse matrix are never filled in.
    """
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if isinstance(X, np.ndarray):
        X = values = np.ascontiguousarray(X, dtype=dtype)
    else:
        X = X.astype(dtype)
        values = X.data
    complete = np.ones(X.shape[0], dtype=bool)
    empty = ~complete
    if are_usable(values):
        return X, complete, empty
    if isinstance(X, np.ndarray):
        empty = _find_empty_rows(schema, X.T, {}, X.shape[0])
        tally.empty += int(empty.sum())
        complete, fill = ~empty, schema.missing == IMPUTE
        for j in range(X.shape[1]):
            if not are_usable(X[:, j]):
                found = X[~empty, j]
                complete[~empty] &= ~tally.add(str(j), found, row_numbers[~empty], fill=fill)
    else:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        for j in np.unique(X.indices):
            stored = X.indices == j
            gaps = tally.add(str(j), X.data[stored], row_numbers[rows[stored]])
            complete[rows[stored][gaps]] = False
    return (X if complete.all() else X[complete]), complete, empty


def _infer_kind(
    seen: ColumnValues, name: str, source: object, row_numbers: IntArray, is_requested: bool
) -> str:
    if is_number(seen.type):
        return "number"
    if not seen.filled:
        raise _blank_column_error(name, source)
    if seen.kind == "mixed":
        bad = seen.numbers()[1]
        correct = "correct the cells"
        if are_formatted_numbers([seen.cell(bad[0])]):
            correct += " (numbers with units are read where all cells have the same)"
        raise UserError(
            f"Column {quoted(name)} of {source} mixes numbers and text: "
            f"{plural(seen.filled - bad.size, 'number')}, but row {row_numbers[bad[0]]} has "
            f"{_describe_bad_cells(seen, bad)}; {correct}, pass {ref('categorical', [name])}, "
            f"or drop the column with {ref('drop', [name])}."
        )
    if seen.kind in ("text", "boolean") and are_truth_values(seen.values):
        return "boolean"
    many = seen.kind != "number" and MANY_CATEGORIES < len(seen.values)
    if many and not is_requested and 2 * len(seen.values) > seen.filled:
        if are_sentences(seen.values):
            return "text"
        raise UserError(
            f"Column {quoted(name)} of {source} has {len(seen.values)} different texts in "
            f"{plural(seen.filled, 'row')}, so it looks like a name, not a category; drop it "
            f"with {ref('drop', [name])}, or keep it with {ref('categorical', [name])} or "
            f"{ref('text', [name])}."
        )
    return "number" if seen.kind == "number" else "category"


def _blank_column_error(name: str, source: object) -> UserError:
    return UserError(
        f"Column {quoted(name)} of {source} is blank; leave it out with {ref('drop')}."
    )


def _check_type(kind: pa.DataType, name: str, source: object) -> None:
    if not is_supported(kind):
        raise UserError(
            f"Column {quoted(name)} of {source} holds {kind} values, which are neither numbers "
            f"nor categories; convert it, or drop it with {ref('drop', [name])}."
        )


def _describe_bad_cells(column: ColumnValues, bad: IntArray) -> str:
    """Describe the first wrong cell, and say how many more there are."""
    more = "" if bad.size == 1 else f" (and so on in {plural(bad.size - 1, 'other row')})"
    return f"{quoted(column.cell(bad[0]), 40)}{more}"
