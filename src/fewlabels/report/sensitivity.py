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
# Labelled and unlabelled rows that take part, and rows listed.
_MOST_LABELLED, _MOST_UNLABELLED, _LISTED = 500, 1500, 10
_FEWEST_LABELLED = 10
_UNKNOWN = "It is unknown which decisions would change if the labels weren't random"
# Seconds per row that the first bounds take, if a fit of the model says nothing else.
_SECONDS_PER_ROW = 1e-3


def sensitivity(fit: Fit, name: str) -> Sensitivity | None:
    """The ``Sensitivity`` of a fit; None if it has no answer, or there is no time for it.

    Rows with propensities need no such bound, and few labelled rows can't show one.
    """
    if getattr(fit.estimator, "propensity_weights_", None) is not None:
        return None
    rng = np.random.default_rng(0)
    labelled = _some(np.flatnonzero(fit.labels == 1), _MOST_LABELLED, rng)
    others = _some(np.flatnonzero(fit.labels != 1), _MOST_UNLABELLED, rng)
    if len(labelled) < _FEWEST_LABELLED or len(others) < _FEWEST_LABELLED:
        return None
    rows = np.concatenate([labelled, others])
    part = len(rows) / len(fit.labels)
    seconds = max(_SECONDS_PER_ROW * len(rows), part * fit.training["seconds"])
    if fit.deadline.left() < seconds:
        fit.deadline.cut.append("no figures on labels that aren't random")
        return None
    model, is_own = _model(fit.estimator)
    y = np.arange(len(rows)) < len(labelled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = bias_sensitivity_within(fit.deadline, model, fit.X[rows], y, BOUNDS)
        except ValueError as error:  # few different rows
            why = template(error).rstrip(".")
            text = f"{_UNKNOWN}: with a bound, no model could be fitted ({why})."
            return Sensitivity(None, text, None)
    if len(found.table) < len(BOUNDS):
        largest = f"{found.table['bias'].iloc[-1]:g}"
        fit.deadline.cut.append(f"no figures on labels that aren't random beyond B = {largest}")
    text = _text(name, len(rows) if part < 1.0 else None, is_own)
    return Sensitivity(found.table, text, _ranking(fit, others, found, name))


def _some(rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _model(estimator: BaseEstimator) -> tuple[PUSVM, bool]:
    """What to fit with bounds, and whether it is the estimator itself."""
    if isinstance(estimator, PUSVM) and (estimator.loss, estimator.solver) == (
        "double-hinge",
        "auto",
    ):
        return estimator, True
    prior = getattr(estimator, "prior", "estimate")
    prior = float(prior) if isinstance(prior, Real) else "estimate"
    return PUSVM(prior=prior, n_jobs=getattr(estimator, "n_jobs", None)), False


def _text(name: str, n_sample: int | None, is_own: bool) -> str:
    about_table = (
        f"All other figures assume that the labelled rows are a random sample of the '{name}' "
        f"rows. Suppose instead that each '{name}' row was up to B times as likely to be "
        "labelled as a random one, or 1/B times as likely. A decision is certain under B if no "
        "such weights change it."
    )
    if n_sample is not None:
        about_table += f" The figures come from a random sample of {words.rows(n_sample)}."
    if not is_own:
        about_table += (
            " They come from a single PUSVM with a Gaussian kernel, so at B = 1 they may differ "
            "from the model's."
        )
    return about_table


def _ranking(fit: Fit, others: IntArray, found: BiasSensitivity, name: str) -> Ranking | None:
    """Rows whose decision changes first, the nearest to the threshold in front."""
    changing = np.flatnonzero(np.isfinite(found.changes_at))
    if not len(changing):
        return None
    scores = fit.estimator.decision_function(fit.X[others[changing]])
    order = np.lexsort((np.abs(scores), found.changes_at[changing]))[:_LISTED]
    chosen = changing[order]
    columns = {
        "score": scores[order],
        "at B = 1": np.where(found.base[chosen], "positive", "negative"),
        "changes at B": [f"{bound:g}" for bound in found.changes_at[chosen]],
    }
    return Ranking(
        "Decisions that change first",
        f"The {words.rows(len(chosen))} that depend most on random labels. Review these before "
        f"you rely on the number of '{name}' rows.",
        fit.table(fit.trained, others[chosen], columns),
    )
