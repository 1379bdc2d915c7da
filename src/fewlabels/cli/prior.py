"""``fewlabels prior``: how many of the unlabelled rows are positive."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..io.errors import quoted
from . import options
from .options import (
    ROWS_PANEL,
    Missing,
    ReadingOptions,
    Threads,
    argument,
    grouped,
    plain_option,
    values_of,
)
from .terminal import progress, show
from .terminal.say import say

Convention = StrEnum("Convention", ["unlabeled", "pooled"])
PriorQuiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the estimate and no notes.")
]
PriorJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]


class RowOptions(NamedTuple):
    """Which rows and columns the prior is estimated from."""

    positive: str | None = typer.Option(
        None,
        help="The class to look for, where the target has two values that are no numbers.",
        rich_help_panel=ROWS_PANEL,
    )
    drop: list[str] | None = options.DROP
    categorical: list[str] | None = options.CATEGORICAL
    keep: list[str] | None = options.KEEP
    text: list[str] | None = options.TEXT
    dates: list[str] | None = options.DATES
    missing: Missing = typer.Option(
        Missing.impute,
        help="Missing numbers: impute fills them in with the median; skip leaves out rows "
        "that have some; refuse stops.",
        rich_help_panel=ROWS_PANEL,
    )
    scale: bool | None = options.SCALE
    merge_case: bool | None = options.MERGE_CASE


class EstimateOptions(NamedTuple):
    """How the prior is estimated."""

    method: str = typer.Option(
        "auto", help="Estimator: auto is the one that proved best; any other word lists them all."
    )
    confidence: float = typer.Option(0.9, help="Level of the interval.")
    convention: Convention = typer.Option(
        Convention.unlabeled,
        help="unlabeled: share of positives among the unlabelled rows, which is what 'fit "
        "--prior' takes; pooled: among all rows.",
    )
    n_jobs: Threads = None
    seed: int = typer.Option(0, help="Seed of the estimate.")


@grouped
def prior(
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help="Table (.csv, .tsv, .parquet) or matrix (.npz with X and y, .svmlight, .libsvm, "
            ".svm, .txt).",
        ),
    ],
    target: Annotated[
        str,
        plain_option(
            help="Column that names the class of the positive rows and is blank, or has one "
            "other value, in the unlabelled ones. (npz: an array; svmlight: y.)"
        ),
    ],
    of_rows: RowOptions,
    of_reading: ReadingOptions,
    of_estimate: EstimateOptions,
    quiet: PriorQuiet = False,
    json: PriorJson = False,
):
    """Estimate the class prior: the share of positives among the unlabelled rows.

    This supposes that the labelled positives are a random sample of all positives. With
    the same seed it is the estimate that "fit" makes by itself.
    """
    from ..jobs.priors import prior as estimate

    asked = values_of(of_rows) | values_of(of_reading) | values_of(of_estimate)
    asked = {name: value for name, value in asked.items() if value is not None}
    summary = estimate(data, target, **asked, observer=progress.Quiet())
    show.told(summary, json, quiet, summary["notes"])
    if json:
        return
    among = {"unlabeled": "the unlabelled rows", "pooled": "all rows"}[summary["convention"]]
    say(f"{summary['prior']:.3g} of {among} are positive")
    level, ends = show.percent(summary["confidence"]), (summary["low"], summary["high"])
    marked = show.mark(summary["unlabeled"])
    show.lines([
        (f"{level} interval", show.interval(*ends)),
        ("method", summary["method"]),
        ("positive", f"{summary['rows_labeled']:,} rows labelled {quoted(summary['positive'])}"),
        ("unlabelled", f"{summary['rows_unlabeled']:,} rows, {marked}"),
        ("seconds", show.number(summary["seconds"])),
    ])  # fmt: skip
