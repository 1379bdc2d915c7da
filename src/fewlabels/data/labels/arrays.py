"""What every reader of labels begins with."""

import sys
from collections.abc import Iterable
from datetime import date, time, timedelta
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..._typing import AnyArray, BoolArray, ClassesLike, FloatArray, VectorLike
from ..._util.messages import plural
from .blanks import NAN_TEXT, is_blank

_SCALARS = (str, bytes, Number, np.generic, date, time, timedelta)
_NO_LABEL = "y contains lists or objects; pass one number, text or truth value per row."


def split_missing(y: VectorLike, mark: object = None) -> tuple[AnyArray, BoolArray]:
    """Return ``y`` as a one-dimensional array, and which of its values are no label.

    Nullable columns and masked arrays keep their missing values apart. ``mark`` is the value that
    the user has chosen for unlabelled rows.
    """
    try:
        values = _as_array(y)
    except ValueError:  # rows of different lengths
        raise ValueError(_NO_LABEL) from None
    if values.dtype.kind == "c":
        raise ValueError("y holds complex numbers; pass one number, text or truth value per row.")
    values = column_or_1d(values, warn=True)
    if values.dtype == object and not all(map(_is_scalar, values)):
        raise ValueError(_NO_LABEL)
    numbers = values if values.dtype.kind == "f" else [v for v in values if isinstance(v, float)]
    if np.isinf(numbers).any():
        raise ValueError(
            "y contains infinity, which isn't a class; pass NaN for rows without a label."
        )
    is_marked = isinstance(mark, str) and mark == NAN_TEXT
    if values.dtype.kind == "U" and not is_marked and np.any(values == NAN_TEXT):
        raise ValueError(
            f"y holds the text {NAN_TEXT!r}, which NumPy makes of a missing value in an array of "
            "texts; pass a list or an object array with None for rows without a label, or rename "
            "the class."
        )
    return values, is_blank(values)


def _as_array(y: VectorLike) -> AnyArray:
    """Return values as an array that holds what was given: no NaN as text, nothing unmasked."""
    if isinstance(y, np.ma.MaskedArray):
        values, mask = y.data, np.ma.getmaskarray(y)
        if not mask.any():
            return values
        values = values.copy() if values.dtype.kind == "f" else values.astype(object)
        values[mask] = np.nan if values.dtype.kind == "f" else None
        return values
    if _is_nullable(y):
        return np.asarray(y, dtype=object)
    rows: Any = y
    if isinstance(y, list | tuple) and any(value is np.ma.masked for value in y):
        rows = [None if value is np.ma.masked else value for value in y]
    values = np.asarray(rows)
    if values.dtype.kind in "US" and isinstance(rows, list | tuple):
        given = np.asarray(rows, dtype=object)
        if not all(isinstance(value, str | bytes) for value in given.flat):
            return given
    # Texts of any length are Python's own, however NumPy stores them.
    return values.astype(object) if values.dtype.kind == "T" else values


def find_distinct(values: AnyArray) -> AnyArray:
    """Return the distinct ``values`` of a one-dimensional array, in no particular order."""
    if values.dtype != object:
        return np.unique(values)
    kinds = list(dict.fromkeys(values.tolist()))
    found = np.empty(len(kinds), dtype=object)
    found[:] = kinds
    return found


def _imported_pandas() -> ModuleType | None:
    """Return pandas if the program has imported it; otherwise no value comes from it."""
    return sys.modules.get("pandas")


def _is_nullable(y: object) -> bool:
    pandas = _imported_pandas()
    dtype = getattr(y, "dtype", None)
    return pandas is not None and isinstance(dtype, pandas.api.extensions.ExtensionDtype)


def _is_scalar(value: object) -> bool:
    if value is None or isinstance(value, _SCALARS):
        return True
    pandas = _imported_pandas()
    return pandas is not None and bool(pandas.api.types.is_scalar(value))


def distinct_values(y: AnyArray) -> tuple[AnyArray, str]:
    """Return the sorted distinct labels, and the first of them as text."""
    try:
        values = np.unique(y)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"the labels in y are of several types ({types}), which can't be compared; make them "
            "all numbers or all texts."
        ) from None
    return values, ", ".join(str(v) for v in values[:5]) + (", ..." if len(values) > 5 else "")


def encode_labels(
    y: VectorLike | None,
    n: int,
    codes: Iterable[tuple[Any, float]],
    expected: str,
    mark: object = None,
    classes: AnyArray | None = None,
) -> FloatArray:
    """Return numbers that represent the labels of ``n`` rows, 0 where there is none.

    ``codes`` are pairs of a label and its number, ``expected`` says in words which there are.
    Another value can join the ``classes``, if these are given.
    """
    code = np.zeros(n)
    if y is None:
        return code
    y, missing = split_missing(y, mark)
    if len(y) != n:
        raise ValueError(
            f"y has {len(y)} labels for {plural(n, 'row')}; give one for each, or None."
        )
    for i in np.flatnonzero(~missing):
        found = [number for label, number in codes if y[i] == label]
        if not found:
            value = y[i].item() if isinstance(y[i], np.generic) else y[i]
            joined = "" if classes is None else f"classes={[*classes.tolist(), value]!r}"
            raise ValueError(
                f"y holds {value!r}, neither {expected}; pass one of these, or a missing value"
                f"{joined and f', or {joined} to add a class'}."
            )
        code[i] = found[0]
    return code


def check_classes(given: ClassesLike | None, classes: AnyArray) -> None:
    """Refuse classes that the first rows don't have; None says nothing."""
    if given is not None and _comparable_values(given) != _comparable_values(classes):
        raise ValueError(
            f"classes={list(given)} differ from the classes of the first rows, "
            f"{classes.tolist()}; omit classes, or fit again."
        )


def _comparable_values(classes: ClassesLike) -> set[object]:
    """Return a set in which missing values are equal."""
    values = np.ravel(classes)
    return {
        None if missing else value
        for value, missing in zip(values.tolist(), is_blank(values), strict=True)
    }
