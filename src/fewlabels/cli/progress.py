"""Progress on stderr: a line that renews itself on a terminal, nothing in a pipe.

It says how long a job will continue, as far as that is known.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._util.messages import printable
from ..pipeline.observer import Observer
from ..pipeline.options.flags import as_flags
from .interrupts import going_on
from .show import say

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

# Share of a job, and seconds, before which its speed is not known.
_MIN_SHARE = 0.02
_MIN_SECONDS = 2.0
# Latest rounds by which the fall of the violation is measured.
_N_ROUNDS = 8
# Seconds left that are worth mentioning.
_MIN_SECONDS_LEFT = 5.0
_ROUNDING = 1e-6


class Quiet(Observer):
    """Tells nothing; options are flags here."""

    def words(self, message: str) -> str:
        return as_flags(message)

    @contextlib.contextmanager
    def handed_over(self, text: str) -> Iterator[bool]:
        self.step(text)
        with going_on():
            yield False


class _Verbose(Quiet):
    """A line per step and round, terminal or not."""

    def __init__(self) -> None:
        self._rounds = OfRounds()

    def step(self, text: str) -> None:
        say(text, err=True)

    def round(self, entry: dict[str, Any]) -> None:
        say(f"{describe(entry)}{self._rounds.words(entry)}", err=True)


class _Line(Quiet):
    """A line that renews itself."""

    def __init__(self, bar: Progress, task: TaskID, timed: bool) -> None:
        self._bar, self._task, self._timed = bar, task, timed
        self._rounds, self._left, self._passes = OfRounds(), OfShare(), 0
        self._round = ""

    def step(self, text: str) -> None:
        self._left, self._passes, self._round = OfShare(), 0, ""
        self._show(text)

    def _show(self, text: str) -> None:
        self._bar.update(self._task, description=printable(text))

    def round(self, entry: dict[str, Any]) -> None:
        self._round = f"{describe(entry)}{self._rounds.words(entry)}"
        self._show(self._round)

    def rows(
        self, done: int, share: float, total: int | None = None, what: str = "scored"
    ) -> None:
        of = "" if total is None else f" of {total:,}"
        left = "" if self._timed else self._left.words(share)
        text = f"{done:,}{of} rows {what}{left}"
        self._bar.update(self._task, completed=share, description=printable(text))

    def passes(self, done: float) -> None:
        if int(done) > self._passes:
            self._passes, self._left = int(done), OfShare()
        share, behind = done - int(done), f"{self._round}; " if self._round else ""
        left = self._left.words(share).replace(" left", " left of it")
        self._show(f"{behind}pass {int(done) + 1} over the rows, {100 * share:.0f} %{left}")

    @contextlib.contextmanager
    def handed_over(self, text: str) -> Iterator[bool]:
        self._bar.stop()
        say(f"{text} (Ctrl-C keeps the best result so far)", err=True)
        try:
            yield True
        finally:
            self._bar.start()


def describe(entry: dict[str, Any]) -> str:
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
def observing(
    start: str, quiet: bool = False, verbose: bool = False, timed: bool = False
) -> Iterator[Observer]:
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


def _columns(timed: bool) -> tuple[ProgressColumn, ...]:
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


class OfShare:
    """Time left of a job that began now and reports its progress as a share."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def words(self, share: float) -> str:
        """Return words such as ", about 2 min left", or "" while that is not known."""
        gone = time.monotonic() - self._began
        if share < _MIN_SHARE or gone < _MIN_SECONDS:
            return ""
        return words_of(gone * (1.0 - share) / share)


class OfRounds:
    """Time left of a solver whose violation falls about geometrically from round to round."""

    def __init__(self) -> None:
        self._rounds: list[tuple[int, float, float]] = []

    def words(self, entry: dict[str, Any]) -> str:
        """Return words such as ", about 2 min left", or "" while that is not known.

        An entry of the history has the violation before its round.
        """
        names = ("violation", "tolerance", "seconds")
        violation, tolerance, seconds = (entry.get(name) for name in names)
        if violation is None or tolerance is None or seconds is None:
            return ""
        if not min(violation, tolerance) > 0:
            return ""
        if self._rounds and entry["round"] <= self._rounds[-1][0]:
            self._rounds = []  # another problem
        self._rounds = [*self._rounds, (entry["round"], math.log(violation), seconds)][-_N_ROUNDS:]
        if len(self._rounds) < 2:
            return ""
        (first, before, since), (last, now, _) = self._rounds[0], self._rounds[-1]
        fall = (before - now) / (last - first)
        if not fall > 0:
            return ""
        pace = (seconds - since) / (last - first)
        rounds = (now - math.log(tolerance)) / fall - 1.0
        return words_of(pace * max(0, math.ceil(rounds - _ROUNDING)))


def words_of(seconds: float) -> str:
    """Describe a time left in words that promise no more than they can."""
    if not seconds >= _MIN_SECONDS_LEFT:  # nor NaN
        return ""
    if seconds < 55:
        return f", about {5 * round(seconds / 5)} s left"
    if seconds < 55 * 60:
        return f", about {round(seconds / 60)} min left"
    if seconds < 48 * 3600:
        return f", about {round(seconds / 3600)} h left"
    return ", more than two days left"
