"""Training on positive and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._typing import RowMatrix
from ..._util.messages import UserError, ref
from ...class_prior import unlabeled_from_pooled
from ...class_prior.uncertainty import is_determined
from ...tables.columns import target as rows_of
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ..options.fit import FitOptions
from . import (
    ENDED,
    Choice,
    count_transduced,
    explain_no_comparison,
    explain_trees,
    finite,
    scored_candidates,
)
from .score_columns import ThresholdColumns

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ...model_selection import TuningResult

# Level of the interval that PUSVM gives with an estimated prior.
PRIOR_CONFIDENCE = 0.9
_OF_PUSVM = {"lam", "loss", "threshold", "max_iter", "max_time", "kernel", "coef0"}
# What learns from all rows of a file.
ON_ALL_ROWS = f"{ref('method', 'pusvm')} trains"
# Share of the time budget that a fit of an ensemble may take.
_MAX_FIT_SHARE = 0.1


def roles(file: TrainingFile, method: str, options: FitOptions) -> RowSelection:
    """Select the rows of the positive class, and all others."""
    assert file.labels is not None  # there is a target
    return rows_of.choose_positive_rows(file.labels, options.positive)


def adapt_settings(
    settings: dict[str, Any], roles: RowSelection, options: FitOptions
) -> dict[str, Any]:
    """Return the settings with the prior as a share of the unlabelled rows."""
    prior = settings.get("prior")
    if options.prior_convention != "pooled" or prior is None:
        return settings
    n_positive = int(np.count_nonzero(roles.y == 1))
    n_unlabeled = int(np.count_nonzero(roles.y == 0))
    n_rows = n_positive + n_unlabeled
    if not n_unlabeled or prior * n_rows <= n_positive:
        raise UserError(
            f"{ref('prior', prior)} with {ref('prior_convention', 'pooled')} leaves no positive "
            f"row among the unlabelled ones: {n_positive:,} of {n_rows:,} rows are labelled "
            f"already ({n_positive / n_rows:.4g}); pass a larger share."
        )
    return {**settings, "prior": unlabeled_from_pooled(prior, n_positive, n_unlabeled)}


def choose(
    why: str, options: FitOptions, n_known: int, n_rows: int, seconds: float | None
) -> Choice:
    """Choose the ensemble, where its fit takes a small part of the time."""
    given = options.parameters.keys()
    if "n_bags" in given:
        return Choice("pu-ensemble", why)
    expected = max(1.0, 4e-4 * n_rows + 4e-9 * n_rows**2 + 1e-5 * n_known**2)
    because = ""
    if options.rows:
        because = f"{ref('rows', True)} needs a model that can be updated"
    elif given & _OF_PUSVM:
        because = f"{ref(min(given & _OF_PUSVM))} selects it"
    elif seconds is None:
        because = (
            "a pu-ensemble, which is usually more accurate, would take too much of the time "
            f"budget; raise {ref('time_budget')} or pass {ref('method', 'pu-ensemble')} to use it"
        )
    elif not seconds:
        because = f"quicker than a pu-ensemble ({ref('time_budget', 0)})"
    elif expected > _MAX_FIT_SHARE * seconds:
        because = (
            f"a pu-ensemble, which is usually more accurate, would take {expected:.2g} s per fit; "
            f"raise {ref('time_budget')} or pass {ref('method', 'pu-ensemble')} to use it"
        )
    if because:
        return Choice("pusvm", f"{why}; {because}")
    return Choice(
        "pu-ensemble",
        f"{why}; usually more accurate than a pusvm, but without updates (pass "
        f"{ref('rows', True)} for a pusvm)",
    )


def explain_tuning(tuning: TuningResult) -> str:
    """Return how settings were chosen."""
    table, ended = scored_candidates(tuning), ENDED.get(tuning.stopped, "")
    if "kernel" in table and tuning.candidates["kernel"].iloc[0] == "trees":
        return explain_trees(tuning, ended)
    if len(table) < 2:
        return f"defaults; {explain_no_comparison(tuning)}"
    rank = "best" if tuning.chosen else "tied for best"
    return f"{rank} of {len(table)} candidates (held-out positives vs. unlabelled rows){ended}"


def figures(
    estimator: BaseEstimator, X: RowMatrix, labeled: dict[str, int], counted: Sequence[int] | None
) -> dict[str, Any]:
    """Return figures of the prior and of the rows that are predicted positive."""
    (n_labeled,) = labeled.values()
    interval, prior = estimator.prior_interval_, finite(estimator.prior_)
    # The transduction gives labelled rows their own labels.
    others, found = counted or count_transduced(estimator)
    return {
        "rows_labeled": n_labeled,
        "rows_unlabeled": others + found - n_labeled,
        "unlabeled_predicted_positive": found - n_labeled,
        # The estimate that the threshold uses; no figure to report where it isn't determined.
        "prior": prior if is_determined(interval) else None,
        "prior_used": prior,
        "prior_estimated": interval is not None,
        "prior_low": None if interval is None else finite(interval[0]),
        "prior_high": None if interval is None else finite(interval[1]),
        "weighted_by_propensities": getattr(estimator, "propensity_weights_", None) is not None,
        "prior_confidence": None if interval is None else PRIOR_CONFIDENCE,
        "lam": finite(getattr(estimator, "lam_", None)),
        "support_vectors_unlabeled": int(getattr(estimator, "n_support_", [0])[0]),
    }


def score_columns(training: dict[str, Any], extra: str | None) -> ThresholdColumns:
    """Return the columns of scores: positive or not."""
    return ThresholdColumns(
        ("positive", "not_positive"),
        (training["positive"], training["unlabeled"]),
        False,
        flag="positive",
        extra=extra,
    )
