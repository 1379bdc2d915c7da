"""Labelled and unlabelled rows of a semi-supervised problem."""

from __future__ import annotations

from functools import cached_property
from numbers import Number

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..gram import BorderedGram


class S3VMData:
    """Rows of a semi-supervised problem.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d); (n, n) for a precomputed kernel
        Rows.
    label : ndarray of shape (n,)
        +1, -1, or 0 for unlabelled rows.
    weight : ndarray of shape (n,) or None
        Weights, > 0.
    make : callable
        From rows to the GramOperator.
    balance : bool or float
        Mean of f over the unlabelled rows: that of the labels (True), a number, or free
        (False).
    """

    def __init__(self, X, label, weight, make, balance):
        self.X = X
        self.label = label
        self.weight = np.ones(len(label)) if weight is None else weight
        self.unlabeled = np.flatnonzero(label == 0)
        self.labeled = np.flatnonzero(label)
        self._make = make
        self.target = self._target(balance)

    def _target(self, balance):
        balance = plain_balance(balance)
        if balance is False or len(self.unlabeled) == 0:
            return None
        if balance is True:
            weight = self.weight[self.labeled]
            return float(weight @ self.label[self.labeled] / weight.sum())
        return float(balance)

    @cached_property
    def share(self):
        """Weights of the unlabelled rows, as shares."""
        weight = self.weight[self.unlabeled]
        return weight / weight.sum()

    @cached_property
    def gram(self):
        """K over all rows; with a balancing constraint bordered by the unlabelled rows' mean."""
        gram = self._make(self.X)
        if self.target is None:
            return gram
        return BorderedGram.mean_of(gram, self.unlabeled, self.weight[self.unlabeled])

    def coefficients(self, a):
        """Coefficients of the rows: the virtual row's are spread over those it is the mean of."""
        coef = a[: len(self.label)].copy()
        if self.target is not None:
            coef[self.unlabeled] += a[-1] * self.share
        return coef


def plain_balance(balance):
    """``balance`` with the truth values of numpy, as grids of parameters hold them, as bool."""
    return bool(balance) if isinstance(balance, np.bool_) else balance


def read_semi_labels(y, unlabeled):
    """Labels as +1, -1 and 0 for unlabelled rows, and the two classes.

    Missing values are always unlabelled; so is the mark ``unlabeled``, unless it is one of
    only two values without missing ones, which then are the classes.
    """
    y = column_or_1d(_as_array(y), warn=True)
    missing = np.asarray(pd.isna(y), dtype=bool)
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


def _sorted_values(labels):
    try:
        return np.unique(labels)
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"the labels in y are of several types ({types}), which have no order; make all of "
            "them numbers, or all texts."
        ) from None


def _as_array(y):
    if isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype):
        return np.asarray(y, dtype=object)
    return np.asarray(y)


def _is_mark(unlabeled):
    return unlabeled is not None and not (isinstance(unlabeled, Number) and np.isnan(unlabeled))


def _coded(y, classes, without):
    label = np.zeros(len(y))
    label[~without] = np.where(y[~without] == classes[1], 1.0, -1.0)
    return label
