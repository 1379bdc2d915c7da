"""``fewlabels predict``: from a model and a file to scores."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..io.errors import UserError, listing
from . import progress, show
from .answers import answer_of
from .errors import Interrupted
from .parameters import check_range


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
            "-o", "--output", help="Table to write: .csv, .tsv or .parquet.", show_default=False
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
    """Score the rows of DATA: all its columns, and the columns score and label.

    Machines of one class: the score is positive inside; the label is "inside" (it belongs
    to the normal class) or "outside". pusvm: the score is positive for the class that is
    looked for; the label is its name, or what marked unlabelled rows in training (mostly
    a blank), and a third column, positive, is True or False. s3vm: the label is one of the two
    classes; the score is positive for the greater one, or the later one in the alphabet.

    CSV, TSV and Parquet files are read and written piece by piece. A matrix gives a table
    of these columns only.
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
        Gets the number of rows scored so far.
    chunk_rows : int, optional
        Rows held at a time.

    Returns
    -------
    dict
        Counts and seconds.
    """
    from ..io.atomic import replacing
    from ..io.chunks import input_columns, iterate_chunks
    from ..io.encoding import known_categories
    from ..io.models import load_model
    from ..io.paths import check_output, output_format
    from ..io.tally import Tally
    from ..io.write import table_writer

    started = time.perf_counter()
    out_form = output_format(out)
    columns = input_columns(data)
    pipeline, schema, metadata = load_model(model)
    answer = answer_of(metadata)
    added = [f"{prefix}{name}" for name in answer.columns]
    taken = [name for name in added if name in columns]
    if taken:
        noun = "a column" if len(taken) == 1 else "columns"
        raise UserError(
            f"{data} already has {noun} {listing(taken)}; pass --prefix NAME_ to write "
            f"{listing('NAME_' + name for name in answer.columns)}."
        )
    check_output(out, inputs=[data, model])
    if n_jobs is not None:
        pipeline[-1].set_params(n_jobs=n_jobs)
    tally = Tally(data, skip_missing)
    counts = Counter()
    n_rows = 0
    known = known_categories(pipeline[0], schema)
    unseen = Counter()
    try:
        with replacing(out) as temporary:
            with table_writer(temporary, out_form) as append:
                for chunk in iterate_chunks(data, schema, tally, chunk_rows):
                    # Once something is wrong, read on only to count how much is.
                    if not tally.refuses:
                        scores = _scores(pipeline, chunk, data, n_rows)
                        arrays = dict(zip(added, answer.arrays(scores), strict=True))
                        append(_with_columns(chunk, arrays, schema, out_form))
                        counts.update(answer.count(scores))
                        n_rows += len(scores)
                        for name, categories in known.items():
                            unseen[name] += int((~chunk.rows[name].isin(categories)).sum())
                        if update:
                            update(n_rows)
            tally.check()
    except KeyboardInterrupt:
        before = f", and {out} is as it was before" if Path(out).exists() else ""
        raise Interrupted(f"no scores were written{before}.") from None
    return {
        "model": str(model),
        "data": str(data),
        "output": str(out),
        "machine": metadata["machine"],
        "answers": list(answer.names),
        "rows": n_rows,
        **counts,
        "unseen_categories": {name: count for name, count in unseen.items() if count},
        "seconds": time.perf_counter() - started,
    }


def _scores(pipeline, chunk, data, done):
    """Scores of a piece, NaN for rows that are not complete."""
    import numpy as np

    scores = np.full(len(chunk.complete), np.nan)
    if chunk.complete.any():
        scores[chunk.complete] = pipeline.decision_function(chunk.rows)
    failed = np.flatnonzero(chunk.complete & ~np.isfinite(scores))
    if failed.size:
        raise UserError(
            f"Row {done + failed[0] + 1} of {data} is too far from the training rows for a score "
            "to be computed; check its numbers."
        )
    return scores


def _with_columns(chunk, arrays, schema, out_form):
    """Add columns to the piece as it was read."""
    import pyarrow as pa

    from ..io.columns import is_text, numbers

    table = chunk.table
    if out_form == "parquet":
        # Cells of delimited text are still text here; what the model took as numbers
        # becomes numbers in a typed file.
        for name in schema.names("number"):
            if name in table.column_names and is_text(table.column(name).type):
                values = pa.array(numbers(table.column(name))[0], from_pandas=True)
                table = table.set_column(table.column_names.index(name), name, values)
    return pa.table([*table.columns, *arrays.values()], names=[*table.column_names, *arrays])
