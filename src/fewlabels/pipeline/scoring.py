"""Scores of the rows of a table, as another table or as a file."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Generator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .._typing import PathLike, TableLike
from .._util.messages import UserError, listing, ref
from ..tables.atomic import replacing
from ..tables.background import background_writer
from ..tables.columns.tally import Tally
from ..tables.formats.registry import is_compressed, table_writer
from ..tables.models.cautions import list_cautions, list_reminders, no_signal_headline
from ..tables.paths import check_output, output_format
from ..tables.reading.chunks import input_columns
from ..tables.reading.options import ClusterOptions
from ..tables.sources import DataSource, InMemory, Source, input_format
from ..tables.user_data import make_source
from .answers import Answer, ClassAnswer
from .cluster.files import connect_cluster, list_files, split_files
from .cluster.scoring import ClusterPieces
from .observer import Observer, interruptible
from .options.fit import check
from .scored_rows import Output, ScoredPieces
from .scorer import FittedTable, Scorer


def score(
    model: PathLike | FittedTable,
    data: TableLike,
    *,
    skip_missing: bool = False,
    fdr: float | None = None,
    empty_rows: str | None = None,
    trusted: Collection[str] = (),
    n_jobs: int | None = None,
    observer: Observer | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Score the rows of a table.

    Parameters
    ----------
    model : path-like or TableFit
        The model file, or what ``fit_table`` returned.
    data : path-like, DataFrame, ndarray or sparse matrix
        The table.
    skip_missing : bool
        Leave rows with missing numbers without a score instead of refusing them.
    fdr : float, optional
        False discovery rate of a list of anomalies among these rows, in (0, 1). Needs p-values.
    empty_rows : {"blank", "alarm"}, optional
        Models of one class: what becomes of rows without a value in any column, as in
        :func:`fewlabels.fit_table`; None means as the model was fitted.
    trusted : collection of str
        Types of a candidate that the model file may hold, as its error message names them.
    n_jobs : int, optional
        Threads; None means all cores.
    observer : Observer, optional
        Receives the progress.
    **reading
        ``sep``, ``decimal``, ``encoding``, ``header`` and ``features`` as in
        :func:`fewlabels.fit_table`.

    Returns
    -------
    DataFrame
        The columns that ``fewlabels predict`` adds: ``score``, ``label`` and, as the model has
        them, ``positive`` and ``p_value`` or ``probability``; with ``fdr`` also ``discovery``. It
        has the index of a pandas data frame, and is one of polars where the data are.
    """
    observer = observer or Observer()
    check(n_jobs=n_jobs)
    source = make_source(data, **reading)
    scorer = Scorer(model, n_jobs, empty_rows, trusted)
    if fdr is not None:
        _find_discoveries(scorer, source, fdr, skip_missing=skip_missing, observer=observer)
    pieces = ScoredPieces(scorer, source, Tally(source, skip_missing), observer)
    found = [pa.table(arrays) for _, arrays in pieces.run(scorer.answer.columns)]
    pieces.tally.check()
    table = pa.concat_tables(found)
    if type(data).__module__.startswith("polars"):
        import polars

        return polars.from_arrow(table)
    frame = table.to_pandas()
    return frame.set_index(data.index) if isinstance(data, pd.DataFrame) else frame


def score_file(
    model: PathLike | FittedTable,
    data: TableLike,
    out: PathLike,
    *,
    prefix: str = "",
    skip_missing: bool = False,
    fdr: float | None = None,
    empty_rows: str | None = None,
    safe_cells: bool = False,
    trusted: Collection[str] = (),
    n_jobs: int | None = None,
    chunk_rows: int | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    form: str | None = None,
    observer: Observer | None = None,
    **reading: Any,
) -> dict[str, Any]:
    """Score the rows of a table and write them with their scores.

    ``model``, ``data``, ``skip_missing``, ``fdr``, ``empty_rows``, ``trusted``, ``n_jobs``,
    ``observer`` and ``reading`` are as in :func:`score`.

    Parameters
    ----------
    out : path-like
        The table to write.
    prefix : str
        Put before the names of the new columns.
    safe_cells : bool
        Put an apostrophe before texts that a spreadsheet would take for formulas, such as
        "=HYPERLINK(...)"; only in .csv and .tsv files.
    chunk_rows : int, optional
        Rows held at a time.
    scheduler, workers : str, int, optional
        The address of a Dask cluster, or how many processes to start, that read the files.
    form : str, optional
        The format to write, such as "jsonl"; by default the extension of ``out`` says it.

    Returns
    -------
    dict
        Counts and seconds.
    """
    started = time.perf_counter()
    observer = observer or Observer()
    check(n_jobs=n_jobs, workers=workers)
    data = make_source(data, **reading)
    form = form or output_format(out)
    on_cluster = ClusterOptions(scheduler=scheduler, workers=workers).on_cluster
    if not on_cluster:
        input_format(data)  # what nobody can read is refused first
    cluster_files = list_files(data) if on_cluster else []
    files: Sequence[DataSource] = cluster_files or [data]
    first = files[0]
    scorer = Scorer(model, 1 if on_cluster and n_jobs is None else n_jobs, empty_rows, trusted)
    discoveries = {}
    if fdr is not None:
        if on_cluster:
            raise UserError(f"{ref('fdr')} isn't available on a cluster; omit it.")
        discoveries = _find_discoveries(
            scorer, first, fdr, skip_missing=skip_missing, chunk_rows=chunk_rows, observer=observer
        )
    columns = input_columns(first, scorer.schema)
    silent = no_signal_headline(scorer.metadata["training"])
    added = [f"{prefix}{name}" for name in scorer.answer.columns]
    _check_free(added, columns, scorer.answer, first)
    check_output(out, inputs=[*files, model])
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruptible("no scores were written", out))
        pieces: ScoredPieces | ClusterPieces
        pieces = ScoredPieces(scorer, first, Tally(first, skip_missing), observer)
        if on_cluster:
            client = stack.enter_context(connect_cluster(scheduler, workers))
            parts = split_files(cluster_files, client)
            pieces = ClusterPieces(client, scorer, parts, pieces.tally, observer)
        found: Generator[tuple[Any, ...], None, None]
        found = pieces.iterate_written(Output(added, columns, form, chunk_rows, safe_cells))
        temporary = stack.enter_context(replacing(out))
        with (
            table_writer(temporary, form, is_compressed(out), safe_cells) as append,
            background_writer(append) as write,
            contextlib.closing(found),
        ):
            for arguments in found:
                write(*arguments)
        pieces.tally.check()
    counts = pieces.counts
    return {
        "model": scorer.source,
        "data": str(data),
        "output": str(out),
        "method": scorer.metadata["method"],
        "columns": added,
        "answers": list(scorer.answer.names),
        "rows": counts.n_rows,
        **counts.sides,
        "labeled": counts.known.facts(),
        **discoveries,
        "cautions": list_cautions(scorer.metadata["training"]),
        "reminders": list_reminders(scorer.metadata["training"]),
        **({} if silent is None else {"no_signal": silent}),
        "filled": pieces.tally.filled,
        "empty_rows": {"count": pieces.tally.empty, "are": scorer.schema.empty_rows},
        "notes": pieces.tally.remarks,
        "unseen_categories": counts.unseen.rows,
        "unseen_values": counts.unseen.most_frequent,
        "texts_without_known_words": {name: n for name, n in scorer.wordless.items() if n},
        "seconds": time.perf_counter() - started,
    }


def _check_free(
    added: list[str], columns: list[str], answer: Answer | ClassAnswer, data: Source | InMemory
) -> None:
    """Refuse new columns with names that the file has already."""
    taken = [name for name in added if name in columns]
    if taken:
        noun = "a column" if len(taken) == 1 else "columns"
        raise UserError(
            f"{data} already has {noun} {listing(taken)}; pass {ref('prefix', some='NAME_')} to "
            f"write {listing('NAME_' + name for name in answer.columns)}."
        )


def _find_discoveries(
    scorer: Scorer,
    source: Source | InMemory,
    fdr: float,
    *,
    skip_missing: bool,
    chunk_rows: int | None = None,
    observer: Observer,
) -> dict[str, Any]:
    """Have a scorer mark discoveries: it looks at all rows once before any is written.

    Parameters
    ----------
    scorer : Scorer
        A model with p-values. Its answer gets the largest p-value of a discovery.
    source : source of rows
        The rows to score.
    fdr : float
        False discovery rate, in (0, 1).
    skip_missing, chunk_rows, observer
        As for scoring.

    Returns
    -------
    dict
        Facts for the summary.
    """
    if not 0.0 < fdr < 1.0:
        raise UserError(f"{ref('fdr', fdr)} is out of range; it must be between 0 and 1.")
    answer = scorer.answer
    if isinstance(answer, ClassAnswer) or answer.more != "p_value":
        raise UserError(
            f"{ref('fdr')} needs p-values, which one-class models with a false alarm rate have; "
            f"{scorer.source} is a model of type {scorer.metadata['method']} without p-values."
        )
    from ..metrics import benjamini_hochberg  # only those who ask for discoveries wait for it

    observer.report_stage("computing the p-values of all rows")
    pieces = ScoredPieces(scorer, source, Tally(source, skip_missing), observer)
    found = [arrays["p_value"] for _, arrays in pieces.run(scorer.answer.columns, chunk_rows)]
    pieces.tally.check()
    scorer.wordless.clear()  # they are counted again
    p = pa.chunked_array(found, pa.float64()).drop_null().to_numpy()
    listed = benjamini_hochberg(p, fdr) if len(p) else np.zeros(0, bool)
    cut = float(p[listed].max()) if listed.any() else -1.0
    scorer.answer = answer._replace(cut=cut)
    facts: dict[str, Any] = {"fdr": fdr, "discoveries": int(listed.sum())}
    n = len(scorer.pipeline[-1].conformal_.scores)
    if len(p) and not listed.any():
        needed = math.ceil(len(p) / (fdr * (n + 1)))
        facts["too_few"] = (
            f"no discoveries: with {n:,} calibration rows no p-value is below {1 / (n + 1):.2g}, "
            f"so a list from {len(p):,} rows needs at least {needed:,} rows as unusual as that; "
            "fit to more normal rows, score fewer rows, or pass a larger rate"
        )
    return facts
