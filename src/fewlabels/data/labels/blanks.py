"""No label: the one definition of it, for values in memory and for the texts of files."""

import re
import sys

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import AnyArray, BoolArray

# pandas' list of what stands for a missing value in a file, and "?" of the UCI files.
MISSING: tuple[str, ...] = ("", "#N/A", "<NA>", "?", "N/A", "n/a", "NA", "NULL", "Null", "null")
MISSING += ("NaN", "nan", "NAN", "-NaN", "-nan", "None", "none")
_MISSING_SET = frozenset(MISSING)
# Every text that reads as this number; "nan" is also what NumPy writes for it in texts.
_NOT_A_NUMBER = re.compile(r"[-+]?nan", flags=re.IGNORECASE)
NAN_TEXT = "nan"


def is_missing(values: ArrayLike) -> BoolArray:
    """Find the values of an array that are None, NaN, NaT, pandas.NA or masked.

    Returns
    -------
    ndarray of bool
        Of the shape of ``values``.
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values) | is_missing(values.data)
    pandas = sys.modules.get("pandas")  # otherwise no value is one of pandas'
    if pandas is not None:
        return np.asarray(pandas.isna(values), dtype=bool)
    values = np.asarray(values)
    if values.dtype.kind in "fcmM":
        return np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values)
    if values.dtype == object:
        # NaN and NaT are the values that differ from themselves.
        lacking = [value is None or value != value for value in values.flat]
        return np.array(lacking, dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def is_blank(values: AnyArray) -> BoolArray:
    """Find the values of an array of labels in memory that are no label.

    They are missing, or texts without a character that shows.
    """
    found = is_missing(values)
    if values.dtype.kind in "US":
        return np.char.str_len(np.char.strip(values)) == 0
    if values.dtype == object:
        empty = [isinstance(value, str | bytes) and not value.strip() for value in values.flat]
        found |= np.reshape(np.array(empty, dtype=bool), values.shape)
    return found


def is_no_label(value: object) -> bool:
    """Return whether a single value in memory is no label."""
    single = np.empty(1, dtype=object)
    single[0] = value
    return bool(is_blank(single)[0])


def reads_as_blank(text: str) -> bool:
    """Return whether a text of a file is no value: one of ``MISSING``, or a form of "nan"."""
    stripped = text.strip()
    return stripped in _MISSING_SET or _NOT_A_NUMBER.fullmatch(stripped) is not None
