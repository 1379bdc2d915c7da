"""How much memory a file may fill, checked before it is taken, and how long it may keep one."""

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any, Self, TypeVar

from .._util.messages import UserError, ref
from .steady import StrPath

T = TypeVar("T")
VARIABLE = "FEWLABELS_MEMORY"
SECONDS = "FEWLABELS_SECONDS"
# Seconds that a database may take for one answer where nobody says how many, and how often a
# waiting thread looks for Ctrl-C.
_ANSWER, _LOOK = 120.0, 0.05
# What is taken where nobody says how much there is, the share of what is free, and what any
# machine can find room for.
_UNKNOWN, _SHARE, _LEAST = 8e9, 0.8, 2e8
# A size without a unit that is meant in another one.
_FEWEST_BYTES = 1e4
_UNITS = {"": 1e0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def check_room(path: object, n_bytes: float, what: str, most: float | None = None) -> None:
    """Refuse a file that would fill more memory than the model has free, or than ``most``."""
    allowed = allowed_bytes(most)
    if n_bytes > allowed:
        raise UserError(
            f"{path} would need {_size(n_bytes)} of memory ({what}), but {_size(allowed)} are "
            f"allowed; pass a smaller file, or set {VARIABLE}, such as "
            f"{VARIABLE}={max(1, round(1.2e-09 * n_bytes))}G, if you trust the file and the "
            "computer has enough memory."
        )


def allowed_bytes(most: float | None = None) -> float:
    """Bytes that a file may fill: what was set, or a share of what is free up to ``most``."""
    return _given() or min(_SHARE * free_memory(), most or float("inf"))


class Patient:
    """Calls into a library that doesn't look for Ctrl-C and may never return.

    Each call runs in a thread of its own. Ctrl-C and the time limit call ``interrupt``, which has
    to end it, and reach the caller as an exception.
    """

    def __init__(self, path: object, interrupt: Callable[[], object]) -> None:
        self._path, self._interrupt = path, interrupt
        self._seconds = _seconds()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown()

    def __call__(self, function: Callable[..., T], *args: Any) -> T:
        """The result of a function."""
        future = self._thread.submit(function, *args)
        until = time.monotonic() + self._seconds
        try:
            while True:
                with contextlib.suppress(NotYet):
                    return future.result(min(_LOOK, max(0.0, until - time.monotonic())))
                if future.done():
                    return future.result()  # the function itself ran into a limit of time
                if time.monotonic() > until:
                    raise UserError(
                        f"{self._path} returned no rows for {self._seconds:g} s, like an endless "
                        f"view; pass a table, or set {SECONDS}, such as "
                        f"{SECONDS}={10 * self._seconds:g}, if you trust the file."
                    )
        except BaseException:
            while not future.done():  # once may come before the function has begun
                self._interrupt()
                time.sleep(_LOOK)
            raise


def _seconds() -> float:
    text = os.environ.get(SECONDS, "").strip()
    if not text:
        return _ANSWER
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UserError(f"{SECONDS}={text} is not a number of seconds; write it as 600.")
    return found


@contextlib.contextmanager
def writing(folder: StrPath, n_bytes: float = 0.0) -> Iterator[None]:
    """Say where a folder of temporary files, which are to take so many bytes, has no room."""
    advice = "set TMPDIR to a folder on a larger disk, or free some space"
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise UserError(
            f"The rows need a temporary file of {_size(n_bytes)}, but only {_size(free)} are "
            f"free in {Path(folder).parent}; {advice}."
        )
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(
            f"The temporary file of the rows does not fit in {Path(folder).parent}; {advice}."
        ) from error


def _given() -> float | None:
    text = os.environ.get(VARIABLE, "").strip()
    return size_of(text, VARIABLE) if text else None


def size_of(text: str, name: str | None = None) -> float:
    """Bytes that a text such as 500M or 32G stands for, the value of ``memory`` or of ``name``."""
    found = re.fullmatch(r"(\d+\.?\d*) ?([KMGT]?)B?", text.strip().upper())
    if found is None:
        given = f"{name}={text}" if name else ref("memory", text)
        raise UserError(f"{given} is not a size; write it like 500M or 32G.")
    size = float(found[1]) * _UNITS[found[2]]
    if not found[2] and size < _FEWEST_BYTES:
        given = f"{name}={text}" if name else ref("memory", text)
        raise UserError(f"{given} is {size:g} bytes; add a unit, such as {size:g}M for megabytes.")
    return size


def free_memory() -> float:
    """Bytes that this process can still take: of the model, its container, its own limit."""
    found = []
    with contextlib.suppress(OSError), open("/proc/meminfo") as file:
        available = re.search(r"MemAvailable:\s*(\d+)", file.read())
        if available:
            found.append(1024.0 * int(available[1]))
    # What the container uses counts files it has read, which can go; so its limit alone.
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as file:
        found.append(float(int(file.read())))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            with open("/proc/self/statm") as file:
                found.append(limit - int(file.read().split()[0]) * resource.getpagesize())
    return max(_LEAST, min(found, default=_UNKNOWN))


def _size(n_bytes: float) -> str:
    unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"{n_bytes / unit:.3g} {name}"
