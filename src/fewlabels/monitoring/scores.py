"""Scores that a monitor follows: one number per row, from a model that stays as it is.

A model of few labels, or of positive and unlabelled rows, keeps no scores of rows that it wasn't
trained on. It was fitted to unlabelled rows, which are like the rows of the stream, and stores
them. Scores of rows left out calibrate a monitor from the first row on, approximately: each is
from a model of nearly all rows. Labelled rows may have been chosen, and aren't used, except where
the labels were given to a sample of the rows (``PUSVM(sampling="one-sample")``).
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline

from .._typing import BoolArray, FloatArray, IntArray, RowMatrix
from ..base.locking import take_snapshot
from ..base.solution import TrainingRows
from ..one_class.task import ONE_CLASS
from ..semi_supervised.arguments import settings_for_part
from .kept_rows import Table

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


_METHODS = ("score_samples", "decision_function", "predict_proba")


class Score:
    """Scores of rows by a frozen copy of ``model``; small ones are unusual.

    ``how`` is the name of a method of the model, a function of rows, or None for the first of
    ``decision_function`` and ``predict_proba`` (classifiers) or ``score_samples`` and
    ``decision_function`` (other models) that the model has. Of several columns the largest
    counts, and of the two columns of ``predict_proba`` the second.
    """

    def __init__(
        self, model: BaseEstimator, how: str | Callable[[Table], FloatArray] | None = None
    ) -> None:
        self.model = _freeze(model)
        self.how: str | Callable[[Table], FloatArray]
        if callable(how):
            self.how = how
            return
        if how is None:
            has_tags = hasattr(model, "__sklearn_tags__")
            names = _METHODS[1:] if has_tags and is_classifier(model) else _METHODS
            how = next((name for name in names if hasattr(model, name)), None)
        if how is None or not hasattr(model, how):
            inside = "its .model, " if hasattr(model, "model") else ""  # a TableFit
            raise ValueError(
                f"{type(model).__name__} has no {how or 'scores'}; pass {inside}a fitted model "
                "with decision_function, score_samples or predict_proba, or score=FUNCTION."
            )
        self.how = how

    def __call__(self, X: Table) -> FloatArray:
        values = self.how(X) if callable(self.how) else getattr(self.model, self.how)(X)
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 2:
            two = self.how == "predict_proba" and values.shape[1] == 2
            values = values[:, 1] if two else values.max(axis=1)
        return values


def check_scores(scores: FloatArray, n: int, done: int = 0, what: str = "Row") -> FloatArray:
    """Return scores if all can be ranked; else raise an error that names the first bad row."""
    if scores.shape != (n,):
        raise ValueError(
            f"The score returned an array of shape {scores.shape} for {n} rows; it must return "
            "one number per row."
        )
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        raise ValueError(
            f"{what} {done + wrong[0] + 1} has the score NaN, which can't be ranked, so no row of "
            "this batch was counted; leave such rows out, or fill in what is missing in them."
        )
    return scores


def own_calibration(model: BaseEstimator, how: str | Callable[[Table], FloatArray]) -> FloatArray:
    """Return scores of training rows by models that weren't trained on them.

    A one-class model has calibration scores. For others, unlabelled rows are left out in turn.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model.
    how : str or callable
        The method that scores rows, or a function of rows.

    Returns
    -------
    ndarray of shape (n_calibration,)

    Raises
    ------
    ValueError
        If the model has no such scores.
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    reason = why_uncalibrated(model)
    if callable(how):
        reason = f"score={how!r} is a function"
    if reason is not None:
        raise ValueError(
            f"{type(last).__name__} has no scores to calibrate with, because {reason}; pass "
            "calibration=ROWS that it was not trained on, or None."
        )
    if not _is_one_class(last):
        return scores_left_out(last, lambda again, rows: Score(again, how)(rows))
    _ = last.calibration_scores_  # of rows left out, if they aren't known yet
    conformal = last.conformal_
    scores = conformal.as_scored(conformal.scores)
    return scores if how == "score_samples" else scores - last.offset_


def why_uncalibrated(model: BaseEstimator) -> str | None:
    """Return why a model has no scores to calibrate a monitor with, a clause; None if it has."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not _is_one_class(last):
        return why_not_left_out(last)
    try:
        _ = last.calibration_scores_
    except (AttributeError, ValueError) as error:
        return f"it isn't calibrated ({str(error).rstrip('.')})"
    return None


def _is_one_class(model: BaseEstimator) -> bool:
    return getattr(type(model), "task", None) is ONE_CLASS


def model_of(score: Score) -> BaseEstimator:
    """Return the model itself, without the steps of a pipeline before it."""
    return score.model[-1] if isinstance(score.model, Pipeline) else score.model


def _freeze(model: BaseEstimator) -> BaseEstimator:
    """Return a copy that updates of the model don't reach."""
    snapshot = take_snapshot(model)
    last = snapshot[-1] if isinstance(snapshot, Pipeline) else snapshot
    return snapshot if hasattr(last, "snapshot") else copy.deepcopy(model)
