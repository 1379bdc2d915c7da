"""How many labelled positives a model marks if their labels are hidden from it."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from .._deadline import Deadline
from ..fitted import class_of

_FOLDS = 5
# Seconds after which no further model is trained, and their share of those that are left.
_MOST_SECONDS, _SHARE = 30.0, 0.6


class Hidden(NamedTuple):
    """Of ``n`` labelled rows ``found`` were marked by models that took them for unlabelled.

    ``folds`` models were trained. ``n`` is 0 if none could be, and ``reason`` says why.
    """

    found: int
    n: int
    folds: int
    reason: str = ""


def hide_labels(estimator, X, y, deadline):
    """Count with the settings and the prior of a fitted model of positive (y = 1) rows.

    A part of the labelled rows at a time joins the unlabelled ones, in training too. Among these
    they are what the positives are that the model looks for, so their recall is that of the
    unlabelled positives, in the very rows that the report counts. Models that never saw the rows
    would mark more: a model keeps its unlabelled training rows down.
    """
    labelled = np.flatnonzero(y == 1)
    if len(labelled) < 2:
        return Hidden(0, 0, 0, "there is one labelled row only, and none can be hidden.")
    n_unlabelled = int(np.sum(y != 1))
    expected = estimator.prior_ * n_unlabelled
    folds = KFold(min(_FOLDS, len(labelled)), shuffle=True, random_state=0)
    end = Deadline(min(_MOST_SECONDS, _SHARE * deadline.left()))
    found = n = done = 0
    longest, reason = 0.0, ""
    for _, part in folds.split(labelled):
        if done and end.left() < longest:
            break
        since = time.perf_counter()
        rows = labelled[part]
        hidden = y.copy()
        hidden[rows] = 0
        prior = (expected + len(rows)) / (n_unlabelled + len(rows))
        model = clone(estimator).set_params(prior=prior)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                decision = model.fit(X, hidden).decision_function(X[rows])
            except ValueError as error:
                reason = f"no label could be hidden: {error}"
                continue
        found += int(class_of(decision).sum())
        n, done = n + len(rows), done + 1
        longest = max(longest, time.perf_counter() - since)
    if done < folds.n_splits and not reason:
        deadline.cut.append(f"{done} of {folds.n_splits} models with a part of the labels hidden")
    return Hidden(found, n, done, "" if done else reason)
