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


def exit_on_second_interrupt() -> None:
    """Let a second Ctrl-C end the process at once, whatever the first one led to."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # nobody listens, as in a shell's background, or another one does
    signals = []

    def handle_interrupt(number: int, frame: FrameType | None) -> NoReturn:
        signals.append(number)
        if len(signals) > 1:
            _exit_now("Interrupted by a second Ctrl-C. Files written so far are complete.")
        if _is_importing(frame):
            # Modules that are imported in part swallow exceptions, or fail in other ways.
            _exit_now("Interrupted. Files written so far are complete.")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle_interrupt)
    # The last thing to be called: a signal that comes after it would end the process as killed.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _exit_now(text: str) -> NoReturn:
    """End the process at once, without leaving the blocks it is in."""
    _write_line(text)
    if sys.stderr.isatty():
        os.write(2, _SHOW_CURSOR)
    scratch = sys.modules.get(
        "fewlabels.tables.temporary_folders"
    )  # not loaded: nothing to remove
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
def announce_continuation() -> Iterator[None]:
    """Say on Ctrl-C that the command continues, for a job that takes it so."""
    previous_handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous_handler):
        yield
        return

    def warn_and_continue(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, previous_handler)
        _write_line(
            "Ctrl-C: continuing with the best result so far, if any. Press it again to end the "
            "command."
        )
        previous_handler(number, frame)

    signal.signal(signal.SIGINT, warn_and_continue)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def _write_line(text: str) -> None:
    """Write a line; not by the stream, which may be in the middle of one."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())
