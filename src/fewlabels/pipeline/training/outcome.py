"""The outcome of a fit: the model with all that it was made of, and its facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from ..observer import Observer
from .encoding import EncodedRows
from .evidence import Evidence
from .figures import describe_training
from .fitting import FittedModel
from .plan import Plan

if TYPE_CHECKING:
    from ..._util.deadline import Deadline


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model that has learned from a table, and its facts.

    ``metadata`` is what the model file says of it: plain values, which console, report and JSON
    show.
    """

    plan: Plan
    rows: EncodedRows
    model: FittedModel
    evidence: Evidence
    metadata: dict[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts of the training, as the model file has them."""
        return self.metadata["training"]

    @property
    def pipeline(self) -> Pipeline:
        """Return encoder and model."""
        return Pipeline([("columns", self.rows.encoder), ("model", self.model.estimator)])

    def report_parts(self, deadline: Deadline) -> dict[str, Any]:
        """Return what :func:`fewlabels.report.collect` needs, which ends at a deadline."""
        rows, tests = self.rows, self.evidence.tests
        return dict(
            file=rows.file,
            found=rows.found,
            encoder=rows.encoder,
            X=rows.X,
            y=rows.found.y,
            estimator=self.model.estimator,
            metadata=self.metadata,
            profile=rows.found.profile,
            tuning=self.model.tuning,
            comparison=self.evidence.comparison,
            held=tests and tests.held,
            shares=tests and tests.shares,
            deadline=deadline,
            groups=rows.groups,
        )


def conclude(
    plan: Plan, rows: EncodedRows, model: FittedModel, evidence: Evidence, observer: Observer
) -> Outcome:
    """Conclude a fit: state the facts of a model and of the evidence for it."""
    metadata = describe_training(plan, rows, model, evidence, observer)
    return Outcome(plan, rows, model, evidence, metadata)
