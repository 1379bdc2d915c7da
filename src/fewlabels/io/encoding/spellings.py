"""Values of a column of categories that differ in capital letters or blanks only are one."""

from ...options.words import ref
from ..errors import listing, quoted

_SHOWN = 3


def key_of(value):
    """The same for all ways to write one value."""
    return " ".join(value.split()).casefold()


def spellings_of(values, counts):
    """How each value is written that occurs in several ways: the most frequent one, by key.

    All values of the column are in it, so that new rows may write each of them in any way; it is
    empty if every value is written in one way.
    """
    found, n_values = {}, 0
    for _, value in sorted(zip(counts, values, strict=True), key=lambda pair: (-pair[0], pair[1])):
        if value.strip():
            n_values += 1
            found.setdefault(key_of(value), value.strip())
    return found if len(found) < n_values else {}


def respelled(values, spellings):
    """Texts in the spelling that the model knows; others stay as they are."""
    known = {value: spellings.get(key_of(value), value) for value in set(values)}
    return [known[value] for value in values]


def spelling_notes(table_values, schema):
    """A sentence on the columns whose values were merged; ``table_values``: values by name."""
    shown = []
    for column in schema.columns:
        if not column.spellings:
            continue
        groups = {}
        for value in sorted(table_values[column.name]):
            groups.setdefault(key_of(value), []).append(value)
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
