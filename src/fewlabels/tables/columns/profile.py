"""Decide which columns of a table to learn from, and describe all of them."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import BoolArray, ObjectArray
from ..._util.messages import plural, quoted, ref
from ..encoding.texts import is_unspaced
from .column import format_day
from .leaks import LabelledRows
from .schema import Schema
from .values import ColumnValues

# A text column with this many different values, most of them seen once or twice, is a
# name or an identifier; one-hot encoding it would give a column per row.
MANY_CATEGORIES = 50
# Fewer rows may well be all different in what is measured.
_MAX_FEW_ROWS = 10
# How many pairs of equal values n measurements between the smallest and the largest whole number
# would have at least, if they were drawn by chance: exp(-7) is the probability of none.
_EXPECTED_PAIRS = 7
# Texts of this many words, on average, are learnt from.
_MIN_SENTENCE_WORDS = 3
# The same of texts that come twice or more often, as short ones do that are categories.
_MIN_REPEATED_SENTENCE_WORDS = 6
# Share of letters among what is no space, below which texts are codes.
_MIN_LETTER_SHARE = 0.5
# Characters that sentences in scripts without spaces have, on average.
_MIN_UNSPACED_CHARACTERS = 8
# Numbers as people write them: separators of thousands, decimal commas, units.
_WRITTEN = re.compile(r"[$£€]? ?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)? ?[%$£€]?")
_PLAIN = re.compile(r"[-+]?\d+(\.\d+)?")
# Why whole numbers are categories.
_NUMBERING = "the name suggests a running number"
# Why texts are learnt from, and why they are not.
_SENTENCES, _DIFFERENT = "sentences", " different texts"
# Why dates are left out.
_DATES, _MIXED_DATES = "dates", "dates in several formats"
# Numbers that people write for missing ones, with either sign. They are so many times as large as
# the number next to them, and there are more other numbers than these.
_SENTINELS = frozenset({99.0, 999.0, 9999.0, 99999.0, 999999.0})
_SENTINEL_RATIO = 5
_MIN_OTHER_VALUES = 5
# Values that a summary shows, and their characters.
_MAX_SHOWN_VALUES = 3
_MAX_SHOWN_CHARACTERS = 24


@dataclass(frozen=True)
class ColumnProfile:
    """A column of the table that was learned from.

    ``kind`` is "number", "category", "boolean", "date", "text" or "left out", ``shown`` its
    range or most frequent values, ``note`` what the user should know (constant, counts the
    rows, ...).
    """

    name: str
    kind: str
    missing: int
    distinct: int
    shown: str
    note: str = ""


class ColumnDecision(NamedTuple):
    """A decision on a column, "category", "text", "left out" or "" (see its cells), and why.

    ``leaks``: it came with the labels, whatever kind of column it is.
    """

    kind: str
    why: str
    leaks: bool = False


_UNCHANGED = ColumnDecision("", "")
#: On a column that could be learnt from.
DROPPED = ColumnDecision("left out", "held-out labels are predicted better without it")
#: On the column whose values say which rows are held out together.
GROUP_COLUMN = ColumnDecision(
    "left out", "an identifier: rows with the same value are held out together"
)


def decide_columns(
    columns: Mapping[str, ColumnValues],
    training: BoolArray,
    requested: Collection[str] = (),
    labelled: LabelledRows | None = None,
    trusted: Collection[str] = (),
) -> dict[str, ColumnDecision]:
    """Decide what to do with columns that are no measurements; gives decisions by name.

    Left out are columns that are blank, constant, dates, and those that tell one row from another:
    names or whole numbers that all differ. Sentences are texts, and so are names among the
    ``requested`` columns, which the user wants. All rows of the file count, since what is constant
    among the ``training`` rows may be what others differ in.

    Left out as well, unless ``trusted``, are columns that came with the labels of the
    ``labelled`` rows, see :mod:`.leaks`.
    """
    decisions = {}
    for name, column in columns.items():
        if labelled is not None and name not in trusted and column.kind != "other":
            if why := labelled.explain_leak(column):
                decisions[name] = ColumnDecision("left out", why, leaks=True)
                continue
        if name in requested:
            if reason := _explain_text(name, column):
                decisions[name] = ColumnDecision("text", reason)
            continue
        decision = _decide(name, column)
        learnt = decision.kind in ("", "text") and not training.all()
        if learnt and column.missing and not column.take(np.flatnonzero(training)).filled:
            decision = ColumnDecision("left out", "blank in the training rows")
        if decision.kind:
            decisions[name] = decision
    return decisions


def describe_decisions(decisions: Mapping[str, ColumnDecision]) -> list[str]:
    """Describe the columns that are left out, and taken as texts or categories."""
    left, taken, texts = (
        [f"{quoted(name)} ({v.why})" for name, v in decisions.items() if v.kind == kind]
        for kind in ("left out", "category", "text")
    )
    notes = []
    if texts:
        notes.append(
            f"taken as text: {', '.join(texts)}; {ref('drop', some=['COLUMN'])} drops one"
        )
    if left:
        more = f" and {len(left) - 12} more" if len(left) > 12 else ""
        noun = "column" if len(left) == 1 else "columns"
        words = f"{', '.join(left[:12])}{more}"
        advice = f"{ref('keep', some=['COLUMN'])} keeps one"
        if any(v.why.endswith(_DIFFERENT) and v.kind == "left out" for v in decisions.values()):
            advice += f", {ref('text', some=['COLUMN'])} learns from its words"
        if any(v.why in (_DATES, _MIXED_DATES) for v in decisions.values()):
            advice += f", {ref('dates', some=['COLUMN'])} learns from weekday, month and hour"
        notes.append(f"{noun} left out: {words}; {advice}")
    if taken:
        numbering = any(v == ColumnDecision("category", _NUMBERING) for v in decisions.values())
        advice = f"; {ref('keep', some=['COLUMN'])} keeps the numbers" if numbering else ""
        notes.append(f"taken as categories: {', '.join(taken)}{advice}")
    return notes


def describe_sentinels(columns: Mapping[str, ColumnValues]) -> list[str]:
    """Return a note on columns with a number that people write for a missing one, if any."""
    found = []
    for name, column in columns.items():
        if column.kind != "number" or len(column.values) <= _MIN_OTHER_VALUES:
            continue
        for end, next_one in ((0, 1), (-1, -2)):
            value, beside = column.values[end], column.values[next_one]
            is_far = abs(value) > _SENTINEL_RATIO * abs(beside)
            if abs(value) in _SENTINELS and is_far and column.counts[end] > 1:
                rows = plural(int(column.counts[end]), "row")
                found.append(f"{quoted(name)} has {value:g} in {rows}")
    if not found:
        return []
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return [f"{', '.join(found[:5])}{more}; if this marks a missing value, leave the cells blank"]


def describe_columns(
    columns: Mapping[str, ColumnValues], schema: Schema, decisions: Mapping[str, ColumnDecision]
) -> list[ColumnProfile]:
    """Describe the columns of a table for people, in the order of the file."""
    kinds = {column.name: column.kind for column in schema.columns}
    return [
        ColumnProfile(
            name,
            kinds.get(name, "left out"),
            column.missing,
            len(column.values),
            _summarise_values(column),
            decisions.get(name, _UNCHANGED).why,
        )
        for name, column in columns.items()
    ]


def are_formatted_numbers(texts: Iterable[str]) -> bool:
    """Return whether texts are numbers such as "1,234.50" or "12 %", and no codes like "007"."""
    texts = [text.strip() for text in texts]
    return (
        all(_WRITTEN.fullmatch(text) for text in texts)
        and not all(_PLAIN.fullmatch(text) for text in texts)
        and not any(re.match(r"[-+]?0[0-9]", text) for text in texts)
    )


def is_identifier_name(name: str) -> bool:
    """Return whether a column's name marks an identifier: "id", "customer_id", "orderId"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return re.search(r"(^|[^a-z0-9])(id|ids|uuid|guid|identifier)$", words) is not None


def _decide(name: str, column: ColumnValues) -> ColumnDecision:
    why = _find_reason(name, column)
    if column.kind == "text" and why != "constant" and are_formatted_numbers(column.values):
        shown = quoted(column.values[0], _MAX_SHOWN_CHARACTERS)
        remark = f"numbers such as {shown} in mixed notations"
        return ColumnDecision("left out" if why else "category", remark)
    if why != _SENTENCES and (dates := _describe_dates(column)):
        return ColumnDecision("left out" if why else "category", dates)
    if why:
        return ColumnDecision("text" if why == _SENTENCES else "left out", why)
    numbering = column.kind == "number" and is_identifier_name(name)
    if numbering and (column.values == np.round(column.values)).all():
        return ColumnDecision("category", _NUMBERING)
    return _UNCHANGED


def _find_reason(name: str, column: ColumnValues) -> str | None:
    """Return why nothing can be learned from a column; None if something can."""
    if not name.strip():
        return "no name; row numbers that pandas wrote?"
    if not column.filled:
        return "blank"
    if column.kind == "other":
        return f"{column.type} values"
    if column.kind == "date":
        return _DATES if column.are_dates() else _MIXED_DATES
    if len(column.values) == 1 and not column.missing:
        return "constant"
    if column.kind == "number":
        return _find_number_reason(name, column)
    return _find_text_reason(name, column) if column.kind == "text" else None


def _describe_dates(column: ColumnValues) -> str | None:
    """Describe many categories that are dates, but for a few; None for others."""
    n = len(column.values)
    if column.kind != "text" or n <= MANY_CATEGORIES:
        return None
    others = column.values[~column.are_values_dates()]
    if 2 * len(others) > n:
        return None
    example = quoted(others[0], _MAX_SHOWN_CHARACTERS)
    return f"{n - len(others)} dates, and texts such as {example}; without these, it holds dates"


def _find_number_reason(name: str, column: ColumnValues) -> str | None:
    values, n = column.values, column.filled
    if (values != np.round(values)).any() or n <= _MAX_FEW_ROWS:
        return None
    if len(values) < n:
        many = is_identifier_name(name) and len(values) > MANY_CATEGORIES
        return "an identifier, judging by its name" if many else None
    steps = np.diff(values)
    if (steps == steps[0]).all():
        return "counts the rows"
    spread = values[-1] - values[0] + 1.0
    if is_identifier_name(name) or n * (n - 1) / 2 > _EXPECTED_PAIRS * spread:
        return "an identifier: a different number in every row"
    return None


def _find_text_reason(name: str, column: ColumnValues) -> str | None:
    different = len(column.values)
    everywhere = column.filled > _MAX_FEW_ROWS and different == column.filled
    if not everywhere and different <= MANY_CATEGORIES:
        return None
    repeated = 2 * different <= column.filled
    if are_sentences(
        column.values, _MIN_REPEATED_SENTENCE_WORDS if repeated else _MIN_SENTENCE_WORDS
    ):
        return _SENTENCES
    if everywhere:
        return "an identifier: a different text in every row"
    if not repeated:
        return f"{different}{_DIFFERENT}"
    return "an identifier, judging by its name" if is_identifier_name(name) else None


def _explain_text(name: str, column: ColumnValues) -> str | None:
    """Return why texts that are learned from are no categories; None if they are."""
    n = len(column.values)
    if column.kind != "text" or _find_text_reason(name, column) == _SENTENCES:
        return _SENTENCES if column.kind == "text" else None
    return f"{n}{_DIFFERENT}" if n > MANY_CATEGORIES and 2 * n > column.filled else None


def are_sentences(texts: ObjectArray, words: float = _MIN_SENTENCE_WORDS) -> bool:
    """Return whether texts consist of so many words on average, or of a script without spaces."""
    some = texts[:: -(-len(texts) // 1000)]
    joined = "".join("".join(some).split())
    if sum(map(str.isalpha, joined)) < _MIN_LETTER_SHARE * len(joined):
        return False
    if is_unspaced(joined):
        return len(joined) >= _MIN_UNSPACED_CHARACTERS * len(some)
    return bool(np.mean([len(text.split()) for text in some]) >= words)


def _summarise_values(column: ColumnValues) -> str:
    """Describe some values."""
    if not column.filled or column.kind == "other":
        return ""
    if column.kind == "number":
        median = column.values[np.searchsorted(np.cumsum(column.counts), column.filled / 2)]
        # Without an exponent where people would write none.
        low, high, median = (
            f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
            for value in (*column.values[[0, -1]], median)
        )
        return f"{low} to {high}, median {median}"
    if column.kind == "date" and column.values.dtype.kind == "f":
        return f"{format_day(column.values[0])} to {format_day(column.values[-1])}"
    if column.counts.max() == 1:
        return f"such as {quoted(column.values[0], _MAX_SHOWN_CHARACTERS)}"
    first = np.argsort(-column.counts, kind="stable")[:_MAX_SHOWN_VALUES]
    shown = [
        f"{quoted(column.values[k], _MAX_SHOWN_CHARACTERS)} ({column.counts[k]})" for k in first
    ]
    return ", ".join(shown) + (", ..." if len(column.values) > _MAX_SHOWN_VALUES else "")
