"""From a file to the rows a model is fitted to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from ..._typing import BoolArray, FloatArray, IntArray, ObjectArray, RowMatrix
from ..._util.messages import UserError, listing, plural, quoted, ref, suggest
from ..arrays import ArrayData, read_arrays
from ..columns.column import are_blank, days_column_name, expand_dates, text, without
from ..columns.features import (
    describe_spellings,
    infer_schema,
    select_array_features,
    select_table_features,
)
from ..columns.leaks import LabelledRows, find_matrix_leaks
from ..columns.notation import (
    Notation,
    convert_columns,
    count_formatted_numbers,
    describe_notations,
    find_notations,
)
from ..columns.profile import (
    DROPPED,
    GROUP_COLUMN,
    ColumnProfile,
    collect_values,
    decide_columns,
    describe_columns,
    describe_decisions,
)
from ..columns.schema import IMPUTE, REFUSE, Schema, is_sidecar
from ..columns.tally import Tally, describe_filled
from ..columns.target import Labels, RowSelection, count_labels, target_as_text
from ..file_identity import StrPath
from ..formats.registry import tables, usual_extensions
from ..limits import check_memory
from ..names import value_key
from ..sources import DataSource, InMemory, Source, as_source
from .options import DEFAULT_COLUMN_OPTIONS, ColumnOptions
from .read import describe_reading, read_table

if TYPE_CHECKING:
    import pandas as pd

SKIP = "skip"
# Cells that columns are compared by before all of them are.
_COMPARED = 20


class TableRows(NamedTuple):
    """Rows for the encoder and their columns, and labels for models that take any.

    ``numbers`` are the rows' places in the file, from 1; ``profile`` says what the columns of the
    file hold and how they were taken (empty for matrices); ``aside`` are numbers of a column that
    is no feature.
    """

    rows: pd.DataFrame | RowMatrix
    y: IntArray | None
    schema: Schema
    notes: list[str]
    numbers: IntArray
    profile: list[ColumnProfile]
    aside: FloatArray | None = None


@dataclass(frozen=True)
class TrainingFile:
    """A file as it was read, before rows are chosen.

    ``content`` are the columns to learn from, ``values`` the target as text, ``unlabeled`` its
    value that counts as blank, ``categorical``, ``keep`` and ``texts`` columns as
    :func:`fewlabels.fit_table` has them. ``notations`` say how numbers were written that are not
    plain, by column; ``unhelpful`` are columns without which labels are predicted better, and
    ``groups`` is the column whose values say which rows are held out together.
    """

    path: Source | InMemory
    content: pa.Table | ArrayData
    values: ObjectArray | None
    target: str | None
    categorical: tuple[str, ...] = ()
    unlabeled: str | None = None
    keep: tuple[str, ...] = ()
    notations: dict[str, Notation] = field(default_factory=dict)
    merge_case: bool | None = None
    texts: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    dropped_columns: tuple[str, ...] = ()
    sample: BoolArray | None = None
    aside: FloatArray | None = None
    groups: str | None = None

    @property
    def name(self) -> str:
        return Path(str(self.path)).name

    @property
    def n_rows(self) -> int:
        if isinstance(self.content, ArrayData):
            return self.content.X.shape[0]
        return self.content.num_rows

    @property
    def table(self) -> pa.Table:
        """Return the content, which has to be a table."""
        assert not isinstance(self.content, ArrayData)
        return self.content

    @property
    def asked(self) -> set[str]:
        """Columns that the user wants."""
        sidecars = [name for name in self.table.column_names if is_sidecar(name)]
        return {*self.keep, *self.categorical, *self.texts, *sidecars}

    @property
    def trusted_columns(self) -> set[str]:
        """Columns that the user wants even if they came with the labels."""
        of_dates = {days_column_name(name) for name in self.dates}
        requested = {name for name in self.keep if name not in of_dates}
        names = self.table.column_names
        parts = (
            n for date in requested & {*self.dates} for n in names if n.startswith(f"{date}: ")
        )
        return {*requested, *parts, *filter(is_sidecar, names)}

    @property
    def remarks(self) -> list[str]:
        """Remarks on how the file is written, as far as it was detected."""
        read = describe_reading(self.path) if self.path.format.is_table else ""
        return [text for text in (read, describe_notations(self.notations)) if text]

    @cached_property
    def labels(self) -> Labels | None:
        """The target, counted; None without one."""
        if self.values is None or self.target is None:
            return None
        labels = count_labels(
            self.values, column=self.target, source=self.path, merge_case=self.merge_case
        )
        return labels if self.unlabeled is None else labels.with_mark(self.unlabeled)

    def choose(
        self,
        roles: RowSelection,
        missing: str = IMPUTE,
        empty_rows: str = "blank",
        known: IntArray | None = None,
    ) -> TableRows:
        """Choose the rows to learn from; ``known`` are codes of labels that ``roles`` lack.

        Missing numbers are filled in ("impute", but never in a sparse matrix), their rows left
        out ("skip"), or refused. Without labels rows without any value are left out, and
        ``empty_rows`` says what becomes of those to score.
        """
        tally = Tally(self.path, missing == SKIP, ref("missing", "skip"))
        known = roles.label_codes(self.labels) if known is None else known
        choose = _choose_table if isinstance(self.content, pa.Table) else _choose_array
        numbers = np.flatnonzero(roles.keep) + 1
        fills = IMPUTE if missing == IMPUTE else REFUSE
        empty_rows = empty_rows if roles.y is None else ""
        how = roles.keep, known, numbers, tally, fills, empty_rows
        rows, complete, schema, notes, profile = choose(self, *how)
        tally.check()
        n_skipped = int((~complete).sum()) - tally.empty
        if tally.empty:
            notes = [f"{plural(tally.empty, 'row')} without any value not used", *notes]
        if n_skipped:
            notes = [f"{plural(n_skipped, 'row')} with missing numbers not used", *notes]
        if tally.filled:
            what = f"and marked with extra columns; {ref('missing', 'skip')} drops these rows"
            notes = [f"{describe_filled(tally.filled)}, {what}", *notes]
        notes = [*self.remarks, *notes]
        names = self.content.column_names if isinstance(self.content, pa.Table) else []
        headless = isinstance(self.path, Source) and self.path.reading.header is False
        if not isinstance(self.path, InMemory) and not headless and _are_data(names):
            what = (
                "is used as column names but looks like data; if it is data, pass "
                f"{ref('header', False)}"
            )
            notes = [f"the first row ({listing(names, 3)}) {what}", *notes]
        y = None if roles.y is None else roles.y[roles.keep][complete]
        _check_enough(self.path, rows.shape[0], y, roles.needed)
        numbers = numbers[complete]
        aside = None if self.aside is None else self.aside[numbers - 1]
        return TableRows(rows, y, schema, roles.notes + notes, numbers, profile, aside)


def read_training(
    path: StrPath | DataSource, columns: ColumnOptions = DEFAULT_COLUMN_OPTIONS
) -> TrainingFile:
    """Read a file, or rows in memory, to learn from.

    The target is a column, an array in an npz file, or "y" in an svmlight file.
    """
    path = as_source(path)
    target, groups, dates, keep = columns.target, columns.groups, columns.dates, columns.keep
    notations, numbers = {}, None
    if path.format.is_table:
        drop, categorical, text = columns.drop, columns.categorical, columns.text
        asked = {"drop": drop, "categorical": categorical, "text": text}
        _check_asked(asked, target)
        others = [*categorical, *keep, *text, *dates]
        if groups is not None:
            _check_groups(groups, {"target": [target], "keep": keep, "dates": dates, **asked})
            others.append(groups)
        content, values, numbers = _read_table(path, target, drop, others, columns.aside)
        content = expand_dates(content, dates, path)
        keep = [*keep, *map(days_column_name, dates)]
        names = set(content.column_names) - {*categorical, *text}
        notations = table_notations(path, content, names)
        content = convert_columns(content, notations)
    elif (
        columns.drop
        or columns.categorical
        or keep
        or columns.text
        or dates
        or columns.aside
        or groups
    ):
        raise UserError(
            f"{ref('drop')}, {ref('keep')}, {ref('text')}, {ref('dates')}, {ref('groups')} and "
            f"{ref('categorical')} need column names, and {path} has none; use a table "
            f"({usual_extensions(tables())})."
        )
    else:
        content, values = _read_arrays(path, target)
    return TrainingFile(
        path,
        content,
        values,
        target,
        tuple(columns.categorical),
        columns.unlabeled,
        tuple(keep),
        notations,
        columns.merge_case,
        tuple(columns.text),
        tuple(dates),
        aside=numbers,
        groups=groups,
    )


def table_notations(
    path: DataSource,
    table: pa.Table,
    names: Collection[str],
    known: Mapping[str, Notation] | None = None,
) -> dict[str, Notation]:
    """Return the notations of some columns of a table, by name, if they aren't plain numbers."""
    decimal, likely = None, "."
    if isinstance(path, Source):
        decimal = path.reading.decimal
        likely = "," if path.format.separator is not None and path.dialect.sep == ";" else "."
    return find_notations(
        table, [n for n in table.column_names if n in names], decimal, known, likely
    )


def select_encoder_rows(
    file: TrainingFile, schema: Schema, rows: IntArray
) -> tuple[pd.DataFrame | RowMatrix, IntArray]:
    """Return rows of a file (positions from 0) for a model's encoder, and their numbers."""
    tally = Tally(file.path, skip_missing=schema.missing == REFUSE)
    numbers = rows + 1
    if isinstance(file.content, pa.Table):
        table = file.content.take(rows)
        found, complete, _ = select_table_features(table, schema, tally=tally, row_numbers=numbers)
    else:
        X = file.content.X[rows]
        found, complete, _ = select_array_features(X, schema, tally=tally, row_numbers=numbers)
    tally.check()
    return found, numbers[complete]


def _check_asked(asked: Mapping[str, Sequence[str]], target: str | None) -> None:
    """Refuse what is asked of one column in two ways."""
    asked = {**asked, "target": () if target is None else (target,)}
    for one, other in combinations(asked, 2):
        both = [name for name in asked["text"] if name in asked[one] and name in asked[other]]
        if both:
            raise UserError(
                f"{ref(one)} and {ref(other)} both name the column {listing(both)}; pass one of "
                "them."
            )


def _check_groups(groups: str, asked: Mapping[str, Sequence[str | None]]) -> None:
    """Refuse a column of groups that is to be something else too."""
    for name, columns in asked.items():
        if groups in columns:
            raise UserError(
                f"{ref('groups')} and {ref(name)} both name the column {quoted(groups)}; pass one "
                "of them."
            )


def _read_table(
    path: DataSource,
    target: str | None,
    drop: Sequence[str],
    others: Iterable[str],
    aside: str | None = None,
) -> tuple[pa.Table, ObjectArray | None, FloatArray | None]:
    table = read_table(path)
    asked = [*drop, *others, *(name for name in (target, aside) if name is not None)]
    known = set(table.column_names)
    unknown = [name for name in dict.fromkeys(asked) if name not in known]
    if unknown:
        raise UserError(
            f"{path} has no column {listing(unknown)}{suggest(unknown[0], table.column_names)}; "
            f"it has {listing(table.column_names)}."
        )
    left_out = {target, aside, *drop}
    left = [name for name in table.column_names if name not in left_out]
    if not left:
        raise UserError(f"{path} has no columns left to learn from.")
    numbers = None if aside is None else _read_numbers(table, aside, path)
    return table.select(left), None if target is None else text(table.column(target)), numbers


def _read_numbers(table: pa.Table, name: str, path: object) -> FloatArray:
    """Return the numbers of a column that is no feature, NaN where there is none."""
    cells = text(table.column(name))
    cells[are_blank(cells)] = "nan"
    try:
        return cells.astype(np.float64)
    except ValueError:
        raise UserError(
            f"The column {quoted(name)} of {path} has cells that aren't numbers."
        ) from None


def _read_arrays(path: DataSource, target: str | None) -> tuple[ArrayData, ObjectArray | None]:
    from ...rows.files import copy_mapped

    # Steps of a fit read the rows again and again, so mapped ones are taken into memory.
    data = read_arrays(path)
    data = replace(data, X=copy_mapped(data.X))
    path.check_unchanged()
    if target is None:
        return data, None
    if target not in data.labels:
        known = f"it has {listing(data.labels)}" if data.labels else "it has no labels at all"
        raise UserError(
            f"{path} has no target {quoted(target)} with one value per row"
            f"{suggest(target, data.labels)}; {known}."
        )
    return data, target_as_text(data.labels[target])


def _are_data(names: Sequence[str]) -> bool:
    """Return whether most names are numbers, and these are none that count or name years."""
    values = [key for name in names if isinstance(key := value_key(name), float)]
    counting = all(v.is_integer() and v >= 0 for v in values) and (np.diff(values) > 0).all()
    written = count_formatted_numbers(names)
    return 2 * (len(values) + written) > len(names) and (written > 0 or not counting)


def _choose_table(
    file: TrainingFile,
    keep: BoolArray,
    known: IntArray | None,
    row_numbers: IntArray,
    tally: Tally,
    missing: str,
    empty_rows: str,
) -> tuple[pd.DataFrame, BoolArray, Schema, list[str], list[ColumnProfile]]:
    _check_enough(file.path, int(keep.sum()), None, {})
    table = file.table
    sidecars = [name for name in table.column_names if is_sidecar(name)]
    requested = file.asked
    seen = table if file.sample is None else table.filter(file.sample)
    training = keep
    if file.sample is not None:
        training = keep[file.sample]
        known = None if known is None else known[file.sample]
    labelled = None if known is None else LabelledRows(known)
    decisions, summaries = decide_columns(
        seen, training, requested, labelled, file.trusted_columns
    )
    decisions |= dict.fromkeys(file.dropped_columns, DROPPED)
    for name in (*file.categorical, *file.texts):
        if name in decisions and not decisions[name].leaks:
            del decisions[name]
    if file.groups is not None:
        decisions[file.groups] = GROUP_COLUMN
    out, as_category, as_text = (
        [name for name, decision in decisions.items() if decision.kind == kind]
        for kind in ("left out", "category", "text")
    )
    if len(out) == table.num_columns:
        words = ", ".join(f"{quoted(name)} ({decisions[name].why})" for name in out[:8])
        raise UserError(
            f"{file.path} has no column to learn from: {words}; keep one with "
            f"{ref('keep', some=['COLUMN'])}, or add columns of measurements."
        )
    used = without(table, out)
    if not keep.all():
        used = used.filter(keep)
    asked = dict.fromkeys([*file.categorical, *as_category], "category")
    asked |= dict.fromkeys([*file.texts, *as_text], "text")
    asked = {name: kind for name, kind in asked.items() if name not in out}
    merge = file.merge_case is not False
    schema = infer_schema(used, file.path, row_numbers, asked, requested, missing, merge)
    schema = replace(schema, empty_rows=empty_rows)
    rows, complete, _ = select_table_features(used, schema, tally=tally, row_numbers=row_numbers)
    schema = replace(schema.written(file.notations), dates=file.dates)
    if isinstance(file.path, Source):
        reading = file.path.reading
        schema = replace(schema, header=reading.header is not False)
        if isinstance(reading.features, str | PathLike):
            schema = replace(schema, features=Path(reading.features).name)
    profile = describe_columns(
        {name: summaries[name] for name in summaries if not is_sidecar(name)}, schema, decisions
    )
    if sidecars:
        shown = f"{len(sidecars)} columns of numbers"
        note = "in addition to the table"
        profile.append(ColumnProfile("features", "number", 0, len(sidecars), shown, note))
    values = {
        c.name: collect_values(used.column(c.name)).values for c in schema.columns if c.spellings
    }
    notes = describe_decisions(decisions) + describe_spellings(values, schema)
    repeated = _find_repeated(without(used, sidecars))
    if repeated:
        pairs = ", ".join(f"{quoted(one)} repeats {quoted(other)}" for one, other in repeated[:5])
        more = f" and {len(repeated) - 5} more" if len(repeated) > 5 else ""
        notes.append(f"duplicate columns: {pairs}{more}; {ref('drop', some=['COLUMN'])} drops one")
    return rows, complete, schema, notes, profile


def _find_repeated(table: pa.Table) -> list[tuple[str, str]]:
    """Return columns that equal an earlier one in every row, with that one."""
    alike: dict[tuple[str, ...], list[str]] = {}
    found = []
    for name, cells in zip(table.column_names, table.columns, strict=True):
        start = (str(cells.type), *map(str, cells.slice(0, _COMPARED).to_pylist()))
        earlier = alike.setdefault(start, [])
        same = next((other for other in earlier if table.column(other).equals(cells)), None)
        if same is None:
            earlier.append(name)
        else:
            found.append((name, same))
    return found


def _choose_array(
    file: TrainingFile,
    keep: BoolArray,
    known: IntArray | None,
    row_numbers: IntArray,
    tally: Tally,
    missing: str,
    empty_rows: str,
) -> tuple[RowMatrix, BoolArray, Schema, list[str], list[ColumnProfile]]:
    data = file.content
    if not data.is_sparse:
        check_memory(file.path, 3 * 8 * data.X.size, "its numbers and the memory for training")
    X = data.X if keep.all() else data.X[keep]
    layout, missing = ("sparse", REFUSE) if data.is_sparse else ("dense", missing)
    schema = Schema(layout, data.X.shape[1], zero_based=data.zero_based, missing=missing)
    schema = replace(schema, empty_rows=empty_rows)
    rows, complete, _ = select_array_features(X, schema, tally=tally, row_numbers=row_numbers)
    notes = []
    if file.target is None and data.labels:
        notes.append(f"labels in the file ({listing(data.labels)}) not used; all rows are normal")
    notes += [
        f"column {k} of the matrix (from 0) is used, but {why}; pass the matrix without it"
        for k, why in _find_leaks(data, known).items()
    ]
    return rows, complete, schema, notes, []


def _find_leaks(data: ArrayData, known: IntArray | None) -> dict[int, str]:
    """Find columns of a dense matrix that came with the labels."""
    return {} if known is None or data.is_sparse else find_matrix_leaks(data.X, known)


def _check_enough(
    path: object, n_rows: int, y: IntArray | None, needed: Mapping[int, str]
) -> None:
    if n_rows < 2:
        raise UserError(
            f"{path} gives {plural(n_rows, 'training row')} after filtering; at least 2 are "
            "needed."
        )
    for label, words in needed.items():
        if not np.any(y == label):
            raise UserError(
                f"No row of {path} without missing numbers is {words}; fill in the missing "
                "numbers of those that are."
            )
