"""How much memory a file may fill, checked before it is taken."""

import contextlib
import errno
import os
import re
import shutil
from pathlib import Path

from .errors import UserError

VARIABLE = "FEWLABELS_MEMORY"
# What is taken where nobody says how much there is, the share of what is free, and what any
# machine can find room for.
_UNKNOWN, _SHARE, _LEAST = 8e9, 0.8, 2e8
_UNITS = {"": 1e0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def check_room(path, n_bytes, what, most=None):
    """Refuse a file that would fill more memory than the machine has free, or than ``most``."""
    given = _given()
    allowed = given or min(_SHARE * free_memory(), most or float("inf"))
    if n_bytes > allowed:
        raise UserError(
            f"{path} would fill {_size(n_bytes)} of memory ({what}), and {_size(allowed)} are "
            f"allowed; give a smaller one, or set {VARIABLE}, such as "
            f"{VARIABLE}={max(1, round(1.2e-9 * n_bytes))}G, if the file is to be trusted and "
            "the machine has room."
        )


@contextlib.contextmanager
def writing(folder, n_bytes=0.0):
    """Say where a folder of temporary files, which are to take so many bytes, has no room."""
    advice = "set TMPDIR to a folder on a disk with more room, or make some"
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise UserError(
            f"The rows take a temporary file of {_size(n_bytes)}, and {_size(free)} are free in "
            f"{Path(folder).parent}; {advice}."
        )
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(
            f"The temporary file of the rows does not fit in {Path(folder).parent}; {advice}."
        ) from error


def _given():
    text = os.environ.get(VARIABLE, "").strip()
    return size_of(text, f"{VARIABLE}=") if text else None


def size_of(text, name="--memory "):
    """Bytes that a text such as 500M or 32G stands for; ``name`` is what was given."""
    found = re.fullmatch(r"(\d+\.?\d*) ?([KMGT]?)B?", text.strip().upper())
    if found is None:
        raise UserError(f"{name}{text} is no size; write it as 500M or 32G.")
    return float(found[1]) * _UNITS[found[2]]


def free_memory():
    """Bytes that this process can still take: of the machine, its container, its own limit."""
    found = []
    with contextlib.suppress(OSError, AttributeError), open("/proc/meminfo") as file:
        found.append(1024.0 * int(re.search(r"MemAvailable:\s*(\d+)", file.read())[1]))
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


def _size(n_bytes):
    unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"{n_bytes / unit:.3g} {name}"
