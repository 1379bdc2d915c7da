"""From a table to the columns a model needs, checked cell by cell."""

from __future__ import annotations

import difflib

import numpy as np

from .columns import blank, has_codes, is_number, is_supported, is_text, numbers, text
from .errors import UserError, listing, plural
from .schema import Column, Schema
from .tally import usable

# A text column with this many different values, most of them seen once or twice, is a
# name or an identifier; one-hot encoding it would give a column per row.
MANY_CATEGORIES = 50


def table_schema(table, *, source, row_numbers, categorical=()):
    """Find out what kind each column of the training rows is.

    Parameters
    ----------
    table : pyarrow.Table
        The training rows, only columns that are to be used.
    source : path-like
        The file, for messages.
    row_numbers : ndarray of shape (n,)
        Row of the file for each row, counted from 1.
    categorical : sequence of str
        Columns that are categories whatever they hold.
    """
    columns = []
    for name in table.column_names:
        if not name.strip():
            raise UserError(
                f"A column of {source} has no name (row numbers that pandas wrote?); name it, or "
                f'leave it out with --drop "{name}".'
            )
        kind = _kind(table.column(name), name, source, row_numbers, name in categorical)
        columns.append(Column(name, kind))
    return Schema("table", len(columns), tuple(columns))


def table_features(table, schema, *, tally, row_numbers):
    """Pick the columns of the model, in its order, whatever else the table holds.

    Returns
    -------
    frame : pandas.DataFrame
        Numbers as float64, categories as text, for the complete rows only.
    complete : ndarray of bool, shape (n,)
        Rows without missing numbers.
    """
    import pandas as pd

    data = {}
    missing = np.zeros(table.num_rows, dtype=bool)
    for column in schema.columns:
        cells = table.column(column.name)
        _check_type(cells.type, column.name, tally.source)
        if column.kind == "category":
            data[column.name] = text(cells)
            continue
        values, bad = numbers(cells)
        if bad.size:
            raise UserError(
                f"Column '{column.name}' holds numbers in the model but row "
                f"{row_numbers[bad[0]]} of {tally.source} has '{_cell(cells, bad[0])}'"
                f"{_others(bad)}; correct it or leave it blank and pass --skip-missing."
            )
        missing |= tally.add(column.name, values, row_numbers)
        data[column.name] = values
    frame = pd.DataFrame(
        {name: pd.Series(values, dtype=values.dtype) for name, values in data.items()}
    )
    return (frame[~missing] if missing.any() else frame), ~missing


def check_columns(names, schema, source):
    """Refuse a table that lacks a column of the model."""
    lacking = [name for name in schema.names() if name not in set(names)]
    if not lacking:
        return
    noun = "column" if len(lacking) == 1 else "columns"
    close = difflib.get_close_matches(lacking[0], names, n=1)
    hint = f" (is '{close[0]}' meant?)" if close else ""
    raise UserError(
        f"{source} lacks the {noun} {listing(lacking)} that the model was fitted to{hint}; it has "
        f"{listing(names)}."
    )


def array_features(X, *, tally, row_numbers):
    """Rows of a matrix as floats.

    Returns
    -------
    X : ndarray or CSR array
        The complete rows.
    complete : ndarray of bool, shape (n,)
        Rows without missing numbers.
    """
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    dense = isinstance(X, np.ndarray)
    X = np.ascontiguousarray(X, dtype=dtype) if dense else X.astype(dtype)
    complete = np.ones(X.shape[0], dtype=bool)
    values = X if dense else X.data
    if usable(values):
        return X, complete
    if dense:
        for j in range(X.shape[1]):
            if not usable(X[:, j]):
                complete &= ~tally.add(str(j), X[:, j], row_numbers)
    else:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        for j in np.unique(X.indices):
            stored = X.indices == j
            missing = tally.add(str(j), X.data[stored], row_numbers[rows[stored]])
            complete[rows[stored][missing]] = False
    return (X if complete.all() else X[complete]), complete


def _kind(cells, name, source, row_numbers, forced):
    kind = cells.type
    _check_type(kind, name, source)
    if forced:
        return "category"
    if is_number(kind):
        return "number"
    if not is_text(kind):
        if cells.null_count == len(cells):
            raise UserError(f"Column '{name}' of {source} is blank; leave it out with --drop.")
        return "category"
    values, bad = numbers(cells)
    filled = len(values) - int(blank(text(cells)).sum())
    if not filled:
        raise UserError(f"Column '{name}' of {source} is blank; leave it out with --drop.")
    if not bad.size and not has_codes(cells):
        return "number"
    if 0 < 2 * bad.size <= filled:
        raise UserError(
            f"Column '{name}' of {source} mixes numbers and text: "
            f"{plural(filled - bad.size, 'number')}, but row {row_numbers[bad[0]]} has "
            f"'{_cell(cells, bad[0])}'{_others(bad)}; correct the cells, pass --categorical "
            f"'{name}', or leave the column out with --drop '{name}'."
        )
    different = len(set(text(cells)))
    if different > MANY_CATEGORIES and 2 * different > filled:
        raise UserError(
            f"Column '{name}' of {source} has {different} different texts in "
            f"{plural(filled, 'row')}, so it looks like a name and not like a category; leave it "
            f"out with --drop '{name}', or keep it with --categorical '{name}'."
        )
    return "category"


def _check_type(kind, name, source):
    if not is_supported(kind):
        raise UserError(
            f"Column '{name}' of {source} holds {kind} values, which are neither numbers nor "
            f"categories; convert it, or leave it out with --drop '{name}'."
        )


def _cell(cells, position):
    value = str(cells[int(position)])
    return value if len(value) <= 40 else value[:37] + "..."


def _others(bad):
    """Add how many more rows are wrong."""
    return "" if bad.size == 1 else f" (and so on in {plural(bad.size - 1, 'other row')})"
