"""``fewlabels predict``: from a model and a file to scores."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .. import pipeline
from .._util.messages import quoted
from .._util.option import OUTPUT
from ..pipeline.words import number, percent, share
from ..tables.formats.registry import every_extension, writable
from . import progress, show
from .options import (
    CLUSTER,
    READING,
    Model,
    OptionGroup,
    Quiet,
    SummaryAsJson,
    Threads,
    argument,
    grouped,
    plain_option,
)
from .show import say
from .streams import STREAM, Format, format_of, input_file, output_file, output_or_stream

_detail = partial(typer.Option, rich_help_panel=OUTPUT, show_default=False)


class OutputOptions(NamedTuple):
    """Options of the output."""

    format: Format | None = _detail(
        None,
        help="Format of standard input and output. (default: detected; output as DATA, or CSV)",
    )
    prefix: str = _detail("", help="Prefix for the new columns, in case their names are taken.")
    skip_missing: bool = _detail(
        False, "--skip-missing", help="Don't score rows with missing numbers."
    )
    safe_cells: bool = _detail(
        False,
        "--safe-cells",
        help="Put an apostrophe before text that a spreadsheet would run as a formula.",
    )


@grouped
def predict(
    model: Model,
    data: Annotated[
        Path,
        argument(
            metavar="DATA",
            help="Rows to score: a table with the model's columns in any order, or a matrix; "
            "- for standard input.",
        ),
    ],
    asked: OptionGroup("empty_rows", *READING, *CLUSTER),  # type: ignore[valid-type]
    of_output: OutputOptions,
    out: Annotated[
        Path | None,
        plain_option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"Table to write: {every_extension(writable())}; - for standard output. "
            "(default: standard output, unless it is a terminal)",
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        plain_option(
            metavar="Q",
            help="Anomaly detectors: add a column 'discovery' that marks anomalies so that, on "
            "average, at most this share of those marked is normal.",
        ),
    ] = None,
    n_jobs: Threads = None,
    quiet: Quiet = False,
    json: SummaryAsJson = False,
) -> None:
    """Score the rows of DATA and write them with a score, a label and a probability.

    ```
    fewlabels predict m.fewlabels new.csv -o scored.csv
    fewlabels predict m.fewlabels - < new.csv > scored.csv
    ```

    The new columns depend on the model:

    - anomaly detector: score (positive inside), label ("inside" or "outside") and p_value (small
      for anomalies)
    - positive and unlabelled: score, label (the class, or blank), positive (True or False) and
      probability
    - several classes: score, label (a class) and a probability, or "probability CLASS" for each
      of three or more classes

    Other cells are copied unchanged. Pass --safe-cells if you don't trust DATA and will open the
    output in a spreadsheet. Files of any size are processed piece by piece.
    """
    out = output_or_stream(out)
    with (
        input_file(data, of_output.format) as (rows_of, form),
        output_file(out, form := of_output.format or form or format_of(data)) as written,
        progress.observing("reading the model", quiet, timed=True) as observer,
    ):
        summary = pipeline.score_file(
            model,
            rows_of,
            written,
            prefix=of_output.prefix,
            skip_missing=of_output.skip_missing,
            fdr=fdr,
            safe_cells=of_output.safe_cells,
            n_jobs=n_jobs,
            form=form if out == STREAM else None,
            observer=observer,
            **asked,
        )
    summary |= {"data": str(data), "output": str(out)}
    notes = _notes(summary)
    if out == STREAM:
        # Standard output holds the rows.
        show.told(summary, False, quiet, notes)
        if json:
            show.as_json(summary, err=True)
    elif show.told(summary, json, quiet, notes):
        rows, labeled = summary["rows"], sum(one["rows"] for one in summary["labeled"].values())
        answers = () if "no_signal" in summary else summary["answers"]
        say(f"scores written to {out}")
        show.lines(
            [
                ("rows", f"{rows:,}" + (f", {labeled:,} of them labelled" if labeled else "")),
                *((_spoken(name), _counted(name, summary)) for name in answers),
                ("discoveries", _discoveries(summary)),
                ("without a score", f"{summary['skipped']:,}" if summary["skipped"] else None),
                ("seconds", number(summary["seconds"])),
            ]
        )


def _counted(name: str, summary: dict[str, Any]) -> str:
    """Count rows with an answer, and of positive and unlabelled rows those without a label."""
    text = share(summary[name], summary["rows"])
    if name != "positive" or not summary["labeled"]:
        return text
    agreeing = sum(one["agreeing"] for one in summary["labeled"].values())
    return f"{text}: {summary[name] - agreeing:,} without a label, {agreeing:,} labelled"


def _discoveries(summary: dict[str, Any]) -> str | None:
    if "fdr" not in summary:
        return None
    found = share(summary["discoveries"], summary["rows"])
    if not summary["discoveries"]:
        return found
    rate = percent(summary["fdr"])
    return f"{found}; averaged over training sets and files, at most {rate} of them are normal"


def _disagreements(labeled: dict[str, dict[str, int]]) -> list[str]:
    """Describe the rows to which the model gives another label than they have."""
    wrong = {
        name: one["rows"] - one["agreeing"]
        for name, one in labeled.items()
        if one["rows"] > one["agreeing"]
    }
    if not wrong:
        return []
    counts = ", ".join(
        f"{n:,} of {labeled[name]['rows']:,} rows labelled {quoted(name)}"
        for name, n in wrong.items()
    )
    return [
        f"the model contradicts {counts}: the new columns hold the model's answers, and your "
        "labels are unchanged"
    ]


def _notes(summary: dict[str, Any]) -> list[str]:
    """Return remarks on the rows that the user should read."""
    from ..tables.columns.tally import (  # slow to import
        empty_words,
        filled_words,
        unseen_words,
        wordless_words,
    )

    notes = [summary["no_signal"]] if "no_signal" in summary else []
    notes += [
        f"{one} ('fewlabels inspect {summary['model']}' says more)" for one in summary["reminders"]
    ]
    notes += summary["notes"]
    if "no_signal" not in summary:
        notes += _disagreements(summary["labeled"])
    if "too_few" in summary:
        notes.append(summary["too_few"])
    if summary["empty_rows"]["count"]:
        notes.append(empty_words(*summary["empty_rows"].values()))
    if summary["filled"]:
        notes.append(filled_words(summary["filled"]))
    if summary["unseen_categories"]:
        notes.append(unseen_words(summary["unseen_categories"], summary["unseen_values"]))
    if summary["texts_without_known_words"]:
        notes.append(wordless_words(summary["texts_without_known_words"]))
    return notes


def _spoken(name: str) -> str:
    """Name of a count for people; classes keep the name they have."""
    return name if "'" in name else name.replace("_", " ")
