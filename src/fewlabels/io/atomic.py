"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from .errors import UserError


@contextlib.contextmanager
def replacing(path):
    """Path of a temporary file that takes the place of ``path`` when the block succeeds.

    Whatever goes wrong in the block, Ctrl-C included, leaves the old file as it was.
    """
    # A link keeps pointing where it points: its target is what gets replaced.
    path = Path(os.path.realpath(path))
    try:
        # In the same folder, because renaming is atomic only within one file system.
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, _mode(path))
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        raise UserError(
            f"{path} could not be written: {error.strerror or error}; it was left as it was."
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _mode(path):
    """Permissions of the file replaced, or those any new file gets (mkstemp's are 0600)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
