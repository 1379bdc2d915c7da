"""What a training does for each task: a module for each, with the same functions.

``roles`` says which rows of a file are learnt from and as what, ``choose`` picks the method,
``for_rows`` turns settings in the user's words into settings for these rows,
``why_tuned`` says how settings were chosen, ``figures`` go into the model file, ``answer`` says
what scores mean, and ``ON_ALL_ROWS`` names what trains on all rows of a file that is larger than
memory.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...tasks.machines import task_of

# Why a search ended before its end.
ENDED = {"time budget": " (the time ran out)", "Ctrl-C": " until Ctrl-C"}


def steps_of(machine):
    """The steps of the task that a method learns."""
    return task_of(machine).part(__name__)


class Choice(NamedTuple):
    """A machine and why it is this one."""

    machine: str
    why: str


class Situation(NamedTuple):
    """What the choice of a method depends on, besides the task.

    ``n_known`` of ``n_rows`` rows are of the class that is learnt. ``given`` are parameters of
    estimators, ``clean`` and ``rows`` the options of these names, and the time budget is in
    seconds.
    """

    n_known: int
    n_rows: int
    given: Mapping[str, Any]
    clean: bool | None
    rows: bool | None
    time_budget: float


def finite(value):
    """Turn a NumPy number into a plain one; None for what JSON cannot say."""
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def transduced(estimator):
    """How many training rows have or are given each class."""
    return [int((estimator.transduction_ == name).sum()) for name in estimator.classes_]


def scored(tuning):
    """The candidates that a search scored: one that ends early leaves others."""
    table = tuning.candidates
    return table[table["folds"] > 0] if "folds" in table else table


def not_compared(tuning):
    """Why fewer than two candidates were scored."""
    if len(tuning.candidates) < 2:
        return "too few labels to compare others"
    return f"no others were compared{ENDED.get(tuning.stopped, '')}"


def why_trees(tuning, ended):
    """How settings were chosen where trees come first, as they do for tables of features."""
    table = scored(tuning)
    if len(table) < 2:
        return f"the default for tables of features; {not_compared(tuning)}"
    if table["chosen"].iloc[0]:
        return (
            f"the default for tables of features; none of {len(table) - 1} others was clearly "
            f"better on held-out labels{ended}"
        )
    return (
        "better on held-out labels than the default for tables of features, best of "
        f"{len(table)}{ended}"
    )
