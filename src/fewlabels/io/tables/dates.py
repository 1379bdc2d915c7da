"""Columns of dates: telling them, and their days as numbers."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from ..errors import UserError
from .columns import MISSING, is_text, plain

_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}" + _TIME + "$"
_YEAR_LAST = r"^\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}" + _TIME + "$"
_ISO = r"^\d{4}-\d{2}-\d{2}" + _TIME + "$"
_DAY_SECONDS = 86_400.0
_EPOCH = datetime.date(1970, 1, 1)


def are_dates(cells):
    """Whether a column holds dates: typed ones, or texts that are written as such."""
    kind = cells.type
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return True
    if not is_text(kind):
        return False
    values = _filled(cells)
    return bool(len(values)) and any(_all_match(values, p) for p in (_YEAR_FIRST, _YEAR_LAST))


def days(cells, name="", source=""):
    """Days since 1970 as float64, missing ones as NaN.

    The cells are typed dates and times, or texts in the order year-month-day with leading zeros.
    The names of the column and the file are for messages.
    """
    cells = plain(cells)
    if is_text(cells.type):
        cells = _stamps(cells, name, source)
    if pt.is_date(cells.type):
        cells = cells.cast(pa.date32()).cast(pa.int32())
        return cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if pt.is_timestamp(cells.type):
        seconds = cells.cast(pa.timestamp("us", cells.type.tz), safe=False).cast(pa.int64())
        values = seconds.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values / (1e6 * _DAY_SECONDS)
    raise UserError(
        f"Column '{name}' holds dates in the model but {cells.type} values in {source}; write "
        "them as 2026-11-22."
    )


def day_text(value):
    """A day since 1970 as text."""
    return (_EPOCH + datetime.timedelta(days=int(np.floor(value)))).isoformat()


def _stamps(cells, name, source):
    texts = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    missing = pc.is_in(texts, value_set=pa.array(MISSING, texts.type))
    texts = pc.if_else(missing, pa.scalar(None, texts.type), texts)
    good = pc.fill_null(pc.match_substring_regex(texts, _ISO), True)
    if not pc.all(good).as_py():
        place = good.index(False).as_py()
        raise UserError(
            f"Column '{name}' of {source} is to be taken as dates, but has "
            f"'{cells[place].as_py()}'; write them as 2026-11-22 or 2026-11-22 13:45:00, or leave "
            f"the column out with --drop '{name}'."
        )
    # Time zones are converted, times without one are taken as they are.
    import pandas as pd

    texts = texts.to_pandas()
    stamps = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    wrong = stamps.isna() & texts.notna()
    if wrong.any():
        raise UserError(
            f"Column '{name}' of {source} has '{texts[wrong].iloc[0]}', which cannot be "
            "read as a date; correct it or leave it blank."
        )
    return pa.array(stamps)


def _filled(cells):
    texts = pc.utf8_trim_whitespace(plain(cells).cast(pa.large_string()))
    blank = pc.is_in(texts, value_set=pa.array(MISSING, texts.type))
    return texts.filter(pc.and_(pc.invert(blank), pc.is_valid(texts)))


def _all_match(values, pattern):
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())
