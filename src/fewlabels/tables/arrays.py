"""Reading matrices, whose columns have no names; a module in formats/ reads each format."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np

from .._typing import AnyArray, IntArray, RowMatrix
from .._util.messages import UserError, plural
from .columns.schema import Schema
from .file_identity import StrPath
from .sources import DataSource, as_source

if TYPE_CHECKING:
    from scipy import sparse

# What learning takes for a number: as it is read, encoded and prepared for a kernel.
PER_CELL = 24
# Search and baselines go over columns one by one, whether anything is in them or not.
_MOST_COLUMNS = 1_000_000


@dataclass
class ArrayData:
    """Rows, dense (possibly mapped from disk) or CSR, and arrays of a value per row, by name.

    ``zero_based`` says whether an svmlight file counts its columns from 0.
    """

    X: RowMatrix
    labels: dict[str, AnyArray] = field(default_factory=dict)
    zero_based: bool = False

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.X, np.ndarray)


def read_arrays(path: StrPath | DataSource, *, place: Path | None = None) -> ArrayData:
    """Read a matrix: a file, or one in memory.

    Rows that must be converted are put into files in the folder ``place``, if given, and mapped.
    """
    path = as_source(path)
    data = path.format.load().read(path, place)
    path.check_unchanged()
    X = data.X
    if X.ndim != 2:
        raise UserError(
            f"The array in {path} has {plural(X.ndim, 'dimension')}; it needs 2, one row per "
            "example and one column per measurement."
        )
    if not data.is_sparse and X.dtype.kind not in "biuf":
        raise UserError(f"The array in {path} holds {X.dtype} values; it needs numbers.")
    if 0 in X.shape:
        lacking = (
            "rows; add rows of data" if X.shape[0] == 0 else "columns; add columns of numbers"
        )
        raise UserError(f"{path} holds no {lacking}.")
    if X.shape[1] > _MOST_COLUMNS:
        raise UserError(
            f"{path} has {X.shape[1]} columns, and {_MOST_COLUMNS} is the maximum; renumber the "
            "non-empty ones, or hash them (sklearn.feature_extraction.FeatureHasher)."
        )
    return data


def map_array(path: StrPath) -> AnyArray:
    """Map the array of an npy file, which is opened once for its header and its numbers."""
    with open(path, "rb") as file:
        return map_open_array(file)


def map_open_array(file: BinaryIO) -> AnyArray:
    """Map the array of an open npy file."""
    version = np.lib.format.read_magic(file)
    head = np.lib.format.read_array_header_1_0
    head = head if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = head(file)
    if dtype.hasobject:
        raise ValueError("Python objects can't be mapped")
    order: Literal["C", "F"] = "F" if fortran else "C"
    return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


def iterate_arrays(
    path: DataSource, rows: int, schema: Schema
) -> Generator[tuple[ArrayData, float], None, None]:
    """Yield pieces of a matrix, of at most ``rows`` rows each, and the share read so far.

    The columns of an svmlight file are counted as a ``schema`` says.
    """
    path.check_unchanged()
    with contextlib.closing(path.format.load().pieces(path, rows, schema)) as found:
        for piece in found:
            path.check_unchanged()
            yield piece
    path.check_unchanged()


def iterate_rows(data: ArrayData, size: int) -> Iterator[tuple[ArrayData, float]]:
    """Yield pieces of ``size`` rows, and the share of the rows so far.

    They are in memory, so that they don't change once their file is known not to have changed.
    """
    from ..rows.files import copy_mapped

    n_rows = data.X.shape[0]
    for part in slice_rows(n_rows, size):
        labels = {name: values[part] for name, values in data.labels.items()}
        X = as_sparse(data.X[part]) if data.is_sparse else copy_mapped(data.X[part])
        yield ArrayData(X, labels), min(1.0, part.stop / n_rows)
        release_pages(data.X)


def slice_rows(n_rows: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` rows."""
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def check_matrix(X: RowMatrix, path: object) -> RowMatrix:
    """Return rows that were read: an array as it is, a sparse matrix as checked CSR."""
    return X if isinstance(X, np.ndarray) else _check_sparse(X, path)


def _check_sparse(X: sparse.csr_array, path: object) -> sparse.csr_array:
    """Return a sparse matrix as CSR; refuse indices outside of it."""
    try:
        return as_sparse(X)
    except ValueError as error:
        raise UserError(
            f"The sparse matrix in {path} is invalid ({error}); rebuild it from rows, columns "
            "and values, and save it with scipy.sparse.save_npz."
        ) from error


def as_sparse(X: RowMatrix) -> sparse.csr_array:
    """Return any matrix as a canonical CSR array, with the 32-bit indices scikit-learn needs."""
    import scipy.sparse as sp

    from ..kernels.rows import canonical

    X = sp.csr_array(canonical(X))
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = sp.csr_array(parts, shape=X.shape)
    return X


def take_rows(X: RowMatrix, places: IntArray) -> RowMatrix:
    """Return the rows at some positions; of sparse rows, only these are read."""
    if isinstance(X, np.ndarray):
        return X[places]
    import scipy.sparse as sp

    low = X.indptr[places]
    counts = X.indptr[places + 1] - low
    ends = np.concatenate([[0], np.cumsum(counts)])
    where = np.arange(ends[-1]) + np.repeat(low - ends[:-1], counts)
    parts = (X.data[where], X.indices[where], ends)
    return as_sparse(sp.csr_array(parts, shape=(len(places), X.shape[1])))


def release_pages(X: RowMatrix) -> None:
    """Let go of what was read of mapped rows, which would count as memory of this process."""
    for array in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
        mapped = None
        while isinstance(array, np.ndarray):
            mapped = array if isinstance(array, np.memmap) else mapped
            array = array.base
        if mapped is not None and mapped.mode == "r" and hasattr(array, "madvise"):
            array.madvise(mmap.MADV_DONTNEED)
