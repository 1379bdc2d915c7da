"""Where paths lead, and which files can be written, decided before any work is done."""

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .._util.messages import UserError, quoted
from .file_identity import StrPath
from .formats.registry import every_extension, extension_of, formats_of, writable

# Bytes that a name may have, and its path: 255 and 4096 on most systems. What is written has a
# longer name at first; a report is named like its model, with an extension.
_LONGEST_NAME = 200
_LONGEST_PATH = 4000
# What Windows says of a link that leads to itself.
_CANT_RESOLVE = 1921


def resolve_path(path: StrPath) -> Path:
    """Return an absolute path without links; a link to itself is refused.

    ``Path.resolve`` raises a ``RuntimeError`` for such a link before Python 3.13, and returns the
    link since.
    """
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP or getattr(error, "winerror", None) == _CANT_RESOLVE:
            raise UserError(f"{path} is a link to itself; pass another file.") from error
    return Path(os.path.realpath(path))


def output_format(path: StrPath) -> str:
    """Return the name of the format of a table to be written."""
    found = [each for each in formats_of(path) if each.writable]
    if not found:
        raise UserError(
            f"Scores can't be written with the extension {quoted(extension_of(path))} of {path}; "
            f"use {every_extension(writable())}."
        )
    return found[0].name


def check_output(path: StrPath, inputs: Iterable[object] = ()) -> None:
    """Refuse an output that cannot be written, or is an input, before hours are spent on it."""
    path = Path(path)
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise UserError(
            f"The name {path.name[:20]}... of an output has {len(path.name)} letters; use a "
            f"shorter one, of {_LONGEST_NAME} bytes at most."
        )
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UserError(f"The path of {path.name} is longer than a file's can be; shorten it.")
    target = resolve_path(path)
    folder = target.parent
    if not folder.is_dir():
        link = f"{path} is a link to {target}, and the" if path.is_symlink() else "The"
        missing = folder if path.is_symlink() else path.parent
        raise UserError(f"{link} folder {missing} does not exist; create it first.")
    if path.is_dir():
        raise UserError(f"{path} is a folder; pass a file to write in it.")
    # Writing is by renaming, which would replace a device such as /dev/null.
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a regular file; pass a file to write.")
    try:
        with tempfile.TemporaryFile(dir=folder):  # permissions don't say it all: see /sys
            pass
    except OSError as error:
        raise UserError(
            f"The folder {path.parent} is not writable ({error.strerror}); choose another."
        ) from error
    for source in inputs:
        if not isinstance(source, str | os.PathLike) or not os.path.exists(source):
            continue
        if os.path.isdir(source) and folder.is_relative_to(resolve_path(source)):
            raise UserError(f"{path} is in a folder that is an input; choose another output.")
        if path.exists() and os.path.samefile(path, source):
            raise UserError(f"{path} is an input of this command; choose another output.")
