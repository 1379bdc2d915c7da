"""Ctrl-C: what the first one leads to is said, and the second ends the command."""

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from .errors import INTERRUPTED

_SHOW_CURSOR = b"\x1b[?25h"


def end_at_the_second() -> None:
    """Let a second Ctrl-C end the process at once, whatever the first one led to."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # nobody listens, as in a shell's background, or another one does
    came = []

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        came.append(number)
        if len(came) > 1:
            _end("Interrupted by a second Ctrl-C. Files written so far are complete.")
        if _is_importing(frame):
            # Modules that are imported in part swallow exceptions, or fail in other ways.
            _end("Interrupted. Files written so far are complete.")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # The last thing to be called: a signal that comes after it would end the process as killed.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _end(text: str) -> NoReturn:
    """End the process at once, without leaving the blocks it is in."""
    _say(text)
    if sys.stderr.isatty():
        os.write(2, _SHOW_CURSOR)
    scratch = sys.modules.get("fewlabels.tables.scratch")  # not loaded: nothing to remove
    if scratch is not None:
        scratch.remove_all()
    os._exit(INTERRUPTED)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def going_on() -> Iterator[None]:
    """Say on Ctrl-C that the command continues, for a job that takes it so."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def tell(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        _say(
            "Ctrl-C: continuing with the best result so far, if any. Press it again to end the "
            "command."
        )
        before(number, frame)

    signal.signal(signal.SIGINT, tell)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    """Write a line; not by the stream, which may be in the middle of one."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())
