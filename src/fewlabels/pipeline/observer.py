"""Observers of what a job is doing, and how jobs name options when they talk about them."""

import contextlib
import functools
import warnings
from pathlib import Path

from .._util.messages import Interrupted, as_arguments, with_settings


class Observer:
    """Receives the progress of a job; this one ignores it."""

    def step(self, text):
        """Receive what is done next."""

    def round(self, entry):
        """Receive the newest entry of ``history_``."""

    def rows(self, done, share, total=None, what="scored"):
        """Receive the number of rows done, their share from 0 to 1, and what was done."""

    def passes(self, done):
        """Receive how often all rows were read, a number that is not whole during a pass."""

    @contextlib.contextmanager
    def handed_over(self, text):
        """Let a function show its progress itself, if it may (bool)."""
        self.step(text)
        yield False

    def words(self, message):
        """A message as it is passed on; here options are arguments of functions."""
        return as_arguments(message)


@contextlib.contextmanager
def listening(chosen=()):
    """Collect what estimators warn of when the block is done; ``chosen`` were not given."""
    messages = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    for warning in caught:
        message = with_settings(warning.message, chosen).rstrip(".")
        if issubclass(warning.category, UserWarning) and message not in messages:
            messages.append(message)


@contextlib.contextmanager
def interruptible(nothing, path, hint="", unless=()):
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
        before = f", and {path} is unchanged" if path and Path(path).exists() else ""
        raise Interrupted(f"{nothing}{before}.{hint}") from None


def job(function):
    """Make a function a job: it always has an observer."""

    @functools.wraps(function)
    def run(*arguments, observer=None, **options):
        return function(*arguments, observer=observer or Observer(), **options)

    return run
