"""Parquet files."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ..._typing import IntArray
from ..file_identity import StrPath
from ..limits import check_memory
from ..sources import Source
from .registry import TablePiece

# Rows that a part of a file has at least and at most.
PART = 1 << 14, 1 << 18
# Texts are written out for so many bytes at a time.
_BYTES = 1 << 26
# Bytes of a column that are read at a time. What is read ahead would be the whole file.
_BUFFER = 1 << 20
_TEXTS = ("STRING", "NONE", "JSON", "ENUM", "BSON")


def names(source: Source) -> list[str]:
    """Return names of the columns."""
    return pq.read_schema(source).names


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables of the rows, and how much of them was read."""
    metadata, schema = pq.read_metadata(source), pq.read_schema(source)
    start, stop = source.part or (0, metadata.num_rows)
    groups, at = None, 0
    if source.part is not None:
        ends = _row_group_ends(metadata)
        first, last = np.searchsorted(ends, [start, stop - 1], side="right").tolist()
        groups, at = list(range(first, last + 1)), int(ends[first - 1]) if first else 0
    check_cells(source, [metadata], rows, groups)
    reading = dict(read_dictionary=text_columns(metadata), pre_buffer=False, buffer_size=_BUFFER)
    with pq.ParquetFile(source, **reading) as file:
        for batch in file.iter_batches(batch_size=rows, row_groups=groups):
            first, at = at, at + batch.num_rows
            if at <= start:
                continue
            done = max(start, first)
            for table in decode_dictionaries(batch.slice(done - first, stop - done), schema):
                done += table.num_rows
                yield table, None, (done - start) / max(1, stop - start)
            if at >= stop:
                return


def _row_group_ends(metadata: pq.FileMetaData) -> IntArray:
    """Return the number of rows up to the end of every row group."""
    return np.cumsum([metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)])


def size(source: Source) -> int:
    """Return rows of the file, which ``parts`` are cut by."""
    return pq.read_metadata(source).num_rows


def parts(source: Source, n_rows: int) -> Sequence[tuple[int, int] | None]:
    """Return where parts of at most ``n_rows`` rows begin and end, if possible between groups."""
    ends, start = _row_group_ends(pq.read_metadata(source)).tolist(), 0
    found: list[tuple[int, int]] = []
    for end, after in pairwise([*ends, None]):
        if after is not None and after - start <= n_rows:
            continue
        cut = -(-(end - start) // n_rows)
        found += pairwise(start + (end - start) * k // cut for k in range(cut + 1)) if cut else []
        start = end
    return found if len(found) > 1 else [None]


@contextlib.contextmanager
def writer(
    path: StrPath, separator: None, compressed: bool, safe: bool
) -> Iterator[Callable[..., None]]:
    """Open a new file; gives the function that appends a table."""
    with contextlib.ExitStack() as stack:
        file = None

        def append(table: pa.Table) -> None:
            nonlocal file
            file = file or stack.enter_context(pq.ParquetWriter(path, table.schema))
            file.write_table(table)

        yield append


def buffered_scan_options() -> ds.ParquetFragmentScanOptions:
    """Return options to scan the files of a dataset without holding them."""
    return ds.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False
    )


def text_columns(metadata: pq.FileMetaData) -> list[str]:
    """Return paths of the columns of texts, each of which a file may hold once for many rows."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return [
        column.path
        for column in columns
        if column.physical_type == "BYTE_ARRAY" and column.logical_type.type in _TEXTS
    ]


def check_cells(
    source: object,
    files: Iterable[pq.FileMetaData],
    rows: int | None,
    groups: Sequence[int] | None = None,
) -> None:
    """Refuse files, of which there is the metadata, whose cells would fill memory.

    At most ``rows`` are read at a time (None: all), except for lists; of some row ``groups``
    where these are given.
    """
    whole, at_a_time = 0, 0
    for metadata in files:
        for j in range(metadata.num_columns):
            column = metadata.schema.column(j)
            width = max(8, column.length)
            of_file = range(metadata.num_row_groups) if groups is None else groups
            n_cells = sum(metadata.row_group(i).column(j).num_values for i in of_file)
            whole += width * n_cells
            part = n_cells if rows is None or column.max_repetition_level else min(rows, n_cells)
            at_a_time = max(at_a_time, width * part)
    # From so many rows at a time on all of it is wanted.
    n_bytes = whole if rows is None or rows >= 1 << 20 else at_a_time
    check_memory(source, n_bytes, "its cells as numbers")


def decode_dictionaries(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of a batch whose texts are dictionaries, with the types of a ``schema``."""
    packed = {
        k: field.type
        for k, field in enumerate(schema)
        if pa.types.is_dictionary(batch.schema.field(k).type)
        and batch.num_rows
        and not pa.types.is_dictionary(field.type)
    }
    parts: Iterable[pa.RecordBatch] = [batch]
    if packed:
        share = np.cumsum(sum(_text_sizes(batch.column(k)) for k in packed)) // _BYTES
        ends = np.flatnonzero(np.diff(share, append=share[-1] + 1)) + 1
        starts = [0, *ends[:-1]]
        parts = (batch.slice(a, b - a) for a, b in zip(starts, ends, strict=True))
    for part in parts:
        table = pa.Table.from_batches([part])
        for k, kind in packed.items():
            table = table.set_column(k, table.field(k).with_type(kind), table.column(k).cast(kind))
        yield table


def _text_sizes(column: pa.DictionaryArray) -> IntArray:
    """Return the bytes of every text of a dictionary."""
    sizes = pc.binary_length(column.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    codes = column.indices.fill_null(len(sizes)).to_numpy(zero_copy_only=False)
    return np.append(sizes.astype(np.int64), 0)[codes]
