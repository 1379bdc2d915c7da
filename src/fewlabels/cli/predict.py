"""``fewlabels predict``: from a model and a file to scores."""

from pathlib import Path
from typing import Annotated, Any

from .. import pipeline
from .._util.messages import plural, quoted
from .._util.option import OUTPUT
from ..pipeline.formatting import number, percent, share
from ..pipeline.options.score import ScoreFileOptions
from ..tables.formats.registry import every_extension, writable
from . import progress, show
from .options import (
    CLUSTER,
    READING,
    Model,
    OptionGroup,
    Quiet,
    SummaryAsJson,
    argument,
    expand_groups,
    plain_option,
)
from .show import say
from .streams import STREAM, Format, choose_format, input_file, output_file, output_or_stream

_SCORING = OptionGroup("fdr", "empty_rows", *READING, *CLUSTER, schema=ScoreFileOptions)
_WRITING = OptionGroup(
    "prefix", "skip_missing", "safe_cells", "trusted", "n_jobs", schema=ScoreFileOptions
)


@expand_groups
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
    *,
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
    scoring: _SCORING,  # type: ignore[valid-type]
    format: Annotated[
        Format | None,
        plain_option(
            help="Format of standard input and output. (default: detected; output as DATA, or "
            "CSV)",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    writing: _WRITING,  # type: ignore[valid-type]
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
        input_file(data, format) as (input_path, form),
        output_file(out, form := format or form or choose_format(data)) as output_path,
        progress.observe_progress("reading the model", quiet, timed=True) as observer,
    ):
        summary = pipeline.score_file(
            model,
            input_path,
            output_path,
            form=form if out == STREAM else None,
            observer=observer,
            **scoring,
            **writing,
        )
    summary |= {"data": str(data), "output": str(out)}
    notes = _collect_notes(summary)
    if out == STREAM:
        # Standard output holds the rows.
        show.print_summary(summary, False, quiet, notes)
        if json:
            show.print_json(summary, err=True)
    elif show.print_summary(summary, json, quiet, notes):
        rows = summary["rows"]
        labeled = sum(counts["rows"] for counts in summary["labeled"].values())
        answers = () if "no_signal" in summary else summary["answers"]
        say(f"scores written to {out}")
        show.print_pairs(
            [
                ("rows", f"{rows:,}" + (f", {labeled:,} of them labelled" if labeled else "")),
                *((_write_name(name), _write_count(name, summary)) for name in answers),
                ("discoveries", _write_discoveries(summary)),
                ("without a score", f"{summary['skipped']:,}" if summary["skipped"] else None),
                ("seconds", number(summary["seconds"])),
            ]
        )


def _write_count(name: str, summary: dict[str, Any]) -> str:
    """Count rows with an answer, and of positive and unlabelled rows those without a label."""
    text = share(summary[name], summary["rows"])
    if name != "positive" or not summary["labeled"]:
        return text
    make_agree = sum(counts["agreeing"] for counts in summary["labeled"].values())
    return f"{text}: {summary[name] - make_agree:,} without a label, {make_agree:,} labelled"


def _write_discoveries(summary: dict[str, Any]) -> str | None:
    if "fdr" not in summary:
        return None
    discoveries = share(summary["discoveries"], summary["rows"])
    if not summary["discoveries"]:
        return discoveries
    rate = percent(summary["fdr"])
    return (
        f"{discoveries}; averaged over training sets and files, at most {rate} of them are normal"
    )


def _describe_contradictions(labeled: dict[str, dict[str, int]]) -> list[str]:
    """Describe the rows to which the model gives another label than they have."""
    contradictions = {
        name: counts["rows"] - counts["agreeing"]
        for name, counts in labeled.items()
        if counts["rows"] > counts["agreeing"]
    }
    if not contradictions:
        return []
    counts = ", ".join(
        f"{n:,} of {plural(labeled[name]['rows'], 'row')} labelled {quoted(name)}"
        for name, n in contradictions.items()
    )
    return [
        f"the model contradicts {counts}: the new columns hold the model's answers, and your "
        "labels are unchanged"
    ]


def _collect_notes(summary: dict[str, Any]) -> list[str]:
    """Return remarks on the rows that the user should read."""
    from ..tables.columns.tally import (  # slow to import
        describe_empty_rows,
        describe_filled,
        describe_unknown_values,
        describe_wordless_texts,
    )

    notes = [summary["no_signal"]] if "no_signal" in summary else []
    notes += [
        f"{reminder} ('fewlabels inspect {summary['model']}' says more)"
        for reminder in summary["reminders"]
    ]
    notes += summary["notes"]
    if "no_signal" not in summary:
        notes += _describe_contradictions(summary["labeled"])
    if "too_few" in summary:
        notes.append(summary["too_few"])
    if summary["empty_rows"]["count"]:
        notes.append(describe_empty_rows(*summary["empty_rows"].values()))
    if summary["filled"]:
        notes.append(describe_filled(summary["filled"]))
    if summary["unseen_categories"]:
        notes.append(
            describe_unknown_values(summary["unseen_categories"], summary["unseen_values"])
        )
    if summary["texts_without_known_words"]:
        notes.append(describe_wordless_texts(summary["texts_without_known_words"]))
    return notes


def _write_name(name: str) -> str:
    """Name of a count for people; classes keep the name they have."""
    return name if "'" in name else name.replace("_", " ")
