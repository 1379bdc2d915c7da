"""``fewlabels watch``: alarms when the rows that a model scores change."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from .. import pipeline
from .._util.messages import plural
from ..pipeline.options.watch import WATCH, WatchOptions
from . import progress, show
from .errors import ALARM
from .options import (
    Model,
    OptionGroup,
    Quiet,
    argument,
    expand_groups,
)
from .show import say

_FILES = WATCH["files"]
_WATCH_OPTIONS = OptionGroup.whole_schema(WatchOptions, without=("files", "labels"))


@expand_groups
def watch(
    model: Model,
    options: _WATCH_OPTIONS,  # type: ignore[valid-type]
    files: Annotated[list[Path] | None, argument(metavar=_FILES.metavar, help=_FILES.help)] = None,
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
    with progress.observe_progress("reading the model", quiet) as observer:
        summary = pipeline.watch(
            model,
            files or [],
            **options,
            observer=observer,
            on_start=None if quiet else _print_start,
            on_alarm=None if quiet else _print_alarm,
        )
    if not quiet:
        given = cast("dict[str, Any]", options)
        _print_summary(summary, has_alerts=not given.keys().isdisjoint(("alerts", "fdr")))
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
    say(f"{plural(summary['rows'] - before, 'row')} watched{earlier_note}", err=True)
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
