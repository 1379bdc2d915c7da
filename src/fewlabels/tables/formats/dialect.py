"""How delimited text is written: its separator and its encoding, as said or found by looking."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from typing import TYPE_CHECKING, NamedTuple

from ..._util.messages import ref
from .registry import is_compressed

if TYPE_CHECKING:
    from ..sources import Source

_MAX_SEARCHED_BYTES = 1 << 24
# Characters and rows that separators are tried on.
_MAX_SAMPLE_CHARACTERS = 1 << 16
_MAX_SAMPLE_ROWS = 200
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
# No text has these.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1a"))
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d\s*[^\d\s.,;|]{0,8}\s*")


class Dialect(NamedTuple):
    """Separator and encoding of a file, whether it has a row of names, and what to say of them."""

    sep: str
    encoding: str
    header: bool
    remark: str = ""


def find_dialect(source: Source) -> Dialect:
    """Look at the beginning of a file for what its reading leaves open."""
    reading, usual = source.reading, source.format.separator
    assert usual is not None  # only delimited text has a dialect
    opened = gzip.open if is_compressed(source) else open
    with opened(source, "rb") as file:
        start = file.read(_MAX_SEARCHED_BYTES)
    encoding = reading.encoding or _detect_encoding(start, len(start) < _MAX_SEARCHED_BYTES)
    sep = reading.sep or _detect_separator(_take_whole_rows(start, encoding), usual)
    found = []
    if reading.sep is None and sep != usual:
        found.append((ref("sep"), f"{name_separator(sep)} between its cells"))
    if reading.encoding is None and encoding != "utf-8":
        found.append((ref("encoding"), f"its text in {encoding}"))
    remark = ""
    if found:
        options, words = (" and ".join(part) for part in zip(*found, strict=True))
        verb = "says" if len(found) == 1 else "say"
        remark = (
            f"{source.path.name} has {words}, as a look at it found; {options} {verb} otherwise"
        )
    return Dialect(sep, encoding, reading.header is not False, remark)


def name_separator(sep: str) -> str:
    """Return the name of a separator, in the plural."""
    return _WORDS.get(sep, f"'{sep}'")


def find_separators(text: str) -> list[str]:
    """Return usual separators that a text holds."""
    return [sep for sep in (";", "\t", ",", "|") if sep in text]


def _detect_encoding(start: bytes, whole: bool) -> str:
    """Return the encoding of a text that begins with these bytes; UTF-8 where none is found."""
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    for first, name in enumerate(("utf-16-be", "utf-16-le")):
        if len(start) > 3 and not start[first : 1 << 10 : 2].strip(b"\0"):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=whole)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    high = sum(start[: 1 << 20].count(byte) for byte in range(128, 256))
    kept = start[: 1 << 20].decode("utf-8", errors="ignore")
    in_order = len(kept.encode()) - sum(character.isascii() for character in kept)
    if 2 * in_order > high or start.translate(None, _CONTROLS) != start:
        return "utf-8"  # damaged, or no text: reading it says so
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        return "utf-8"
    return "cp1252"


def _take_whole_rows(start: bytes, encoding: str) -> str:
    """Return some whole rows of the beginning."""
    text = start.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    if len(text) <= _MAX_SAMPLE_CHARACTERS:
        return text
    text = text[:_MAX_SAMPLE_CHARACTERS]
    for found in reversed(list(re.finditer(r"[\r\n]", text))):
        if text.count('"', 0, found.start()) % 2 == 0:
            return text[: found.start()]
    return text


def _detect_separator(text: str, usual: str) -> str:
    """Return the separator that cuts all rows into as many cells as there are names.

    The usual one unless it does not, or another cuts cells out that are numbers.
    """
    header = text.lstrip("\r\n").split("\n", 1)[0]
    rows = {sep: _split_rows(text, sep) for sep in (usual, *find_separators(header))}
    even = [sep for sep, cut in rows.items() if cut and len({len(row) for row in cut}) == 1]
    even = [sep for sep in even if len(rows[sep][0]) > 1]
    if even:
        return max(
            even, key=lambda sep: (_count_numbers(rows[sep]), sep == usual, len(rows[sep][0]))
        )
    # Rows of different lengths are told apart when they are read.
    names = {sep: len(cut[0]) if cut else 1 for sep, cut in rows.items()}
    return usual if names[usual] > 1 else max(names, key=lambda sep: (names[sep], sep == usual))


def _split_rows(text: str, sep: str) -> list[list[str]]:
    try:
        cut = csv.reader(text.splitlines(keepends=True), delimiter=sep)
        rows = (row for row in cut if len(row) > 1 or "".join(row).strip())
        return [row for row, _ in zip(rows, range(_MAX_SAMPLE_ROWS), strict=False)]
    except csv.Error:
        return []


def _count_numbers(rows: list[list[str]]) -> int:
    cells = [cell for row in rows[1:] for cell in row]
    return sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
