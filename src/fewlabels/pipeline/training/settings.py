"""The settings of a model that follow from the options, before any are searched for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._typing import RowMatrix
from ..._util.messages import UserError, plural, ref
from ...kernels.rows import row_keys
from ...tasks import METHODS, estimator_class, list_methods_with, task_of
from ..options.fit import ONE_CLASS_NU, TARGET_FPR
from ..tasks import Choice

# What a search would choose, and what is shown of the settings, in this order.
CHOSEN = ("kernel", "gamma", "C", "C_star", "nu", "lam", "trim")
# Rows that are compared first to see whether enough of them differ.
_FIRST_COMPARED_ROWS = 1000


def collect_parameters(choice: Choice, given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return parameters of the estimator from those given, and notes on them."""
    parameters, notes = dict(given), []
    for name in parameters:
        if choice.method not in (machines := list_methods_with(name)):
            raise UserError(
                f"{ref(name)} needs {ref('method', tuple(machines))}, but the model is "
                f"{choice.method} ({choice.why}); omit the option or pass another "
                f"{ref('method')}."
            )
    if parameters.get("kernel") == "trees" and not task_of(choice.method).takes_labels:
        raise UserError(
            f"{ref('kernel', 'trees')} needs {ref('method', 'pusvm')}, pu-ensemble or s3vm, but "
            f"the model is {choice.method} ({choice.why}); omit the option or pass another "
            "kernel."
        )
    method = METHODS[choice.method]
    if method.is_baseline:
        parameters.setdefault("method", choice.method)
    if method.probability is not None:
        parameters.setdefault("probability", method.probability)
    if choice.method == "one-class":
        parameters.setdefault("nu", ONE_CLASS_NU)
    elif "nu" in parameters:
        if "C" in parameters:
            raise UserError(
                f"{ref('nu')} and {ref('C')} set the same cost in two ways; pass one of them."
            )
        if parameters.setdefault("slack", "linear") != "linear":
            raise UserError(
                f"{ref('nu')} needs {ref('slack', 'linear')}; with {ref('slack', 'squared')} pass "
                f"{ref('C')}."
            )
        if "slack" not in given:
            notes.append(f"{ref('nu')} was given, so slack is linear")
    return parameters, notes


def count_different_rows(X: RowMatrix) -> int:
    """Return how many rows of a matrix differ, counted up to what :data:`TARGET_FPR` needs."""
    enough = math.ceil(1.0 / TARGET_FPR) - 1
    for rows in (X[:_FIRST_COMPARED_ROWS], X):  # few tables need more than the first rows
        found = min(enough, len(np.unique(row_keys(rows))))
        if found == enough:
            break
    return found


def with_target_fpr(
    method: str,
    parameters: dict[str, Any],
    n_rows: int,
    searched: bool = False,
    n_different: int | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return parameters with a rate of false alarms, for models that have a threshold for it.

    By default :data:`TARGET_FPR`, except where ``nu`` says itself how many rows may lie outside,
    and where there are too few rows to say what is rare, of which ``n_different`` differ. "none"
    means the model's own threshold. Gives notes too.
    """
    if method not in list_methods_with("target_fpr"):
        return parameters, []
    parameters, notes = dict(parameters), []
    asked = parameters.pop("target_fpr", None)
    has_own = estimator_class(method).has_own_threshold
    if asked == "none" and not has_own:
        raise UserError(
            f"{ref('target_fpr', 'none')} needs a model with its own threshold, and {method} has "
            f"none; pass a rate, or {ref('method', 'svdd')}."
        )
    if asked is None and "nu" in parameters:
        return parameters, []
    counted, rows = n_rows, "rows"
    if has_own and n_different is not None and n_different < n_rows:
        counted, rows = n_different, "different rows"
    if asked is None and counted + 1 < 1 / TARGET_FPR:
        if METHODS[method].is_baseline:
            raise UserError(
                f"{n_rows} rows are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, which {method} needs; pass "
                f"{ref('target_fpr', some='RATE')}, more rows, or {ref('method', 'svdd')}."
            )
        if not searched and has_own:  # a search sets a rate itself
            notes.append(
                f"{counted} {rows} are too few to calibrate a false alarm rate of "
                f"{100 * TARGET_FPR:g} %, so the threshold is uncalibrated; "
                f"{ref('target_fpr', some='RATE')} sets another rate"
            )
    elif asked != "none":
        fewest = 0 if asked is None else math.ceil(min(1e18, (1.0 - 1e-12) / asked)) - 1
        if n_rows < fewest:
            raise UserError(
                f"{ref('target_fpr', asked)} needs at least "
                f"{plural(fewest, 'training row')}, and there are {n_rows}; "
                "pass a larger rate, or none for the uncalibrated threshold."
            )
        parameters["target_fpr"] = TARGET_FPR if asked is None else asked
    return parameters, notes
