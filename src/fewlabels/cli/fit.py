"""``fewlabels fit``: from a file to a model."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from .. import pipeline
from .._util.messages import UserError
from .._util.option import OUTPUT, TIME
from ..pipeline.options.fit import FitOptions
from ..pipeline.summary import answer, details
from . import progress, show
from .errors import NOT_CONVERGED
from .options import (
    FILES,
    OptionGroup,
    Quiet,
    SummaryAsJson,
    argument,
    check_kernel,
    expand_groups,
    plain_option,
)
from .show import say

_FIT_OPTIONS = OptionGroup.whole_schema(FitOptions, callbacks={"kernel": check_kernel})


class ReportOptions(NamedTuple):
    """Options of the report."""

    report: Path | None = plain_option(
        None,
        metavar="FILE",
        help="HTML report to write. (default: MODEL as .html)",
        rich_help_panel=TIME,
    )
    no_report: bool = typer.Option(
        False, "--no-report", help="Write no report.", rich_help_panel=TIME
    )


@expand_groups
def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help=FILES,
        ),
    ],
    model: Annotated[
        Path,
        plain_option("-o", "--output", metavar="MODEL", help="Model file to write."),
    ],
    options: _FIT_OPTIONS,  # type: ignore[valid-type]
    report_options: ReportOptions,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace output files even if fewlabels didn't write them.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the solver's progress on stderr.")
    ] = False,
    json: SummaryAsJson = False,
) -> None:
    """Train a model on the rows of DATA and write a report.

    ```
    fewlabels fit healthy.csv -o m.fewlabels              # normal rows only
    fewlabels fit fraud.csv --target fraud -o m.fewlabels # "yes" or blank
    fewlabels fit mail.csv --target topic -o m.fewlabels  # classes or blank
    ```

    The target column decides what is trained. Rows of one class: an anomaly detector
    (svdd-ensemble). One class and blanks: a pu-ensemble, or a pusvm if that takes too long.
    Several classes and blanks: a semi-supervised classifier (s3vm). If a baseline is clearly
    better on held-out labels, you get that instead, unless you pass --method, settings or
    --rows. Preprocessing and settings are chosen from the data. In Python: fit_table, tune.
    """
    report_path = choose_report_path(model, report_options.report, not report_options.no_report)
    with progress.observe_progress("reading", quiet, verbose) as observer:
        summary = pipeline.fit_file(
            data,
            model,
            report=report_path,
            command=show.command_line(context),
            force=force,
            observer=observer,
            started=context.obj,
            **options,
        )
    summary_with_files = {
        "model": str(model),
        "report": None if report_path is None else str(report_path),
        **summary,
    }
    if show.print_summary(summary_with_files, json, quiet, summary["training"]["notes"]):
        show.print_sections({"Result": answer(summary), "How it was fitted": details(summary)})
        say(f"{summary['method']} model written to {model}")
        if report_path is not None:
            say(f"report written to {report_path}")
    if not summary["training"]["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def choose_report_path(model: Path, report: Path | None, is_wanted: bool) -> Path | None:
    """Return where the report of a model goes, or None for nowhere."""
    if not is_wanted:
        if report is not None:
            raise UserError("--report and --no-report contradict each other; pass one of them.")
        return None
    path = Path(report or f"{str(model).removesuffix('.fewlabels')}.html")
    if path == Path(model):
        raise UserError(
            f"The model and its report can't both be written to {model}; pass another file as "
            "--report, or --no-report."
        )
    return path
