"""Short help with ``--help``, all options with ``--help-all``."""

from typing import Annotated

import typer
from typer.core import TyperCommand

from ...options.option import DETAILED
from .say import say


class Command(TyperCommand):
    """A command whose ``--help`` leaves out the detailed panels."""

    def format_help(self, ctx, formatter):
        """Write the help of a command, without the detailed panels."""
        detailed = [p for p in self.params if getattr(p, "rich_help_panel", None) in DETAILED]
        for parameter in detailed:
            parameter.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for parameter in detailed:
                parameter.hidden = False

    def format_all_help(self, ctx, formatter):
        """Write the help of a command with every option."""
        super().format_help(ctx, formatter)


def _show_all(context: typer.Context, asked: bool):
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
        "--help-all", callback=_show_all, is_eager=True, help="Show every option and exit."
    ),
]
