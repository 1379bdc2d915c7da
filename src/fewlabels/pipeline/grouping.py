"""Rows that are held out together and count once: copies, near-copies, one identifier's rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._typing import IntArray, RowMatrix
from .._util.messages import plural, quoted, ref
from ..base.task import Task
from ..rows.repeats import Groups, join_groups, labels_agree, near_copies, repeated_rows
from ..tables.columns.column import are_blank, is_number
from ..tables.columns.profile import MANY_CATEGORIES, is_identifier_name
from ..tables.columns.target import RowSelection
from ..tables.columns.values import ColumnValues
from ..tables.reading.training import TableRows, TrainingFile

# What becomes of groups, with labels and without.
_WITH_LABELS = "are held out together and count once"
_WITHOUT_LABELS = "only one of each is used"
# Rows of an identifier, on average, beyond which it rather is a category of many rows.
_MAX_MEAN_GROUP_ROWS = 20.0
# Values of an identifier that have to repeat.
_MIN_REPEATED_VALUES = 4
# Share of the rows compared that have to be nearer to a row with the same identifier.
_MIN_CLOSE_SHARE = 0.8
# Pairs of rows that are compared for that.
_MAX_COMPARED_PAIRS = 500
# Rows that near-copies are looked for among.
_MAX_ROWS_FOR_NEAR_COPIES = 2000


class Grouping(NamedTuple):
    """Numbers of groups by row, None where every row is its own, and notes for the user."""

    groups: Groups | None
    notes: list[str]


def with_identifier(file: TrainingFile, roles: RowSelection, task: Task) -> TrainingFile:
    """Return the file with a repeated identifier as its groups, if its rows are alike."""
    if file.groups is not None:
        return file
    keep, asked = np.flatnonzero(roles.keep), file.asked
    columns = {name: column.take(keep) for name, column in file.columns.items()}
    codes = None if roles.y is None else _codes(roles.y[keep], task)
    for name, column in columns.items():
        if name in asked or not _may_identify(name, column):
            continue
        groups = _groups_of_values(column)
        sizes = np.bincount(groups)
        sizes = sizes[sizes > 1]
        if len(sizes) < _MIN_REPEATED_VALUES or sizes.mean() > _MAX_MEAN_GROUP_ROWS:
            continue
        if (codes is not None and labels_agree(groups, codes)) or _are_close(
            columns, name, groups
        ):
            return replace(file, options=replace(file.options, groups=name))
    return file


def find_groups(file: TrainingFile, found: TableRows, X: RowMatrix, task: Task) -> Grouping:
    """Find rows that belong together among those ``found`` in a ``file``, encoded as ``X``."""
    codes = None if found.y is None else _codes(found.y, task)
    parts: list[Groups] = []
    notes: list[str] = []
    if file.groups is not None:
        of_column = _groups_of_values(file.columns[file.groups].take(found.numbers - 1))
        parts.append(of_column)
        notes.append(_of_column(file.groups, of_column, codes))
    copies = repeated_rows(X, codes)
    if copies is not None:
        parts.append(copies)
        notes.append(_of_copies(copies, codes))
    near = None if file.groups is not None else _near(X, codes)
    if near is not None:
        parts.append(near)
        notes.append(_of_near_copies(near, copies, codes))
    groups = join_groups(parts)
    if groups is None or groups.max() == len(groups) - 1:
        return Grouping(None, notes)
    return Grouping(groups, notes)


def one_of_each(groups: Groups) -> IntArray:
    """Return a row of each group, drawn at random, in the order of the rows."""
    order = np.random.default_rng(0).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def _codes(y: IntArray, task: Task) -> NDArray[np.intp]:
    """Return numbers of classes, and -1 for rows without a label."""
    return np.where(task.is_known(y), np.asarray(y), -1).astype(np.intp)


# -- identifiers ---------------------------------------------------------------------------------


def _may_identify(name: str, column: ColumnValues) -> bool:
    """Return whether a column may identify rows, by its name or its many texts."""
    if is_identifier_name(name):
        return True
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    n_values = len(column.present[0])
    return n_values > MANY_CATEGORIES and 2 * n_values > len(column)


def _groups_of_values(column: ColumnValues) -> Groups:
    """Return numbers of the values of a column; each blank cell is its own."""
    cells = column.texts()
    groups = np.unique(np.asarray(cells, dtype=object).astype(str), return_inverse=True)[1].ravel()
    gaps = np.flatnonzero(are_blank(cells))
    groups[gaps] = groups.max(initial=0) + 1 + np.arange(len(gaps))
    return np.unique(groups, return_inverse=True)[1].ravel()


def _are_close(columns: Mapping[str, ColumnValues], identifier: str, groups: Groups) -> bool:
    """Return whether most rows are nearer to one of their group than to another one."""
    measured = [
        column.numbers()[0]
        for name, column in columns.items()
        if name != identifier and is_number(column.type)
    ]
    if not measured:
        return False
    rows = np.column_stack(measured)
    with np.errstate(all="ignore"):
        rows = np.nan_to_num((rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    first = np.flatnonzero(groups[order][1:] == groups[order][:-1])
    first = rng.permutation(first)[:_MAX_COMPARED_PAIRS]
    one, same = order[first], order[first + 1]
    other = rng.integers(len(groups), size=len(one))
    usable = groups[other] != groups[one]
    inside, across = (np.square(rows[one] - rows[b]).sum(axis=1) for b in (same, other))
    return bool(usable.any() and np.mean((inside < across)[usable]) >= _MIN_CLOSE_SHARE)


# -- near-copies ---------------------------------------------------------------------------------


def _near(X: RowMatrix, codes: NDArray[np.intp] | None) -> Groups | None:
    """Return groups of nearly equal rows, among labelled ones and some others."""
    n = X.shape[0]
    known = np.ones(n, bool) if codes is None else codes >= 0
    order = np.random.default_rng(0).permutation(n)
    rows = np.sort(order[np.argsort(~known[order], kind="stable")][:_MAX_ROWS_FOR_NEAR_COPIES])
    found = near_copies(X[rows], known[rows])
    if found is None:
        return None
    groups = np.arange(n) + n
    groups[rows] = found
    return np.unique(groups, return_inverse=True)[1].ravel()


# -- words ---------------------------------------------------------------------------------------


def _counted(groups: Groups, codes: NDArray[np.intp] | None) -> tuple[NDArray[np.intp], str, str]:
    """Count the rows of groups of labelled rows, or of all if these don't repeat."""
    rows, kind = groups, "row"
    if codes is not None:
        known = groups[codes >= 0]
        if len(np.unique(known)) < len(known):
            rows, kind = known, "labelled row"
    return np.unique(rows, return_counts=True)[1], kind, _WITHOUT_LABELS if codes is None else ""


def _of_copies(groups: Groups, codes: NDArray[np.intp] | None) -> str:
    sizes, kind, what = _counted(groups, codes)
    why = f"more often than chance allows: {what or f'copies {_WITH_LABELS}'}"
    if (sizes == sizes[0]).all():
        return f"{plural(len(sizes), kind)} occur {sizes[0]} times each, {why}"
    return f"{sizes.sum() - len(sizes)} of {plural(int(sizes.sum()), kind)} repeat others, {why}"


def _of_near_copies(groups: Groups, copies: Groups | None, codes: NDArray[np.intp] | None) -> str:
    sizes, kind, what = _counted(groups, codes)
    n = int(sizes[sizes > 1].sum())
    return (
        f"{n} of {plural(int(sizes.sum()), kind)} are nearly equal to others, such as visits of a "
        f"patient: {what or f'these {_WITH_LABELS}'}; {ref('groups', some='COLUMN')} says which "
        "rows belong together"
    )


def _of_column(name: str, groups: Groups, codes: NDArray[np.intp] | None) -> str:
    sizes, kind, what = _counted(groups, codes)
    if (sizes == 1).all():
        return f"{ref('groups', name)} has no effect, because its values are all different"
    return (
        f"{quoted(name)} has {plural(len(sizes), 'value')} in {plural(int(sizes.sum()), kind)}: "
        f"{what or f'rows with the same value {_WITH_LABELS}'}"
    )
