"""The files of a folder, or of a pattern, that are read as one table."""

import glob
from collections.abc import Container
from itertools import takewhile
from pathlib import Path

from .._util.messages import UserError
from .._util.paths import files_under, is_regular_file, resolve_path
from .file_identity import StrPath

_PARQUET = frozenset({".parquet"})


def holds_parquet(folder: StrPath) -> bool:
    """Return whether there is a Parquet file below a folder."""
    return any(path.suffix.lower() in _PARQUET for path in files_under(folder))


def parquet_files(folder: StrPath) -> list[Path]:
    """Return the Parquet files below a folder, except hidden ones."""
    return files_below(folder, _PARQUET)


def files_below(folder: StrPath, suffixes: Container[str]) -> list[Path]:
    """Return the files below a folder with one of the extensions, except hidden ones.

    A folder may come from somebody else. A link in it that leads out of it is refused, as it
    would put a file of the reader into the answers.
    """
    folder, found = Path(folder), []
    for path in files_under(folder):
        if path.suffix.lower() not in suffixes or not is_regular_file(path):
            continue
        if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
            continue
        _check_inside(path, folder)
        found.append(path)
    return found


def files_of_pattern(pattern: StrPath) -> list[Path]:
    """Return the files that match a pattern, under the same rule for links."""
    parts = Path(pattern).parts
    folder = Path(*takewhile(lambda part: not glob.has_magic(part), parts))
    found = [Path(name) for name in glob.glob(str(pattern), recursive=True)]
    for path in found:
        _check_inside(path, folder)
    return found


def _check_inside(path: Path, folder: Path) -> None:
    target = resolve_path(path)
    if not target.is_relative_to(resolve_path(folder)):
        raise UserError(
            f"{path} links to {target}, which is outside the folder; move the file into the "
            "folder, or read it directly."
        )
