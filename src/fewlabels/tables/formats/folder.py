"""Folders of Parquet files, which are one table."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from ..folders import parquet_files
from ..sources import Source
from .parquet import buffered_scan_options, check_cells, decode_dictionaries, text_columns
from .registry import TablePiece

_ROWS = 1 << 16


def names(source: Source) -> list[str]:
    """Return names of the columns of all files, and of those that folders name (``year=2026``)."""
    return _open_dataset(source)[1].names


def pieces(
    source: Source, names: list[str], rows: int | None, types: Mapping[str, pa.DataType] | None
) -> Iterator[TablePiece]:
    """Yield tables of rows, file by file in the order of their names, and how much was read."""
    dataset, schema, files = _open_dataset(source)
    done, n_rows = 0, sum(metadata.num_rows for metadata in files)
    check_cells(source, files, None if rows is None or rows > _ROWS else rows)
    batches = dataset.to_batches(
        batch_size=min(rows or _ROWS, _ROWS),
        batch_readahead=1,
        fragment_readahead=0,
        use_threads=False,
    )
    for batch in batches:
        for table in decode_dictionaries(batch, schema):
            done += table.num_rows
            yield table, None, done / max(1, n_rows)


def _open_dataset(source: Source) -> tuple[pads.Dataset, pa.Schema, list[pq.FileMetaData]]:
    """Open the dataset, with texts as dictionaries; return the schema without, and metadata."""
    paths = sorted(str(path) for path in parquet_files(source.path))
    how = dict(partitioning=pads.partitioning(flavor="hive"), partition_base_dir=str(source.path))
    first = pads.dataset(paths, format="parquet", **how)
    schemas = [fragment.physical_schema for fragment in first.get_fragments()]
    schema = pa.unify_schemas([first.schema, *schemas], promote_options="permissive")
    schema = packed = schema.remove_metadata()
    files = [pq.read_metadata(path) for path in paths]
    for name in {name for metadata in files for name in text_columns(metadata)} & set(
        schema.names
    ):
        k = schema.get_field_index(name)
        if pa.types.is_string(schema.field(k).type) or pa.types.is_binary(schema.field(k).type):
            kind = pa.dictionary(pa.int32(), schema.field(k).type)
            packed = packed.set(k, schema.field(k).with_type(kind))
    columns = [f.name for f in packed if pa.types.is_dictionary(f.type)]
    options = pads.ParquetReadOptions(dictionary_columns=columns)
    form = pads.ParquetFileFormat(
        read_options=options, default_fragment_scan_options=buffered_scan_options()
    )
    return pads.dataset(paths, schema=packed, format=form, **how), schema, files
