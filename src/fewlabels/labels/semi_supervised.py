"""Labels of two classes with unlabelled rows: +1, -1, and 0 for none."""

from numbers import Number

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .arrays import distinct_values, read_known, with_missing


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
    classes, shown = distinct_values(y[~missing & ~marked])
    if marked.any() and missing.any() and len(classes) == 1:
        raise ValueError(
            f"y has one class ({shown}) besides missing values and the mark {unlabeled!r}: is "
            f"{unlabeled!r} a class or the mark of unlabelled rows? Pass unlabeled=None if it is "
            "a class."
        )
    if len(classes) == 1 and marked.any() and not missing.any():
        # Two values only: both are classes.
        values = distinct_values(y)[0]
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
    if y is not None and np.ndim(y) == 0:
        y = np.full(n, y, dtype=None if isinstance(y, str | int | float) else object)
    codes = [(classes[1], 1.0), (classes[0], -1.0)]
    if _is_mark(unlabeled):
        codes.append((unlabeled, 0.0))
    expected = f"a class ({classes[0]}, {classes[1]}) nor the mark of unlabelled rows"
    return read_known(y, n, codes, expected)


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


def _is_mark(unlabeled):
    return unlabeled is not None and not (isinstance(unlabeled, Number) and np.isnan(unlabeled))


def _coded(y, classes, without):
    label = np.zeros(len(y))
    label[~without] = np.where(y[~without] == classes[1], 1.0, -1.0)
    return label
