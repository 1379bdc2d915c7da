"""Who hears what a job is doing, and how jobs name settings when they talk about them."""

import contextlib
import functools
from pathlib import Path

from ..io.errors import Interrupted, UserError
from .wording import as_arguments


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
        """A message as it is passed on; here settings are arguments of functions."""
        return as_arguments(message)


@contextlib.contextmanager
def in_words_of(observer):
    """Pass errors on in the words of an observer."""
    try:
        yield
    except UserError as error:
        message = observer.words(str(error))
        if message.startswith("the "):  # data frame, matrix
            message = "T" + message[1:]
        raise UserError(message) from error.__cause__


@contextlib.contextmanager
def interruptible(nothing, path, hint="", unless=()):
    """Say on Ctrl-C what was not done, and that the file that would be written is as before.

    ``unless`` names what was written by then, if anything.
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
        before = f", and {path} is unchanged" if Path(path).exists() else ""
        raise Interrupted(f"{nothing}{before}.{hint}") from None


def job(function):
    """Make a function a job: it has an observer, and its errors are in the observer's words."""

    @functools.wraps(function)
    def run(*arguments, observer=None, **options):
        observer = observer or Observer()
        with in_words_of(observer):
            return function(*arguments, observer=observer, **options)

    return run
