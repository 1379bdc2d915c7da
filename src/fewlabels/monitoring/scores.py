"""The score that a monitor follows: one number per row, from a model that stays as it is."""

import copy

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..estimators.base.locking import snapshot_of

_METHODS = ("score_samples", "decision_function", "predict_proba")


class Score:
    """Scores of rows by a frozen copy of ``model``; small ones are unusual.

    ``how`` is the name of a method of the model, a function of rows, or None for the first of
    ``decision_function`` and ``predict_proba`` (classifiers) or ``score_samples`` and
    ``decision_function`` (other models) that the model has. Of several columns the largest
    counts, and of the two columns of ``predict_proba`` the second.
    """

    def __init__(self, model, how=None):
        self.model, self.how = _frozen(model), how
        if callable(how):
            return
        if how is None:
            has_tags = hasattr(model, "__sklearn_tags__")
            names = _METHODS[1:] if has_tags and is_classifier(model) else _METHODS
            self.how = next((name for name in names if hasattr(model, name)), None)
        if self.how is None or not hasattr(model, self.how):
            inside = "its .model, " if hasattr(model, "model") else ""  # a TableFit
            raise ValueError(
                f"{type(model).__name__} has no {how or 'scores'}; pass {inside}a fitted model "
                "with decision_function, score_samples or predict_proba, or score=FUNCTION."
            )

    def __call__(self, X):
        values = self.how(X) if callable(self.how) else getattr(self.model, self.how)(X)
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 2:
            two = self.how == "predict_proba" and values.shape[1] == 2
            values = values[:, 1] if two else values.max(axis=1)
        return values


def checked(scores, n, done=0, what="Row"):
    """Scores that can be ranked, or an error that names the first row that has none."""
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


def own_calibration(score):
    """Scores that the model keeps of rows it was not trained on, or of its rows left out."""
    model = model_of(score)
    try:
        known = score.how in ("score_samples", "decision_function")
        conformal = model.conformal_ if known else None
    except AttributeError:
        conformal = None
    if conformal is None:
        raise ValueError(
            f"{type(model).__name__} holds no calibration scores; pass calibration=ROWS that it "
            "was not trained on, fit a one-class model with target_fpr, or pass None."
        )
    scores = conformal.as_scored(conformal.scores)
    return scores if score.how == "score_samples" else scores - model.offset_


def model_of(score):
    """The model itself, without what a pipeline does before."""
    return score.model[-1] if isinstance(score.model, Pipeline) else score.model


def _frozen(model):
    """A copy that updates of the model don't reach."""
    snapshot = snapshot_of(model)
    last = snapshot[-1] if isinstance(snapshot, Pipeline) else snapshot
    return snapshot if hasattr(last, "snapshot") else copy.deepcopy(model)
