"""Scores of the rows of a table, as another table or as a file."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from ..._typing import PathLike, TableLike
from ..._util.messages import UserError, listing, ref
from ...tables.atomic import replacing
from ...tables.background import background_writer
from ...tables.formats.registry import is_compressed, table_writer
from ...tables.models.cautions import list_cautions, list_reminders, no_signal_headline
from ...tables.paths import check_output, output_format
from ...tables.reading.chunks import input_columns
from ...tables.sources import DataSource, input_format
from ...tables.user_data import make_source
from ..cluster_files import connect_cluster, list_files, split_files
from ..observer import Observer, interruptible
from ..options.documentation import takes
from ..options.score import ScoreFileOptions, ScoreOptions
from .chunks import score_chunks
from .cluster import score_on_cluster
from .counts import ScoringCounts
from .discoveries import mark_discoveries
from .layout import FileLayout, WrittenChunk
from .scorer import FittedTable, Scorer


@takes(ScoreOptions, 2)
def score(model: PathLike | FittedTable, data: TableLike, **options: Any) -> pd.DataFrame:
    """Score the rows of a table.

    Parameters
    ----------
    model : path-like or TableFit
        The model file, or what ``fit_table`` returned.
    data : path-like, DataFrame, ndarray or sparse matrix
        The table.
    **options
        The fields of ``fewlabels.pipeline.options.score.ScoreOptions``.

    Returns
    -------
    DataFrame
        The columns that ``fewlabels predict`` adds: ``score``, ``label`` and, as the model has
        them, ``positive`` and ``p_value`` or ``probability``; with ``fdr`` also ``discovery``. It
        has the index of a pandas data frame, and is one of polars where the data are.
    """
    asked = ScoreOptions.from_given(options)
    observer = asked.observer or Observer()
    source = make_source(data, **asked.reading)
    scorer = Scorer(model, asked.n_jobs, asked.empty_rows, asked.trusted)
    scorer, _ = mark_discoveries(scorer, source, asked, observer)
    counts = ScoringCounts(scorer, source, asked.skip_missing)
    chunks = score_chunks(scorer, source, counts, observer)
    table = pa.concat_tables([pa.table(scored.columns) for _, scored in chunks])
    if type(data).__module__.startswith("polars"):
        import polars

        return polars.from_arrow(table)
    frame = table.to_pandas()
    return frame.set_index(data.index) if isinstance(data, pd.DataFrame) else frame


@takes(ScoreFileOptions, 3)
def score_file(
    model: PathLike | FittedTable, data: TableLike, out: PathLike, **options: Any
) -> dict[str, Any]:
    """Score the rows of a table and write them with their scores.

    Parameters
    ----------
    model : path-like or TableFit
        The model file, or what ``fit_table`` returned.
    data : path-like, DataFrame, ndarray or sparse matrix
        The table.
    out : path-like
        The table to write.
    **options
        The fields of ``fewlabels.pipeline.options.score.ScoreFileOptions``.

    Returns
    -------
    dict
        Counts and seconds.
    """
    started = time.perf_counter()
    asked = ScoreFileOptions.from_given(options)
    observer = asked.observer or Observer()
    source = make_source(data, **asked.reading)
    form = asked.form or output_format(out)
    if not asked.on_cluster:
        input_format(source)  # an unknown format is refused first
    files = list_files(source) if asked.on_cluster else []
    sources: Sequence[DataSource] = files or [source]
    first = sources[0]
    scorer = Scorer(model, _threads(asked), asked.empty_rows, asked.trusted)
    if asked.fdr is not None and asked.on_cluster:
        raise UserError(f"{ref('fdr')} isn't available on a cluster; omit it.")
    scorer, discoveries = mark_discoveries(scorer, first, asked, observer, asked.chunk_rows)
    columns = input_columns(first, scorer.schema)
    # Workers send whole tables: rows are taken apart.
    safe_cells = asked.safe_cells or asked.on_cluster
    layout = FileLayout(columns, form, asked.prefix, safe_cells)
    _check_free(layout, scorer, first)
    check_output(out, inputs=[*sources, model])
    counts = ScoringCounts(scorer, first, asked.skip_missing)
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruptible("no scores were written", out))
        if asked.on_cluster:
            client = stack.enter_context(connect_cluster(asked.scheduler, asked.workers))
            parts = split_files(files, client)
            written: Generator[WrittenChunk, None, None] = score_on_cluster(
                client, scorer, parts, layout, counts, observer, chunk_rows=asked.chunk_rows
            )
        else:
            written = _assembled_chunks(scorer, first, layout, counts, observer, asked.chunk_rows)
        temporary = stack.enter_context(replacing(out))
        with (
            table_writer(temporary, form, is_compressed(out), asked.safe_cells) as append,
            background_writer(append) as write,
            contextlib.closing(written),
        ):
            for arguments in written:
                write(*arguments)
    return {
        "model": scorer.source,
        "data": str(source),
        "output": str(out),
        **_facts(scorer, counts, discoveries, asked.prefix),
        "seconds": time.perf_counter() - started,
    }


def _threads(options: ScoreFileOptions) -> int | None:
    """Return the threads of a model; each worker of a cluster has one, if nothing was given."""
    return 1 if options.on_cluster and options.n_jobs is None else options.n_jobs


def _assembled_chunks(
    scorer: Scorer,
    data: DataSource,
    layout: FileLayout,
    counts: ScoringCounts,
    observer: Observer,
    chunk_rows: int | None,
) -> Generator[WrittenChunk, None, None]:
    """Yield what the function that writes tables is called with, chunk by chunk."""
    lines = layout.copies_lines(data)
    chunks = score_chunks(scorer, data, counts, observer, chunk_rows=chunk_rows, lines=lines)
    with contextlib.closing(chunks):
        for chunk, scored in chunks:
            yield layout.assemble(chunk, scored, scorer.schema)


def _check_free(layout: FileLayout, scorer: Scorer, data: DataSource) -> None:
    """Refuse new columns with names that the file has already."""
    names = scorer.columns.names
    taken = [f"{layout.prefix}{n}" for n in names if f"{layout.prefix}{n}" in layout.columns]
    if taken:
        noun = "a column" if len(taken) == 1 else "columns"
        raise UserError(
            f"{data} already has {noun} {listing(taken)}; pass {ref('prefix', some='NAME_')} to "
            f"write {listing('NAME_' + name for name in names)}."
        )


def _facts(
    scorer: Scorer, counts: ScoringCounts, discoveries: dict[str, Any], prefix: str
) -> dict[str, Any]:
    """Return what was found, as plain values."""
    training = scorer.metadata["training"]
    silent = no_signal_headline(training)
    return {
        "method": scorer.metadata["method"],
        "columns": [f"{prefix}{name}" for name in scorer.columns.names],
        "answers": list(scorer.columns.sides),
        "rows": counts.n_rows,
        **counts.sides,
        "labeled": counts.labels.facts(),
        **discoveries,
        "cautions": list_cautions(training),
        "reminders": list_reminders(training),
        **({} if silent is None else {"no_signal": silent}),
        "filled": counts.tally.filled,
        "empty_rows": {"count": counts.tally.empty, "are": scorer.schema.empty_rows},
        "notes": counts.tally.remarks,
        "unseen_categories": counts.unseen.rows,
        "unseen_values": counts.unseen.most_frequent,
        "texts_without_known_words": {name: n for name, n in counts.wordless.items() if n},
    }
