"""The options of ``fewlabels watch`` and :func:`fewlabels.pipeline.watch`."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..._util.option import PYTHON, OptionRecord, at_least, declare, option, options_of_schema
from ...tables.reading.options import ReadingOptions
from .fit import FIT
from .score import SCORE_FILE

_ALARMS = "Alarms and alerts"
_OUTPUTS = "State and outputs"


@dataclass(frozen=True, eq=False, repr=False)
class WatchOptions(OptionRecord, ReadingOptions):
    """The options of watching rows; the values are what was given."""

    files: Any = option(
        (),
        "Tables to watch, or - for standard input.",
        metavar="[FILE]...",
        accepts="path-like or sequence of path-like",
    )
    _: KW_ONLY
    alpha: float = option(
        0.01, "Share of unchanged streams that may ever raise an alarm.", _ALARMS
    )
    run_length: int | None = option(
        None,
        "Raise repeated alarms: on unchanged rows, about one per N rows on average.",
        _ALARMS,
        range=at_least(2),
    )
    alerts: float | None = option(
        None, "Alert on this share of normal rows.", _ALARMS, metavar="SHARE"
    )
    fdr: float | None = option(
        None,
        "Bound the false discovery rate: on average at most this share of the alerts is normal.",
        _ALARMS,
        metavar="Q",
    )
    calibration: Any = option(
        None,
        "Rows from before the stream that MODEL was not trained on.",
        _ALARMS,
        metavar="FILE",
        unset="rows that MODEL held out, if any; else the first rows of the stream",
        accepts="path-like",
    )
    target: str | None = option(
        None,
        "Column of the calibration rows with two classes, to distinguish a changed class ratio "
        "from changed features.",
        _ALARMS,
    )
    adapt: str | None = option(
        None, "Let the model follow the last N rows.", _ALARMS, metavar="window=N"
    )
    accept: bool = option(False, "Declare the last alarm's change the new normal.", _ALARMS)
    seed: int = option(0, "Seed of the numbers that break ties.", _ALARMS, range=at_least(0))
    state: Any = option(
        None,
        "SQLite file that stores the state, to continue from after a stop or crash.",
        _OUTPUTS,
        metavar="FILE",
        accepts="path-like",
    )
    every: int = option(1000, "Rows between two updates of files.", _OUTPUTS, range=at_least(1))
    output: Any = option(
        None,
        "Append JSON Lines to this file, each row once.",
        _OUTPUTS,
        letter="-o",
        metavar="FILE",
        unset="standard output",
        accepts="path-like",
    )
    only_alerts: bool = option(False, "Write rows with alerts and alarms only.", _OUTPUTS)
    report: Any = option(
        None,
        "Write a page: evidence, p-values, what changed.",
        _OUTPUTS,
        metavar="PAGE.html",
        accepts="path-like",
    )
    prometheus: Any = option(
        None,
        "Write counts as a Prometheus text file.",
        _OUTPUTS,
        metavar="FILE",
        accepts="path-like",
    )
    replay: bool = option(
        False,
        "Standard input begins with rows that the state has already counted: skip them.",
        _OUTPUTS,
    )
    empty_rows: str | None = declare(None, SCORE_FILE["empty_rows"])
    trusted: Any = declare((), SCORE_FILE["trusted"])
    form: str | None = option(
        None, "Format of standard input.", flag="--format", choices=("csv", "jsonl")
    )
    on_start: Any = option(
        None,
        "Called before the first row with what can't be seen, if anything.",
        shown=PYTHON,
        accepts="callable",
    )
    on_alarm: Any = option(
        None,
        "Called with the record of each row that raises an alarm.",
        shown=PYTHON,
        accepts="callable",
    )
    observer: Any = declare(None, FIT["observer"])


WATCH = options_of_schema(WatchOptions)
