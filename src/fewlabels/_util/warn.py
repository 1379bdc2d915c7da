"""Warnings that point at the user's line, however deep in the library they are given."""

import inspect
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sklearn.base

from .messages import Message

# Files between the user's call and ours: this library, and what checks parameters for it.
_OURS = (str(Path(__file__).parents[1]), sklearn.base.__file__)


_thread = threading.local()


@contextmanager
def collect_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collect what this thread would warn of in a list."""
    before, _thread.collected = getattr(_thread, "collected", None), []
    try:
        yield _thread.collected
    finally:
        _thread.collected = before


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller of this library."""
    if (collected := getattr(_thread, "collected", None)) is not None:
        collected.append((message, category))
        return
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(Message(message), category, stacklevel=level)
