"""Options that several commands have, and commands that take their options in groups."""

from __future__ import annotations

import dataclasses
import inspect
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from ..io.errors import UserError
from ..jobs.settings import SETTINGS, option

Missing = StrEnum("Missing", ["impute", "skip", "refuse"])

ROWS_PANEL = "Rows and columns"

Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model that 'fewlabels fit' wrote.", show_default=False),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out; can be repeated.", rich_help_panel=ROWS_PANEL),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of categories although it holds numbers; can be repeated.",
        rich_help_panel=ROWS_PANEL,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to learn from although it looks like an identifier, a date, free text or "
        "a constant; can be repeated.",
        rich_help_panel=ROWS_PANEL,
    ),
]
Scale = Annotated[
    bool,
    typer.Option(
        help="Scale numbers to mean 0 and variance 1 (sparse: to 1).", rich_help_panel=ROWS_PANEL
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads. [default: all cores]")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output even if it is no model.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
SummaryAsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
]


def grouped(command):
    """Make a command whose parameters of a dataclass type are groups of options.

    Every field of the dataclass becomes an option, with the field's annotation and default.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if dataclasses.is_dataclass(parameter.annotation)
    }
    spread = []
    for name, parameter in signature.parameters.items():
        if name not in groups:
            spread.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        annotations = get_type_hints(groups[name], include_extras=True)
        spread += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=annotations[field.name],
            )
            for field in dataclasses.fields(groups[name])
        ]

    def run(**given):
        for name, group in groups.items():
            values = {field.name: given.pop(field.name) for field in dataclasses.fields(group)}
            given[name] = group(**values)
        return command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    run.__signature__ = signature.replace(parameters=spread)
    return run


def values_of(group):
    """Values of a group of options, as far as there are any."""
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in dataclasses.asdict(group).items()
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
