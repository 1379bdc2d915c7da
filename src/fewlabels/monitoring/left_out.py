"""Scores of unlabelled training rows by models that were fitted without them.

A model of few labels, or of positive and unlabelled rows, keeps no scores of rows that it wasn't
trained on. It was fitted to unlabelled rows, which stand for the rows of the stream, and stores
them. Scores of rows left out calibrate a monitor from the first row on, approximately: each is
from a model of nearly all rows. Labelled rows may have been chosen, and aren't used, except where
the labels were given to a sample of the rows (``PUSVM(sampling="one-sample")``).
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..base.training_rows import TrainingRows
from ..semi_supervised.reading import settings_for_part

# Parts of the rows that are left out in turn. Each part takes a fit.
_N_PARTS = 10
# Of more rows than this, a single part is left out, ...
_MAX_ROWS_IN_PARTS = 5000
# ... of at most so many rows.
_MAX_LEFT_OUT = 1000
#: Unlabelled rows below which scores say too little to calibrate with.
FEWEST = 50


def why_not_left_out(model: BaseEstimator) -> str | None:
    """Return why unlabelled rows of a model can't be left out, a clause; None if they can."""
    if not getattr(model, "holds_rows_", False):
        return "it doesn't store its training rows"
    label = model.training_rows_.label
    if label is None:
        return "its training rows have no labels"
    n_free = int(np.count_nonzero(_is_new(model)))
    if n_free < FEWEST:
        return f"it stores {n_free} rows that are like new ones, fewer than {FEWEST}"
    return None


def scores_left_out(
    model: BaseEstimator, score: Callable[[BaseEstimator, RowMatrix], FloatArray]
) -> FloatArray:
    """Return scores of unlabelled training rows, in no particular order.

    Parameters
    ----------
    model : S3VM or PUSVM
        A fitted model that stores its rows.
    score : callable
        Takes a model and rows; returns a score for each row.

    Returns
    -------
    ndarray of shape (n_left_out,)
    """
    rows = model.training_rows_
    counts = np.flatnonzero(rows.weight > 0)
    free = np.random.default_rng(0).permutation(np.flatnonzero(_is_new(model)))
    n_parts = _N_PARTS
    if len(counts) > _MAX_ROWS_IN_PARTS:
        free, n_parts = free[:_MAX_LEFT_OUT], 1
    parts = np.array_split(free, n_parts)
    if n_parts == 1:
        parts = [parts[0][: len(counts) // 2]]
    found = [score(_fit_without(model, rows, counts, part), rows.X[part]) for part in parts]
    return np.concatenate(found)


def _is_new(model: BaseEstimator) -> BoolArray:
    """Find the training rows that are a sample of the rows to score, if they have a weight."""
    rows = model.training_rows_
    if getattr(model, "sampling", None) == "one-sample":  # labels were given to some of them
        return rows.weight > 0
    return (rows.label == 0) & (rows.weight > 0)


def _fit_without(
    model: BaseEstimator, rows: TrainingRows, counts: IntArray, part: IntArray
) -> BaseEstimator:
    """Fit a model to all rows but some, with the settings that the model has chosen."""
    if getattr(model, "propensity_weights_", None) is not None:  # which no argument restores
        return copy.deepcopy(model).forget(part)
    used = np.setdiff1d(counts, part)
    assert rows.label is not None
    label = rows.label[used].astype(int)
    place = label - 1 if len(model.classes_) > 2 else (label + 1) // 2
    y = np.array([*model.classes_.tolist(), None], dtype=object)[np.where(label == 0, -1, place)]
    settings: dict[str, Any] = {"verbose": False}
    if model.gamma_:
        settings["gamma"] = model.gamma_
    if hasattr(model, "prior_"):
        y = model.classes_[label]
        settings |= {"prior": model.prior_, "probability": None}
    else:
        settings |= {"unlabeled": None, "probability": None, "solver": "auto"}
        settings |= settings_for_part(model)
    again = clone(model).set_params(**settings)
    return again.fit(rows.X[used], y, sample_weight=rows.weight[used])
