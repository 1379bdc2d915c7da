"""Standard input and output in place of files."""

import contextlib
import shutil
import sys
from enum import StrEnum
from pathlib import Path

from .._util.messages import UserError
from ..tables.formats.registry import formats_of, writable
from ..tables.scratch import temporary_folder
from .errors import give_up_output

# What stands for standard input or output.
STREAM = Path("-")
_GZIP = b"\x1f\x8b"

# Text, which may come from standard input and go to standard output.
Format = StrEnum(  # type: ignore[misc]
    "Format", [each.name for each in writable() if "encoding" in each.options]
)


def output_or_stream(out):
    """Where results go: a path, or standard output where none is given and nobody reads along."""
    if out is not None:
        return out
    if sys.stdout.isatty():
        raise UserError(
            "Scores would fill the terminal; write them to a file with -o FILE, or pass -o - to "
            "print them."
        )
    return STREAM


@contextlib.contextmanager
def input_file(data, form):
    """A file with what standard input gives, if ``data`` is "-", and the format of its rows."""
    if data != STREAM:
        yield data, None
        return
    with temporary_folder() as folder:
        held = folder / "input"
        with open(held, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        form = form or _format_of(held)
        path = folder / f"standard-input.{form}"
        opener = _opener_of(held)
        if opener is open:
            held.rename(path)
        else:
            with opener(held, "rb") as packed, open(path, "wb") as file:
                shutil.copyfileobj(packed, file)
        yield path, form


def format_of(data):
    """The format of standard output for rows of a file."""
    names = [each.name for each in formats_of(data) if each.name in [*Format]]
    return Format(names[0]) if names else Format.csv


def _format_of(path):
    """JSON Lines begin with a brace; other rows are delimited text."""
    with _opener_of(path)(path, "rb") as file:
        begin = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    return Format.jsonl if begin.startswith(b"{") else Format.csv


def _opener_of(path):
    """What opens a file, which may be compressed."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == _GZIP
    if not is_packed:
        return open
    import gzip  # which takes its time, and few need it

    return gzip.open


@contextlib.contextmanager
def output_file(out, form):
    """A file whose content goes to standard output at the end, if ``out`` is "-"."""
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
            give_up_output()
            raise UserError(f"Can't write to standard output: {error.strerror}.") from error
