"""What a training does for each task: a module for each, with the same names.

==============  ==================================================================================
roles           which rows of a file are learned from, and as what
choose          the method, given why it is this task, the options, how many rows are of the class
                that is learned, of how many, and the seconds for all
for_rows        settings in the user's words as settings for these rows
why_tuned       how settings were chosen, in words
figures         what goes into the model file
score_columns   the columns that scores become
ON_ALL_ROWS     what trains on all rows of a file that is larger than memory, in words
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
