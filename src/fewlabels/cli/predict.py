"""``fewlabels predict``: from a model and a file to scores."""

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    ClusterOptions,
    Model,
    Quiet,
    ReadingOptions,
    SummaryAsJson,
    Threads,
    argument,
    grouped,
    plain_option,
    values_of,
)
from .terminal import progress, show


@grouped
def predict(
    model: Model,
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help="Rows to score: a table with the model's columns, in any order and with others "
            "between them, or a matrix.",
        ),
    ],
    out: Annotated[
        Path,
        plain_option(
            "-o", "--output", help="Table to write: .csv, .tsv (or .csv.gz, .tsv.gz) or .parquet."
        ),
    ],
    of_reading: ReadingOptions,
    of_cluster: ClusterOptions,
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
    safe_cells: Annotated[
        bool,
        typer.Option(
            "--safe-cells",
            help="Put an apostrophe before texts that a spreadsheet would take for formulas.",
        ),
    ] = False,
    n_jobs: Threads = None,
    quiet: Quiet = False,
    json: SummaryAsJson = False,
):
    """Score the rows of DATA: all its columns, and the columns score, label and one more.

    Machines of one class: the score is positive inside; the label is "inside" (it belongs
    to the normal class) or "outside"; p_value is the share of normal rows that are at most as
    normal, where the model is calibrated (--target-fpr). pusvm, pu-ensemble: the score is
    positive for the class that is looked for; the label is its name, or what marked unlabelled
    rows in training (mostly a blank), the column positive is True or False, and probability that
    of the class. s3vm: the label is one of the two classes; the score is positive for the
    greater one, or the later one in the alphabet, and probability is that of this class. Of
    several classes the score is that of the label, and there is a column "probability CLASS" for
    each.

    Cells of DATA come out as they are, those that begin with "=" included: a spreadsheet may
    calculate these, so pass --safe-cells where DATA is not trusted.

    CSV, TSV and Parquet files are read and written piece by piece, however large they are. A
    matrix gives a table of the new columns only.
    """
    from ..io.tables.tally import filled_words, unseen_words, wordless_words
    from ..jobs.scoring import score_file

    with progress.observing("reading the model", quiet, timed=True) as observer:
        summary = score_file(
            model, data, out, prefix=prefix, skip_missing=skip_missing, safe_cells=safe_cells,
            n_jobs=n_jobs, observer=observer, **values_of(of_reading), **values_of(of_cluster),
        )  # fmt: skip
    notes = summary["cautions"] + summary["notes"]
    if summary["filled"]:
        notes.append(filled_words(summary["filled"]))
    if summary["unseen_categories"]:
        notes.append(unseen_words(summary["unseen_categories"]))
    if summary["texts_without_known_words"]:
        notes.append(wordless_words(summary["texts_without_known_words"]))
    if show.told(summary, json, quiet, notes):
        rows = summary["rows"]
        answers = () if "no_signal" in summary else summary["answers"]
        typer.echo(f"scores written to {out}")
        show.lines([
            ("rows", f"{rows:,}"),
            *((_spoken(name), show.share(summary[name], rows)) for name in answers),
            ("without a score", f"{summary['skipped']:,}" if summary["skipped"] else None),
            ("seconds", show.number(summary["seconds"])),
        ])  # fmt: skip


def _spoken(name):
    """Name of a count for people; classes keep the name they have."""
    return name if "'" in name else name.replace("_", " ")
