"""What changes in a report if the labelled rows aren't quite a random sample."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import IntArray
from .._util.messages import template
from ..model_selection.positive_unlabelled.bias import BiasSensitivity, bias_sensitivity_within
from ..positive_unlabelled.pusvm import PUSVM
from .contents import Ranking, Sensitivity
from .fit import Fit
from .page import words

BOUNDS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
# Labelled and unlabelled rows that take part, at most and at least.
_MAX_LABELLED = 500
_MAX_UNLABELLED = 1500
_MIN_LABELLED = 10
# Rows listed whose decision changes first.
_ROWS_LISTED = 10
_UNKNOWN = "It is unknown which decisions would change if the labels weren't random"
# Seconds per row that the first bounds take, if a fit of the model says nothing else.
_SECONDS_PER_ROW = 1e-3


def measure_sensitivity(fit: Fit, name: str) -> Sensitivity | None:
    """Return the ``Sensitivity`` of a fit; None if it has no answer, or there is no time.

    Rows with propensities need no such bound, and few labelled rows can't show one.
    """
    if getattr(fit.estimator, "propensity_weights_", None) is not None:
        return None
    rng = np.random.default_rng(0)
    labelled = _sample_rows(np.flatnonzero(fit.labels == 1), _MAX_LABELLED, rng)
    unlabelled = _sample_rows(np.flatnonzero(fit.labels != 1), _MAX_UNLABELLED, rng)
    if len(labelled) < _MIN_LABELLED or len(unlabelled) < _MIN_LABELLED:
        return None
    rows = np.concatenate([labelled, unlabelled])
    sampled_share = len(rows) / len(fit.labels)
    seconds = max(_SECONDS_PER_ROW * len(rows), sampled_share * fit.training["seconds"])
    if fit.deadline.left() < seconds:
        fit.deadline.cut.append("no figures on labels that aren't random")
        return None
    model, is_estimator = _choose_model(fit.estimator)
    y = np.arange(len(rows)) < len(labelled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = bias_sensitivity_within(fit.deadline, model, fit.X[rows], y, BOUNDS)
        except ValueError as error:  # few different rows
            why = template(error).rstrip(".")
            text = f"{_UNKNOWN}: with a bound, no model could be fitted ({why})."
            return Sensitivity(None, text, None)
    if len(result.table) < len(BOUNDS):
        largest = f"{result.table['bias'].iloc[-1]:g}"
        fit.deadline.cut.append(f"no figures on labels that aren't random beyond B = {largest}")
    text = _describe_table(name, len(rows) if sampled_share < 1.0 else None, is_estimator)
    return Sensitivity(result.table, text, _rank_first_changes(fit, unlabelled, result, name))


def _sample_rows(rows: IntArray, max_rows: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= max_rows else np.sort(rng.choice(rows, max_rows, replace=False))


def _choose_model(estimator: BaseEstimator) -> tuple[PUSVM, bool]:
    """Return the model to fit with bounds, and whether it is the estimator itself."""
    if isinstance(estimator, PUSVM) and (estimator.loss, estimator.solver) == (
        "double-hinge",
        "auto",
    ):
        return estimator, True
    prior = getattr(estimator, "prior", "estimate")
    prior = float(prior) if isinstance(prior, Real) else "estimate"
    return PUSVM(prior=prior, n_jobs=getattr(estimator, "n_jobs", None)), False


def _describe_table(name: str, n_sample: int | None, is_estimator: bool) -> str:
    about_table = (
        f"All other figures assume that the labelled rows are a random sample of the '{name}' "
        f"rows. Suppose instead that each '{name}' row was up to B times as likely to be "
        "labelled as a random one, or 1/B times as likely. A decision is certain under B if no "
        "such weights change it."
    )
    if n_sample is not None:
        about_table += f" The figures come from a random sample of {words.rows(n_sample)}."
    if not is_estimator:
        about_table += (
            " They come from a single PUSVM with a Gaussian kernel, so at B = 1 they may differ "
            "from the model's."
        )
    return about_table


def _rank_first_changes(
    fit: Fit, unlabelled: IntArray, result: BiasSensitivity, name: str
) -> Ranking | None:
    """List rows whose decision changes first, the nearest to the threshold in front."""
    changing = np.flatnonzero(np.isfinite(result.changes_at))
    if not len(changing):
        return None
    scores = fit.estimator.decision_function(fit.X[unlabelled[changing]])
    order = np.lexsort((np.abs(scores), result.changes_at[changing]))[:_ROWS_LISTED]
    chosen = changing[order]
    columns = {
        "score": scores[order],
        "at B = 1": np.where(result.base[chosen], "positive", "negative"),
        "changes at B": [f"{bound:g}" for bound in result.changes_at[chosen]],
    }
    return Ranking(
        "Decisions that change first",
        f"The {words.rows(len(chosen))} that depend most on random labels. Review these before "
        f"you rely on the number of '{name}' rows.",
        fit.table(fit.trained_rows, unlabelled[chosen], columns),
    )
