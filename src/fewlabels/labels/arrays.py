"""What every reader of labels begins with."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d

_NO_LABEL = "y holds lists or objects; pass one number, text or truth value per row."


def with_missing(y):
    """``y`` as a one-dimensional array, and which of its values are missing.

    Nullable columns keep their missing values apart.
    """
    extension = isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype)
    try:
        y = np.asarray(y, dtype=object if extension else None)
    except ValueError:  # rows of different lengths
        raise ValueError(_NO_LABEL) from None
    y = column_or_1d(y, warn=True)
    if y.dtype == object and not all(map(pd.api.types.is_scalar, y)):
        raise ValueError(_NO_LABEL)
    numbers = y if y.dtype.kind == "f" else [v for v in y if isinstance(v, float)]
    if np.isinf(numbers).any():
        raise ValueError("y holds infinity, which is no class; pass NaN for rows without a label.")
    return y, np.asarray(pd.isna(y), dtype=bool)


def distinct_values(y):
    """Sorted distinct labels, and the first of them as text."""
    try:
        values = np.unique(y)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"the labels in y are of several types ({types}), which cannot be compared; make all "
            "of them numbers, or all texts."
        ) from None
    return values, ", ".join(str(v) for v in values[:5]) + (", ..." if len(values) > 5 else "")


def read_known(y, n, codes, expected):
    """Numbers that stand for the labels of ``n`` rows, 0 where there is none.

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
    """Refuse classes that are not those of the first rows; None says nothing."""
    if given is not None and _plain(given) != _plain(classes):
        raise ValueError(
            f"classes={list(given)} are not those of the first rows, "
            f"{classes.tolist()}; leave classes away, or fit again."
        )


def _plain(classes):
    """A set in which missing values are equal."""
    return {None if pd.isna(value) else value for value in np.ravel(classes).tolist()}
