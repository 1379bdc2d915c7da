"""Exit codes, and the one place where exceptions become sentences."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from .._util.extras import MissingExtra
from .._util.messages import UserError, template
from .show import install_output_hooks, say

if TYPE_CHECKING:
    from typer import _click as click

OK = 0
FAILED = 1
BAD_INPUT = 2
NOT_CONVERGED = 3
ALARM = 3
INTERRUPTED = 130
CLOSED_PIPE = 141

EXPLAINED = (
    "Exit codes: 0 success; 2 invalid input or options, nothing written; 3 model written, but "
    "the solver stopped early (--max-iter, --max-time); 130 interrupted by Ctrl-C; 141 "
    "standard output was closed, as by head; 1 a bug."
)

WATCH_EXPLAINED = (
    "Exit codes: 0 no alarm; 3 an alarm that was raised now, or isn't accepted yet; 2 bad input "
    "or options; 130 interrupted with Ctrl-C (rows are counted up to the last update); 141 "
    "standard output was closed; 1 anything else, which is a bug."
)


class Commands(TyperGroup):
    """The group of commands; turns what the user can repair into a sentence and a code."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _end_with_reader():  # help is printed while options are read
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _end_with_reader():
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        install_output_hooks()
        for stream in (sys.stdout, sys.stderr):
            # Names of files may hold what the terminal's encoding does not know.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except (UserError, MissingExtra) as error:
            if ctx.params.get("debug"):
                say(*traceback.format_exc().splitlines(), err=True)
            say(f"Error: {template(error)}", err=True)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            say(f"Interrupted: {template(error)}" if str(error) else "Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from error

    def main(self, *args: Any, **options: Any) -> Any:
        # Help is printed while options are read, before any command is invoked.
        try:
            return super().main(*args, **options)
        except OSError as error:
            if not _was_printing(error):
                raise
            discard_output()
            say(
                f"Error: can't write to standard output: {error.strerror}. Files written so far "
                "are complete.",
                err=True,
            )
            sys.exit(BAD_INPUT)


@contextlib.contextmanager
def _end_with_reader() -> Iterator[None]:
    """End the command quietly if nobody reads what it prints any more."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        # The library that prints help turns the error into an exit.
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(cause, BrokenPipeError):
            raise
        discard_output()
        raise typer.Exit(CLOSED_PIPE) from error


def _was_printing(error: BaseException) -> bool:
    """Return whether an error came up while a line, or help by rich, was printed."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    return frame.f_code is typer.echo.__code__ or frame.f_globals["__name__"] == "rich.console"


def discard_output() -> None:
    """Drop what standard output still holds, which Python would flush at the end."""
    with contextlib.suppress(OSError, ValueError):
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, sys.stdout.fileno())
        os.close(null_device)
