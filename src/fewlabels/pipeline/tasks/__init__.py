"""The parts of a fit that depend on the task: a module for each, with the functions of ``steps``.

==============  ==================================================================================
roles           the rows of a file that are learned from, and their labels
choose          the method, from the labels, the options and the time
adapt_settings  the user's settings as settings for these rows
explain_tuning  how the settings were chosen, in words
figures         the figures in the model file
score_columns   the columns that scores become
ON_ALL_ROWS     the methods that train on all rows of a file larger than memory, in words
==============  ==================================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from ...model_selection import TuningResult

# Why a search ended before its end.
ENDED = {"time budget": " (the time ran out)", "Ctrl-C": " until Ctrl-C"}


class Choice(NamedTuple):
    """A method and why it is this one."""

    method: str
    why: str


def finite(value: float | None) -> float | None:
    """Turn a NumPy number into a plain one; None for what JSON cannot say."""
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def count_transduced(estimator: BaseEstimator) -> list[int]:
    """Return how many training rows have or are given each class."""
    return [int((estimator.transduction_ == name).sum()) for name in estimator.classes_]


def scored_candidates(tuning: TuningResult) -> pd.DataFrame:
    """Return the candidates that a search scored: one that ends early leaves others."""
    table = tuning.candidates
    return table[table["folds"] > 0] if "folds" in table else table


def explain_no_comparison(tuning: TuningResult) -> str:
    """Return why fewer than two candidates were scored."""
    if len(tuning.candidates) < 2:
        return "too few labels to compare others"
    return f"no others were compared{ENDED.get(tuning.stopped, '')}"


def explain_trees(tuning: TuningResult, ended: str) -> str:
    """Return how settings were chosen where trees come first, as for tables of features."""
    table = scored_candidates(tuning)
    if len(table) < 2:
        return f"the default for tables of features; {explain_no_comparison(tuning)}"
    if table["chosen"].iloc[0]:
        return (
            f"the default for tables of features; none of {len(table) - 1} others was clearly "
            f"better on held-out labels{ended}"
        )
    return (
        "better on held-out labels than the default for tables of features, best of "
        f"{len(table)}{ended}"
    )
