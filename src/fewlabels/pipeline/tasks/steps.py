"""The module that says what a training does for a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..._typing import RowMatrix
from ...base.task import Task
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ..options.fit import FitOptions
from . import Choice
from .score_columns import ScoreColumns

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ...model_selection import TuningResult


class TaskSteps(Protocol):
    """The functions of a module for a task, which say what a training does."""

    ON_ALL_ROWS: str

    def roles(self, file: TrainingFile, method: str, options: FitOptions) -> RowSelection: ...

    def adapt_settings(
        self, settings: dict[str, Any], roles: RowSelection, options: FitOptions
    ) -> dict[str, Any]: ...

    def choose(
        self, why: str, options: FitOptions, n_known: int, n_rows: int, seconds: float | None
    ) -> Choice: ...

    def explain_tuning(self, tuning: TuningResult) -> str: ...

    def figures(
        self,
        estimator: BaseEstimator,
        X: RowMatrix,
        labeled: dict[str, int],
        counted: Sequence[int] | None,
    ) -> dict[str, Any]: ...

    def score_columns(self, training: dict[str, Any], extra: str | None) -> ScoreColumns: ...


def steps_of(task: Task) -> TaskSteps:
    """Return the module of a task, imported when it is first needed."""
    if task.name == "one_class":
        from . import one_class

        return one_class
    if task.name == "positive_unlabelled":
        from . import positive_unlabelled

        return positive_unlabelled
    from . import semi_supervised

    return semi_supervised
