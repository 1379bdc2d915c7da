"""Categories that are written in several ways, which differ only in case or spaces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from ..._typing import IntArray, ObjectArray
from ..._util.messages import listing, quoted, ref
from .schema import Schema

if TYPE_CHECKING:
    from .values import ColumnValues

# Ways to write a value that a note shows.
_SHOWN = 3


def spelling_key(value: str) -> str:
    """Return one key for all ways to write a value."""
    return " ".join(value.split()).casefold()


def find_spellings(values: ObjectArray, counts: IntArray) -> dict[str, str]:
    """Return the most frequent spelling of each value, by key, if any occurs in several ways.

    All values of the column are in it, so that new rows may write each of them in any way; it is
    empty if every value is written in one way.
    """
    found: dict[str, str] = {}
    n_values = 0
    for _, value in sorted(zip(counts, values, strict=True), key=lambda pair: (-pair[0], pair[1])):
        if value.strip():
            n_values += 1
            found.setdefault(spelling_key(value), value.strip())
    return found if len(found) < n_values else {}


def respell(values: Collection[str], spellings: Mapping[str, str]) -> list[str]:
    """Return texts in the spelling that the model knows; others stay as they are."""
    known = {value: spellings.get(spelling_key(value), value) for value in set(values)}
    return [known[value] for value in values]


def describe_spellings(columns: Mapping[str, ColumnValues], schema: Schema) -> list[str]:
    """Describe the columns whose values were merged."""
    shown = []
    for column in schema.columns:
        if not column.spellings:
            continue
        groups: dict[str, list[str]] = {}
        for value in sorted(columns[column.name].values):
            groups.setdefault(spelling_key(value), []).append(value)
        alike = [listing(group, _SHOWN) for key, group in groups.items() if key and len(group) > 1]
        some = "; ".join(alike[:_SHOWN])
        more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
        shown.append(f"{quoted(column.name)} ({some}{more})")
    if not shown:
        return []
    return [
        f"merged values that differ only in case or spaces: {', '.join(shown)}; "
        f"{ref('merge_case', False)} keeps them separate"
    ]
