"""What ``score`` of an estimator returns, where some rows carry no label."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from .._typing import AnyArray, VectorLike
from .._util.warn import warn
from ..data.labels.semi_supervised import is_labelled
from ._sample import is_label


def labelled_accuracy(
    y: VectorLike,
    prediction: VectorLike,
    unlabeled: object,
    classes: AnyArray,
    sample_weight: VectorLike | None = None,
) -> float:
    """Return the accuracy on the labelled rows of ``y``; NaN and a warning if there is none.

    Missing values mark unlabelled rows, and so does ``unlabeled``, unless it is one of the
    ``classes``.
    """
    labelled = is_labelled(y, None if unlabeled in list(classes) else unlabeled)
    if not labelled.any():
        return _undefined("no row of y has a label, so there is no accuracy")
    right = np.asarray(prediction)[labelled] == np.asarray(y, dtype=object)[labelled]
    weight = None if sample_weight is None else np.asarray(sample_weight)[labelled]
    return float(np.average(right.astype(float), weights=weight))


def positives_auc(
    y: VectorLike, decision: VectorLike, pos_label: object, sample_weight: VectorLike | None = None
) -> float:
    """Return the ROC AUC of positive rows against all others; NaN and a warning without."""
    positive = is_label(y, pos_label)
    if positive.all() or not positive.any():
        which = "unlabelled" if positive.all() else "positive"
        return _undefined(f"y has no {which} row, so there is no ROC AUC")
    return float(roc_auc_score(positive, np.asarray(decision), sample_weight=sample_weight))


def _undefined(why: str) -> float:
    warn(
        f"{why}; pass rows of every kind. LabeledKFold and PUKFold in fewlabels.model_selection "
        "make such splits.",
        UndefinedMetricWarning,
    )
    return float("nan")
