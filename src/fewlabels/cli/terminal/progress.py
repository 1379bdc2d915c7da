"""Progress on stderr: a line that renews itself on a terminal, nothing in a pipe."""

import contextlib
import sys

from ...io.errors import printable
from ...jobs.observer import Observer
from ...options.flags import as_flags
from .interrupts import going_on
from .left import OfRounds, OfShare
from .say import say


class Quiet(Observer):
    """Tells nothing; options are flags here."""

    def words(self, message):
        return as_flags(message)

    @contextlib.contextmanager
    def handed_over(self, text):
        self.step(text)
        with going_on():
            yield False


class _Verbose(Quiet):
    """A line per step and round, terminal or not."""

    def __init__(self):
        self._rounds = OfRounds()

    def step(self, text):
        say(text, err=True)

    def round(self, entry):
        say(f"{describe(entry)}{self._rounds.words(entry)}", err=True)


class _Line(Quiet):
    """A line that renews itself."""

    def __init__(self, bar, task, timed):
        self._bar, self._task, self._timed = bar, task, timed
        self._rounds, self._left, self._passes = OfRounds(), OfShare(), 0
        self._round = ""

    def step(self, text):
        self._left, self._passes, self._round = OfShare(), 0, ""
        self._show(text)

    def _show(self, text):
        self._bar.update(self._task, description=printable(text))

    def round(self, entry):
        self._round = f"{describe(entry)}{self._rounds.words(entry)}"
        self._show(self._round)

    def rows(self, done, share, total=None, what="scored"):
        of = "" if total is None else f" of {total:,}"
        left = "" if self._timed else self._left.words(share)
        text = f"{done:,}{of} rows {what}{left}"
        self._bar.update(self._task, completed=share, description=printable(text))

    def passes(self, done):
        if int(done) > self._passes:
            self._passes, self._left = int(done), OfShare()
        share, behind = done - int(done), f"{self._round}; " if self._round else ""
        left = self._left.words(share).replace(" left", " left of it")
        self._show(f"{behind}pass {int(done) + 1} over the rows, {100 * share:.0f} %{left}")

    @contextlib.contextmanager
    def handed_over(self, text):
        self._bar.stop()
        say(f"{text} (Ctrl-C keeps the best result so far)", err=True)
        try:
            yield True
        finally:
            self._bar.start()


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
def observing(start, quiet=False, verbose=False, timed=False):
    """Give an :class:`Observer` whose line begins with the text ``start``.

    A verbose one prints a line per step and round; a timed one shows how much is done, and the
    time left.
    """
    if verbose and not quiet:
        yield _Verbose()
        return
    if quiet or not sys.stderr.isatty():
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import Progress

    columns = _columns(timed)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Line(bar, bar.add_task(printable(start), total=1.0), timed)


def _columns(timed):
    from rich import progress

    text, elapsed = (
        progress.TextColumn("{task.description}", markup=False),
        progress.TimeElapsedColumn(),
    )
    if not timed:
        return progress.SpinnerColumn(), text, elapsed
    gone, left = progress.TextColumn("gone,"), progress.TextColumn("left")
    done, remaining = progress.TaskProgressColumn(), progress.TimeRemainingColumn()
    return text, progress.BarColumn(), done, elapsed, gone, remaining, left
