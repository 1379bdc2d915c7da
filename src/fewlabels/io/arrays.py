"""Reading npz, npy and svmlight: matrices whose columns have no names."""

import math
import os
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import UserError, listing, plural
from .limits import check_room

# What learning takes for a byte of an svmlight file: an entry has four at least.
_PER_BYTE = 8
# Search and baselines go over columns one by one, whether anything is in them or not.
_MOST_COLUMNS = 1_000_000
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


def read_arrays(path, form, *, n_columns=None, zero_based=None):
    """Read a matrix of a format that :func:`fewlabels.io.paths.input_format` has told.

    Svmlight files write no trailing zeros, so ``n_columns`` says how many columns there are;
    ``zero_based`` how they are counted, else it is found out.
    """
    if form == "svmlight":
        data = _read_svmlight(path, n_columns, zero_based)
    else:
        X, labels = (path.content, {}) if form == "matrix" else _read_numpy(path, form)
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
            f"{path} has {X.shape[1]} columns, and {_MOST_COLUMNS} are the most that can be used; "
            "number those that are filled from 1 on, or hash them "
            "(sklearn.feature_extraction.FeatureHasher)."
        )
    return data


def _sound(X, path):
    """A sparse matrix as CSR, once its indices are known to lie within it."""
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        return as_sparse(X)
    except ValueError as error:
        raise UserError(
            f"The sparse matrix in {path} is broken ({error}); make it anew from rows, columns "
            "and values, and save it with scipy.sparse.save_npz."
        ) from error


def _read_numpy(path, form):
    path = os.fspath(path)
    try:
        if form == "npy":
            return np.load(path, mmap_mode="r", allow_pickle=False), {}
        check_room(path, _unpacked(path), "unpacked")
        with np.load(path, allow_pickle=False) as file:
            names = file.files
            if _SPARSE_KEYS.issubset(names):
                import scipy.sparse as sp

                return sp.load_npz(path), {}
            rows = "X" if "X" in names or len(names) != 1 else names[0]
            if rows not in names:
                raise UserError(
                    f"{path} has no array named 'X' but {listing(names)}; save the rows with "
                    "numpy.savez(file, X=..., y=...)."
                )
            X = file[rows]
            others = {name: file[name] for name in names if name != rows}
            y = others.get("y")
            if y is not None and y.ndim == 1 and len(y) != len(X):
                raise UserError(
                    f"{path} has {plural(len(X), 'row')} but {plural(len(y), 'label')} in 'y'; "
                    "save as many labels as rows, or leave 'y' out."
                )
            return X, {k: a for k, a in others.items() if a.ndim == 1 and len(a) == len(X)}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError, MemoryError) as error:
        objects = "pickle" in str(error) or "Python objects" in str(error)
        reason = "it holds Python objects" if objects else "it is damaged or cut"
        raise UserError(
            f"{path} cannot be read as {form}: {reason}; write plain numbers with "
            f"numpy.{'save' if form == 'npy' else 'savez'}."
        ) from error


def _unpacked(path):
    """Bytes of the arrays in an npz file; refuses a header that promises more than there is."""
    total = 0
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                version = np.lib.format.read_magic(member)[0]
                read = np.lib.format.read_array_header_1_0
                read = read if version == 1 else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(member)
            if not dtype.hasobject and math.prod(shape) * dtype.itemsize > info.file_size:
                raise ValueError("cut")
            total += info.file_size
    return total


def _read_svmlight(path, n_columns, zero_based):
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    check_room(path, _PER_BYTE * os.path.getsize(path), "its entries")
    try:
        # Read as if counted from 0, so that column 0 tells how the file counts; a
        # guess per file could shift the columns between training and prediction.
        X, y = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OSError, OverflowError) as error:
        reason = str(error).strip().rstrip(".") or "a line is malformed"
        raise UserError(
            f"{path} cannot be read as svmlight ({reason}); each line is 'label column:value "
            "column:value ...', and tables need the extension .csv or .tsv."
        ) from error
    X = sp.csr_array(X)
    uses_zero = bool((X.indices == 0).any())
    if zero_based is None:
        zero_based = uses_zero
    elif uses_zero and not zero_based:
        raise UserError(
            f"{path} counts its columns from 0 but the model was fitted to a file that counts "
            "from 1; write both files the same way."
        )
    shift = int(not zero_based)
    width = max(X.shape[1] - shift, n_columns or 0)
    X = sp.csr_array((X.data, X.indices - shift, X.indptr), shape=(X.shape[0], width))
    return ArrayData(as_sparse(X), {"y": y}, zero_based)


def as_sparse(X):
    """CSR array of any matrix, with 32-bit indices, which alone scikit-learn's estimators take."""
    import scipy.sparse as sp

    X = sp.csr_array(X)
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = sp.csr_array(parts, shape=X.shape)
    return X
