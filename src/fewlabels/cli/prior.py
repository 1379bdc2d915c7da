"""``fewlabels prior``: how many of the unlabelled rows are positive."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from .. import pipeline
from .._util.messages import plural, quoted
from .._util.option import LIMITS
from ..pipeline.formatting import interval, mark, number, percent
from ..pipeline.options.fit import ENCODING
from ..tables.models.cautions import RANDOM_SAMPLE
from . import progress, show
from .options import (
    FILES,
    READING,
    OptionGroup,
    Threads,
    argument,
    expand_groups,
    given_values,
    plain_option,
)
from .show import say

Convention = StrEnum("Convention", ["unlabeled", "pooled"])
PriorQuiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the estimate without notes.")
]
PriorJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


_ROW_OPTIONS = OptionGroup(
    "positive",
    *ENCODING,
    helps={
        "positive": "The positive class, if the target has two values that aren't numbers.",
        "missing": "Missing numbers: fill in the median, skip the row, or refuse the table.",
    },
)


class EstimateOptions(NamedTuple):
    """Options of the estimate."""

    method: str = typer.Option(
        "auto",
        metavar="NAME",
        help="Estimator. An unknown name lists all of them. (default: auto)",
        show_default=False,
    )
    confidence: float = typer.Option(0.9, metavar="LEVEL", help="Confidence level.")
    convention: Convention = typer.Option(
        Convention.unlabeled,
        help="Share of positives among the unlabelled rows (as in 'fit --prior'), or among all "
        "rows (pooled).",
    )
    n_jobs: Threads = None
    seed: int = typer.Option(0, metavar="N", help="Seed.", rich_help_panel=LIMITS)


@expand_groups
def prior(
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help=f"{FILES} .npy files can't hold the labels it needs.",
        ),
    ],
    target: Annotated[
        str,
        plain_option(
            metavar="COLUMN",
            help="Column with the positive class, and blanks or one other value in unlabelled "
            "rows.",
        ),
    ],
    options: _ROW_OPTIONS,  # type: ignore[valid-type]
    reading: OptionGroup(*READING),  # type: ignore[valid-type]
    estimate_options: EstimateOptions,
    quiet: PriorQuiet = False,
    json: PriorJson = False,
) -> None:
    """Estimate the class prior: the share of positives among the unlabelled rows.

    ```
    fewlabels prior fraud.csv --target fraud
    ```

    The estimate assumes that the labelled positives are a random sample of all positives. It is
    the prior that 'fewlabels fit' uses with the same seed.
    """
    options |= reading | given_values(estimate_options)
    summary = pipeline.prior(data, target, **options, observer=progress.Quiet())
    show.print_summary(summary, json, quiet, summary["notes"])
    if json:
        return
    if summary["caution"]:
        say(f"Caution: {summary['caution']} ('fewlabels fit' has this option).")
    population = {"unlabeled": "the unlabelled rows", "pooled": "all rows"}[summary["convention"]]
    level, ends = percent(summary["confidence"]), (summary["low"], summary["high"])
    if summary["prior"] is None:
        range_text = "between {:.3g} and {:.3g}".format(*ends)
        say(f"{range_text} of {population} are positive: the data don't determine it")
    else:
        say(f"{summary['prior']:.3g} of {population} are positive")
    mark_text = mark(summary["unlabeled"])
    show.print_pairs(
        [
            (f"{level} CI", interval(*ends)),
            (
                "expected",
                f"{summary['rows_low']:,} to {summary['rows_high']:,} positive unlabelled rows",
            ),
            ("assumes", RANDOM_SAMPLE),
            ("method", summary["method"]),
            (
                "positive",
                f"{plural(summary['rows_labeled'], 'row')} labelled {quoted(summary['positive'])}",
            ),
            ("unlabelled", f"{plural(summary['rows_unlabeled'], 'row')}, {mark_text}"),
            ("seconds", number(summary["seconds"])),
        ]
    )
