"""The command line: a file per command.

Commands only parse and print; nothing heavy is imported before one of them runs, so
that ``--help`` and completion answer at once.
"""

from typing import Annotated

import typer

from .demo.command import demo
from .errors import EXPLAINED, WATCH_EXPLAINED, Commands
from .explain import explain
from .export import export
from .fit import fit
from .inspect import inspect
from .interrupts import exit_on_second_interrupt
from .label import label
from .options import Command
from .predict import predict
from .prior import prior
from .show import say
from .update import update
from .watch import watch

app = typer.Typer(
    name="fewlabels",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog=EXPLAINED,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        say(f"fewlabels {version('fewlabels')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback with each error.")
    ] = False,
) -> None:
    """Learn from tables with few labels.

    ```
    fewlabels fit data.csv --target class -o model.fewlabels
    fewlabels predict model.fewlabels new.csv -o scored.csv
    ```

    Train on rows of one class to detect anomalies, on one class and unlabelled rows to find more
    of that class, or on a few labelled rows of several classes to classify the others.
    """


for command in (fit, predict, label, explain, update, inspect, export, prior, demo):
    app.command(cls=Command, epilog=EXPLAINED)(command)
app.command(cls=Command, epilog=WATCH_EXPLAINED)(watch)


def main(started: float | None = None) -> None:
    """Run the command line, which ``started`` then, by ``time.perf_counter``."""
    exit_on_second_interrupt()
    app(obj=started)
