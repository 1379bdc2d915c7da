"""Parquet files."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..limits import check_room

# Texts are written out for so many bytes at a time.
_BYTES = 1 << 26
_TEXTS = ("STRING", "NONE", "JSON", "ENUM", "BSON")


def names(source):
    """Names of the columns."""
    return pq.read_schema(source).names


def pieces(source, names, rows, types):
    """Tables of the rows, and how much of them was read."""
    metadata, schema = pq.read_metadata(source), pq.read_schema(source)
    done, n_rows = 0, metadata.num_rows
    check_cells(source, [metadata], rows)
    with pq.ParquetFile(source, read_dictionary=texts(metadata)) as file:
        for batch in file.iter_batches(batch_size=rows):
            for table in written_out(batch, schema):
                done += table.num_rows
                yield table, None, done / max(1, n_rows)


def texts(metadata):
    """Paths of the columns of texts, each of which a file may hold once for many rows."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return [
        column.path
        for column in columns
        if column.physical_type == "BYTE_ARRAY" and column.logical_type.type in _TEXTS
    ]


def check_cells(source, files, rows):
    """Refuse files, of which there is the metadata, whose cells would fill memory.

    At most ``rows`` are read at a time (None: all), but for those of lists.
    """
    whole, at_a_time = 0, 0
    for metadata in files:
        for j in range(metadata.num_columns):
            column = metadata.schema.column(j)
            width = max(8, column.length)
            groups = [metadata.row_group(i).column(j) for i in range(metadata.num_row_groups)]
            n_cells = sum(group.num_values for group in groups)
            whole += width * n_cells
            part = n_cells if rows is None or column.max_repetition_level else min(rows, n_cells)
            at_a_time = max(at_a_time, width * part)
    # From so many rows at a time on all of it is wanted.
    n_bytes = whole if rows is None or rows >= 1 << 20 else at_a_time
    check_room(source, n_bytes, "its cells as numbers")


def written_out(batch, schema):
    """Tables of a batch whose texts are dictionaries, with the types of a ``schema``."""
    packed = {
        k: field.type
        for k, field in enumerate(schema)
        if pa.types.is_dictionary(batch.schema.field(k).type) and batch.num_rows
        and not pa.types.is_dictionary(field.type)
    }  # fmt: skip
    parts = [batch]
    if packed:
        share = np.cumsum(sum(_sizes(batch.column(k)) for k in packed)) // _BYTES
        ends = np.flatnonzero(np.diff(share, append=share[-1] + 1)) + 1
        starts = [0, *ends[:-1]]
        parts = (batch.slice(a, b - a) for a, b in zip(starts, ends, strict=True))
    for part in parts:
        table = pa.Table.from_batches([part])
        for k, kind in packed.items():
            table = table.set_column(k, table.field(k).with_type(kind), table.column(k).cast(kind))
        yield table


def _sizes(column):
    """Bytes of every text of a dictionary."""
    sizes = pc.binary_length(column.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    texts = column.indices.fill_null(len(sizes)).to_numpy(zero_copy_only=False)
    return np.append(sizes.astype(np.int64), 0)[texts]
