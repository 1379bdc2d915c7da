"""Rows of a file that need not fit in memory, as a memory-mapped array."""

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .errors import UserError, listing, quoted

_FOLDER = "fewlabels-rows-"
# Rows that are converted at a time, and bytes of a text.
_ROWS, _BYTES = 65_536, 32_000_000
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow"}
_SVMLIGHT = (".svmlight", ".libsvm", ".svm")


class StoredRows(NamedTuple):
    """Rows ``X`` in a file, memory-mapped, and their ``y`` in memory (None without a target)."""

    X: Any
    y: np.ndarray | None


@contextlib.contextmanager
def stored_rows(path, columns=None, target=None, folder=None):
    """Rows of a file, memory-mapped, for machines that read them in pieces.

    A ``.npy`` file is mapped as it is. Others are converted once, in pieces, into a temporary file
    that is removed at the end of the block (also after Ctrl-C; after a kill at the next call).

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
    ...     machine = SVDD(C=10).fit(X)
    >>> machine.n_features_in_
    2
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"{path} does not exist; check the name.")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        if columns is not None or target is not None:
            raise UserError(f"columns of {path} have no names; leave columns and target out.")
        yield StoredRows(np.load(path, mmap_mode="r"), None)
        return
    parts = _arrow_files(path) if path.is_dir() else [path]
    form = _ARROW.get(parts[0].suffix.lower()) if parts else None
    if form is None and suffix not in _SVMLIGHT:
        raise UserError(
            f"rows of {path} cannot be read in pieces; give a .npy, .parquet, .arrow, .feather or "
            "svmlight file, or a folder of Parquet files. ('fewlabels fit' reads others.)"
        )
    with temporary_folder(folder) as place:
        if form is None:
            yield _from_svmlight(path, place)
        else:
            yield _from_arrow(parts, form, columns, target, place)


@contextlib.contextmanager
def temporary_folder(folder=None):
    """A folder for rows, removed at the end; those of processes that are gone are removed now."""
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    for left in parent.glob(f"{_FOLDER}*"):
        owner = re.match(rf"{_FOLDER}(\d+)-", left.name)
        if owner and not _is_running(int(owner[1])):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=f"{_FOLDER}{os.getpid()}-", dir=parent, ignore_cleanup_errors=True
    ) as place:
        yield Path(place)


def _is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


class ArrayWriter:
    """Rows that become a NumPy file piece by piece; how many there are is known at the end."""

    def __init__(self, path, n_columns, dtype):
        self.path, self.n_columns, self.dtype = path, n_columns, np.dtype(dtype)
        self.n_rows = 0

    def __enter__(self):
        self._file = open(self.path, "wb")
        self._header()
        return self

    def _header(self):
        # Room for any number of rows: the header is written again at the end.
        shape = (self.n_rows, self.n_columns) if self.n_columns else (self.n_rows,)
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        text = f"{facts!r}".ljust(117).encode() + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)

    def write(self, rows):
        """Append rows."""
        self._file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.n_rows += len(rows)

    def __exit__(self, *error):
        self._header()
        self._file.close()

    def mapped(self):
        """The file, mapped."""
        return np.load(self.path, mmap_mode="r")


def _arrow_files(path):
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in _ARROW)


def _from_arrow(parts, form, columns, target, place):
    import pyarrow as pa
    import pyarrow.dataset as ds

    table = ds.dataset([str(part) for part in parts], format=form)
    names = table.schema.names
    wanted = [name for name in names if name != target] if columns is None else list(columns)
    unknown = [name for name in [*wanted, *([target] if target else [])] if name not in names]
    if unknown:
        raise UserError(f"there is no column {listing(unknown)}; the table has {listing(names)}.")
    dtype = np.dtype(np.float32)
    for name in wanted:
        kind = table.schema.field(name).type
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or _is_real(kind)):
            raise UserError(
                f"the column {quoted(name)} holds {kind}, not numbers; name columns of numbers "
                "with columns=[...], or let 'fewlabels fit' encode the table."
            )
        if pa.types.is_decimal(kind) or kind.bit_width > (16 if _is_whole(kind) else 32):
            dtype = np.dtype(np.float64)
    labels = []
    asked = wanted if target is None else [*wanted, target]
    with ArrayWriter(place / "X.npy", len(wanted), dtype) as rows:
        for batch in table.to_batches(columns=asked, batch_size=_ROWS):
            values = [
                batch.column(k).cast(pa.float64()).to_numpy(zero_copy_only=False)
                for k in range(len(wanted))
            ]
            rows.write(np.column_stack(values))
            if target is not None:
                labels.append(batch.column(len(wanted)).to_numpy(zero_copy_only=False))
    if not rows.n_rows:
        raise UserError("the table has no rows.")
    return StoredRows(rows.mapped(), np.concatenate(labels) if labels else None)


def _is_real(kind):
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_whole(kind):
    import pyarrow as pa

    return pa.types.is_integer(kind)


def _from_svmlight(path, place):
    """Sparse rows of a text, a piece of whole lines after the other."""
    from sklearn.datasets import load_svmlight_file

    size, start, labels, ends = path.stat().st_size, 0, [], [np.zeros(1, np.int64)]
    least, most, entries = np.inf, -1, 0
    with (
        ArrayWriter(place / "data.npy", 0, np.float64) as data,
        ArrayWriter(place / "indices.npy", 0, np.int32) as indices,
    ):
        while start < size:
            try:
                piece, y = load_svmlight_file(
                    str(path), offset=start, length=min(_BYTES, size - start), zero_based=True,
                    n_features=np.iinfo(np.int32).max,
                )  # fmt: skip
            except ValueError as error:
                raise UserError(f"{path} is no svmlight file: {error}.") from error
            start += _BYTES
            if not piece.shape[0]:
                continue
            data.write(piece.data)
            indices.write(piece.indices)
            ends.append(entries + piece.indptr[1:].astype(np.int64))
            entries += piece.nnz
            if piece.nnz:
                least, most = min(least, piece.indices.min()), max(most, piece.indices.max())
            labels.append(y)
    if not labels or most < 0:
        raise UserError(f"{path} holds no rows of numbers.")
    first = int(least > 0)  # columns are counted from 1
    if first:
        numbers = np.load(place / "indices.npy", mmap_mode="r+")
        for begin in range(0, len(numbers), 1 << 20):
            numbers[begin : begin + (1 << 20)] -= 1
        numbers.flush()
    with ArrayWriter(place / "indptr.npy", 0, np.int64) as indptr:
        indptr.write(np.concatenate(ends))
    arrays = data.mapped(), indices.mapped(), indptr.mapped()
    X = sp.csr_array((indptr.n_rows - 1, int(most) + 1 - first), dtype=np.float64)
    X.data, X.indices, X.indptr = arrays
    return StoredRows(X, np.concatenate(labels))
