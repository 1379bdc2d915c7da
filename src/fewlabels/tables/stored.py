"""Rows of a file that need not fit in memory, as a memory-mapped array."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._typing import AnyArray, RowMatrix
from .._util.messages import UserError, listing, quoted, suggest
from .._util.paths import is_folder, path_exists
from .arrays import map_open_array
from .file_identity import StrPath, refuse_writes, unchanged
from .folders import files_below
from .formats.registry import FORMATS
from .temporary_folders import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are converted at a time.
_ROWS = 65_536
_ARROW = dict.fromkeys(FORMATS["parquet"].extensions, "parquet")
_ARROW |= {".arrow": "arrow", ".feather": "arrow"}


class StoredRows(NamedTuple):
    """Rows ``X`` in a file, memory-mapped, and their ``y`` in memory (None without a target)."""

    X: RowMatrix
    y: AnyArray | None


@contextlib.contextmanager
def stored_rows(
    path: StrPath,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    folder: StrPath | None = None,
) -> Iterator[StoredRows]:
    """Open the rows of a file, memory-mapped, for models that read them in pieces.

    A ``.npy`` file is mapped as it is. Others are converted once, in pieces, into a temporary file
    that is removed at the end of the block (also after Ctrl-C; after a kill at the next call).
    A ``.npy`` file into which somebody writes within the block is refused at its end.

    Parameters
    ----------
    path : path-like
        A ``.npy`` file; a ``.parquet``, ``.arrow`` or ``.feather`` file, or a folder of them; a
        ``.svmlight`` file, whose rows are sparse.
    columns : list of str, default=None
        Columns of a table, all of numbers or booleans; None for all but the target.
    target : str, default=None
        Column with labels; of a ``.svmlight`` file they are read in any case.
    folder : path-like, default=None
        Where the temporary file is put, as large as the rows; None for the system's folder.

    Yields
    ------
    StoredRows
        ``X``, float32 where all columns are exact in it and float64 otherwise, and ``y``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from fewlabels import SVDD, stored_rows
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sensors.parquet"
    >>> pq.write_table(pa.table({"heat": [20.5, 21.0, 20.8], "load": [3, 4, 3]}), path)
    >>> with stored_rows(path, columns=["heat", "load"]) as (X, y):
    ...     model = SVDD(C=1000).fit(X)
    >>> model.n_features_in_
    2
    """
    path = Path(path)
    if not path_exists(path):
        raise UserError(f"{path} does not exist; check the name.")
    suffix = path.suffix.lower()
    if suffix in FORMATS["npy"].extensions:
        if columns is not None or target is not None:
            raise UserError(f"{path} has no column names; omit columns and target.")
        with open(path, "rb") as file, refuse_writes(path, file):
            yield StoredRows(map_open_array(file), None)
        return
    parts = sorted(files_below(path, _ARROW)) if is_folder(path) else [path]
    form = _ARROW.get(parts[0].suffix.lower()) if parts else None
    if form is None and suffix not in FORMATS["svmlight"].extensions:
        raise UserError(
            f"{path} can't be read in pieces; pass a .npy, .parquet, .arrow, .feather or "
            "svmlight file, or a folder of Parquet files. ('fewlabels fit' reads others.)"
        )
    with temporary_folder(folder) as place:
        if form is None:
            with unchanged(path):
                data = FORMATS["svmlight"].load().map_rows(path, place)
            yield StoredRows(data.X, data.labels["y"])
        else:
            with unchanged(path, parts):
                rows = _store_arrow_rows(parts, form, columns, target, place)
            yield rows


class ArrayWriter:
    """Rows that become a NumPy file piece by piece; how many there are is known at the end."""

    def __init__(self, path: StrPath, n_columns: int, dtype: npt.DTypeLike) -> None:
        self.path, self.n_columns, self.dtype = path, n_columns, np.dtype(dtype)
        self.n_rows = 0

    def __enter__(self) -> Self:
        self._file = open(self.path, "wb")
        self._write_header()
        return self

    def _write_header(self) -> None:
        # Room for any number of rows: the header is written again at the end.
        shape = (self.n_rows, self.n_columns) if self.n_columns else (self.n_rows,)
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        text = f"{facts!r}".ljust(117).encode() + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)

    def write(self, rows: AnyArray) -> None:
        """Append rows."""
        self._file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.n_rows += len(rows)

    def __exit__(self, *error: object) -> None:
        self._write_header()
        self._file.close()

    def mapped(self) -> AnyArray:
        """Return the file, mapped."""
        return np.load(self.path, mmap_mode="r")


class SparseWriter:
    """Sparse rows that become three NumPy files in a folder piece by piece."""

    def __init__(self, place: Path, n_columns: int, dtype: npt.DTypeLike) -> None:
        self.n_columns = n_columns
        kinds = {"data": dtype, "indices": np.int32, "indptr": np.int64}
        self._files = [ArrayWriter(place / f"{name}.npy", 0, kinds[name]) for name in kinds]
        self.n_rows = 0

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for file in self._files:
                stack.enter_context(file)
            self._files[2].write(np.zeros(1))
            self._open = stack.pop_all()
        return self

    def write(self, rows: sp.csr_array) -> None:
        """Append CSR rows."""
        data, indices, indptr = self._files
        indptr.write(data.n_rows + rows.indptr[1:].astype(np.int64))
        data.write(rows.data)
        indices.write(rows.indices)
        self.n_rows += rows.shape[0]

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def mapped(self) -> sp.csr_array:
        """Return the rows, mapped."""
        X = sp.csr_array((self.n_rows, self.n_columns), dtype=self._files[0].dtype)
        X.data, X.indices, X.indptr = (file.mapped() for file in self._files)
        return X


def _store_arrow_rows(
    parts: list[Path], form: str, columns: Sequence[str] | None, target: str | None, place: Path
) -> StoredRows:
    import pyarrow as pa
    import pyarrow.dataset as ds

    from .formats.parquet import buffered_scan_options

    table = ds.dataset([str(part) for part in parts], format=form)
    names = table.schema.names
    feature_columns = (
        [name for name in names if name != target] if columns is None else list(columns)
    )
    unknown = [
        name for name in [*feature_columns, *([target] if target else [])] if name not in names
    ]
    if unknown:
        raise UserError(
            f"there is no column {listing(unknown)}{suggest(unknown[0], names)}; the table has "
            f"{listing(names)}."
        )
    dtype: np.dtype[Any] = np.dtype(np.float32)
    for name in feature_columns:
        kind = table.schema.field(name).type
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or _is_real(kind)):
            raise UserError(
                f"the column {quoted(name)} holds {kind}, not numbers; select numeric columns "
                "with columns=[...], or let 'fewlabels fit' encode the table."
            )
        if pa.types.is_decimal(kind) or kind.bit_width > (16 if _is_whole(kind) else 32):
            dtype = np.dtype(np.float64)
    scan = buffered_scan_options() if form == "parquet" else None
    labels = []
    asked = feature_columns if target is None else [*feature_columns, target]
    with ArrayWriter(place / "X.npy", len(feature_columns), dtype) as rows:
        for batch in table.to_batches(
            columns=asked,
            batch_size=_ROWS,
            batch_readahead=1,
            fragment_readahead=0,
            use_threads=False,
            fragment_scan_options=scan,
        ):
            values = [
                batch.column(k).cast(pa.float64()).to_numpy(zero_copy_only=False)
                for k in range(len(feature_columns))
            ]
            rows.write(np.column_stack(values))
            if target is not None:
                labels.append(batch.column(len(feature_columns)).to_numpy(zero_copy_only=False))
    if not rows.n_rows:
        raise UserError("the table has no rows.")
    return StoredRows(rows.mapped(), np.concatenate(labels) if labels else None)


def _is_real(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_whole(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(kind)
