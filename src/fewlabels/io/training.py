"""From a file to the rows a machine is fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import read_arrays
from .columns import text
from .errors import UserError, listing, plural
from .features import array_features, table_features, table_schema
from .paths import TABLES, input_format
from .schema import Schema
from .tables import read_table
from .tally import Tally
from .target import normal_rows, target_text


class TrainingRows(NamedTuple):
    """Checked training rows.

    Attributes
    ----------
    rows : DataFrame, ndarray or CSR array
        What the encoder gets.
    schema : Schema
        Their columns.
    n_read : int
        Rows in the file.
    normal : str or None
        Value of the target that marks them.
    notes : list of str
        What the user should know.
    """

    rows: Any
    schema: Schema
    n_read: int
    normal: str | None
    notes: list[str]


def read_training(
    path, *, target=None, normal=None, drop=(), categorical=(), skip_missing=False
) -> TrainingRows:
    """Read the normal rows of a file.

    Parameters
    ----------
    path : path-like
        Data file.
    target : str, optional
        Column (or array in an npz file, or "y" in an svmlight file) with the classes;
        without it all rows are normal.
    normal : str, optional
        The class that is normal.
    drop, categorical : sequence of str
        Columns to leave out, and columns that are categories whatever they hold.
    skip_missing : bool, default=False
        Leave out rows with missing numbers instead of refusing them.
    """
    form = input_format(path)
    if normal is not None and target is None:
        raise UserError(
            f"--normal '{normal}' names a value of the target column; say which column that is "
            "with --target."
        )
    read = _read_table_rows if form in TABLES else _read_array_rows
    found = read(path, form, target, normal, drop, categorical, Tally(path, skip_missing))
    n_rows = found.rows.shape[0]
    if n_rows < 2:
        raise UserError(
            f"{path} gives {plural(n_rows, 'training row')} once the normal and complete ones are "
            "chosen; at least 2 are needed."
        )
    return found


def _read_table_rows(path, form, target, normal, drop, categorical, tally):
    table = read_table(path, form)
    asked = [*drop, *categorical, *([] if target is None else [target])]
    unknown = [name for name in dict.fromkeys(asked) if name not in table.column_names]
    if unknown:
        raise UserError(
            f"{path} has no column {listing(unknown)}; it has {listing(table.column_names)}."
        )
    n_read = table.num_rows
    values = None if target is None else text(table.column(target))
    keep, normal, notes = _choose(values, normal, target, path, n_read)
    row_numbers = np.flatnonzero(keep) + 1
    left = [name for name in table.column_names if name != target and name not in drop]
    if not left:
        raise UserError(f"{path} has no columns to learn from besides those left out.")
    table = table.select(left)
    if not keep.all():
        table = table.filter(keep)
    schema = table_schema(table, source=path, row_numbers=row_numbers, categorical=categorical)
    rows, complete = table_features(table, schema, tally=tally, row_numbers=row_numbers)
    tally.check()
    notes += _skipped(complete) + _counters(rows, schema)
    return TrainingRows(rows, schema, n_read, normal, notes)


def _read_array_rows(path, form, target, normal, drop, categorical, tally):
    if drop or categorical:
        raise UserError(
            f"--drop and --categorical name columns, and those of {path} have no names; use a "
            "table (.csv, .tsv or .parquet)."
        )
    data = read_arrays(path, form)
    values = None
    if target is not None:
        if target not in data.labels:
            known = f"it has {listing(data.labels)}" if data.labels else "it has no labels at all"
            raise UserError(f"{path} has no target '{target}' with one value per row; {known}.")
        values = target_text(data.labels[target])
    keep, normal, notes = _choose(values, normal, target, path, data.X.shape[0])
    if target is None and data.labels:
        notes.append(f"labels in the file ({listing(data.labels)}) not used; all rows are normal")
    n_read, n_columns = data.X.shape
    X = data.X if keep.all() else data.X[keep]
    rows, complete = array_features(X, tally=tally, row_numbers=np.flatnonzero(keep) + 1)
    tally.check()
    layout = "sparse" if data.is_sparse else "dense"
    schema = Schema(layout, n_columns, zero_based=data.zero_based)
    return TrainingRows(rows, schema, n_read, normal, notes + _skipped(complete))


def _choose(values, normal, target, path, n_rows):
    if values is None:
        return np.ones(n_rows, dtype=bool), None, []
    return normal_rows(values, normal, target=target, source=path)


def _counters(rows, schema):
    """Warn of columns that only number the rows: new rows would all lie outside."""
    notes = []
    for name in schema.names("number"):
        values = rows[name].to_numpy()
        if len(values) > 10 and (np.diff(values) == 1.0).all():
            notes.append(
                f"column '{name}' counts the rows; if it is no measurement, leave it out with "
                f"--drop '{name}'"
            )
    return notes


def _skipped(complete):
    n_skipped = int((~complete).sum())
    return [f"{plural(n_skipped, 'row')} with missing numbers not used"] if n_skipped else []
