"""The way to the terminal of all text: nothing that a file holds can steer it."""

import sys
import traceback
import warnings

import typer

from ...io.errors import printable
from ...options.flags import as_flags


def say(*lines, err=False):
    """Print lines; options are named by their flags, and control characters written out."""
    for line in lines or ("",):
        typer.echo(printable(as_flags(line)), err=err)


def guard():
    """Let warnings and the messages of bugs take the same way."""
    usual = warnings.formatwarning

    def formatted(*given, **named):
        return "".join(f"{printable(line)}\n" for line in usual(*given, **named).splitlines())

    def show_bug(kind, error, trace):
        say(*"".join(traceback.format_exception(kind, error, trace)).splitlines(), err=True)

    if not getattr(usual, "is_guarded", False):
        formatted.is_guarded = True
        warnings.formatwarning = formatted
    sys.excepthook = show_bug
