"""NumPy files of an array (npy) and of several, or of a sparse matrix (npz)."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...._typing import AnyArray, RowMatrix
from ...._util.messages import UserError, listing, plural
from ...._util.paths import file_size
from ...arrays import PER_CELL, ArrayData, check_matrix, iterate_rows, map_array, read_arrays
from ...columns.schema import Schema
from ...file_identity import StrPath
from ...limits import check_memory, report_full_disk
from ...sources import Source
from ...temporary_folders import temporary_folder

if TYPE_CHECKING:
    from scipy import sparse

# Bytes from which on npz files are unpacked to be mapped.
_LARGE = 256_000_000
# What a file raises that is no NumPy file.
_BROKEN = (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError, MemoryError)
_SPARSE_KEYS = frozenset({"format", "shape", "data", "indices", "indptr"})


def read(source: Source, place: Path | None = None) -> ArrayData:
    """Read the rows; arrays of an npz file are unpacked into the folder ``place``."""
    X, labels = _read(source, place)
    return ArrayData(check_matrix(X, source), labels)


def memory(source: Source) -> int:
    """Estimate the bytes that learning takes."""
    if source.form == "npy":
        return PER_CELL * read_arrays(source).X.size
    with contextlib.suppress(*_BROKEN):  # reading it says what is wrong
        return PER_CELL * _measure_unpacked(source)[1]
    return 0


def pieces(source: Source, rows: int, schema: Schema) -> Iterator[tuple[ArrayData, float]]:
    """Yield pieces of at most so many rows, and the share of them so far."""
    with contextlib.ExitStack() as stack:
        place = None
        if source.form == "npz" and file_size(source) > _LARGE:
            place = stack.enter_context(temporary_folder())
        yield from iterate_rows(read_arrays(source, place=place), rows)


def _read(source: Source, place: Path | None) -> tuple[RowMatrix, dict[str, AnyArray]]:
    path, form = os.fspath(source), source.form
    try:
        if form == "npy":
            return map_array(path), {}
        if place is None:
            check_memory(path, _measure_unpacked(path)[0], "unpacked")
        with np.load(path, allow_pickle=False) as file:
            names = file.files
            if place is not None:
                with report_full_disk(place, _measure_unpacked(path)[0]):
                    file = {
                        name: _map_member(path, name, place, k) for k, name in enumerate(names)
                    }
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


def _map_member(path: str, name: str, place: Path, k: int) -> AnyArray:
    """Return an array of an npz file, unpacked into a folder."""
    with zipfile.ZipFile(path) as archive, open(place / f"{k}.npy", "wb") as file:
        with archive.open(f"{name}.npy") as member:
            shutil.copyfileobj(member, file, 1 << 20)
    return np.load(file.name, mmap_mode="r", allow_pickle=False)


def _read_sparse(
    path: str, arrays: Mapping[str, AnyArray], place: Path | None
) -> sparse.csr_array:
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


def _measure_unpacked(path: StrPath) -> tuple[int, int]:
    """Return bytes and numbers of the arrays in an npz file that has what its headers promise."""
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
