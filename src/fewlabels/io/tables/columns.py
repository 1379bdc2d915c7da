"""One column of a table as numbers or as text.

Tables travel as Arrow data. Delimited text is read with every cell as text, so that
columns which are only passed through come out exactly as they came in ("007" stays
"007"); numbers are parsed here, where a cell that is none can be named.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

# pandas' list of what stands for a missing number, and "?" of the UCI files.
MISSING: tuple[str, ...] = ("", "#N/A", "<NA>", "?", "N/A", "n/a", "NA", "NULL", "Null", "null")
MISSING += ("NaN", "nan", "NAN", "-NaN", "-nan", "None", "none")


def plain(column):
    """One Arrow array, dictionaries decoded."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # more than one chunk where offsets overflow
        column = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    if pt.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def is_text(kind):
    """Whether an Arrow type is text."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def is_number(kind):
    """Whether an Arrow type is numeric."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)


def is_supported(kind):
    """Whether a column of this Arrow type can be a number or a category."""
    return is_text(kind) or is_number(kind) or pt.is_boolean(kind) or pt.is_null(kind)


def numbers(column):
    """Values of a supported Arrow column as float64, missing ones as NaN.

    Beside them the positions of the cells that hold text which is no number.
    """
    column = plain(column)
    none = np.zeros(0, dtype=np.intp)
    if pt.is_null(column.type):
        return np.full(len(column), np.nan), none
    if not is_text(column.type):
        return _to_numpy(column.cast(pa.float64(), safe=False)), none
    column = column.cast(pa.large_string())
    column = pc.utf8_trim_whitespace(column)
    column = pc.if_else(_is_missing_token(column), pa.scalar(None, column.type), column)
    try:
        return _to_numpy(column.cast(pa.float64())), none
    except pa.ArrowInvalid:
        return _parse_each(column)


def has_codes(column):
    """Whether texts such as "007" occur, which read as numbers but are codes."""
    column = plain(column).cast(pa.large_string())
    return bool(pc.any(pc.match_substring_regex(column, r"^\s*0[0-9]+\s*$")).as_py())


def text(column):
    """Values of a column as text, missing ones as the empty string.

    Typed values are written so that the same data give the same categories in every
    format: truth values as pandas writes them (however they are capitalised), whole
    numbers without a decimal point.
    """
    column = plain(column)
    if pt.is_null(column.type):
        return np.full(len(column), "", dtype=object)
    if pt.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    elif is_number(column.type) and not pt.is_integer(column.type):
        values = _to_numpy(column.cast(pa.float64(), safe=False))
        return np.array([number_text(value) for value in values], dtype=object)
    column = pc.fill_null(column.cast(pa.large_string()), "")
    for value in ("True", "False"):
        same = pc.is_in(column, value_set=pa.array([value.lower(), value.upper()], column.type))
        column = pc.if_else(same, value, column)
    return column.to_numpy(zero_copy_only=False)


def number_text(value):
    """Write a number as people do, a missing one as the empty string."""
    value = float(value)
    if np.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() else repr(value)


def blank(values):
    """Which texts stand for a missing value."""
    return np.array([value.strip() in _MISSING_SET for value in values], dtype=bool)


_MISSING_SET = frozenset(MISSING)


def _is_missing_token(column):
    return pc.is_in(column, value_set=pa.array(MISSING, column.type))


def _to_numpy(column):
    values = column.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype=np.float64)


def _parse_each(column):
    """Slow path, taken only where some cell is no number."""
    values = np.full(len(column), np.nan)
    bad = []
    for position, cell in enumerate(column.to_pylist()):
        if cell is None:
            continue
        try:
            # Python reads 1_000, which no other program would.
            values[position] = float(cell if "_" not in cell else "no")
        except ValueError:
            bad.append(position)
    return values, np.array(bad, dtype=np.intp)
