"""Data as a user gives them: files, data frames and matrices, and what stands next to them."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, overload

from .._typing import PathLike
from .._util.messages import UserError, quoted, ref
from .answers.row_keys import LabelColumn
from .reading.sidecar import AddedColumns, SidecarColumns
from .sources import DataSource, InMemory, Reading, Source, as_source

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@overload
def make_source(data: PathLike, **reading: Any) -> Source: ...
@overload
def make_source(data: object, **reading: Any) -> DataSource: ...
def make_source(data: object, **reading: Any) -> DataSource:
    """Return a user's data as a source: a file and how to read it, or rows in memory."""
    options = Reading(**reading).checked()
    if isinstance(data, str | os.PathLike):
        return as_source(data, options)
    if options.given:
        raise UserError(
            f"{', '.join(options.given)}: these options are for reading text files, but the rows "
            "are in memory; omit them."
        )
    if options.labels is not None:
        data = _add_columns(make_source(data), LabelColumn(options.labels, "the data frame"))
    if options.features is not None:
        data = make_source(data)
        return _add_columns(data, SidecarColumns(options.features, data))
    if isinstance(data, InMemory):
        return data
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import scipy.sparse as sp

    if isinstance(data, np.ndarray) or sp.issparse(data):
        return InMemory("matrix", data)
    if isinstance(data, pd.DataFrame):
        names = [_check_text(str(name), "A column name") for name in data.columns]
        columns = [_to_arrow(data.iloc[:, k], name) for k, name in enumerate(names)]
        return InMemory("frame", pa.Table.from_arrays(columns, names=names))
    if hasattr(data, "collect"):  # polars' lazy frames
        data = data.collect()
    if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
        for name in getattr(data, "columns", ()):
            if isinstance(name, str) and "\0" in name:  # polars ends the process
                raise UserError(f"The column name {quoted(name)} contains NUL; rename the column.")
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UserError(
                f"The {type(data).__name__} can't be used as a table ({error}); pass a data "
                "frame with columns of numbers, texts, truth values or dates."
            ) from error
        columns = [_decode_views(column) for column in table.columns]
        return InMemory("frame", pa.Table.from_arrays(columns, names=table.column_names))
    raise UserError(
        f"Rows can be a file, a data frame or a matrix of numbers, but not {type(data).__name__}; "
        "pandas.DataFrame(...) makes a data frame."
    )


def _add_columns(data: DataSource, added: AddedColumns) -> InMemory:
    """Return a data frame with the columns that are next to it."""
    if not isinstance(data, InMemory) or data.form != "frame":
        raise UserError(
            f"{ref('features')} and {ref('labels')} need a table; a matrix must contain all "
            "numbers itself."
        )
    table = added.add(data.content)
    added.check()
    return InMemory("frame", table)


def _decode_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without string views, which Arrow can neither filter nor decode."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type == pa.string_view():
        parts = [
            (part.indices, _cast_texts(part.dictionary, pa.string())) for part in column.chunks
        ]
        parts = [pa.DictionaryArray.from_arrays(*part) for part in parts]
        return pa.chunked_array(parts, pa.dictionary(kind.index_type, pa.string()))
    if kind != pa.string_view():
        return column
    return pa.chunked_array(
        [_cast_texts(p, pa.large_string()) for p in column.chunks], pa.large_string()
    )


def _cast_texts(array: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:  # before Arrow 18
        return pa.array(array.to_pylist(), kind)


def _check_text(text: str, what: str) -> str:
    """Return a text, or refuse one that UTF-8 can't hold; ``what`` begins the message."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{what} contains half of a character ({quoted(text)}), which no text may have; "
            "replace it, such as with text.encode(errors='replace').decode()."
        ) from error
    return text


def _to_arrow(series: pd.Series, name: str) -> pa.Array:
    """Return a column of pandas as Arrow data.

    Mixed values and integers of more than 64 bits become text, as in a file.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    with contextlib.suppress(
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
        UnicodeEncodeError,
    ):
        return pa.array(series, from_pandas=True)
    what = f"A cell of column {quoted(name)}"
    texts = [
        None if value is None or value != value else _check_text(str(value), what)
        for value in series
    ]
    return pa.array(texts, pa.large_string())
