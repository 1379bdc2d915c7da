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
from .interrupts import announce_continuation
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

    @contextlib.contextmanager
    def progress_bar(self, text: str) -> Iterator[bool]:
        self.report_stage(text)
        with announce_continuation():
            yield False

    def words(self, message: str) -> str:
        return as_flags(message)


class _VerboseObserver(Quiet):
    """A line per step and round, terminal or not."""

    def __init__(self) -> None:
        self._rounds = TimeLeftByRounds()

    def report_stage(self, text: str) -> None:
        say(text, err=True)

    def round(self, entry: dict[str, Any]) -> None:
        say(f"{describe(entry)}{self._rounds.words(entry)}", err=True)


class _LineObserver(Quiet):
    """A line that renews itself."""

    def __init__(self, bar: Progress, task: TaskID, timed: bool) -> None:
        self._bar, self._task, self._timed = bar, task, timed
        self._rounds, self._time_left, self._passes = TimeLeftByRounds(), TimeLeftByShare(), 0
        self._round = ""

    def report_stage(self, text: str) -> None:
        self._time_left, self._passes, self._round = TimeLeftByShare(), 0, ""
        self._show(text)

    def round(self, entry: dict[str, Any]) -> None:
        self._round = f"{describe(entry)}{self._rounds.words(entry)}"
        self._show(self._round)

    def rows(
        self, done: int, share: float, total: int | None = None, what: str = "scored"
    ) -> None:
        of = "" if total is None else f" of {total:,}"
        time_left = "" if self._timed else self._time_left.words(share)
        text = f"{done:,}{of} rows {what}{time_left}"
        self._bar.update(self._task, completed=share, description=printable(text))

    def passes(self, done: float) -> None:
        if int(done) > self._passes:
            self._passes, self._time_left = int(done), TimeLeftByShare()
        share, last_round = done - int(done), f"{self._round}; " if self._round else ""
        time_left = self._time_left.words(share).replace(" left", " left of it")
        self._show(
            f"{last_round}pass {int(done) + 1} over the rows, {100 * share:.0f} %{time_left}"
        )

    @contextlib.contextmanager
    def progress_bar(self, text: str) -> Iterator[bool]:
        self._bar.stop()
        say(f"{text} (Ctrl-C keeps the best result so far)", err=True)
        try:
            yield True
        finally:
            self._bar.start()

    def _show(self, text: str) -> None:
        self._bar.update(self._task, description=printable(text))


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
def observe_progress(
    start: str, quiet: bool = False, verbose: bool = False, timed: bool = False
) -> Iterator[Observer]:
    """Give an :class:`Observer` whose line begins with the text ``start``.

    A verbose one prints a line per step and round; a timed one shows how much is done, and the
    time left.
    """
    if verbose and not quiet:
        yield _VerboseObserver()
        return
    if quiet or not sys.stderr.isatty():
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import Progress

    columns = _columns(timed)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _LineObserver(bar, bar.add_task(printable(start), total=1.0), timed)


def _columns(timed: bool) -> tuple[ProgressColumn, ...]:
    from rich import progress

    text = progress.TextColumn("{task.description}", markup=False)
    elapsed = progress.TimeElapsedColumn()
    if not timed:
        return progress.SpinnerColumn(), text, elapsed
    gone, left = progress.TextColumn("gone,"), progress.TextColumn("left")
    done, remaining = progress.TaskProgressColumn(), progress.TimeRemainingColumn()
    return text, progress.BarColumn(), done, elapsed, gone, remaining, left


class TimeLeftByShare:
    """Time left of a job that began now and reports its progress as a share."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def words(self, share: float) -> str:
        """Return words such as ", about 2 min left", or "" while that is not known."""
        elapsed = time.monotonic() - self._began
        if share < _MIN_SHARE or elapsed < _MIN_SECONDS:
            return ""
        return describe_time_left(elapsed * (1.0 - share) / share)


class TimeLeftByRounds:
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
        (first, log_violation_before, seconds_before), (last, log_violation_now, _) = (
            self._rounds[0],
            self._rounds[-1],
        )
        fall_per_round = (log_violation_before - log_violation_now) / (last - first)
        if not fall_per_round > 0:
            return ""
        seconds_per_round = (seconds - seconds_before) / (last - first)
        rounds = (log_violation_now - math.log(tolerance)) / fall_per_round - 1.0
        return describe_time_left(seconds_per_round * max(0, math.ceil(rounds - _ROUNDING)))


def describe_time_left(seconds: float) -> str:
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
