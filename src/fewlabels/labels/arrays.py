"""What every reader of labels begins with."""

import sys
from datetime import date, time, timedelta
from numbers import Number

import numpy as np
from sklearn.utils.validation import column_or_1d

_SCALARS = (str, bytes, Number, np.generic, date, time, timedelta)
_NO_LABEL = "y contains lists or objects; pass one number, text or truth value per row."


def with_missing(y):
    """``y`` as a one-dimensional array, and which of its values are missing.

    Nullable columns keep their missing values apart.
    """
    try:
        y = np.asarray(y, dtype=object if _is_nullable(y) else None)
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
    return y, is_missing(y)


def is_missing(values):
    """Which of ``values``, an array, are None, NaN, NaT or pandas.NA.

    Returns
    -------
    ndarray of bool
        Of the shape of ``values``.
    """
    pandas = _pandas()
    if pandas is not None:
        return np.asarray(pandas.isna(values), dtype=bool)
    values = np.asarray(values)
    if values.dtype.kind in "fcmM":
        return np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values)
    found = np.zeros(values.shape, dtype=bool)
    if values.dtype == object:
        # NaN and NaT are the values that differ from themselves.
        found.flat = [value is None or value != value for value in values.flat]
    return found


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


def read_known(y, n, codes, expected):
    """Numbers that represent the labels of ``n`` rows, 0 where there is none.

    ``codes`` are pairs of a label and its number, ``expected`` says in words which there are.
    """
    code = np.zeros(n)
    if y is None:
        return code
    y, missing = with_missing(y)
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
        for value, missing in zip(values.tolist(), is_missing(values), strict=True)
    }
