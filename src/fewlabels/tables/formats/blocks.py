"""Files of text in blocks of whole rows, so that memory does not grow with them."""

import codecs
import contextlib
import gzip
import os
from collections.abc import Callable, Iterator
from io import BufferedIOBase

from ..._util.messages import UserError
from ..file_identity import StrPath
from .registry import is_compressed

# Smaller files take several times as long.
_LEVEL = 6
# Text is read in blocks of this size; a longer row makes its block longer.
BLOCK_BYTES = 1 << 24
# A row that is longer has no end: a quote was left open, or it is no table.
_MAX_ROW_BYTES = 1 << 26


def blocks(
    path: StrPath,
    encoding: str,
    row_end: Callable[[bytes], int],
    part: tuple[int, int] | None = None,
) -> Iterator[tuple[bytes, float]]:
    """Return the text of a file, as UTF-8, in blocks of whole rows, and how much of it was read.

    ``row_end`` says how many bytes of a block are whole rows; a ``part`` is from one byte of a
    file of UTF-8 to before another.
    """
    found = located_blocks(path, encoding, row_end, part)
    return ((block, share) for block, _, share in found if not block.isspace())


def located_blocks(
    path: StrPath,
    encoding: str,
    row_end: Callable[[bytes], int],
    part: tuple[int, int] | None = None,
) -> Iterator[tuple[bytes, int, float]]:
    """Yield the same with where each begins, also lines of nothing but blanks."""
    decode = None
    if codecs.lookup(encoding).name != "utf-8":
        decode = codecs.getincrementaldecoder(encoding)().decode
    with contextlib.ExitStack() as stack:
        stored = stack.enter_context(open(path, "rb"))
        size = os.fstat(stored.fileno()).st_size
        file: BufferedIOBase = stored
        if is_compressed(path):
            file = stack.enter_context(gzip.GzipFile(fileobj=stored))
        start, end_of_part = part or (0, size)
        if part is not None:
            file.seek(start)
        rest, at = b"", 0
        while read := file.read(_count_next_bytes(file, part)):
            if decode is not None:
                read = decode(read).encode()
            block = rest + read if rest else read
            end = row_end(block)
            if not end:
                check_row_length(path, len(block))
            block, rest = block[:end], block[end:]
            if block:
                yield block, at, min(1.0, (stored.tell() - start) / (end_of_part - start))
            at += end
        if decode is not None:
            rest += decode(b"", final=True).encode()
        if rest:
            yield rest, at, 1.0


def check_row_length(source: object, n_bytes: int) -> None:
    """Refuse a row of a text that is too long to have an end."""
    if n_bytes > _MAX_ROW_BYTES:
        raise UserError(
            f"{source} has a row of more than {_MAX_ROW_BYTES >> 20} MB; close an open quote, "
            "or end its lines."
        )


def last_line_end(block: bytes) -> int:
    """Return how many bytes of a block are whole lines."""
    return block.rfind(b"\n") + 1


def _count_next_bytes(file: BufferedIOBase, part: tuple[int, int] | None) -> int:
    return BLOCK_BYTES if part is None else min(BLOCK_BYTES, part[1] - file.tell())


def is_cut_anywhere(path: StrPath, encoding: str) -> bool:
    """Return whether places in the file are places in its text as UTF-8."""
    return codecs.lookup(encoding).name == "utf-8" and not is_compressed(path)


@contextlib.contextmanager
def new_file(path: StrPath, compressed: bool) -> Iterator[BufferedIOBase]:
    """Return a new file of text, open to be written."""
    with contextlib.ExitStack() as stack:
        file: BufferedIOBase = stack.enter_context(open(path, "wb"))
        if compressed:
            # Neither the time nor the name of a temporary file belongs into the result.
            file = stack.enter_context(
                gzip.GzipFile("", "wb", compresslevel=_LEVEL, fileobj=file, mtime=0)
            )
        yield file
