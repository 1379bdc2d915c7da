"""``fewlabels predict``: from a model and a file to scores."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..io.errors import UserError, listing
from . import progress, show
from .errors import Interrupted
from .parameters import check_range
from .scoring import Scorer


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model that 'fewlabels fit' wrote.", show_default=False
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Rows to score: a table with the model's columns, in any order and with others "
            "between them, or a matrix.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Table to write: .csv, .tsv (or .csv.gz, .tsv.gz) or .parquet.",
            show_default=False,
        ),
    ],
    prefix: Annotated[
        str,
        typer.Option(help="Put before the names of the new columns, where they are taken."),
    ] = "",
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing", help="Leave the new columns blank in rows with missing numbers."
        ),
    ] = False,
    n_jobs: Annotated[int | None, typer.Option(help="Threads. [default: all cores]")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
):
    """Score the rows of DATA: all its columns, and the columns score, label and one more.

    Machines of one class: the score is positive inside; the label is "inside" (it belongs
    to the normal class) or "outside"; p_value is the share of normal rows that are at most as
    normal, where the model is calibrated (--target-fpr). pusvm, pu-ensemble: the score is
    positive for the class that is looked for; the label is its name, or what marked unlabelled
    rows in training (mostly a blank), the column positive is True or False, and probability that
    of the class. s3vm: the label is one of the two classes; the score is positive for the
    greater one, or the later one in the alphabet, and probability is that of this class.

    CSV, TSV and Parquet files are read and written piece by piece, however large they are. A
    matrix gives a table of the new columns only.
    """
    if n_jobs is not None:
        check_range("n_jobs", n_jobs)
    with progress.scoring(quiet) as update:
        summary = score_file(
            model,
            data,
            out,
            prefix=prefix,
            skip_missing=skip_missing,
            n_jobs=n_jobs,
            update=update,
        )
    if summary["filled"] and not quiet:
        show.note(show.filled_words(summary["filled"]))
    if summary["unseen_categories"] and not quiet:
        show.note(show.unseen_words(summary["unseen_categories"]))
    if json:
        show.as_json(summary)
    elif not quiet:
        rows = summary["rows"]
        typer.echo(f"scores written to {out}")
        show.lines(
            [
                ("rows", f"{rows:,}"),
                *((_spoken(name), show.share(summary[name], rows)) for name in summary["answers"]),
                ("without a score", f"{summary['skipped']:,}" if summary["skipped"] else None),
                ("seconds", show.number(summary["seconds"])),
            ]
        )


def _spoken(name):
    """Name of a count for people; classes keep the name they have."""
    return name if "'" in name else name.replace("_", " ")


def score_file(
    model, data, out, *, prefix="", skip_missing=False, n_jobs=None, update=None, chunk_rows=None
):
    """Score a file with a model and write the result.

    Parameters
    ----------
    model, data, out : path-like
        Model, input and output.
    prefix : str
        Put before the names of the new columns.
    skip_missing : bool
        Leave rows with missing numbers without a score instead of refusing them.
    n_jobs : int, optional
        Threads.
    update : callable, optional
        Gets the number of rows scored so far, and how much of the file was read until then,
        from 0 to 1.
    chunk_rows : int, optional
        Rows held at a time.

    Returns
    -------
    dict
        Counts and seconds.
    """
    from ..io.atomic import replacing
    from ..io.background import ahead, behind
    from ..io.paths import check_output, input_format, is_compressed, output_format
    from ..io.tables.chunks import input_columns, iterate_chunks
    from ..io.tables.encoding import known_categories
    from ..io.tables.tally import Tally
    from ..io.write import table_writer

    started = time.perf_counter()
    out_form = output_format(out)
    columns = input_columns(data)
    scorer = Scorer(model, n_jobs)
    answer, schema = scorer.answer, scorer.schema
    added = [f"{prefix}{name}" for name in answer.columns]
    _check_free(added, columns, answer, data)
    check_output(out, inputs=[data, model])
    tally = Tally(data, skip_missing)
    counts = Counter()
    n_rows = 0
    known = known_categories(scorer.pipeline[0], schema)
    unseen = Counter()
    # Rows of the same format need not be taken apart and put together again.
    lines = input_format(data) == out_form
    chunks = iterate_chunks(data, schema, tally, chunk_rows, lines=lines)
    try:
        with replacing(out) as temporary:
            with (
                table_writer(temporary, out_form, is_compressed(out)) as append,
                behind(append) as write,
                contextlib.closing(ahead(chunks)) as chunks,
            ):
                for chunk in chunks:
                    # Once something is wrong, read on only to count how much is.
                    if not tally.refuses:
                        scores, more = scorer.score(chunk, data, n_rows)
                        arrays = dict(zip(added, answer.arrays(scores, more), strict=True))
                        write(*_rows_with(chunk, arrays, columns, schema, out_form))
                        counts.update(answer.count(scores))
                        n_rows += len(scores)
                        for name, categories in known.items():
                            unseen[name] += int((~chunk.rows[name].isin(categories)).sum())
                    if update:
                        update(n_rows, chunk.share)
            tally.check()
    except KeyboardInterrupt:
        before = f", and {out} is as it was before" if Path(out).exists() else ""
        raise Interrupted(f"no scores were written{before}.") from None
    return {
        "model": str(model),
        "data": str(data),
        "output": str(out),
        "machine": scorer.metadata["machine"],
        "columns": added,
        "answers": list(answer.names),
        "rows": n_rows,
        **counts,
        "filled": tally.filled,
        "unseen_categories": {name: count for name, count in unseen.items() if count},
        "seconds": time.perf_counter() - started,
    }


def _check_free(added, columns, answer, data):
    """Refuse new columns with names that the file has already."""
    taken = [name for name in added if name in columns]
    if taken:
        noun = "a column" if len(taken) == 1 else "columns"
        raise UserError(
            f"{data} already has {noun} {listing(taken)}; pass --prefix NAME_ to write "
            f"{listing('NAME_' + name for name in answer.columns)}."
        )


def _rows_with(chunk, arrays, columns, schema, out_form):
    """What to write: the piece as it was read and the new columns."""
    import pyarrow as pa

    from ..io.tables.columns import is_text, numbers

    if chunk.lines is not None:
        return pa.table(arrays), chunk.lines, columns
    table = chunk.table
    if out_form == "parquet":
        # Cells of delimited text are still text here; what the model took as numbers
        # becomes numbers in a typed file.
        for name in schema.names("number"):
            if name in table.column_names and is_text(table.column(name).type):
                values = pa.array(numbers(table.column(name))[0], from_pandas=True)
                table = table.set_column(table.column_names.index(name), name, values)
    return (pa.table([*table.columns, *arrays.values()], names=[*table.column_names, *arrays]),)
