"""Counts of the rows that have been scored."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._typing import ObjectArray
from ...tables.columns.column import are_blank
from ...tables.columns.tally import Tally, UnknownValues
from ...tables.columns.target import make_target_key
from ...tasks import method_of, task_of

if TYPE_CHECKING:
    from ...tables.reading.chunks import Chunk
    from .scorer import ScoredRows, Scorer


class LabelAgreement:
    """Counts of labelled rows by class, and of those that get their own label.

    ``column`` is the target of the model with this ``metadata``; None if there is nothing to
    compare. Values that are no class of the model count as no label.
    """

    def __init__(self, metadata: dict[str, Any]) -> None:
        training, task = metadata["training"], task_of(method_of(metadata))
        self.column = training.get("target") if task.takes_labels else None
        names = task.class_names(training).values()
        self._key = make_target_key(training)
        self._name_of = {self._key(str(name)): str(name) for name in names if name is not None}
        self.rows: Counter[str] = Counter()
        self.agreeing: Counter[str] = Counter()

    def count(self, texts: ObjectArray, labels: ObjectArray) -> None:
        """Count rows by their ``texts`` in the target, and the ``labels`` they get."""
        import pandas as pd

        codes, given = pd.factorize(np.asarray(texts, dtype=object))
        for k, (text, is_blank) in enumerate(zip(given, are_blank(given), strict=True)):
            name = None if is_blank else self._name_of.get(self._key(text))
            if name is not None:
                rows = codes == k
                self.rows[name] += int(rows.sum())
                self.agreeing[name] += int(np.sum(labels[rows] == name))

    def facts(self) -> dict[str, dict[str, int]]:
        """Return counts by class, plain values only."""
        return {
            name: {"rows": n, "agreeing": self.agreeing[name]}
            for name, n in sorted(self.rows.items())
        }

    def join(self, other: LabelAgreement) -> None:
        """Take over the counts of other rows."""
        self.rows.update(other.rows)
        self.agreeing.update(other.agreeing)


class ScoringCounts:
    """Counts of the rows of ``data`` that a model scores.

    ``tally`` counts cells that can't be used, ``sides`` rows by what the model says, ``unseen``
    rows with categories that it doesn't know, ``wordless`` texts without a known word by column,
    and ``labels`` rows with labels.
    """

    def __init__(self, scorer: Scorer, data: object, skip_missing: bool) -> None:
        self.tally = Tally(data, skip_missing)
        self.n_rows = 0
        self.sides: Counter[str] = Counter()
        self.unseen = UnknownValues()
        self.wordless: Counter[str] = Counter()
        self.labels = LabelAgreement(scorer.metadata)

    def add(self, chunk: Chunk, scored: ScoredRows, scorer: Scorer) -> None:
        """Count the rows of a chunk."""
        self.n_rows += len(scored.scores)
        self.sides.update(scored.sides)
        self.unseen.add(chunk.rows, scorer.known)
        self.wordless.update(scored.wordless)
        if chunk.target is not None:
            self.labels.count(chunk.target, scored.columns["label"].to_numpy(False))

    def join(self, other: ScoringCounts) -> None:
        """Take over the counts of other rows."""
        self.tally.join(other.tally)
        self.n_rows += other.n_rows
        self.sides.update(other.sides)
        self.unseen.join(other.unseen)
        self.wordless.update(other.wordless)
        self.labels.join(other.labels)
