"""``fewlabels watch``: alarms when the rows that a model scores change."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .. import pipeline
from . import progress, show
from .errors import ALARM
from .options import (
    READING,
    Model,
    OptionGroup,
    Quiet,
    Trust,
    argument,
    expand_groups,
    given_values,
    plain_option,
)
from .show import say

StreamFormat = StrEnum("StreamFormat", ["csv", "jsonl"])

_alarm_option = partial(typer.Option, rich_help_panel="Alarms and alerts")
_plain_alarm_option = partial(_alarm_option, show_default=False)
_output_option = partial(typer.Option, rich_help_panel="State and outputs")
_plain_output_option = partial(_output_option, show_default=False)


class AlarmOptions(NamedTuple):
    """When to alarm and to alert."""

    alpha: float = _alarm_option(
        0.01, help="Share of unchanged streams that may ever raise an alarm."
    )
    run_length: int | None = _plain_alarm_option(
        None,
        min=2,
        help="Raise repeated alarms: on unchanged rows, about one per N rows on average.",
    )
    alerts: float | None = _plain_alarm_option(
        None, metavar="SHARE", help="Alert on this share of normal rows."
    )
    fdr: float | None = _plain_alarm_option(
        None,
        metavar="Q",
        help="Bound the false discovery rate: on average at most this share of the alerts is "
        "normal.",
    )
    calibration: Path | None = _plain_alarm_option(
        None,
        metavar="FILE",
        help="Rows from before the stream that MODEL was not trained on. "
        "(default: rows that MODEL held out, if any; else the first rows of the stream)",
    )
    target: str | None = _plain_alarm_option(
        None,
        help="Column of the calibration rows with two classes, to distinguish a changed class "
        "ratio from changed features.",
    )
    adapt: str | None = _plain_alarm_option(
        None, metavar="window=N", help="Let the model follow the last N rows."
    )
    accept: bool = _alarm_option(
        False, "--accept", help="Declare the last alarm's change the new normal."
    )
    seed: int = _alarm_option(0, min=0, help="Seed of the numbers that break ties.")


class AlertOptions(NamedTuple):
    """Options of the outputs."""

    state: Path | None = _plain_output_option(
        None,
        metavar="FILE",
        help="SQLite file that stores the state, to continue from after a stop or crash.",
    )
    every: int = _output_option(1000, min=1, help="Rows between two updates of files.")
    output: Path | None = _plain_output_option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="Append JSON Lines to this file, each row once. (default: standard output)",
    )
    only_alerts: bool = _output_option(
        False, "--only-alerts", help="Write rows with alerts and alarms only."
    )
    report: Path | None = _plain_output_option(
        None, metavar="PAGE.html", help="Write a page: evidence, p-values, what changed."
    )
    prometheus: Path | None = _plain_output_option(
        None, metavar="FILE", help="Write counts as a Prometheus text file."
    )
    replay: bool = _output_option(
        False,
        "--replay",
        help="Standard input begins with rows that the state has already counted: skip them.",
    )


@expand_groups
def watch(
    model: Model,
    alarm_options: AlarmOptions,
    output_options: AlertOptions,
    reading: OptionGroup("empty_rows", *READING),  # type: ignore[valid-type]
    files: Annotated[
        list[Path] | None,
        argument(metavar="[FILE]...", help="Tables to watch, or - for standard input."),
    ] = None,
    format: Annotated[StreamFormat | None, plain_option(help="Format of standard input.")] = None,
    trust: Trust = None,
    quiet: Quiet = False,
) -> None:
    """Watch the rows that MODEL scores, and raise an alarm when they change.

    Examples
    --------
        fewlabels watch model today.csv --state watch.db --report page.html

        tail -f rows.jsonl | fewlabels watch model - --state watch.db --only-alerts

        fewlabels watch model --state watch.db --accept

    Every row gives one JSON line: score, p_value (small for unusual rows), evidence (power of
    ten), alert and alarm. The order of rows must carry no information while nothing changes.
    """
    options = given_values(alarm_options) | given_values(output_options) | reading
    with progress.observe_progress("reading the model", quiet) as observer:
        summary = pipeline.watch(
            model,
            files or [],
            **options,
            trusted=trust or (),
            form=format and format.value,
            observer=observer,
            on_start=None if quiet else _print_start,
            on_alarm=None if quiet else _print_alarm,
        )
    if not quiet:
        has_alerts = not options.keys().isdisjoint(("alerts", "fdr"))
        _print_summary(summary, has_alerts)
    if summary["alarm"] or summary["raised"]:
        raise typer.Exit(ALARM)


def _accepted_note(summary: dict[str, Any]) -> str:
    """Return ", accepted" if the alarm of a watch without a run length was accepted."""
    is_pending = summary["alarm"] or summary["run_length"] is not None or not summary["alarms"]
    return "" if is_pending else ", accepted"


def _print_start(message: str) -> None:
    say(message, err=True)


def _print_alarm(record: dict[str, Any]) -> None:
    say(f"Alarm at row {record['row']:,}: the rows have changed.", err=True)


def _print_summary(summary: dict[str, Any], has_alerts: bool) -> None:
    """Print counts and what changed on standard error, as standard output holds the rows."""
    change = summary["change"]
    before = summary["rows_before"]
    earlier_note = f", after {before:,} in earlier calls" if before else ""
    say(f"{summary['rows'] - before:,} rows watched{earlier_note}", err=True)
    lines = [
        ("without a score", f"{summary['skipped']:,}" if summary["skipped"] else None),
        ("alerts", f"{summary['alerts']:,}" if has_alerts else "none without --alerts or --fdr"),
        ("alarms", f"{summary['alarms']:,}{_accepted_note(summary)}"),
        ("calibration", summary["calibration"]),
        ("evidence", f"10^{summary['evidence']:.1f}, alarm at 10^{summary['threshold']:.1f}"),
    ]
    if change is not None:
        low, high = (row + 1 for row in change.interval)
        names = [f.name for f in change.features if f.changed][:5]
        pairs = [f"how {' and '.join(pair.names)} go together" for pair in change.pairs[:2]]
        lines += [
            ("began", f"row {change.began + 1:,} ({low:,} to {high:,}, 90 %)"),
            ("changed", ", ".join(names or pairs) or "no single feature"),
        ]
    show.print_pairs(lines, err=True)
