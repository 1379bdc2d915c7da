"""The formats of files: what each can do, and the module that reads it.

A module of a table has two functions:

- ``names(source)`` returns the names of its columns.
- ``pieces(source, names, rows, types)`` yields tables of about ``rows`` rows (None: any number),
  their lines (None: they aren't text) and the share of the file read so far. ``types`` is for
  delimited text; see ``tables/read.py``.

It may have three more:

- ``remark(source)`` returns what to report about how the file was read.
- ``size(source)`` and ``parts(source, size)`` cut a file for several workers. ``PART`` holds the
  least and the largest size of a part.
- ``writer(path, separator, compressed, safe)`` opens a file to write; see ``write.py``.

A module of a matrix has ``read(source, place)``, ``memory(source)`` and
``pieces(source, rows, schema)``; see ``arrays.py``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..._util.paths import access_error
from ..file_identity import StrPath

if TYPE_CHECKING:
    import pyarrow as pa

from collections.abc import Callable
from contextlib import AbstractContextManager

# A table, its lines as they are in the file (None: it isn't text), and the share read so far.
TablePiece: TypeAlias = "tuple[pa.Table, pa.Array | None, float]"
_TABLE = frozenset({"decimal", "features", "labels"})
_TEXT = _TABLE | {"encoding"}
_DELIMITED = _TEXT | {"sep", "header"}


@dataclass(frozen=True)
class Format:
    """A format of files, and its abilities.

    Parameters
    ----------
    name : str
        The name of the format.
    extensions : tuple of str
        The extensions of its files, the usual one first.
    module : str or object
        The module of this package that reads it, imported on first use; or what has its functions.
    options : frozenset of str
        The options of reading that apply: fields of ``ReadingOptions``, and "table" if a file has
        several.
    is_table : bool
        Whether columns have names. Otherwise it is a matrix.
    separator : str, optional
        The usual separator of delimited text.
    compressed : bool
        Whether a file may be compressed, with ``.gz`` behind its extension.
    writable : bool
        Whether scores can be written in it.
    memory_factor : int, optional
        The most bytes of memory that a byte of the file takes. Larger files are learned from in
        pieces, or on a cluster; files of a format without it must fit in memory.
    needs : tuple of str
        Packages to read it, keys of ``EXTRAS``.
    signature : tuple of int and bytes, optional
        Where files have which bytes, if they share an extension with another format.
    """

    name: str
    extensions: tuple[str, ...]
    module: Any
    options: frozenset[str] = _TABLE
    is_table: bool = True
    separator: str | None = None
    compressed: bool = False
    writable: bool = False
    memory_factor: int | None = None
    needs: tuple[str, ...] = ()
    signature: tuple[int, bytes] | None = None

    @property
    def all_extensions(self) -> tuple[str, ...]:
        """The extensions, also of compressed files."""
        packed = [f"{each}.gz" for each in self.extensions] if self.compressed else []
        return (*self.extensions, *packed)

    def load(self) -> ModuleType:
        """Return the module of the format."""
        if isinstance(self.module, str):
            return import_module(f".{self.module}", __package__)
        return self.module

    def is_signed(self, path: StrPath) -> bool:
        """Return whether a file has the signature of the format."""
        if self.signature is None:
            return False
        start, mark = self.signature
        try:
            with open(path, "rb") as file:
                file.seek(start)
                return file.read(len(mark)) == mark
        except OSError as error:
            raise access_error(path, error) from error


def _delimited_format(name: str, extension: str, separator: str) -> Format:
    return Format(
        name,
        (extension,),
        "delimited",
        _DELIMITED,
        separator=separator,
        compressed=True,
        writable=True,
        memory_factor=20,
    )


def _matrix_format(name: str, extensions: tuple[str, ...], module: str) -> Format:
    return Format(name, extensions, module, frozenset(), is_table=False)


_FORMATS = (
    _delimited_format("csv", ".csv", ","),
    _delimited_format("tsv", ".tsv", "\t"),
    Format("parquet", (".parquet", ".pq"), "parquet", writable=True, memory_factor=1000),
    Format("folder", (), "folder", memory_factor=1000),
    Format("xlsx", (".xlsx", ".xlsm"), "excel", _TABLE | {"header", "table"}, needs=("openpyxl",)),
    Format(
        "jsonl",
        (".jsonl", ".ndjson"),
        "json_lines",
        _TEXT,
        compressed=True,
        writable=True,
        memory_factor=1000,
    ),
    Format("sqlite", (".sqlite", ".sqlite3", ".db"), "sqlite", _TABLE | {"table"}),
    Format(
        "duckdb",
        (".duckdb", ".sqlite", ".sqlite3", ".db"),
        "duck",
        _TABLE | {"table"},
        needs=("duckdb",),
        signature=(8, b"DUCK"),
    ),
    _matrix_format("npy", (".npy",), "matrices.numpy_files"),
    _matrix_format("npz", (".npz",), "matrices.numpy_files"),
    _matrix_format("svmlight", (".svmlight", ".libsvm", ".svm", ".txt"), "matrices.svmlight"),
    # Rows in memory.
    Format("frame", (), "frame"),
    _matrix_format("matrix", (), "matrices.memory"),
)
FORMATS = {each.name: each for each in _FORMATS}


def tables() -> list[Format]:
    """Return the formats of files with named columns."""
    return [each for each in FORMATS.values() if each.extensions and each.is_table]


def matrices() -> list[Format]:
    """Return the formats of files without named columns."""
    return [each for each in FORMATS.values() if each.extensions and not each.is_table]


def writable() -> list[Format]:
    """Return the formats that scores can be written in."""
    return [each for each in FORMATS.values() if each.writable]


def extension_of(path: StrPath) -> str:
    """Return the extension of a path, with what comes before ``.gz``."""
    path = Path(path)
    return "".join(path.suffixes[-2:]) if is_compressed(path) else path.suffix


def is_compressed(path: StrPath) -> bool:
    """Return whether a file is compressed, by its extension."""
    return Path(path).suffix.lower() == ".gz"


def formats_of(path: StrPath) -> list[Format]:
    """Return the formats that a path may have, by its extension."""
    extension = extension_of(path).lower()
    return [each for each in FORMATS.values() if extension in each.all_extensions]


def every_extension(formats: Sequence[Format]) -> str:
    """Return all extensions of formats in words; compressed files come last."""
    plain = dict.fromkeys(name for each in formats for name in each.extensions)
    packed = dict.fromkeys(name for each in formats for name in each.all_extensions)
    return _in_words([*(plain | packed)])


def usual_extensions(formats: Iterable[Format]) -> str:
    """Return the usual extension of each format in words."""
    return _in_words([each.extensions[0] for each in formats])


def _in_words(extensions: Iterable[str]) -> str:
    *names, last = extensions
    return ", ".join(names) + f" or {last}"


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
