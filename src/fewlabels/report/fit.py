"""A fit as the collector gets it, and what all tasks ask of it."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from .._util.deadline import Deadline
from ..tables.columns.column import numbers
from ..tables.columns.schema import Schema
from ..tables.reading.training import rows_for

# Kernel values of one pass over the training rows; beyond, rows are sampled.
_MOST_VALUES = 4e9
# Rows that are scored for the time it takes, and the share of the time that all of them may take.
_TIMED, _SCORING = 500, 0.2


class ReportRows(NamedTuple):
    """Rows of the file, as the encoder and as the model take them, and their numbers from 1."""

    inputs: Any
    X: Any
    numbers: np.ndarray


@dataclass(frozen=True)
class Fit:
    """A model fitted to rows ``found`` in a ``file``, which the ``encoder`` turned into ``X``.

    ``y`` are labels as the model got them, ``metadata`` what the model file says; there may be a
    ``profile`` of the columns, a ``tuning`` and a ``comparison`` with other methods. What takes
    long ends with the ``deadline``. ``held`` are decisions about the training rows by models that
    were trained without them, and ``shares`` the ``ClassShares``, if these are known. ``groups``
    are numbers of groups of rows that are held out together and count once, if there are any.
    """

    file: Any
    found: Any
    encoder: Any
    estimator: Any
    X: Any
    y: np.ndarray | None
    metadata: dict
    profile: list | None = None
    tuning: Any = None
    comparison: Any = None
    deadline: Deadline = field(default_factory=Deadline)
    held: Any = None
    shares: Any = None
    groups: Any = None

    @property
    def training(self):
        return self.metadata["training"]

    @property
    def trained(self):
        return ReportRows(self.found.rows, self.X, self.found.numbers)

    def most_rows(self):
        """Rows that are scored in a few seconds, or in a part of those until the deadline."""
        values = max(1, len(getattr(self.estimator, "support_", self.found.numbers)))
        most = int(_MOST_VALUES / values)
        if self.deadline.is_near and self.X.shape[0] > _TIMED:
            most = min(most, max(_TIMED, int(_SCORING * self.deadline.left() / self._seconds)))
        return most

    @cached_property
    def _seconds(self):
        """Seconds that the score of a row takes."""
        rows = self.X[:_TIMED]
        since = time.perf_counter()
        self.estimator.decision_function(rows)
        return max(time.perf_counter() - since, 1e-6) / rows.shape[0]

    @cached_property
    def scored(self):
        """Training rows that are scored: all, or a sample where that would take long."""
        n, most = self.X.shape[0], self.most_rows()
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, most, replace=False))

    @property
    def is_sampled(self):
        return len(self.scored) < self.X.shape[0]

    @cached_property
    def decisions(self):
        """What ``predict`` writes as score, of the rows in :attr:`scored`."""
        return self.estimator.decision_function(self.X[self.scored])

    def others(self, positions):
        """Rows of the file that were not trained on, by position from 0; a sample of many.

        Those that the model cannot take are left out; a UserError says why none fits.
        """
        if len(positions) > self.most_rows():
            rng = np.random.default_rng(0)
            positions = np.sort(rng.choice(positions, self.most_rows(), replace=False))
        schema = Schema.from_dict(self.metadata["schema"])
        inputs, numbers = rows_for(self.file, schema, positions)
        return ReportRows(inputs, self.encoder.transform(inputs), numbers)

    @cached_property
    def identifier(self):
        """Name of a column that names the rows, None without one."""
        if not isinstance(self.file.content, pa.Table):
            return None
        for column in self.profile or ():
            if column.kind != "left out":
                continue
            if column.note.startswith("an identifier"):
                return column.name
            if column.note == "counts the rows" and not self._is_row_number(column.name):
                return column.name
        return None

    def _is_row_number(self, name):
        values = numbers(self.file.content.column(name))[0]
        return bool(np.ptp(values - np.arange(len(values))) == 0)

    def table(self, rows, order, columns):
        """Rows for people: number in the file, identifier, further columns in the order given."""
        chosen = rows.numbers[order]
        data = {"row": chosen}
        if self.identifier is not None:
            cells = self.file.content.column(self.identifier).take(pa.array(chosen - 1))
            data[self.identifier] = ["" if v is None else str(v) for v in cells.to_pylist()]
        for why in columns.get("why", ())[:1]:
            # What the reasons show of texts stands before them.
            shown = {name: [one.excerpts[name] for one in columns["why"]] for name in why.excerpts}
            columns = {**shown, **columns}
        if not any(columns.get("why", ())):
            columns = {name: values for name, values in columns.items() if name != "why"}
        return pd.DataFrame({**data, **columns})
