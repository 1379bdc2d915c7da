"""Progress on stderr: a line that renews itself on a terminal, nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys

import typer

from ...jobs.observer import Observer


class Quiet(Observer):
    """Tells nothing; settings are options here."""

    def words(self, message):
        return message


class _Verbose(Quiet):
    """A line per step and round, terminal or not."""

    def step(self, text):
        typer.echo(text, err=True)

    def round(self, entry):
        typer.echo(describe(entry), err=True)


class _Line(Quiet):
    """A line that renews itself."""

    def __init__(self, bar, task):
        self._bar, self._task = bar, task

    def step(self, text):
        self._bar.update(self._task, description=text)

    def round(self, entry):
        self.step(describe(entry))

    def rows(self, done, share, total=None):
        if total is None:
            text = f"{done:,} rows scored"
        else:
            text = f"{done:,} of {total:,} rows added"
        self._bar.update(self._task, completed=share, description=text)

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
    """Give an :class:`Observer` of a fit; a verbose one prints a line per step and round."""
    if verbose and not quiet:
        yield _Verbose()
    else:
        with _line("reading", quiet) as observer:
            yield observer


@contextlib.contextmanager
def scoring(quiet=False):
    """Give an :class:`Observer` that shows how many rows are done, and the time left."""
    with _line("reading the model", quiet, _bar) as observer:
        yield observer


@contextlib.contextmanager
def updating(quiet=False):
    """Give an :class:`Observer` that shows how many rows are added."""
    with _line("reading the model", quiet) as observer:
        yield observer


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
def _line(start, quiet, columns=None):
    if quiet or not sys.stderr.isatty():
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import Progress

    columns = (columns or _spinner)()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Line(bar, bar.add_task(start, total=1.0))


def _spinner():
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    return SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()


def _bar():
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
