"""From a file to the rows a machine is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .arrays import ArrayData, read_arrays
from .columns import text
from .errors import UserError, listing, plural
from .features import array_features, table_features, table_schema
from .paths import TABLES, input_format
from .schema import Schema
from .tables import read_table
from .tally import Tally
from .target import count_labels, target_text


class TrainingRows(NamedTuple):
    """Checked training rows.

    Attributes
    ----------
    rows : DataFrame, ndarray or CSR array
        What the encoder gets.
    y : ndarray of int8 or None
        Labels, for machines that take any.
    schema : Schema
        Columns of the rows.
    notes : list of str
        What the user should know.
    """

    rows: Any
    y: np.ndarray | None
    schema: Schema
    notes: list[str]


@dataclass(frozen=True)
class TrainingFile:
    """A file as it was read, before rows are chosen.

    Attributes
    ----------
    path : path-like
        The file.
    content : pyarrow.Table or ArrayData
        Columns to learn from.
    values : ndarray of str, shape (n,), or None
        The target, where one was named.
    target : str or None
        Its name.
    categorical : sequence of str
        Columns that are categories whatever they hold.
    unlabeled : str or None
        Value of the target that counts as blank.
    """

    path: Path
    content: pa.Table | ArrayData
    values: np.ndarray | None
    target: str | None
    categorical: tuple[str, ...] = ()
    unlabeled: str | None = None

    @property
    def n_rows(self):
        """Rows in the file."""
        table = isinstance(self.content, pa.Table)
        return self.content.num_rows if table else self.content.X.shape[0]

    @cached_property
    def labels(self):
        """The target, counted; None without one."""
        if self.values is None:
            return None
        labels = count_labels(self.values, column=self.target, source=self.path)
        return labels if self.unlabeled is None else labels.with_mark(self.unlabeled)

    def choose(self, roles, skip_missing=False):
        """Rows to learn from.

        Parameters
        ----------
        roles : Roles
            Which rows, and as what.
        skip_missing : bool, default=False
            Leave out rows with missing numbers instead of refusing them.
        """
        tally = Tally(self.path, skip_missing)
        choose = _choose_table if isinstance(self.content, pa.Table) else _choose_array
        rows, complete, schema, notes = choose(self, roles.keep, tally)
        n_skipped = int((~complete).sum())
        if n_skipped:
            notes = [f"{plural(n_skipped, 'row')} with missing numbers not used", *notes]
        y = None if roles.y is None else roles.y[roles.keep][complete]
        _check_enough(self.path, rows.shape[0], y, roles.needed)
        return TrainingRows(rows, y, schema, roles.notes + notes)


def read_training(path, *, target=None, drop=(), categorical=(), unlabeled=None):
    """Read a file to learn from.

    Parameters
    ----------
    path : path-like
        Data file.
    target : str, optional
        Column (or array in an npz file, or "y" in an svmlight file) with the classes.
    drop, categorical : sequence of str
        Columns to leave out, and columns that are categories whatever they hold.
    unlabeled : str, optional
        Value of the target that counts as blank.

    Returns
    -------
    TrainingFile
    """
    form = input_format(path)
    if form in TABLES:
        file = _read_table(path, form, target, drop, categorical)
        return replace(file, unlabeled=unlabeled)
    if drop or categorical:
        raise UserError(
            f"--drop and --categorical name columns, and those of {path} have no names; use a "
            "table (.csv, .tsv or .parquet)."
        )
    return replace(_read_arrays(path, form, target), unlabeled=unlabeled)


def _read_table(path, form, target, drop, categorical):
    table = read_table(path, form)
    asked = [*drop, *categorical, *([] if target is None else [target])]
    unknown = [name for name in dict.fromkeys(asked) if name not in table.column_names]
    if unknown:
        raise UserError(
            f"{path} has no column {listing(unknown)}; it has {listing(table.column_names)}."
        )
    values = None if target is None else text(table.column(target))
    left = [name for name in table.column_names if name != target and name not in drop]
    if not left:
        raise UserError(f"{path} has no columns to learn from besides those left out.")
    return TrainingFile(path, table.select(left), values, target, tuple(categorical))


def _read_arrays(path, form, target):
    data = read_arrays(path, form)
    values = None
    if target is not None:
        if target not in data.labels:
            known = f"it has {listing(data.labels)}" if data.labels else "it has no labels at all"
            raise UserError(f"{path} has no target '{target}' with one value per row; {known}.")
        values = target_text(data.labels[target])
    return TrainingFile(path, data, values, target)


def _choose_table(file, keep, tally):
    row_numbers = np.flatnonzero(keep) + 1
    table = file.content if keep.all() else file.content.filter(keep)
    schema = table_schema(
        table, source=file.path, row_numbers=row_numbers, categorical=file.categorical
    )
    rows, complete = table_features(table, schema, tally=tally, row_numbers=row_numbers)
    tally.check()
    return rows, complete, schema, _counters(rows, schema)


def _choose_array(file, keep, tally):
    data = file.content
    X = data.X if keep.all() else data.X[keep]
    rows, complete = array_features(X, tally=tally, row_numbers=np.flatnonzero(keep) + 1)
    tally.check()
    layout = "sparse" if data.is_sparse else "dense"
    schema = Schema(layout, data.X.shape[1], zero_based=data.zero_based)
    notes = []
    if file.target is None and data.labels:
        notes.append(f"labels in the file ({listing(data.labels)}) not used; all rows are normal")
    return rows, complete, schema, notes


def _check_enough(path, n_rows, y, needed):
    if n_rows < 2:
        raise UserError(
            f"{path} gives {plural(n_rows, 'training row')} once the normal and complete ones are "
            "chosen; at least 2 are needed."
        )
    for label, words in needed.items():
        if not np.any(y == label):
            raise UserError(
                f"No row of {path} without missing numbers is {words}; fill in the missing "
                "numbers of those that are."
            )


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
