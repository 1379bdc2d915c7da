"""What callers of a stream pass, checked: labels, classes, indices of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d

from ._s3vm_data import _as_array, _is_mark


def stream_parameters(machine):
    """Parameters that a stream cannot change on its way."""
    names = ("C", "C_star", "balance", "balance_update", "kernel", "degree", "coef0")
    return {name: getattr(machine, name) for name in names}


def read_known_labels(y, n, classes, unlabeled):
    """Labels as +1, -1 and 0 for unlabelled rows, of two classes that are known.

    A mark that is one of the classes is that class.
    """
    if y is None:
        return np.zeros(n)
    if np.ndim(y) == 0:
        y = np.full(n, y, dtype=None if isinstance(y, str | int | float) else object)
    y = column_or_1d(_as_array(y), warn=True)
    if len(y) != n:
        raise ValueError(f"y has {len(y)} labels for {n} rows; give one for each, or None.")
    missing = np.asarray(pd.isna(y), dtype=bool)
    label = np.zeros(n)
    for i in np.flatnonzero(~missing):
        value = y[i]
        if value == classes[1]:
            label[i] = 1.0
        elif value == classes[0]:
            label[i] = -1.0
        elif not (_is_mark(unlabeled) and value == unlabeled):
            raise ValueError(
                f"y holds {value!r}, neither a class ({classes[0]}, {classes[1]}) nor the mark of "
                "unlabelled rows; pass one of these, or a missing value."
            )
    return label


def read_classes(classes, unlabeled):
    """Two classes, sorted; the mark of unlabelled rows may be among them as a third value."""
    values = np.unique(np.asarray(classes))
    if len(values) == 3 and _is_mark(unlabeled):
        values = values[values != unlabeled]
    if len(values) != 2:
        raise ValueError(
            f"classes={list(classes)} names {len(values)} classes; S3VM tells two apart."
        )
    return values
