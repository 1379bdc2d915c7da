"""Looking at a table: what its columns hold, and which ones nothing can be learnt from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..errors import UserError
from .columns import blank, has_codes, is_number, is_supported, is_text, numbers, plain
from .dates import are_dates, day_text, days

# A text column with this many different values, most of them seen once or twice, is a
# name or an identifier; one-hot encoding it would give a column per row.
MANY_CATEGORIES = 50
# Fewer rows may well be all different in what is measured.
_FEW_ROWS = 10
# How many pairs of equal values n measurements between the smallest and the largest whole number
# would have at least, if they were drawn by chance: exp(-7) is the probability of none.
_EXPECTED_PAIRS = 7
# Texts of this many words, on average, are sentences.
_SENTENCE = 4
# Numbers as people write them: separators of thousands, decimal commas, units.
_WRITTEN = re.compile(r"[$£€]? ?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)? ?[%$£€]?")
_PLAIN = re.compile(r"[-+]?\d+(\.\d+)?")
# Why whole numbers are categories.
_NUMBERING = "its name says that it numbers things"
_SHOWN_VALUES, _SHOWN_LENGTH = 3, 24


@dataclass(frozen=True)
class Column:
    """A column of the table that was learnt from.

    ``kind`` is "number", "category", "date", "text" or "left out"; ``shown`` are its range or most
    frequent values, ``note`` what the user should know (constant, counts the rows, ...).
    """

    name: str
    kind: str
    missing: int
    distinct: int
    shown: str
    note: str = ""


class _Seen(NamedTuple):
    """Different values of a column with the rows of each, and cells without a value.

    ``kind`` is "number", "text", "boolean", "date", "mixed" (some texts among numbers) or "other".
    Numbers and typed dates are floats, others text; none stands for a missing value.
    """

    kind: str
    values: np.ndarray
    counts: np.ndarray
    missing: int

    @property
    def filled(self):
        """Cells with a value."""
        return int(self.counts.sum())


class Verdict(NamedTuple):
    """What is to be done with a column: "category", "left out", or "" (as its cells say).

    ``why`` is in words that follow "it" or stand in brackets.
    """

    kind: str
    why: str


_AS_IT_IS = Verdict("", "")


def judge_columns(table, training, kept=()):
    """What is to be done with columns that are no measurements: verdicts by name.

    Left out are columns that are blank, constant, dates, free text, and those that tell one row
    from another: texts or whole numbers that all differ. Over all rows of the file, since what is
    constant among the ``training`` rows may be what others differ in. ``kept`` the user wants.
    """
    verdicts = {}
    for name in table.column_names:
        if name in kept:
            continue
        cells = table.column(name)
        verdict = _judge(name, _see(cells), cells.type)
        if not verdict.kind and not training.all() and not _see(cells.filter(training)).filled:
            verdict = Verdict("left out", "blank in the training rows")
        if verdict.kind:
            verdicts[name] = verdict
    return verdicts


def left_out_note(verdicts):
    """One sentence on the columns that are left out; None without any."""
    words = [f"'{name}' ({v.why})" for name, v in verdicts.items() if v.kind == "left out"]
    if not words:
        return None
    more = f" and {len(words) - 12} more" if len(words) > 12 else ""
    noun = "column" if len(words) == 1 else "columns"
    return f"{noun} left out: {', '.join(words[:12])}{more}; --keep COLUMN keeps one"


def category_note(verdicts):
    """One sentence on numbers that are taken as categories; None without any."""
    words = [f"'{name}' ({v.why})" for name, v in verdicts.items() if v.kind == "category"]
    if not words:
        return None
    numbering = any(v.kind == "category" and v.why == _NUMBERING for v in verdicts.values())
    advice = "; --keep COLUMN keeps the numbers" if numbering else ""
    return f"taken as categories: {', '.join(words)}{advice}"


def describe_columns(table, schema, verdicts):
    """The columns of a table for people, in the order of the file."""
    kinds = {column.name: column.kind for column in schema.columns}
    described = []
    for name in table.column_names:
        verdict = verdicts.get(name, _AS_IT_IS)
        kind = kinds.get(name, "left out")
        seen = _see(table.column(name))
        shown = _shown(seen)
        described.append(Column(name, kind, seen.missing, len(seen.values), shown, verdict.why))
    return described


def check_something_left(names, verdicts, source):
    """Refuse a table that has no column to learn from."""
    if any(verdicts.get(name, _AS_IT_IS).kind != "left out" for name in names):
        return
    words = ", ".join(f"'{name}' ({verdicts[name].why})" for name in names[:8])
    raise UserError(
        f"{source} has no column to learn from: {words}; keep one with --keep COLUMN, or add "
        "columns of measurements."
    )


def written_for_people(texts):
    """Whether texts are numbers with separators or units, such as "1,234.50", "3,5" or "12 %".

    Not where codes such as "007" are among them.
    """
    texts = [text.strip() for text in texts]
    return (
        all(_WRITTEN.fullmatch(text) for text in texts)
        and not all(_PLAIN.fullmatch(text) for text in texts)
        and not any(re.match(r"[-+]?0[0-9]", text) for text in texts)
    )


def is_identifier_name(name):
    """Whether a name says that the column identifies things: "id", "customer_id", "orderId"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return re.search(r"(^|[^a-z0-9])(id|ids|uuid|guid|identifier)$", words) is not None


def _judge(name, seen, kind):
    why = _reason(name, seen, kind)
    if seen.kind == "text" and why not in (None, "constant") and written_for_people(seen.values):
        return Verdict("left out", _not_read(seen))
    if why:
        return Verdict("left out", why)
    if seen.kind == "text" and written_for_people(seen.values):
        return Verdict("category", _not_read(seen))
    if seen.kind == "number" and is_identifier_name(name):
        if (seen.values == np.round(seen.values)).all():
            return Verdict("category", _NUMBERING)
    return _AS_IT_IS


def _reason(name, seen, kind):
    """Why nothing can be learnt from a column; None if something can."""
    if not name.strip():
        return "no name; row numbers that pandas wrote?"
    if not seen.filled:
        return "blank"
    if seen.kind == "date":
        return "dates"
    if seen.kind == "other":
        return f"{kind} values"
    if len(seen.values) == 1 and not seen.missing:
        return "constant"
    if seen.kind == "number":
        return _number_reason(name, seen)
    return _text_reason(name, seen) if seen.kind == "text" else None


def _not_read(seen):
    return f"numbers such as '{_cut(seen.values[0])}' are not read, write 1234.5 for 1,234.50 €"


def _number_reason(name, seen):
    values, n = seen.values, seen.filled
    if (values != np.round(values)).any() or n <= _FEW_ROWS:
        return None
    if len(values) < n:
        many = is_identifier_name(name) and len(values) > MANY_CATEGORIES
        return "an identifier by its name" if many else None
    steps = np.diff(values)
    if (steps == steps[0]).all():
        return "counts the rows"
    spread = values[-1] - values[0] + 1.0
    if is_identifier_name(name) or n * (n - 1) / 2 > _EXPECTED_PAIRS * spread:
        return "an identifier: another number in every row"
    return None


def _text_reason(name, seen):
    different = len(seen.values)
    if seen.filled > _FEW_ROWS and different == seen.filled:
        return _named(seen, "an identifier: another text in every row")
    if different <= MANY_CATEGORIES:
        return None
    if 2 * different > seen.filled:
        return _named(seen, f"{different} different texts")
    return "an identifier by its name" if is_identifier_name(name) else None


def _named(seen, otherwise):
    some = seen.values[:: -(-len(seen.values) // 1000)]
    words = np.mean([len(value.split()) for value in some])
    return "free text" if words >= _SENTENCE else otherwise


def _see(cells):
    """Different values of a column, smallest number first."""
    kind = cells.type
    if is_number(kind) or pt.is_date(kind) or pt.is_timestamp(kind):
        values = numbers(cells)[0] if is_number(kind) else days(cells)
        found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        what = "number" if is_number(kind) else "date"
        return _Seen(what, found, counts, len(values) - int(counts.sum()))
    if not is_supported(kind):
        n = len(cells) - cells.null_count
        return _Seen("other", np.arange(n), np.ones(n, dtype=int), cells.null_count)
    counted = plain(cells).value_counts()
    values = counted.field("values").cast(pa.large_string()).fill_null("")
    counts = counted.field("counts").to_numpy()
    texts = values.to_numpy(zero_copy_only=False)
    gap = blank(texts)
    missing = int(counts[gap].sum())
    texts, counts = texts[~gap], counts[~gap]
    if not is_text(kind) or not len(texts):
        return _Seen("boolean", texts, counts, missing)
    filled = pa.array(texts, pa.large_string())
    parsed, bad = numbers(filled)
    if not bad.size and not has_codes(filled):
        order = np.argsort(parsed)
        return _Seen("number", parsed[order], counts[order], missing)
    if are_dates(filled):
        return _Seen("date", texts, counts, missing)
    mixed = 0 < 2 * int(counts[bad].sum()) <= int(counts.sum())
    return _Seen("mixed" if mixed else "text", texts, counts, missing)


def _shown(seen):
    """Some values in words."""
    if not seen.filled or seen.kind == "other":
        return ""
    if seen.kind == "number":
        middle = seen.values[np.searchsorted(np.cumsum(seen.counts), seen.filled / 2)]
        low, high, middle = (_figure(value) for value in (*seen.values[[0, -1]], middle))
        return f"{low} to {high}, median {middle}"
    if seen.kind == "date" and seen.values.dtype.kind == "f":
        return f"{day_text(seen.values[0])} to {day_text(seen.values[-1])}"
    if seen.counts.max() == 1:
        return f"such as '{_cut(seen.values[0])}'"
    first = np.argsort(-seen.counts, kind="stable")[:_SHOWN_VALUES]
    shown = [f"'{_cut(seen.values[k])}' ({seen.counts[k]})" for k in first]
    return ", ".join(shown) + (", ..." if len(seen.values) > _SHOWN_VALUES else "")


def _figure(value):
    """A number without an exponent where people would write none."""
    whole = 1e3 <= abs(value) < 1e9
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def _cut(value):
    return value if len(value) <= _SHOWN_LENGTH else value[: _SHOWN_LENGTH - 3] + "..."
