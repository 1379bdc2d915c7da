"""How much memory a file may fill, checked before it is taken, and how long it may keep one."""

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, Self, TypeVar

from .._util.messages import UserError, ref
from .file_identity import StrPath

T = TypeVar("T")
VARIABLE = "FEWLABELS_MEMORY"
SECONDS = "FEWLABELS_SECONDS"
# Seconds that a database may take for one answer, unless set.
_DEFAULT_TIME_LIMIT = 120.0
# Seconds between two looks of a waiting thread for Ctrl-C.
_POLL_SECONDS = 0.05
# Bytes that are assumed to be free if the system doesn't say.
_ASSUMED_FREE_BYTES = 8e9
# Share of the free memory that a file may fill.
_USABLE_SHARE = 0.8
# Bytes that any computer has free.
_MIN_FREE_BYTES = 2e8
# Smaller sizes without a unit are meant in another unit.
_MIN_BYTES_WITHOUT_UNIT = 1e4
_UNITS = {"": 1e0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def check_memory(path: object, n_bytes: float, what: str, most: float | None = None) -> None:
    """Refuse a file that would fill more memory than the model has free, or than ``most``."""
    allowed = allowed_bytes(most)
    if n_bytes > allowed:
        raise UserError(
            f"{path} would need {_format_size(n_bytes)} of memory ({what}), but "
            f"{_format_size(allowed)} are allowed; pass a smaller file, or set "
            f"{VARIABLE}, such as "
            f"{VARIABLE}={max(1, round(1.2e-09 * n_bytes))}G, if you trust the file and the "
            "computer has enough memory."
        )


def allowed_bytes(most: float | None = None) -> float:
    """Return the bytes that a file may fill: as set, or a share of free memory up to ``most``."""
    return _read_memory_limit() or min(_USABLE_SHARE * free_memory(), most or float("inf"))


class InterruptibleCall:
    """Calls into a library that doesn't look for Ctrl-C and may never return.

    Each call runs in a thread of its own. Ctrl-C and the time limit call ``interrupt``, which has
    to end it, and reach the caller as an exception.
    """

    def __init__(self, path: object, interrupt: Callable[[], object]) -> None:
        self._path, self._interrupt = path, interrupt
        self._time_limit = _read_time_limit()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown()

    def __call__(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function and return its result."""
        future = self._thread.submit(function, *args)
        until = time.monotonic() + self._time_limit
        try:
            while True:
                with contextlib.suppress(FutureTimeoutError):
                    return future.result(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))
                if future.done():
                    return future.result()  # the function itself ran into a limit of time
                if time.monotonic() > until:
                    raise UserError(
                        f"{self._path} returned no rows for {self._time_limit:g} s, like an "
                        f"endless view; pass a table, or set {SECONDS}, such as "
                        f"{SECONDS}={10 * self._time_limit:g}, if you trust the file."
                    )
        except BaseException:
            while not future.done():  # once may come before the function has begun
                self._interrupt()
                time.sleep(_POLL_SECONDS)
            raise


def _read_time_limit() -> float:
    text = os.environ.get(SECONDS, "").strip()
    if not text:
        return _DEFAULT_TIME_LIMIT
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UserError(f"{SECONDS}={text} is not a number of seconds; write it as 600.")
    return found


@contextlib.contextmanager
def report_full_disk(folder: StrPath, n_bytes: float = 0.0) -> Iterator[None]:
    """Say where a folder of temporary files, which are to take so many bytes, has no room."""
    advice = "set TMPDIR to a folder on a larger disk, or free some space"
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise UserError(
            f"The rows need a temporary file of {_format_size(n_bytes)}, but only "
            f"{_format_size(free)} are free in {Path(folder).parent}; {advice}."
        )
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(
            f"The temporary file of the rows does not fit in {Path(folder).parent}; {advice}."
        ) from error


def _read_memory_limit() -> float | None:
    text = os.environ.get(VARIABLE, "").strip()
    return parse_size(text, VARIABLE) if text else None


def parse_size(text: str, name: str | None = None) -> float:
    """Parse a size such as 500M or 32G, the value of ``memory`` or of ``name``, as bytes."""
    found = re.fullmatch(r"(\d+\.?\d*) ?([KMGT]?)B?", text.strip().upper())
    if found is None:
        given = f"{name}={text}" if name else ref("memory", text)
        raise UserError(f"{given} is not a size; write it like 500M or 32G.")
    size = float(found[1]) * _UNITS[found[2]]
    if not found[2] and size < _MIN_BYTES_WITHOUT_UNIT:
        given = f"{name}={text}" if name else ref("memory", text)
        raise UserError(f"{given} is {size:g} bytes; add a unit, such as {size:g}M for megabytes.")
    return size


def free_memory() -> float:
    """Return the bytes that computer, container and process limit leave to this process."""
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
    return max(_MIN_FREE_BYTES, min(found, default=_ASSUMED_FREE_BYTES))


def _format_size(n_bytes: float) -> str:
    unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"{n_bytes / unit:.3g} {name}"
