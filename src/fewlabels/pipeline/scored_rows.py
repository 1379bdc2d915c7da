"""The rows of a table, piece by piece, with their scores."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from .._typing import FloatArray, ObjectArray
from ..tables.background import prefetch
from ..tables.columns.column import are_blank, is_text, numbers
from ..tables.columns.schema import Schema
from ..tables.columns.tally import Tally, UnknownValues
from ..tables.columns.target import make_target_key
from ..tables.formats.registry import FORMATS
from ..tables.reading.chunks import Chunk, iterate_chunks
from ..tables.sources import InMemory, Source
from ..tasks import method_of, task_of

# What the function that writes tables is called with: rows, or new columns behind lines of text.
WrittenPiece: TypeAlias = tuple[pa.Table] | tuple[pa.Table, pa.Array, list[str]]


class RowAnswer(Protocol):
    """Labels and columns for the scores of a model."""

    @property
    def columns(self) -> list[str]: ...

    def arrays(self, scores: FloatArray, more: FloatArray | None = None) -> list[pa.Array]: ...

    def count_rows(self, scores: FloatArray) -> dict[str, int]: ...


class RowScorer(Protocol):
    """A model that scores pieces of a table."""

    schema: Schema
    metadata: dict[str, Any]
    known: dict[str, Any]
    wordless: Counter[str]

    @property
    def answer(self) -> RowAnswer: ...

    def score(
        self, chunk: Chunk, data: Source | InMemory, done: int
    ) -> tuple[FloatArray, FloatArray | None]: ...


class RowObserver(Protocol):
    """Receives how many rows were scored."""

    def rows(self, done: int, share: float) -> None: ...


class KnownLabels:
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
        self.make_agree: Counter[str] = Counter()

    def count(self, texts: ObjectArray, labels: ObjectArray) -> None:
        """Count rows by their ``texts`` in the target, and the ``labels`` they get."""
        import pandas as pd

        codes, given = pd.factorize(np.asarray(texts, dtype=object))
        for k, (text, is_blank) in enumerate(zip(given, are_blank(given), strict=True)):
            name = None if is_blank else self._name_of.get(self._key(text))
            if name is not None:
                rows = codes == k
                self.rows[name] += int(rows.sum())
                self.make_agree[name] += int(np.sum(labels[rows] == name))

    def facts(self) -> dict[str, dict[str, int]]:
        """Return counts by class, plain values only."""
        return {
            name: {"rows": n, "agreeing": self.make_agree[name]}
            for name, n in sorted(self.rows.items())
        }

    def update(self, other: KnownLabels) -> None:
        """Take over the counts of other rows."""
        self.rows.update(other.rows)
        self.make_agree.update(other.make_agree)


class Counts:
    """Counts of rows that are scored, by a model with this ``metadata``.

    ``sides`` are rows by what the model says, ``unseen`` those with categories that it does not
    know, and ``known`` those with labels.
    """

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.n_rows = 0
        self.sides: Counter[str] = Counter()
        self.unseen = UnknownValues()
        self.known = KnownLabels(metadata)

    def join(self, other: Counts) -> None:
        """Take over the counts of other rows."""
        self.n_rows += other.n_rows
        self.sides.update(other.sides)
        self.unseen.join(other.unseen)
        self.known.update(other.known)


class Output(NamedTuple):
    """A file to write: new columns of these ``names`` next to the ``columns`` of a file.

    ``form`` is the format, and ``chunk_rows`` are held at a time. ``safe_cells``: whether texts
    that a spreadsheet takes for formulas are made safe, for which rows are taken apart.
    """

    names: list[str]
    columns: list[str]
    form: str
    chunk_rows: int | None = None
    safe_cells: bool = False


class ScoredPieces:
    """The rows of a table piece by piece with their scores, and what is counted on the way."""

    def __init__(
        self, scorer: RowScorer, data: Source | InMemory, tally: Tally, observer: RowObserver
    ) -> None:
        self.scorer, self.data, self.tally, self.observer = scorer, data, tally, observer
        self.counts = Counts(scorer.metadata)

    def iterate_written(self, output: Output) -> Generator[WrittenPiece, None, None]:
        """Yield what the function that writes tables is called with, piece by piece."""
        # Rows that are written the same way need not be taken apart and put together again.
        lines = has_same_text(self.data, output.form) and not output.safe_cells
        with contextlib.closing(self.run(output.names, output.chunk_rows, lines)) as found:
            for chunk, arrays in found:
                yield assemble_piece(
                    chunk, arrays, output.columns, self.scorer.schema, output.form
                )

    def run(
        self, names: Sequence[str], chunk_rows: int | None = None, lines: bool = False
    ) -> Generator[tuple[Chunk, dict[str, pa.Array]], None, None]:
        """Yield pieces and their new columns, by name; the next ones are read meanwhile."""
        scorer, answer, counts = self.scorer, self.scorer.answer, self.counts
        chunks = iterate_chunks(
            self.data, scorer.schema, self.tally, chunk_rows, counts.known.column, lines=lines
        )
        with contextlib.closing(prefetch(chunks)) as chunks:
            for chunk in chunks:
                # Once something is wrong, read on only to count how much is.
                if not self.tally.refuses:
                    scores, more = scorer.score(chunk, self.data, counts.n_rows)
                    arrays = answer.arrays(scores, more)
                    yield chunk, dict(zip(names, arrays, strict=True))
                    if chunk.target is not None:
                        labels = arrays[answer.columns.index("label")].to_numpy(False)
                        counts.known.count(chunk.target, labels)
                    counts.sides.update(answer.count_rows(scores))
                    counts.n_rows += len(scores)
                    counts.unseen.add(chunk.rows, scorer.known)
                self.observer.rows(counts.n_rows, chunk.share)


def has_same_text(data: Source | InMemory, form: str) -> bool:
    """Return whether rows of text can be copied as they are into this format."""
    return (
        isinstance(data, Source)
        and data.format.separator is not None
        and data.dialect.header
        and data.dialect.sep == FORMATS[form].separator
    )


def assemble_piece(
    chunk: Chunk, arrays: dict[str, pa.Array], columns: list[str], schema: Schema, form: str
) -> WrittenPiece:
    """Assemble what the function that writes tables is called with, of a piece as read.

    ``columns`` are the names of the file's columns, ``form`` is the format to write.
    """
    if chunk.lines is not None:
        return pa.table(arrays), chunk.lines, columns
    table = chunk.table
    if FORMATS[form].separator is None:
        # Cells of delimited text are still text here; what the model took as numbers
        # becomes numbers in a typed file.
        for name in schema.names("number"):
            if name not in table.column_names or name in chunk.odd:
                continue
            if is_text(table.column(name).type):
                values = pa.array(numbers(table.column(name))[0], from_pandas=True)
                table = table.set_column(table.column_names.index(name), name, values)
    return (pa.table([*table.columns, *arrays.values()], names=[*table.column_names, *arrays]),)
