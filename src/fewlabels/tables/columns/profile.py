"""Looking at a table: what its columns hold, and which ones nothing can be learned from."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..._typing import AnyArray, BoolArray, IntArray, ObjectArray
from ..._util.messages import quoted, ref
from ..encoding.texts import is_unspaced
from .column import (
    Cells,
    are_dates,
    day_text,
    days,
    has_codes,
    is_number,
    is_supported,
    is_text,
    not_dates,
    number_counts,
    numbers,
    plain,
    trimmed,
    trimmed_numbers,
)
from .leaks import LabelledRows
from .schema import Schema

# A text column with this many different values, most of them seen once or twice, is a
# name or an identifier; one-hot encoding it would give a column per row.
MANY_CATEGORIES = 50
# Fewer rows may well be all different in what is measured.
_FEW_ROWS = 10
# How many pairs of equal values n measurements between the smallest and the largest whole number
# would have at least, if they were drawn by chance: exp(-7) is the probability of none.
_EXPECTED_PAIRS = 7
# Texts of this many words, on average, are learnt from; of so many, where texts come twice and
# more often, which shorter ones do that are categories.
_SENTENCE, _REPEATED = 3, 6
# Share of letters among what is no space, below which texts are codes; texts in scripts without
# spaces have so many characters.
_LETTERS, _UNSPACED = 0.5, 8
# Numbers as people write them: separators of thousands, decimal commas, units.
_WRITTEN = re.compile(r"[$£€]? ?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)? ?[%$£€]?")
_PLAIN = re.compile(r"[-+]?\d+(\.\d+)?")
# Why whole numbers are categories.
_NUMBERING = "the name suggests a running number"
# Why texts are learnt from, and why they are not.
_SENTENCES, _DIFFERENT = "sentences", " different texts"
# Why dates are left out.
_DATES, _MIXED_DATES = "dates", "dates in several formats"
_SHOWN_VALUES, _SHOWN_LENGTH = 3, 24


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


class Seen(NamedTuple):
    """Different values of a column with the rows of each, and the number of blank cells.

    ``kind`` is "number", "text", "boolean", "date", "mixed" (some texts among numbers) or "other".
    Numbers and typed dates are floats, others text; none means a missing value.
    """

    kind: str
    values: AnyArray
    counts: IntArray
    missing: int

    @property
    def filled(self) -> int:
        return int(self.counts.sum())


class Summary(NamedTuple):
    """What people read about a column: blank cells, different values, and some of these."""

    missing: int
    distinct: int
    shown: str


class Verdict(NamedTuple):
    """What to do with a column, "category", "text", "left out" or "" (see its cells), and why.

    ``leaks``: it came with the labels, whatever kind of column it is.
    """

    kind: str
    why: str
    leaks: bool = False


_AS_IT_IS = Verdict("", "")
#: On a column that could be learnt from.
UNHELPFUL = Verdict("left out", "held-out labels are predicted better without it")
#: On the column whose values say which rows are held out together.
OF_GROUPS = Verdict("left out", "an identifier: rows with the same value are held out together")


def judge_columns(
    table: pa.Table,
    training: BoolArray,
    kept: Collection[str] = (),
    labelled: LabelledRows | None = None,
    trusted: Collection[str] = (),
) -> tuple[dict[str, Verdict], dict[str, Summary]]:
    """What is to be done with columns that are no measurements, and what all of them hold.

    Gives verdicts and summaries by name; values are counted once, which takes most of the time.

    Left out are columns that are blank, constant, dates, and those that tell one row from another:
    names or whole numbers that all differ. Sentences are texts, and so are names that are
    ``kept``, the columns that the user wants. Over all rows of the file, since what is constant
    among the ``training`` rows may be what others differ in.

    Left out as well, unless ``trusted``, are columns that came with the labels of the
    ``labelled`` rows, see :mod:`.leaks`.
    """
    verdicts, summaries = {}, {}
    columns = dict(zip(table.column_names, table.itercolumns(), strict=True))
    of_numbers = number_counts(columns)
    for name, cells in columns.items():
        seen = Seen("number", *of_numbers[name]) if name in of_numbers else see(cells)
        summaries[name] = Summary(seen.missing, len(seen.values), _shown(seen))
        if labelled is not None and name not in trusted and seen.kind != "other":
            if why := labelled.leak(cells, seen.values, seen.counts):
                verdicts[name] = Verdict("left out", why, leaks=True)
                continue
        if name in kept:
            if reason := _why_text(name, seen):
                verdicts[name] = Verdict("text", reason)
            continue
        verdict = _judge(name, seen, cells.type)
        learnt = verdict.kind in ("", "text") and not training.all()
        if learnt and seen.missing and not see(cells.filter(training)).filled:
            verdict = Verdict("left out", "blank in the training rows")
        if verdict.kind:
            verdicts[name] = verdict
    return verdicts, summaries


def notes_on(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Sentences on the columns that are left out, and taken as texts or categories."""
    left, taken, texts = (
        [f"{quoted(name)} ({v.why})" for name, v in verdicts.items() if v.kind == kind]
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
        if any(v.why.endswith(_DIFFERENT) and v.kind == "left out" for v in verdicts.values()):
            advice += f", {ref('text', some=['COLUMN'])} learns from its words"
        if any(v.why in (_DATES, _MIXED_DATES) for v in verdicts.values()):
            advice += f", {ref('dates', some=['COLUMN'])} learns from weekday, month and hour"
        notes.append(f"{noun} left out: {words}; {advice}")
    if taken:
        numbering = any(v == Verdict("category", _NUMBERING) for v in verdicts.values())
        advice = f"; {ref('keep', some=['COLUMN'])} keeps the numbers" if numbering else ""
        notes.append(f"taken as categories: {', '.join(taken)}{advice}")
    return notes


def describe_columns(
    summaries: Mapping[str, Summary], schema: Schema, verdicts: Mapping[str, Verdict]
) -> list[ColumnProfile]:
    """The columns of a table for people, in the order of the file."""
    kinds = {column.name: column.kind for column in schema.columns}
    return [
        ColumnProfile(
            name, kinds.get(name, "left out"), *summary, verdicts.get(name, _AS_IT_IS).why
        )
        for name, summary in summaries.items()
    ]


def written_for_people(texts: Iterable[str]) -> bool:
    """Whether texts are numbers such as "1,234.50", "3,5" or "12 %", without codes like "007"."""
    texts = [text.strip() for text in texts]
    return (
        all(_WRITTEN.fullmatch(text) for text in texts)
        and not all(_PLAIN.fullmatch(text) for text in texts)
        and not any(re.match(r"[-+]?0[0-9]", text) for text in texts)
    )


def is_identifier_name(name: str) -> bool:
    """Whether a name says that the column identifies things: "id", "customer_id", "orderId"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return re.search(r"(^|[^a-z0-9])(id|ids|uuid|guid|identifier)$", words) is not None


def _judge(name: str, seen: Seen, kind: pa.DataType) -> Verdict:
    why = _reason(name, seen, kind)
    if seen.kind == "text" and why != "constant" and written_for_people(seen.values):
        shown = quoted(seen.values[0], _SHOWN_LENGTH)
        remark = f"numbers such as {shown} in mixed notations"
        return Verdict("left out" if why else "category", remark)
    if why != _SENTENCES and (dates := _mostly_dates(seen)):
        return Verdict("left out" if why else "category", dates)
    if why:
        return Verdict("text" if why == _SENTENCES else "left out", why)
    numbering = seen.kind == "number" and is_identifier_name(name)
    if numbering and (seen.values == np.round(seen.values)).all():
        return Verdict("category", _NUMBERING)
    return _AS_IT_IS


def _reason(name: str, seen: Seen, kind: pa.DataType) -> str | None:
    """Why nothing can be learned from a column; None if something can."""
    if not name.strip():
        return "no name; row numbers that pandas wrote?"
    if not seen.filled:
        return "blank"
    if seen.kind in ("date", "other"):
        return _reason_of_dates(seen) if seen.kind == "date" else f"{kind} values"
    if len(seen.values) == 1 and not seen.missing:
        return "constant"
    if seen.kind == "number":
        return _number_reason(name, seen)
    return _text_reason(name, seen) if seen.kind == "text" else None


def _reason_of_dates(seen: Seen) -> str:
    typed = seen.values.dtype.kind == "f"
    return _DATES if typed or are_dates(pa.array(seen.values)) else _MIXED_DATES


def _mostly_dates(seen: Seen) -> str | None:
    """What to say of many categories that are dates, but for a few; None of others."""
    n = len(seen.values)
    if seen.kind != "text" or n <= MANY_CATEGORIES:
        return None
    others = not_dates(pa.array(seen.values, pa.large_string()))
    if 2 * len(others) > n:
        return None
    example = quoted(others[0].as_py(), _SHOWN_LENGTH)
    return f"{n - len(others)} dates, and texts such as {example}; without these, it holds dates"


def _number_reason(name: str, seen: Seen) -> str | None:
    values, n = seen.values, seen.filled
    if (values != np.round(values)).any() or n <= _FEW_ROWS:
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


def _text_reason(name: str, seen: Seen) -> str | None:
    different = len(seen.values)
    everywhere = seen.filled > _FEW_ROWS and different == seen.filled
    if not everywhere and different <= MANY_CATEGORIES:
        return None
    repeated = 2 * different <= seen.filled
    if are_sentences(seen.values, _REPEATED if repeated else _SENTENCE):
        return _SENTENCES
    if everywhere:
        return "an identifier: a different text in every row"
    if not repeated:
        return f"{different}{_DIFFERENT}"
    return "an identifier, judging by its name" if is_identifier_name(name) else None


def _why_text(name: str, seen: Seen) -> str | None:
    """Why texts that are learned from are no categories; None if they are."""
    n = len(seen.values)
    if seen.kind != "text" or _text_reason(name, seen) == _SENTENCES:
        return _SENTENCES if seen.kind == "text" else None
    return f"{n}{_DIFFERENT}" if n > MANY_CATEGORIES and 2 * n > seen.filled else None


def are_sentences(texts: ObjectArray, words: float = _SENTENCE) -> bool:
    """Whether texts consist of so many words on average, or of a script without spaces."""
    some = texts[:: -(-len(texts) // 1000)]
    joined = "".join("".join(some).split())
    if sum(map(str.isalpha, joined)) < _LETTERS * len(joined):
        return False
    if is_unspaced(joined):
        return len(joined) >= _UNSPACED * len(some)
    return bool(np.mean([len(text.split()) for text in some]) >= words)


def see(cells: Cells) -> Seen:
    """Different values of a column, smallest number first."""
    kind = cells.type
    if is_number(kind) or pt.is_date(kind) or pt.is_timestamp(kind):
        values = numbers(cells)[0] if is_number(kind) else days(cells)
        found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        what = "number" if is_number(kind) else "date"
        return Seen(what, found, counts, len(values) - int(counts.sum()))
    if not is_supported(kind):
        n = len(cells) - cells.null_count
        return Seen("other", np.arange(n), np.ones(n, dtype=int), cells.null_count)
    counted = plain(cells).value_counts()
    values = counted.field("values").cast(pa.large_string()).fill_null("")
    counts = counted.field("counts").to_numpy()
    texts = trimmed(values)
    gap = texts.is_null().to_numpy(zero_copy_only=False)
    missing = int(counts[gap].sum())
    filled, counts = values.filter(pa.array(~gap)), counts[~gap]
    if not is_text(kind) or not len(filled):
        return Seen("boolean", filled.to_numpy(zero_copy_only=False), counts, missing)
    parsed, bad = trimmed_numbers(texts.drop_null())
    if not bad.size and not has_codes(filled):
        order = np.argsort(parsed)
        return Seen("number", parsed[order], counts[order], missing)
    texts = filled.to_numpy(zero_copy_only=False)
    if are_dates(filled, mixed=True):
        return Seen("date", texts, counts, missing)
    mixed = 0 < 2 * int(counts[bad].sum()) <= int(counts.sum())
    return Seen("mixed" if mixed else "text", texts, counts, missing)


def _shown(seen: Seen) -> str:
    """Some values in words."""
    if not seen.filled or seen.kind == "other":
        return ""
    if seen.kind == "number":
        median = seen.values[np.searchsorted(np.cumsum(seen.counts), seen.filled / 2)]
        # Without an exponent where people would write none.
        low, high, median = (
            f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
            for value in (*seen.values[[0, -1]], median)
        )
        return f"{low} to {high}, median {median}"
    if seen.kind == "date" and seen.values.dtype.kind == "f":
        return f"{day_text(seen.values[0])} to {day_text(seen.values[-1])}"
    if seen.counts.max() == 1:
        return f"such as {quoted(seen.values[0], _SHOWN_LENGTH)}"
    first = np.argsort(-seen.counts, kind="stable")[:_SHOWN_VALUES]
    shown = [f"{quoted(seen.values[k], _SHOWN_LENGTH)} ({seen.counts[k]})" for k in first]
    return ", ".join(shown) + (", ..." if len(seen.values) > _SHOWN_VALUES else "")
