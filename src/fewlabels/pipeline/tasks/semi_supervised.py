"""Training on a few labelled rows of several classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from ..._typing import RowMatrix
from ..._util.messages import UserError, listing, quoted, ref
from ...positive_unlabelled.task import POSITIVE_UNLABELLED
from ...semi_supervised.task import SEMI_SUPERVISED
from ...tables.columns import target as rows_of
from ...tables.columns.column import format_number
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ..options.fit import FitOptions
from . import (
    ENDED,
    Choice,
    count_transduced,
    explain_no_comparison,
    explain_trees,
    scored_candidates,
)
from .score_columns import ClassColumns, ScoreColumns, ThresholdColumns

if TYPE_CHECKING:
    from ...model_selection import TuningResult

# Shares that people type may miss the sum of 1 by so much.
_MAX_SUM_ERROR = 1e-2
# What learns from all rows of a file.
ON_ALL_ROWS = f"{ref('method', 's3vm')} with {ref('kernel', 'linear')} trains"
# The methods for positive and unlabelled rows that are most like those for classes.
_FOR_POSITIVES = {"logistic": "pu-logistic", "svm": "pu-svm"}


def roles(file: TrainingFile, method: str, options: FitOptions) -> RowSelection:
    """Select the rows of every class, and all others."""
    assert file.labels is not None  # there is a target
    return rows_of.choose_class_rows(
        file.labels, _FOR_POSITIVES.get(method, POSITIVE_UNLABELLED.usual)
    )


def adapt_settings(
    settings: dict[str, Any], roles: RowSelection, options: FitOptions
) -> dict[str, Any]:
    """Return the settings with class shares in the order of the classes."""
    shares = settings.get("class_ratio")
    if not isinstance(shares, Mapping):
        return settings
    classes = roles.facts["classes"]
    named = {_name(key): share for key, share in shares.items()}
    unknown = [name for name in named if name not in classes]
    missing = [name for name in classes if name not in named]
    if unknown or missing:
        what = f"{quoted(unknown[0])} is no class" if unknown else f"{listing(missing)} is missing"
        raise UserError(
            f"{ref('class_ratio')} needs a share for each class, but {what}; the classes are "
            f"{listing(classes)}."
        )
    total = sum(named.values())
    if abs(total - 1.0) > _MAX_SUM_ERROR:
        raise UserError(
            f"The shares of {ref('class_ratio')} sum to {total:.4g}; they must sum to 1."
        )
    return {**settings, "class_ratio": [float(named[name]) / total for name in classes]}


def _name(key: object) -> str:
    """Return a class as the table's text has it."""
    return format_number(key) if isinstance(key, float) else str(key)


def choose(
    why: str, options: FitOptions, n_known: int, n_rows: int, seconds: float | None
) -> Choice:
    """Choose the method for several classes."""
    return Choice(SEMI_SUPERVISED.usual, why)


def explain_tuning(tuning: TuningResult) -> str:
    """Return how settings were chosen."""
    table, ended = scored_candidates(tuning), ENDED.get(tuning.stopped, "")
    if "kernel" in table and tuning.candidates["kernel"].iloc[0] == "trees":
        return explain_trees(tuning, ended)
    if isinstance(tuning.chosen.get("kernel"), BaseEstimator):
        chosen = tuning.candidates["chosen"]
        sure = tuning.candidates.loc[chosen, "probability"].iloc[0]
        how = (
            "more accurate on held-out labels and more stable, with a probability of about "
            f"{sure:.2f}"
        )
        if not sure == sure:  # NaN
            how = "with half the weight, because there are too few labels to test whether it helps"
        return f"defaults with the graph of the rows, {how}"
    if len(table) < 2:
        return f"defaults; {explain_no_comparison(tuning)}"
    if not tuning.chosen:
        return (
            f"defaults; none of {len(table) - 1} others was clearly better on held-out labels"
            f"{ended}"
        )
    better = "clearly better than the defaults"
    if not table.loc[table["chosen"], "clear"].any():
        better = "better than the defaults, perhaps by chance,"
    return f"{better} on held-out labels, best of {len(table)}{ended}"


def figures(
    estimator: BaseEstimator, X: RowMatrix, labeled: dict[str, int], counted: Sequence[int] | None
) -> dict[str, Any]:
    """Return figures of the labels, and of the classes that unlabelled rows are given."""
    due = getattr(estimator, "consolidation_due_", None)
    counted = counted or count_transduced(estimator)
    found = {
        name: count - n_labeled
        for count, (name, n_labeled) in zip(counted, labeled.items(), strict=True)
    }
    return {
        "rows_labeled": labeled,
        "rows_unlabeled": sum(found.values()),
        "unlabeled_predicted": found,
        "steps": getattr(estimator, "n_steps_", None),
        "flips": getattr(estimator, "n_flips_", None),
        "consolidation_due": None if due is None else bool(due),
    }


def score_columns(training: dict[str, Any], extra: str | None) -> ScoreColumns:
    """Return the columns of scores: one of two classes, or of several."""
    if len(training["classes"]) > 2:
        return ClassColumns(tuple(training["classes"]), extra)
    first, second = training["classes"]
    sides = f"label '{second}'", f"label '{first}'"
    return ThresholdColumns(sides, (second, first), False, extra=extra)
