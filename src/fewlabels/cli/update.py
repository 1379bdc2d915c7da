"""``fewlabels update``: more rows for a model, without the rows it was fitted to."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import pipeline
from .._util.messages import plural
from ..pipeline.formatting import counted, gap, number, size
from ..pipeline.options.flags import as_flags
from ..pipeline.options.update import UPDATE, UpdateOptions
from . import progress, show
from .errors import NOT_CONVERGED
from .options import (
    OptionGroup,
    Quiet,
    SummaryAsJson,
    argument,
    expand_groups,
)
from .show import say

_DATA = UPDATE["data"]
_UPDATE_OPTIONS = OptionGroup.whole_schema(UpdateOptions, without=("data", "labels"))


@expand_groups
def update(
    model: Annotated[
        Path,
        argument(
            metavar="MODEL",
            help="Model that stores its training rows: an s3vm, or one fitted with --rows.",
        ),
    ],
    options: _UPDATE_OPTIONS,  # type: ignore[valid-type]
    data: Annotated[
        Path | None, argument(metavar=_DATA.metavar, help=as_flags(_DATA.help))
    ] = None,
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
        summary = pipeline.update(model, data, **options, observer=observer)
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
        steps = f"{steps:,}, {plural(summary['flips'], 'unlabelled row')} changed sides"
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
