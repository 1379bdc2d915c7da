"""Reading npz, npy and svmlight: matrices whose columns have no names."""

import contextlib
import math
import mmap
import os
import shutil
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..options.words import UserError, listing, plural
from . import svmlight
from .limits import check_room, writing
from .sources import as_source

# What learning takes for a byte of an svmlight file, an entry of which has four at least, and for
# a number: as it is read, encoded and prepared for a kernel.
_PER_BYTE, _PER_CELL = 8, 24
# Search and baselines go over columns one by one, whether anything is in them or not.
_MOST_COLUMNS = 1_000_000
# What a file raises that is no NumPy file.
_BROKEN = (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError, MemoryError)
_SPARSE_KEYS = frozenset({"format", "shape", "data", "indices", "indptr"})


@dataclass
class ArrayData:
    """Rows, dense (possibly mapped from disk) or CSR, and arrays of a value per row, by name.

    ``zero_based`` says whether an svmlight file counts its columns from 0.
    """

    X: Any
    labels: dict = field(default_factory=dict)
    zero_based: bool = False

    @property
    def is_sparse(self):
        return not isinstance(self.X, np.ndarray)


def read_arrays(path, *, place=None):
    """Read a matrix: a file of one of these formats, or one in memory.

    Arrays of an npz file are unpacked into the folder ``place``, if given, and mapped. How an
    svmlight file counts its columns is found out.
    """
    path = as_source(path)
    if path.form == "svmlight":
        data = _read_svmlight(path)
    elif path.form == "matrix" and isinstance(path.content, ArrayData):
        data = path.content
    else:
        in_memory = path.form == "matrix"
        X, labels = (path.content, {}) if in_memory else _read_numpy(path, place)
        data = ArrayData(X if isinstance(X, np.ndarray) else _sound(X, path), labels)
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


def memory_of(path):
    """About how many bytes learning from a matrix takes; 0 for one that is in memory already."""
    if path.form == "svmlight":
        return _PER_BYTE * os.path.getsize(path)
    if path.form == "npz":
        with contextlib.suppress(*_BROKEN):  # reading it says what is wrong
            return _PER_CELL * _unpacked(path)[1]
        return 0
    if path.form == "matrix" and not isinstance(path.content, np.memmap):
        return 0
    return _PER_CELL * read_arrays(path).X.size


def _sound(X, path):
    """A sparse matrix as CSR, once its indices are known to lie within it."""
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        return as_sparse(X)
    except ValueError as error:
        raise UserError(
            f"The sparse matrix in {path} is invalid ({error}); rebuild it from rows, columns "
            "and values, and save it with scipy.sparse.save_npz."
        ) from error


def _read_numpy(source, place):
    path, form = os.fspath(source), source.form
    try:
        if form == "npy":
            return np.load(path, mmap_mode="r", allow_pickle=False), {}
        if place is None:
            check_room(path, _unpacked(path)[0], "unpacked")
        with np.load(path, allow_pickle=False) as file:
            names = file.files
            if place is not None:
                with writing(place, _unpacked(path)[0]):
                    file = {name: _mapped(path, name, place, k) for k, name in enumerate(names)}
            if _SPARSE_KEYS.issubset(names):
                return _read_sparse(path, file, place), {}
            rows = "X" if "X" in names or len(names) != 1 else names[0]
            if rows not in names:
                raise UserError(
                    f"{path} has no array named 'X', only {listing(names)}; save the rows with "
                    "numpy.savez(file, X=..., y=...)."
                )
            X = file[rows]
            others = {name: file[name] for name in names if name != rows}
            y = others.get("y")
            if y is not None and y.ndim == 1 and len(y) != len(X):
                raise UserError(
                    f"{path} has {plural(len(X), 'row')} but {plural(len(y), 'label')} in 'y'; "
                    "save one label per row, or omit 'y'."
                )
            return X, {k: a for k, a in others.items() if a.ndim == 1 and len(a) == len(X)}
    except _BROKEN as error:
        objects = "pickle" in str(error) or "Python objects" in str(error)
        reason = "it holds Python objects" if objects else "it is damaged or truncated"
        raise UserError(
            f"{path} can't be read as {form}: {reason}; write plain numbers with "
            f"numpy.{'save' if form == 'npy' else 'savez'}."
        ) from error


def _mapped(path, name, place, k):
    """An array of an npz file, unpacked into a folder."""
    with zipfile.ZipFile(path) as archive, open(place / f"{k}.npy", "wb") as file:
        with archive.open(f"{name}.npy") as member:
            shutil.copyfileobj(member, file, 1 << 20)
    return np.load(file.name, mmap_mode="r", allow_pickle=False)


def _read_sparse(path, arrays, place):
    import scipy.sparse as sp

    if place is None:
        return sp.load_npz(path)
    form = np.asarray(arrays["format"]).item()
    form = form.decode() if isinstance(form, bytes) else form
    if form != "csr":
        raise UserError(
            f"{path} has a sparse matrix in {form} format, which can't be read in pieces; save "
            "it in CSR format with scipy.sparse.save_npz(file, X.tocsr())."
        )
    X = sp.csr_array(tuple(arrays["shape"].tolist()), dtype=arrays["data"].dtype)
    X.data, X.indices, X.indptr = (arrays[name] for name in ("data", "indices", "indptr"))
    return X


def _unpacked(path):
    """Bytes and numbers of the arrays in an npz file that has what its headers promise."""
    n_bytes, n_cells = 0, 0
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                version = np.lib.format.read_magic(member)[0]
                read = np.lib.format.read_array_header_1_0
                read = read if version == 1 else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(member)
            if not dtype.hasobject and math.prod(shape) * dtype.itemsize > info.file_size:
                raise ValueError("cut")
            n_bytes += info.file_size
            n_cells += math.prod(shape)
    return n_bytes, n_cells


def _read_svmlight(path):
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    check_room(path, _PER_BYTE * os.path.getsize(path), "its entries")
    with svmlight.readable(path):
        # Read as if counted from 0, so that column 0 tells how the file counts; a
        # guess per file could shift the columns between training and prediction.
        X, y = load_svmlight_file(str(path), zero_based=True)
    zero_based = bool((X.indices == 0).any())
    X = svmlight.shifted(sp.csr_array(X), X.shape[1] - int(not zero_based), zero_based, path)
    return ArrayData(as_sparse(X), {"y": y}, zero_based)


def as_sparse(X):
    """CSR array of any matrix, with 32-bit indices, which alone scikit-learn's estimators take."""
    import scipy.sparse as sp

    X = sp.csr_array(X)
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = sp.csr_array(parts, shape=X.shape)
    return X


def taken(X, places):
    """Rows at some places, of sparse ones none but these are read."""
    if isinstance(X, np.ndarray):
        return X[places]
    import scipy.sparse as sp

    low = X.indptr[places]
    counts = X.indptr[places + 1] - low
    ends = np.concatenate([[0], np.cumsum(counts)])
    where = np.arange(ends[-1]) + np.repeat(low - ends[:-1], counts)
    parts = (X.data[where], X.indices[where], ends)
    return as_sparse(sp.csr_array(parts, shape=(len(places), X.shape[1])))


def release(X):
    """Let go of what was read of mapped rows, which would count as memory of this process."""
    for array in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
        mapped = None
        while isinstance(array, np.ndarray):
            mapped = array if isinstance(array, np.memmap) else mapped
            array = array.base
        if mapped is not None and mapped.mode == "r" and hasattr(array, "madvise"):
            array.madvise(mmap.MADV_DONTNEED)
