"""Options that several commands have, and commands that take their options in groups."""

import inspect
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, get_type_hints

import typer

from ..io.errors import UserError
from ..jobs.settings import SETTINGS, option

# Arguments and options without a default that could be shown.
argument = partial(typer.Argument, show_default=False)
plain_option = partial(typer.Option, show_default=False)
Missing = StrEnum("Missing", ["impute", "skip", "refuse"])

ROWS_PANEL = "Rows and columns"

Model = Annotated[Path, argument(metavar="MODEL", help="Model that 'fewlabels fit' wrote.")]
DROP = typer.Option(None, help="Column to leave out; can be repeated.", rich_help_panel=ROWS_PANEL)
CATEGORICAL = typer.Option(
    None,
    help="Column of categories although it holds numbers; can be repeated.",
    rich_help_panel=ROWS_PANEL,
)
KEEP = typer.Option(
    None,
    help="Column to learn from although it looks like an identifier, a date or a constant; can be "
    "repeated.",
    rich_help_panel=ROWS_PANEL,
)
TEXT = typer.Option(
    None,
    help="Column whose words are learnt from although its texts are short; sentences are found by "
    "themselves; can be repeated.",
    rich_help_panel=ROWS_PANEL,
)
SCALE = typer.Option(
    None,
    "--scale/--no-scale",
    help="Scale numbers to mean 0 and variance 1 (sparse: to 1). (default: unless all columns are "
    "numbers of one unit: rows of one length, or columns that reach one largest value)",
    rich_help_panel=ROWS_PANEL,
)
DATES = typer.Option(
    None,
    help="Column of dates to learn from: days, weekday, month and hour; can be repeated.",
    rich_help_panel=ROWS_PANEL,
)
MERGE_CASE = typer.Option(
    None,
    "--merge-case/--no-merge-case",
    help="Whether values that differ in capital letters or blanks only are one. (default: of the "
    "target they are refused, in other columns they are one, and a note says so)",
    rich_help_panel=ROWS_PANEL,
    show_default=False,
)
_reading = partial(typer.Option, rich_help_panel="Reading", show_default=False)


class ReadingOptions(NamedTuple):
    """How a file of text is read."""

    sep: str | None = _reading(
        None,
        metavar="CHARACTER",
        help="Between cells; 'tab' for tabs. (default: found by looking)",
    )
    decimal: str | None = _reading(
        None, metavar=".|,", help="Before decimals. (default: found by looking)"
    )
    encoding: str | None = _reading(
        None, help="Of the text, such as utf-8, cp1252, utf-16. (default: found by looking)"
    )
    header: bool | None = _reading(
        None,
        "--header/--no-header",
        help="Whether the first row names the columns; else they are column_1, column_2 and so "
        "on. (default: yes, or as the model was fitted)",
    )
    features: Path | None = _reading(
        None,
        help="Numbers that stand beside the table, such as embeddings: an .npy file, row by row.",
    )


_cluster = partial(typer.Option, rich_help_panel="Cluster", show_default=False)


class ClusterOptions(NamedTuple):
    """Who reads the files of DATA."""

    scheduler: str | None = _cluster(
        None,
        metavar="ADDRESS",
        help="A Dask cluster whose workers read the files of DATA, which may be a pattern in "
        "quotes ('data/*.parquet'), such as tcp://10.0.0.1:8786.",
    )
    workers: int | None = _cluster(
        None, min=1, help="The same with so many processes that are started on this machine."
    )


Threads = Annotated[int | None, typer.Option(help="Threads. [default: all cores]")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
SummaryAsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
]


def grouped(command):
    """Make a command whose parameters of a named tuple's type are groups of options.

    Every field of the tuple becomes an option; its default tells the option's default, too.
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

    def run(**given):
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
            f"{option(name)} '{text}' is not understood; it must be {SETTINGS[name].words}."
        ) from None


def check_kernel(name):
    """The name of a kernel between rows; the list is read only where one is named."""
    if name is not None:
        from ..kernels import KERNELS, Trees

        names = [*(known for known in KERNELS if known != "precomputed"), Trees.name]
        if name not in names:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
    return name
