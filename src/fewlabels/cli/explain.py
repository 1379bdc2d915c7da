"""``fewlabels explain``: which columns drive the score of a row."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import pipeline
from .._util.messages import UserError, plural, quoted
from .._util.option import LIMITS
from ..pipeline.formatting import number
from . import show
from .options import (
    READING,
    Model,
    OptionGroup,
    Threads,
    Trust,
    argument,
    expand_groups,
    plain_option,
)
from .show import say


@expand_groups
def explain(
    model: Model,
    data: Annotated[
        Path,
        argument(metavar="DATA", help="File with the rows to explain."),
    ],
    row: Annotated[
        list[int],
        plain_option(metavar="N", help="Row number in DATA, from 1. Repeatable."),
    ],
    reading: OptionGroup(*READING),  # type: ignore[valid-type]
    background: Annotated[
        Path | None,
        plain_option(
            metavar="FILE",
            help="Typical rows to compare with, such as the training file. (default: other rows "
            "of DATA)",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Class whose score to explain. (default: the predicted class)",
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Columns to show.")] = 10,
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed for sampling typical rows.", rich_help_panel=LIMITS),
    ] = 0,
    trust: Trust = None,
    n_jobs: Threads = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show which columns drive the score of a row, and in which direction.

    ```
    fewlabels explain m.fewlabels new.csv --row 17
    ```

    Contributions are Shapley values: the average change of the score when a column takes the
    row's value instead of a typical one. They add up from the typical score to the row's score.
    For text columns the words are listed too, with the change of the score when a word is removed.
    """
    if top < 1:
        raise UserError(f"--top {top} is out of range; it must be 1 or more.")
    explanation = pipeline.explain(
        model,
        data,
        row,
        background=background,
        seed=seed,
        trusted=trust or (),
        n_jobs=n_jobs,
        of=of,
        **reading,
    )
    if json:
        show.print_json(
            {
                **explanation,
                "rows": [_limit_columns(answer, top) for answer in explanation["rows"]],
            }
        )
        return
    for message in explanation["notes"]:
        show.print_note(message)
    for answer in explanation["rows"]:
        _print_answer(answer, explanation, top)


def _limit_columns(answer: dict[str, Any], top: int) -> dict[str, Any]:
    return {
        **answer,
        "contributions": answer["contributions"][:top],
        "others": _sum_of_others(answer, top),
    }


def _sum_of_others(answer: dict[str, Any], top: int) -> dict[str, float]:
    others = answer["contributions"][top:]
    return {
        "count": len(others),
        "contribution": sum(contribution["contribution"] for contribution in others),
    }


def _print_answer(answer: dict[str, Any], explanation: dict[str, Any], top: int) -> None:
    more = "".join(
        f", {name.replace('_', '-')} {number(answer[name])}"
        for name in ("p_value", "probability")
        if answer.get(name) is not None
    )
    label = f" ({answer['label']})" if answer["label"] else ""
    if answer.get("class") not in (None, answer["label"]):
        label = f" for {quoted(answer['class'])}, the label is {quoted(answer['label'])}"
    say(
        f"row {answer['row']:,} of {explanation['data']}: score {answer['score']:.4g}{label}{more}"
    )
    running_score = answer.get("usual_score", explanation["usual_score"])
    compared = f"{plural(explanation['background_rows'], 'row')} of {explanation['background']}"
    lines = [("column", "value", "usual", "contribution", "score so far")]
    lines.append((f"mean of {compared}", "", "", "", f"{running_score:.4g}"))
    for contribution in answer["contributions"][:top]:
        running_score += contribution["contribution"]
        error = (
            f" ± {contribution['standard_error']:.1g}" if contribution["standard_error"] else ""
        )
        change_text = f"{contribution['contribution']:+.4g}{error}"
        values = _write_value(contribution["value"]), _write_value(contribution["usual"])
        lines.append((contribution["column"], *values, change_text, f"{running_score:.4g}"))
    others = _sum_of_others(answer, top)
    if others["count"]:
        running_score += others["contribution"]
        words = f"{others['count']:,} other column{'s' if others['count'] > 1 else ''}"
        lines.append((words, "", "", f"{others['contribution']:+.4g}", f"{running_score:.4g}"))
    # The words on the usual rows may reach over the columns that are blank there.
    widths = [max(len(line[k]) for j, line in enumerate(lines) if j != 1) for k in range(5)]
    start = max(sum(widths[:4]) + 6, len(lines[1][0]))
    for j, line in enumerate(lines):
        left = "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line[:4], widths, strict=False))
        )
        left = line[0] if j == 1 else left
        say(f"  {left.ljust(start)}  {line[4].rjust(widths[4])}")
    if answer.get("words"):
        words = ", ".join(
            f"{quoted(word['word'])} {word['change']:+.3g}" for word in answer["words"][:top]
        )
        say(f"  what the score loses without a word: {words}")


def _write_value(value: str | float | None) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else text[:21] + "..."
