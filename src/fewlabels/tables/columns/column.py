"""One column of a table as numbers, text or dates.

Delimited text is read with every cell as text, so that columns which are only passed through come
out as they came in ("007"); numbers are parsed here, where a cell that is none can be named.
"""

import datetime
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from ..._typing import BoolArray, FloatArray, IntArray, ObjectArray
from ..._util.messages import UserError, quoted, ref
from ...data.labels.blanks import MISSING, reads_as_blank

# Cells of a column, in one piece or several.
Cells: TypeAlias = pa.Array | pa.ChunkedArray
_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}" + _TIME + "$"
_YEAR_LAST = r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}" + _TIME + "$"
_ISO = r"^\d{4}-\d{2}-\d{2}" + _TIME + "$"
# Numbers as Python reads them, but without the underscores of 1_000.
_NUMBER = r"(?i)^[-+]?((\p{Nd}+\.?\p{Nd}*|\.\p{Nd}+)(e[-+]?\p{Nd}+)?|inf|infinity|nan)$"
_DAY_SECONDS = 86_400.0
_WEEKDAYS = np.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"])  # from 1970-01-01 on
_DAYS = "days"
_EPOCH = datetime.date(1970, 1, 1)


def as_single_array(column: Cells) -> pa.Array:
    """Return a column as one Arrow array, with dictionaries decoded."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # more than one chunk where offsets overflow
        column = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    if pt.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def without(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the table without these columns; pyarrow's own way takes quadratic time."""
    names = set(names)
    if not names:
        return table
    return table.select([j for j, name in enumerate(table.column_names) if name not in names])


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is text."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)


def is_supported(kind: pa.DataType) -> bool:
    """Return whether a column of this Arrow type can be a number or a category."""
    return is_text(kind) or is_number(kind) or pt.is_boolean(kind) or pt.is_null(kind)


def trim_texts(column: Cells) -> pa.Array:
    """Return texts without space around them, null for texts that mean a missing value."""
    column = pc.utf8_trim_whitespace(as_single_array(column).cast(pa.large_string()))
    missing = pc.is_in(column, value_set=pa.array(MISSING, column.type))
    return pc.if_else(missing, pa.scalar(None, column.type), column)


def numbers(column: Cells) -> tuple[FloatArray, IntArray]:
    """Parse a supported column as float64 (missing: NaN), and return positions of wrong texts."""
    column = as_single_array(column)
    if not is_text(column.type):
        values = np.full(len(column), np.nan)
        if not pt.is_null(column.type):
            values = _to_numpy(column.cast(pa.float64(), safe=False))
        return values, np.zeros(0, dtype=np.intp)
    parsed = parse_texts(column)
    return parsed.numbers, np.flatnonzero(parsed.is_wrong)


class ParsedTexts(NamedTuple):
    """Texts as ``numbers``, NaN for others: which are blank, and which are something else.

    ``is_plain``: all are plain numbers or blank, so that Arrow reads them.
    """

    numbers: FloatArray
    is_blank: BoolArray
    is_wrong: BoolArray
    is_plain: bool


def parse_texts(texts: Cells) -> ParsedTexts:
    """Parse texts as numbers."""
    trimmed = trim_texts(texts)
    is_blank = trimmed.is_null().to_numpy(zero_copy_only=False)
    try:
        values = _to_numpy(trimmed.cast(pa.float64()))
        return ParsedTexts(values, is_blank, np.zeros_like(is_blank), True)
    except pa.ArrowInvalid:
        found = pc.match_substring_regex(trimmed, _NUMBER).fill_null(False)
    is_number = found.to_numpy(zero_copy_only=False)
    values = np.full(len(trimmed), np.nan)
    values[is_number] = [float(text) for text in trimmed.filter(found).to_pylist()]
    return ParsedTexts(values, is_blank, ~(is_blank | is_number), False)


def are_codes(texts: pa.Array) -> BoolArray:
    """Return which texts are like "007", which reads as a number but is a code."""
    texts = texts.cast(pa.large_string())
    found = pc.match_substring_regex(texts, r"^\s*0[0-9]+\s*$").fill_null(False)
    return found.to_numpy(zero_copy_only=False)


def text(column: Cells) -> ObjectArray:
    """Return the values of a column as text, missing ones as the empty string.

    The same data give the same categories in every format: truth values are written as pandas does
    (however they are capitalised), whole numbers without a decimal point.
    """
    column = as_single_array(column)
    if pt.is_null(column.type):
        return np.full(len(column), "", dtype=object)
    if pt.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    elif is_number(column.type) and not pt.is_integer(column.type):
        values = _to_numpy(column.cast(pa.float64(), safe=False))
        return np.array([format_number(value) for value in values], dtype=object)
    column = pc.fill_null(column.cast(pa.large_string()), "")
    for value in ("True", "False"):
        same = pc.is_in(column, value_set=pa.array([value.lower(), value.upper()], column.type))
        column = pc.if_else(same, value, column)
    return column.to_numpy(zero_copy_only=False)


def format_number(value: float) -> str:
    """Write a number as people do, a missing one as the empty string."""
    value = float(value)
    if np.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() else repr(value)


def are_blank(values: Iterable[str]) -> BoolArray:
    """Return which texts represent a missing value."""
    return np.array([reads_as_blank(value) for value in values], dtype=bool)


def _to_numpy(column: pa.Array) -> FloatArray:
    values = column.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype=np.float64)


def find_dates(trimmed: pa.Array) -> tuple[BoolArray, BoolArray]:
    """Return which texts of :func:`trim_texts` are dates, year first and year last."""
    first, last = (
        pc.match_substring_regex(trimmed, pattern).fill_null(False).to_numpy(zero_copy_only=False)
        for pattern in (_YEAR_FIRST, _YEAR_LAST)
    )
    return first, last


def days_since_epoch(cells: Cells, name: str = "", source: object = "") -> FloatArray:
    """Return days since 1970 as float64, missing ones as NaN; names are for messages.

    The cells are typed dates and times, or texts in the order year-month-day with leading zeros.
    """
    cells = as_single_array(cells)
    if is_text(cells.type):
        cells = _parse_timestamps(cells, name, source)
    if pt.is_date(cells.type):
        return _to_numpy(cells.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()))
    if pt.is_timestamp(cells.type):
        times = cells.cast(pa.timestamp("us", cells.type.tz), safe=False).cast(pa.int64())
        return _to_numpy(times.cast(pa.float64(), safe=False)) / (1e6 * _DAY_SECONDS)
    raise UserError(
        f"Column {quoted(name)} holds dates in the model but {cells.type} values in {source}; "
        "write them as 2026-11-22."
    )


def format_day(value: float) -> str:
    """Return a day since 1970 as text."""
    return (_EPOCH + datetime.timedelta(days=int(np.floor(value)))).isoformat()


def _parse_timestamps(cells: pa.Array, name: str, source: object) -> pa.Array:
    texts = trim_texts(cells)
    # Points stand between day, month and year, in this order.
    texts = pc.replace_substring_regex(texts, r"^(\d)\.", r"0\1.")
    texts = pc.replace_substring_regex(texts, r"^(\d\d)\.(\d)\.", r"\1.0\2.")
    texts = pc.replace_substring_regex(texts, r"^(\d\d)\.(\d\d)\.(\d{4})", r"\3-\2-\1")
    good = pc.fill_null(pc.match_substring_regex(texts, _ISO), True)
    if not pc.all(good).as_py():
        place = good.index(False).as_py()
        raise UserError(
            f"Column {quoted(name)} of {source} is declared as dates, but has "
            f"{quoted(cells[place].as_py())}; write them as 2026-11-22 or 2026-11-22 13:45:00, "
            f"or drop the column with {ref('drop', [name])}."
        )
    # Time zones are converted, times without one are taken as they are.
    import pandas as pd

    texts = texts.to_pandas()
    stamps = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    wrong = stamps.isna() & texts.notna()
    if wrong.any():
        raise UserError(
            f"Column {quoted(name)} of {source} has {quoted(texts[wrong].iloc[0])}, which isn't "
            "a date; correct it or leave it blank."
        )
    return pa.array(stamps)


def days_column_name(name: str) -> str:
    """Name of the column with the days of a column of dates."""
    return f"{name}: {_DAYS}"


def expand_dates(table: pa.Table, names: Iterable[str], source: object) -> pa.Table:
    """Replace columns of dates of a table by their parts.

    Days since 1970, the weekday as a category, the month and the hour.
    """
    for name in names:
        cells = table.column(name)
        if is_supported(cells.type) and not is_text(cells.type):
            raise UserError(
                f"Column {quoted(name)} of {source} holds {cells.type} values, not dates; omit "
                f"{ref('dates', [name])}."
            )
        table = table.drop_columns([name])
        for part, values in _split_dates(days_since_epoch(cells, name, source)).items():
            table = table.append_column(f"{name}: {part}", values)
    return table


def _split_dates(values: FloatArray) -> dict[str, pa.Array]:
    known = ~np.isnan(values)
    whole = np.floor(np.where(known, values, 0.0)).astype(np.int64)
    month = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    # Fractions of a day are rounded, so that an hour may be a trifle early.
    hour = np.floor(24.0 * (np.where(known, values, 0.0) - whole) + 1e-6)
    return {
        _DAYS: pa.array(values, from_pandas=True),
        "weekday": pa.array(_WEEKDAYS[whole % 7], mask=~known),
        "month": pa.array(month.astype(float), mask=~known),
        "hour": pa.array(hour, mask=~known),
    }
