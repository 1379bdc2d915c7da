"""From a file to the rows a model is fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..._typing import BoolArray, FloatArray, IntArray, ObjectArray, RowMatrix
from ..._util.messages import UserError, listing, plural, quoted, ref, suggest
from ..arrays import ArrayData, read_arrays
from ..columns.column import are_blank, days_column_name, expand_dates, text
from ..columns.features import infer_schema, select_array_features, select_table_features
from ..columns.leaks import LabelledRows, find_matrix_leaks
from ..columns.notation import (
    Notation,
    count_formatted_numbers,
    describe_notations,
    find_notations,
)
from ..columns.profile import (
    DROPPED,
    GROUP_COLUMN,
    ColumnDecision,
    ColumnProfile,
    decide_columns,
    describe_columns,
    describe_decisions,
    describe_sentinels,
)
from ..columns.schema import IMPUTE, REFUSE, Schema, is_sidecar
from ..columns.spellings import describe_spellings
from ..columns.tally import Tally, describe_filled
from ..columns.target import Labels, RowSelection, count_labels, target_as_text
from ..columns.values import ColumnValues, table_columns
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

    ``content`` are the cells to learn from, ``columns`` the same cells of a table by name,
    ``values`` the target as text, and ``aside`` the numbers of the column that the ``options``
    set aside. Columns are judged by the rows of the ``sample`` and rows chosen among them, if
    there is one. Labels are predicted better without ``dropped_columns``.
    """

    path: Source | InMemory
    content: pa.Table | ArrayData
    values: ObjectArray | None
    options: ColumnOptions
    columns: Mapping[str, ColumnValues] = field(default_factory=dict)
    aside: FloatArray | None = None
    sample: BoolArray | None = None
    dropped_columns: tuple[str, ...] = ()

    @property
    def target(self) -> str | None:
        """Return the name of the target; None without one."""
        return self.options.target

    @property
    def groups(self) -> str | None:
        """Return the column whose values say which rows are held out together."""
        return self.options.groups

    @property
    def name(self) -> str:
        return Path(str(self.path)).name

    @property
    def n_rows(self) -> int:
        if isinstance(self.content, ArrayData):
            return self.content.X.shape[0]
        return self.content.num_rows

    @property
    def asked(self) -> set[str]:
        """Columns that the user wants."""
        options = self.options
        days = map(days_column_name, options.dates)
        named = {*options.keep, *options.categorical, *options.text, *days}
        return named | set(filter(is_sidecar, self.columns))

    @property
    def trusted_columns(self) -> set[str]:
        """Columns that the user wants even if they came with the labels."""
        keep = {*self.options.keep}
        kept_dates = tuple(f"{date}: " for date in keep & {*self.options.dates})
        return keep | {n for n in self.columns if is_sidecar(n) or n.startswith(kept_dates)}

    @property
    def remarks(self) -> list[str]:
        """Remarks on how the file is written, as far as it was detected."""
        read = describe_reading(self.path) if self.path.format.is_table else ""
        found = {name: column.notation for name, column in self.columns.items()}
        notations = describe_notations({n: notation for n, notation in found.items() if notation})
        return [text for text in (read, notations) if text]

    @cached_property
    def labels(self) -> Labels | None:
        """The target, counted; None without one."""
        if self.values is None or self.target is None:
            return None
        labels = count_labels(
            self.values, column=self.target, source=self.path, merge_case=self.options.merge_case
        )
        mark = self.options.unlabeled
        return labels if mark is None else labels.with_mark(mark)

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
        known = roles.label_codes(self.labels) if known is None else known
        describe = _describe_matrix if isinstance(self.content, ArrayData) else _describe_table
        schema, notes, profile = describe(self, roles.keep, known)
        fills = missing == IMPUTE and schema.layout != "sparse"
        schema = replace(
            schema,
            missing=IMPUTE if fills else REFUSE,
            empty_rows=empty_rows if roles.y is None else "",
        )
        tally = Tally(self.path, missing == SKIP, ref("missing", "skip"))
        rows, is_used = _select_rows(self, schema, np.flatnonzero(roles.keep), tally)
        y = None if roles.y is None else roles.y[roles.keep][is_used]
        _check_enough(self.path, rows.shape[0], y, roles.needed)
        numbers = np.flatnonzero(roles.keep)[is_used] + 1
        n_skipped = int((~is_used).sum()) - tally.empty
        notes = [
            *roles.notes,
            *_describe_header(self),
            *self.remarks,
            *_describe_unused(tally, n_skipped),
            *notes,
        ]
        aside = None if self.aside is None else self.aside[numbers - 1]
        return TableRows(rows, y, schema, notes, numbers, profile, aside)


def read_training(
    path: StrPath | DataSource, columns: ColumnOptions = DEFAULT_COLUMN_OPTIONS
) -> TrainingFile:
    """Read a file, or rows in memory, to learn from.

    The target is a column, an array in an npz file, or "y" in an svmlight file.
    """
    path = as_source(path)
    if not path.format.is_table:
        _refuse_column_names(path, columns)
        return TrainingFile(path, *_read_arrays(path, columns.target), columns)
    _check_options(columns)
    table, values, aside = _read_table(path, columns)
    table = expand_dates(table, columns.dates, path)
    found = table_columns(table)
    as_texts = {*columns.categorical, *columns.text}
    written = find_file_notations(path, {n: c for n, c in found.items() if n not in as_texts})
    if written:
        found |= {name: found[name].as_numbers(notation) for name, notation in written.items()}
        table = pa.table({name: column.cells for name, column in found.items()})
    return TrainingFile(path, table, values, columns, found, aside)


def find_file_notations(
    path: DataSource,
    columns: Mapping[str, ColumnValues],
    known: Mapping[str, Notation] | None = None,
) -> dict[str, Notation]:
    """Return the notations of columns of a file, by name, if they aren't plain numbers."""
    decimal, likely = None, "."
    if isinstance(path, Source):
        decimal = path.reading.decimal
        likely = "," if path.format.separator is not None and path.dialect.sep == ";" else "."
    return find_notations(columns, decimal, known, likely)


def select_encoder_rows(
    file: TrainingFile, schema: Schema, rows: IntArray
) -> tuple[pd.DataFrame | RowMatrix, IntArray]:
    """Return rows of a file (positions from 0) for a model's encoder, and their numbers."""
    tally = Tally(file.path, skip_missing=schema.missing == REFUSE)
    found, is_used = _select_rows(file, schema, rows, tally)
    return found, rows[is_used] + 1


def _select_rows(
    file: TrainingFile, schema: Schema, rows: IntArray, tally: Tally
) -> tuple[pd.DataFrame | RowMatrix, BoolArray]:
    """Return the rows that a model takes among some (positions from 0), and which these are."""
    found: pd.DataFrame | RowMatrix
    if isinstance(file.content, ArrayData):
        X = file.content.X
        X = X if np.array_equal(rows, np.arange(X.shape[0])) else X[rows]
        found, is_used, _ = select_array_features(X, schema, tally=tally, row_numbers=rows + 1)
    else:
        columns = {name: file.columns[name].take(rows) for name in schema.names()}
        found, is_used, _ = select_table_features(
            columns, schema, tally=tally, row_numbers=rows + 1
        )
    tally.check()
    return found, is_used


def _refuse_column_names(path: DataSource, options: ColumnOptions) -> None:
    """Refuse options that name columns of a matrix."""
    named = (options.drop, options.categorical, options.keep, options.text, options.dates)
    if any(named) or options.aside or options.groups:
        raise UserError(
            f"{ref('drop')}, {ref('keep')}, {ref('text')}, {ref('dates')}, {ref('groups')} and "
            f"{ref('categorical')} need column names, and {path} has none; use a table "
            f"({usual_extensions(tables())})."
        )


def _check_options(options: ColumnOptions) -> None:
    """Refuse what is asked of one column in two ways."""
    target = () if options.target is None else (options.target,)
    drop, categorical, text = options.drop, options.categorical, options.text
    asked = {"drop": drop, "categorical": categorical, "text": text, "target": target}
    for one, other in combinations(asked, 2):
        both = [name for name in text if name in asked[one] and name in asked[other]]
        if both:
            raise UserError(
                f"{ref(one)} and {ref(other)} both name the column {listing(both)}; pass one of "
                "them."
            )
    of_groups = {"target": target, "keep": options.keep, "dates": options.dates, **asked}
    for name, columns in of_groups.items():
        if options.groups in columns:
            raise UserError(
                f"{ref('groups')} and {ref(name)} both name the column {quoted(options.groups)}; "
                "pass one of them."
            )


def _read_table(
    path: DataSource, options: ColumnOptions
) -> tuple[pa.Table, ObjectArray | None, FloatArray | None]:
    """Return the columns to learn from, the target as text, and the numbers set aside."""
    table = read_table(path)
    target, aside = options.target, options.aside
    asked = [*options.drop, *options.categorical, *options.keep, *options.text, *options.dates]
    asked += [name for name in (options.groups, target, aside) if name is not None]
    known = set(table.column_names)
    unknown = [name for name in dict.fromkeys(asked) if name not in known]
    if unknown:
        raise UserError(
            f"{path} has no column {listing(unknown)}{suggest(unknown[0], table.column_names)}; "
            f"it has {listing(table.column_names)}."
        )
    left_out = {target, aside, *options.drop}
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


# -- columns to learn from -----------------------------------------------------------------------


def _describe_table(
    file: TrainingFile, keep: BoolArray, known: IntArray | None
) -> tuple[Schema, list[str], list[ColumnProfile]]:
    """Return the columns to learn from, notes on them, and descriptions of all columns."""
    _check_enough(file.path, int(keep.sum()), None, {})
    columns, options, rows = file.columns, file.options, np.flatnonzero(keep)
    if file.sample is not None:
        sample = np.flatnonzero(file.sample)
        columns = {name: column.take(sample) for name, column in columns.items()}
        keep, known = keep[sample], None if known is None else known[sample]
    decisions = _decide(file, columns, keep, known)
    out = {name for name, decision in decisions.items() if decision.kind == "left out"}
    if len(out) == len(columns):
        words = [f"{quoted(name)} ({decisions[name].why})" for name in decisions][:8]
        raise UserError(
            f"{file.path} has no column to learn from: {', '.join(words)}; keep one with "
            f"{ref('keep', some=['COLUMN'])}, or add columns of measurements."
        )
    used = {
        name: column.take(np.flatnonzero(keep))
        for name, column in columns.items()
        if name not in out
    }
    kinds = dict.fromkeys(options.categorical, "category") | dict.fromkeys(options.text, "text")
    kinds |= {name: decision.kind for name, decision in decisions.items()}
    merge = options.merge_case is not False
    schema = infer_schema(used, file.path, rows + 1, kinds, file.asked, merge)
    schema = replace(schema, dates=tuple(options.dates), **_describe_source(file.path))
    in_table = {name: column for name, column in columns.items() if not is_sidecar(name)}
    profile = describe_columns(in_table, schema, decisions)
    n_beside = len(columns) - len(in_table)
    if n_beside:
        shown, note = f"{n_beside} columns of numbers", "in addition to the table"
        profile.append(ColumnProfile("features", "number", 0, n_beside, shown, note))
    notes = describe_decisions(decisions) + describe_spellings(used, schema)
    numeric = [name for name in schema.names("number") if name in in_table]
    notes += describe_sentinels({name: used[name] for name in numeric})
    notes += _describe_repeated([n for n in used if n in in_table], file.columns, rows)
    return schema, notes, profile


def _decide(
    file: TrainingFile,
    columns: Mapping[str, ColumnValues],
    training: BoolArray,
    known: IntArray | None,
) -> dict[str, ColumnDecision]:
    """Decide which columns to leave out, and which are categories or texts."""
    labelled = None if known is None else LabelledRows(known)
    decisions = decide_columns(columns, training, file.asked, labelled, file.trusted_columns)
    decisions |= dict.fromkeys(file.dropped_columns, DROPPED)
    for name in (*file.options.categorical, *file.options.text):
        if name in decisions and not decisions[name].leaks:
            del decisions[name]
    if file.groups is not None:
        decisions[file.groups] = GROUP_COLUMN
    return decisions


def _describe_source(path: DataSource) -> dict[str, Any]:
    """Return fields of a schema that say how a file was read."""
    if not isinstance(path, Source):
        return {}
    reading = path.reading
    facts: dict[str, Any] = {"header": reading.header is not False}
    if isinstance(reading.features, str | PathLike):
        facts["features"] = Path(reading.features).name
    return facts


def _describe_repeated(
    names: Iterable[str], columns: Mapping[str, ColumnValues], rows: IntArray
) -> list[str]:
    """Return a note on columns that equal an earlier one in some rows, if there are any."""
    all_rows, first = pa.array(rows), pa.array(rows[:_COMPARED])
    alike: dict[tuple[str, ...], list[str]] = {}
    found = []
    for name in names:
        cells = columns[name].cells
        start = (str(cells.type), *map(str, cells.take(first).to_pylist()))
        earlier = alike.setdefault(start, [])
        taken = cells.take(all_rows) if earlier else cells
        same = next((n for n in earlier if columns[n].cells.take(all_rows).equals(taken)), None)
        if same is None:
            earlier.append(name)
        else:
            found.append(f"{quoted(name)} repeats {quoted(same)}")
    if not found:
        return []
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return [
        f"duplicate columns: {', '.join(found[:5])}{more}; "
        f"{ref('drop', some=['COLUMN'])} drops one"
    ]


def _describe_matrix(
    file: TrainingFile, keep: BoolArray, known: IntArray | None
) -> tuple[Schema, list[str], list[ColumnProfile]]:
    """Return the columns of a matrix, and notes on them."""
    data = file.content
    assert isinstance(data, ArrayData)
    if not data.is_sparse:
        check_memory(file.path, 3 * 8 * data.X.size, "its numbers and the memory for training")
    layout = "sparse" if data.is_sparse else "dense"
    schema = Schema(layout, data.X.shape[1], zero_based=data.zero_based)
    notes = []
    if file.target is None and data.labels:
        notes.append(f"labels in the file ({listing(data.labels)}) not used; all rows are normal")
    leaks = {} if known is None or data.is_sparse else find_matrix_leaks(data.X, known)
    notes += [
        f"column {k} of the matrix (from 0) is used, but {why}; pass the matrix without it"
        for k, why in leaks.items()
    ]
    return schema, notes, []


# -- rows to learn from --------------------------------------------------------------------------


def _describe_header(file: TrainingFile) -> list[str]:
    """Return a note on names of columns that look like data, if they do."""
    headless = isinstance(file.path, Source) and file.path.reading.header is False
    names = list(file.columns)
    if isinstance(file.path, InMemory) or headless or not _are_data(names):
        return []
    return [
        f"the first row ({listing(names, 3)}) is used as column names but looks like data; if it "
        f"is data, pass {ref('header', False)}"
    ]


def _are_data(names: Sequence[str]) -> bool:
    """Return whether most names are numbers, and these are none that count or name years."""
    values = [key for name in names if isinstance(key := value_key(name), float)]
    counting = all(v.is_integer() and v >= 0 for v in values) and (np.diff(values) > 0).all()
    written = count_formatted_numbers(names)
    return 2 * (len(values) + written) > len(names) and (written > 0 or not counting)


def _describe_unused(tally: Tally, n_skipped: int) -> list[str]:
    """Return notes on missing numbers that were filled in, and on rows that aren't used."""
    notes = []
    if tally.filled:
        what = f"and marked with extra columns; {ref('missing', 'skip')} drops these rows"
        notes.append(f"{describe_filled(tally.filled)}, {what}")
    if n_skipped:
        notes.append(f"{plural(n_skipped, 'row')} with missing numbers not used")
    if tally.empty:
        notes.append(f"{plural(tally.empty, 'row')} without any value not used")
    return notes


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
