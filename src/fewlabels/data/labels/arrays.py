"""What every reader of labels begins with."""

import sys
from datetime import date, time, timedelta
from numbers import Number

import numpy as np
from sklearn.utils.validation import column_or_1d

from .blanks import NAN_TEXT, is_blank

_SCALARS = (str, bytes, Number, np.generic, date, time, timedelta)
_NO_LABEL = "y contains lists or objects; pass one number, text or truth value per row."


def with_missing(y, mark=None):
    """``y`` as a one-dimensional array, and which of its values are no label.

    Nullable columns and masked arrays keep their missing values apart. ``mark`` is the value that
    the user has chosen for unlabelled rows.
    """
    try:
        y = _as_array(y)
    except ValueError:  # rows of different lengths
        raise ValueError(_NO_LABEL) from None
    y = column_or_1d(y, warn=True)
    if y.dtype == object and not all(map(_is_scalar, y)):
        raise ValueError(_NO_LABEL)
    numbers = y if y.dtype.kind == "f" else [v for v in y if isinstance(v, float)]
    if np.isinf(numbers).any():
        raise ValueError(
            "y contains infinity, which isn't a class; pass NaN for rows without a label."
        )
    is_marked = isinstance(mark, str) and mark == NAN_TEXT
    if y.dtype.kind == "U" and not is_marked and np.any(y == NAN_TEXT):
        raise ValueError(
            f"y holds the text {NAN_TEXT!r}, which NumPy makes of a missing value in an array of "
            "texts; pass a list or an object array with None for rows without a label, or rename "
            "the class."
        )
    return y, is_blank(y)


def _as_array(y):
    """Values as an array that holds what was given: no text made of NaN, nothing unmasked."""
    if isinstance(y, np.ma.MaskedArray):
        values, mask = y.data, np.ma.getmaskarray(y)
        if not mask.any():
            return values
        values = values.copy() if values.dtype.kind == "f" else values.astype(object)
        values[mask] = np.nan if values.dtype.kind == "f" else None
        return values
    if _is_nullable(y):
        return np.asarray(y, dtype=object)
    if isinstance(y, list | tuple) and any(value is np.ma.masked for value in y):
        y = [None if value is np.ma.masked else value for value in y]
    values = np.asarray(y)
    if values.dtype.kind in "US" and isinstance(y, list | tuple):
        given = np.asarray(y, dtype=object)
        if not all(isinstance(value, str | bytes) for value in given.flat):
            return given
    # Texts of any length are Python's own, however NumPy stores them.
    return values.astype(object) if values.dtype.kind == "T" else values


def kinds_of(values):
    """The distinct ``values`` of a one-dimensional array, in no particular order."""
    if values.dtype != object:
        return np.unique(values)
    kinds = list(dict.fromkeys(values.tolist()))
    found = np.empty(len(kinds), dtype=object)
    found[:] = kinds
    return found


def _pandas():
    """The module pandas if the program has imported it: otherwise nothing is one of its values."""
    return sys.modules.get("pandas")


def _is_nullable(y):
    pandas = _pandas()
    dtype = getattr(y, "dtype", None)
    return pandas is not None and isinstance(dtype, pandas.api.extensions.ExtensionDtype)


def _is_scalar(value):
    if value is None or isinstance(value, _SCALARS):
        return True
    pandas = _pandas()
    return pandas is not None and bool(pandas.api.types.is_scalar(value))


def distinct_values(y):
    """Sorted distinct labels, and the first of them as text."""
    try:
        values = np.unique(y)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"the labels in y are of several types ({types}), which can't be compared; make them "
            "all numbers or all texts."
        ) from None
    return values, ", ".join(str(v) for v in values[:5]) + (", ..." if len(values) > 5 else "")


def read_known(y, n, codes, expected, mark=None):
    """Numbers that represent the labels of ``n`` rows, 0 where there is none.

    ``codes`` are pairs of a label and its number, ``expected`` says in words which there are.
    """
    code = np.zeros(n)
    if y is None:
        return code
    y, missing = with_missing(y, mark)
    if len(y) != n:
        raise ValueError(f"y has {len(y)} labels for {n} rows; give one for each, or None.")
    for i in np.flatnonzero(~missing):
        found = [number for label, number in codes if y[i] == label]
        if not found:
            raise ValueError(
                f"y holds {y[i]!r}, neither {expected}; pass one of these, or a missing value."
            )
        code[i] = found[0]
    return code


def check_classes(given, classes):
    """Refuse classes that the first rows don't have; None says nothing."""
    if given is not None and _plain(given) != _plain(classes):
        raise ValueError(
            f"classes={list(given)} differ from the classes of the first rows, "
            f"{classes.tolist()}; omit classes, or fit again."
        )


def _plain(classes):
    """A set in which missing values are equal."""
    values = np.ravel(classes)
    return {
        None if missing else value
        for value, missing in zip(values.tolist(), is_blank(values), strict=True)
    }
