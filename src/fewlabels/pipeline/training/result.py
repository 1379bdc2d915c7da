"""The result of a training: the model with all that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from .budget import Budget
from .fitting import FitResult
from .preparing import PreparedTable

if TYPE_CHECKING:
    from ...model_selection import BaselineComparison
    from ...report.evidence.model_tests import Tests


@dataclass(frozen=True, eq=False)
class Training:
    """A model that has learned from a table, and what its model file says of it.

    ``tests`` say whether the model beats chance and whether its prior agrees with its labels.
    The ``budget`` is for the whole job.
    """

    prepared: PreparedTable
    fitted: FitResult
    metadata: dict[str, Any]
    comparison: BaselineComparison | None = None
    tests: Tests | None = None
    budget: Budget = field(default_factory=lambda: Budget(0.0))

    @property
    def pipeline(self) -> Pipeline:
        """Return encoder and model."""
        steps = [("columns", self.prepared.encoder), ("model", self.fitted.estimator)]
        return Pipeline(steps)

    def parts_of_report(self) -> dict[str, Any]:
        """Return what :func:`fewlabels.report.collect` asks for of a training."""
        prepared, found = self.prepared, self.prepared.found
        return dict(
            file=prepared.file,
            found=found,
            encoder=prepared.encoder,
            X=prepared.X,
            y=found.y,
            estimator=self.fitted.estimator,
            metadata=self.metadata,
            profile=found.profile,
            tuning=self.fitted.tuning,
            comparison=self.comparison,
            held=self.tests and self.tests.held,
            shares=self.tests and self.tests.shares,
            deadline=self.budget.to_report(),
            groups=prepared.groups,
        )
