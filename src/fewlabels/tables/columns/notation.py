"""Numbers as people write them: decimal commas, separators of thousands, units, parentheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..._typing import BoolArray, FloatArray
from ..._util.messages import UserError, quoted
from .column import are_codes, parse_texts, trim_texts

if TYPE_CHECKING:
    from .values import ColumnValues

_CURRENCY = r"[$£€¥₹₽₩]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|CAD|AUD)"
_UNIT = r"[^\s\d.,;:/'’+\-−()\[\]_][^\d.,;:]{0,10}[23²³]?"
# What stands between thousands beside commas or points, and between a number and its unit.
_SPACES, _APOSTROPHES = " \u00a0\u202f", "'’"
_DIGITS = rf"[0-9.,](?:[0-9.,{_SPACES}{_APOSTROPHES}]*[0-9.,])?(?:[eE][-+]?[0-9]+)?"
_CELL = (
    rf"^(?P<sign>[-+−]?)[{_SPACES}]*(?:(?P<before>{_CURRENCY})[{_SPACES}]*(?P<minus>[-−]?))?"
    rf"(?P<digits>{_DIGITS})[{_SPACES}]*(?P<after>(?:{_UNIT})?)$"
)
# A negative number in accounts: the parentheses stand for its sign.
_IN_PARENTHESES = (
    rf"^((?:{_CURRENCY})?[{_SPACES}]*)"
    rf"\(((?:{_CURRENCY})?[{_SPACES}]*{_DIGITS}[{_SPACES}]*(?:{_UNIT})?)\)"
    rf"([{_SPACES}]*(?:{_UNIT})?)$"
)


def _number_pattern(decimal: str, *between: str) -> str:
    """Return a pattern of numbers with decimals, and perhaps one mark between thousands."""
    thousands = "|".join(f"(?:[{marks}][0-9]{{3}})+" for marks in between)
    whole = f"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:{thousands}))"
    return f"^(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+)(?:[eE][-+]?[0-9]+)?$"


_PATTERNS = {
    ".": _number_pattern(".", ",", _SPACES, _APOSTROPHES),
    ",": _number_pattern(",", ".", _SPACES, _APOSTROPHES),
}


class Notation(NamedTuple):
    """A way to write the numbers of a column: the mark before decimals, and their unit."""

    decimal: str = "."
    unit: str = ""


PLAIN = Notation()


class _PossibleNotation(NamedTuple):
    """Notations that fit all cells of a column: marks before decimals, and their unit.

    And whether there is any mark at all.
    """

    decimals: str
    unit: str
    marked: bool


_PLAIN_ONLY = _PossibleNotation(".", "", True)


def find_notations(
    columns: Mapping[str, ColumnValues],
    decimal: str | None = None,
    known: Mapping[str, Notation] | None = None,
    likely: str = ".",
) -> dict[str, Notation]:
    """Return the notations of columns whose numbers are not written plainly, by name.

    A column counts as numbers where all of its cells do, with one unit. Where "1,234" may be two
    numbers the other cells of the column decide, then cells of other columns, then what is
    ``known`` of it (by name), then what is ``likely``. ``decimal`` is the mark that the user says.
    """
    known = known or {}
    texts = {name: column.facts for name, column in columns.items() if column.is_text}
    formatted = {name for name, facts in texts.items() if not facts.parsed.is_plain}
    seen = {
        name: found
        for name in columns
        if name in formatted and (found := _infer_notation(texts[name].trimmed)) is not None
    }
    sure = {found.decimals for found in seen.values() if len(found.decimals) == 1}
    continental = decimal == "," or (decimal is None and (sure == {","} or likely == ","))
    if continental or "," in {notation.decimal for notation in known.values()}:
        # "1.234" reads as a plain number, but is none where commas come before decimals.
        for name, facts in texts.items():
            if name in formatted:
                continue
            if pc.any(pc.match_substring(facts.cells, ".")).as_py():
                seen[name] = _infer_notation(facts.trimmed) or _PLAIN_ONLY
        sure = {found.decimals for found in seen.values() if len(found.decimals) == 1}
    usual = decimal or (sure.pop() if len(sure) == 1 else None)
    notations = {}
    for name, found in seen.items():
        mark = found.decimals
        if len(mark) == 2:
            mark_before = known[name].decimal if name in known else None
            mark = usual or mark_before or (likely if name in formatted else ".")
            mark = mark if found.marked else "."
        if name in formatted or mark == ",":
            notations[name] = Notation(mark, found.unit)
    notations = {
        name: found
        for name, found in notations.items()
        if decimal in (None, found.decimal) or not seen[name].marked
    }
    for name, fitted in known.items():  # so that the cells that are written otherwise are named
        open_ = name in formatted or (name in texts and texts[name].parsed.is_blank.all())
        if open_ and name not in notations and fitted != PLAIN:
            notations[name] = fitted._replace(decimal=decimal or fitted.decimal)
    return notations


def read_numbers(trimmed: pa.Array, notation: Notation) -> tuple[FloatArray, BoolArray]:
    """Parse texts of :func:`trim_texts` as float64 (missing: NaN); return which are others."""
    parts = _split_cells(trimmed)
    digits, unit = parts.field("digits"), _join_unit(parts)
    good = pc.and_kleene(
        pc.match_substring_regex(digits, _PATTERNS[notation.decimal]),
        pc.equal(unit, notation.unit),
    )
    good = pc.fill_null(good, False)
    values = _to_floats(pc.if_else(good, digits, None), notation.decimal)
    signs = _join_texts(parts.field("sign"), parts.field("minus"))
    negative = pc.fill_null(pc.match_substring_regex(signs, "[-−]"), False)
    values = np.where(negative.to_numpy(zero_copy_only=False), -values, values)
    wrong = pc.and_(pc.is_valid(trimmed), pc.invert(good))
    return values, wrong.to_numpy(zero_copy_only=False)


def describe_notations(notations: Mapping[str, Notation]) -> str:
    """Describe columns whose numbers are not written plainly; "" for none."""
    written = []
    for name, notation in list(notations.items())[:8]:
        words = [f"in {notation.unit}"] if notation.unit else []
        words += ["with decimal commas"] if notation.decimal == "," else []
        words = words or ["with marks between thousands, '−' or parentheses"]
        written.append(f"{quoted(name)} ({', '.join(words)})")
    more = f" and {len(notations) - 8} more" if len(notations) > 8 else ""
    return f"read as numbers: {', '.join(written)}{more}" if written else ""


def check_unit(name: str, unit: str, notation: Notation, source: object) -> bool:
    """Refuse a column in another unit than the model's; return whether its unit is left out."""
    if notation.unit and notation.unit != unit:
        fitted = f"in {quoted(unit)}" if unit else "without a unit"
        raise UserError(
            f"Column {quoted(name)} of {source} is in {quoted(notation.unit)}, but the model was "
            f"fitted to numbers {fitted}; convert it, or use the unit of the training rows."
        )
    return bool(unit) and not notation.unit


def is_formatted_number(text: str) -> bool:
    """Return whether a text is a number, but not written plainly."""
    cells = pa.array([text], pa.large_string())
    return not parse_texts(cells).is_plain and _infer_notation(trim_texts(cells)) is not None


def count_formatted_numbers(texts: Sequence[str]) -> int:
    """Return how many texts are numbers, but not written plainly."""
    # One search through all texts settles most of them, where there are many thousands.
    parts = _split_cells(trim_texts(pa.array(texts, pa.large_string())))
    likely = parts.is_valid().to_numpy(zero_copy_only=False)
    return sum(
        is_formatted_number(text)
        for text, is_likely in zip(texts, likely, strict=True)
        if is_likely
    )


def _infer_notation(trimmed: pa.Array) -> _PossibleNotation | None:
    """Return the notations that fit texts; None if they are no numbers of one unit."""
    texts = trimmed.unique().drop_null()
    # Most columns of texts are told apart by their first cells.
    for some in (texts.slice(0, 100), texts):
        parts = _split_cells(some)
        if not len(parts) or parts.null_count:
            return None
    digits = parts.field("digits")
    decimals = [
        mark
        for mark, pattern in _PATTERNS.items()
        if pc.all(pc.match_substring_regex(digits, pattern)).as_py()
    ]
    units = _join_unit(parts).unique().to_pylist()
    if not decimals or len(units) > 1 or are_codes(digits).any():
        return None
    if pc.all(pc.match_substring_regex(texts, _IN_PARENTHESES)).as_py():
        return None  # where all are in parentheses, they number something
    marked = pc.any(pc.match_substring_regex(digits, "[.,]")).as_py()
    return _PossibleNotation("".join(decimals), units[0], marked)


def _split_cells(trimmed: pa.Array) -> pa.StructArray:
    """Return signs, digits and units of cells, null for those that are no numbers."""
    signed = pc.replace_substring_regex(trimmed, _IN_PARENTHESES, r"-\1\2\3")
    return pc.extract_regex(signed, _CELL)


def _join_unit(parts: pa.StructArray) -> pa.Array:
    return pc.utf8_trim_whitespace(_join_texts(parts.field("before"), parts.field("after")))


def _join_texts(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(first, second, pa.scalar("", first.type))


def _to_floats(digits: pa.Array, decimal: str) -> FloatArray:
    between = {".": ",", ",": "."}[decimal] + _SPACES + _APOSTROPHES
    digits = pc.replace_substring_regex(digits, f"[{between}]", "")
    if decimal == ",":
        digits = pc.replace_substring(digits, ",", ".")
    return digits.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)
