"""Rows of a table on their way into a model."""

from __future__ import annotations

from collections import Counter

from ..io.errors import UserError, plural
from ..io.tables.chunks import iterate_chunks
from ..io.tables.encoding import known_categories
from ..io.tables.new_labels import NewLabels
from ..io.tables.tally import Tally, filled_words, unseen_words


class MoreRows:
    """The rows to add: checked as a whole first, then encoded piece by piece.

    Labels are those of ``target``, else of the model's target where the data have it, or none with
    ``no_labels``. ``n_read`` counts the rows of the table (None has none), ``n_rows`` those that
    will be added, ``labels`` their labels; ``filled`` and ``unseen`` count by column the missing
    numbers that the model fills in and the rows with categories that it does not know.
    """

    def __init__(
        self, pipeline, schema, metadata, data, target, no_labels, skip_missing, chunk_rows
    ):
        self.encoder, self.schema, self.data = pipeline[:-1], schema, data
        self.metadata, self.skip_missing, self.chunk_rows = metadata, skip_missing, chunk_rows
        known = known_categories(pipeline[0], schema)
        fitted_to = metadata["training"]["target"]
        if target is not None and fitted_to is None and data is not None:
            raise UserError(
                f"The model was fitted without a target, so labels mean nothing to it; leave "
                f"--target '{target}' out."
            )
        self.target, self.needed = target or fitted_to, target is not None
        if no_labels:
            self.target = None
        self.n_rows = self.n_read = 0
        unseen = Counter()
        for chunk, keep, _ in self._pieces():
            self.n_rows += int(keep.sum())
            self.n_read += len(keep)
            for name, categories in known.items():
                unseen[name] += int((~chunk.rows[name].isin(categories)).sum())
        self.unseen = {name: count for name, count in unseen.items() if count}
        self._check()
        self.notes = self._notes()

    def _pieces(self):
        """Pieces of the file with the rows kept and their labels; raises at the end."""
        tally = Tally(self.data, self.skip_missing)
        self.filled = tally.filled
        self.labels = NewLabels(self.metadata, self.data, self.target)
        if self.data is None:
            return
        done = 0
        for chunk in iterate_chunks(
            self.data, self.schema, tally, self.chunk_rows, self.target, self.needed
        ):
            yield (chunk, *self.labels.read(chunk.target, chunk.complete, done + 1))
            done += len(chunk.complete)
        tally.check()

    def _check(self):
        if not self.n_rows and self.data is not None:
            raise UserError(
                f"{self.data} has no row that could be added: {plural(self.n_read, 'row')} with "
                "missing numbers or of other classes; check the file."
            )

    def _notes(self):
        notes = [unseen_words(self.unseen)] if self.unseen else []
        if self.filled:
            notes.append(filled_words(self.filled))
        n_missing = self.n_read - self.n_rows - self.labels.n_left_out
        if n_missing:
            notes.append(f"{plural(n_missing, 'row')} with missing numbers not added")
        if self.labels.n_left_out:
            notes.append(
                f"{plural(self.labels.n_left_out, 'row')} of other or unknown class not added"
            )
        return notes

    def blocks(self, size):
        """Encoded rows and their labels, at most ``size`` at a time."""
        for chunk, keep, y in self._pieces():
            kept = keep[chunk.complete]
            if not kept.any():
                continue
            X = self.encoder.transform(chunk.rows[kept])
            for start in range(0, X.shape[0], size):
                part = slice(start, start + size)
                yield X[part], None if y is None else y[part]
