"""Observers of what a job is doing, and how jobs name options when they talk about them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from .._util.messages import Interrupted, as_arguments, with_settings
from .._util.paths import path_exists

if TYPE_CHECKING:
    from .._typing import PathLike


class Observer:
    """Receives the progress of a job; this one ignores it."""

    def report_stage(self, text: str) -> None:
        """Receive what is done next."""

    def round(self, entry: dict[str, float]) -> None:
        """Receive the newest entry of ``history_``."""

    def rows(
        self, done: int, share: float, total: int | None = None, what: str = "scored"
    ) -> None:
        """Receive the number of rows done, their share from 0 to 1, and what was done."""

    def passes(self, done: float) -> None:
        """Receive how often all rows were read, a number that is not whole during a pass."""

    @contextlib.contextmanager
    def progress_bar(self, text: str) -> Iterator[bool]:
        """Let a function show its progress itself, if it may (bool)."""
        self.report_stage(text)
        yield False

    def words(self, message: str) -> str:
        """Return a message as it is passed on; here options are arguments of functions."""
        return as_arguments(message)


@contextlib.contextmanager
def capture_warnings(chosen: Collection[str] = ()) -> Iterator[list[str]]:
    """Collect what estimators warn of when the block is done; ``chosen`` were not given."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    for warning in caught:
        message = with_settings(warning.message, chosen).rstrip(".")
        if issubclass(warning.category, UserWarning) and message not in messages:
            messages.append(message)


@contextlib.contextmanager
def interruptible(
    nothing: str, path: PathLike | None, hint: str = "", unless: Sequence[PathLike] = ()
) -> Iterator[None]:
    """Say on Ctrl-C what was not done, and that the file that would be written is as before.

    The ``path`` of that file may be None. ``unless`` names what was written by then, if anything.
    """
    try:
        yield
    except Interrupted:
        raise  # what was interrupted in it has said more
    except KeyboardInterrupt:
        if unless:
            raise Interrupted(
                f"{unless[0]} is written, and the remaining steps were skipped."
            ) from None
        before = f", and {path} is unchanged" if path and path_exists(path) else ""
        raise Interrupted(f"{nothing}{before}.{hint}") from None
