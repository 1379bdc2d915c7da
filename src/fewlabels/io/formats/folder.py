"""Folders of Parquet files, which are one table."""

import pyarrow as pa
import pyarrow.dataset as pads

from ..limits import check_room

_ROWS = 1 << 16


def names(source):
    """Names of the columns of all files, and of those that folders name (``year=2026``)."""
    return _dataset(source).schema.names


def pieces(source, names, rows, types):
    """Tables of the rows, file by file in the order of their names, and how much was read."""
    dataset = _dataset(source)
    done, n_rows = 0, dataset.count_rows()
    if rows is None or rows > _ROWS:  # all of it is wanted
        check_room(source, 8 * n_rows * len(names), "its cells as numbers")
    batches = dataset.to_batches(
        batch_size=min(rows or _ROWS, _ROWS), batch_readahead=1, fragment_readahead=0,
        use_threads=False,
    )  # fmt: skip
    for batch in batches:
        done += batch.num_rows
        yield pa.Table.from_batches([batch]), None, done / max(1, n_rows)


def _dataset(source):
    files = sorted(str(path) for path in parquet_files(source.path))
    how = dict(
        format="parquet", partitioning=pads.partitioning(flavor="hive"),
        partition_base_dir=str(source.path),
    )  # fmt: skip
    first = pads.dataset(files, **how)
    schemas = [fragment.physical_schema for fragment in first.get_fragments()]
    schema = pa.unify_schemas([first.schema, *schemas], promote_options="permissive")
    return pads.dataset(files, schema=schema.remove_metadata(), **how)


def parquet_files(folder):
    """The Parquet files below a folder, without those that are hidden."""
    for path in folder.rglob("*.parquet"):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "_")) for part in parts):
            yield path
