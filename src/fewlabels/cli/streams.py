"""Standard input and output in place of files."""

import contextlib
import io
import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from .._util.messages import UserError, template
from ..tables.formats.registry import formats_of, writable
from ..tables.temporary_folders import temporary_folder
from .errors import discard_output

# What stands for standard input or output.
STREAM = Path("-")
_GZIP = b"\x1f\x8b"

# Text, which may come from standard input and go to standard output.
Format = StrEnum(  # type: ignore[misc]
    "Format", [each.name for each in writable() if "encoding" in each.options]
)


def output_or_stream(out: Path | None) -> Path:
    """Return a path, or standard output if no path is given and it isn't a terminal."""
    if out is not None:
        return out
    if sys.stdout.isatty():
        raise UserError(
            "Scores would fill the terminal; write them to a file with -o FILE, or pass -o - to "
            "print them."
        )
    return STREAM


@contextlib.contextmanager
def input_file(data: Path, form: Format | None) -> Iterator[tuple[Path, Format | None]]:
    """Provide a file with standard input if ``data`` is "-", and the format of its rows."""
    if data != STREAM:
        yield data, None
        return
    with temporary_folder() as folder:
        input_path = folder / "input"
        with open(input_path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        form = form or _format_of(input_path)
        path = folder / f"standard-input.{form}"
        if _is_gzip(input_path):
            with _open_rows(input_path) as compressed_file, open(path, "wb") as file:
                shutil.copyfileobj(compressed_file, file)
        else:
            input_path.rename(path)
        try:
            yield path, form
        except UserError as error:
            raise UserError(_name_stream(template(error), path)) from error


def _name_stream(message: str, path: Path) -> str:
    """Return a message that names standard input, not the file that holds a copy of it."""
    named = message.replace(str(path), "standard input")
    return named[:1].upper() + named[1:]


def choose_format(data: Path) -> Format:
    """Return the format of standard output for rows of a file."""
    names = [each.name for each in formats_of(data) if each.name in [*Format]]
    return Format(names[0]) if names else Format("csv")


def _format_of(path: Path) -> Format:
    """Return the format of a file by its content: JSON Lines begin with a brace."""
    with _open_rows(path) as file:
        beginning = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    return Format("jsonl") if beginning.startswith(b"{") else Format("csv")


def _is_gzip(path: Path) -> bool:
    """Return whether a file is compressed, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


def _open_rows(path: Path) -> io.BufferedIOBase:
    """Open a file, which may be compressed."""
    if not _is_gzip(path):
        return open(path, "rb")
    import gzip  # slow to import, and few need it

    return gzip.open(path, "rb")


@contextlib.contextmanager
def output_file(out: Path, form: Format) -> Iterator[Path]:
    """Provide a file whose content goes to standard output at the end, if ``out`` is "-"."""
    if out != STREAM:
        yield out
        return
    with temporary_folder() as folder:
        path = folder / f"standard-output.{form}"
        yield path
        try:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            raise UserError(f"Can't write to standard output: {error.strerror}.") from error
