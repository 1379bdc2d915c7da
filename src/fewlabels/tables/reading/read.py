"""Reading tables of any format, whole or in pieces."""

import contextlib
import csv
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType

import numpy as np
import pyarrow as pa

from ..._util.extras import require
from ..._util.messages import UserError, listing, quoted, ref
from ..answers.file import AnswerFile, read_answers
from ..answers.row_keys import LabelColumn
from ..file_identity import StrPath
from ..formats.registry import TablePiece, matrices, usual_extensions
from ..limits import check_memory
from ..sources import DataSource, InMemory, Source, as_source
from .sidecar import AddedColumns, SidecarColumns

# What Arrow and pandas take for a column, whatever it holds.
_PER_COLUMN = 20_000
# What learning takes besides a table as it was read: numbers, encoded and prepared for kernels.
_COPIES = 4
# From here on what was read tells how much is to come.
_TELLING = 1 << 24


def _load_reader(path: StrPath | DataSource) -> tuple[ModuleType, DataSource]:
    source = as_source(path)
    if isinstance(source, Source) and source.format.needs:
        require(f"reading {source.path}", *source.format.needs)
    return source.format.load(), source


def column_names(path: StrPath | DataSource) -> list[str]:
    """Return the names of the columns; duplicates are refused."""
    reader, source = _load_reader(path)
    return _check_names(source, _read_names(reader, source), _open_sidecars(source))


def _read_names(reader: ModuleType, source: DataSource) -> list[str]:
    with translate_errors(source):
        found = reader.names(source)
    source.check_unchanged()
    return found


def _check_names(path: DataSource, names: list[str], added: Iterable[AddedColumns]) -> list[str]:
    """Return the names of a table's columns and of the columns next to it."""
    for beside in added:
        names = beside.extend_names(names)
    what = f"{len(names)} columns; a {usual_extensions(matrices())} matrix needs less"
    check_memory(path, _PER_COLUMN * len(names), what)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(
            f"Columns of {path} share a name ({listing(twice)}); rename them so that each name "
            "occurs once."
        )
    return names


def describe_reading(path: StrPath | DataSource) -> str:
    """Return a remark on how a file was read, "" for none."""
    reader, source = _load_reader(path)
    with translate_errors(path):
        found = reader.remark(source) if hasattr(reader, "remark") else ""
    source.check_unchanged()
    return found


def cut_into_parts(files: list[Source], n_parts: int) -> list[Source]:
    """Cut files of one format into about ``n_parts`` parts in total, if the format has parts."""
    reader = _load_reader(files[0])[0]
    if not hasattr(reader, "parts"):
        return files
    least, most = reader.PART
    sizes, found = 0, []
    for file in files:
        with translate_errors(file):
            sizes += reader.size(file)
    size = min(max(-(-sizes // n_parts), least), most)
    for file in files:
        with translate_errors(file):
            found += [replace(file, part=part) for part in reader.parts(file, size)]
    return found


def read_table(path: StrPath | DataSource) -> pa.Table:
    """Read the whole table; cells of delimited text stay text."""
    path = as_source(path)
    tables, total = [], 0
    for table, _, share in iterate_tables(path, None if isinstance(path, InMemory) else 1 << 20):
        total += table.nbytes
        # What is to come is guessed from what was read, once that is enough to tell.
        expected = total / max(share, 1e-3) if total > _TELLING else total
        check_memory(path, _COPIES * expected, "the whole table and the memory for training")
        tables.append(table)
    return pa.concat_tables(tables)


def iterate_tables(
    path: StrPath | DataSource,
    rows: int | None = None,
    types: Mapping[str, pa.DataType] | None = None,
    may_be_empty: bool = False,
) -> Generator[TablePiece, None, None]:
    """Yield pieces of at most ``rows`` rows, their lines, and the share of the file read so far.

    Cells of delimited text are text. Where just the columns of ``types`` (name to Arrow type) are
    requested, lines are the rows as they are in the file, each behind the line break before it;
    None (and all columns text) where it takes a parser to say where a row ends. All columns are
    text, too, where a cell does not fit its type. A table without rows is refused, or a single
    piece if it ``may_be_empty``.
    """
    reader, path = _load_reader(path)
    names, added = _read_names(reader, path), _open_sidecars(path)
    _check_names(path, names, added)
    if added:
        own = set(names)
        types = types and {name: kind for name, kind in types.items() if name in own}
    if _label_file(path) is not None:
        types = None  # rows are known by their cells as they are written
    empty, has_rows = None, False
    with (
        translate_errors(path),
        contextlib.closing(reader.pieces(path, names, rows, types)) as found,
    ):
        for table, lines, share in found:
            path.check_unchanged()
            has_rows = has_rows or table.num_rows > 0
            empty = None if has_rows else table
            for beside in added:
                table = beside.add(table)
            n_pieces = -(-table.num_rows // rows) if rows else 1
            size = -(-table.num_rows // max(1, n_pieces))
            for start in range(0, table.num_rows, max(1, size)):
                piece = None if lines is None else lines.slice(start, size)
                yield table.slice(start, size), piece, share
    path.check_unchanged()
    if not has_rows:
        if not may_be_empty:
            raise UserError(f"{path} has column names but no rows; add rows of data.")
        if empty is None:
            empty = pa.table({name: pa.array([], pa.string()) for name in names})
        for beside in added:
            empty = beside.add(empty)
        yield empty, None, 1.0
    for beside in added:
        beside.check()


def _open_sidecars(source: DataSource) -> list[AddedColumns]:
    """Return the columns next to a file's rows: labels first, which identify rows by cells."""
    if not isinstance(source, Source):
        return []
    labels, features = _label_file(source), source.reading.features
    found: list[AddedColumns] = []
    if labels is not None:  # all steps get the labels that the first one read
        answers = source.first_look.get_or_make("labels", lambda: read_answers(labels))
        found.append(LabelColumn(answers, source))
    if features is not None:
        if not isinstance(features, np.ndarray):
            features = source.first_look.get_or_make("features", lambda: as_source(features))
        found.append(SidecarColumns(features, source))
    return found


def _label_file(source: DataSource) -> StrPath | AnswerFile | None:
    """Return the file of labels that people gave to the rows of a file, or None."""
    return source.reading.labels if isinstance(source, Source) else None


@contextlib.contextmanager
def translate_errors(path: object) -> Iterator[None]:
    """Turn what the readers say into one sentence."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeDecodeError) as error:
        message = str(error).removeprefix("CSV parse error: ").strip().rstrip(".")
        encoding = getattr(error, "encoding", "utf-8" if "UTF8" in message else None)
        if encoding is not None:
            advice = f"save it as UTF-8, or pass {ref('encoding')}"
            message = f"its text is not {encoding.upper()}; {advice}"
        elif "magic bytes" in message or "Parquet" in message:
            message = "it isn't a Parquet file, or it is truncated"
        elif "Expected" in message:
            cut = message[:160].replace("\n", " ")
            message = f"{cut}; every row needs as many cells as there are column names"
        raise UserError(f"{path} can't be read: {message}.") from error
    except UnicodeEncodeError as error:  # JSON can spell half of a character
        cell = error.object[max(0, error.start - 20) : error.end]
        raise UserError(
            f"{path} can't be read: {quoted(cell)} ends with half of a character, which no text "
            "may have; replace it."
        ) from error
    except csv.Error as error:
        raise UserError(f"{path} can't be read: in its first row, {error}.") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path} can't be read: it is truncated or damaged.") from error
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror or error}.") from error
