"""Dates as numbers and categories that can be learned from (``--dates``)."""

import numpy as np
import pyarrow as pa

from ...options.words import ref
from ..errors import UserError, quoted
from .columns import days, is_supported, is_text

_WEEKDAYS = np.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"])  # from 1970-01-01 on
_DAYS = "days"


def days_of(name):
    """Name of the column with the days of a column of dates."""
    return f"{name}: {_DAYS}"


def with_dates(table, names, source):
    """The table with some columns of dates replaced by what they say.

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
        for part, values in _parts(days(cells, name, source)).items():
            table = table.append_column(f"{name}: {part}", values)
    return table


def _parts(values):
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
