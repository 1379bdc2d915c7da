"""Files that appear whole or not at all."""

import contextlib
import glob
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .._util.messages import UserError
from .._util.paths import path_exists
from .file_identity import Identity, StrPath, identity_if_any

# Younger temporary files may not have their lock yet.
_MIN_LEFTOVER_AGE_SECONDS = 5.0
# Longest wait for a folder, which is locked for microseconds.
_MAX_LOCK_WAIT_SECONDS = 2.0


@contextlib.contextmanager
def replacing(path: StrPath, in_place_of: Identity | None = None) -> Iterator[Path]:
    """Give the path of a temporary file that replaces ``path`` when the block succeeds.

    Whatever goes wrong in the block, Ctrl-C included, leaves the old file as it was. With the
    ``Identity`` of a file, ``in_place_of``, no other file is replaced.
    """
    # A link keeps pointing where it points: its target is what gets replaced.
    path = Path(os.path.realpath(path))
    # In the same folder, because renaming is atomic only within one file system.
    name = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    _remove_leftovers(path)
    try:
        held = open(name, "xb")
        _lock(held)  # as long as this process lives
    except OSError as error:
        raise UserError(f"Can't write to {path}: {error.strerror}.") from error
    try:
        yield name
        if path_exists(path):
            shutil.copymode(path, name)
        os.fsync(held.fileno())
        held.close()
        with _lock_folder(path.parent):
            if in_place_of is not None and identity_if_any(path) != in_place_of:
                raise UserError(
                    f"Another command changed {path} in the meantime, so it was left as it is "
                    "now; run the command again."
                )
            os.replace(name, path)
    except OSError as error:
        raise UserError(
            f"Can't write to {path}: {error.strerror or error}; it is unchanged."
        ) from error
    finally:
        held.close()
        name.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder, so that nobody replaces a file that another process has just checked.

    Where folders can't be locked, or somebody else holds the lock, it is done without.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            number = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, number)
            end = time.monotonic() + _MAX_LOCK_WAIT_SECONDS
            while time.monotonic() < end:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.002)
        yield


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of killed processes: nobody holds a lock on them."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), open(left, "rb+") as file:
            # One that was just made may not have its lock yet.
            if time.time() - os.fstat(
                file.fileno()
            ).st_mtime > _MIN_LEFTOVER_AGE_SECONDS and _lock(file):
                left.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file and return whether that worked; False where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
