"""Scores of the rows of files, given by the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING

import pyarrow as pa

from ..._util.messages import UserError
from ...tables.reading.chunks import input_columns
from ...tables.sources import Source
from ..cluster_files import translate_worker_errors
from ..observer import Observer
from .chunks import score_chunks
from .counts import ScoringCounts
from .layout import FileLayout
from .scorer import Scorer

if TYPE_CHECKING:
    from distributed import Client, Future

# Files for each worker that are scored, or wait to be written, at a time.
_FILES_PER_WORKER = 2


def score_on_cluster(
    client: Client,
    scorer: Scorer,
    files: list[Source],
    layout: FileLayout,
    counts: ScoringCounts,
    observer: Observer,
    *,
    chunk_rows: int | None = None,
) -> Generator[tuple[pa.Table], None, None]:
    """Yield the rows of files with their scores, in order, as tables to be written."""
    how = layout, counts.tally.skip_missing, chunk_rows
    with translate_worker_errors():
        model = client.scatter(scorer, broadcast=True)
        left = iter(files)
        waiting: deque[Future] = deque()
        most, schema = _FILES_PER_WORKER * len(client.nthreads()), None
        for done, file in enumerate(files, 1):
            while len(waiting) < most and (new := next(left, None)) is not None:
                waiting.append(client.submit(score_part, model, new, *how, pure=False))
            tables, of_file = waiting.popleft().result()
            counts.join(of_file)
            observer.rows(counts.n_rows, done / len(files))
            for table in tables:
                schema = schema or table.schema
                yield (_cast_like_first(table, schema, file),)


def _cast_like_first(table: pa.Table, schema: pa.Schema, file: Source) -> pa.Table:
    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise UserError(
            f"{file} has other column types than the first file; score it separately, or convert "
            "the files."
        ) from error


def score_part(
    scorer: Scorer, file: Source, layout: FileLayout, skip_missing: bool, chunk_rows: int | None
) -> tuple[list[pa.Table], ScoringCounts]:
    """Return tables of the rows of a file with their scores, and what was counted."""
    if input_columns(file, scorer.schema) != layout.columns:
        raise UserError(
            f"{file} has other columns than the first file, or in another order; score it "
            "separately."
        )
    counts = ScoringCounts(scorer, file, skip_missing)
    chunks = score_chunks(scorer, file, counts, Observer(), chunk_rows=chunk_rows)
    # Without lines of text, all that is assembled is a table.
    tables = [layout.assemble(chunk, scored, scorer.schema)[0] for chunk, scored in chunks]
    return tables, counts
