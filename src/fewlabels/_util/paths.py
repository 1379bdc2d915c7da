"""Questions to the file system, which may refuse to answer: the one place that asks them.

A folder without permission, a name that is too long and a disk with errors are a
:class:`UserError`. A path that leads nowhere is none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from .messages import UserError, quoted

if TYPE_CHECKING:
    from .._typing import PathLike

# Letters of a path in a message.
_MAX_SHOWN = 200
# What Windows says of a link that leads to itself.
_CANT_RESOLVE = 1921


def path_exists(path: PathLike) -> bool:
    """Return whether there is a file or a folder; links are followed."""
    return _status(path) is not None


def is_folder(path: PathLike) -> bool:
    """Return whether a path is a folder."""
    status = _status(path)
    return status is not None and S_ISDIR(status.st_mode)


def is_regular_file(path: PathLike) -> bool:
    """Return whether a path is a file, and no folder, device or pipe."""
    status = _status(path)
    return status is not None and S_ISREG(status.st_mode)


def file_size(path: PathLike) -> int:
    """Return the bytes of a file; 0 if there is none."""
    status = _status(path)
    return 0 if status is None else status.st_size


def files_under(folder: PathLike) -> Iterator[Path]:
    """Yield all files below a folder; links to folders aren't followed."""

    def refuse(error: OSError) -> None:
        raise access_error(error.filename, error) from error

    for inner, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(inner, name) for name in names)


def resolve_path(path: PathLike) -> Path:
    """Return an absolute path without links; a link to itself is refused.

    ``Path.resolve`` raises a ``RuntimeError`` for such a link before Python 3.13, and returns the
    link since.
    """
    _status(path)
    return Path(os.path.realpath(path))


def access_error(path: object, error: OSError) -> UserError:
    """Return the error for a path that the system refuses to open or to read."""
    if error.errno == errno.ELOOP or getattr(error, "winerror", None) == _CANT_RESOLVE:
        return UserError(f"{path} is a link to itself; pass another file.")
    return UserError(
        f"{quoted(path, _MAX_SHOWN)} can't be read: {error.strerror or error}; check the path, "
        "its permissions and the disk."
    )


def _status(path: PathLike) -> os.stat_result | None:
    """Return what the system says of a path, None where it leads nowhere."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise access_error(path, error) from error
    except ValueError as error:  # NUL, or half of a character
        raise UserError(
            f"{quoted(path, _MAX_SHOWN)} has a character that no path can have; rename the file."
        ) from error
