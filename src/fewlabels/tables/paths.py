"""Which files can be written, decided before any work is done."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .._util.messages import UserError, quoted
from .._util.paths import is_folder, is_regular_file, path_exists, resolve_path
from .file_identity import StrPath
from .formats.registry import every_extension, extension_of, formats_of, writable

# Bytes that a name may have, and its path: 255 and 4096 on most systems. What is written has a
# longer name at first; a report is named like its model, with an extension.
_LONGEST_NAME = 200
_LONGEST_PATH = 4000


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
    if len(path.name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise UserError(
            f"The name {path.name[:20]}... of an output has {len(path.name)} letters; use a "
            f"shorter one, of {_LONGEST_NAME} bytes at most."
        )
    if len(str(path).encode("utf-8", "surrogatepass")) > _LONGEST_PATH:
        raise UserError(f"The path of {path.name} is longer than a file's can be; shorten it.")
    target = resolve_path(path)
    folder = target.parent
    if not is_folder(folder):
        link = f"{path} is a link to {target}, and the" if path.is_symlink() else "The"
        missing = folder if path.is_symlink() else path.parent
        raise UserError(f"{link} folder {missing} does not exist; create it first.")
    if is_folder(path):
        raise UserError(f"{path} is a folder; pass a file to write in it.")
    # Writing is by renaming, which would replace a device such as /dev/null.
    if path_exists(path) and not is_regular_file(path):
        raise UserError(f"{path} is not a regular file; pass a file to write.")
    try:
        with tempfile.TemporaryFile(dir=folder):  # permissions don't say it all: see /sys
            pass
    except OSError as error:
        raise UserError(
            f"The folder {path.parent} is not writable ({error.strerror}); choose another."
        ) from error
    for source in inputs:
        if not isinstance(source, str | os.PathLike) or not path_exists(source):
            continue
        if is_folder(source) and folder.is_relative_to(resolve_path(source)):
            raise UserError(f"{path} is in a folder that is an input; choose another output.")
        if path_exists(path) and os.path.samefile(path, source):
            raise UserError(f"{path} is an input of this command; choose another output.")
