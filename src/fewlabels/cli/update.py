"""``fewlabels update``: more rows for a model, without the rows it was fitted to."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .. import pipeline
from .._util.option import OUTPUT
from ..pipeline.formatting import counted, gap, number, size
from . import progress, show
from .errors import NOT_CONVERGED
from .options import (
    READING,
    OptionGroup,
    Quiet,
    SummaryAsJson,
    argument,
    expand_groups,
    given_values,
    plain_option,
)
from .show import say


class UpdateOptions(NamedTuple):
    """Options of the update, by the names that the job has for them."""

    data: Path | None = argument(
        None,
        metavar="[MORE]",
        help="Rows to add: a table with the model's columns, or a matrix. Optional with "
        "--consolidate.",
    )
    target: str | None = typer.Option(
        None,
        metavar="COLUMN",
        help="Column with the classes, blank where unknown. (default: the model's target, if "
        "MORE has it)",
    )
    no_labels: bool = typer.Option(False, "--no-labels", help="Treat all rows as unlabelled.")
    output: Path | None = plain_option(
        None, "-o", "--output", metavar="FILE", help="Model file to write. (default: MODEL)"
    )
    skip_missing: bool = typer.Option(
        False,
        "--skip-missing",
        help="Skip rows with missing numbers.",
        rich_help_panel=OUTPUT,
    )
    block: int = typer.Option(
        1,
        min=1,
        metavar="N",
        help="Add N rows at a time; faster, but in a different order.",
        rich_help_panel=OUTPUT,
    )
    consolidate: bool = typer.Option(
        False,
        "--consolidate",
        help="Then retrain on all rows and keep the better solution.",
    )
    probability: bool = typer.Option(
        True,
        help="Recalibrate probabilities, which takes as long as a few fits. Without it, 'predict' "
        "gives none.",
        rich_help_panel=OUTPUT,
    )
    new_classes: list[str] = typer.Option(
        [],
        "--new-class",
        metavar="CLASS",
        help="Accept a class that MODEL doesn't have. Repeatable.",
        show_default=False,
    )
    force: bool = typer.Option(
        False,
        "--force",
        help="Replace the output even if it is not a model.",
        rich_help_panel=OUTPUT,
    )


@expand_groups
def update(
    model: Annotated[
        Path,
        argument(
            metavar="MODEL",
            help="Model that stores its training rows: an s3vm, or one fitted with --rows.",
        ),
    ],
    options: UpdateOptions,
    reading: OptionGroup(*READING),  # type: ignore[valid-type]
    quiet: Quiet = False,
    json: SummaryAsJson = False,
) -> None:
    """Add new rows to a model without its training file.

    ```
    fewlabels update m.fewlabels more.csv
    fewlabels update m.fewlabels --consolidate
    ```

    Updates take milliseconds per row and satisfy the same optimality conditions as a fit. For an
    s3vm the result is a local minimum; --consolidate looks for a better one. MODEL is replaced
    only after the whole file has been checked and added. Rows are added even if the model
    already has them.
    """
    with progress.observe_progress("reading the model", quiet) as observer:
        summary = pipeline.update(model, **given_values(options), **reading, observer=observer)
    if show.print_summary(summary, json, quiet, summary["notes"]):
        _print_update(summary)
    if not summary["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def _print_update(summary: dict[str, Any]) -> None:
    added = summary["rows"]
    rows = f"{added:,} row{'' if added == 1 else 's'} added, " if added else ""
    say(f"{rows}{summary['method']} model written to {summary['output']}")
    labeled, per_row = summary["rows_labeled"], summary["milliseconds_per_row"]
    milliseconds = None
    if per_row:
        milliseconds = f"{number(per_row['median'])} median, {number(per_row['max'])} slowest"
    steps = summary["steps"]
    if steps is not None:
        steps = f"{steps:,}, {summary['flips']:,} unlabelled rows changed sides"
    words = f"{summary['rows_unlabeled']:,} unlabelled"
    if any(labeled.values()):
        counts = {name: count for name, count in labeled.items() if count}
        words = f"{sum(labeled.values()):,} labelled ({counted(counts)}), {words}"
    show.print_pairs(
        [
            ("rows", f"{summary['rows_before']:,} before, {summary['rows_after']:,} now"),
            ("added", words if labeled and added else None),
            ("ms per row", milliseconds),
            ("steps", steps),
            ("objective", number(summary["objective"])),
            ("KKT violation", number(summary["violation"])),
            ("duality gap", gap(summary["duality_gap"])),
            ("consolidation", _describe_consolidation(summary)),
            ("probabilities", _describe_calibration(summary)),
            ("size", size(summary["bytes"])),
            ("seconds", _write_seconds(summary)),
        ]
    )


def _write_seconds(summary: dict[str, Any]) -> str:
    total = number(summary["seconds"])
    if not summary["rows"]:
        return total
    return f"{number(summary['seconds_adding'])} (with reading and writing {total})"


def _describe_calibration(summary: dict[str, Any]) -> str | None:
    seconds = summary["seconds_calibrating"]
    return None if seconds is None else f"recalibrated in {number(seconds)} s"


def _describe_consolidation(summary: dict[str, Any]) -> str | None:
    if summary["consolidated"] is not None:
        outcome = "a better solution" if summary["consolidated"] else "no better one"
        return f"done in {number(summary['seconds_consolidating'])} s: found {outcome}"
    due = summary["consolidation_due"]
    if due is None:
        return None
    command = f"fewlabels update {summary['output']} --consolidate"
    return f"recommended, because much has changed: {command}" if due else "not due"
