"""Progress on stderr: a line that renews itself on a terminal, nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys

import typer


@contextlib.contextmanager
def fitting(quiet=False, verbose=False):
    """Give a callback for ``fit`` that shows the rounds.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    verbose : bool
        Print a line per round, terminal or not.
    """
    if verbose and not quiet:
        yield lambda entry: typer.echo(describe(entry), err=True)
        return
    with _line("reading", quiet) as update:
        yield lambda entry: update(describe(entry))


@contextlib.contextmanager
def scoring(quiet=False):
    """Give a function that shows how many rows are done."""
    with _line("reading the model", quiet) as update:
        yield lambda rows: update(f"{rows:,} rows scored")


@contextlib.contextmanager
def updating(quiet=False):
    """Give a function that shows how many rows are added."""
    with _line("reading the model", quiet) as update:
        yield lambda done, total: update(f"{done:,} of {total:,} rows added")


def describe(entry):
    """Write an entry of ``history_`` in a few words."""
    text = f"round {entry['round']}"
    if "violation" in entry:
        text += f", violation {entry['violation']:.2e}"
    if "kernel_values" in entry:
        text += f", {entry['kernel_values']:.2e} kernel values"
    if "seconds" in entry:
        text += f", {entry['seconds']:.1f} s"
    return text


@contextlib.contextmanager
def _line(start, quiet):
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(start)
        yield lambda text: bar.update(task, description=text)
