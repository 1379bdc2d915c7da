"""Labels of two or more classes with unlabelled rows.

Of two classes they are -1 and +1, of more 1, 2, ... in the order of the classes; 0 for none.
"""

from collections.abc import Mapping
from numbers import Number, Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..._typing import AnyArray, BoolArray, ClassesLike, FloatArray, IntArray, VectorLike
from ..._util.messages import CLASS_SHARES, Message, ref
from .arrays import distinct_values, encode_labels, split_missing
from .blanks import is_no_label

# Shares of the classes may miss the sum of 1 by so much.
_OFF_ONE = 1e-6
# The mark of unlabelled rows, unless the user chooses another.
UNLABELED = -1


def read_semi_labels(y: VectorLike, unlabeled: object) -> tuple[FloatArray, AnyArray, bool]:
    """Return labels as numbers, the classes, and whether a mark was taken for a class.

    Missing values are always unlabelled; so is the mark ``unlabeled``, unless it is one of
    only two values without missing ones, which then are the classes.
    """
    y, missing, marked = _read_with_marks(y, unlabeled)
    check_classification_targets(np.array(y[~missing].tolist()))
    classes, shown = distinct_values(y[~missing & ~marked])
    if len(classes) == 1 and marked.any() and not missing.any():
        # Two values only: both are classes.
        values = distinct_values(y)[0]
        return _encode(y, values, missing), values, True
    if len(classes) == 0:
        raise ValueError(
            "y has no labels: every row is unlabelled; label at least one row of each class."
        )
    if len(classes) == 1:
        raise ValueError(
            f"y has one class only ({shown}); label rows of both classes, or use PUSVM for "
            "positive and unlabelled rows."
        )
    return _encode(y, classes, missing | marked), classes, False


def is_labelled(y: VectorLike, unlabeled: object) -> BoolArray:
    """Return which rows have a label: neither a missing value nor the mark ``unlabeled``."""
    _, missing, marked = _read_with_marks(y, unlabeled)
    return ~missing & ~marked


def _read_with_marks(y: VectorLike, unlabeled: object) -> tuple[AnyArray, BoolArray, BoolArray]:
    """Return ``y`` as an array, which of its values are missing, and which are the mark.

    The mark that nobody has chosen counts only where no value is missing: next to missing ones
    it may as well be a class, whose rows would be lost.
    """
    y, missing = split_missing(y, unlabeled)
    marked = np.zeros(len(y), dtype=bool)
    if _is_mark(unlabeled):
        marked[~missing] = y[~missing] == unlabeled
    _refuse_mark_and_missing(missing, marked, unlabeled)
    return y, missing, marked


def _refuse_mark_and_missing(missing: BoolArray, marked: BoolArray, unlabeled: object) -> None:
    """Refuse the usual mark next to missing values."""
    if marked.any() and missing.any() and _is_default_mark(unlabeled):
        raise ValueError(
            f"y has missing values and {unlabeled!r}: is {unlabeled!r} a class or the mark of "
            "unlabelled rows? Pass unlabeled=None if it is a class, or missing values only for "
            "rows without a label."
        )


def _is_default_mark(unlabeled: object) -> bool:
    is_number = isinstance(unlabeled, Number) and not isinstance(unlabeled, bool)
    return is_number and unlabeled == UNLABELED


def read_known_labels(
    y: VectorLike | None, n: int, classes: AnyArray, unlabeled: object
) -> FloatArray:
    """Return labels of ``n`` rows as numbers, of classes that are known.

    A mark that is one of the classes is that class.
    """
    if y is not None and np.ndim(y) == 0:
        y = np.full(n, y, dtype=None if isinstance(y, str | int | float) else object)
    codes = list(zip(classes, _class_codes(len(classes)), strict=True))
    if len(classes) == 2:
        codes = codes[::-1]
    if _is_mark(unlabeled):
        if y is not None and not any(value == unlabeled for value in classes):
            _read_with_marks(y, unlabeled)
        codes.append((unlabeled, 0.0))
    named = ", ".join(str(value) for value in classes)
    expected = f"a class ({named}) nor the mark of unlabelled rows"
    return encode_labels(y, n, codes, expected, unlabeled, classes)


def read_classes(classes: ClassesLike, unlabeled: object) -> AnyArray:
    """Return two or more classes, sorted, without the mark of unlabelled rows."""
    values = np.unique(np.asarray(classes))
    if len(values) > 2 and _is_mark(unlabeled):
        values = values[values != unlabeled]
    if len(values) < 2:
        raise ValueError(
            f"classes={list(classes)} names {len(values)} classes; S3VM needs two or more."
        )
    return values


def one_vs_rest_labels(label: FloatArray, n_classes: int) -> list[FloatArray]:
    """Return labels +1, -1 and 0 of every model: one for two classes, else one-vs-rest."""
    if n_classes == 2:
        return [label]
    return [
        np.where(label == 0, 0.0, np.where(label == number, 1.0, -1.0))
        for number in _class_codes(n_classes)
    ]


def class_indices(label: FloatArray, n_classes: int) -> IntArray:
    """Return the index of each row's class, -1 for none."""
    if n_classes == 2:
        return np.where(label == 0, -1, label > 0).astype(np.intp)
    return np.asarray(label).astype(np.intp) - 1


def read_ratio(ratio: float | VectorLike | Mapping[Any, float], classes: AnyArray) -> FloatArray:
    """Read the share of every class: the second class's share, a dict, or a number each."""
    if isinstance(ratio, Mapping):
        return read_shares(ratio, classes, "class_ratio")
    if isinstance(ratio, Real):
        if len(classes) > 2:
            raise ValueError(
                Message(
                    f"{ref('class_ratio', some=repr(ratio))} is a single share, for two classes, "
                    f"but there are {len(classes)}; pass a share for each class, such as "
                    f"{ref('class_ratio', some=CLASS_SHARES)}."
                )
            )
        ratio = [1.0 - float(ratio), float(ratio)]
    shares = np.asarray(ratio)
    if shares.shape != (len(classes),):
        raise ValueError(
            Message(
                f"{ref('class_ratio', some=repr(ratio))} needs a share for each of the classes "
                f"{', '.join(str(value) for value in classes)}."
            )
        )
    return read_shares(
        dict(zip(classes.tolist(), shares.tolist(), strict=True)), classes, "class_ratio"
    )


def read_shares(
    shares: Mapping[Any, float], classes: AnyArray, name: str = "balance"
) -> FloatArray:
    """Read the share of every class from a dict, the value of the parameter ``name``."""
    named = {key: shares[key] for key in shares}
    missing = [str(value) for value in classes if value not in named]
    if missing or len(named) != len(classes):
        raise ValueError(
            f"{name}={shares} has to name the share of every class "
            f"({', '.join(str(value) for value in classes)}), and of no other"
            f"{'; it lacks ' + ', '.join(missing) if missing else ''}."
        )
    values = [named[value] for value in classes]
    fine = all(isinstance(v, Real) and not isinstance(v, bool) and 0 < v < 1 for v in values)
    if not fine or abs(sum(values) - 1.0) > _OFF_ONE:
        raise ValueError(
            f"{name}={shares} is no set of shares; pass numbers between 0 and 1 that sum to 1."
        )
    return np.array(values, dtype=float)


def shares_by_code(
    shares: Mapping[Any, float], classes: AnyArray, numbers: FloatArray
) -> dict[float, float]:
    """Return shares by the ``numbers`` of the classes, given shares by class."""
    return dict(zip(numbers.tolist(), read_shares(shares, classes).tolist(), strict=True))


def _is_mark(unlabeled: object) -> bool:
    """Return whether there is a mark besides what is no label anyway."""
    return not is_no_label(unlabeled)


def _class_codes(n_classes: int) -> tuple[float, ...]:
    return (-1.0, 1.0) if n_classes == 2 else tuple(np.arange(1.0, n_classes + 1))


def _encode(y: AnyArray, classes: AnyArray, is_unlabelled: BoolArray) -> FloatArray:
    label = np.zeros(len(y))
    numbers = np.array(_class_codes(len(classes)))
    label[~is_unlabelled] = numbers[np.searchsorted(classes, y[~is_unlabelled])]
    return label
