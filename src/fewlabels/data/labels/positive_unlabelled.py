"""Labels of positive-unlabelled data: which rows are positive, which carry no label."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..._typing import AnyArray, BoolArray, VectorLike
from .arrays import distinct_values, encode_labels, find_distinct, split_missing

# What rows without a label are marked with, besides words for no.
_MARKS = {"", "?", "-", "n", "neg", "none", "u", "unknown", "unlabeled", "unlabelled"}


def split_labels(y: VectorLike, pos_label: object = None) -> tuple[BoolArray, AnyArray]:
    """Return which rows are labelled positive; all others are unlabelled.

    ``y`` has two values, or one value and missing ones (NaN, None, ``pandas.NA``, ""). Of two
    values the greater one (1 of {0, 1} and of {-1, 1}, True) is the positive class and the
    other marks unlabelled rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    pos_label : value of ``y`` or None, default=None
        The positive class, where it is not the greater value.

    Returns
    -------
    positive : ndarray of bool of shape (n,)
        True for rows labelled positive.
    classes : ndarray of shape (2,)
        The mark of unlabelled rows, then the positive label, in the coding of ``y``. A
        missing mark is "" where it was, NaN for numbers and None otherwise.

    Raises
    ------
    ValueError
        ``y`` has three values or more (missing counts as one), no positive row, or no
        unlabelled row; or a mark like 0 next to missing values, which can mean either.

    Examples
    --------
    >>> from fewlabels.class_prior import split_labels
    >>> positive, classes = split_labels([1, float("nan"), 1, float("nan")])
    >>> positive
    array([ True, False,  True, False])
    >>> classes
    array([nan,  1.])
    >>> split_labels(["spam", "?", "?"], pos_label="spam")[1].tolist()
    ['?', 'spam']
    """
    y, missing = split_missing(y)
    values, shown = distinct_values(y[~missing])
    n_kinds = len(values) + bool(missing.any())
    if n_kinds == 0:
        raise ValueError("y is empty; pass one label per row of X.")
    if len(values) == 0:
        raise ValueError("y has no positive row: every label is missing; mark some rows with 1.")
    if n_kinds > 2:
        raise ValueError(
            f"y has {n_kinds} different values ({shown}{' and missing' * bool(missing.any())}); "
            "positive-unlabelled data have two: one for the positive rows and one (or a missing "
            "value) for the unlabelled rows. Drop known negatives or mark them as unlabelled."
        )
    label = values[-1] if pos_label is None else pos_label
    if not np.any(values == label):
        raise ValueError(
            f"y has no positive row: pos_label={label!r} does not occur in it (values: {shown})."
        )
    if n_kinds == 1:
        what = "positive" if pos_label is not None or _looks_positive(label) else "alike"
        raise ValueError(
            f"y has only one class, no unlabelled row: all rows are {what} ({shown}); give the "
            "rows of unknown class another value, such as 0 or NaN."
        )
    if missing.any() and pos_label is None and not _looks_positive(label):
        raise ValueError(
            f"y has the value {shown} and missing values, and {shown} usually marks negatives; "
            f"pass pos_label={label!r} if it marks the positive rows."
        )
    positive = np.zeros(len(y), dtype=bool)
    positive[~missing] = y[~missing] == label
    return positive, _make_classes(y.dtype, values, label, y[missing])


def read_labels(y: VectorLike, pos_label: object) -> tuple[BoolArray, AnyArray]:
    """Split labels like ``split_labels``, but name other targets as scikit-learn does."""
    given, missing = split_missing(y)
    known = given[~missing]
    values = find_distinct(known)
    # Two values say as much as a million copies of them; looking through those takes a second.
    check_classification_targets(np.array((values if len(values) <= 2 else known).tolist()))
    try:
        return split_labels(given, pos_label)
    except ValueError as error:
        if len(values) + bool(missing.any()) > 2:
            message = f"Only binary classification is supported. {error}"
            raise ValueError(message) from None
        raise


def read_more_labels(y: VectorLike | None, n: int, classes: AnyArray) -> BoolArray:
    """Return which of ``n`` new rows are labelled positive; ``y`` is None if none is labelled."""
    mark, label = classes
    expected = f"the positive class {label} nor the mark of unlabelled rows, {mark}"
    return encode_labels(y, n, [(label, 1.0), (mark, 0.0)], expected) > 0


def are_ambiguous(classes: AnyArray) -> bool:
    """Return whether only the alphabet decides which of two texts is the positive class."""
    mark = classes[0]
    return isinstance(mark, str) and _looks_positive(mark) and mark.strip().lower() not in _MARKS


def _looks_positive(label: Any) -> bool:
    """Return whether a label alone among missing values can be taken for the positive class."""
    if isinstance(label, (str, np.str_)):
        return str(label).strip().lower() not in ("0", "-1", "false", "no", "negative")
    return bool(label > 0)


def _make_classes(
    dtype: np.dtype[Any], values: AnyArray, label: object, blanks: AnyArray
) -> AnyArray:
    others = [v for v in values if v != label]
    if not others and isinstance(label, str) and all(isinstance(b, str) for b in blanks):
        others = list(blanks[:1])
    if others:
        return np.array([others[0], label], dtype=dtype if dtype.kind != "O" else None)
    mark = np.nan if isinstance(label, (int, float, np.number, np.bool_)) else None
    return np.array([mark, label], dtype=None if mark is not None else object)
