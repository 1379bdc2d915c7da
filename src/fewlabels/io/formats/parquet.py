"""Parquet files."""

import pyarrow as pa
import pyarrow.parquet as pq

from ..limits import check_room


def names(source):
    """Names of the columns."""
    return pq.read_schema(source).names


def pieces(source, names, rows, types):
    """Tables of the rows, and how much of them was read."""
    with pq.ParquetFile(source) as file:
        done, n_rows = 0, file.metadata.num_rows
        if rows is None or rows >= 1 << 20:  # all of it is wanted
            check_room(source, 8 * n_rows * len(names), "its cells as numbers")
        for batch in file.iter_batches(batch_size=rows):
            done += batch.num_rows
            yield pa.Table.from_batches([batch]), None, done / max(1, n_rows)
