"""Folders for files that are of no use once a command has ended, however it ended."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .file_identity import StrPath

_FOLDER = "fewlabels-rows-"
_open: set[Path] = set()


@contextlib.contextmanager
def temporary_folder(folder: StrPath | None = None) -> Iterator[Path]:
    """Give a folder for rows, removed at the end; folders of ended processes are removed now."""
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    for left in parent.glob(f"{_FOLDER}*"):
        owner = re.match(rf"{_FOLDER}(\d+)-", left.name)
        if owner and not _is_running(int(owner[1])):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=f"{_FOLDER}{os.getpid()}-", dir=parent, ignore_cleanup_errors=True
    ) as name:
        place = Path(name)
        _open.add(place)
        try:
            yield place
        finally:
            _open.discard(place)


def remove_all() -> None:
    """Remove what this process has open, before it ends without leaving its blocks."""
    for place in [*_open]:
        shutil.rmtree(place, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
