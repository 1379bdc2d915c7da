"""The options of ``fewlabels predict``, :func:`fewlabels.pipeline.score` and ``score_file``."""

from dataclasses import dataclass
from typing import Any

from ..._util.option import (
    LIMITS,
    OUTPUT,
    PYTHON,
    OptionRecord,
    Range,
    at_least,
    declare,
    option,
    options_of_schema,
)
from ...tables.formats.registry import writable
from ...tables.reading.options import ClusterOptions, ReadingOptions
from .fit import FIT


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreOptions(OptionRecord, ReadingOptions):
    """The options of scoring rows; the values are what was given."""

    skip_missing: bool = option(False, "Don't score rows with missing numbers.", OUTPUT)
    fdr: float | None = option(
        None,
        "Anomaly detectors: add a column 'discovery' that marks anomalies so that, on average, at "
        "most this share of those marked is normal.",
        metavar="Q",
        range=Range("between 0 and 1", lambda value: 0 < value < 1),
    )
    empty_rows: str | None = declare(
        None, FIT["empty_rows"]._replace(unset="as the model was fitted")
    )
    trusted: Any = option(
        (),
        "Type of a candidate that the model file may hold, as the error without it says.",
        LIMITS,
        flag="--trust",
        metavar="TYPE",
        accepts="str or sequence of str",
    )
    n_jobs: int | None = declare(None, FIT["n_jobs"]._replace(is_parameter=False))
    observer: Any = declare(None, FIT["observer"])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreFileOptions(ScoreOptions, ClusterOptions):
    """The options of scoring rows and writing them; the values are what was given."""

    prefix: str = option("", "Prefix for the new columns, in case their names are taken.", OUTPUT)
    safe_cells: bool = option(
        False, "Put an apostrophe before text that a spreadsheet would run as a formula.", OUTPUT
    )
    form: str | None = option(
        None,
        "Format to write.",
        flag="--format",
        shown=PYTHON,
        unset="by the extension of the file",
        choices=tuple(each.name for each in writable()),
    )
    chunk_rows: int | None = option(
        None,
        "Rows held at a time.",
        shown=PYTHON,
        unset="chosen for the memory",
        range=at_least(1),
    )


SCORE_FILE = options_of_schema(ScoreFileOptions)
