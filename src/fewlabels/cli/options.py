"""Options that several commands have, and commands that take their options in groups."""

import inspect
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, get_type_hints

import typer

from ..io.errors import UserError
from ..jobs.settings import SETTINGS, option
from .terminal.help import CLUSTER_PANEL, COLUMNS_PANEL, LIMITS_PANEL, READING_PANEL, HelpAll

# Arguments and options without a default that could be shown.
argument = partial(typer.Argument, show_default=False)
plain_option = partial(typer.Option, show_default=False)
Missing = StrEnum("Missing", ["impute", "skip", "refuse"])

ROWS_PANEL = "Rows and columns"
MODEL_PANEL = "Model"
REPORT_PANEL = "Time and report"

_column = partial(
    typer.Option, metavar="COLUMN", show_default=False, rich_help_panel=COLUMNS_PANEL
)

Model = Annotated[Path, argument(metavar="MODEL", help="Model file written by 'fewlabels fit'.")]
DROP = typer.Option(
    None,
    metavar="COLUMN",
    show_default=False,
    help="Leave this column out. Repeatable.",
    rich_help_panel=ROWS_PANEL,
)
CATEGORICAL = _column(None, help="Treat this column of numbers as categories. Repeatable.")
KEEP = _column(
    None,
    help="Use this column although it looks like an identifier, a date or a constant. Repeatable.",
)
TEXT = _column(
    None,
    help="Use the words of this column although its texts are short. Sentences are recognised "
    "automatically. Repeatable.",
)
SCALE = typer.Option(
    None,
    "--scale/--no-scale",
    help="Scale numbers to mean 0 and variance 1 (sparse: variance 1). (default: yes, unless all "
    "columns share one unit, such as pixels or TF-IDF)",
    rich_help_panel=COLUMNS_PANEL,
)
DATES = _column(None, help="Use this column of dates: day, weekday, month and hour. Repeatable.")
MERGE_CASE = typer.Option(
    None,
    "--merge-case/--no-merge-case",
    help="Merge values that differ only in capitals or spaces. (default: yes, with a note; in the "
    "target they are an error)",
    rich_help_panel=COLUMNS_PANEL,
    show_default=False,
)
_reading = partial(typer.Option, rich_help_panel=READING_PANEL, show_default=False)


class ReadingOptions(NamedTuple):
    """How a file of text is read."""

    sep: str | None = _reading(
        None,
        metavar="CHARACTER",
        help="Separator between cells; 'tab' for tabs. (default: detected)",
    )
    decimal: str | None = _reading(
        None, metavar=".|,", help="Decimal separator. (default: detected)"
    )
    encoding: str | None = _reading(
        None,
        metavar="NAME",
        help="Text encoding, such as utf-8, cp1252 or utf-16. (default: detected)",
    )
    header: bool | None = _reading(
        None,
        "--header/--no-header",
        help="Whether the first row holds column names; otherwise columns are column_1, column_2 "
        "and so on. (default: yes, or as in training)",
    )
    features: Path | None = _reading(
        None,
        metavar="FILE.npy",
        help="More numbers for each row, such as embeddings; one row per row of the table.",
    )


_cluster = partial(typer.Option, rich_help_panel=CLUSTER_PANEL, show_default=False)


class ClusterOptions(NamedTuple):
    """Who reads the files of DATA."""

    scheduler: str | None = _cluster(
        None,
        metavar="ADDRESS",
        help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786. Its workers read DATA, "
        "which may be a quoted pattern ('data/*.parquet').",
    )
    workers: int | None = _cluster(
        None, min=1, metavar="N", help="Start a local Dask cluster of N worker processes instead."
    )


Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads. (default: all cores)", rich_help_panel=LIMITS_PANEL),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def grouped(command):
    """Make a command whose parameters of a named tuple's type are groups of options.

    Every field of the tuple becomes an option with the field's default. The command gets the
    option ``--help-all`` as well.
    """
    signature = inspect.signature(command, eval_str=True)
    groups, spread = {}, []
    for name, parameter in signature.parameters.items():
        group = parameter.annotation
        if not hasattr(group, "_fields"):
            spread.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        for field, annotation in get_type_hints(group, include_extras=True).items():
            default = group._field_defaults[field]
            kind = inspect.Parameter.KEYWORD_ONLY
            spread.append(inspect.Parameter(field, kind, default=default, annotation=annotation))

    kind = inspect.Parameter.KEYWORD_ONLY
    spread.append(inspect.Parameter("help_all", kind, default=False, annotation=HelpAll))

    def run(help_all=False, **given):
        for name, group in groups.items():
            given[name] = group(*(given.pop(field) for field in group._fields))
        return command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    run.__signature__ = signature.replace(parameters=spread)
    return run


def values_of(group):
    """Values of a group of options, as far as there are any."""
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in group._asdict().items()
        if value is not None
    }


def parse_number(name, text, words):
    """Read an option that is a number or one of some words."""
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"{option(name)} '{text}' is not valid; it must be {SETTINGS[name].words}."
        ) from None


def check_kernel(name):
    """The name of a kernel between rows; the list is read only where one is named."""
    if name is not None:
        from ..kernels import KERNELS, Trees

        names = [*(known for known in KERNELS if known != "precomputed"), Trees.name]
        if name not in names:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
    return name
