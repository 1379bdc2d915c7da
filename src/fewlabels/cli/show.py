"""Printing for people and for programs: nothing that a file holds can steer the terminal."""

import json
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import typer

from .._util.messages import printable
from ..pipeline.options.flags import as_flags


def say(*lines: str, err: bool = False) -> None:
    """Print lines; options are named by their flags, and control characters written out."""
    for line in lines or ("",):
        typer.echo(printable(as_flags(line)), err=err)


def install_output_hooks() -> None:
    """Let warnings and the messages of bugs take the same way."""
    previous = warnings.formatwarning

    def format_warning(*arguments: Any, **keywords: Any) -> str:
        return "".join(
            f"{printable(line)}\n" for line in previous(*arguments, **keywords).splitlines()
        )

    def show_bug(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        say(*"".join(traceback.format_exception(kind, error, trace)).splitlines(), err=True)

    if not getattr(previous, "is_guarded", False):
        vars(format_warning)["is_guarded"] = True
        warnings.formatwarning = format_warning
    sys.excepthook = show_bug


def print_json(values: object, err: bool = False) -> None:
    say(*json.dumps(values, indent=2, allow_nan=False).split("\n"), err=err)


def print_note(message: str) -> None:
    """Print what the user should know, apart from the results."""
    say(f"Note: {message}.", err=True)


def print_summary(summary: dict[str, Any], json: bool, quiet: bool, notes: Iterable[str]) -> bool:
    """Print notes and JSON unless asked not to; whether lines for people are wanted."""
    for message in () if quiet else notes:
        print_note(message)
    if json:
        print_json(summary)
    return not (json or quiet)


def command_line(context: typer.Context) -> str:
    """Return the command that is running, as a user would type it again."""
    words = ["fewlabels", str(context.info_name)]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        value = context.params.get(parameter.name)
        if source is None or source.name != "COMMANDLINE" or value is None:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            words.append(max(parameter.opts if value else parameter.secondary_opts, key=len))
        else:
            for item in value if isinstance(value, list | tuple) else [value]:
                words += [max(parameter.opts, key=len), str(getattr(item, "value", item))]
    return shlex.join(words)


def print_pairs(pairs: Iterable[tuple[str, object]], err: bool = False) -> None:
    """Print aligned names and values, leaving out those without a value."""
    print_sections({"": pairs}, err)


def print_sections(parts: Mapping[str, Iterable[tuple[str, object]]], err: bool = False) -> None:
    """Print titled groups of names and values, all aligned; ``parts`` maps titles to pairs."""
    present = {
        title: [(name, value) for name, value in pairs if value is not None]
        for title, pairs in parts.items()
    }
    width = max(len(name) for pairs in present.values() for name, _ in pairs)
    for title, pairs in present.items():
        if title and pairs:
            say(title, err=err)
        for name, value in pairs:
            say(f"  {name:<{width}}  {value}", err=err)
