"""The rows of a table, piece by piece, with their scores."""

import contextlib
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..tables.background import ahead
from ..tables.columns.column import blank, is_text, numbers
from ..tables.columns.tally import Unseen
from ..tables.columns.target import key_of_target
from ..tables.formats.registry import FORMATS
from ..tables.reading.chunks import iterate_chunks
from ..tasks import task_of


class KnownLabels:
    """Counts labelled rows by class, and how many of them get their own label from the model.

    ``column`` is the target of the model with this ``metadata``; None if there is nothing to
    compare. Values that are no class of the model count as no label.
    """

    def __init__(self, metadata):
        training, task = metadata["training"], task_of(metadata["machine"])
        self.column = training.get("target") if task.takes_labels else None
        names = task.class_names(training).values()
        self._key = key_of_target(training)
        self._name_of = {self._key(str(name)): str(name) for name in names if name is not None}
        self.rows, self.agreeing = Counter(), Counter()

    def count(self, texts, labels):
        """Count rows by their ``texts`` in the target, and the ``labels`` they get."""
        import pandas as pd

        codes, given = pd.factorize(np.asarray(texts, dtype=object))
        for k, (text, is_blank) in enumerate(zip(given, blank(given), strict=True)):
            name = None if is_blank else self._name_of.get(self._key(text))
            if name is not None:
                rows = codes == k
                self.rows[name] += int(rows.sum())
                self.agreeing[name] += int(np.sum(labels[rows] == name))

    def facts(self):
        """Counts by class, plain values only."""
        return {
            name: {"rows": n, "agreeing": self.agreeing[name]}
            for name, n in sorted(self.rows.items())
        }

    def update(self, other):
        """Take over the counts of other rows."""
        self.rows.update(other.rows)
        self.agreeing.update(other.agreeing)


class Counts:
    """What is counted of rows that are scored, by a model with this ``metadata``.

    ``sides`` are rows by what the model says, ``unseen`` those with categories that it does not
    know, and ``known`` those with labels.
    """

    def __init__(self, metadata):
        self.n_rows = 0
        self.sides, self.unseen = Counter(), Unseen()
        self.known = KnownLabels(metadata)

    def join(self, other):
        """Take over the counts of other rows."""
        self.n_rows += other.n_rows
        self.sides.update(other.sides)
        self.unseen.join(other.unseen)
        self.known.update(other.known)


class Output(NamedTuple):
    """How rows are written: new columns of these ``names`` next to the ``columns`` of a file.

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

    def __init__(self, scorer, data, tally, observer):
        self.scorer, self.data, self.tally, self.observer = scorer, data, tally, observer
        self.counts = Counts(scorer.metadata)

    def written(self, output):
        """What the function that writes tables is called with, piece by piece."""
        # Rows that are written the same way need not be taken apart and put together again.
        lines = written_as(self.data, output.form) and not output.safe_cells
        with contextlib.closing(self.run(output.names, output.chunk_rows, lines)) as found:
            for chunk, arrays in found:
                yield rows_with(chunk, arrays, output.columns, self.scorer.schema, output.form)

    def run(self, names, chunk_rows=None, lines=False):
        """Pieces and their new columns, by name; the next ones are read meanwhile."""
        scorer, answer, counts = self.scorer, self.scorer.answer, self.counts
        chunks = iterate_chunks(
            self.data, scorer.schema, self.tally, chunk_rows, counts.known.column, lines=lines
        )
        with contextlib.closing(ahead(chunks)) as chunks:
            for chunk in chunks:
                # Once something is wrong, read on only to count how much is.
                if not self.tally.refuses:
                    scores, more = scorer.score(chunk, self.data, counts.n_rows)
                    arrays = answer.arrays(scores, more)
                    yield chunk, dict(zip(names, arrays, strict=True))
                    if chunk.target is not None:
                        labels = arrays[answer.columns.index("label")].to_numpy(False)
                        counts.known.count(chunk.target, labels)
                    counts.sides.update(answer.count(scores))
                    counts.n_rows += len(scores)
                    counts.unseen.add(chunk.rows, scorer.known)
                self.observer.rows(counts.n_rows, chunk.share)


def written_as(data, form):
    """Whether rows of delimited text are in a file as they would be written in this format."""
    return (
        data.format.separator is not None
        and data.dialect.header
        and data.dialect.sep == FORMATS[form].separator
    )


def rows_with(chunk, arrays, columns, schema, form):
    """What the function that writes tables is called with: a piece as read, and new columns.

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
