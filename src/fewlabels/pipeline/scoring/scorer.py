"""A model that is ready to score, and what it says of rows."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from ..._typing import FloatArray, PathLike, RowMatrix
from ..._util.messages import UserError, ref
from ...base.locking import take_snapshot
from ...tables.columns.schema import Schema
from ...tables.encoding.fit import count_wordless, known_categories
from ...tables.models.cautions import no_signal_headline
from ...tables.models.files import damaged_model_error, load_model
from ...tables.reading.chunks import Chunk
from ...tables.sources import DataSource
from ...tasks import method_of, task_of
from ..tasks.score_columns import ClassColumns, ThresholdColumns
from ..tasks.steps import steps_of

if TYPE_CHECKING:
    import pandas as pd


class FittedTable(Protocol):
    """A model of a table in memory, as :class:`TableFit` has it."""

    @property
    def model(self) -> Pipeline: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def metadata(self) -> dict[str, Any]: ...


class ScoredRows(NamedTuple):
    """Scores of some rows by a model, and what they mean.

    ``scores`` have a column for each of several classes. They are NaN for rows that can't be
    scored, and -inf for rows without any value that count as outside. ``extra`` are p-values or
    probabilities, where the model has any. ``columns`` are the new columns of a table by name,
    ``sides`` counts rows by what the model says, and ``wordless`` texts without a known word by
    column.
    """

    scores: FloatArray
    extra: FloatArray | None
    columns: dict[str, pa.Array]
    sides: dict[str, int]
    wordless: Mapping[str, int]


class Scorer:
    """A model, from a file or a :class:`TableFit`, ready to score.

    Has what the file holds (``pipeline``, ``schema``, ``metadata``), its name ``source``, the
    ``columns`` that its scores become, and the categories seen in training by column (``known``).
    ``empty_rows`` is what becomes of rows without any value; None: what the model says.
    ``trusted`` are types of a candidate that a file may hold.
    """

    columns: ThresholdColumns | ClassColumns

    def __init__(
        self,
        model: PathLike | FittedTable,
        n_jobs: int | None = None,
        empty_rows: str | None = None,
        trusted: Collection[str] = (),
    ) -> None:
        if isinstance(model, str | os.PathLike):
            self.source = str(model)
            self.pipeline, self.schema, self.metadata = load_model(model, trusted)
        else:
            self.source = "the model"
            self.schema, self.metadata = model.schema, model.metadata
            self.pipeline = take_snapshot(model.model)
        if empty_rows is not None and self.schema.empty_rows:
            self.schema = replace(self.schema, empty_rows=empty_rows)
        self._model = self.pipeline[-1]
        if n_jobs is not None:
            self._model = copy.copy(self._model).set_params(n_jobs=n_jobs)
            self.pipeline = Pipeline([*self.pipeline.steps[:-1], ("model", self._model)])
        self.known = known_categories(self.pipeline[0], self.schema)
        extra = self._extra_column()
        # Without a signal or a curve the column of probabilities is there, and blank.
        is_known = extra != "probability" or getattr(self._model, "has_curve_", False)
        if no_signal_headline(self.metadata["training"]) is not None:
            is_known = False
        self._extra_kind = extra if is_known else None
        try:
            steps = steps_of(task_of(method_of(self.metadata)))
            self.columns = steps.score_columns(self.metadata["training"], extra)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged_model_error(self.source) from error

    def with_columns(self, columns: ThresholdColumns) -> Self:
        """Return the same model with other columns for its scores."""
        scorer = copy.copy(self)
        scorer.columns = columns
        return scorer

    def score(self, chunk: Chunk, data: DataSource, n_before: int) -> ScoredRows:
        """Score the rows of a chunk; ``n_before`` rows of ``data`` came before, for messages."""
        complete, of_class = chunk.complete, isinstance(self.columns, ClassColumns)
        shape = (len(complete), len(self.columns.labels)) if of_class else len(complete)
        scores = np.full(shape, np.nan)
        extra = None if self.columns.extra is None else np.full(shape, np.nan)
        wordless: Mapping[str, int] = {}
        if self.schema.empty_rows == "alarm":
            # Nothing is further outside, so the p-value is the smallest.
            scores[chunk.empty] = -np.inf
            if extra is not None and self._extra_kind == "p_value":
                extra[chunk.empty] = 1.0 / (len(self._model.conformal_.scores) + 1)
        if complete.any():
            scores[complete], found, wordless = self._decide(chunk.rows)
            if extra is not None and found is not None:
                extra[complete] = found
        finite = np.isfinite(scores).all(axis=1) if of_class else np.isfinite(scores)
        failed = np.flatnonzero(complete & ~finite)
        if failed.size and np.isneginf(getattr(self._model, "offset_", 0.0)):
            raise UserError(
                f"{self.source} flags no row, because it was calibrated on too few distinct "
                f"rows; fit it again with a larger {ref('target_fpr')}, or without one."
            )
        if failed.size:
            raise UserError(
                f"Row {n_before + failed[0] + 1} of {data} is too far from the training rows to "
                "be scored; check its numbers."
            )
        return self._describe(scores, extra, wordless)

    def score_complete(self, rows: pd.DataFrame | RowMatrix) -> ScoredRows:
        """Score rows without missing numbers."""
        return self._describe(*self._decide(rows))

    def _decide(
        self, rows: pd.DataFrame | RowMatrix
    ) -> tuple[FloatArray, FloatArray | None, Mapping[str, int]]:
        """Encode complete rows, and return scores, what comes with them, and wordless texts.

        The kernel is evaluated once for both, but for a PUEnsemble.
        """
        X = self.pipeline[:-1].transform(rows)
        wordless = count_wordless(self.pipeline[0], self.schema, rows, X)
        model = self._model
        if self._extra_kind == "p_value":
            # Decisions of a calibrated model are these differences to the last bit.
            scores = model.score_samples(X)
            return scores - model.offset_, model.conformal_.p_values(scores), wordless
        decisions = model.decision_function(X)
        if self._extra_kind is None:
            return decisions, None, wordless
        chances = model.curve_(decisions)
        return decisions, chances[:, 1] if decisions.ndim == 1 else chances, wordless

    def _describe(
        self, scores: FloatArray, extra: FloatArray | None, wordless: Mapping[str, int]
    ) -> ScoredRows:
        columns = self.columns.describe(scores, extra)
        return ScoredRows(scores, extra, columns, self.columns.count_rows(scores), wordless)

    def _extra_column(self) -> str | None:
        """Return what the model says next to scores, by name of its column; None for nothing.

        It depends on what was requested, not on what the fit found: the column is blank where
        nothing is known.
        """
        if hasattr(self._model, "p_values"):
            return None if self._model.target_fpr is None else "p_value"
        asked = getattr(self._model, "probability", "requested")
        return None if asked is None else "probability"
