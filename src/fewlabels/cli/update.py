"""``fewlabels update``: more rows for a model, without the rows it was fitted to."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from .errors import NOT_CONVERGED
from .options import (
    Quiet,
    ReadingOptions,
    SummaryAsJson,
    argument,
    grouped,
    plain_option,
    values_of,
)
from .terminal import progress, show
from .terminal.say import say


class UpdateOptions(NamedTuple):
    """Which rows are added, and how; by the names of the job."""

    data: Path | None = argument(
        None,
        metavar="[MORE]",
        help="Rows to add: a table with the model's columns, in any order, or a matrix. May "
        "be left out with --consolidate.",
    )
    target: str | None = typer.Option(
        None,
        help="Column with the classes, blank where they are unknown. (default: the target "
        "that the model was fitted to, if MORE has it; else all rows are unlabelled)",
    )
    no_labels: bool = typer.Option(False, "--no-labels", help="Take all rows as unlabelled.")
    output: Path | None = plain_option(
        None, "-o", "--output", help="Model file to write. (default: MODEL itself)"
    )
    skip_missing: bool = typer.Option(
        False, "--skip-missing", help="Leave out rows with missing numbers."
    )
    block: int = typer.Option(
        1, min=1, help="Rows added at a time: faster per row, another order."
    )
    consolidate: bool = typer.Option(
        False,
        "--consolidate",
        help="Afterwards train on all rows afresh and keep the better of both solutions.",
    )
    probability: bool = typer.Option(
        True,
        help="Calibrate the probabilities anew, where the model has them; takes as long as "
        "some fits. Without it 'predict' gives none afterwards.",
    )
    new_classes: list[str] = typer.Option(
        [], "--new-class", help="Class in the labels that MODEL does not have; can be repeated."
    )
    force: bool = typer.Option(False, "--force", help="Replace the output even if it is no model.")


@grouped
def update(
    model: Annotated[
        Path,
        argument(
            metavar="MODEL",
            help="Model that holds its training rows, as 'fewlabels fit' writes an s3vm.",
        ),
    ],
    options: UpdateOptions,
    of_reading: ReadingOptions,
    quiet: Quiet = False,
    json: SummaryAsJson = False,
):
    """Add the rows of MORE to MODEL and follow its solution to where they move it.

    The result meets its conditions as exactly as a fit and takes milliseconds per row; of an s3vm
    it is a local minimum, and a fit to all rows may find a better one (--consolidate). Columns are
    scaled and encoded as when the model was fitted. The whole file is checked before the
    first row is added, and MODEL is replaced at the moment the new one is complete.

    Rows count as new, also those that are in the model already.
    """
    from ..jobs.updating import update as update_model

    with progress.observing("reading the model", quiet) as observer:
        summary = update_model(
            model, **values_of(options), **values_of(of_reading), observer=observer
        )
    if show.told(summary, json, quiet, summary["notes"]):
        _print(summary)
    if not summary["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def _print(summary):
    added = summary["rows"]
    rows = f"{added:,} row{'' if added == 1 else 's'} added, " if added else ""
    say(f"{rows}{summary['machine']} model written to {summary['output']}")
    labeled, per_row = summary["rows_labeled"], summary["milliseconds_per_row"]
    took = None
    if per_row:
        took = f"{show.number(per_row['median'])} median, {show.number(per_row['max'])} slowest"
    steps = summary["steps"]
    if steps is not None:
        steps = f"{steps:,}, {summary['flips']:,} unlabelled rows changed sides"
    words = f"{summary['rows_unlabeled']:,} unlabelled"
    if any(labeled.values()):
        counts = {name: count for name, count in labeled.items() if count}
        words = f"{sum(labeled.values()):,} labelled ({show.counted(counts)}), {words}"
    show.lines([
        ("rows", f"{summary['rows_before']:,} before, {summary['rows_after']:,} now"),
        ("added", words if labeled and added else None),
        ("ms per row", took),
        ("steps", steps),
        ("objective", show.number(summary["objective"])),
        ("violation", show.number(summary["violation"])),
        ("duality gap", show.gap(summary["duality_gap"])),
        ("consolidation", _consolidation(summary)),
        ("probabilities", _calibration(summary)),
        ("size", show.size(summary["bytes"])),
        ("seconds", _seconds(summary)),
    ])  # fmt: skip


def _seconds(summary):
    everything = show.number(summary["seconds"])
    if not summary["rows"]:
        return everything
    return f"{show.number(summary['seconds_adding'])} (with reading and writing {everything})"


def _calibration(summary):
    seconds = summary["seconds_calibrating"]
    return None if seconds is None else f"calibrated anew in {show.number(seconds)} s"


def _consolidation(summary):
    if summary["consolidated"] is not None:
        found = "a better solution" if summary["consolidated"] else "no better one"
        return f"done in {show.number(summary['seconds_consolidating'])} s: found {found}"
    due = summary["consolidation_due"]
    if due is None:
        return None
    again = f"fewlabels update {summary['output']} --consolidate"
    return f"due, much has changed: {again}" if due else "not due"
