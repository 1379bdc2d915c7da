"""Counting the cells that cannot be used, so that one message can tell them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import BoolArray, IntArray, ObjectArray, RealArray
from ..._util.messages import UserError, plural, quoted, ref

if TYPE_CHECKING:
    import pandas as pd

# Unknown categories of a column that a message names.
_MAX_NAMED_CATEGORIES = 5
# Unknown categories of a column that are counted one by one.
_MAX_COUNTED_CATEGORIES = 1000
# Squares of larger numbers, and sums of squares, could overflow.
_MAX_ABSOLUTE_VALUE = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e15}


def are_usable(values: RealArray) -> bool:
    """Return whether all values are numbers that can be computed with; no copy is made."""
    if not values.size:
        return True
    largest = _MAX_ABSOLUTE_VALUE[values.dtype]
    return bool(values.max() <= largest and values.min() >= -largest)


class Tally:
    """Missing, infinite and huge numbers by column, over one or many pieces of the data.

    Rows with missing numbers are left out with ``skip_missing`` (``option`` asks for it, in the
    message), else refused or filled in: ``filled`` counts these by column. ``remarks`` say how the
    data are written, where that had to be found by looking; ``empty`` counts rows without a value.
    """

    def __init__(
        self, source: object, skip_missing: bool = False, option: str | None = None
    ) -> None:
        self.source, self.skip_missing = source, skip_missing
        self.option = option or ref("skip_missing", True)
        self.missing: dict[str, int] = {}
        self.infinite: dict[str, int] = {}
        self.filled: dict[str, int] = {}
        self.empty = 0
        self._first: dict[str, int] = {}
        self.remarks: list[str] = []

    def add(
        self, name: str, values: RealArray, row_numbers: IntArray, fill: bool = False
    ) -> BoolArray:
        """Count the cells of a column; gives which of its rows cannot be used for want of it.

        ``row_numbers`` count rows of the file; ``fill``: the model fills in missing numbers.
        """
        missing = np.isnan(values)
        fill = fill and not self.skip_missing
        self._count("filled" if fill else "missing", name, missing, row_numbers)
        self._count(
            "infinite", name, np.abs(values) > _MAX_ABSOLUTE_VALUE[values.dtype], row_numbers
        )
        return np.zeros_like(missing) if fill else missing

    def _count(self, what: str, name: str, found: BoolArray, row_numbers: IntArray) -> None:
        if not found.any():
            return
        counts = {"filled": self.filled, "missing": self.missing, "infinite": self.infinite}[what]
        counts[name] = counts.get(name, 0) + int(found.sum())
        first = int(row_numbers[found.argmax()])
        self._first[what] = min(self._first.get(what, first), first)

    @property
    def refuses(self) -> bool:
        return bool(self.infinite) or (bool(self.missing) and not self.skip_missing)

    def check(self) -> None:
        """Raise when something was found that ends the command."""
        if self.missing and not self.skip_missing:
            found = self._describe_counts(self.missing, "missing", self._first["missing"])
            raise UserError(f"{found}; fill them in, or pass {self.option} to skip these rows.")
        if self.infinite:
            found = self._describe_counts(
                self.infinite, "infinite or too large", self._first["infinite"]
            )
            raise UserError(f"{found}; correct them.")

    def join(self, other: Tally) -> None:
        """Take over what was filled in and remarked in other rows, none of which is refused."""
        self.empty += other.empty
        for name, n in other.filled.items():
            self.filled[name] = self.filled.get(name, 0) + n
        self.remarks = list(dict.fromkeys([*self.remarks, *other.remarks]))

    def _describe_counts(self, counts: Mapping[str, int], what: str, first: int) -> str:
        total, shown = sum(counts.values()), _list_counts(counts)
        return (
            f"{plural(total, 'value')} in {plural(len(counts), 'column')} of {self.source} "
            f"{'is' if total == 1 else 'are'} {what} ({shown}; first in row {first})"
        )


def describe_filled(filled: Mapping[str, int]) -> str:
    """Describe missing numbers that were filled in, by column."""
    total = sum(filled.values())
    return f"{plural(total, 'missing number')} filled in with the median ({_list_counts(filled)})"


def describe_empty_rows(count: int, empty_rows: str) -> str:
    """Return what to say of rows to score that have no value in any column of the model."""
    one = count == 1
    rows = f"{plural(count, 'row')} {'has' if one else 'have'} no value in any of the columns"
    if empty_rows == "alarm":
        return f"{rows}, so {'it is' if one else 'they are'} outside"
    return (
        f"{rows}, so {'it gets' if one else 'they get'} no score "
        f"({ref('empty_rows', 'alarm')} flags such rows)"
    )


class UnknownValues:
    """Categories that a model does not know, and the rows that have one.

    ``rows`` has their number by column, and ``counts`` their numbers by category, of the first
    categories of a column.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.counts: dict[str, Counter[str]] = {}

    def add(self, rows: pd.DataFrame, known: Mapping[str, ObjectArray]) -> None:
        """Count the cells of a data frame; ``known`` are the categories of the model by column."""
        for name, categories in known.items():
            is_new = ~rows[name].isin(categories)
            if is_new.any():
                self._count(name, rows[name][is_new].value_counts().to_dict())

    def join(self, other: UnknownValues) -> None:
        """Take over what was counted in other rows."""
        for name, counts in other.counts.items():
            self._count(name, counts, other.rows[name])

    def _count(self, name: str, values: Mapping[str, int], n_rows: int | None = None) -> None:
        n_rows = sum(values.values()) if n_rows is None else n_rows
        self.rows[name] = self.rows.get(name, 0) + n_rows
        counts = self.counts.setdefault(name, Counter())
        for value, n in values.items():
            # A column of names may have a new one in every row: most of them aren't held.
            if value in counts or len(counts) < _MAX_COUNTED_CATEGORIES:
                counts[value] += n

    def only(self, chosen: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        """Return the counts of ``chosen`` categories, lists by column, as dicts by column."""
        found = {
            name: {value: counts[value] for value in chosen.get(name, ()) if value in counts}
            for name, counts in self.counts.items()
        }
        return {name: counts for name, counts in found.items() if counts}

    def without(self, chosen: Mapping[str, Iterable[str]]) -> UnknownValues | None:
        """Return the counts without ``chosen`` categories by column; None if none is left."""
        rest = UnknownValues()
        for name, counts in self.counts.items():
            gone = {value for value in chosen.get(name, ()) if value in counts}
            n_left = self.rows[name] - sum(counts[value] for value in gone)
            if n_left:
                rest.rows[name] = n_left
                rest.counts[name] = Counter({v: n for v, n in counts.items() if v not in gone})
        return rest if rest.rows else None

    @property
    def most_frequent(self) -> dict[str, dict[str, int]]:
        """The most frequent ones by column, with their rows."""
        return {
            name: dict(counts.most_common(_MAX_NAMED_CATEGORIES))
            for name, counts in self.counts.items()
        }


def describe_unknown_values(
    rows: Mapping[str, int], most_frequent: Mapping[str, Mapping[str, int]]
) -> str:
    """Describe categories that the model does not know, as ``UnknownValues`` counted them."""
    columns = []
    for name, total in rows.items():
        named = most_frequent.get(name, {})
        shown = ", ".join(
            f"{quoted(value, 40) if value else 'blanks'} ({n})" for value, n in named.items()
        )
        others = total - sum(named.values())
        more = f" and others ({others})" if others else ""
        columns.append(f"{shown}{more} in {quoted(name)}")
    return (
        "some categories don't occur in the training rows and count as none of those that do: "
        f"{', '.join(columns)}; rows are in brackets"
    )


def describe_learned_values(learned: dict[str, dict[str, int]]) -> str:
    """Return what to say of new categories that an update made known, with rows by column."""
    columns = []
    for name, counts in learned.items():
        listed = sorted(counts.items(), key=lambda pair: -pair[1])
        shown = ", ".join(
            f"{quoted(v, 40) if v else 'blanks'} ({n})" for v, n in listed[:_MAX_NAMED_CATEGORIES]
        )
        others = sum(n for _, n in listed[_MAX_NAMED_CATEGORIES:])
        columns.append(f"{shown}{f' and others ({others})' if others else ''} in {quoted(name)}")
    return f"new categories that the model knows now: {', '.join(columns)}; rows are in brackets"


def describe_wordless_texts(wordless: Mapping[str, int]) -> str:
    """Describe texts without a word that the model knows, by column."""
    counts = ", ".join(f"{count} in '{name}'" for name, count in wordless.items())
    return f"some texts have no word from training and count as blank (rows: {counts})"


def _list_counts(counts: Mapping[str, int]) -> str:
    shown = ", ".join(f"{quoted(name)}: {count}" for name, count in list(counts.items())[:8])
    return shown if len(counts) <= 8 else f"{shown}, and {len(counts) - 8} more"
