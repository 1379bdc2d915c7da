"""Writing tables piece by piece, in the formats that can be written."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from .formats.registry import FORMATS
from .steady import StrPath


def table_writer(
    path: StrPath, form: str, compressed: bool = False, safe: bool = False
) -> AbstractContextManager[Callable[..., None]]:
    """Open a new file; a context that gives the function that appends to it.

    ``append(table)`` writes the rows of a ``pyarrow.Table``. ``append(table, lines, names)``
    writes its columns behind rows of delimited text with columns ``names`` that stay as they are,
    each given behind the line break before it. Text may be compressed as gzip does. With ``safe``
    an apostrophe goes before texts in delimited text that a spreadsheet would take for formulas.
    """
    known = FORMATS[form]
    return known.load().writer(path, known.separator, compressed, safe)
