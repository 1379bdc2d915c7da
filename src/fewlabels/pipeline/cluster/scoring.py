"""Scores of the rows of files, given by the workers of a cluster."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator
from copy import copy
from typing import TYPE_CHECKING

import pyarrow as pa

from ..._util.messages import UserError
from ...tables.columns.tally import Tally
from ...tables.reading.chunks import input_columns
from ...tables.sources import Source
from ..observer import Observer
from ..scored_rows import Counts, Output, RowScorer, ScoredPieces
from .files import translate_worker_errors

if TYPE_CHECKING:
    from distributed import Client, Future

# Files for each worker that are scored, or wait to be written, at a time.
_FILES_PER_WORKER = 2


class ClusterPieces:
    """The rows of files with their scores, in order, and what workers have counted."""

    def __init__(
        self,
        client: Client,
        scorer: RowScorer,
        files: list[Source],
        tally: Tally,
        observer: Observer,
    ) -> None:
        self.client, self.scorer, self.files = client, scorer, files
        self.tally, self.observer = tally, observer
        self.counts = Counts(scorer.metadata)

    def iterate_written(self, output: Output) -> Generator[tuple[pa.Table], None, None]:
        """Yield what the function that writes tables is called with, piece by piece."""
        how = output, self.tally.skip_missing
        with translate_worker_errors():
            scorer = self.client.scatter(self.scorer, broadcast=True)
            left = iter(self.files)
            waiting: deque[Future] = deque()
            most, schema = _FILES_PER_WORKER * len(self.client.nthreads()), None
            for done, own in enumerate(self.files, 1):
                while len(waiting) < most and (file := next(left, None)) is not None:
                    waiting.append(
                        self.client.submit(score_file_part, scorer, file, *how, pure=False)
                    )
                tables, counts, wordless, tally = waiting.popleft().result()
                self.counts.join(counts)
                self.scorer.wordless.update(wordless)
                self.tally.join(tally)
                self.observer.rows(self.counts.n_rows, done / len(self.files))
                for table in tables:
                    schema = schema or table.schema
                    yield (_cast_like_first(table, schema, own),)


def _cast_like_first(table: pa.Table, schema: pa.Schema, file: Source) -> pa.Table:
    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise UserError(
            f"{file} has other column types than the first file; score it separately, or convert "
            "the files."
        ) from error


def score_file_part(
    scorer: RowScorer, file: Source, output: Output, skip_missing: bool
) -> tuple[list[pa.Table], Counts, Counter[str], Tally]:
    """Return tables of the rows of a file with their scores, and what was counted."""
    own = input_columns(file, scorer.schema)
    if own != output.columns:
        raise UserError(
            f"{file} has other columns than the first file, or in another order; score it "
            "separately."
        )
    scorer = copy(scorer)  # other threads have it, too
    scorer.wordless = Counter()
    pieces = ScoredPieces(scorer, file, Tally(file, skip_missing), Observer())
    # With cells that are made safe all of a row is taken apart.
    found = [rows[0] for rows in pieces.iterate_written(output._replace(safe_cells=True))]
    pieces.tally.check()
    return found, pieces.counts, scorer.wordless, pieces.tally
