"""A fit as the collector gets it, and what all tasks ask of it."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray, RowMatrix
from .._util.deadline import Deadline
from ..model_selection.comparison.result import BaselineComparison
from ..model_selection.tuning.result import TuningResult
from ..tables.columns.column import numbers
from ..tables.columns.profile import ColumnProfile
from ..tables.columns.schema import Schema
from ..tables.reading.training import TableRows, TrainingFile, select_encoder_rows

# Kernel values of one pass over the training rows; beyond, rows are sampled.
_MAX_KERNEL_VALUES = 4e9
# Rows that are scored to measure the time per row.
_TIMED_ROWS = 500
# Share of the time left for the report that scoring rows may take.
_SCORING_SHARE = 0.2


# Rows of a table before they are encoded.
InputRows: TypeAlias = pd.DataFrame | RowMatrix
# Columns of a list of rows for people, by name.
RankingColumns: TypeAlias = dict[str, Any]


class SharesOfClasses(Protocol):
    """Shares of the classes among the unlabelled rows, as ``ClassShares`` has them."""

    @property
    def draws(self) -> FloatArray: ...

    @property
    def at_random(self) -> float: ...

    @property
    def contradicts_labels(self) -> bool: ...

    @property
    def ends(self) -> FloatArray: ...


class HeldOutScores(NamedTuple):
    """Decisions about training rows by models that were trained without them.

    ``rows`` are their indices, ascending. ``planned`` models there should have been, and there
    are ``folds`` (0 where the decisions are those that probabilities were calibrated by); their
    ``votes`` are their decisions about other rows, one row a model; ``parts`` says which rows
    one model scored. Where there are no decisions, ``reason`` says why. Of copies, and of other
    groups of rows, which are held out together, one row of each kind has a score.
    """

    rows: IntArray
    scores: FloatArray
    folds: int
    planned: int
    reason: str = ""
    votes: FloatArray | None = None
    parts: IntArray | None = None

    @property
    def is_complete(self) -> bool:
        """Return whether every model that was planned could be fitted."""
        return 0 < self.folds == self.planned

    @property
    def about(self) -> str:
        """Describe how the scores came about, in one sentence."""
        if not self.folds:
            return "Scored by models trained without these rows' labels."
        if self.folds == 1:
            return "Scored by a model trained without these rows."
        few = f" of {self.planned} planned models (the time ran out)"
        many = few if self.folds < self.planned else " models"
        return f"Scored by {self.folds}{many}, each trained without the rows that it scores."


class ReportRows(NamedTuple):
    """Rows of the file, as the encoder and as the model take them, and their numbers from 1."""

    inputs: InputRows
    X: RowMatrix
    numbers: IntArray


@dataclass(frozen=True)
class Fit:
    """A model fitted to rows ``found`` in a ``file``, which the ``encoder`` turned into ``X``.

    ``y`` are labels as the model got them, ``metadata`` what the model file says; there may be a
    ``profile`` of the columns, a ``tuning`` and a ``comparison`` with other methods. What takes
    long ends with the ``deadline``. ``held`` are decisions about the training rows by models that
    were trained without them, and ``shares`` the ``ClassShares``, if these are known. ``groups``
    are numbers of groups of rows that are held out together and count once, if there are any.
    """

    file: TrainingFile
    found: TableRows
    encoder: BaseEstimator
    estimator: BaseEstimator
    X: RowMatrix
    y: IntArray | None
    metadata: dict[str, Any]
    profile: list[ColumnProfile] | None = None
    tuning: TuningResult | None = None
    comparison: BaselineComparison | None = None
    deadline: Deadline = field(default_factory=Deadline)
    held: HeldOutScores | None = None
    shares: SharesOfClasses | None = None
    groups: IntArray | None = None

    @property
    def training(self) -> dict[str, Any]:
        return self.metadata["training"]

    @property
    def labels(self) -> IntArray:
        """Return the labels, which every task has but the one with a single class."""
        assert self.y is not None
        return self.y

    @property
    def trained_rows(self) -> ReportRows:
        return ReportRows(self.found.rows, self.X, self.found.numbers)

    def max_scored_rows(self) -> int:
        """Return how many rows can be scored in a few seconds, or in time for the deadline."""
        values = max(1, len(getattr(self.estimator, "support_", self.found.numbers)))
        max_rows = int(_MAX_KERNEL_VALUES / values)
        if self.deadline.has_end and self.X.shape[0] > _TIMED_ROWS:
            max_rows = min(
                max_rows,
                max(
                    _TIMED_ROWS, int(_SCORING_SHARE * self.deadline.left() / self._seconds_per_row)
                ),
            )
        return max_rows

    @cached_property
    def _seconds_per_row(self) -> float:
        """Return the seconds that the score of a row takes."""
        rows = self.X[:_TIMED_ROWS]
        since = time.perf_counter()
        self.estimator.decision_function(rows)
        return max(time.perf_counter() - since, 1e-6) / rows.shape[0]

    @cached_property
    def scored_rows(self) -> IntArray:
        """Return the training rows that are scored: all, or a sample if that takes long."""
        n, max_rows = self.X.shape[0], self.max_scored_rows()
        if n <= max_rows:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, max_rows, replace=False))

    @property
    def is_sampled(self) -> bool:
        return len(self.scored_rows) < self.X.shape[0]

    @cached_property
    def decisions(self) -> FloatArray:
        """Return the scores, as ``predict`` writes them, of the rows in :attr:`scored`."""
        return self.estimator.decision_function(self.X[self.scored_rows])

    def others(self, positions: IntArray) -> ReportRows:
        """Return rows of the file that were not trained on, by position from 0; a sample of many.

        Those that the model cannot take are left out; a UserError says why none fits.
        """
        if len(positions) > self.max_scored_rows():
            rng = np.random.default_rng(0)
            positions = np.sort(rng.choice(positions, self.max_scored_rows(), replace=False))
        schema = Schema.from_dict(self.metadata["schema"])
        inputs, numbers = select_encoder_rows(self.file, schema, positions)
        return ReportRows(inputs, self.encoder.transform(inputs), numbers)

    @cached_property
    def identifier(self) -> str | None:
        """Name of a column that names the rows, None without one."""
        if not isinstance(self.file.content, pa.Table):
            return None
        for column in self.profile or ():
            if column.kind != "left out":
                continue
            if column.note.startswith("an identifier"):
                return column.name
            if column.note == "counts the rows" and not self._numbers_rows(column.name):
                return column.name
        return None

    def _numbers_rows(self, name: str) -> bool:
        assert isinstance(self.file.content, pa.Table)
        values = numbers(self.file.content.column(name))[0]
        return bool(np.ptp(values - np.arange(len(values))) == 0)

    def table(self, rows: ReportRows, order: IntArray, columns: RankingColumns) -> pd.DataFrame:
        """Return rows for people: number in the file, identifier, columns in this order."""
        chosen = rows.numbers[order]
        data: RankingColumns = {"row": chosen}
        if self.identifier is not None:
            assert isinstance(self.file.content, pa.Table)
            cells = self.file.content.column(self.identifier).take(pa.array(chosen - 1))
            data[self.identifier] = ["" if v is None else str(v) for v in cells.to_pylist()]
        for why in columns.get("why", ())[:1]:
            # What the reasons show of texts stands before them.
            shown = {name: [one.excerpts[name] for one in columns["why"]] for name in why.excerpts}
            columns = {**shown, **columns}
        if not any(columns.get("why", ())):
            columns = {name: values for name, values in columns.items() if name != "why"}
        return pd.DataFrame({**data, **columns})
