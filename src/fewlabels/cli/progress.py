"""Progress on stderr: a line that renews itself on a terminal, nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys

import typer


class Watch:
    """Tells what a fit is doing; this one tells nobody."""

    def step(self, text):
        """Say what is done next."""

    def round(self, entry):
        """Take the newest entry of ``history_``."""

    @contextlib.contextmanager
    def handed_over(self, text):
        """Leave the terminal to a function that shows progress itself, if it may (bool)."""
        self.step(text)
        yield False


class _Verbose(Watch):
    """A line per step and round, terminal or not."""

    def step(self, text):
        typer.echo(text, err=True)

    def round(self, entry):
        typer.echo(describe(entry), err=True)


class _Terminal(Watch):
    """A line that renews itself."""

    def __init__(self, bar, task):
        self._bar, self._task = bar, task

    def step(self, text):
        self._bar.update(self._task, description=text)

    def round(self, entry):
        self.step(describe(entry))

    @contextlib.contextmanager
    def handed_over(self, text):
        self._bar.stop()
        typer.echo(f"{text} (Ctrl-C goes on with the best so far)", err=True)
        try:
            yield True
        finally:
            self._bar.start()


@contextlib.contextmanager
def fitting(quiet=False, verbose=False):
    """Give a :class:`Watch` of a fit.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    verbose : bool
        Print a line per step and round, terminal or not.
    """
    if quiet:
        yield Watch()
    elif verbose:
        yield _Verbose()
    elif sys.stderr.isatty():
        with _spinner() as bar:
            yield _Terminal(bar, bar.add_task("reading"))
    else:
        yield Watch()


@contextlib.contextmanager
def scoring(quiet=False):
    """Give a function that shows how many rows are done, and the time left.

    It takes the number of rows, and how much of the file they are, from 0 to 1.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reading the model", total=1.0)
        yield lambda rows, share: bar.update(
            task, completed=share, description=f"{rows:,} rows scored"
        )


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
    with _spinner() as bar:
        task = bar.add_task(start)
        yield lambda text: bar.update(task, description=text)


def _spinner():
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
