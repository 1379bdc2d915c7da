"""Options of the command line: from a schema, those that several commands have, and their help."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    Self,
    TypeAlias,
    get_args,
    get_type_hints,
)

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from .._util.option import DETAILED, LIMITS, PYTHON, Option, help_text, options_of_schema
from ..pipeline.options.fit import FitOptions
from ..pipeline.options.flags import as_flags, flags
from ..tables.formats.registry import matrices, tables, usual_extensions
from .show import say

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from typer import _click as click

# Arguments and options without a default that could be shown.
argument = partial(typer.Argument, show_default=False)
plain_option = partial(typer.Option, show_default=False)

# How a file is read, and who reads it.
READING = ("sep", "decimal", "encoding", "header", "features")
CLUSTER = ("scheduler", "workers")
FILES = f"Table ({usual_extensions(tables())}) or matrix ({usual_extensions(matrices())})."

Model = Annotated[Path, argument(metavar="MODEL", help="Model file written by 'fewlabels fit'.")]
# Checks the text of an option, and returns it.
Callback: TypeAlias = Callable[[str | None], str | None]


class OptionGroup(tuple[str, ...]):
    """Annotation of a parameter that receives several options by name, if they are given.

    The options are fields of the ``schema`` with these names. ``helps`` are other help texts for
    some of them, and ``callbacks`` check what is typed.
    """

    schema: type[DataclassInstance]
    helps: Mapping[str, str]
    callbacks: Mapping[str, Callback]

    def __new__(
        cls,
        *names: str,
        schema: type[DataclassInstance] = FitOptions,
        helps: Mapping[str, str] | None = None,
        callbacks: Mapping[str, Callback] | None = None,
    ) -> Self:
        self = super().__new__(cls, names)
        self.schema, self.helps, self.callbacks = schema, helps or {}, callbacks or {}
        return self

    @classmethod
    def whole_schema(
        cls,
        schema: type[DataclassInstance],
        without: Collection[str] = (),
        callbacks: Mapping[str, Callback] | None = None,
    ) -> Self:
        """Return all options of a schema that the command line has, ``without`` some."""
        names = [
            name
            for name, option in options_of_schema(schema).items()
            if option.shown != PYTHON and name not in without
        ]
        return cls(*names, schema=schema, callbacks=callbacks)

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Yield the parameters of a Typer command, with None for an option that isn't given."""
        kind = inspect.Parameter.KEYWORD_ONLY
        fields = {field.name: field for field in dataclasses.fields(self.schema)}
        for name in self:
            field = fields[name]
            option: Option = field.metadata["option"]
            if name in self.helps:
                option = option._replace(help=self.helps[name])
            value_type = _choose_type(field, option)
            typer_option = _make_option(field, option, value_type, self.callbacks.get(name))
            # The type is known at run time only.
            annotation = Annotated[value_type | None, typer_option]  # type: ignore[valid-type]
            yield inspect.Parameter(name, kind, default=None, annotation=annotation)

    def take_values(self, values: dict[str, Any]) -> dict[str, Any]:
        """Take the options out of everything that was given; jobs check their values."""
        return _without_missing({name: values.pop(name) for name in self})


def _choose_type(field: dataclasses.Field[Any], option: Option) -> Any:
    """Return the type that the command line reads: a list for columns, else the first fit."""
    types = [kind for kind in get_args(field.type) or (field.type,) if kind is not NoneType]
    if field.default == ():
        return list[str]
    if option.choices:
        choices = [(choice.replace("-", "_"), choice) for choice in option.choices]
        return StrEnum(field.name, choices)
    if option.words:
        return str
    return next((kind for kind in (bool, int, float, str) if kind in types), Path)


def _make_option(
    field: dataclasses.Field[Any], option: Option, value_type: Any, callback: Callback | None
) -> Any:
    """Return the Typer option of an option. A switch that is off by default can only be on."""
    on, off = flags(field.name)
    default = field.default
    if not (option.unset or default is False or default in (None, (), "auto", "")):
        default_text = f"{default:g}" if isinstance(default, float) else str(default)
        option = option._replace(unset=default_text)
    help = as_flags(help_text(option)) + (" Repeatable." if default == () else "")
    has_off = value_type is bool and default is not False
    return typer.Option(
        *filter(None, (option.letter, f"{on}/{off}" if has_off else on)),
        help=help,
        metavar=option.metavar or None,
        rich_help_panel=option.group or None,
        min=option.range.min if option.range else None,
        show_default=False,
        callback=callback,
    )


class Command(TyperCommand):
    """A command whose ``--help`` leaves out the detailed panels."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of a command, without the detailed panels."""
        detailed = [
            parameter
            for parameter in self.params
            if isinstance(parameter, TyperOption | TyperArgument)
            and parameter.rich_help_panel in DETAILED
        ]
        for parameter in detailed:
            parameter.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for parameter in detailed:
                parameter.hidden = False

    def format_all_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of a command with every option."""
        super().format_help(ctx, formatter)


def _print_full_help(context: typer.Context, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    formatter = context.make_formatter()
    command = context.command
    assert isinstance(command, Command)
    command.format_all_help(context, formatter)
    text = formatter.getvalue().rstrip("\n")
    if text:  # rich has printed otherwise
        say(*text.split("\n"))
    raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", callback=_print_full_help, is_eager=True, help="Show every option and exit."
    ),
]


Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads. (default: all cores)", rich_help_panel=LIMITS),
]
Trust = Annotated[
    list[str] | None,
    plain_option(
        "--trust",
        metavar="TYPE",
        help="Type of a candidate that MODEL may hold, as the error without it says. Repeatable.",
        rich_help_panel=LIMITS,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command some of whose parameters are groups of options.

    A group is an :class:`OptionGroup`, or a named tuple whose fields become options with the
    fields' defaults. The command gets the option ``--help-all`` as well.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Callable[[dict[str, Any]], Any]] = {}
    parameters: list[inspect.Parameter] = []
    kind = inspect.Parameter.KEYWORD_ONLY
    for name, parameter in signature.parameters.items():
        group = parameter.annotation
        if isinstance(group, OptionGroup):
            groups[name] = group.take_values
            parameters += group.parameters()
        elif hasattr(group, "_fields"):
            groups[name] = partial(_fill_group, group)
            for field, annotation in get_type_hints(group, include_extras=True).items():
                default = group._field_defaults[field]
                parameters.append(
                    inspect.Parameter(field, kind, default=default, annotation=annotation)
                )
        else:
            parameters.append(parameter.replace(kind=kind))
    parameters.append(inspect.Parameter("help_all", kind, default=False, annotation=HelpAll))

    def run(help_all: bool = False, **values: Any) -> None:
        for name, read_group in groups.items():
            values[name] = read_group(values)
        return command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    return run


def _fill_group(group: type[NamedTuple], values: dict[str, Any]) -> Any:
    return group(*(values.pop(field) for field in group._fields))


def given_values(group: Any) -> dict[str, Any]:
    """Return the values of a group of options that were given."""
    return _without_missing(group._asdict())


def _without_missing(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in values.items()
        if value is not None and value != []
    }


def check_kernel(name: str | None) -> str | None:
    """Return the name of a kernel between rows; its list is imported if one is named."""
    if name is not None:
        from ..kernels import KERNELS, Trees  # slow to import

        names = [*(kernel for kernel in KERNELS if kernel != "precomputed"), Trees.name]
        if name not in names:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
    return name
