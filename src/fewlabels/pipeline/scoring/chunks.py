"""The loop of every scoring: chunks of a table with what a model says of their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from ...tables.background import prefetch
from ...tables.reading.chunks import Chunk, iterate_chunks
from ...tables.sources import DataSource
from ..observer import Observer
from .counts import ScoringCounts
from .scorer import ScoredRows, Scorer


def score_chunks(
    scorer: Scorer,
    data: DataSource,
    counts: ScoringCounts,
    observer: Observer,
    *,
    chunk_rows: int | None = None,
    lines: bool = False,
) -> Generator[tuple[Chunk, ScoredRows], None, None]:
    """Yield chunks of a table and what the model says of them; the next are read meanwhile.

    ``chunk_rows`` are held at a time. With ``lines`` rows of delimited text are wanted as they
    are in the file. Rows that can't be used are an error at the end.
    """
    target = counts.labels.column
    chunks = iterate_chunks(
        data, scorer.schema, counts.tally, chunk_rows, target, lines=lines, may_be_empty=True
    )
    with contextlib.closing(prefetch(chunks)) as ahead:
        for chunk in ahead:
            # Once something is wrong, read on only to count how much is.
            if not counts.tally.refuses:
                scored = scorer.score(chunk, data, counts.n_rows)
                yield chunk, scored
                counts.add(chunk, scored, scorer)
            observer.rows(counts.n_rows, chunk.share)
