"""Labels of two classes with unlabelled rows: +1, -1, and 0 for none."""

from __future__ import annotations

from numbers import Number

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .arrays import with_missing


def read_semi_labels(y, unlabeled):
    """Labels as +1, -1 and 0 for unlabelled rows, and the two classes.

    Missing values are always unlabelled; so is the mark ``unlabeled``, unless it is one of
    only two values without missing ones, which then are the classes.
    """
    y, missing = with_missing(y)
    check_classification_targets(np.array(y[~missing].tolist()))
    marked = np.zeros(len(y), dtype=bool)
    if _is_mark(unlabeled):
        marked[~missing] = y[~missing] == unlabeled
    classes = _sorted_values(y[~missing & ~marked])
    shown = ", ".join(str(v) for v in classes[:5]) + (", ..." if len(classes) > 5 else "")
    if marked.any() and missing.any() and len(classes) == 1:
        raise ValueError(
            f"y has one class ({shown}) besides missing values and the mark {unlabeled!r}: is "
            f"{unlabeled!r} a class or the mark of unlabelled rows? Pass unlabeled=None if it is "
            "a class."
        )
    if len(classes) == 1 and marked.any() and not missing.any():
        # Two values only: both are classes.
        values = _sorted_values(y)
        return _coded(y, values, missing), values, True
    if len(classes) == 0:
        raise ValueError(
            "y has no labels: every row is unlabelled; label at least one row of each class."
        )
    if len(classes) == 1:
        raise ValueError(
            f"y has one class only ({shown}); label rows of both classes, or use PUSVM for "
            "positive and unlabelled rows."
        )
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y "
            f"has {len(classes)} classes besides unlabelled rows ({shown}); pass unlabeled=... if "
            "one of them marks the unlabelled rows."
        )
    return _coded(y, classes, missing | marked), classes, False


def read_known_labels(y, n, classes, unlabeled):
    """Labels as +1, -1 and 0 for unlabelled rows, of two classes that are known.

    A mark that is one of the classes is that class.
    """
    if y is None:
        return np.zeros(n)
    if np.ndim(y) == 0:
        y = np.full(n, y, dtype=None if isinstance(y, str | int | float) else object)
    y, missing = with_missing(y)
    if len(y) != n:
        raise ValueError(f"y has {len(y)} labels for {n} rows; give one for each, or None.")
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


def _sorted_values(labels):
    try:
        return np.unique(labels)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"the labels in y are of several types ({types}), which have no order; make all of "
            "them numbers, or all texts."
        ) from None


def _is_mark(unlabeled):
    return unlabeled is not None and not (isinstance(unlabeled, Number) and np.isnan(unlabeled))


def _coded(y, classes, without):
    label = np.zeros(len(y))
    label[~without] = np.where(y[~without] == classes[1], 1.0, -1.0)
    return label
