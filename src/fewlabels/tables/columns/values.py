"""The cells of a column, read once.

Each different text is parsed once: as a number, a date, a code or a blank. Rows refer to their
text by its position. The decision on a column, its description and its encoding all use the same
object, and rows taken from it share the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, ObjectArray
from .column import (
    Cells,
    ParsedTexts,
    are_codes,
    as_single_array,
    days_since_epoch,
    find_dates,
    is_number,
    is_supported,
    is_text,
    numbers,
    parse_texts,
    text,
    trim_texts,
)
from .notation import Notation, read_numbers
from .spellings import respell


class CellFacts:
    """Cells and their parsed values, each computed on first use."""

    def __init__(self, cells: pa.Array) -> None:
        self.cells = cells

    @property
    def trimmed(self) -> pa.Array:
        """Return texts without space around them, null for blank ones; they aren't kept."""
        return trim_texts(self.cells)

    @cached_property
    def parsed(self) -> ParsedTexts:
        """Return texts as numbers."""
        return parse_texts(self.cells)

    @cached_property
    def is_code(self) -> BoolArray:
        """Return which texts are codes such as "007"."""
        return are_codes(self.cells)

    @cached_property
    def dates(self) -> tuple[BoolArray, BoolArray]:
        """Return which texts are dates with the year first, and which with the year last."""
        return find_dates(self.trimmed)


class _Distinct(NamedTuple):
    """Different values, the cells that hold each, and their places among the facts (of texts)."""

    kind: str
    values: AnyArray
    counts: IntArray
    places: IntArray | None = None


class ColumnValues:
    """The values of a column.

    ``kind`` is "number", "text", "boolean", "date", "mixed" (some texts among numbers) or "other".
    ``values`` are the different ones that aren't blank: numbers and typed dates as floats in
    ascending order, others as text in the order of their first cells. ``counts`` are the cells
    that hold each value, and ``missing`` is the number of blank cells.

    ``cells`` are always the whole column, even if the object has some of its rows only.
    ``counted`` says whether equal texts are one. It saves time unless few texts repeat and each is
    looked at once. ``notation`` is the one that the numbers were written in, if not plainly.
    """

    def __init__(
        self, cells: Cells, *, counted: bool = True, notation: Notation | None = None
    ) -> None:
        self.type, self.notation = cells.type, notation
        self.cells, self._counted = cells, counted

    @cached_property
    def _facts_and_rows(self) -> tuple[CellFacts, IntArray | None]:
        """Return facts about the cells, and the place among them of each row (None: its own)."""
        cells = as_single_array(self.cells)
        if not self._counted or not (self.is_text or pt.is_boolean(self.type)):
            return CellFacts(cells), None
        encoded = pc.dictionary_encode(cells, null_encoding="encode")
        return CellFacts(encoded.dictionary), encoded.indices.to_numpy(zero_copy_only=False)

    @property
    def facts(self) -> CellFacts:
        """Facts about the different cells, perhaps of more rows than the column has."""
        return self._facts_and_rows[0]

    @property
    def rows(self) -> IntArray:
        """Places of the rows' cells among the facts."""
        rows = self._facts_and_rows[1]
        return np.arange(len(self.facts.cells)) if rows is None else rows

    @property
    def is_text(self) -> bool:
        """Return whether the cells are texts."""
        return is_text(self.type)

    def __len__(self) -> int:
        rows = self._facts_and_rows[1]
        return len(self.facts.cells) if rows is None else len(rows)

    def take(self, rows: IntArray) -> ColumnValues:
        """Return the values of some rows (positions from 0), which share the facts."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        facts, places = self._facts_and_rows
        taken = ColumnValues(self.cells, notation=self.notation)
        taken._facts_and_rows = facts, rows if places is None else places[rows]
        return taken

    # -- different values ------------------------------------------------------------------------

    @cached_property
    def present(self) -> tuple[IntArray, IntArray]:
        """Return places of the facts that rows have, in the rows' order, and the rows of each."""
        rows = self.rows
        counts = np.bincount(rows, minlength=len(self.facts.cells))
        first = np.zeros(len(counts), dtype=np.intp)
        first[rows[::-1]] = np.arange(len(rows))[::-1]
        places = np.flatnonzero(counts)
        places = places[np.argsort(first[places], kind="stable")]
        return places, counts[places]

    @cached_property
    def _distinct(self) -> _Distinct:
        if is_number(self.type) or _is_time(self.type):
            found = self._floats()
            kind = "number" if is_number(self.type) else "date"
            return _Distinct(kind, *np.unique(found[~np.isnan(found)], return_counts=True))
        if not is_supported(self.type):
            is_filled = self.facts.cells.is_valid().to_numpy(zero_copy_only=False)
            n_filled = int(np.count_nonzero(self._of_rows(is_filled)))
            return _Distinct("other", np.arange(n_filled), np.ones(n_filled, dtype=int))
        places, counts = self.present
        is_text = ~self.facts.parsed.is_blank[places]
        places, counts = places[is_text], counts[is_text]
        kind = self._text_kind(places, counts)
        if kind == "number":
            values = self.facts.parsed.numbers[places]
            order = np.argsort(values)
            return _Distinct(kind, values[order], counts[order], places[order])
        texts = self.facts.cells.take(pa.array(places)).cast(pa.large_string())
        return _Distinct(kind, texts.to_numpy(zero_copy_only=False), counts, places)

    def _text_kind(self, places: IntArray, counts: IntArray) -> str:
        """Return the kind of cells at these places among the facts, which aren't blank."""
        if not self.is_text or not len(places):
            return "boolean"
        is_wrong = self.facts.parsed.is_wrong[places]
        if not is_wrong.any() and not self.facts.is_code[places].any():
            return "number"
        if self.are_dates(mixed=True):
            return "date"
        return "mixed" if 0 < 2 * counts[is_wrong].sum() <= counts.sum() else "text"

    @property
    def kind(self) -> str:
        return self._distinct.kind

    @property
    def values(self) -> AnyArray:
        return self._distinct.values

    @property
    def counts(self) -> IntArray:
        return self._distinct.counts

    @property
    def filled(self) -> int:
        """The number of cells that aren't blank."""
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        return len(self) - self.filled

    def positions(self, rows: IntArray) -> IntArray:
        """Return the positions in ``values`` of some rows' values, -1 for blank ones."""
        if self._distinct.places is None:
            found = self._floats()[rows]
            return np.where(np.isnan(found), -1, np.searchsorted(self.values, found))
        position = np.full(len(self.facts.cells), -1)
        position[self._distinct.places] = np.arange(len(self.values))
        return position[self.rows[rows]]

    def are_dates(self, mixed: bool = False) -> bool:
        """Return whether the values are dates: typed ones, or texts that are written as such.

        ``mixed``: some with the year first and others with the year last are dates, too.
        """
        if not self.is_text:
            return _is_time(self.type)
        places = self.present[0]
        places = places[~self.facts.parsed.is_blank[places]]
        first, last = (is_date[places] for is_date in self.facts.dates)
        found = (first | last).all() if mixed else first.all() or last.all()
        return bool(len(places) and found)

    def are_values_dates(self) -> BoolArray:
        """Return which ``values`` are dates, of a column of texts."""
        first, last = self.facts.dates
        return (first | last)[self._distinct.places]

    # -- all rows --------------------------------------------------------------------------------

    def numbers(self, notation: Notation | None = None) -> tuple[FloatArray, IntArray]:
        """Return cells as float64 (missing: NaN), and the positions of texts that are no numbers.

        The notation is for texts whose numbers aren't written plainly.
        """
        if not self.is_text:
            values, wrong = numbers(self.facts.cells)
            return self._of_rows(values), wrong
        if notation is None:
            values, _, is_wrong, _ = self.facts.parsed
        else:
            values, is_wrong = read_numbers(self.facts.trimmed, notation)
        return self._of_rows(values), np.flatnonzero(self._of_rows(is_wrong))

    def as_numbers(self, notation: Notation) -> ColumnValues:
        """Return the column with its texts read as numbers."""
        cells = pa.array(self.numbers(notation)[0], from_pandas=True)
        return ColumnValues(cells, notation=notation)

    def days(self, name: str = "", source: object = "") -> FloatArray:
        """Return dates as days since 1970, missing ones as NaN; names are for messages."""
        places = self.present[0]
        values = np.full(len(self.facts.cells), np.nan)
        values[places] = days_since_epoch(self.facts.cells.take(pa.array(places)), name, source)
        return self._of_rows(values)

    def texts(self, spellings: Mapping[str, str] | None = None) -> ObjectArray:
        """Return cells as text, see :func:`text`, perhaps in the ``spellings`` of a model."""
        found = text(self.facts.cells)
        if spellings:
            found = np.array(respell(found, spellings), dtype=object)
        return self._of_rows(found)

    def cell(self, row: int) -> str:
        """Return the text of a cell."""
        return str(self.facts.cells[int(self.rows[row])])

    def _of_rows(self, values: AnyArray) -> AnyArray:
        """Return what is known of each row, given what is known of its cell."""
        rows = self._facts_and_rows[1]
        return values if rows is None else values[rows]

    def _floats(self) -> FloatArray:
        """Return numbers or typed dates as floats."""
        return self.numbers()[0] if is_number(self.type) else self.days()


def table_columns(table: pa.Table) -> dict[str, ColumnValues]:
    """Return the columns of a table by name."""
    return {
        name: ColumnValues(cells)
        for name, cells in zip(table.column_names, table.columns, strict=True)
    }


def _is_time(kind: pa.DataType) -> bool:
    return bool(pt.is_date(kind) or pt.is_timestamp(kind))
