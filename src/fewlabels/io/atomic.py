"""Files that appear whole or not at all."""

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from .errors import UserError


@contextlib.contextmanager
def replacing(path):
    """Path of a temporary file that takes the place of ``path`` when the block succeeds.

    Whatever goes wrong in the block, Ctrl-C included, leaves the old file as it was.
    """
    # A link keeps pointing where it points: its target is what gets replaced.
    path = Path(os.path.realpath(path))
    # In the same folder, because renaming is atomic only within one file system.
    name = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        name.touch(exist_ok=False)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        yield name
        if path.exists():
            shutil.copymode(path, name)
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        raise UserError(
            f"{path} could not be written: {error.strerror or error}; it was left as it was."
        ) from error
    finally:
        name.unlink(missing_ok=True)
