"""Svmlight files, read in pieces of whole lines."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...._typing import FloatArray
from ...._util.messages import UserError
from ...._util.paths import file_size
from ...arrays import ArrayData, as_sparse, slice_rows
from ...columns.schema import Schema
from ...file_identity import StrPath
from ...limits import check_memory, report_full_disk
from ...sources import Source
from ...stored import SparseWriter
from ..blocks import blocks, last_line_end

# Bytes that learning takes for a byte of a file, an entry of which has at least four.
_MEMORY_PER_BYTE = 8
# Bytes on disk that a byte of text becomes at most.
_MAX_STORED_PER_BYTE = 3
# Characters of the reader's message that are shown; it may hold a whole line.
_MAX_REASON_CHARACTERS = 100


def read(path: Source, place: Path | None = None) -> ArrayData:
    """Read the rows, mapped from files in the folder ``place`` if one is given.

    How the file counts its columns is found out.
    """
    if place is not None:
        return map_rows(path, place)
    check_memory(path, _MEMORY_PER_BYTE * file_size(path), "its entries")
    parts, labels = [], []
    for X, y, _ in _iterate_file(path):
        parts.append(X)
        labels.append(y)
    X = sp.vstack(parts, format="csr")
    # Column 0 says how the file counts.
    zero_based = bool((X.indices == 0).any())
    X = _shift_columns(X, 0, zero_based, path)
    return ArrayData(as_sparse(X), {"y": np.concatenate(labels)}, zero_based)


def memory(path: Source) -> int:
    """Estimate the bytes that learning takes."""
    return _MEMORY_PER_BYTE * file_size(path)


def pieces(path: Source, rows: int, schema: Schema) -> Iterator[tuple[ArrayData, float]]:
    """Yield pieces of at most ``rows`` rows, with the schema's columns, and the share read."""
    for X, y, share in _iterate_file(path):
        X = _shift_columns(X, schema.n_columns, schema.zero_based, path)
        for part in slice_rows(X.shape[0], rows):
            yield ArrayData(as_sparse(X[part]), {"y": y[part]}, schema.zero_based), share


def map_rows(path: StrPath, place: Path) -> ArrayData:
    """Return sparse rows of a text as mapped ``ArrayData``; y are its labels."""
    labels, least, most = [], np.inf, -1
    size = _MAX_STORED_PER_BYTE * file_size(path)
    with report_full_disk(place, size), SparseWriter(place, 0, np.float64) as rows:
        for X, y, _ in _iterate_file(path):
            rows.write(X)
            labels.append(y)
            if X.nnz:
                least, most = min(least, X.indices.min()), max(most, X.indices.max())
    if most < 0:
        raise UserError(f"{path} holds no rows of numbers.")
    first = int(least > 0)  # columns are counted from 1
    if first:
        numbers = np.load(place / "indices.npy", mmap_mode="r+")
        for begin in range(0, len(numbers), 1 << 20):
            numbers[begin : begin + (1 << 20)] -= 1
        numbers.flush()
    rows.n_columns = int(most) + 1 - first
    return ArrayData(rows.mapped(), {"y": np.concatenate(labels)}, not first)


@contextlib.contextmanager
def _translate_errors(path: StrPath) -> Iterator[None]:
    """Turn what the reader says into one sentence."""
    try:
        yield
    except (ValueError, OSError, OverflowError) as error:
        reason = str(error).strip().rstrip(".")[:_MAX_REASON_CHARACTERS] or "a line is malformed"
        raise UserError(
            f"{path} can't be read as svmlight ({reason}); each line is 'label column:value "
            "column:value ...', and tables need the extension .csv or .tsv."
        ) from error


def _iterate_file(path: StrPath) -> Iterator[tuple[sp.csr_array, FloatArray, float]]:
    """Yield sparse rows with columns as the file counts them, labels, and the share read so far.

    There may be no row in a piece, but not in all of them.
    """
    from sklearn.datasets import load_svmlight_file

    n_rows = 0
    with _translate_errors(path):
        for block, share in blocks(path, "utf-8", last_line_end):
            # Read as if counted from 0: a guess per piece could shift its columns.
            X, y = load_svmlight_file(
                io.BytesIO(block), zero_based=True, n_features=np.iinfo(np.int32).max
            )
            n_rows += len(y)
            yield sp.csr_array(X), y, share
    if not n_rows:
        raise UserError(f"{path} holds no rows; add rows of data.")


def _shift_columns(
    X: sp.csr_array, n_columns: int, zero_based: bool, path: object
) -> sp.csr_array:
    """Return rows with columns counted from 0, given how the file counts them."""
    if not zero_based and (X.indices == 0).any():
        raise UserError(
            f"{path} counts its columns from 0 but the model was fitted to a file that counts "
            "from 1; write both files the same way."
        )
    indices = X.indices - int(not zero_based)
    width = max(int(indices.max(initial=-1)) + 1, n_columns)
    return sp.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], width))
