"""Scores of the rows of a table, as another table or as a file."""

import contextlib
import time
from collections import Counter

import pandas as pd
import pyarrow as pa

from ..io.atomic import replacing
from ..io.background import ahead, behind
from ..io.errors import UserError, listing
from ..io.memory import source_of
from ..io.models.machines import no_signal
from ..io.paths import SEPARATORS, check_output, input_format, is_compressed, output_format
from ..io.tables.chunks import input_columns, iterate_chunks
from ..io.tables.columns import is_text, numbers
from ..io.tables.tally import Tally
from ..io.tables.training import is_delimited
from ..io.write import table_writer
from .observer import interruptible, job
from .scorer import Scorer
from .settings import check_ranges


@job
def score(model, data, *, skip_missing=False, n_jobs=None, observer=None, **reading):
    """Score the rows of a table; ``model``, ``data``, ``n_jobs``, ``observer`` as in every job.

    Parameters
    ----------
    skip_missing : bool
        Leave rows with missing numbers without a score instead of refusing them.
    **reading
        ``sep``, ``decimal``, ``encoding``, ``header`` and ``features`` as in
        :func:`fewlabels.fit_table`.

    Returns
    -------
    DataFrame
        The columns that ``fewlabels predict`` adds: ``score``, ``label`` and, as the model has
        them, ``positive`` and ``p_value`` or ``probability``. It has the index of a pandas data
        frame, and is one of polars where the data are.
    """
    check_ranges({"n_jobs": n_jobs})
    source = source_of(data, **reading)
    scorer = Scorer(model, n_jobs)
    pieces = _Pieces(scorer, source, Tally(source, skip_missing), observer)
    found = [pa.table(arrays) for _, arrays in pieces.run(scorer.answer.columns)]
    pieces.tally.check()
    table = pa.concat_tables(found)
    if type(data).__module__.startswith("polars"):
        import polars

        return polars.from_arrow(table)
    frame = table.to_pandas()
    return frame.set_index(data.index) if isinstance(data, pd.DataFrame) else frame


@job
def score_file(
    model, data, out, *, prefix="", skip_missing=False, safe_cells=False, n_jobs=None,
    chunk_rows=None, observer=None, **reading,
):  # fmt: skip
    """Score the rows of a table and write them with their scores.

    ``model``, ``data``, ``skip_missing``, ``n_jobs``, ``observer`` and ``reading`` are those of
    :func:`score`.

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

    Returns
    -------
    dict
        Counts and seconds.
    """
    started = time.perf_counter()
    check_ranges({"n_jobs": n_jobs})
    data = source_of(data, **reading)
    form = output_format(out)
    input_format(data)
    scorer = Scorer(model, n_jobs)
    columns = input_columns(data, scorer.schema)
    silent = no_signal(scorer.metadata["training"])
    added = [f"{prefix}{name}" for name in scorer.answer.columns]
    _check_free(added, columns, scorer.answer, data)
    check_output(out, inputs=[data, model])
    pieces = _Pieces(scorer, data, Tally(data, skip_missing), observer)
    # Rows that are written the same way need not be taken apart and put together again.
    found = pieces.run(added, chunk_rows, lines=written_as(data, form) and not safe_cells)
    with interruptible("no scores were written", out), replacing(out) as temporary:
        with (
            table_writer(temporary, form, is_compressed(out), safe_cells) as append,
            behind(append) as write,
            contextlib.closing(found),
        ):
            for chunk, arrays in found:
                write(*rows_with(chunk, arrays, columns, scorer.schema, form))
        pieces.tally.check()
    return {
        "model": scorer.source,
        "data": str(data),
        "output": str(out),
        "machine": scorer.metadata["machine"],
        "columns": added,
        "answers": list(scorer.answer.names),
        "rows": pieces.n_rows,
        **pieces.counts,
        **({} if silent is None else {"no_signal": silent}),
        "filled": pieces.tally.filled,
        "notes": pieces.tally.remarks,
        "unseen_categories": {name: n for name, n in pieces.unseen.items() if n},
        "texts_without_known_words": {name: n for name, n in scorer.wordless.items() if n},
        "seconds": time.perf_counter() - started,
    }


class _Pieces:
    """The rows of a table piece by piece with their scores, and what is counted on the way."""

    def __init__(self, scorer, data, tally, observer):
        self.scorer, self.data, self.tally, self.observer = scorer, data, tally, observer
        self.n_rows = 0
        self.counts, self.unseen = Counter(), Counter()

    def run(self, names, chunk_rows=None, lines=False):
        """Pieces and their new columns, by name; the next ones are read meanwhile."""
        scorer, answer = self.scorer, self.scorer.answer
        chunks = iterate_chunks(self.data, scorer.schema, self.tally, chunk_rows, lines=lines)
        with contextlib.closing(ahead(chunks)) as chunks:
            for chunk in chunks:
                # Once something is wrong, read on only to count how much is.
                if not self.tally.refuses:
                    scores, more = scorer.score(chunk, self.data, self.n_rows)
                    yield chunk, dict(zip(names, answer.arrays(scores, more), strict=True))
                    self.counts.update(answer.count(scores))
                    self.n_rows += len(scores)
                    for name, categories in scorer.known.items():
                        self.unseen[name] += int((~chunk.rows[name].isin(categories)).sum())
                self.observer.rows(self.n_rows, chunk.share)


def _check_free(added, columns, answer, data):
    """Refuse new columns with names that the file has already."""
    taken = [name for name in added if name in columns]
    if taken:
        noun = "a column" if len(taken) == 1 else "columns"
        raise UserError(
            f"{data} already has {noun} {listing(taken)}; pass --prefix NAME_ to write "
            f"{listing('NAME_' + name for name in answer.columns)}."
        )


def written_as(data, form):
    """Whether rows of delimited text stand in a file as they would be written in this format."""
    if not is_delimited(data):
        return False
    return data.dialect.header and data.dialect.sep == SEPARATORS.get(form)


def rows_with(chunk, arrays, columns, schema, form):
    """What the function that writes tables is called with: a piece as read, and new columns.

    ``columns`` are the names of the columns of the file, ``form`` is that of what is written.
    """
    if chunk.lines is not None:
        return pa.table(arrays), chunk.lines, columns
    table = chunk.table
    if form == "parquet":
        # Cells of delimited text are still text here; what the model took as numbers
        # becomes numbers in a typed file.
        for name in schema.names("number"):
            if name not in table.column_names or name in chunk.odd:
                continue
            if is_text(table.column(name).type):
                values = pa.array(numbers(table.column(name))[0], from_pandas=True)
                table = table.set_column(table.column_names.index(name), name, values)
    return (pa.table([*table.columns, *arrays.values()], names=[*table.column_names, *arrays]),)
